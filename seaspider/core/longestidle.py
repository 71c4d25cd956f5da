"""Whose turn is next, spread as evenly as can be: of the due hosts the one idle longest. Seed rule: longest-idle.

Decides the order of requests from pushes, pauses and nothing else (hostqueue.HostOrder: the logical clock, the FIFO of
a host). Idle is measured on the logical clock, so the order depends on no latency. governor.longest_idle is the same
choice over a list. Never sleeps, never asks what a task means.
"""

from __future__ import annotations

from heapq import heappop, heappush

from seaspider.core.hostqueue import T
from seaspider.core.wakingorder import WakingOrder

_NEVER = (-1, 0)

_Place = tuple[int, int]


class LongestIdle(WakingOrder[T]):
    """Of the due hosts the one whose last turn is longest ago on the logical clock has the turn; ties by name.

    A host that was never asked is idle longest. Where pauses are zero the clock stands still; then a host that would
    be asked again at the same time is idle since after all that were asked at that time, so none is asked twice before
    each of the others was asked once.

    With equal pauses the order is that of RoundRobin: every request followed by one host pause and one address pause;
    no two hosts on one address, or all on one; every host's work there before the first turn, or pushed or released
    before the next turn after its own. Otherwise they differ: a newcomer goes first here and into the next round there.

    A turn costs the logarithm of the number of hosts, also where all share one address.
    """

    def __init__(self) -> None:
        super().__init__()
        # (logical time, how many times the due hosts have been gone through at that time) of the last turn.
        self._now: _Place = (0, 0)
        self._last: dict[str, _Place] = {}
        # Hosts whose own pause is over, by address, the longest idle first.
        self._behind: dict[str, list[tuple[_Place, str]]] = {}
        # Hosts that may be due, each with its key; of an address the longest idle, and perhaps some that no longer are.
        self._ready: list[tuple[_Place, str, str]] = []

    def _was_asked(self, host: str) -> None:
        now = max(self._now, (self.clock_ns, 0))
        if self._last.get(host) == now:
            now = (now[0], now[1] + 1)
        self._now = self._last[host] = now

    def _place_of(self, host: str) -> _Place:
        return self._last.get(host, _NEVER)

    def _host_wakes(self, host: str) -> None:
        if host in self._address_key:
            self._wait_behind(self._address_key[host], host)
        else:
            heappush(self._ready, (self._place[host], host, host))

    def _wait_behind(self, address_key: str, host: str) -> None:
        """The host's own pause is over; that of its address may not be."""
        behind = self._behind.setdefault(address_key, [])
        heappush(behind, (self._place[host], host))
        if behind[0][1] == host and address_key not in self._asleep:
            self._offer(address_key)

    def _offer(self, address_key: str) -> None:
        place, host = self._behind[address_key][0]
        heappush(self._ready, (place, host, address_key))

    def _chosen(self) -> str | None:
        """The longest idle of the ready hosts that is due indeed, or None."""
        while self._ready:
            place, host, key = heappop(self._ready)
            if key != host and not self._steps_out(place, host, key):
                continue
            if self._host_is_due(host):
                return host
            heappush(self._waiting, (self._due(host), host))
        return None

    def _steps_out(self, place: _Place, host: str, address_key: str) -> bool:
        """Takes the host from behind its address, unless that rests, or another host of it has been idle longer."""
        behind = self._behind.get(address_key)
        if not behind or behind[0] != (place, host) or address_key in self._asleep:
            return False
        if self._due(address_key) > self.clock_ns:
            self._sleeps(address_key)
            return False
        heappop(behind)
        if behind:
            self._offer(address_key)
        else:
            del self._behind[address_key]
        return True
