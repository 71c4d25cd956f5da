"""What a crawl would ask for, added up URL by URL, against tables and against the orders run to their end."""

import gc
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

from seaspider.core.firstturns import Ask, FirstTurns, Kind, Planned, Stop
from seaspider.core.forecast import Forecast, HostPlan
from seaspider.core.hostqueue import HostOrder
from seaspider.core.mostremaining import MostRemaining
from seaspider.core.order import RoundRobin
from seaspider.core.orders import OrderName, new_order
from seaspider.core.records import Ending
from seaspider.core.remaining import Longest, Remaining
from seaspider.core.robotsstate import RobotsPolicy, RobotsReason
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import normalise
from tests.core.test_frontier import ALL, DNS, NS, SPECIAL, T0, S, World

SLOW = b"User-agent: *\nCrawl-delay: 7\nDisallow: /no\n"
TOO_SLOW = b"User-agent: *\nCrawl-delay: 61\n"
Order = HostOrder[Planned | Ask | Stop]
# Without a time that answers are taken to last, so that the clock is moved by pauses alone.
ORDERS: dict[str, Callable[[], Order]] = {str(name): partial(new_order, name, 0, 2 * NS) for name in OrderName}


def forecast(
    world: World,
    *texts: str,
    interval_s: float = 2,
    ip_interval_s: float = 0,
    addresses: Mapping[str, str | Ending] | None = None,
    turns: int = 0,
    counts_tasks: bool = False,
    earlier: Mapping[str, dict[str, Any]] | None = None,
) -> Forecast:
    first = FirstTurns(turns, counts_tasks=counts_tasks)
    made = Forecast(world.frontier, world.now_ms, interval_s, ip_interval_s, (addresses or {}).get, first)
    for text in texts:
        made.add(normalise(text), (earlier or {}).get(text))
    return made


def known(**origins: bytes | int | RobotsReason) -> World:
    """A world in which earlier runs left a robots.txt of `http://<name>.test`."""
    world = World()
    for name, answer in origins.items():
        world.know(f"http://{name}.test", answer)
    return world


def forbidden() -> World:
    world = World()
    world.frontier.forbidden("a.test", T0 - S)
    return world


def given_up() -> World:
    world = World(robots=RobotsPolicy(give_up=1))
    world.know("http://a.test", RobotsReason.DNS)
    return world


def put_off(until_ms: int) -> dict[str, Any]:
    return {"outcome": "deferred", "reason": "backoff", "not_before": rfc3339_ms(until_ms)}


A1, A2, A_NO, A_TLS, B = "http://a.test/1", "http://a.test/2", "http://a.test/no", "https://a.test/", "http://b.test/"
# what is known, URLs, options; then: robots.txt and page requests, hosts, bound in s, what ends without a request
SUMS: dict[str, tuple[World, tuple[str, ...], dict[str, Any], tuple[int, int, int, float], dict[str, int]]] = {
    "nothing": (World(), (), {}, (0, 0, 0, 0.0), {}),
    "one page": (World(), (A1,), {}, (1, 1, 1, 2.0), {}),
    "one host": (World(), (A1, A2), {}, (1, 2, 1, 4.0), {}),
    "two origins of one host": (World(), (A1, A_TLS), {}, (2, 2, 1, 6.0), {}),
    "two hosts": (World(), (A1, A2, B), {}, (2, 3, 2, 4.0), {}),
    "rules in force": (known(a=ALL), (A1, A2), {}, (0, 2, 1, 2.0), {}),
    "no file in force": (known(a=404), (A1, A2), {}, (0, 2, 1, 2.0), {}),
    "a crawl-delay in force": (known(a=SLOW), (A1, A2), {}, (0, 2, 1, 7.0), {}),
    "a crawl-delay of another host": (known(b=SLOW), (A1, A2), {}, (1, 2, 1, 4.0), {}),
    "the second origin is slower": (known(a=SLOW), (A_TLS, A1, A2), {}, (1, 3, 1, 11.0), {}),
    "a rule forbids": (known(a=SLOW), (A_NO, A1), {}, (0, 1, 1, 0.0), {"disallowed/robots-rule": 1}),
    "all forbidden": (known(a=SLOW), (A_NO,), {}, (0, 0, 0, 0.0), {"disallowed/robots-rule": 1}),
    "over the cap": (known(a=TOO_SLOW), (A1, B), {}, (1, 1, 1, 2.0), {"deferred/crawl-delay": 1}),
    "unreachable": (known(a=503), (A1, A2), {}, (0, 0, 0, 0.0), {"deferred/robots-unreachable": 2}),
    "given up": (given_up(), (A1,), {}, (0, 0, 0, 0.0), {"failed/robots-unreachable": 1}),
    "after a 403": (forbidden(), (A1, A2, B), {}, (1, 1, 1, 2.0), {"blocked/forbidden": 2}),
    "a budget": (World(host_budget=2), (A1, A2, B), {}, (2, 2, 2, 2.0), {"deferred/budget": 1}),
    "a budget of one": (World(host_budget=1), (A1, A2), {}, (1, 0, 1, 0.0), {"deferred/budget": 2}),
    "put off": (World(), (A1, A2), {"earlier": {A1: put_off(T0 + 1)}}, (1, 1, 1, 2.0), {"deferred/backoff": 1}),
    "put off until now": (World(), (A1, A2), {"earlier": {A1: put_off(T0)}}, (1, 2, 1, 4.0), {}),
    "without a date": (World(), (A1,), {"earlier": {A1: {"not_before": None}}}, (1, 1, 1, 2.0), {}),
    "special": (World(), (A1, A_TLS, B), {"addresses": {"a.test": SPECIAL}}, (1, 1, 1, 2.0), {str(SPECIAL): 2}),
    "no such name": (World(), (A1,), {"addresses": {"a.test": DNS}}, (0, 0, 0, 0.0), {"failed/dns": 1}),
    "a longer pause per address": (World(), (A1, A2), {"ip_interval_s": 5}, (1, 2, 1, 10.0), {}),
    "a crawl-delay beats that": (known(a=SLOW), (A1, A2), {"ip_interval_s": 5}, (0, 2, 1, 7.0), {}),
    "no pause": (World(), (A1, A2), {"interval_s": 0}, (1, 2, 1, 0.0), {}),
}


