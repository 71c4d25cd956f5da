"""Whose turn is next: a FIFO per host, rounds over the sorted hosts, and a logical clock.

Decides the order of requests from pushes, pauses and nothing else: no clock is read, so the same queue and the same
answers give the same order. The logical clock advances only by the pauses that answers caused; a host that is not due
on it is passed over, and it moves on only when no host is due. Never sleeps, never asks what a task means.

A task of an origin that is *held* (its robots.txt is on the way) stays where it is until the origin is released.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Lane(Generic[T]):
    """The tasks of one origin of a host, each with its arrival number."""

    next: deque[tuple[int, T]] = field(default_factory=deque)
    fresh: deque[tuple[int, T]] = field(default_factory=deque)
    held: bool = False


class HostQueue(Generic[T]):
    """The FIFO of one host. Next hops and further attempts come before new URLs, first come first served."""

    __slots__ = ("_lanes",)

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane[T]] = {}

    def push(self, origin: str, task: T, number: int, *, goes_on: bool) -> None:
        lane = self._lanes.setdefault(origin, _Lane())
        (lane.next if goes_on else lane.fresh).append((number, task))

    def put_back(self, origin: str, task: T) -> None:
        self._lanes[origin].next.appendleft((0, task))

    def hold(self, origin: str, *, held: bool) -> None:
        self._lanes.setdefault(origin, _Lane()).held = held

    def pop(self) -> T | None:
        """The task whose turn it is among the origins that are not held, or None."""
        first = self._first()
        return first.popleft()[1] if first is not None else None

    @property
    def runnable(self) -> bool:
        return self._first() is not None

    def _first(self) -> deque[tuple[int, T]] | None:
        free = [lane for lane in self._lanes.values() if not lane.held]
        lines = [lane.next for lane in free if lane.next] or [lane.fresh for lane in free if lane.fresh]
        return min(lines, key=lambda line: line[0][0], default=None)

    def __iter__(self) -> Iterator[T]:
        for lane in self._lanes.values():
            for _, task in (*lane.next, *lane.fresh):
                yield task


class RoundRobin(Generic[T]):
    """Turns in rounds over the sorted hosts that are due and have work when the round starts, one turn each.

    `next()` gives a task of the host whose turn it is, again and again until `took_turn()` says that a request was
    made: a task that ends without one costs its host nothing. `settled()` tells the pause that follows the request.
    Hosts known to share an address share its pause. A host that comes later joins the next round.
    """

    def __init__(self) -> None:
        self.clock_ns = 0
        self._queues: dict[str, HostQueue[T]] = {}
        self._due_ns: dict[str, int] = {}
        self._address: dict[str, str] = {}
        self._pushed = 0
        self._waiting: list[tuple[int, str]] = []
        self._round: deque[str] = deque()
        self._scheduled: set[str] = set()
        self._turn_of: str | None = None
        self.pending = 0

    def push(self, host: str, origin: str, task: T, *, goes_on: bool = False) -> None:
        """Queues a task of `origin` at `host`; `goes_on`: a next hop or another attempt, before new URLs."""
        self._pushed += 1
        self.pending += 1
        self._queues.setdefault(host, HostQueue()).push(origin, task, self._pushed, goes_on=goes_on)
        self._schedule(host)

    def put_back(self, host: str, origin: str, task: T) -> None:
        """Puts the task that `next()` gave last at the head of its origin again."""
        self.pending += 1
        self._queues[host].put_back(origin, task)

    def hold(self, host: str, origin: str) -> None:
        self._queues.setdefault(host, HostQueue()).hold(origin, held=True)

    def release(self, host: str, origin: str) -> None:
        self._queues[host].hold(origin, held=False)
        self._schedule(host)

    def next(self) -> T | None:
        """The next task, or None if no host has one that may run now."""
        while True:
            if self._turn_of is None:
                self._turn_of = self._next_host()
            if self._turn_of is None:
                return None
            task = self._queues[self._turn_of].pop()
            if task is not None:
                self.pending -= 1
                return task
            self._scheduled.discard(self._turn_of)
            self._turn_of = None

    def took_turn(self) -> None:
        """The task that `next()` gave last led to a request: the turn goes on to another host."""
        host, self._turn_of = self._turn_of, None
        if host is None:
            return
        self._scheduled.discard(host)
        self._schedule(host)

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        """A request to `host` at `address` is over; neither is due before its pause has passed on the logical clock."""
        self._address[host] = address
        for key, pause_ns in ((host, host_pause_ns), ("ip:" + address, address_pause_ns)):
            self._due_ns[key] = max(self._due_ns.get(key, 0), self.clock_ns + pause_ns)

    def __iter__(self) -> Iterator[T]:
        """All tasks that still wait, by host."""
        for host in sorted(self._queues):
            yield from self._queues[host]

    def _due(self, host: str) -> int:
        address = self._address.get(host)
        due = self._due_ns.get(host, 0)
        return due if address is None else max(due, self._due_ns["ip:" + address])

    def _schedule(self, host: str) -> None:
        if host not in self._scheduled and self._queues[host].runnable:
            self._scheduled.add(host)
            heappush(self._waiting, (self._due(host), host))

    def _next_host(self) -> str | None:
        while True:
            while self._round:
                host = self._round.popleft()
                if self._due(host) <= self.clock_ns:
                    return host
                heappush(self._waiting, (self._due(host), host))
            if not self._start_round():
                return None

    def _start_round(self) -> bool:
        """Fills the round with the due hosts, moving the clock on if there is none. False: no host waits at all.

        A heap entry is a lower bound of its host's due time (a pause may have come since), so it is looked at again.
        """
        ready: list[str] = []
        while self._waiting and (not ready or self._waiting[0][0] <= self.clock_ns):
            entry, host = heappop(self._waiting)
            due = self._due(host)
            if due > max(entry, self.clock_ns):
                heappush(self._waiting, (due, host))
                continue
            self.clock_ns = max(self.clock_ns, due)
            ready.append(host)
        self._round = deque(sorted(ready))
        return bool(ready)
