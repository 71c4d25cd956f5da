"""The orders that a crawl can have, by name. Decides nothing else."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from seaspider.core.hostqueue import HostOrder
from seaspider.core.longestidle import LongestIdle
from seaspider.core.mostremaining import MostRemaining
from seaspider.core.order import RoundRobin


class OrderName(StrEnum):
    """As in SEASPIDER_ORDER, the first is its default."""

    ROUND_ROBIN = "round-robin"
    LONGEST_IDLE = "longest-idle"
    MOST_REMAINING = "most-remaining"

    @property
    def counts_tasks(self) -> bool:
        """Whether it makes a difference how many tasks wait at a host."""
        return self is OrderName.MOST_REMAINING


def new_order(name: OrderName, answer_ns: int, interval_ns: int) -> HostOrder[Any]:
    """An empty order of that name. `answer_ns`: how long an answer is taken to last; `interval_ns`: the pause of a host
    of which nothing else is known. Only MostRemaining looks at these."""
    made: dict[OrderName, Callable[[], HostOrder[Any]]] = {
        OrderName.ROUND_ROBIN: RoundRobin,
        OrderName.LONGEST_IDLE: LongestIdle,
        OrderName.MOST_REMAINING: lambda: MostRemaining(answer_ns, interval_ns),
    }
    return made[name]()
