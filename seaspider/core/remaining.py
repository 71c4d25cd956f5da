"""How long what still waits will take at least: the pauses of the host that has most of them left.

Keeps count as URLs come and go, in the logarithm of the number of hosts, so it can be asked often. Decides nothing that
is done: it is for people who watch. Never reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace


@dataclass(frozen=True, slots=True)
class Longest:
    """The host that takes longest: URLs that wait at it x its pause."""

    host: str
    urls: int
    pause_ns: int

    @property
    def ns(self) -> int:
        return self.urls * self.pause_ns


class Remaining:
    """`pause_ns`: the pause of a host as long as nothing else is known of it."""

    def __init__(self, pause_ns: int) -> None:
        self.urls = 0
        self._pause_ns = pause_ns
        self._urls: dict[str, int] = {}
        self._longer_ns: dict[str, int] = {}
        # (- ns, host): of each host at least one entry, at its present length or above it.
        self._heap: list[tuple[int, str]] | None = None

    def add(self, host: str, urls: int = 1) -> None:
        """URLs wait at the host."""
        self.urls += urls
        self._urls[host] = self._urls.get(host, 0) + urls
        self._grown(host)

    def ended(self, host: str) -> None:
        """One of the host's URLs waits no more."""
        self.urls -= 1
        self._urls[host] = self._urls.get(host, 0) - 1

    def rests(self, host: str, pause_ns: int) -> None:
        """The host's pause is known to be at least that long."""
        if pause_ns > self._longer_ns.get(host, self._pause_ns):
            self._longer_ns[host] = pause_ns
            self._grown(host)

    def longest(self) -> Longest | None:
        """The host that takes longest, or None if nothing waits; of equal ones the first by name."""
        if self._heap is None:
            self._heap = [(-self._of(host).ns, host) for host in self._urls]
            heapify(self._heap)
        while self._heap:
            ns, host = self._heap[0]
            found = self._of(host)
            if found.urls <= 0:
                heappop(self._heap)
            elif found.ns < -ns:
                heapreplace(self._heap, (-found.ns, host))
            else:
                return found
        return None

    def _of(self, host: str) -> Longest:
        return Longest(host, self._urls.get(host, 0), self._longer_ns.get(host, self._pause_ns))

    def _grown(self, host: str) -> None:
        if self._heap is not None:
            heappush(self._heap, (-self._of(host).ns, host))
