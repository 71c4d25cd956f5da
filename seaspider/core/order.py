"""Whose turn is next: rounds over the sorted hosts, and a logical clock. The FIFO of a host is hostqueue.

Decides the order of requests from pushes, pauses and nothing else: no clock is read, so the same queue and the same
answers give the same order. The logical clock advances only by the pauses that answers caused; a host that is not due
on it is passed over, and it moves on only when no host is due. Never sleeps, never asks what a task means.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Generic

from seaspider.core.hostqueue import HostQueue, T


class RoundRobin(Generic[T]):
    """Turns in rounds over the sorted hosts that are due and have work when the round starts, one turn each.

    `next()` gives a task of the host whose turn it is, again and again until `took_turn()` says that a request was
    made: a task that ends without one costs its host nothing. `settled()` tells the pause that follows the request.
    Hosts known to share an address share its pause. A host that comes later joins the next round.

    A turn costs the logarithm of the number of hosts, also where all share one address: of these, one at a time is in
    the round, and the others wait behind it.
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
        self._waiting: list[tuple[int, str]] = []
        self._behind: dict[str, list[str]] = {}
        self._round: list[tuple[str, str]] = []
        self._scheduled: set[str] = set()
        self._turn_of: str | None = None

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
        self._address_key[host] = "ip:" + address
        for key, pause_ns in ((host, host_pause_ns), ("ip:" + address, address_pause_ns)):
            self._due_ns[key] = max(self._due(key), self.clock_ns + pause_ns)

    def __iter__(self) -> Iterator[T]:
        """All tasks that still wait, by host."""
        for host in sorted(self._queues):
            yield from self._queues[host]

    def _due(self, key: str) -> int:
        return self._due_ns.get(key, 0)

    def _host_is_due(self, host: str) -> bool:
        return max(self._due(host), self._due(self._address_key.get(host, host))) <= self.clock_ns

    def _schedule(self, host: str) -> None:
        if host not in self._scheduled and self._queues[host].runnable:
            self._scheduled.add(host)
            heappush(self._waiting, (self._due(host), host))

    def _next_host(self) -> str | None:
        while self._round or self._start_round():
            host, key = heappop(self._round)
            behind = self._behind.get(key)
            if self._due(key) > self.clock_ns:
                if behind is not None:
                    heappush(behind, host)
                heappush(self._waiting, (self._due(key), key))
                continue
            if behind:
                heappush(self._round, (heappop(behind), key))
            elif behind is not None:
                del self._behind[key]
            if self._host_is_due(host):
                return host
            heappush(self._waiting, (self._due(host), host))
        return None

    def _start_round(self) -> bool:
        """Fills the round with what may be due, moving the clock on if nothing is. False: no host waits at all.

        The time of a heap entry is a lower bound (a pause may have come since), so `_next_host` looks at it again.
        """
        ready: list[str] = []
        while self._waiting and (not ready or self._waiting[0][0] <= self.clock_ns):
            entry_ns, key = heappop(self._waiting)
            if key in self._address_key:
                self._wait_behind(self._address_key[key], key, entry_ns)
            else:
                self.clock_ns = max(self.clock_ns, entry_ns)
                ready.append(key)
        self._round = [(heappop(self._behind[key]) if key in self._behind else key, key) for key in ready]
        heapify(self._round)
        return bool(ready)

    def _wait_behind(self, address_key: str, host: str, entry_ns: int) -> None:
        """The host's own pause is over (at `entry_ns`); that of its address may not be."""
        if address_key in self._behind:
            heappush(self._behind[address_key], host)
        else:
            self._behind[address_key] = [host]
            heappush(self._waiting, (max(entry_ns, self._due(address_key)), address_key))
