"""The host with the most left first: exact sequences, how long others wait for it, how near that is to the bound."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.hostqueue import HostOrder
from seaspider.core.longestidle import LongestIdle
from seaspider.core.mostremaining import MostRemaining
from seaspider.core.order import RoundRobin
from tests.core.orders import THOROUGH, S, ask, filled, push, turns


def order_of(*tasks: str, answer_s: float = 1) -> MostRemaining[str]:
    return filled(MostRemaining(round(answer_s * S), 2 * S), *tasks)


def pages(**hosts: int) -> list[str]:
    return [f"{host}/{page}" for host, many in hosts.items() for page in range(1, many + 1)]


# Sequences


def test_hosts_never_asked_come_first_the_one_with_the_most_tasks_before_the_others_then_by_name() -> None:
    order = order_of(*pages(d=1, c=2, b=3, a=2), answer_s=0.5)
    assert turns(order) == [
        ("b/1", 0), ("a/1", 0.5), ("c/1", 1), ("d/1", 1.5), ("b/2", 2.5), ("a/2", 3), ("c/2", 3.5), ("b/3", 5)
    ]  # fmt: skip
    assert (order.next(), order.pending) == (None, 0)


def test_each_turn_moves_the_clock_on_and_the_pause_begins_after_it() -> None:
    order = order_of(*pages(a=3), answer_s=0.25)
    assert turns(order) == [("a/1", 0), ("a/2", 2.25), ("a/3", 4.5)]


def test_of_the_due_hosts_the_one_with_the_most_left() -> None:
    """b has less to do than a, but its pauses are longer. What is left then: a 5 x 2 s, b 2 x 6 s, c 2 x 2 s."""
    order = order_of(*pages(a=6, b=3, c=3), answer_s=0.5)
    assert turns(order, {"b": 6.0}) == [
        ("a/1", 0), ("b/1", 0.5), ("c/1", 1), ("a/2", 2.5), ("c/2", 3.5), ("a/3", 5), ("c/3", 6),
        ("b/2", 7), ("a/4", 7.5), ("a/5", 10), ("a/6", 12.5), ("b/3", 13.5),
    ]  # fmt: skip


CROWDED = pages(a=4, b=4, c=2, d=4)


def test_so_a_host_with_little_left_waits_until_the_others_have_as_little() -> None:
    """Three hosts with much to do leave no time. c has one task left, so it waits until they have one."""
    assert [task for task, _ in turns(order_of(*CROWDED, answer_s=1))] == [
        "a/1", "b/1", "d/1", "c/1", "a/2", "b/2", "d/2", "a/3", "b/3", "d/3", "a/4", "b/4", "c/2", "d/4"
    ]  # fmt: skip


def test_twin_a_clock_that_answers_do_not_move_gives_each_due_host_a_turn() -> None:
    assert [task for task, _ in turns(order_of(*CROWDED, answer_s=0))] == [
        "a/1", "b/1", "d/1", "c/1", "a/2", "b/2", "d/2", "c/2", "a/3", "b/3", "d/3", "a/4", "b/4", "d/4"
    ]  # fmt: skip


def test_what_comes_later_counts_from_then_on() -> None:
    """b has less left than a until more is found for it."""
    order = order_of(*pages(a=3, b=2), answer_s=0)
    assert [ask(order), ask(order)] == ["a/1", "b/1"]
    for task in ("b/3", "b/4"):
        push(order, task)
    push(order, "b/hop", goes_on=True)
    assert [task for task, _ in turns(order)] == ["b/hop", "a/2", "b/2", "a/3", "b/3", "b/4"]


def test_what_waits_for_a_robots_txt_counts_too() -> None:
    """a:81 is held, and gets no turn; but it is why a has more left than b."""
    order = order_of("a/1", "a/2", "a:81/1", "a:81/2", "b/1", "b/2", "b/3", answer_s=2)
    for origin in ("a:81", "b"):
        order.settled(origin[0], origin, 2 * S, 2 * S)
    order.hold("a", "a:81")
    assert [task for task, _ in turns(order)] == ["a/1", "b/1", "a/2", "b/2", "b/3"]
    order.release("a", "a:81")
    assert [task for task, _ in turns(order)] == ["a:81/1", "a:81/2"]


def test_a_stop_without_a_request_takes_no_turn_and_leaves_less() -> None:
    order = order_of(*pages(a=5, b=3), answer_s=2)
    assert [ask(order), ask(order)] == ["a/1", "b/1"]
    assert [order.next() for _ in range(2)] == ["a/2", "a/3"]
    assert ask(order) == "a/4"
    assert [task for task, _ in turns(order)] == ["b/2", "a/5", "b/3"]


def test_the_pause_after_the_latest_answer_is_what_counts() -> None:
    """A back-off makes a host's rest long, and its remainder with it, until an answer says otherwise."""
    order = order_of(*pages(a=3, b=4), answer_s=0.5)
    assert [ask(order), ask(order, pause_s=9), ask(order), ask(order)] == ["b/1", "a/1", "b/2", "b/3"]
    assert (ask(order), order.clock_ns / S) == ("b/4", 8)
    assert [(task, at) for task, at in turns(order)] == [("a/2", 10), ("a/3", 12.5)]


