"""What holds for every order of hosts: the turns are those of a slow and obvious implementation, none is lost, none is
too early, and a turn costs little however many hosts there are."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings

from seaspider.core.hostqueue import HostOrder
from seaspider.core.longestidle import LongestIdle
from seaspider.core.mostremaining import MostRemaining
from seaspider.core.order import RoundRobin
from seaspider.core.orders import OrderName, new_order
from tests.core.orders import (
    ANY_SCRIPT,
    QUICK,
    FromSources,
    Slow,
    SlowIdle,
    SlowRemaining,
    SlowRounds,
    filled,
    new_first,
    play,
    too_near,
    work_per_turn,
)
from tests.fuzz.budgets import examples


@dataclass(frozen=True)
class Kind:
    order: Callable[[], HostOrder[Any]]
    slow: Callable[[], Slow]


KINDS = {
    "round-robin": Kind(RoundRobin, SlowRounds),
    "longest-idle": Kind(LongestIdle, SlowIdle),
    "most-remaining": Kind(lambda: MostRemaining(1, 2), SlowRemaining),
    "most-remaining-at-once": Kind(lambda: MostRemaining(0, 2), lambda: SlowRemaining(answer_ns=0)),
    "most-remaining-slowly": Kind(lambda: MostRemaining(5, 3), lambda: SlowRemaining(answer_ns=5, first_pause_ns=3)),
}
EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def test_each_name_has_its_order() -> None:
    made = {str(name): type(new_order(name, 1, 2)) for name in OrderName}
    assert made == {"round-robin": RoundRobin, "longest-idle": LongestIdle, "most-remaining": MostRemaining}


@EACH
def test_an_empty_order_has_no_turn(kind: Kind) -> None:
    order = filled(kind.order())
    assert (order.next(), order.pending, list(order)) == (None, 0, [])
    order.took_turn()
    assert order.next() is None


@EACH
@examples(70, 250)
def test_the_order_is_that_of_the_slow_implementation(kind: Kind, budget: Any) -> None:
    @budget
    @given(ANY_SCRIPT)
    def holds(script: Any) -> None:
        assert play(kind.order(), *script) == play(kind.slow(), *script)

    holds()


@EACH
@examples(70, 250)
def test_where_new_tasks_come_from_does_not_matter(kind: Kind, budget: Any) -> None:
    @budget
    @given(ANY_SCRIPT.map(new_first))
    def holds(script: Any) -> None:
        assert play(FromSources(kind.order()), *script) == play(kind.slow(), *script)

    holds()


@EACH
@examples(30, 100)
def test_every_task_comes_out_exactly_once_and_the_clock_never_goes_back(kind: Kind, budget: Any) -> None:
    @budget
    @given(ANY_SCRIPT)
    def holds(script: Any) -> None:
        trace, pushed, pending = play(kind.order(), *script)
        assert Counter(given.task for given, robots in trace if not robots) == Counter(range(pushed))
        assert pending[-1] == 0
        clocks = [given.clock_ns for given, _ in trace]
        assert clocks == sorted(clocks)

    holds()


@EACH
@examples(30, 100)
def test_no_two_turns_are_nearer_on_the_logical_clock_than_the_pause(kind: Kind, budget: Any) -> None:
    @budget
    @given(ANY_SCRIPT)
    def holds(script: Any) -> None:
        assert too_near(kind.order(), script) == []

    holds()


def test_without_passing_over_some_would_be_too_near() -> None:
    """Twin: the measure finds what a round that does not look at the pauses would do."""
    careless = settings(QUICK, phases=[Phase.generate])  # any example will do, not the smallest
    assert find(ANY_SCRIPT, lambda script: bool(too_near(SlowRounds(passes_over=False), script)), settings=careless)


@pytest.mark.parametrize("kind", [KINDS[name] for name in OrderName], ids=list(OrderName))
@pytest.mark.parametrize(
    "address", [lambda number: f"ip{number}", lambda number: "ip"], ids=["own-addresses", "one-address"]
)
@pytest.mark.parametrize("hosts", [10_000, pytest.param(50_000, marks=pytest.mark.soak)])
def test_a_turn_costs_the_logarithm_of_the_number_of_hosts(
    kind: Kind, address: Callable[[int], str], hosts: int
) -> None:
    few, many = work_per_turn(kind.order(), 500, address), work_per_turn(kind.order(), hosts, address)
    assert many < few * math.log(hosts) / math.log(500)
