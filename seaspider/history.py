"""What earlier runs left in a store: which URLs are done, which wait, and what is known of robots.txt.

Reads the journal files once, in file order; the latest record of a URL counts. Never writes. Raises StoreError, with
file and line, for a row that is not as a store has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, fields
from itertools import compress
from tempfile import gettempdir
from typing import Any, Final, Protocol

from seaspider.core.records import Ending, File, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsRowError
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.errors import StoreError
from seaspider.items import Page
from seaspider.journal import Row
from seaspider.knownurls import KnownUrls, Mark, Marked
from seaspider.pastlines import FINAL_PAGE, INTENT, LINK_LEFT, Ended, Found, lines_of, spans

_PAGE_KEYS: Final = tuple(field.name for field in fields(Page))
# These end a visit until a time that their record tells.
_TIMED: Final = frozenset({Reason.BACKOFF, Reason.RETRY_AFTER, Reason.FORBIDDEN})

_NONE: Final = 0
_DONE: Final = int(Mark.DONE)
_FAILED: Final = int(Mark.DONE | Mark.FAILED)
_FAILED_AS: Final = Outcome.FAILED.encode()

VisitKey = tuple[int, int]
"""Run and visit."""


class Journal(Protocol):
    """A store's journal files, to be read."""

    def read(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first."""

    def blocks(self, file: File) -> Iterator[bytes]:
        """The lines of a file by the block, each without its last line feed."""

    def row(self, file: File, number: int, line: bytes) -> Row:
        """A line of a block."""

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
        if outcome.final:
            self._mark(self.urls.number(url), _FAILED if outcome is Outcome.FAILED else _DONE)
            return
        self.unfinished[url] = record
        number = self.urls.find(url)
        if number is not None:
            self._mark(number, _NONE)

    def ended_finally(self, urls: list[bytes], endings: list[bytes]) -> None:
        """Takes in page records that are final: each the latest of its URL, when its turn comes. An ending begins with
        its outcome."""
        before = len(self.urls.marks)
        known = self.urls.add(urls)
        marks = [_FAILED if ending.startswith(_FAILED_AS) else _DONE for ending in endings]
        is_new = [True] * len(urls)
        for index, _ in known:
            is_new[index] = False
        self.urls.marks[before:] = compress(marks, is_new)
        self.final += len(urls) - len(known)
        for index, number in known:
            self._mark(number, marks[index])
        if self.unfinished:
            for url in urls:
                self.unfinished.pop(url.decode(), None)

    def _mark(self, number: int, mark: int) -> None:
        was = self.urls.marks[number]
        self.final += (mark > 0) - (was & _FAILED > 0)
        self.urls.marks[number] = was & ~_FAILED | mark

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
    try:
        return _read(store, book, retry_failed)
    except OSError as error:
        raise StoreError(f"no room in {gettempdir()} for the URLs of the store: {error.strerror or error}") from error


def _read(store: Journal, book: RobotsBook, retry_failed: bool) -> History:
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
    ended = _read_pages(store, history)
    for link in _lines(store, File.LINKS, LINK_LEFT, history):
        if isinstance(link, Row):
            depth = ended.depth(*_key(link))
            if link.get("followed", bool) and depth is not None:
                history.followed.append(Followed(_url(link, "url"), depth + 1, link.get("page", str)))
    _read_intents(store, history, ended)
    if retry_failed:
        history.retry_failed()
    return history


def _rows(store: Journal, file: File, history: History) -> Iterator[Row]:
    """The rows of a file; a run's number is taken wherever it is met, in case a start line was lost."""
    for row in store.read(file):
        history.runs = max(history.runs, row.get("run", int))
        yield row


def _lines(store: Journal, file: File, form: re.Pattern[bytes], history: History) -> Iterator[list[Found] | Row]:
    """The lines of a file: those that have the form, as many as follow each other; each other one as its row."""
    number = 1
    for block in store.blocks(file):
        found = lines_of(block, form)
        lines: list[bytes] = []
        for start, end in spans(found):
            if start < end:
                part = found[start:end]
                history.runs = max(history.runs, *map(int, {line[0] for line in part}))
                yield part
            else:
                lines = lines or block.split(b"\n")
                row = store.row(file, number + start, lines[start] + b"\n")
                history.runs = max(history.runs, row.get("run", int))
                yield row
        number += len(found)


def _read_pages(store: Journal, history: History) -> Ended:
    """Fills in what page records tell and returns which visits have one."""
    ended = Ended()
    for row in _lines(store, File.PAGES, FINAL_PAGE, history):
        if isinstance(row, list):
            history.ended_finally([line[2] for line in row], [line[4] for line in row])
            ended.add_all(row)
            continue
        url, outcome = row.get("url", str), _ending(row).outcome
        ended.add(*_key(row), row.get("depth", int))
        if not outcome.final:
            _url(row, "final_url")  # names the host that `deferred` tells of
        history.ended(url, outcome, {} if outcome.final else {key: row.get(key, object) for key in _PAGE_KEYS})
        if outcome is Outcome.STORED and row.get("status", int) == 403:
            history.forbidden.append((_url(row, "final_url").host, row.milliseconds("ended_at")))
    return ended


def _read_intents(store: Journal, history: History, ended: Ended) -> None:
    """Fills in the URLs whose visit is open: no page record ends it, and none of a later run does."""
    for row in _lines(store, File.INTENTS, INTENT, history):
        if isinstance(row, Row):
            _intended(history, ended, _key(row), row.get("url", str))
        elif history.begun or not ended.all_of(row):
            for run, visit, url in row:
                _intended(history, ended, (int(run), int(visit)), url.decode())


def _intended(history: History, ended: Ended, key: VisitKey, url: str) -> None:
    later = history.unfinished.get(url, {}).get("run", 0)
    if ended.depth(*key) is not None or url in history.done or later > key[0]:
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
