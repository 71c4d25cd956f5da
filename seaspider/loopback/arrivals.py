"""The arrival log: what the server saw, which is the evidence of every politeness test.

Records; judges nothing (judge.py does). A request is in the log from the moment its first byte was read, so one that
never ends is in it too. All times are CLOCK_BOOTTIME in ns, the clock of the crawler's own ledger.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from seaspider.loopback.answers import Headers, Request, host_name


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request at the server.

    `n` counts from 1 in order of first bytes, `address` is the local IP it came to, `host` the Host header's value.
    `answered_ns` is when the last byte was handed to the socket, None while there is none (or if there never was: the
    client left, or the answer has no end). `open_at_arrival` counts the other requests in flight at the first byte.
    `method`, `target` and `host` are '' as long as the head is not complete.
    """

    n: int
    address: str
    host: str
    method: str
    target: str
    headers: Headers
    arrived_ns: int
    answered_ns: int | None
    open_at_arrival: int
    scheme: str = "http"
    connection: int = 0

    @property
    def name(self) -> str:
        """The Host header's name: lower case, without a port."""
        return host_name(self.host)


def now_ns() -> int:
    """CLOCK_BOOTTIME in ns: goes on while the machine sleeps and never jumps with the wall clock."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@dataclass(slots=True, eq=False)
class Entry:
    """A request under way: filled in by the connection it came by, read by nobody but the log."""

    n: int
    scheme: str
    address: str
    connection: int
    arrived_ns: int
    open_at_arrival: int
    request: Request | None = None
    answered_ns: int | None = None
    over: bool = False

    def frozen(self) -> Arrival:
        seen = self.request or Request(self.scheme, self.address, "", "", "", ())
        return Arrival(
            self.n,
            self.address,
            seen.host,
            seen.method,
            seen.target,
            seen.headers,
            self.arrived_ns,
            self.answered_ns,
            self.open_at_arrival,
            self.scheme,
            self.connection,
        )


class ArrivalLog:
    """Written by the server's thread, read by any."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: list[Entry] = []
        self._connections: Counter[str] = Counter()
        self._connection_n = 0
        self._open = 0

    def connected(self, address: str) -> int:
        """A connection came in; its number, from 1, never used twice."""
        with self._changed:
            self._connections[address] += 1
            self._connection_n += 1
            self._changed.notify_all()
            return self._connection_n

    def begin(self, scheme: str, address: str, connection: int, arrived_ns: int) -> Entry:
        """The first byte of a request was read."""
        with self._changed:
            entry = Entry(len(self._entries) + 1, scheme, address, connection, arrived_ns, self._open)
            self._entries.append(entry)
            self._open += 1
            self._changed.notify_all()
            return entry

    def head(self, entry: Entry, request: Request) -> None:
        """The request's head is complete."""
        with self._changed:
            entry.request = request
            self._changed.notify_all()

    def end(self, entry: Entry, answered_ns: int | None) -> None:
        """The request is over: answered, or (None) without a whole answer. The second time does nothing."""
        with self._changed:
            if not entry.over:
                entry.over, entry.answered_ns = True, answered_ns
                self._open -= 1
                self._changed.notify_all()

    def clear(self) -> None:
        """Forget what is over or under way; requests in flight still count as open."""
        with self._changed:
            self._entries, self._connections = [], Counter()

    def arrivals(self) -> list[Arrival]:
        with self._changed:
            return [entry.frozen() for entry in self._entries]

    def connections(self, address: str | None = None) -> int:
        with self._changed:
            return self._connections.total() if address is None else self._connections[address]

    def wait_until(self, true: Callable[[list[Arrival]], bool], timeout_s: float) -> list[Arrival]:
        """The arrivals as soon as `true` of them holds; TimeoutError, with what was seen, after `timeout_s`."""
        with self._changed:
            if not self._changed.wait_for(lambda: true([entry.frozen() for entry in self._entries]), timeout_s):
                raise TimeoutError(f"not seen within {timeout_s} s; seen: {[e.frozen() for e in self._entries]}")
            return [entry.frozen() for entry in self._entries]

    def wait_idle(self, timeout_s: float) -> None:
        """Returns when no request is in flight; TimeoutError after `timeout_s`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._open == 0, timeout_s):
                raise TimeoutError(f"{self._open} requests still in flight after {timeout_s} s")