@pytest.mark.parametrize(("world", "urls", "options", "sums", "stops"), SUMS.values(), ids=SUMS)
def test_what_it_comes_to(
    world: World,
    urls: tuple[str, ...],
    options: dict[str, Any],
    sums: tuple[int, int, int, float],
    stops: dict[str, int],
) -> None:
    made = forecast(world, *urls, **options)
    assert (made.robots, made.pages, made.hosts, made.bound_s()) == sums
    assert made.stops == stops
    assert made.requests == sum(made.requests_per_host.values()) == sums[0] + sums[1]


def test_the_busiest_host_and_the_slowest_one_need_not_be_the_same() -> None:
    pages = [f"http://{host}.test/{n}" for host, count in (("c", 4), ("b", 4), ("a", 3)) for n in range(count)]
    made = forecast(known(a=SLOW), *pages)
    assert made.busiest == HostPlan("b.test", 5, 8 * NS, 2 * NS, even=True)
    assert made.slowest == HostPlan("a.test", 3, 14 * NS, 7 * NS, even=True)
    assert World().frontier.requests == {}


def test_without_a_request_there_is_no_busiest_host() -> None:
    made = forecast(World())
    assert (made.busiest, made.slowest, made.eta_s(0.1, 1)) == (None, None, (0, 0))


UNEVEN = {
    "all equal": ((A1, A2), True),
    "longer after the first": ((A_TLS, A1, A2), False),
}


@pytest.mark.parametrize(("urls", "even"), UNEVEN.values(), ids=UNEVEN)
@pytest.mark.parametrize("interval_s", [0, 2])
def test_pauses_that_differ_are_told_apart(urls: tuple[str, ...], even: bool, interval_s: float) -> None:
    slowest = forecast(known(a=SLOW), *urls, interval_s=interval_s).slowest
    assert slowest is not None
    assert slowest.even is even


def test_the_time_is_between_pauses_and_answers_side_by_side_and_one_after_the_other() -> None:
    made = forecast(World(), *(f"http://a.test/{n}" for n in range(4)), B)
    assert made.bound_s() == 8
    assert made.eta_s(0.5, 3) == (8, 8 + 7 * 3)
    assert made.eta_s(2, 3) == (7 * 2, 8 + 7 * 3)


# --- turns ---


def shown(made: Forecast, order: Order) -> list[tuple[float, str]]:
    return [(turn.at_ns / NS, turn.ask.target) for turn in made.first_turns(order)]


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_the_first_turns(order: Callable[[], Order]) -> None:
    made = forecast(known(c=SLOW), B, A1, A_TLS, "http://c.test/1", "http://c.test/2", turns=8)
    first = [
        (0, "http://a.test/robots.txt"),
        (0, "http://b.test/robots.txt"),
        (0, "http://c.test/1"),
    ]
    if isinstance(order(), MostRemaining):
        first = [first[0], first[2], first[1]]  # b has one URL, the others have two
    assert shown(made, order()) == [
        *first,
        (2, "http://a.test/1"),
        (2, "http://b.test/"),
        (4, "https://a.test/robots.txt"),
        (6, "https://a.test/"),
        (7, "http://c.test/2"),
    ]


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_hosts_of_one_known_address_wait_for_each_other(order: Callable[[], Order]) -> None:
    addresses = {"a.test": "192.0.2.1", "b.test": "192.0.2.1"}
    made = forecast(known(a=ALL, b=ALL), A1, A2, B, B + "2", ip_interval_s=3, addresses=addresses, turns=4)
    assert shown(made, order()) == [(0, A1), (0, B), (3, A2), (6, B + "2")]


