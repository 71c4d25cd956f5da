"""Coroutines in tests that need no reactor: an event loop of their own, with an end.

pytest-twisted keeps the reactor's loop running under every test (`--reactor=asyncio`), and asyncio.run() refuses a
thread that has a running loop; so this one runs in another thread.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], within_s: float = 20) -> T:
    """What the coroutine returns or raises; TimeoutError if it is not done in real `within_s`."""

    async def bounded() -> T:
        async with asyncio.timeout(within_s):
            return await coroutine

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(bounded())).result()
