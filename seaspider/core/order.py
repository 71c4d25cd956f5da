"""Whose turn is next, the default: rounds over the sorted hosts.

Decides the order of requests from pushes, pauses and nothing else (hostqueue.HostOrder: the logical clock, the FIFO of
a host). Never sleeps, never asks what a task means.
"""

from __future__ import annotations

from heapq import heappop, heappush

from seaspider.core.hostqueue import HostOrder, T


class RoundRobin(HostOrder[T]):
    """Turns in rounds over the sorted hosts that are due and have work when the round starts, one turn each.

    A host that comes later joins the next round. Hosts known to share an address take its turns about: the one that
    has waited longest, counted in turns since its own or since its work came, is in the round. By name alone, the
    first of them would be due again each time the address is, and the others would wait until it has nothing left.

    A turn costs the logarithm of the number of hosts, also where all share one address.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turns = 0
        self._behind: dict[str, list[tuple[tuple[int, int], str]]] = {}
        self._round: list[tuple[str, str]] = []

    def _was_asked(self, host: str) -> None:
        self._turns += 1

    def _place_of(self, host: str) -> tuple[int, int]:
        return self._turns, 0

    def _next_host(self) -> str | None:
        while self._round or self._start_round():
            host, key = heappop(self._round)
            if key in self._behind:
                if self._due(key) > self.clock_ns:
                    heappush(self._behind[key], (self._place[host], host))
                    heappush(self._waiting, (self._due(key), key))
                    continue
                self._offer(key)
            if self._host_is_due(host):
                return host
            heappush(self._waiting, (self._due(host), host))
        return None

    def _start_round(self) -> bool:
        """Fills the round with what may be due, moving the clock on if nothing is. False: no host waits at all.

        The time of a heap entry is a lower bound (a pause may have come since), so `_next_host` looks at it again.
        """
        while self._waiting and not self._round:
            ready: list[str] = []
            while self._waiting and (not ready or self._waiting[0][0] <= self.clock_ns):
                entry_ns, key = heappop(self._waiting)
                if key in self._address_key:
                    self._wait_behind(self._address_key[key], key, entry_ns)
                else:
                    self.clock_ns = max(self.clock_ns, entry_ns)
                    ready.append(key)
            for key in ready:
                if key in self._behind:
                    self._offer(key)
                else:
                    heappush(self._round, (key, key))
        return bool(self._round)

    def _offer(self, address_key: str) -> None:
        """Puts the host that waits longest behind an address into the round; those that have to rest go elsewhere."""
        behind = self._behind[address_key]
        while behind:
            _, host = heappop(behind)
            if self._due(host) <= self.clock_ns:
                heappush(self._round, (host, address_key))
                return
            heappush(self._waiting, (self._due(host), host))
        del self._behind[address_key]

    def _wait_behind(self, address_key: str, host: str, entry_ns: int) -> None:
        """The host's own pause is over (at `entry_ns`); that of its address may not be."""
        if address_key in self._behind:
            heappush(self._behind[address_key], (self._place[host], host))
        else:
            self._behind[address_key] = [(self._place[host], host)]
            heappush(self._waiting, (max(entry_ns, self._due(address_key)), address_key))
