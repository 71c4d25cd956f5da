"""Everything unofficial that is used of Scrapy 2.19, in one place; tests/test_scrapyhooks.py fails when it changes.

`engine.downloader.active` and `engine.scraper.slot.is_idle()` are unprefixed and shown in Scrapy's docs
(topics/optimize), but are not part of its documented API; nor are that Headers is a dict of names in title case and
what the engine tells of an answer (`logformatter_adapter`, the name of its logger).
`engine.close_spider_async()` is, but not that all that closes a spider (a signal, CLOSESPIDER_*, CloseSpider, an idle
engine) calls it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, ItemsView, Iterable
from functools import wraps

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.utils.log import logformatter_adapter

_engine = logging.getLogger("scrapy.core.engine")


def headers(fields: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Scrapy's Headers of these fields, put in as it would have them in the end, in a tenth of the calls."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name.title(), []).append(value)
    made = Headers()
    dict.update(made, values)
    return made


def fields(headers: Headers) -> ItemsView[bytes, list[bytes]]:
    """What `items()` gives, without spelling each name and value anew."""
    return dict.items(headers)


def received(crawler: Crawler, request: Request, response: Response) -> None:
    """Tells of an answer as the engine does of each that reaches it."""
    response.request, spider = request, crawler.spider
    assert spider is not None
    told = crawler.logformatter.crawled(request, response, spider)
    if told is not None:
        _engine.log(*logformatter_adapter(told), extra={"spider": spider})
    crawler.signals.send_catch_log(signals.response_received, response=response, request=request, spider=spider)


def busy(crawler: Crawler) -> bool:
    """Whether a request is in flight, or an answer is with the spider or a pipeline.

    There is no gap between the two: the engine hands an answer on in the same step in which the download ends.
    """
    slot = crawler.engine.scraper.slot
    return bool(crawler.engine.downloader.active) or slot is None or not slot.is_idle()


def when_closing(crawler: Crawler, tell: Callable[[], None]) -> None:
    """Has `tell` called as soon as the spider is to be closed, for whatever reason; Scrapy has no signal for that.

    Its `spider_closed` comes when the last request is over, which may be one that waits for minutes.
    """
    close = crawler.engine.close_spider_async

    @wraps(close)
    async def telling(*, reason: str = "cancelled") -> None:
        tell()
        await close(reason=reason)

    crawler.engine.close_spider_async = telling  # type: ignore[method-assign]
