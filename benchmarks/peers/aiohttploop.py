"""A floor: one aiohttp session, one request after another. `python -m benchmarks.peers.aiohttploop QUEUE PAGES`"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TextIO

from aiohttp import ClientSession, TCPConnector

from benchmarks.peers.bareloop import line, requests


async def crawl(queue: str, pages: TextIO) -> None:
    async with ClientSession(connector=TCPConnector(limit=1)) as session:
        for url, is_page in requests(queue):
            async with session.get(url, allow_redirects=False) as response:
                body = await response.read()
            if is_page:
                pages.write(line(url, response.status, body))


def main(queue: str, pages: str) -> None:
    with Path(pages).open("w") as file:
        asyncio.run(crawl(queue, file))


main(*sys.argv[1:])
