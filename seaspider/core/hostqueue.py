"""The tasks that wait at one host: next hops and further attempts before new URLs, first come first served.

Decides the order within a host and nothing about other hosts, pauses or time. A task of an origin that is *held* (its
robots.txt is on the way) stays where it is until the origin is released.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")

_GOES_ON, _NEW = 0, 1


@dataclass(slots=True)
class _Lane(Generic[T]):
    """The tasks of one origin of a host: a heap of (rank, arrival number, task)."""

    tasks: list[tuple[int, int, T]] = field(default_factory=list)
    held: bool = False


class HostQueue(Generic[T]):
    """The FIFO of one host, over all its origins."""

    __slots__ = ("_lanes", "_popped")

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane[T]] = {}
        self._popped = 0

    def push(self, origin: str, task: T, number: int, *, goes_on: bool) -> None:
        """`number`: arrivals are counted over all origins, and no two are equal."""
        heappush(self._lane(origin).tasks, (_GOES_ON if goes_on else _NEW, number, task))

    def put_back(self, origin: str, task: T) -> None:
        """Back comes what `pop` gave last: its visit is under way now, so it goes on before the new URLs."""
        heappush(self._lane(origin).tasks, (_GOES_ON, self._popped, task))

    def hold(self, origin: str, *, held: bool) -> None:
        self._lane(origin).held = held

    def pop(self) -> T | None:
        """The task whose turn it is among the origins that are not held, or None."""
        tasks = self._first()
        if tasks is None:
            return None
        _, self._popped, task = heappop(tasks)
        return task

    @property
    def runnable(self) -> bool:
        return self._first() is not None

    def _lane(self, origin: str) -> _Lane[T]:
        return self._lanes.setdefault(origin, _Lane())

    def _first(self) -> list[tuple[int, int, T]] | None:
        free = [lane.tasks for lane in self._lanes.values() if lane.tasks and not lane.held]
        return min(free, key=lambda tasks: tasks[0][:2], default=None)

    def __iter__(self) -> Iterator[T]:
        for lane in self._lanes.values():
            yield from (task for _, _, task in sorted(lane.tasks, key=lambda item: item[:2]))
