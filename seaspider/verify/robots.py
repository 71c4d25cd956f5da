"""The robots.txt entries of a store as they came into force, and what their stored bodies say.

Decides which entry was the latest of its origin, and what its rules say of a URL, from the bytes under `bodies/`.
Never decides whether that is what it should be.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from seaspider.core.robotsentry import CLOCK_TOLERANCE_MS, RobotsEntry
from seaspider.core.robotsfile import RobotsFile, parse
from seaspider.core.robotsstate import RobotsState
from seaspider.core.robotswitness import witness
from seaspider.verify.evidence import Evidence

RULES_KEPT: Final = 1000
"""Parsed files held in memory; others are read again from the store."""

ALLOW: Final = "allow"
DISALLOW: Final = "disallow"
UNREACHABLE: Final = "unreachable"


@dataclass(frozen=True, slots=True)
class Body:
    """The file that an origin's last parsed answer brought."""

    sha256: str
    truncated: bool
    url: str
    life_ms: int
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of robots.jsonl, as far as a later line may speak of it."""

    id: int
    run: int
    state: RobotsState
    body: Body | None
    """Of the row, or what was known before if it was unreachable."""
    fetched_ms: int
    expires_ms: int
    visit: int | None
    """For which it was fetched."""
    answered: bool
    """An answer made it, so it is known which requests came before and after."""
    before: Entry | None = None
    """The entry before, if this one's moment is known by the wall clock alone."""

    @property
    def is_parsed(self) -> bool:
        return self.state is RobotsState.PARSED

    def in_force(self, judged_ms: int) -> bool:
        return self.fetched_ms - CLOCK_TOLERANCE_MS <= judged_ms < self.expires_ms


@dataclass(frozen=True, slots=True)
class Said:
    """What an entry says of one URL."""

    decision: str
    group: str | None = None
    rule: str | None = None
    rule_line: int | None = None
    witness: str | None = None
    crawl_delay_s: float | None = None


class Robots:
    """Filled in file order."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._latest: dict[str, Entry] = {}
        self._files: OrderedDict[tuple[str, bool], RobotsFile | None] = OrderedDict()

    def put(self, row: RobotsEntry, visit: int | None, *, answered: bool) -> tuple[Entry, Entry | None]:
        """The entry of a row, now its origin's latest, and the one before."""
        before = self._latest.get(row.origin)
        body = before.body if before is not None else None
        if row.state is RobotsState.PARSED and row.sha256 is not None:
            life_ms = row.expires_at_ms - row.fetched_at_ms
            body = Body(row.sha256, row.truncated, row.body_url, life_ms, row.etag, row.last_modified)
        elif row.state is RobotsState.ABSENT:
            body = None
        entry = Entry(
            row.id,
            row.run,
            row.state,
            body,
            row.fetched_at_ms,
            row.expires_at_ms,
            visit,
            answered,
            None if answered or before is None else _without_before(before),
        )
        self._latest[row.origin] = entry
        return entry, before

    def latest(self, origin: str, judged_ms: int) -> Entry | None:
        """The entry that was an origin's latest at that moment."""
        entry = self._latest.get(origin)
        if entry is not None and not entry.answered and judged_ms <= entry.fetched_ms and entry.before is not None:
            return entry.before
        return entry

    def by_id(self, origin: str, number: int) -> Entry | None:
        """The entry of that id, if it is an origin's latest, or the one before and it is not known which was first."""
        entry = self._latest.get(origin)
        if entry is not None and entry.id != number and entry.before is not None:
            entry = entry.before
        return entry if entry is not None and entry.id == number else None

    def latest_id(self, origin: str) -> int | None:
        entry = self._latest.get(origin)
        return None if entry is None else entry.id

    def rules(self, body: Body) -> RobotsFile | None:
        """The parsed file; None if its bytes are missing or others."""
        key = (body.sha256, body.truncated)
        if key not in self._files:
            found = self._evidence.true_body(body.sha256)
            self._files[key] = None if found is None else parse(found, cut=body.truncated)
            if len(self._files) > RULES_KEPT:
                self._files.popitem(last=False)
        self._files.move_to_end(key)
        return self._files[key]

    def says(self, entry: Entry, token: str, url: str) -> Said | None:
        """None if the rules cannot be read."""
        if entry.state is RobotsState.UNREACHABLE:
            return Said(UNREACHABLE)
        if entry.state is RobotsState.ABSENT:
            return Said(ALLOW)
        rules = self.rules(entry.body) if entry.body is not None else None
        if rules is None:
            return None
        decided, seconded = rules.decide(token, url), witness(rules, token, url)
        return Said(
            _word(decided.allowed),
            decided.group,
            decided.rule,
            decided.rule_line,
            None if seconded is None else _word(seconded),
            rules.crawl_delay_s(token),
        )


def _word(allowed: bool) -> str:
    return ALLOW if allowed else DISALLOW


def _without_before(entry: Entry) -> Entry:
    """One step back is far enough; a chain of them would grow with the store."""
    return Entry(
        entry.id,
        entry.run,
        entry.state,
        entry.body,
        entry.fetched_ms,
        entry.expires_ms,
        entry.visit,
        entry.answered,
    )
