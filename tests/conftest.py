"""Fixtures for all tests: servers of the loopback web that are gone when the test ends."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import settings

from seaspider.loopback import LoopbackWeb

# The same examples every time, and none on disk.
settings.register_profile("exact", derandomize=True, database=None, deadline=None)
settings.load_profile("exact")

WebFactory = Callable[..., LoopbackWeb]


@pytest.fixture
def web_factory() -> Iterator[WebFactory]:
    """`web_factory(routes, names=..., ...)` is a running LoopbackWeb, stopped at the end of the test.

    A route that raised makes the test fail at its end.
    """
    with ExitStack() as running:

        def start(routes: Mapping[str, Any], **options: Any) -> LoopbackWeb:
            return running.enter_context(LoopbackWeb(routes, **options))

        yield start


@pytest.fixture
def loopback(web_factory: WebFactory) -> WebFactory:
    """The same factory by a shorter name."""
    return web_factory
