"""Feeds: what `-o` and FEEDS export. A feed that names no item class exports Page records, one row each."""

from __future__ import annotations

from scrapy.settings import Settings

from seaspider.items import Page


def page_feeds(settings: Settings) -> None:
    """Adds the Page class to the feeds that name none, so that rows of one file are of one kind."""
    feeds = settings.getdict("FEEDS")
    for feed in feeds.values():
        feed.setdefault("item_classes", [f"{Page.__module__}.{Page.__qualname__}"])
    settings.set("FEEDS", feeds, priority=settings.getpriority("FEEDS") or "project")