def test_hosts_that_share_an_address_count_as_long_as_the_address() -> None:
    """Each of a, b, c has less left than d, but at 5 s between any two of them they take longer than d."""
    order = order_of(*pages(a=2, b=2, c=2, d=5), answer_s=1)
    seen = []
    for _ in range(11):
        task = order.next()
        assert task is not None
        seen.append((task, order.clock_ns / S))
        order.took_turn()
        shared = task[0] in "abc"
        order.settled(task[0], "x" if shared else "y", 2 * S, (5 if shared else 2) * S)
    assert seen == [
        ("d/1", 0), ("a/1", 1), ("b/1", 2), ("c/1", 3), ("d/2", 4), ("d/3", 7), ("a/2", 9), ("d/4", 10),
        ("d/5", 13), ("b/2", 15), ("c/2", 21),
    ]  # fmt: skip


def test_a_host_that_moves_to_another_address_counts_there() -> None:
    order = order_of(*pages(a=2, b=4, c=3), answer_s=2)
    for host in "abc":
        order.settled(host, "x" if host != "c" else "y", 2 * S, 2 * S)
    assert [ask(order, ip="x", ip_pause_s=4), ask(order, ip="y"), order.clock_ns / S] == ["b/1", "c/1", 6]
    order.settled("a", "y", 0, 4 * S)
    assert [ask(order, ip=ip, ip_pause_s=4) for ip in "xyx"] == ["b/2", "a/1", "b/3"]


# How long a host waits


@THOROUGH
@given(
    st.lists(st.tuples(st.integers(1, 12), st.sampled_from([1, 2, 3, 10])), min_size=1, max_size=8),
    st.sampled_from([0, 1, 3]),
)
def test_a_due_host_waits_for_no_more_turns_than_the_others_have_above_it(
    work: list[tuple[int, int]], answer_ns: int
) -> None:
    """So the last task of a host waits longest, and nobody waits for ever where work is finite."""
    order: MostRemaining[int] = MostRemaining(answer_ns, 1)
    left, pause = [tasks for tasks, _ in work], [each for _, each in work]
    for host, tasks in enumerate(left):
        for _ in range(tasks):
            order.push(f"h{host}", "o", host)
    asked: set[int] = set()
    due_ns = [0] * len(work)
    waited, at_most = [0] * len(work), [len(work)] * len(work)
    while (host := order.next()) is not None:
        for other in range(len(work)):
            if other != host and left[other] and due_ns[other] <= order.clock_ns:
                waited[other] += 1
                assert waited[other] <= at_most[other]
        order.took_turn()
        asked.add(host)
        left[host] -= 1
        due_ns[host], waited[host] = order.clock_ns + pause[host], 0
        order.settled(f"h{host}", f"ip{host}", pause[host], pause[host])
        own = (left[host] - 1) * pause[host]
        at_most[host] = len(work) - len(asked) + sum(
            max(0, left[other] - 1 - own // pause[other] + 1) for other in range(len(work)) if other != host
        )  # fmt: skip


# How near it comes to the bound, on virtual time


def ends_s(order: HostOrder[str], work: Mapping[str, tuple[int, int]], answer_s: Callable[[int], int]) -> int:
    """When the last answer of a crawl is in that waits for each pause; `answer_s`: of each request by number."""
    for host, (tasks, _) in work.items():
        for _ in range(tasks):
            order.push(host, host, host)
    now_s, requests, due_s = 0, 0, dict.fromkeys(work, 0)
    while (host := order.next()) is not None:
        order.took_turn()
        now_s = max(now_s, due_s[host]) + answer_s(requests)
        requests += 1
        due_s[host] = now_s + work[host][1]
        order.settled(host, host, work[host][1] * S, 0)
    return now_s


CROWD = {**{f"h{number:02}": (5, 2) for number in range(60)}, "long": (31, 10)}
BOUND_S = 30 * 10 + 31
"""Of `long`: its pauses and its answers of 1 s. All answers together are 331 s, too."""


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (RoundRobin(), 621),
        (LongestIdle(), 621),
        (MostRemaining(S, 2 * S), BOUND_S + 50),
        (MostRemaining(S // 10, 2 * S), 601),
        (MostRemaining(10 * S, 2 * S), 583),
    ],
    ids=["round-robin", "longest-idle", "most-remaining", "told a tenth", "told ten times"],
)
def test_one_long_host_beside_many_short_ones(order: HostOrder[str], expected: int) -> None:
    """`long` is first to be asked, but waits until each host was asked once: 50 s more than its pause. An order that is
    told a wrong time gains less, and loses nothing."""
    assert ends_s(order, CROWD, lambda _: 1) == expected
