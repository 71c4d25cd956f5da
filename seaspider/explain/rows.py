"""Lines of a store as far as an explanation needs them: read with their place, checked, turned into values.

Decides nothing. Raises StoreError, with file and line, for a line that does not say what it must.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seaspider.core.records import Ending
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import normalise
from seaspider.core.visits import Decision, Hop
from seaspider.journal import Row

VisitKey = tuple[int, int]
"""Run and visit."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run. `ended_at` None: it goes on, or was killed. `unfinished`: visits it left, which no line names."""

    number: int
    started_at: str
    start: Row
    ended_at: str | None = None
    unfinished: int | None = None

    @property
    def settings(self) -> Row:
        """Its settings, as Config.to_record writes them."""
        return Row(f"{self.start.place}: settings", self.start.get("settings", dict))


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A line of the queue that was not visited. `of`: the line that named the same URL first."""

    run: int
    line: int
    fate: str
    of: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Waits:
    """A line of a fleet's queue that no crawl has come to, and the shard whose it is."""

    line: int
    shard: int


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A page record. `kept`: an earlier record, repeated without a request as its `not_before` had not come."""

    run: int
    visit: int
    url: str
    line: int | None
    depth: int
    via: str | None
    ending: Ending
    status: int | None
    final_url: str
    chain: tuple[Hop, ...]
    attempts: int
    sha256: str | None
    started_at: str
    ended_at: str
    kept: bool = False

    @property
    def key(self) -> VisitKey:
        return self.run, self.visit


@dataclass(frozen=True, slots=True)
class Begun:
    """A line of intents.jsonl."""

    run: int
    visit: int
    line: int | None
    intended_at: str

    @property
    def key(self) -> VisitKey:
        return self.run, self.visit


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link to the URL, on a page that was recorded. `depth`: of a visit that follows it."""

    run: int
    visit: int
    page: str
    n: int
    followed: bool
    reason: str | None
    depth: int


@dataclass(slots=True)
class Attempt:
    """A request, of its two lines. `ended_at` None: it has no second line (yet), so it counts as sent."""

    run: int
    n: int
    visit: int | None
    kind: str
    url: str
    ip: str
    judged_at: str | None
    claimed_at: str
    sent: bool = True
    ended_at: str | None = None
    pause_s: float | None = None
    pause_basis: str | None = None
    status: int | None = None
    error: str | None = None


def visit_key(row: Row) -> VisitKey:
    return row.get("run", int), row.get("visit", int)


def visit_row(row: Row, earlier: VisitRow | None = None) -> VisitRow:
    """A page record. `earlier`: the one before of the same URL, which tells whether this is kept."""
    started_at = row.get("started_at", str)
    until_ms = None if earlier is None else earlier.ending.not_before_ms
    return VisitRow(
        run=row.get("run", int),
        visit=row.get("visit", int),
        url=row.get("url", str),
        line=row.optional("line", int),
        depth=row.get("depth", int),
        via=row.optional("via", str),
        ending=_ending(row),
        status=row.optional("status", int),
        final_url=row.get("final_url", str),
        chain=tuple(_hop(row, hop) for hop in row.get("chain", list)),
        attempts=row.get("attempts", int),
        sha256=row.optional("sha256", str),
        started_at=started_at,
        ended_at=row.get("ended_at", str),
        kept=until_ms is not None and until_ms > _ms(row, started_at),
    )


def attempt(claim: Row) -> Attempt:
    return Attempt(
        run=claim.get("run", int),
        n=claim.get("n", int),
        visit=claim.optional("visit", int),
        kind=claim.get("kind", str),
        url=claim.get("url", str),
        ip=claim.get("ip", str),
        judged_at=claim.optional("judged_at", str) if "judged_at" in claim.record else None,
        claimed_at=claim.get("claimed_at", str),
    )


def settle(request: Attempt, row: Row) -> None:
    """Fills in what the second line of a request tells."""
    request.sent = row.optional("sent_ns", int) is not None
    request.ended_at = row.get("ended_at", str)
    request.pause_s = row.get("pause_s", float)
    request.pause_basis = row.get("pause_basis", str)
    request.status = row.optional("status", int)
    request.error = row.optional("error", str)


def _ending(row: Row) -> Ending:
    not_before = row.optional("not_before", str)
    return row.ending(None if not_before is None else _ms(row, not_before))


def _hop(page: Row, record: Any) -> Hop:
    """A hop as the crawl had it. Keys that there are not, as in a store of an earlier version, are None."""
    if not isinstance(record, dict):
        raise page.error(f"a hop is {record!r}, not an object")
    hop = Row(page.place, record)
    judged_at, decision, witness = record.get("judged_at"), hop.optional("decision", str), hop.optional("witness", str)
    try:
        return Hop(
            url=normalise(hop.get("url", str)),
            ip=hop.optional("ip", str),
            decision=None if decision is None else Decision(decision),
            robots_id=hop.optional("robots_id", int),
            group=hop.optional("group", str),
            rule=hop.optional("rule", str),
            rule_line=hop.optional("rule_line", int),
            witness=None if witness is None else Decision(witness),
            crawl_delay_s=hop.optional("crawl_delay_s", float),
            status=hop.optional("status", int),
            location=hop.optional("location", str),
            error=hop.optional("error", str),
            judged_ms=None if judged_at is None else _ms(hop, hop.get("judged_at", str)),
        )
    except ValueError as error:  # of normalise, too
        raise page.error(f"a hop: {error}") from error


def _ms(row: Row, text: str) -> int:
    try:
        return parse_rfc3339_ms(text)
    except ValueError as error:
        raise row.error(str(error)) from error
