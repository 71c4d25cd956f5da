"""Downloader middlewares: hops (outermost) and robots."""
