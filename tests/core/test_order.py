"""Rounds over the sorted hosts, the logical clock, addresses, the line within a host: exact sequences."""

from typing import Any

import pytest

from seaspider.core.order import RoundRobin
from tests.core.orders import (
    S,
    SlowRounds,
    ask,
    filled,
    push,
    turns,
)


def order_of(*tasks: str) -> RoundRobin[str]:
    return filled(RoundRobin(), *tasks)


# Rounds


def test_sorted_hosts_one_turn_each_in_every_round() -> None:
    order = order_of("c/1", "a/1", "b/1", "a/2", "a/3", "c/2")
    assert turns(order) == [("a/1", 0), ("b/1", 0), ("c/1", 0), ("a/2", 2), ("c/2", 2), ("a/3", 4)]
    assert order.next() is None
    assert order.pending == 0


def test_newcomers_join_the_next_round() -> None:
    order = order_of("b/1", "d/1", "b/2")
    assert ask(order) == "b/1"
    for task in ("a/1", "c/1", "d/2", "e/1"):
        push(order, task)
    assert [task for task, _ in turns(order)] == ["d/1", "a/1", "c/1", "e/1", "b/2", "d/2"]


def test_a_host_that_gets_work_again_later_joins_the_next_round() -> None:
    order = order_of("a/1", "b/1", "c/1")
    assert [ask(order, pause_s=0), ask(order, pause_s=0)] == ["a/1", "b/1"]
    push(order, "a/2")
    push(order, "b/2")
    assert [ask(order, pause_s=0) for _ in range(4)] == ["c/1", "a/2", "b/2", None]


def test_a_host_that_gets_work_again_keeps_its_pause() -> None:
    order = order_of("a/1")
    assert ask(order, pause_s=5) == "a/1"
    push(order, "a/2")
    push(order, "b/1")
    assert turns(order) == [("b/1", 0), ("a/2", 5)]


def test_a_long_idle_host_is_due_at_once() -> None:
    order = order_of("a/1", "b/1", "b/2", "b/3")
    turns(order)
    assert order.clock_ns == 4 * S
    push(order, "a/2")
    assert turns(order) == [("a/2", 4)]


def test_many_hosts_wait_for_the_pause_together() -> None:
    hosts = [f"h{number:03}" for number in range(300)]
    order = order_of(*(f"{host}/{page}" for host in reversed(hosts) for page in (1, 2)))
    expected = [(f"{host}/{page}", 2 * (page - 1)) for page in (1, 2) for host in hosts]
    assert turns(order, limit=1000) == expected


# The logical clock


def test_the_clock_moves_on_only_if_none_is_due_and_then_to_the_earliest() -> None:
    order = order_of("a/1", "b/1", "c/1", "a/2", "b/2", "c/2", "b/3")
    pauses_s = {"a": 7.0, "b": 3.0, "c": 5.0}
    assert turns(order, pauses_s) == [
        ("a/1", 0), ("b/1", 0), ("c/1", 0), ("b/2", 3), ("c/2", 5), ("b/3", 6), ("a/2", 7)
    ]  # fmt: skip


def test_a_host_five_times_slower_is_passed_over() -> None:
    order = order_of(*(f"{host}/{page}" for host in ("fast", "slow", "warm") for page in range(1, 7)))
    assert turns(order, {"slow": 10.0}, limit=15) == [
        ("fast/1", 0), ("slow/1", 0), ("warm/1", 0),
        ("fast/2", 2), ("warm/2", 2),
        ("fast/3", 4), ("warm/3", 4),
        ("fast/4", 6), ("warm/4", 6),
        ("fast/5", 8), ("warm/5", 8),
        ("fast/6", 10), ("slow/2", 10), ("warm/6", 10),
        ("slow/3", 20),
    ]  # fmt: skip


def test_without_pauses_the_clock_stands_still() -> None:
    order = order_of("b/1", "a/1", "a/2", "b/2", "a/3")
    found = turns(order, {"a": 0.0, "b": 0.0})
    assert found == [("a/1", 0), ("b/1", 0), ("a/2", 0), ("b/2", 0), ("a/3", 0)]


def test_a_shorter_pause_later_does_not_cut_a_longer_one() -> None:
    order = order_of("a/1", "a/2")
    assert ask(order, pause_s=60) == "a/1"
    order.settled("a", "a", 2 * S, 0)
    assert turns(order) == [("a/2", 60)]


def test_a_request_that_was_no_turn_makes_its_host_wait() -> None:
    """Another part's request to b comes while b is already in the round."""
    order = order_of("a/1", "b/1", "c/1")
    assert ask(order) == "a/1"
    order.settled("b", "b", 3 * S, 0)
    assert turns(order) == [("c/1", 0), ("b/1", 3)]


# Hosts that share an address


def test_hosts_found_to_share_an_address_share_its_pause() -> None:
    order = order_of("a/1", "b/1", "c/1", "a/2", "b/2", "c/2")
    # In the first round nothing is known of addresses yet.
    assert [ask(order, ip=ip, ip_pause_s=2) for ip in ("x", "y", "x")] == ["a/1", "b/1", "c/1"]
    assert order.clock_ns == 0
    seen = []
    for ip in ("x", "y", "x"):
        seen.append((ask(order, ip=ip, ip_pause_s=2), order.clock_ns / S))
    assert seen == [("a/2", 2), ("b/2", 2), ("c/2", 4)]


