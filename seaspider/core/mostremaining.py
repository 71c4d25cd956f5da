"""Whose turn is next, the longest work first: of the due hosts the one whose waiting tasks need the most pauses.

Decides the order of requests from pushes, pauses and nothing else (hostqueue.HostOrder: the logical clock, the FIFO of
a host). The crawl cannot end before the host with the most pauses left has had them, so that host is kept waiting
least. Never sleeps, never asks what a task means, never looks at how long an answer took.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

from seaspider.core.hostqueue import T
from seaspider.core.wakingorder import WakingOrder

# Never asked hosts first, then the most ns left, then the name.
_Rank = tuple[bool, int, str]
_Offer = tuple[bool, int, int, str]


class MostRemaining(WakingOrder[T]):
    """Of the due hosts, one that was never asked has the turn, else the one with the most left; ties by name.

    What is left of a host is (tasks that wait - 1) x the pause after its latest answer; before the first answer that is
    `pause_ns`. Hosts known to share an address have to share its pauses: each counts as long as the address, if that is
    longer, and among themselves by what is left of their own. Each turn moves the logical clock on by `answer_ns`. If
    it did not, every due host would have a turn before any was due again, however little it had left.

    A host with little left waits until those beside it have as little, and no longer than that.

    A turn costs the logarithm of the number of hosts, also where all share one address.
    """

    def __init__(self, answer_ns: int, pause_ns: int) -> None:
        super().__init__()
        self._answer_ns = answer_ns
        self._first_pause_ns = pause_ns
        self._pause_ns: dict[str, int] = {}
        self._asked: set[str] = set()
        # How many tasks wait, by host and by address; a host of unknown address is its own.
        self._tasks: dict[str, int] = {}
        self._sums: dict[str, int] = {}
        # Of each host whose own pause is over its address and its place there, and of each address its offer. Both are
        # true or come too early: what comes to have more left gets a new one, what comes to have less only when looked
        # at. Entries of the heaps that are others were replaced.
        self._ready: dict[str, tuple[str, _Rank]] = {}
        self._behind: dict[str, list[_Rank]] = {}
        self._offered: dict[str, _Offer] = {}
        self._offers: list[tuple[_Offer, str]] = []

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        before = self._where(host)
        super().settled(host, address, host_pause_ns, address_pause_ns)
        after, tasks = self._where(host), self._tasks.get(host, 0)
        self._sums[before] = self._sums.get(before, 0) - tasks
        self._sums[after] = self._sums.get(after, 0) + tasks
        self._pause_ns[host], self._pause_ns[after] = host_pause_ns, address_pause_ns
        if host in self._ready:
            self._stand(host)
        self._offer(after)

    def _counted(self, host: str, tasks: int) -> None:
        where = self._where(host)
        self._tasks[host] = self._tasks.get(host, 0) + tasks
        self._sums[where] = self._sums.get(where, 0) + tasks
        if tasks > 0:
            if host in self._ready:
                self._stand(host)
            self._offer(where)

    def _was_asked(self, host: str) -> None:
        self._asked.add(host)
        self.clock_ns += self._answer_ns

    def _place_of(self, host: str) -> tuple[int, int]:
        return 0, 0

    def _host_wakes(self, host: str) -> None:
        self._stand(host)
        self._offer(self._where(host))

    def _chosen(self) -> str | None:
        """The ready host with the most left that is due indeed, or None."""
        while self._offers:
            offer, where = self._offers[0]
            if self._offered.get(where) != offer:
                heappop(self._offers)
                continue
            host = self._first(where)
            if host is not None and self._rests(where, host):
                continue
            if host is None or where in self._asleep:
                heappop(self._offers)
                del self._offered[where]
            elif offer != (now := self._offer_of(where, host)):
                heapreplace(self._offers, (now, where))
                self._offered[where] = now
            else:
                del self._ready[host], self._offered[where]
                heappop(self._offers)
                self._offer(where)
                return host
        return None

    def _rests(self, where: str, host: str) -> bool:
        """Whether the address or the host has to wait after all, which it does from now on."""
        if where not in self._asleep and self._due(where) > self.clock_ns:
            self._sleeps(where)
        elif self._due(host) > self.clock_ns:
            del self._ready[host]
            heappush(self._waiting, (self._due(host), host))
        else:
            return False
        return True

    def _stand(self, host: str) -> None:
        """The host's own pause is over; that of its address may not be."""
        where, rank = self._where(host), self._rank(host)
        before = self._ready.get(host)
        if before is None or before[0] != where or rank < before[1]:
            self._ready[host] = where, rank
            heappush(self._behind.setdefault(where, []), rank)

    def _first(self, where: str) -> str | None:
        """The ready host of an address that comes first."""
        behind = self._behind.get(where, [])
        while behind:
            host = behind[0][2]
            if self._ready.get(host) != (where, behind[0]):
                heappop(behind)
            elif behind[0] != (now := self._rank(host)):
                heapreplace(behind, now)
                self._ready[host] = where, now
            else:
                return host
        self._behind.pop(where, None)
        return None

    def _offer(self, where: str) -> None:
        """The first host of an address may be next, and comes before what the address offered so far."""
        if where in self._asleep or (host := self._first(where)) is None:
            return
        offer = self._offer_of(where, host)
        if where not in self._offered or offer < self._offered[where]:
            self._offered[where] = offer
            heappush(self._offers, (offer, where))

    def _offer_of(self, where: str, host: str) -> _Offer:
        own_ns = self._left_ns(host, self._tasks[host])
        return host in self._asked, -max(own_ns, self._left_ns(where, self._sums[where])), -own_ns, host

    def _rank(self, host: str) -> _Rank:
        return host in self._asked, -self._left_ns(host, self._tasks[host]), host

    def _left_ns(self, key: str, tasks: int) -> int:
        return (tasks - 1) * self._pause_ns.get(key, self._first_pause_ns)

    def _where(self, host: str) -> str:
        return self._address_key.get(host, host)
