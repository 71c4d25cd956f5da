"""P3 at the servers' own logs: no two requests to one address or host are nearer than the pause, to the nanosecond.

The machine is made busy: the first byte of a request leaves late, now and then, and answers take their time. Each guard
with its twin, a crawl that lacks it: there some pair is too near.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seaspider.core.times import ns_from_s
from seaspider.loopback import Answer, Arrival, LoopbackWeb, Request
from seaspider.loopback.judge import Key, Pair, max_in_flight, order, pairs
from tests.crawling import crawl

NAMES = {
    "left.test": "127.0.3.1",
    "right.test": "127.0.3.1",
    "delayed.test": "127.0.3.2",
    "neighbour.test": "127.0.3.2",
    "ferry.test": "127.0.3.3",
    "aside.test": "127.0.3.4",
}
CRAWL_DELAYS_S = {"delayed.test": 0.35}
QUEUE = (
    *("left.test/1", "right.test/1", "delayed.test/1", "neighbour.test/1", "aside.test/1"),
    *("ferry.test/to-left", "ferry.test/to-delayed", "ferry.test/hop/1"),
    *("left.test/2", "right.test/2", "delayed.test/2", "neighbour.test/2"),
)
ASKED = {
    *((host, "/robots.txt") for host in NAMES),
    *((host, "/" + path) for host, _, path in (place.partition("/") for place in QUEUE)),
    *(("left.test", "/hop"), ("delayed.test", "/hop"), ("ferry.test", "/hop/2"), ("ferry.test", "/hop/3")),
    ("right.test", "/rules.txt"),
}

# Every other request is late: its first byte leaves that long after its claim.
LATE_S = (0.12, 0.0, 0.06, 0.0)
BUSY_MACHINE = """
import asyncio
from itertools import cycle
from seaspider import http1
_exchange, late_s = http1.exchange, cycle({late_s})
async def exchange(*where, **how):
    await asyncio.sleep(next(late_s))
    return await _exchange(*where, **how)
http1.exchange = exchange
"""
_OTHER_LEDGER = """
from seaspider.core.politeness import Claimed, ClaimTable, Token
from seaspider.door import Door
_init = Door.__init__
def init(self, config, clock, resolver, ledger, *rest, **named):
    _init(self, config, clock, resolver, Ledger(clock), *rest, **named)
Door.__init__ = init
"""
NEVER_WAITS = (
    _OTHER_LEDGER
    + """
class Ledger:
    def __init__(self, clock):
        self._clock = clock
    async def claim(self, pauses_ns, hold_ns):
        now_ns = self._clock.boot_ns()
        return Claimed(Token("any"), now_ns, now_ns + hold_ns)
    async def settle(self, token, pauses_ns):
        pass
"""
)
# The pause counted from when a request was to leave, as slot schedulers do, and not from its end.
START_STAMPED = (
    _OTHER_LEDGER
    + """
class Ledger:
    def __init__(self, clock):
        self._clock, self._table, self._claimed_ns = clock, ClaimTable(), {}
    async def claim(self, pauses_ns, hold_ns):
        while not isinstance(got := self._table.claim(pauses_ns, "me", self._clock.boot_ns(), hold_ns), Claimed):
            await self._clock.sleep(0.001)
        self._claimed_ns[got.token] = got.claimed_ns
        return got
    async def settle(self, token, pauses_ns):
        return self._table.settle(token, self._claimed_ns[token], pauses_ns)
