"""What the joined store tells a check: requests with the rules in force, robots.txt rows and page lines with the
requests behind them. Values only, and the base of a check, which hears of them in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from seaspider.core.records import Ending
from seaspider.core.robotsentry import RobotsEntry
from seaspider.journal import Row
from seaspider.verify.evidence import Request, RunInfo
from seaspider.verify.numbers import key_of
from seaspider.verify.proof import Counterexample, Proof, Refuted
from seaspider.verify.robots import Entry, Robots, Said
from seaspider.verify.terms import Terms


@dataclass(frozen=True, slots=True)
class Run:
    info: RunInfo
    terms: Terms
    book: Robots

    @property
    def number(self) -> int:
        return self.info.number

    @property
    def ended(self) -> bool:
        """Whether it came to write its last line. If not, it was killed, or its store could not be written."""
        return self.info.end is not None

    @property
    def end(self) -> Row:
        assert self.info.end is not None
        return self.info.end


@dataclass(frozen=True, slots=True)
class Asked:
    """A page request. `entry`: what was in force for its origin when it was judged; `said`: what that says of the URL,
    None if it has no rules that can be read."""

    request: Request
    origin: str
    entry: Entry | None
    said: Said | None


@dataclass(slots=True)
class Visit:
    """A visit of a run whose page line has not been met yet."""

    number: int
    asked: list[Asked] = field(default_factory=list)
    awaited: Entry | None = None
    """The robots.txt fetched for it, until its next page request."""


@dataclass(frozen=True, slots=True)
class RobotsLine:
    row: Row
    entry: RobotsEntry

    @property
    def place(self) -> str:
        return self.row.place

    def was_asked(self, hop: int) -> bool:
        """Whether a request was made for a hop of its chain. A name that cannot be looked up is never asked."""
        return self.entry.chain[hop].status is not None or self.entry.chain[hop].error not in (None, "dns")

    def may_be_lost(self, run: Run, last: Request | None) -> bool:
        """Whether its request may have been lost with the power: `last` is the last one that was not."""
        return not run.ended and (last is None or self.entry.fetched_at_ms >= last.claimed_ms)

    @property
    def answered(self) -> bool:
        """Whether its last hop was asked for, so that the end of that request concluded it."""
        return bool(self.entry.chain) and self.was_asked(len(self.entry.chain) - 1)


@dataclass(frozen=True, slots=True)
class PageLine:
    """`key` stands for its URL; `not_before_ms` and `ended_ms` are ms since the epoch."""

    row: Row
    run: int
    visit: int
    url: str
    key: int
    line: int | None
    ending: Ending
    attempts: int
    not_before_ms: int | None
    started_ms: int
    ended_ms: int
    chain: tuple[Row, ...]

    @property
    def place(self) -> str:
        return self.row.place

    @property
    def visit_key(self) -> int:
        """Stands for its URL and line, as an intent has them."""
        return visit_key(self.url, self.line)

    @property
    def kept_part(self) -> Mapping[str, Any]:
        """What of it stays the same when a record is kept."""
        own = ("v", "run", "visit", "url", "line", "depth", "via", "started_at", "ended_at")
        return {name: value for name, value in self.row.record.items() if name not in own}


@dataclass(frozen=True, slots=True)
class Waiting:
    """The latest record of a URL, which is not final. `kept`: a number that stands for what stays the same of it."""

    not_before_ms: int | None
    kept: int
    run: int


class Check:
    """Hears of a store's facts in the order they came about. Raises Refuted at the first that contradicts its promise,
    and hears no more then."""

    promise: ClassVar[str]

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.notes: list[str] = []
        """What could not be proven, and why."""
        self.counterexample: Counterexample | None = None

    def proof(self) -> Proof:
        return Proof(self.promise, dict(self.checked), self.counterexample)

    def run_starts(self, run: Run) -> None: ...

    def skipped(self, row: Row) -> None: ...

    def intent(self, row: Row, ended_key: int) -> None:
        """`ended_key`: the visit_key of the page line that has ended the visit; 0 if it is open."""

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        """A request. `page`: None if it was for a robots.txt; `visit`: None if it was another part's."""

    def robots(self, line: RobotsLine, requests: Sequence[Request | None], entry: Entry, before: Entry | None) -> None:
        """What became of a robots.txt. `requests`: of its chain's hops, None where there is none."""

    def page(self, line: PageLine, visit: Visit, kept_from: Waiting | None) -> None:
        """A visit ended. `kept_from`: the earlier record that it repeats, if it was not over yet."""

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        """`visits` without a page line, `fetches` of robots.txt files that no row speaks of."""

    def store_ends(self) -> None: ...


def visit_key(url: str, line: int | None) -> int:
    """A number that stands for what a visit was begun with."""
    return key_of(f"{line} {url}")


def contradiction(holds: bool, place: str, why: str) -> None:
    """Raises Refuted unless it holds."""
    if not holds:
        raise Refuted(place, why)
