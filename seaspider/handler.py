"""The door as a Scrapy download handler, for http and https alike."""

from __future__ import annotations

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response

from seaspider.extension import Seaspider


class DownloadHandler(BaseDownloadHandler):
    """Scrapy makes one for each scheme; what they share is in the extension."""

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._door = Seaspider.of(crawler).run.door

    async def download_request(self, request: Request) -> Response:
        return await self._door.send(request)
