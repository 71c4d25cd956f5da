"""What earlier runs left in a store: which URLs are done, which wait, and what is known of robots.txt.

Reads the journal files once, in file order; the latest record of a URL counts. Never writes. Raises StoreError, with
file and line, for a row that is not as a store has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

from seaspider.core.records import Ending, File, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsRowError
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.items import Page
from seaspider.journal import Row
from seaspider.knownurls import KnownUrls, Mark, Marked

_PAGE_KEYS: Final = tuple(field.name for field in fields(Page))
# These end a visit until a time that their record tells.
_TIMED: Final = frozenset({Reason.BACKOFF, Reason.RETRY_AFTER, Reason.FORBIDDEN})

_NONE: Final = 0
_FINAL: Final = int(Mark.DONE | Mark.FAILED)
_MARKS: Final = {
    outcome: int(Mark.DONE | Mark.FAILED if outcome is Outcome.FAILED else Mark.DONE)
    for outcome in Outcome
    if outcome.final
}

VisitKey = tuple[int, int]
"""Run and visit."""


class Journal(Protocol):
    """A store's journal files, to be read."""

    def read(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first."""

    def last(self, file: File) -> Row | None:
        """The last line of a file, if it has one."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A link that an earlier run decided to follow."""

    url: Url
    depth: int
    via: str


@dataclass(slots=True)
class History:
    runs: int = 0
    """The highest number of a run."""
    robots_ids: int = 0
    urls: KnownUrls = field(default_factory=KnownUrls, compare=False)
    """Every URL that has a final record is marked in it."""
    final: int = 0
    """How many URLs have a final record; those that failed are among them, taken up again or not."""
    unfinished: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The latest record of the URLs whose latest record is not final."""
    forbidden: list[tuple[str, int]] = field(default_factory=list)
    """Hosts that answered 403 to a page, and when (wall clock ms)."""
    followed: list[Followed] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    """URLs whose latest visit was under way when its run ended: an intent, but no page record."""

    def ended(self, url: str, outcome: Outcome, record: dict[str, Any]) -> None:
        """Takes in a page record, the latest of its URL."""
        self.unfinished.pop(url, None)
        if not outcome.final:
            self.unfinished[url] = record
        self._mark(self.urls.number(url), _MARKS.get(outcome, _NONE))

    def _mark(self, number: int, mark: int) -> None:
        was = self.urls.marks[number]
        self.final += (mark > 0) - (was & _FINAL > 0)
        self.urls.marks[number] = was & ~_FINAL | mark

    def retry_failed(self) -> None:
        """From now on, what has failed is not done."""
        for number, mark in enumerate(self.urls.marks):
            if mark & Mark.FAILED:
                self.urls.marks[number] = mark & ~Mark.DONE

    @property
    def done(self) -> Set[str]:
        """URLs whose latest record is final, and that are not taken up again."""
        return Marked(self.urls, Mark.DONE)

    @property
    def deferred(self) -> dict[str, Ending]:
        """Hosts that asked for a pause that was not waited for, and until when."""
        hosts: dict[str, Ending] = {}
        for record in self.unfinished.values():
            if record["reason"] in (Reason.RETRY_AFTER, Reason.BACKOFF) and record["not_before"] is not None:
                until_ms = parse_rfc3339_ms(record["not_before"])
                host = normalise(record["final_url"]).host
                if host not in hosts or (hosts[host].not_before_ms or 0) < until_ms:
                    hosts[host] = Ending(Outcome.DEFERRED, Reason(record["reason"]), until_ms)
        return hosts


def read(store: Journal, book: RobotsBook, *, retry_failed: bool = False) -> History:
    """The history in a store; robots.txt entries go into `book`. `retry_failed`: a failed URL is not done."""
    history = History()
    for file in (File.SKIPPED, File.REQUESTS):
        last = store.last(file)
        if last is not None:
            history.runs = max(history.runs, last.get("run", int))
    for _ in _rows(store, File.MANIFEST, history):
        pass
    for row in _rows(store, File.ROBOTS, history):
        try:
            history.robots_ids = max(history.robots_ids, book.load(row.record).id)
        except RobotsRowError as error:
            raise row.error(str(error).removeprefix(f"{File.ROBOTS}: ")) from error
    depths = _read_pages(store, history)
    for row in _rows(store, File.LINKS, history):
        depth = depths.get(_key(row))
        if row.get("followed", bool) and depth is not None:
            history.followed.append(Followed(_url(row, "url"), depth + 1, row.get("page", str)))
    _read_intents(store, history, depths)
    if retry_failed:
        history.retry_failed()
    return history


def _rows(store: Journal, file: File, history: History) -> Iterator[Row]:
    """The rows of a file; a run's number is taken wherever it is met, in case a start line was lost."""
    for row in store.read(file):
        history.runs = max(history.runs, row.get("run", int))
        yield row


def _read_pages(store: Journal, history: History) -> dict[VisitKey, int]:
    """Fills in what page records tell and returns the depth of each (run, visit) that has one."""
    depths: dict[VisitKey, int] = {}
    for row in _rows(store, File.PAGES, history):
        url, outcome = row.get("url", str), _ending(row).outcome
        depths[_key(row)] = row.get("depth", int)
        if not outcome.final:
            _url(row, "final_url")  # names the host that `deferred` tells of
        history.ended(url, outcome, {} if outcome.final else {key: row.get(key, object) for key in _PAGE_KEYS})
        if outcome is Outcome.STORED and row.get("status", int) == 403:
            history.forbidden.append((_url(row, "final_url").host, row.milliseconds("ended_at")))
    return depths


def _read_intents(store: Journal, history: History, depths: dict[VisitKey, int]) -> None:
    """Fills in the URLs whose visit is open: no page record ends it, and none of a later run does."""
    for row in _rows(store, File.INTENTS, history):
        url = row.get("url", str)
        later = history.unfinished.get(url, {}).get("run", 0)
        if _key(row) in depths or url in history.done or later > row.get("run", int):
            history.begun.discard(url)
        else:
            history.begun.add(url)


def _ending(row: Row) -> Ending:
    """How a page record says that its visit ended."""
    try:
        reason = row.optional("reason", str)
        ending = Ending(Outcome(row.get("outcome", str)), None if reason is None else Reason(reason))
    except ValueError as error:
        raise row.error(str(error)) from error
    if row.optional("not_before", str) is not None:
        row.milliseconds("not_before")
    elif ending.reason in _TIMED:
        raise row.error(f"{ending} without a 'not_before'")
    return ending


def _key(row: Row) -> VisitKey:
    return row.get("run", int), row.get("visit", int)


def _url(row: Row, key: str) -> Url:
    try:
        return normalise(row.get(key, str))
    except UrlError as error:
        raise row.error(f"{key!r}: {error}") from error
