"""The orders in the crawl: one order whatever the latencies, nobody held up by another host's pause, and how long it
takes where one host is slower than the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seaspider.config import ORDERS
from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.loopback import Answer, Arrival, LoopbackWeb, Request
from seaspider.loopback.judge import order
from tests.crawling import Ended, crawl

logger = logging.getLogger(__name__)

ROBOTS = Answer(404)
OK = Answer(body="a page\n")


@dataclass(frozen=True)
class Seen:
    ended: Ended
    arrivals: list[Arrival]

    @property
    def order(self) -> list[tuple[str, str]]:
        return order(self.arrivals)

    def seconds(self) -> float:
        """From the first to the last arrival."""
        return (self.arrivals[-1].arrived_ns - self.arrivals[0].arrived_ns) / NS_PER_S


def run(
    folder: Path,
    by: str,
    queue: Sequence[str],
    routes: Mapping[str, Any],
    names: Mapping[str, str],
    settings: Mapping[str, object],
    sabotage: str = "",
) -> Seen:
    """Crawls `queue` (host/path) in one of the orders, in a folder of its own."""
    folder.mkdir(parents=True)
    with LoopbackWeb(routes, names=names) as web:
        urls = [web.url(host, f"/{path}") for host, _, path in (place.partition("/") for place in queue)]
        ended = crawl(
            urls, folder, names=names, arguments={"order": by}, settings=settings, sabotage=sabotage, timeout_s=120
        )
        return Seen(ended, web.arrivals)


Crowd = Mapping[str, Seen]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """The crawls in which only the order counts, some at once."""
    folder = tmp_path_factory.mktemp("crowd")
    with ThreadPoolExecutor(6) as pool:
        jobs = {"held twin": pool.submit(held, folder, "round-robin", NO_LOGICAL_CLOCK)}
        for by in ORDERS:
            jobs[f"held {by}"] = pool.submit(held, folder, by)
            jobs[f"many {by}"] = pool.submit(many, folder, by)
            jobs[f"equals {by}"] = pool.submit(equals, folder, by)
            jobs |= {f"mixed {by} {seed}": pool.submit(one_of_mixed, folder, by, seed) for seed in range(RUNS)}
        return {name: job.result() for name, job in jobs.items()}


# --- how long it takes ---

NORMAL, TURNS, PAUSE_S = 20, 6, 0.5  # a busy machine asks 20 hosts in less
SLOW_TURNS, TIMES = 3, 5
SLOW = "m-slow.test"
FLEET = {f"n{number:02}.test": f"127.0.25.{number}" for number in range(1, NORMAL + 1)} | {SLOW: "127.0.25.99"}
BOUND_S = (SLOW_TURNS - 1) * PAUSE_S * TIMES
"""The slow host's pauses, one after the other: no order can be done sooner."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """One after the other, so that neither takes the other's time."""
    folder = tmp_path_factory.mktemp("fleet")
    routes = {
        "/robots.txt": ROBOTS,
        f"{SLOW}/robots.txt": Answer(body=f"User-agent: *\nCrawl-delay: {PAUSE_S * TIMES}\n"),
        **{f"/{page}": OK for page in range(1, TURNS)},
    }
    queue = [f"{host}/{page}" for host in FLEET for page in range(1, SLOW_TURNS if host == SLOW else TURNS)]
    return {by: run(folder / by, by, queue, routes, FLEET, {"SEASPIDER_INTERVAL": PAUSE_S}) for by in ORDERS}


@pytest.mark.soak
@pytest.mark.parametrize("by", ORDERS)
def test_every_host_had_its_turns(fleet: dict[str, Seen], by: str) -> None:
    assert fleet[by].ended.exit == 0, fleet[by].ended.log
    assert len(fleet[by].arrivals) == NORMAL * TURNS + SLOW_TURNS


@pytest.mark.soak
def test_longest_idle_takes_what_the_slow_host_takes(fleet: dict[str, Seen]) -> None:
    seconds = {by: seen.seconds() for by, seen in fleet.items()}
    for by, took in seconds.items():
        logger.info("%s: %.3f s, bound %.3f s (%+.1f %%)", by, took, BOUND_S, (took / BOUND_S - 1) * 100)
    # How near to it is a matter of the machine: tests/test_governor_soak.py.
    assert min(seconds.values()) >= BOUND_S


# --- one order ---

RUNS, MANY_RUNS = 4, 12
CREW = {f"{letter}.test": f"127.0.26.{number}" for number, letter in enumerate("abcdef", 1)}
CREW["f.test"] = CREW["b.test"]
MIXED: dict[str, Any] = {
    "/robots.txt": [ROBOTS],
    "b.test/robots.txt": [Answer(body="User-agent: *\nCrawl-delay: 0.15\n")],
    "/*": [OK],
    "a.test/1": [Answer(503), Answer(503), OK],
    "c.test/2": [Answer(302, (("Location", "http://d.test:{port}/from-c"),))],
    "d.test/1": [Answer(429, (("Retry-After", "1"),)), OK],
    "e.test/2": [Answer(403)],
}
CREW_QUEUE = [f"{host}/{page}" for page in (1, 2, 3) for host in reversed(CREW)]


def late(answers: Sequence[Answer], random: Random) -> Callable[[Request], Answer]:
    """These answers, one after the other, the last again and again, each after a while."""
    left = list(answers)

    def route(request: Request) -> Answer:
        answer = left.pop(0) if len(left) > 1 else left[0]
        return Answer(answer.status, answer.headers, answer.body, delay_s=random.choice((0, 0.01, 0.04)))

    return route


def one_of_mixed(folder: Path, by: str, seed: int) -> Seen:
    random = Random(seed)
    routes = {key: late(answers, random) for key, answers in MIXED.items()}
    settings = {"SEASPIDER_INTERVAL": 0.05, "SEASPIDER_BACKOFF_BASE": 0.1}
    return run(folder / f"mixed-{by}-{seed}", by, CREW_QUEUE, routes, CREW, settings)


@pytest.mark.soak
@pytest.mark.parametrize("by", ORDERS)
def test_many_random_latencies_leave_one_order(tmp_path: Path, by: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        orders = [seen.order for seen in pool.map(lambda seed: one_of_mixed(tmp_path, by, seed), range(MANY_RUNS))]
    assert [order == orders[0] for order in orders] == [True] * MANY_RUNS


@pytest.mark.parametrize("by", ORDERS)
def test_random_latencies_leave_one_order(crowd: Crowd, by: str) -> None:
    first, *others = (crowd[f"mixed {by} {seed}"] for seed in range(RUNS))
    assert [seen.order == first.order for seen in others] == [True] * (RUNS - 1)
    # Every kind of pause was among them.
    bases = {row["pause_basis"] for row in first.ended.records("requests") if row["event"] == "settle"}
    assert bases == {"interval", "crawl-delay", "backoff", "retry-after"}


EQUALS = {host: f"127.0.27.{number}" for number, host in enumerate(CREW, 1)}
EQUALS_QUEUE = [f"{host}/{page}" for n, host in enumerate(reversed(EQUALS)) for page in range(n + 1)]


def equals(folder: Path, by: str) -> Seen:
    routes = {"/robots.txt": ROBOTS, **{f"/{page}": OK for page in range(len(EQUALS))}}
    return run(folder / f"equals-{by}", by, EQUALS_QUEUE, routes, EQUALS, {"SEASPIDER_INTERVAL": 0.05})


def test_equal_pauses_give_two_of_them_the_same_order(crowd: Crowd) -> None:
    names, queue = EQUALS, EQUALS_QUEUE
    one, other = (crowd[f"equals {by}"] for by in ("round-robin", "longest-idle"))
    assert one.order == other.order
    assert len(one.order) == len(queue) + len(names)
    # By hand: robots.txt of each, then the pages in rounds over the sorted hosts that have some left.
    rounds = [(host, page) for page in range(len(names)) for host in sorted(names) if f"{host}/{page}" in queue]
    assert one.order == [(host, "/robots.txt") for host in sorted(names)] + [
        (host, f"/{page}") for host, page in rounds
    ]


# --- nobody waits for another ---

ASKED_S = 3
OTHERS = {f"o{number}.test": f"127.0.28.{number}" for number in range(1, 6)}
HELD = {"held.test": "127.0.28.99"} | OTHERS
# The order knows of no pause, so whoever is next is waited for in the door.
NO_LOGICAL_CLOCK = """
from seaspider.core.hostqueue import HostOrder
HostOrder.settled = lambda self, host, address, host_pause_ns, address_pause_ns: None
"""


def held(folder: Path, by: str, sabotage: str = "") -> Seen:
    queue = [f"{host}/{page}" for host in HELD for page in range(1, 6)]
    pushing = (Answer(429, (("Retry-After", str(ASKED_S)),)), OK)
    routes = {"/robots.txt": ROBOTS, **{f"/{page}": OK for page in range(1, 6)}, "held.test/1": pushing}
    settings = {"SEASPIDER_INTERVAL": 0.1, "SEASPIDER_BACKOFF_BASE": 0.1, "SEASPIDER_BACKOFF_CAP": 5}
    return run(folder / f"held-{by}-{bool(sabotage)}", by, queue, routes, HELD, settings, sabotage)


def held_up(seen: Seen) -> int:
    """How many requests to other hosts came after the second one for the page that was asked for 3 s later."""
    again = [n for n, (host, target) in enumerate(seen.order) if (host, target) == ("held.test", "/1")][1]
    return sum(host != "held.test" for host, _ in seen.order[again:])


@pytest.mark.parametrize("by", ORDERS)
def test_a_retry_after_holds_nobody_else_up(crowd: Crowd, by: str) -> None:
    seen = crowd[f"held {by}"]
    assert seen.ended.exit == 0, seen.ended.log
    assert held_up(seen) == 0
    assert sum(a.name in OTHERS for a in seen.arrivals) == len(OTHERS) * 6
    first, second = [a.arrived_ns for a in seen.arrivals if (a.name, a.target) == ("held.test", "/1")]
    assert second - first >= ASKED_S * NS_PER_S


def test_twin_without_the_logical_clock_all_wait(crowd: Crowd) -> None:
    assert held_up(crowd["held twin"]) > len(OTHERS)


HOSTS, WAIT_S = 80, 0.2
MANY = {f"h{number:03}.test": f"127.1.5.{number + 1}" for number in range(HOSTS)}


def many(folder: Path, by: str) -> Seen:
    queue = [f"{host}/page" for host in reversed(MANY)]
    routes = {"/robots.txt": ROBOTS, "/page": OK}
    return run(folder / f"many-{by}", by, queue, routes, MANY, {"SEASPIDER_INTERVAL": WAIT_S})


@pytest.mark.parametrize("by", ORDERS)
def test_two_rounds(crowd: Crowd, by: str) -> None:
    claims = [row for row in crowd[f"many {by}"].ended.records("requests") if row["event"] == "claim"]
    found = [(row["kind"], row["host"]) for row in claims]
    assert found == [(kind, host) for kind in ("robots", "page") for host in sorted(MANY)]


@pytest.mark.parametrize("by", ORDERS)
def test_no_turn_waits_while_another_host_is_due(crowd: Crowd, by: str) -> None:
    """When a request is over, the host of the next one is due, or none of those that have work left is."""
    rows = crowd[f"many {by}"].ended.records("requests")
    claims = {row["n"]: row["host"] for row in rows if row["event"] == "claim"}
    over = {row["n"]: row for row in rows if row["event"] == "settle"}
    due_ns, waited_beside = dict.fromkeys(MANY, 0), []
    left = dict.fromkeys(MANY, 2)
    for n, host in sorted(claims.items()):
        now_ns = over[n - 1]["ended_ns"] if n > 1 else 0
        if due_ns[host] > now_ns:
            waited_beside += [(n, other) for other in MANY if left[other] and due_ns[other] <= now_ns]
        left[host] -= 1
        due_ns[host] = over[n]["ended_ns"] + ns_from_s(over[n]["pause_s"])
    assert waited_beside == []
    assert set(left.values()) == {0}
