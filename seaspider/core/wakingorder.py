"""An order of turns among the hosts that are due: those whose pauses are over wake, and one of them is chosen.

Decides when a host or an address is looked at again: when its pause is over on the logical clock, which moves on only
if nobody is due. Which of those that are awake has the turn is a subclass's.
"""

from __future__ import annotations

from abc import abstractmethod
from heapq import heappop, heappush

from seaspider.core.hostqueue import HostOrder, T


class WakingOrder(HostOrder[T]):
    """Hosts and addresses whose own pauses are over are told to the subclass, each once for each pause."""

    def __init__(self) -> None:
        super().__init__()
        # Addresses that wait for the end of their pause.
        self._asleep: set[str] = set()

    @abstractmethod
    def _chosen(self) -> str | None:
        """The host among those awake that has the turn, or None if none of them is due indeed."""

    @abstractmethod
    def _host_wakes(self, host: str) -> None:
        """The host's own pause is over; that of its address may not be."""

    @abstractmethod
    def _offer(self, address_key: str) -> None:
        """The address does not rest; a host of it may have the turn."""

    def _next_host(self) -> str | None:
        while True:
            self._wake()
            host = self._chosen()
            if host is not None or not self._waiting:
                return host
            self.clock_ns = max(self.clock_ns, self._waiting[0][0])

    def _wake(self) -> None:
        """Wakes whatever is due by now. A heap entry's time is a lower bound: a pause may have come since."""
        while self._waiting and self._waiting[0][0] <= self.clock_ns:
            _, key = heappop(self._waiting)
            if self._due(key) > self.clock_ns:
                heappush(self._waiting, (self._due(key), key))
            elif key in self._asleep:
                self._asleep.discard(key)
                self._offer(key)
            else:
                self._host_wakes(key)

    def _sleeps(self, address_key: str) -> None:
        """The address rests, and is looked at again when its pause is over."""
        self._asleep.add(address_key)
        heappush(self._waiting, (self._due(address_key), address_key))
