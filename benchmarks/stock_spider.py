"""What one writes for a list of URLs with stock Scrapy: `start` yields them, `parse` yields an item a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


def urls(queue: str) -> list[str]:
    return Path(queue).read_text("utf-8").split()


class ListSpider(Spider):
    name = "list"

    async def start(self) -> AsyncIterator[Any]:
        for url in urls(self.queue):  # type: ignore[attr-defined]
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "status": response.status}
