"""The tasks that wait at one host, and what every order of hosts has in common.

Decides the order within a host: next hops and further attempts before new URLs, first come first served; a task of an
origin that is *held* (its robots.txt is on the way) stays where it is until the origin is released. And keeps, for any
order of hosts, when each is due on a *logical clock*, which advances by the pauses that answers caused (and, in
mostremaining, by a fixed time a turn): no clock is read, so the same queue and the same answers give the same order.
Which of the due hosts is next: order, longestidle, mostremaining. Never sleeps, never asks what a task means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_GOES_ON, _NEW = 0, 1


class Source(Protocol[T_co]):
    """New tasks of one origin in order of arrival, made when their turn comes."""

    def __len__(self) -> int:
        """How many are left."""

    @property
    def first(self) -> int:
        """The arrival number of the next one, if any is left."""

    @property
    def last(self) -> int:
        """No arrival number of it is higher."""

    def take(self) -> T_co:
        """The next one, which is left no longer."""

    def __iter__(self) -> Iterator[T_co]:
        """Those that are left."""


@dataclass(slots=True)
class _Lane(Generic[T]):
    """The tasks of one origin of a host: a heap of (rank, arrival number, task), and new ones from before."""

    tasks: list[tuple[int, int, T]] = field(default_factory=list)
    held: bool = False
    source: Source[T] | None = None

    @property
    def key(self) -> tuple[int, int] | None:
        """Rank and arrival number of the first task."""
        if self.tasks and (self.source is None or self.tasks[0][0] == _GOES_ON):
            return self.tasks[0][:2]
        return None if self.source is None else (_NEW, self.source.first)

    def pop(self) -> tuple[int, T]:
        """The first task and its arrival number."""
        if self.source is None or (self.tasks and self.tasks[0][0] == _GOES_ON):
            _, number, task = heappop(self.tasks)
            return number, task
        number, task = self.source.first, self.source.take()
        if not self.source:
            self.source = None
        return number, task

    def __len__(self) -> int:
        return len(self.tasks) + (len(self.source) if self.source else 0)

    def __iter__(self) -> Iterator[T]:
        waiting = sorted(self.tasks, key=lambda item: item[:2])
        yield from (task for rank, _, task in waiting if rank == _GOES_ON)
        yield from self.source or ()
        yield from (task for rank, _, task in waiting if rank == _NEW)


class HostQueue(Generic[T]):
    """The FIFO of one host, over all its origins."""

    __slots__ = ("_lanes", "_popped")

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane[T]] = {}
        self._popped = 0

    def push(self, origin: str, task: T, number: int, *, goes_on: bool) -> None:
        """`number`: arrivals are counted over all origins, and no two are equal."""
        heappush(self._lane(origin).tasks, (_GOES_ON if goes_on else _NEW, number, task))

    def push_all(self, origin: str, source: Source[T]) -> None:
        """New tasks of an origin that has none."""
        self._lane(origin).source = source

    def put_back(self, origin: str, task: T) -> None:
        """Back comes what `pop` gave last: its visit is under way now, so it goes on before the new URLs."""
        heappush(self._lane(origin).tasks, (_GOES_ON, self._popped, task))

    def hold(self, origin: str, *, held: bool) -> None:
        self._lane(origin).held = held

    def pop(self) -> T | None:
        """The task whose turn it is among the origins that are not held, or None."""
        lane = self._first()
        if lane is None:
            return None
        self._popped, task = lane.pop()
        return task

    @property
    def runnable(self) -> bool:
        return self._first() is not None

    def _lane(self, origin: str) -> _Lane[T]:
        return self._lanes.setdefault(origin, _Lane())

    def _first(self) -> _Lane[T] | None:
        free = [(key, lane) for lane in self._lanes.values() if not lane.held and (key := lane.key) is not None]
        return min(free, key=itemgetter(0))[1] if free else None

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __iter__(self) -> Iterator[T]:
        for lane in self._lanes.values():
            yield from lane


class HostOrder(ABC, Generic[T]):
    """An order of turns over hosts.

    `next()` gives a task of the host whose turn it is, again and again until `took_turn()` says that a request was
    made: a task that ends without one costs its host nothing. `settled()` tells the pause that follows the request.
    A host that is not due on the logical clock is passed over, and the clock moves on only when no host is due. Hosts
    known to share an address share its pause.
    """

    def __init__(self) -> None:
        self.clock_ns = 0
        self.pending = 0
        """How many tasks wait, those of held origins included."""
        self._pushed = 0
        self._queues: dict[str, HostQueue[T]] = {}
        # Keys are hosts and addresses ("ip:..."); a host of unknown address is its own key.
        self._due_ns: dict[str, int] = {}
        self._address_key: dict[str, str] = {}
        # A heap of (when it may be due at the earliest, key).
        self._waiting: list[tuple[int, str]] = []
        # Every host that has work and waits for its turn, with its place among the hosts of its address.
        self._place: dict[str, tuple[int, int]] = {}
        self._turn_of: str | None = None

    def push(self, host: str, origin: str, task: T, *, goes_on: bool = False) -> None:
        """Queues a task of `origin` at `host`; `goes_on`: a next hop or another attempt, before new URLs."""
        self._pushed += 1
        self._queues.setdefault(host, HostQueue()).push(origin, task, self._pushed, goes_on=goes_on)
        self._waits(host, 1)
        self._schedule(host)

    def push_all(self, host: str, origin: str, source: Source[T]) -> None:
        """Queues new tasks of an origin that has none yet. The arrival numbers of all sources are one count, from 1,
        and what is pushed afterwards comes after them; all sources come before the first turn."""
        self._pushed = max(self._pushed, source.last)
        self._queues.setdefault(host, HostQueue()).push_all(origin, source)
        self._waits(host, len(source))
        self._schedule(host)

    def waiting(self) -> Iterator[tuple[str, int]]:
        """Each host that has tasks, and how many."""
        for host in sorted(self._queues):
            if count := len(self._queues[host]):
                yield host, count

    def put_back(self, host: str, origin: str, task: T) -> None:
        """Puts the task that `next()` gave last at the head of its origin again."""
        self._queues[host].put_back(origin, task)
        self._waits(host, 1)

    def hold(self, host: str, origin: str) -> None:
        """From now on no task of the origin, which is of the host whose turn it is, gets a turn."""
        self._queues[host].hold(origin, held=True)

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
                self._waits(self._turn_of, -1)
                return task
            self._place.pop(self._turn_of, None)
            self._turn_of = None

    def took_turn(self) -> None:
        """The task that `next()` gave last led to a request: the turn goes on to another host."""
        host, self._turn_of = self._turn_of, None
        if host is None:
            return
        self._was_asked(host)
        self._place.pop(host, None)
        self._schedule(host)

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        """A request to `host` at `address` is over; neither is due before its pause has passed on the logical clock."""
        self._address_key[host] = "ip:" + address
        for key, pause_ns in ((host, host_pause_ns), ("ip:" + address, address_pause_ns)):
            self._due_ns[key] = max(self._due(key), self.clock_ns + pause_ns)

    def __iter__(self) -> Iterator[T]:
        """All tasks that still wait, by host."""
        for host in sorted(self._queues):
            yield from self._queues[host]

    def _waits(self, host: str, tasks: int) -> None:
        """So many more tasks wait at the host."""
        self.pending += tasks
        self._counted(host, tasks)

    def _counted(self, host: str, tasks: int) -> None:
        """So many more tasks wait at the host now."""

    @abstractmethod
    def _next_host(self) -> str | None:
        """The host whose turn it is, no longer waiting; the clock may have moved on to it. None: no host waits."""

    @abstractmethod
    def _was_asked(self, host: str) -> None:
        """The host has had its turn."""

    @abstractmethod
    def _place_of(self, host: str) -> tuple[int, int]:
        """The place of a host that begins to wait; of those of one address the smallest has the turn, ties by name."""

    def _due(self, key: str) -> int:
        return self._due_ns.get(key, 0)

    def _host_is_due(self, host: str) -> bool:
        return max(self._due(host), self._due(self._address_key.get(host, host))) <= self.clock_ns

    def _schedule(self, host: str) -> None:
        if host not in self._place and self._queues[host].runnable:
            self._place[host] = self._place_of(host)
            heappush(self._waiting, (self._due(host), host))
