"""The judge on arrivals made by hand: each verdict, and what must not satisfy it."""

import pytest

from seaspider.loopback import Arrival
from seaspider.loopback.judge import Key, max_in_flight, min_gaps_ns, order, pages_before_robots, pairs_nearer


def came(n: int, arrived: int, host: str, target: str, address: str = "127.0.0.1", **more: object) -> Arrival:
    fields: dict[str, object] = {"answered_ns": arrived + 2, "open_at_arrival": 0, **more}
    return Arrival(n, address, host, "GET", target, (), arrived, **fields)  # type: ignore[arg-type]


SHARED = [
    came(1, 1000, "a.test:80", "/robots.txt"),
    came(2, 1100, "b.test:80", "/robots.txt"),
    came(3, 1190, "A.test:80", "/1"),
    came(4, 1400, "a.test:81", "/2", "127.0.0.2"),
    came(5, 1500, "c.test:80", "/", "127.0.0.3"),
]


def test_gaps_of_an_address_and_of_a_host_differ() -> None:
    assert min_gaps_ns(SHARED, Key.IP) == {"127.0.0.1": 90}
    assert min_gaps_ns(SHARED, Key.HOST) == {"a.test": 190}


def test_gaps_do_not_depend_on_the_order_of_the_list() -> None:
    assert min_gaps_ns(reversed(SHARED), Key.IP) == {"127.0.0.1": 90}


def test_no_pair_no_gap() -> None:
    assert min_gaps_ns([], Key.IP) == {}
    assert pairs_nearer(SHARED[:1], Key.IP, 10**18) == []


@pytest.mark.parametrize(("pause_ns", "near"), [(90, []), (91, [(2, 3)]), (101, [(1, 2), (2, 3)])])
def test_a_pair_is_too_near_below_the_pause_and_not_at_it(pause_ns: int, near: list[tuple[int, int]]) -> None:
    assert [(pair.first.n, pair.second.n) for pair in pairs_nearer(SHARED, Key.IP, pause_ns)] == near


def test_a_host_has_a_pause_of_its_own() -> None:
    assert pairs_nearer(SHARED, Key.HOST, 1, {"b.test": 10**9}) == []
    (first, second) = pairs_nearer(SHARED, Key.HOST, 1, {"a.test": 1000})
    assert (first.key, first.gap_ns, second.gap_ns) == ("a.test", 190, 210)


def test_order_has_names_without_ports() -> None:
    assert order(reversed(SHARED)) == [
        ("a.test", "/robots.txt"),
        ("b.test", "/robots.txt"),
        ("a.test", "/1"),
        ("a.test", "/2"),
        ("c.test", "/"),
    ]


@pytest.mark.parametrize(("opens", "most"), [([], 0), ([0, 0], 1), ([0, 1, 2, 0], 3)])
def test_most_in_flight(opens: list[int], most: int) -> None:
    arrivals = [came(n, n, "a.test", "/", open_at_arrival=count) for n, count in enumerate(opens, 1)]
    assert max_in_flight(arrivals) == most


ROBOTS = came(1, 10, "a.test:80", "/robots.txt")
PAGE = came(2, 20, "a.test:80", "/p")


@pytest.mark.parametrize(
    ("arrivals", "early"),
    [
        ([ROBOTS, PAGE], []),
        ([PAGE], [2]),
        ([came(1, 30, "a.test:80", "/robots.txt"), PAGE], [2]),
        ([came(1, 10, "b.test:80", "/robots.txt"), PAGE], [2]),
        ([came(1, 10, "a.test:81", "/robots.txt"), PAGE], [2]),
        ([came(1, 10, "a.test:80", "/robots.txt", scheme="https"), PAGE], [2]),
        ([came(1, 10, "a.test:80", "/robots.txt", answered_ns=None), PAGE], [2]),
        ([came(1, 10, "a.test:80", "/robots.txt", answered_ns=20), PAGE], [2]),
        ([came(1, 10, "a.test:80", "/robots.txt?x"), PAGE], [1, 2]),
        ([ROBOTS, PAGE, came(3, 30, "a.test:80", "/q"), came(4, 40, "A.TEST:80", "/r")], []),
    ],
    ids=[
        "kept",
        "no-robots",
        "robots-later",
        "other-host",
        "other-port",
        "other-scheme",
        "never-answered",
        "answered-not-before",
        "query",
        "once-is-enough",
    ],
)
def test_pages_before_robots(arrivals: list[Arrival], early: list[int]) -> None:
    assert [arrival.n for arrival in pages_before_robots(arrivals)] == early


def test_a_hop_of_robots_is_no_page() -> None:
    hop = came(1, 10, "b.test:80", "/r1")
    assert [arrival.n for arrival in pages_before_robots([hop])] == [1]
    assert pages_before_robots([hop], {("b.test", "/r1")}) == []
