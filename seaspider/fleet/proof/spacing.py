"""P3 across shards: no request of one shard came before the pause was over that another shard's request had begun.

Requests of all shards, by time; pauses are those recorded, which each shard's own proof derives anew. By CLOCK_BOOTTIME
among the requests under one boot id. Between boots, which may be machines, there is no common clock: what their wall
clocks say is told and proves nothing, since a clock may be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct, error
from typing import Any, Final

from seaspider.bigsort import BigSort
from seaspider.core.politeness import PauseBasis
from seaspider.core.times import NS_PER_MS, NS_PER_S
from seaspider.errors import StoreError
from seaspider.fleet.plan import name_of
from seaspider.verify.evidence import Evidence, Request, Stray
from seaspider.verify.proof import Counterexample
from seaspider.verify.terms import Terms

_TIME: Final = Struct(">HQ")
_WALL: Final = 0
"""In the place of a boot: all of them, by the wall clock."""
_BOTH: Final = ("host", "address")


@dataclass(slots=True)
class Found:
    """Among requests that one clock timed. `pairs`: one after the other to one host or address, of different shards."""

    requests: int = 0
    pairs: int = 0
    too_near: int = 0
    first: Counterexample | None = None


@dataclass(slots=True)
class Spacing:
    """`boots`: how many boots of machines there were. `by_boot`: what is proven; `between`: what wall clocks say of
    all, if there was more than one."""

    boots: int = 0
    by_boot: Found = field(default_factory=Found)
    between: Found | None = None


def measure(shards: Sequence[tuple[int, Evidence]]) -> Spacing:
    """Raises StoreError, and OSError where TMPDIR has no room."""
    boots: dict[str, int] = {}
    for _, evidence in shards:
        for run in evidence.runs:
            boots.setdefault(run.boot_id, len(boots) + 1)
    by_time = BigSort()
    for shard, evidence in shards:
        for key, event in _events(shard, evidence, boots):
            by_time.add(key, event)
    found = Spacing(len(boots), between=Found() if len(boots) > 1 else None)
    clock, clock_keys = -1, _Keys(found.by_boot)
    for key, event in by_time:
        boot, _ = _TIME.unpack(key)
        if boot != clock:
            told = found.between if boot == _WALL and found.between is not None else found.by_boot
            clock, clock_keys = boot, _Keys(told)
        clock_keys.meet(*json.loads(event))
    return found


def _events(shard: int, evidence: Evidence, boots: dict[str, int]) -> Iterator[tuple[bytes, bytes]]:
    """Each request of a shard under its boot, and once more under the wall clock if there are several boots."""
    runs = {run.number: (boots[run.boot_id], Terms.of(run)) for run in evidence.runs}
    for request in evidence.requests():
        # What belongs to no run is refuted elsewhere.
        if isinstance(request, Stray) or request.run not in runs:
            continue
        boot, terms = runs[request.run]
        of_host, of_address = _pauses_ns(request, terms)
        settle = request.settle
        ended_ns = request.claimed_ns if settle is None else settle.ended_ns
        ended_ms = request.claimed_ms if settle is None else settle.ended_ms
        who = (shard, request.place, request.host, request.ip)
        yield _event(boot, request.claimed_ns, who, ended_ns + of_host, ended_ns + of_address)
        if len(boots) > 1:
            now, ended = request.claimed_ms * NS_PER_MS, ended_ms * NS_PER_MS
            yield _event(_WALL, now, who, ended + of_host, ended + of_address)


def _event(
    clock: int, now: int, who: tuple[int, str, str, str], host_free: int, address_free: int
) -> tuple[bytes, bytes]:
    try:
        return _TIME.pack(clock, now), json.dumps((now, *who, host_free, address_free)).encode()
    except error as fault:
        raise StoreError(f"{in_shard(who[0], who[1])}: {now} is no time") from fault


def _pauses_ns(request: Request, terms: Terms) -> tuple[int, int]:
    """What the host and the address rest after a request; one without an end at least the interval after its claim."""
    if request.settle is None:
        return terms.interval_ns, terms.ip_interval_ns
    pause_ns = round(request.settle.pause_s * NS_PER_S)
    only_interval = request.settle.pause_basis == PauseBasis.INTERVAL
    return pause_ns, terms.ip_interval_ns if only_interval else max(terms.ip_interval_ns, pause_ns)


_Rest = tuple[int, int, str]
"""Free from (ns), after which shard's request, and where that is written."""


class _Keys:
    """By host and by address: which shard asked last, and the two longest rests that different shards left."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._known: tuple[dict[str, tuple[int, _Rest, _Rest | None]], ...] = ({}, {})

    def meet(self, now: int, shard: int, place: str, host: str, address: str, *frees: int) -> None:
        self._found.requests += 1
        near: list[tuple[str, str, _Rest]] = []
        for kind, known, key, free in zip(_BOTH, self._known, (host, address), frees, strict=True):
            rest: _Rest = (free, shard, place)
            if key not in known:
                known[key] = (shard, rest, None)
                continue
            last, longest, other = known[key]
            self._found.pairs += last != shard
            before = other if longest[1] == shard else longest
            if before is not None and now < before[0]:
                near.append((kind, key, before))
            known[key] = (shard, *_longest(rest, longest, other))
        if near:
            self._found.too_near += 1
            if self._found.first is None:
                self._found.first = _counterexample(now, shard, place, near[0])


def _longest(rest: _Rest, longest: _Rest, other: _Rest | None) -> tuple[_Rest, _Rest | None]:
    if rest[1] == longest[1]:
        return max(rest, longest), other
    if other is not None and other[1] == rest[1]:
        rest = max(rest, other)
    elif other is not None and other[0] > rest[0]:
        return longest, other
    return (rest, longest) if rest[0] >= longest[0] else (longest, rest)


def _counterexample(now: int, shard: int, place: str, near: tuple[str, str, Any]) -> Counterexample:
    kind, key, (free, before, its_place) = near
    soon = f"{(free - now) / NS_PER_S:.9f} s too soon after that of {in_shard(before, its_place)}"
    return Counterexample(in_shard(shard, place), f"{kind} {key} is asked {soon}")


def in_shard(shard: int, place: str) -> str:
    """The place of a line of a shard's store, in the fleet's folder."""
    return f"shards/{name_of(shard)}/{place}"
