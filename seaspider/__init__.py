"""Seaspider: a polite, predictable downloader of link lists that leaves evidence."""

__version__ = "0.1.0"
