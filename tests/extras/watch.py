"""Looks at `busy` at every moment of a turn, and between its moments at every turn of the event loop.

WATCH_REPORT gets {"seen": [[moment, busy], ...], "gaps": turns of the loop in which a visit was under way and `busy`
said no}.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from seaspider.scrapyhooks import busy

NAP_S = 0.02


class Watch:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._report_to = Path(crawler.settings["WATCH_REPORT"])
        self._seen: list[tuple[str, bool]] = []
        self._gaps = 0
        self._turns = 0
        self._under_way = 0
        self._watching = True
        for moment, signal in (
            ("reached downloader", signals.request_reached_downloader),
            ("downloaded", signals.response_downloaded),
            ("received", signals.response_received),
            ("scraped", signals.item_scraped),
            ("idle", signals.spider_idle),
        ):
            crawler.signals.connect(self._noting(moment), signal, weak=False)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Watch:
        return cls(crawler)

    def note(self, moment: str) -> None:
        self._seen.append((moment, busy(self._crawler)))

    def began(self) -> None:
        self._under_way += 1

    def ended(self) -> None:
        self._under_way -= 1

    def _noting(self, moment: str) -> Any:
        return lambda: self.note(moment)

    def _opened(self) -> None:
        asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._turns += 1
        self._gaps += self._under_way > 0 and not busy(self._crawler)
        if self._watching:
            asyncio.get_running_loop().call_soon(self._look)

    def _closed(self) -> None:
        self._watching = False
        self._report_to.write_text(json.dumps({"seen": self._seen, "gaps": self._gaps, "turns": self._turns}), "utf-8")


class _Watched:
    def __init__(self, crawler: Crawler) -> None:
        watch = crawler.get_extension(Watch)
        assert watch is not None
        self._watch = watch

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        return cls(crawler)


class WatchDownload(_Watched):
    """Outermost: what it sees begin is under way until its item has passed the last pipeline."""

    async def process_request(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            self._watch.began()
        self._watch.note("process_request")
        await asyncio.sleep(NAP_S)
        self._watch.note("process_request after a wait")

    async def process_response(self, request: Request, response: Response) -> Response:
        await asyncio.sleep(NAP_S)
        self._watch.note("process_response after a wait")
        return response


class WatchSpider(_Watched):
    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        await asyncio.sleep(NAP_S)
        self._watch.note("callback after a wait")
        async for one in result:
            yield one
        await asyncio.sleep(NAP_S)
        self._watch.note("callback at its end")


class WatchPipeline(_Watched):
    async def process_item(self, item: Any) -> Any:
        self._watch.note("pipeline")
        await asyncio.sleep(NAP_S)
        self._watch.note("pipeline after a wait")
        return item


class WatchLastPipeline(_Watched):
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(NAP_S)
        self._watch.note("last pipeline after a wait")
        self._watch.ended()
        return item
