"""What a crawl would ask for, in which order, and how long that takes at least: known before any request.

Decides nothing about a URL: each is judged by the crawl's own Frontier, with what the store knows. Of what nobody
knows yet the best is assumed (ASSUMED). A host's requests follow each other in the order of its URLs, so each host is
added up by itself, and only the first turns are put in order, by the crawl's own order. Never sends, reads or writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from seaspider.core.firstturns import Ask, FirstTurns, Kind, Planned, Stop
from seaspider.core.frontier import Frontier, NeedsRobots
from seaspider.core.hostqueue import HostOrder
from seaspider.core.politeness import PauseBasis, pause
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.times import NS_PER_S, ns_from_s, parse_rfc3339_ms
from seaspider.core.urls import Url
from seaspider.core.visits import Hop

ASSUMED: Final = (
    "a robots.txt that is not known yet allows everything and asks for no crawl-delay",
    "each page is answered once, without redirect, error or back-off",
    "no two host names share an address, unless SEASPIDER_RESOLVE says so",
    "nothing else asks these hosts, or asked them just now",
)


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """A request and when it would come: ns on the logical clock, which knows nothing of how long answers take."""

    at_ns: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A host with its requests. `last_at_ns`: its last request on the logical clock; `even`: its pauses are equal."""

    host: str
    requests: int
    last_at_ns: int
    pause_ns: int
    even: bool


@dataclass(slots=True)
class _Load:
    requests: int = 0
    last_at_ns: int = 0
    pause_ns: int = 0
    """The pause after its latest request."""
    even: bool = True


AddressOf = Callable[[str], str | Ending | None]
"""The address of a host if it is known without asking anybody, or how all its URLs end if it has no usable one."""


class Forecast:
    """Adds up the requests of a crawl, URL by URL, in the order in which they would be loaded.

    `frontier` is empty and used up by this. What is kept grows with the hosts and with `first`, never with the URLs.
    """

    def __init__(
        self,
        frontier: Frontier,
        now_ms: int,
        interval_s: float,
        ip_interval_s: float,
        address_of: AddressOf,
        first: FirstTurns,
    ) -> None:
        self.robots = 0
        self.pages = 0
        self.stops: dict[str, int] = {}
        """URLs that end without a request of their own, by outcome and reason."""
        self._frontier = frontier
        self._now_ms = now_ms
        self._interval_ns = ns_from_s(interval_s)
        self._ip_interval_ns = ns_from_s(ip_interval_s)
        self._address_of = address_of
        self._first = first
        self._loads: dict[str, _Load] = {}
        self._seen: set[str] = set()
        self._asked_robots: set[str] = set()

    # --- one URL after the other ---

    def add(self, url: Url, earlier: dict[str, Any] | None = None) -> None:
        """A URL of the queue, or a followed one. `earlier`: its latest record, if that is not final."""
        self._first.url(url.host)
        ending = _not_yet(earlier, self._now_ms) or self._ending(url)
        if ending:
            self.stops[str(ending)] = self.stops.get(str(ending), 0) + 1
        else:
            self.pages += 1
            self._ask(Kind.PAGE, url)

    def _ending(self, url: Url) -> Ending | None:
        if url.host not in self._seen:
            self._seen.add(url.host)
            address = self._address_of(url.host)
            if isinstance(address, Ending):
                self._frontier.host_ended(url.host, address)
        judged = self._frontier.judge(Hop(url), self._now_ms)
        if isinstance(judged, NeedsRobots):
            if url.origin in self._asked_robots:
                return None
            self._asked_robots.add(url.origin)
            self.robots += 1
            self._ask(Kind.ROBOTS, url)
            # The budget may be spent by now.
            return self._frontier.obstacle(url.host, self._now_ms)
        return judged

    def _ask(self, kind: Kind, url: Url) -> None:
        host_ns, address_ns = self._pauses_ns(url.host)
        pause_ns = max(host_ns, address_ns)
        load = self._loads.setdefault(url.host, _Load())
        load.last_at_ns += load.pause_ns
        load.even = load.even and (not load.requests or load.pause_ns == pause_ns)
        load.requests, load.pause_ns = load.requests + 1, pause_ns
        self._frontier.sent(url.host, in_turn=False)
        self._first.keep(Ask(kind, url, host_ns, address_ns))

    def _pauses_ns(self, host: str) -> tuple[int, int]:
        """The pauses of a host and of its address, as the door has them."""
        delay_s = self._frontier.crawl_delay_s(host)
        of_host = pause(self._interval_ns, ns_from_s(delay_s) if delay_s else None, None, None)
        if of_host.basis is PauseBasis.INTERVAL:
            return of_host.ns, self._ip_interval_ns
        return of_host.ns, max(of_host.ns, self._ip_interval_ns)

    # --- what it comes to ---

    @property
    def requests(self) -> int:
        return self.robots + self.pages

    @property
    def hosts(self) -> int:
        """Hosts that are asked for anything."""
        return len(self._loads)

    @property
    def requests_per_host(self) -> dict[str, int]:
        return {host: load.requests for host, load in self._loads.items()}

    @property
    def busiest(self) -> HostPlan | None:
        """The host with the most requests; of equal ones the first by name."""
        return self._most(lambda load: load.requests)

    @property
    def slowest(self) -> HostPlan | None:
        """The host whose last request comes last on the logical clock, which is where the clock stands at the end."""
        return self._most(lambda load: load.last_at_ns)

    def _most(self, key: Callable[[_Load], int]) -> HostPlan | None:
        if not self._loads:
            return None
        most = max(map(key, self._loads.values()))
        host = min(host for host, load in self._loads.items() if key(load) == most)
        load = self._loads[host]
        return HostPlan(host, load.requests, load.last_at_ns, load.pause_ns, load.even)

    def first_turns(self, order: HostOrder[Planned | Ask | Stop]) -> list[PlannedTurn]:
        """The first turns as `order`, an empty one, makes them of these requests."""
        turns: list[PlannedTurn] = []
        for ask in self._first.of(order):
            host = ask.url.host
            address = self._address_of(host)
            turns.append(PlannedTurn(order.clock_ns, ask))
            order.took_turn()
            order.settled(host, address if isinstance(address, str) else host, ask.host_pause_ns, ask.address_pause_ns)
        return turns

    def bound_s(self) -> float:
        """The pauses alone: no crawl of this queue is over sooner."""
        slowest = self.slowest
        return slowest.last_at_ns / NS_PER_S if slowest else 0.0

    def eta_s(self, fast_s: float, slow_s: float) -> tuple[float, float]:
        """Between which times the crawl ends if each answer takes `fast_s` to `slow_s`. One request is in flight at a
        time, so neither is it over before the answers are, nor later than pauses and answers one after the other."""
        return max(self.bound_s(), self.requests * fast_s), self.bound_s() + self.requests * slow_s


def _not_yet(earlier: dict[str, Any] | None, now_ms: int) -> Ending | None:
    """How a URL ends whose pause, recorded in an earlier run, is not over."""
    if earlier is None or earlier["not_before"] is None or parse_rfc3339_ms(earlier["not_before"]) <= now_ms:
        return None
    return Ending(Outcome(earlier["outcome"]), Reason(earlier["reason"]))
