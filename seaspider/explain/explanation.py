"""Why a URL was fetched or not: what is known of it in a store, put together for one answer.

Decides which part of the evidence is the answer (the latest visit before a redirect, a link or a rule) and what would
have to change. Words and layout are explainreport's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from seaspider.core import explainchange
from seaspider.core.explainchange import Limits
from seaspider.core.links import LinkReason
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsState
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.core.visits import Hop
from seaspider.errors import ExitCode, UsageFault
from seaspider.explain.evidence import ALWAYS, Evidence, gather, rejected_lines, runs_until
from seaspider.explain.judgement import Judgement, has_body, judge
from seaspider.explain.rows import Attempt, Begun, QueueLine, RunInfo, VisitRow, Waits
from seaspider.storereader import StoreReader


class Kind(StrEnum):
    """How the URL is known."""

    VISITED = "visited"
    UNDER_WAY = "under-way"
    """Begun and not ended, as far as known."""
    REDIRECT = "redirect"
    """A hop of other URLs' visits."""
    REQUESTED = "requested"
    """Asked for outside a visit: a robots.txt, or by another part of a crawl."""
    FOLLOWED = "followed"
    """A link to it is followed; it was not begun yet."""
    QUEUED = "queued"
    """In the queue, or known when a link to it was found; not begun yet."""
    WAITING = "waiting"
    """In the queue of a fleet's shard that has not come to it."""
    LINKED = "linked"
    """Links to it were not followed."""
    NEVER_SEEN = "never-seen"


