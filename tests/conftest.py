"""Fixtures for all tests: servers of the loopback web that are gone when the test ends."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from seaspider.loopback import LoopbackWeb

# The files that take longest, in `make test` or `make soak`: they come first, so that none is left to one worker at the
# end (with --no-loadscope-reorder, which pyproject.toml says).
FIRST = (
    *("crash/test_matrix.py", "web/test_hostile.py", "verify/test_tamper_chance.py", "fuzz/test_queue.py"),
    *("test_stops.py", "test_shortages.py", "replay/test_most_remaining.py", "crash/test_twins.py", "test_breadth.py"),
    *("verify/test_orderproof.py", "fuzz/test_urls.py", "verify/test_tamper.py"),
)

# The same examples every time, and none on disk.
settings.register_profile("exact", derandomize=True, database=None, deadline=None)
settings.load_profile("exact")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {Path(__file__).parent / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


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
