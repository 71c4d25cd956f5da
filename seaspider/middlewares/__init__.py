"""Downloader middlewares: hops (outermost), robots, and stats."""