def many(seed: int) -> list[str]:
    """A queue of 300 URLs over 24 origins, hosts of very different sizes."""
    chance = Random(seed)
    hosts = [f"{name}.test" for name in "abcdefghijkl"]
    return [
        f"{chance.choice(['http', 'https'])}://{hosts[int(chance.expovariate(0.3)) % len(hosts)]}/{n}"
        for n in range(300)
    ]


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_where_the_clock_of_the_order_stands_at_the_end(seed: int, order: Callable[[], Order]) -> None:
    made = forecast(known(b=SLOW, d=404, e=TOO_SLOW, f=503, k=SLOW), *many(seed), turns=10_000)
    run = order()
    turns = made.first_turns(run)
    assert len(turns) == made.requests
    assert (turns[-1].at_ns, run.pending) == (made.bound_s() * NS, 0)
    assert sum(turn.ask.kind is Kind.ROBOTS for turn in turns) == made.robots


@pytest.mark.parametrize("name", OrderName)
@pytest.mark.parametrize("interval_s", [0, 2])
@pytest.mark.parametrize("turns", [1, 2, 5, 9, 10, 11, 12, 13, 40])
def test_the_first_few_are_the_first_of_all(turns: int, interval_s: float, name: OrderName) -> None:
    found = []
    for asked in (10_000, turns):
        world = known(b=SLOW, d=404, e=TOO_SLOW, f=503, k=SLOW)
        made = forecast(world, *many(turns), interval_s=interval_s, turns=asked, counts_tasks=name.counts_tasks)
        found.append(made.first_turns(new_order(name, NS // 3, 2 * NS)))
    assert found[1] == found[0][:turns]


def test_only_few_hosts_have_to_be_known_well() -> None:
    """Of 400 hosts with three URLs each, the one that comes last has five, and one more whose rules forbid it."""
    urls = [f"http://{host:03}.test/{n}" for n in range(3) for host in range(400)]
    urls += [A1, A_NO, A2, *(f"http://a.test/{n}" for n in range(3, 6))]
    made = forecast(known(a=SLOW), *urls, turns=3, counts_tasks=True)
    assert len([thing for thing in gc.get_objects() if isinstance(thing, Ask)]) <= 401 + 3 * 3
    assert shown(made, new_order(OrderName.MOST_REMAINING, NS, 2 * NS)) == [
        (0, A1), (1, "http://000.test/robots.txt"), (2, "http://001.test/robots.txt")
    ]  # fmt: skip


def test_what_is_kept_for_the_turns_does_not_grow_with_the_queue() -> None:
    made = forecast(World(), *(f"http://{host:04}.test/{n}" for n in range(3) for host in range(3_000, 0, -1)), turns=2)
    asks = [thing for thing in gc.get_objects() if isinstance(thing, Ask)]
    assert made.requests == 12_000
    assert len(asks) <= 2 * 2 * 2
    assert [turn.ask.url.host for turn in made.first_turns(RoundRobin())] == ["0001.test", "0002.test"]


def test_no_turns_are_none() -> None:
    assert forecast(World(), A1, turns=0).first_turns(RoundRobin()) == []


# --- what remains ---


def test_the_host_that_takes_longest() -> None:
    remaining = Remaining(2)
    for host in "aabccc":
        remaining.add(host)
    assert (remaining.urls, remaining.longest()) == (6, Longest("c", 3, 2))
    for _ in range(2):
        remaining.ended("c")
    assert remaining.longest() == Longest("a", 2, 2)
    remaining.rests("b", 7)
    remaining.rests("b", 3)
    assert remaining.longest() == Longest("b", 1, 7)
    remaining.add("c")
    remaining.rests("a", 2)
    assert remaining.longest() == Longest("b", 1, 7)
    remaining.ended("b")
    assert (remaining.longest(), remaining.urls) == (Longest("a", 2, 2), 4)
    for host in "aacc":
        remaining.ended(host)
    assert (remaining.longest(), remaining.urls) == (None, 0)


def test_it_is_always_the_longest_of_all() -> None:
    chance, remaining = Random(11), Remaining(2)
    urls, pauses = dict.fromkeys("abcdef", 0), dict.fromkeys("abcdef", 2)
    for step in range(3_000):
        host = chance.choice("abcdef")
        match chance.randrange(5):
            case 0 | 1:
                remaining.add(host)
                urls[host] += 1
            case 2 | 3 if urls[host]:
                remaining.ended(host)
                urls[host] -= 1
            case 4 if step % 100 == 0:
                pause = chance.randrange(9)
                remaining.rests(host, pause)
                pauses[host] = max(pauses[host], pause)
        most = max(urls[each] * pauses[each] for each in urls)
        longest = remaining.longest()
        assert (longest.ns if longest else 0) == most
        assert remaining.urls == sum(urls.values())
