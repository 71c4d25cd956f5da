"""Verdicts on an arrival log, from the server's side: spacing, order, concurrency, robots first.

Pure: arrivals in, figures out, no tolerance anywhere. Spacing is first byte to first byte, which is what a pause
promises: arrival(1) <= end(1) <= claim(2) - pause. Hosts are names without scheme and port; robots.txt is per origin
(RFC 9309 section 2.3).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seaspider.loopback.arrivals import Arrival


class Key(StrEnum):
    """What a pause is kept for."""

    IP = "ip"
    HOST = "host"

    def of(self, arrival: Arrival) -> str:
        return arrival.address if self is Key.IP else arrival.name


@dataclass(frozen=True, slots=True)
class Pair:
    """Two successive requests to one IP or host."""

    key: str
    first: Arrival
    second: Arrival

    @property
    def gap_ns(self) -> int:
        return self.second.arrived_ns - self.first.arrived_ns


def pairs(arrivals: Iterable[Arrival], key: Key) -> list[Pair]:
    """All successive pairs of each IP or host, in order of the second's arrival."""
    found: list[Pair] = []
    last: dict[str, Arrival] = {}
    for arrival in sorted(arrivals, key=lambda a: (a.arrived_ns, a.n)):
        name = key.of(arrival)
        if name in last:
            found.append(Pair(name, last[name], arrival))
        last[name] = arrival
    return found


def min_gaps_ns(arrivals: Iterable[Arrival], key: Key) -> dict[str, int]:
    """The smallest gap of each IP or host that was asked at least twice, sorted by name."""
    gaps: dict[str, int] = {}
    for pair in pairs(arrivals, key):
        gaps[pair.key] = min(gaps.get(pair.key, pair.gap_ns), pair.gap_ns)
    return dict(sorted(gaps.items()))


def pairs_nearer(
    arrivals: Iterable[Arrival], key: Key, pause_ns: int, pauses_ns: Mapping[str, int] | None = None
) -> list[Pair]:
    """The pairs nearer than the pause: `pauses_ns` of the IP or host, else `pause_ns`. Empty = the promise was kept."""
    own = pauses_ns or {}
    return [pair for pair in pairs(arrivals, key) if pair.gap_ns < own.get(pair.key, pause_ns)]


def order(arrivals: Iterable[Arrival]) -> list[tuple[str, str]]:
    """(host, target) in order of arrival: the same for two runs of one queue, whatever the ports and times."""
    return [(a.name, a.target) for a in sorted(arrivals, key=lambda a: (a.arrived_ns, a.n))]


def max_in_flight(arrivals: Iterable[Arrival]) -> int:
    """The most requests in flight at one time; it is always reached at an arrival."""
    return max((arrival.open_at_arrival + 1 for arrival in arrivals), default=0)


def pages_before_robots(
    arrivals: Sequence[Arrival], robots_hops: Collection[tuple[str, str]] = frozenset()
) -> list[Arrival]:
    """Requests that came before their origin's robots.txt had been answered. Empty = the promise was kept.

    `robots_hops` are (host, target) that redirects of robots.txt lead to; they are no pages.
    """
    answered: dict[tuple[str, str], int] = {}
    found: list[Arrival] = []
    for arrival in sorted(arrivals, key=lambda a: (a.arrived_ns, a.n)):
        origin = (arrival.scheme, arrival.host.lower())
        if arrival.target == "/robots.txt":
            if arrival.answered_ns is not None:
                answered.setdefault(origin, arrival.answered_ns)
        elif (arrival.name, arrival.target) not in robots_hops and answered.get(origin, arrival.arrived_ns) >= (
            arrival.arrived_ns
        ):
            found.append(arrival)
    return found
