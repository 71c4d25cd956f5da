"""WireStats: Scrapy's DownloaderStats by the same names, with the bytes that went over the wire.

Scrapy's own writes each request and the head of each answer anew to count their bytes.
"""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.http import Response

from seaspider.extension import Seaspider


class WireStats(DownloaderStats):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler.stats)
        # Each look-up of one of these costs as much as the call.
        self._count, self._set = crawler.stats.inc_value, crawler.stats.set_value
        self._door = Seaspider.of(crawler).run.door

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> WireStats:
        return cls(crawler)

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        self._count("downloader/request_count")
        self._count(f"downloader/request_method_count/{request.method}")

    def process_response(self, request: Request, response: Response) -> Response:  # type: ignore[override]
        self._count("downloader/response_count")
        self._count(f"downloader/response_status_count/{response.status}")
        self._set("downloader/request_bytes", self._door.bytes_sent)
        self._set("downloader/response_bytes", self._door.bytes_received)
        return response
