"""Parts of a user's that end a crawl, each in its own way. CLOSER names the ways, separated by commas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response


class _Part:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._ways = frozenset(crawler.settings.get("CLOSER", "").split(","))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class CloserExtension(_Part):
    """`opened`, `idle`: raises CloseSpider there. `item`: has the engine close the spider at the first item."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._tasks: set[asyncio.Task[None]] = set()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._idle, signals.spider_idle)
        crawler.signals.connect(self._item, signals.item_scraped)

    def _opened(self) -> None:
        if "opened" in self._ways:
            raise CloseSpider("closed at once")

    def _idle(self) -> None:
        if "idle" in self._ways:
            raise CloseSpider("closed when idle")

    def _item(self) -> None:
        if "item" in self._ways and not self._tasks:
            self._tasks.add(asyncio.create_task(self._crawler.engine.close_spider_async(reason="enough")))


class CloserMiddleware(_Part):
    """`callback`: raises CloseSpider, `error`: another exception, where it should give the first page's item on."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for one in result:
            if "callback" in self._ways:
                raise CloseSpider("seen enough")
            if "error" in self._ways and response.url.endswith("/1"):
                raise ZeroDivisionError
            yield one


class CloserPipeline(_Part):
    """`open_spider`: cannot be opened."""

    def open_spider(self) -> None:
        if "open_spider" in self._ways:
            raise OSError("no database")

    def process_item(self, item: Any) -> Any:
        return item