@pytest.mark.parametrize(("ip_pause_s", "expected"), [(0, [0, 0, 0, 0]), (1, [0, 1, 2, 3]), (5, [0, 5, 10, 15])])
def test_the_address_has_its_own_pause(ip_pause_s: float, expected: list[float]) -> None:
    order = order_of()
    for host in "abcd":
        order.settled(host, "x", 0, 0)
        push(order, f"{host}/1")
    seen = [(ask(order, pause_s=0, ip="x", ip_pause_s=ip_pause_s), order.clock_ns / S) for _ in "abcd"]
    assert seen == list(zip(["a/1", "b/1", "c/1", "d/1"], expected, strict=True))


def on_one_address(*tasks: str) -> RoundRobin[str]:
    order = order_of()
    for task in tasks:
        order.settled(task[0], "x", 0, 0)
        push(order, task)
    return order


def test_of_hosts_on_one_address_the_one_that_waits_longest_has_the_turn() -> None:
    order = on_one_address("a/1", "a/2", "b/1", "b/2", "c/1", "c/2")
    seen = []
    for pause_s in (10, 2, 2, 2, 2, 2):
        seen.append((ask(order, pause_s=pause_s, ip="x", ip_pause_s=2), order.clock_ns / S))
    assert seen == [("a/1", 0), ("b/1", 2), ("c/1", 4), ("b/2", 6), ("c/2", 8), ("a/2", 10)]


def test_a_newcomer_on_an_address_waits_for_those_that_waited_before() -> None:
    order = on_one_address("b/1", "b/2", "c/1", "d/1", "d/2")
    assert ask(order, ip="x", ip_pause_s=2) == "b/1"
    order.settled("a", "x", 0, 0)
    push(order, "a/1")
    push(order, "a/2")
    order.settled("e", "x", 0, 0)
    push(order, "e/1")
    seen = [ask(order, ip="x", ip_pause_s=2) for _ in range(7)]
    assert seen == ["c/1", "d/1", "a/1", "b/2", "e/1", "d/2", "a/2"]


def test_a_host_that_has_to_rest_by_itself_gives_no_place_in_the_round() -> None:
    """z waits longest on its address, but another part asked it meanwhile; m comes before n, wherever z would be."""
    order = on_one_address("z/1")
    order.settled("m", "x", 0, 2 * S)
    push(order, "n/1")
    push(order, "n/2")
    assert ask(order) == "n/1"
    order.settled("z", "x", 9 * S, 0)
    push(order, "m/1")
    assert turns(order) == [("m/1", 2), ("n/2", 2), ("z/1", 9)]


@pytest.mark.parametrize("pause", [0, 1, 2, 3, 4, 6, 7, 20])
@pytest.mark.parametrize("hosts", [2, 3, 5])
def test_each_of_the_hosts_of_an_address_gets_one_of_its_turns_in_so_many(hosts: int, pause: int) -> None:
    """Whatever the hosts' own pause is; another address beside it changes nothing."""
    found = turns_of_addresses(RoundRobin(), {"x": hosts, "y": 2}, pause, 2)
    assert len(found["x"]) == 12 * hosts
    assert all(len({*found["x"][at : at + hosts]}) == hosts for at in range(11 * hosts))


def test_by_name_alone_the_first_of_them_would_have_all_turns() -> None:
    """Twin: each time the address is due, so is the host that comes first."""
    found = turns_of_addresses(SlowRounds(turns_about=False), {"x": 3, "y": 2}, 2, 2)
    assert found["x"] == ["x0"] * 12 + ["x1"] * 12 + ["x2"] * 12


def turns_of_addresses(order: Any, hosts: dict[str, int], pause: int, address_pause: int) -> dict[str, list[str]]:
    """The hosts that had the turns of each address; each host has 12 pages. Who shares one is known."""
    names = [f"{address}{number}" for address, many in hosts.items() for number in range(many)]
    for name in names:
        order.settled(name, name[0], 0, 0)
        for _ in range(12):
            order.push(name, name, name)
    found: dict[str, list[str]] = {address: [] for address in hosts}
    while (name := order.next()) is not None:
        order.took_turn()
        order.settled(name, name[0], pause, address_pause)
        found[name[0]].append(name)
    return found


def test_stops_on_a_shared_address_leave_the_turn_to_its_next_host() -> None:
    order = order_of()
    for host in "abc":
        order.settled(host, "x", 0, 0)
        push(order, f"{host}/1")
    push(order, "aa/1")
    push(order, "d/1")
    assert order.next() == "a/1"  # stopped, no request
    assert [ask(order), ask(order, ip="x", ip_pause_s=2), ask(order)] == ["aa/1", "b/1", "d/1"]
    assert (ask(order), order.clock_ns) == ("c/1", 2 * S)


