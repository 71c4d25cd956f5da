"""Moments at which a replay could judge otherwise than the crawl: at the end of a block, and when the clock was set."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.core.times import parse_rfc3339_ms
from seaspider.loopback import Answer, LoopbackWeb
from tests.replay import sites
from tests.replay.replaying import NO_SOCKET, Ground, records
from tests.replay.sites import FREE

BLOCK_S = 100
SLOW_S = 0.3
NOW = "from seaspider.clock import SystemClock\nSystemClock.wall_ms = lambda self: {now_ms}\n"

# Twin: a line gets the times of the replay, which knows no better when a page's record was written than its turn.
OWN_TIMES = """
from seaspider.replay.tape import Tape
_take = Tape.take
Tape.take = lambda self, file, record: None if _take(self, file, record) is None else record
"""
MOMENTS = {"in-the-last-millisecond": -1, "when-it-is-over": 0}
ENDINGS = {
    "in-the-last-millisecond": ["stored", "blocked", "blocked"],
    "when-it-is-over": ["stored", "blocked", "stored"],
}

# Somebody sets the wall clock, in the middle of the crawl.
SET = """
from seaspider.clock import SystemClock
_wall_ms, _looks = SystemClock.wall_ms, []
def wall_ms(self):
    _looks.append(self)
    return _wall_ms(self) + ({by_ms} if len(_looks) > 120 else 0)
SystemClock.wall_ms = wall_ms
"""
HOUR_MS = 3_600_000
# Twin: what comes first by the wall clock comes first.
BY_THE_WALL_CLOCK = """
from seaspider.replay.steps import Steps
Steps.in_order = lambda self, wall_ms: wall_ms
"""


@pytest.fixture(scope="module")
def blocked(ground: Ground) -> Iterator[dict[str, Path]]:
    """A host answers 403, after a while, and its other URL is blocked; the next run comes when the block ends."""
    names = {"a.test": "127.0.36.1"}
    routes = {"/robots.txt": FREE, "/1": Answer(403, delay_s=SLOW_S), "/2": Answer(200)}

    def one(name: str) -> Path:
        store, settings = ground.folder / name, {"SEASPIDER_BLOCK": BLOCK_S}
        with LoopbackWeb(routes, names=names) as servers:
            queue = [servers.url("a.test", "/1"), servers.url("a.test", "/2")]
            assert ground.crawl(queue, store, names=names, settings=settings).exit == 3
            answered_ms = parse_rfc3339_ms(records(store, File.PAGES)[0]["ended_at"])
            sabotage = NOW.format(now_ms=answered_ms + BLOCK_S * 1000 + MOMENTS[name])
            ground.crawl(queue, store, names=names, settings=settings, sabotage=sabotage)
        return store

    with ThreadPoolExecutor(2) as pool:
        yield dict(zip(MOMENTS, pool.map(one, MOMENTS), strict=True))


@pytest.mark.parametrize("name", MOMENTS)
def test_a_block_ends_when_it_ended(ground: Ground, blocked: dict[str, Path], name: str) -> None:
    assert [page["outcome"] for page in records(blocked[name], File.PAGES)] == ENDINGS[name]
    ground.replay(blocked[name]).check()


def test_twin_with_its_own_times_a_block_ends_too_soon(ground: Ground, blocked: dict[str, Path]) -> None:
    found = ground.replay(blocked["in-the-last-millisecond"], sabotage=NO_SOCKET + OWN_TIMES)
    found.differs("run 2 has no further line of intents.jsonl, and would now: ")


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS], ids=["back", "forward"])
def test_a_clock_that_is_set_in_the_middle(ground: Ground, tmp_path: Path, by_ms: int) -> None:
    web, store = sites.rich(), tmp_path / "store"
    plan = web.runs[0]
    with LoopbackWeb(web.routes, names=web.names) as servers:
        lines, sabotage = sites.lines_of(plan, servers.port), SET.format(by_ms=by_ms)
        ended = ground.crawl(lines, store, names=web.names, arguments=plan.arguments, sabotage=sabotage)
        assert ended.exit == 3, ended.text
    start, end = records(store, File.MANIFEST)
    past_ms = parse_rfc3339_ms(end["ended_at"]) - parse_rfc3339_ms(start["started_at"])
    assert abs(past_ms - by_ms) < HOUR_MS / 2
    ground.replay(store).check()
    twin = ground.replay(store, sabotage=NO_SOCKET + BY_THE_WALL_CLOCK)
    assert twin.done.exit == (1 if by_ms < 0 else 0)
