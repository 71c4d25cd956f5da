"""A user's own pipeline and spider middleware that take a random while over everything (seeded by JITTER_SEED)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

# Mostly at once, and now and then very late: that mixes up more than a little of each.
DELAYS_S = (0.0, 0.0, 0.0, 0.03)


class _Jitter:
    def __init__(self, crawler: Crawler) -> None:
        self._random = Random(f"{type(self).__name__} {crawler.settings['JITTER_SEED']}")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        return cls(crawler)

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.choice(DELAYS_S))


class SlowPipeline(_Jitter):
    async def process_item(self, item: Any) -> Any:
        await self._pause()
        return item


class SlowSpiderMiddleware(_Jitter):
    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        await self._pause()
        async for one in result:
            yield one
            await self._pause()
