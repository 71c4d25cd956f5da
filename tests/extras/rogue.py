"""An extension that wants out by every way an extension has, while the queue is being crawled.

ROGUE_PLAN is JSON: `before` is asked for all at once when the spider opens, each list of `beside` all at once when a
turn of the queue to the host of its first URL is on the way, `queued` by way of the scheduler once the queue is done.
An attempt is {"name", "url", ...more arguments of Request}. What came of each goes to the file ROGUE_REPORT, as
{name: status or error}.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from twisted.python.failure import Failure

from seaspider.extension import Seaspider

Attempt = dict[str, Any]


class Rogue:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._report_to = Path(crawler.settings["ROGUE_REPORT"])
        self._plan: dict[str, list[Any]] = json.loads(crawler.settings["ROGUE_PLAN"])
        self._report: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._on_the_way, signals.request_reached_downloader)
        crawler.signals.connect(self._idle, signals.spider_idle)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Rogue:
        return cls(crawler)

    def _opened(self) -> None:
        self._download_all(self._plan["before"])

    def _on_the_way(self, request: Request) -> None:
        ours = Seaspider.of(self._crawler).ours(request)
        beside = self._plan["beside"]
        if beside and ours is not None and ours.in_turn and _host(request.url) == _host(beside[0][0]["url"]):
            self._download_all(beside.pop(0))

    def _download_all(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            task = asyncio.get_running_loop().create_task(self._download(attempt))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _download(self, attempt: Attempt) -> None:
        name, request = self._request(attempt)
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is the report)
            self._report[name] = f"{type(error).__name__}: {error}"
        else:
            self._report[name] = str(response.status)

    def _request(self, attempt: Attempt, **more: Any) -> tuple[str, Request]:
        rest = {key: value for key, value in attempt.items() if key != "name"}
        return attempt["name"], Request(**{"callback": NO_CALLBACK, "dont_filter": True, **rest, **more})

    def _idle(self) -> None:
        if self._tasks or self._plan["queued"]:
            for attempt in self._plan["queued"]:
                self._crawl(attempt)
            self._plan["queued"] = []
            raise DontCloseSpider

    def _crawl(self, attempt: Attempt) -> None:
        name = attempt["name"]

        def answered(response: Response) -> None:
            self._report[name] = str(response.status)

        def failed(failure: Failure) -> None:
            self._report[name] = f"{type(failure.value).__name__}: {failure.value}"

        self._crawler.engine.crawl(self._request(attempt, callback=answered, errback=failed)[1])

    def _closed(self) -> None:
        self._report_to.write_text(json.dumps(self._report), "utf-8")


def _host(url: str) -> str | None:
    return urlsplit(url).hostname
