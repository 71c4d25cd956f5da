"""Crawls of one queue in several ways, made once for all tests of what becomes of a fleet's shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.loopback import LoopbackWeb
from tests.crawling import crawl
from tests.fleet.smallfleets import (
    FOLLOW,
    SETTINGS,
    SHARDS,
    crawl_all,
    crawl_killed,
    merge,
    planned,
    queue_of,
    small_web,
)


@dataclass(frozen=True, slots=True)
class Crawled:
    """`whole`: the store of one crawl of the queue. `fleet`: a fleet's, shard after shard, merged. `other`: a fleet's,
    two shards at a time from the last on, two of them killed on the way, merged."""

    port: int
    queue: Path
    whole: Path
    fleet: Path
    other: Path

    def url(self, host: int, path: str) -> str:
        return f"http://h{host}.test:{self.port}{path}"


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("crawled")
    with small_web() as web:
        yield _crawled(folder, web)


def _crawled(folder: Path, web: LoopbackWeb) -> Crawled:
    lines = queue_of(web)
    fleet, other = (planned(folder / name, lines) for name in ("fleet", "other"))
    whole = crawl(folder / "fleet/q", folder, names=web.names, settings=SETTINGS, options=FOLLOW, store="whole")
    assert whole.exit == 0, whole.log
    crawl_all(fleet, range(SHARDS), *FOLLOW)
    for shard, nth in ((1, 5), (2, 1)):
        crawl_killed(other, shard, "before write pages.jsonl", nth, *FOLLOW)
    crawl_all(other, range(SHARDS - 1, -1, -1), *FOLLOW, workers=2)
    for store in (fleet, other):
        merged = merge(store)
        assert merged.exit == 0, merged.log
    return Crawled(web.port, folder / "fleet/q", whole.store, fleet, other)