def test_a_host_that_moves_to_another_address_leaves_the_old_ones_pause() -> None:
    order = order_of("a/1", "a/2", "b/1", "b/2")
    assert [ask(order, pause_s=1, ip="x", ip_pause_s=9), ask(order, pause_s=1, ip="y", ip_pause_s=1)] == ["a/1", "b/1"]
    assert (ask(order, pause_s=1, ip="x", ip_pause_s=9), order.clock_ns) == ("b/2", S)
    assert (ask(order), order.clock_ns) == ("a/2", 10 * S)


# Within a host


def test_hops_and_attempts_come_before_new_urls_first_come_first_served() -> None:
    order = order_of("a/1", "a:81/2", "a/3")
    push(order, "a:81/hop1", goes_on=True)
    push(order, "a/hop2", goes_on=True)
    push(order, "a:81/4")
    push(order, "a:82/hop3", goes_on=True)
    expected = ["a:81/hop1", "a/hop2", "a:82/hop3", "a/1", "a:81/2", "a/3", "a:81/4"]
    assert list(order) != expected
    assert [task for task, _ in turns(order)] == expected


def test_a_stop_without_a_request_takes_no_turn() -> None:
    order = order_of("a/1", "a/2", "a/3", "b/1")
    assert [order.next(), order.next(), ask(order), ask(order)] == ["a/1", "a/2", "a/3", "b/1"]
    assert order.clock_ns == 0


def test_a_host_that_only_stops_leaves_the_turn_to_the_next() -> None:
    order = order_of("a/1", "b/1", "b/2")
    assert [order.next(), order.next(), order.next(), order.next()] == ["a/1", "b/1", "b/2", None]
    push(order, "a/2")
    assert order.next() == "a/2"


def test_a_held_origin_waits_and_the_other_origins_of_its_host_do_not() -> None:
    order = order_of("a/1", "a/2", "a:81/1", "b/1", "b/2")
    assert order.next() == "a/1"
    order.put_back("a", "a", "a/1")
    order.hold("a", "a")
    order.took_turn()
    order.settled("a", "a", 2 * S, 0)
    push(order, "a/hop", goes_on=True)
    assert order.pending == 6
    assert turns(order) == [("b/1", 0), ("a:81/1", 2), ("b/2", 2)]
    assert (order.pending, order.next()) == (3, None)
    assert list(order) == ["a/1", "a/hop", "a/2"]
    order.release("a", "a")
    assert turns(order) == [("a/1", 4), ("a/hop", 6), ("a/2", 8)]


def test_a_released_host_joins_the_next_round() -> None:
    order = order_of("a/1", "b/1", "c/1")
    assert order.next() == "a/1"
    order.put_back("a", "a", "a/1")
    order.hold("a", "a")
    order.took_turn()
    assert ask(order, pause_s=0) == "b/1"
    order.release("a", "a")
    assert [ask(order), ask(order)] == ["c/1", "a/1"]


def test_a_hold_without_a_request_goes_on_within_the_turn() -> None:
    """The robots.txt fetch ended before anything was sent: same host, same turn."""
    order = order_of("a/1", "b/1")
    assert order.next() == "a/1"
    order.put_back("a", "a", "a/1")
    order.hold("a", "a")
    order.release("a", "a")
    assert [order.next(), order.next()] == ["a/1", "b/1"]


def test_what_was_put_back_keeps_its_place_among_what_goes_on() -> None:
    """Two origins of a host wait for their robots.txt; what came first goes on first, whichever was released first."""
    order = order_of("a:81/9", "a/1")
    assert order.next() == "a:81/9"  # makes a lane for a:81 that is older than the one of a
    push(order, "a:81/hop", goes_on=True)
    push(order, "a:82/hop", goes_on=True)
    for origin in ("a:81", "a:82"):
        assert order.next() == f"{origin}/hop"
        order.put_back("a", origin, f"{origin}/hop")
        order.hold("a", origin)
    assert order.next() == "a/1"
    order.put_back("a", "a", "a/1")
    order.hold("a", "a")
    for origin in ("a:82", "a:81", "a"):
        order.release("a", origin)
    assert [order.next() for _ in range(4)] == ["a/1", "a:81/hop", "a:82/hop", None]


def test_pending_counts_what_waits() -> None:
    order = order_of("a/1", "a/2", "b/1")
    seen = [order.pending]
    task = order.next()
    assert task == "a/1"
    seen.append(order.pending)
    order.put_back("a", "a", task)
    order.hold("a", "a")
    seen.append(order.pending)
    order.took_turn()
    seen.extend(order.pending for _ in turns(order))
    order.release("a", "a")
    seen.append(order.pending)
    turns(order)
    seen.append(order.pending)
    assert seen == [3, 2, 3, 2, 2, 0]


def test_tasks_are_never_compared() -> None:
    order: RoundRobin[object] = RoundRobin()
    tasks = [object() for _ in range(20)]
    for number, task in enumerate(tasks):
        order.push("a", f"a:{number % 3}", task, goes_on=number % 2 == 0)
    assert [order.next() for _ in tasks] == tasks[::2] + tasks[1::2]