"""
)


@dataclass(frozen=True)
class Pauses:
    """The pauses a crawl was told to keep, in s."""

    host_s: float
    address_s: float | None

    def after(self, first: Arrival, key: Key) -> int:
        """What must lie between a request and the next one to the same host or address, in ns."""
        own_s = self.host_s if key is Key.HOST or self.address_s is None else self.address_s
        return ns_from_s(max(own_s, CRAWL_DELAYS_S.get(first.name, 0)))


def routes(seed: int) -> dict[str, Any]:
    random = Random(seed)

    def after_a_while(status: int, body: str = "", location: str = "") -> Any:
        headers = (("Location", location),) if location else ()

        def route(request: Request) -> Answer:
            return Answer(status, headers, body, delay_s=random.uniform(0, 0.02))

        return route

    return {
        "/*": after_a_while(200, "a page\n"),
        "/robots.txt": after_a_while(404),
        "delayed.test/robots.txt": after_a_while(200, "User-agent: *\nCrawl-delay: 0.35\n"),
        "aside.test/robots.txt": after_a_while(301, location="http://right.test:{port}/rules.txt"),
        "right.test/rules.txt": after_a_while(200, "User-agent: *\nDisallow: /private\n"),
        "ferry.test/to-left": after_a_while(302, location="http://left.test:{port}/hop"),
        "ferry.test/to-delayed": after_a_while(302, location="http://delayed.test:{port}/hop"),
        "ferry.test/hop/1": after_a_while(302, location="/hop/2"),
        "ferry.test/hop/2": after_a_while(302, location="/hop/3"),
    }


def arrivals(
    folder: Path,
    pauses: Pauses,
    places: Sequence[str] = QUEUE,
    late_s: Sequence[float] = LATE_S,
    sabotage: str = "",
) -> list[Arrival]:
    with LoopbackWeb(routes(7), names=NAMES) as web:
        queue = [web.url(host, "/" + path) for host, _, path in (place.partition("/") for place in places)]
        settings: dict[str, object] = {"SEASPIDER_INTERVAL": pauses.host_s}
        if pauses.address_s is not None:
            settings["SEASPIDER_IP_INTERVAL"] = pauses.address_s
        folder.mkdir()
        ended = crawl(
            queue, folder, names=NAMES, settings=settings, sabotage=BUSY_MACHINE.format(late_s=late_s) + sabotage
        )
        assert ended.exit == 0, ended.log
        return web.arrivals


def too_near(found: list[Arrival], pauses: Pauses) -> list[Pair]:
    return [pair for key in Key for pair in pairs(found, key) if pair.gap_ns < pauses.after(pair.first, key)]


TOLD = {
    "one pause": Pauses(0.15, None),
    "addresses rest less": Pauses(0.2, 0.08),
    "addresses rest more": Pauses(0.08, 0.2),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Arrival]]:
    """What arrived under each of TOLD; the crawls run side by side, each against servers of its own."""
    folder = tmp_path_factory.mktemp("pauses")
    with ThreadPoolExecutor() as pool:
        running = {name: pool.submit(arrivals, folder / name, pauses) for name, pauses in TOLD.items()}
        return {name: future.result() for name, future in running.items()}


@pytest.mark.parametrize("name", TOLD)
def test_p3_no_pair_is_nearer_than_the_pause(crawled: dict[str, list[Arrival]], name: str) -> None:
    assert too_near(crawled[name], TOLD[name]) == []


@pytest.mark.parametrize("name", TOLD)
def test_p3_one_request_is_in_flight(crawled: dict[str, list[Arrival]], name: str) -> None:
    assert max_in_flight(crawled[name]) == 1


@pytest.mark.parametrize("name", TOLD)
def test_everything_was_asked_once(crawled: dict[str, list[Arrival]], name: str) -> None:
    assert sorted(order(crawled[name])) == sorted(ASKED)


@pytest.mark.parametrize("sabotage", [NEVER_WAITS, START_STAMPED], ids=["never waits", "start-stamped"])
def test_p3_twin_without_claim_and_settle_some_pair_is_too_near(tmp_path: Path, sabotage: str) -> None:
    """The first request leaves as late as the pause is long, so the next one comes right behind it: far too near, even
    where the machine is slow."""
    pauses = Pauses(1.5, None)
    places, late_s = ("left.test/1", "right.test/1"), (pauses.host_s, 0.0)
    assert too_near(arrivals(tmp_path / "twin", pauses, places, late_s, sabotage), pauses) != []