@dataclass(frozen=True, slots=True)
class Explanation:
    """`given`: the URL as the user has it. `bodies`: whether the bytes of a robots.txt record are still there."""

    given: str
    store: str
    at: str | None
    kind: Kind
    evidence: Evidence
    judgement: Judgement
    bodies: Mapping[int, bool] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    waits: Waits | None = None

    @property
    def begun(self) -> bool:
        """Whether the store has a run, as far as known."""
        return bool(self.evidence.runs)

    @property
    def url(self) -> Url:
        return self.evidence.url

    @property
    def latest(self) -> VisitRow | None:
        """The visit that is the answer: its own latest, or the latest that led here."""
        if self.kind is Kind.VISITED:
            return self.evidence.visits[-1]
        return self.evidence.led_here[-1] if self.kind is Kind.REDIRECT else None

    @property
    def detailed(self) -> VisitRow | None:
        """Of that answer the record that was not kept: the visit in which it was decided."""
        if self.kind is Kind.VISITED:
            return next((visit for visit in reversed(self.evidence.visits) if not visit.kept), self.latest)
        return self.latest

    @property
    def requests_shown(self) -> list[Attempt]:
        """The requests of the visit that is the answer; or those of the URL itself, if it has none."""
        visit = self.detailed or self.under_way
        if visit is None:
            return list(self.evidence.others)
        return [each for each in self.evidence.requests if (each.run, each.visit) == visit.key]

    @property
    def entries(self) -> dict[int, RobotsEntry]:
        """The robots.txt records that hops name, and the latest of the origin."""
        latest = self.judgement.entry
        return {**self.evidence.entries, **({latest.id: latest} if latest else {})}

    @property
    def fetched(self) -> bool:
        """Whether this very URL was answered, as far as the evidence kept tells."""
        hops = (hop for visit in (*self.evidence.visits, *self.evidence.led_here) for hop in visit.chain)
        requests = (*self.evidence.requests, *self.evidence.others)
        return any(hop.status is not None and hop.url == self.url for hop in hops) or any(
            each.url == self.url.text and each.status is not None for each in requests
        )

    @property
    def under_way(self) -> Begun | None:
        return self.evidence.begun[-1] if self.kind is Kind.UNDER_WAY else None

    @property
    def unlisted(self) -> RunInfo | None:
        """The latest run, if it left URLs that no line of the store names: this may be one of them."""
        runs = self.evidence.runs
        return runs[-1] if runs and (runs[-1].ended_at is None or runs[-1].unfinished) else None

    @property
    def exit_code(self) -> ExitCode:
        undecided = self.kind is Kind.NEVER_SEEN and self.judgement.undecided is not None
        return ExitCode.UNFINISHED if undecided or self.kind is Kind.WAITING else ExitCode.DONE

    def waiting(self, waits: Waits) -> Explanation:
        """The same, of a URL whose turn has not come; one that was asked for on another's behalf stays that."""
        kind = self.kind if self.kind in (Kind.REDIRECT, Kind.REQUESTED) else Kind.WAITING
        return replace(self, kind=kind, changes=(explainchange.RUN_AGAIN,), waits=waits)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A text that is no URL to ask for, and the lines of the queue that had it."""

    given: str
    store: str
    at: str | None
    lines: tuple[QueueLine, ...]
    exit_code: ExitCode = ExitCode.DONE
    waits: Waits | None = None
    begun: bool = True

    @property
    def summary(self) -> str:
        return f"Not fetched: it is no URL that can be asked for ({self.lines[-1].reason})."


def explain(store: StoreReader, given: str, at: str | None, at_ms: int) -> Explanation | Rejection:
    """`at`: the moment up to which records count, in the store's form; None: all. `at_ms`: when is judged.

    Raises UsageFault for a text that is no URL and no rejected line, and StoreError.
    """
    try:
        url = normalise(given)
    except UrlError as error:
        lines = rejected_lines(store, given, runs_until(store, at or ALWAYS))
        if lines:
            return Rejection(given, str(store.folder), at, tuple(lines))
        raise UsageFault(
            f"URL {given!r} cannot be asked for ({error.reason}), and no line of the queue has it"
        ) from None
    found = gather(store, url, at or ALWAYS)
    judgement = judge(store, found, at_ms)
    kind = _kind(found)
    latest = [judgement.entry] if judgement.entry else []
    parsed = [entry for entry in (*found.entries.values(), *latest) if entry.state is RobotsState.PARSED]
    bodies = {entry.id: has_body(store, entry) for entry in parsed}
    return Explanation(given, str(store.folder), at, kind, found, judgement, bodies, _changes(kind, found, judgement))


def _kind(found: Evidence) -> Kind:
    ended = {visit.key for visit in found.visits}
    last_run = found.visits[-1].run if found.visits else 0
    if found.begun and found.begun[-1].key not in ended and found.begun[-1].run >= last_run:
        return Kind.UNDER_WAY
    if found.visits:
        return Kind.VISITED
    if found.led_here:
        return Kind.REDIRECT
    if found.others:
        return Kind.REQUESTED
    if found.followed:
        return Kind.FOLLOWED
    if found.queue or LinkReason.DUPLICATE in found.unfollowed:
        return Kind.QUEUED
    return Kind.LINKED if found.links else Kind.NEVER_SEEN


def _changes(kind: Kind, found: Evidence, judgement: Judgement) -> tuple[str, ...]:
    match kind:
        case Kind.VISITED:
            return _of_visit(found, found.visits[-1])
        case Kind.REDIRECT:
            return _of_redirect(found, found.led_here[-1])
        case Kind.UNDER_WAY | Kind.FOLLOWED | Kind.QUEUED:
            return (explainchange.RUN_AGAIN,)
        case Kind.REQUESTED:
            return ()
    first: tuple[str, ...] = (explainchange.IN_THE_QUEUE,)
    if kind is Kind.LINKED:
        first = explainchange.for_link(next(iter(found.unfollowed.values())).reason)
    if judgement.undecided is not None:
        return (*first, explainchange.ASK_ROBOTS)
    if judgement.ending is None:
        return first
    limits = limits_of(judgement.run)
    if not judgement.ending.outcome.final:
        return *first, *explainchange.not_final(judgement.ending, judgement.hop, limits)
    return *first, *explainchange.for_visit(judgement.ending, judgement.hop, limits)[:-1]


def _of_visit(found: Evidence, visit: VisitRow) -> tuple[str, ...]:
    hop = visit.chain[-1] if visit.chain else Hop(found.url)
    return explainchange.for_visit(visit.ending, hop, limits_of(found.run(visit.run)))


def _of_redirect(found: Evidence, visit: VisitRow) -> tuple[str, ...]:
    """The record is of another URL: whatever it says, this one may still be visited for its own sake."""
    hop = hop_of(found, visit)
    if hop.status is not None:
        return (explainchange.NOTHING,)
    changes = explainchange.for_visit(visit.ending, hop, limits_of(found.run(visit.run)))
    return (explainchange.IN_THE_QUEUE, *changes[:-1]) if visit.ending.outcome.final else changes


def hop_of(found: Evidence, visit: VisitRow) -> Hop:
    """The hop of a visit that is the URL."""
    return next(hop for hop in visit.chain if hop.url.text == found.url.text)


def limits_of(run: RunInfo | None) -> Limits | None:
    """The settings of a run; None if its start line is lost."""
    if run is None:
        return None
    row = run.settings
    return Limits(
        crawl_delay_cap_s=row.get("crawl_delay_cap_s", float),
        host_budget=row.get("host_budget", int),
        max_redirects=row.get("max_redirects", int),
        max_body_bytes=row.get("max_body_bytes", int),
    )
