"""Scrapy Requests for our URLs: sent exactly as they were judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy import Request
from twisted.python.failure import Failure

from seaspider.core.urls import Url


def request_for(url: Url, callback: Callable[..., Any], errback: Callable[[Failure], Any] | None = None) -> Request:
    """A GET of the URL as it is. `verbatim_url` keeps Scrapy from spelling it anew; with one `download_slot` for all it
    does not make a queue for each host, where nothing ever waits."""
    meta = {"verbatim_url": True, "download_slot": "seaspider"}
    return Request(url.text, callback=callback, errback=errback, dont_filter=True, meta=meta)
