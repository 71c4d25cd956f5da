"""A visit: one URL with all its hops, from its first turn to its page record.

Holds what is known so far of a visit and of each hop, and writes it down in the store's field order. Decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from seaspider.core.httpfields import texts_of
from seaspider.core.records import FORMAT, Ending
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import Url


class Decision(StrEnum):
    """What robots.txt says of one hop."""

    ALLOW = "allow"
    DISALLOW = "disallow"
    UNREACHABLE = "unreachable"


@dataclass(slots=True)
class Hop:
    """One URL of a visit's chain: what was decided, asked and answered. Unknown things are None."""

    url: Url
    ip: str | None = None
    decision: Decision | None = None
    robots_id: int | None = None
    group: str | None = None
    rule: str | None = None
    rule_line: int | None = None
    witness: Decision | None = None
    crawl_delay_s: float | None = None
    status: int | None = None
    location: str | None = None
    error: str | None = None
    judged_ms: int | None = None
    """When it was judged last whether it may be asked for, wall clock: the moment its robots.txt had to be in force."""
    tries: int = 0
    """Requests made for it in this run."""

    def judged_by(self, robots_id: int) -> None:
        """Another robots.txt decides than for the attempt before: what that one said is no longer so."""
        self.robots_id, self.decision = robots_id, None
        self.group = self.rule = self.rule_line = self.witness = self.crawl_delay_s = None

    def record(self) -> dict[str, Any]:
        return {
            "url": self.url.text,
            "ip": self.ip,
            "decision": self.decision,
            "robots_id": self.robots_id,
            "group": self.group,
            "rule": self.rule,
            "rule_line": self.rule_line,
            "witness": self.witness,
            "crawl_delay_s": self.crawl_delay_s,
            "status": self.status,
            "location": self.location,
            "error": self.error,
            "judged_at": None if self.judged_ms is None else rfc3339_ms(self.judged_ms),
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a visit's last request, as it came: what is recorded, whatever other parts make of it."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    """Decoded."""

    def values(self, name: str) -> list[str]:
        """The values of a header in the order received."""
        return texts_of(self.headers, name.lower().encode("latin-1"))


@dataclass(slots=True, eq=False)
class Visit:
    """One URL on its way. `line`: 1-based queue line, None if followed; `via`: the page that linked to it."""

    url: Url
    line: int | None = None
    depth: int = 0
    via: str | None = None
    number: int | None = None
    """Counts from 1 in the order of first turns of a run."""
    started_ms: int | None = None
    chain: list[Hop] = field(default_factory=list)
    attempts: int = 0
    """Page requests made, hops included."""
    intended: bool = False
    """Its line in intents.jsonl is written."""
    awaited: RobotsEntry | None = None
    """The answer of the robots.txt this visit had fetched. It decides the hop that waited for it, even if it is over
    by the time the host's pause is over: each fetch brings a visit on."""
    earlier: dict[str, Any] | None = None
    """Its record of an earlier run, if that is not final."""
    kept: bool = False
    """It ends as in the earlier run, whose pause is not over: the same record again."""
    answer: Answered | None = None
    wire_bytes: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def final_url(self) -> Url:
        return self.chain[-1].url if self.chain else self.url

    def record(self, run: int, ending: Ending, ended_ms: int) -> dict[str, Any]:
        """The page record as far as the visit knows it, in the store's order; what a body adds is None."""
        last = self.chain[-1]
        own = {
            "v": FORMAT,
            "run": run,
            "visit": self.number,
            "url": self.url.text,
            "line": self.line,
            "depth": self.depth,
            "via": self.via,
        }
        times = {"started_at": rfc3339_ms(self.started_ms or ended_ms), "ended_at": rfc3339_ms(ended_ms)}
        if self.kept:
            return {**(self.earlier or {}), **own, **times}
        return {
            **own,
            "outcome": ending.outcome,
            "reason": ending.reason,
            "status": last.status,
            "final_url": last.url.text,
            "chain": [hop.record() for hop in self.chain],
            "content_type": None,
            "charset": None,
            "bytes": self.wire_bytes,
            "sha256": None,
            "links": None,
            "nofollow": None,
            "flags": list(self.flags),
            "attempts": self.attempts,
            "not_before": None if ending.not_before_ms is None else rfc3339_ms(ending.not_before_ms),
            **times,
        }
