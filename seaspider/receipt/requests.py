"""The requests of a store that are wanted, each of its two lines, and the time between them.

Gaps go from the end of one request to the claim of the next, on CLOCK_BOOTTIME: only under one boot id and only from an
end that is recorded. What cannot be measured is counted and not guessed. Lines of other requests are hardly looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from sys import intern
from typing import Final

from seaspider.core.politeness import PauseBasis
from seaspider.core.times import ns_from_s
from seaspider.journal import Row

ROBOTS: Final = "robots"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. What its end would tell is None where that is not recorded: it counts as sent."""

    run: int
    n: int
    visit: int | None
    kind: str
    url: str
    ip: str
    at_ms: int
    claimed_ns: int
    sent: bool = True
    ended_ms: int | None = None
    ended_ns: int | None = None
    status: int | None = None
    error: str | None = None
    bytes: int | None = None
    pause_s: float | None = None
    pause_basis: str | None = None
    retry_after: str | None = None

    @property
    def pause_ns(self) -> int:
        """The pause that is due to its host after it."""
        return ns_from_s(self.pause_s or 0)

    @property
    def slowed(self) -> bool:
        """Whether the answer asked for more of a pause than usual, or a failure made it longer."""
        return self.retry_after is not None or self.pause_basis in (PauseBasis.BACKOFF, PauseBasis.RETRY_AFTER)


class Requests:
    """The requests whose claim is `wanted`, in file order. `strays`: ends, of any request, without a beginning."""

    def __init__(self, rows: Iterable[Row], wanted: Callable[[Row], bool]) -> None:
        self.strays = 0
        self._rows = rows
        self._wanted = wanted

    def __iter__(self) -> Iterator[Asked]:
        """Raises StoreError. An end belongs to the claim right before it: one request is under way."""
        open_: tuple[int, int] | None = None
        claim: Row | None = None
        for row in self._rows:
            key = (row.get("run", int), row.get("n", int))
            if row.get("event", str) == "claim":
                if claim is not None:
                    yield _asked(claim, None)
                open_, claim = key, row if self._wanted(row) else None
                continue
            if key != open_:
                self.strays += 1
                continue
            if claim is not None:
                yield _asked(claim, row)
            open_ = claim = None
        if claim is not None:
            yield _asked(claim, None)


def _asked(claim: Row, settle: Row | None) -> Asked:
    begun = Asked(
        run=claim.get("run", int),
        n=claim.get("n", int),
        visit=claim.optional("visit", int),
        kind=intern(claim.get("kind", str)),
        url=claim.get("url", str),
        ip=intern(claim.get("ip", str)),
        at_ms=claim.milliseconds("claimed_at"),
        claimed_ns=claim.get("claimed_ns", int),
    )
    return begun if settle is None else _settled(begun, settle)


def _settled(begun: Asked, settle: Row) -> Asked:
    error = settle.optional("error", str)
    ended = replace(
        begun,
        sent=settle.optional("sent_ns", int) is not None,
        ended_ms=settle.milliseconds("ended_at"),
        ended_ns=settle.get("ended_ns", int),
        status=settle.optional("status", int),
        error=None if error is None else intern(error),
        bytes=settle.get("bytes", int),
        pause_s=settle.get("pause_s", float),
        pause_basis=intern(settle.get("pause_basis", str)),
        retry_after=_retry_after(settle),
    )
    if not 0 <= (ended.pause_s or 0) < inf:
        raise settle.error(f"'pause_s' is {ended.pause_s!r}, no duration")
    return ended


def _retry_after(settle: Row) -> str | None:
    try:
        values = [value for name, value in settle.get("headers", list) if name.lower() == "retry-after"]
        return ", ".join(values) if values else None
    except (AttributeError, TypeError, ValueError) as error:
        raise settle.error("'headers' has what is no pair of texts") from error


# --- gaps ---


@dataclass(frozen=True, slots=True)
class Gap:
    """`ns` from an end to the next claim, `due_ns` the pause that was due; `run` and `n` are of the later request."""

    ns: int
    due_ns: int
    run: int
    n: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """`pairs` were measured, `below` of them nearer than the pause due; `other_boot` and `no_end` were not measured."""

    pairs: int
    below: int
    other_boot: int
    no_end: int
    shortest: Gap | None


class Meter:
    """Requests of one key, in the order they were made."""

    def __init__(self) -> None:
        self._pairs = self._below = self._other_boot = self._no_end = 0
        self._shortest: Gap | None = None
        self._before: tuple[int | None, str, int] | None = None

    @property
    def gaps(self) -> Gaps:
        return Gaps(self._pairs, self._below, self._other_boot, self._no_end, self._shortest)

    def add(self, request: Asked, boot_id: str, pause_ns: int) -> int | None:
        """The time in ns since the request before, if it can be measured. `pause_ns`: the pause due after this one."""
        before, self._before = self._before, (request.ended_ns, boot_id, pause_ns)
        return None if before is None else self._measure(*before, request, boot_id)

    def _measure(self, ended_ns: int | None, its_boot: str, due_ns: int, request: Asked, boot_id: str) -> int | None:
        if ended_ns is None:
            self._no_end += 1
            return None
        if its_boot != boot_id:
            self._other_boot += 1
            return None
        ns = request.claimed_ns - ended_ns
        self._pairs += 1
        self._below += ns < due_ns
        if self._shortest is None or ns < self._shortest.ns:
            self._shortest = Gap(ns, due_ns, request.run, request.n, request.at_ms)
        return ns
