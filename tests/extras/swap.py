"""A downloader middleware that puts another URL in the place of one that was allowed, after RobotsMiddleware."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

SWAP = "swapped-"


class Swap:
    """`/swapped-for-x` becomes `/x`; `/swapped-behind-x` has `/x` fetched by a request of its own on the way."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Swap:
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | Response | None:
        if SWAP not in request.url:
            return None
        place, _, rest = request.url.partition(SWAP)
        kind, _, path = rest.partition("-")
        other = request.replace(url=place + path)
        if kind == "for":
            return other
        return await self._crawler.engine.download_async(other.replace(callback=NO_CALLBACK, errback=None))
