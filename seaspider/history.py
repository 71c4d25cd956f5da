"""What earlier runs left in a store: which URLs are done, which wait, and what is known of robots.txt.

Reads the journal files once, in file order; the latest record of a URL counts. Never writes. Raises StoreError, with
file and line, for a row that is not as a store has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, fields
from itertools import compress
from tempfile import gettempdir
from typing import Any, Final

from seaspider.core.records import Ending, File, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsRowError
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.errors import StoreError
from seaspider.items import Page
from seaspider.journal import Row
from seaspider.knownurls import KnownUrls, Mark, Marked
from seaspider.pastlines import Ended
from seaspider.pastparts import Ahead, Formed, Journal, ahead_of, parts, parts_of, reading_ahead

_PAGE_KEYS: Final = tuple(field.name for field in fields(Page))
# These end a visit until a time that their record tells.
_TIMED: Final = frozenset({Reason.BACKOFF, Reason.RETRY_AFTER, Reason.FORBIDDEN})

_PAGE_BYTES: Final = 1_000
"""About what a page record takes."""

_NONE: Final = 0
_DONE: Final = int(Mark.DONE)
_FAILED: Final = int(Mark.DONE | Mark.FAILED)
_MARKS: Final = bytes([_DONE, _FAILED, *bytes(254)])

VisitKey = tuple[int, int]
"""Run and visit."""


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
    complete: Callable[[], None] = field(default=lambda: None, compare=False)
    """Fills in `followed` and `begun`, if read() left them out. Raises StoreError."""
    leave: Callable[[], None] = field(default=lambda: None, compare=False)
    """Has nothing read any more for complete()."""

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

    def ended_finally(self, urls: list[bytes], failed: bytes) -> None:
        """Takes in page records that are final: each the latest of its URL, when its turn comes."""
        before = len(self.urls.marks)
        known = self.urls.add(urls)
        marks = failed.translate(_MARKS)
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

    def has_final(self, url: str) -> bool:
        """Whether the latest record of a URL is final, taken up again or not."""
        number = self.urls.find(url)
        return number is not None and bool(self.urls.marks[number] & _FAILED)

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


def read(store: Journal, book: RobotsBook, *, retry_failed: bool = False, later: bool = False) -> History:
    """The history in a store; robots.txt entries go into `book`. `retry_failed`: a failed URL is not done.

    `later`: links and intents may be read by other processes until `complete` is called.
    """
    try:
        history = _read(store, book)
    except OSError as error:
        raise StoreError(f"no room in {gettempdir()} for the URLs of the store: {error.strerror or error}") from error
    if not later:
        try:
            history.complete()
        finally:
            history.leave()
    if retry_failed:
        history.retry_failed()
    return history


def _read(store: Journal, book: RobotsBook) -> History:
    history = History()
    for file in (File.SKIPPED, File.REQUESTS):
        _last_run(store, file, history)
    for _ in _rows(store, File.MANIFEST, history):
        pass
    for row in _rows(store, File.ROBOTS, history):
        try:
            history.robots_ids = max(history.robots_ids, book.load(row.record).id)
        except RobotsRowError as error:
            raise row.error(str(error).removeprefix(f"{File.ROBOTS}: ")) from error
    for file in (File.LINKS, File.INTENTS):
        _last_run(store, file, history)
    ahead = {file: ahead_of(store, file) for file in (File.LINKS, File.INTENTS)}

    def leave() -> None:
        for reader in filter(None, ahead.values()):
            reader.close()

    def complete() -> None:
        _read_links(store, history, ended, ahead[File.LINKS])
        _read_intents(store, history, ended, ahead[File.INTENTS])

    history.complete, history.leave = complete, leave
    try:
        with reading_ahead(store, File.PAGES) as pages:
            if pages:
                history.urls.expect(pages.size // _PAGE_BYTES)
            ended = _read_pages(store, history, pages)
    except BaseException:
        leave()
        raise
    return history


def _last_run(store: Journal, file: File, history: History) -> None:
    last = store.last(file)
    if last is not None:
        history.runs = max(history.runs, last.get("run", int))


def _rows(store: Journal, file: File, history: History) -> Iterator[Row]:
    """The rows of a file; a run's number is taken wherever it is met, in case a start line was lost."""
    for row in store.read(file):
        history.runs = max(history.runs, row.get("run", int))
        yield row


def _lines(
    store: Journal, file: File, blocks: Iterator[list[Formed | bytes]], history: History
) -> Iterator[Formed | Row]:
    """The lines of a file: those that have the form, as many as follow each other; each other one as its row."""
    number = 1
    for items in blocks:
        for item in items:
            if isinstance(item, bytes):
                row = store.row(file, number, item + b"\n")
                history.runs = max(history.runs, row.get("run", int))
                number += 1
                yield row
            else:
                history.runs = max(history.runs, item.run)
                number += item.count
                yield item


def _read_pages(store: Journal, history: History, ahead: Ahead | None) -> Ended:
    """Fills in what page records tell and returns which visits have one."""
    ended = Ended()
    for row in _lines(store, File.PAGES, parts_of(store, File.PAGES, ahead), history):
        if isinstance(row, Formed):
            history.ended_finally(row.urls, row.failed)
            ended.add_all(row.run, row.visits, row.depths)
            continue
        url, outcome = row.get("url", str), _ending(row).outcome
        ended.add(*_key(row), row.get("depth", int))
        if not outcome.final:
            _url(row, "final_url")  # names the host that `deferred` tells of
        history.ended(url, outcome, {} if outcome.final else {key: row.get(key, object) for key in _PAGE_KEYS})
        if outcome is Outcome.STORED and row.get("status", int) == 403:
            history.forbidden.append((_url(row, "final_url").host, row.milliseconds("ended_at")))
    return ended


def _read_links(store: Journal, history: History, ended: Ended, ahead: Ahead | None) -> None:
    """Fills in the links that are followed."""
    for link in _lines(store, File.LINKS, parts_of(store, File.LINKS, ahead), history):
        if isinstance(link, Row):
            depth = ended.depth(*_key(link))
            if link.get("followed", bool) and depth is not None:
                history.followed.append(Followed(_url(link, "url"), depth + 1, link.get("page", str)))


def _read_intents(store: Journal, history: History, ended: Ended, ahead: Ahead | None) -> None:
    """Fills in the URLs whose visit is open: no page record ends it, and none of a later run does."""

    def is_to_be_read(items: list[Formed | bytes]) -> bool:
        return bool(history.begun) or not all(
            isinstance(item, Formed) and ended.all_of(item.run, item.visits) for item in items
        )

    def blocks() -> Iterator[list[Formed | bytes]]:
        """Read again here if there may be an open one in it: then URLs are needed."""
        assert ahead is not None
        for block, items in zip(store.blocks(File.INTENTS), ahead.parts(), strict=True):
            yield parts(block, File.INTENTS) if is_to_be_read(items) else items

    for row in _lines(store, File.INTENTS, blocks() if ahead else parts_of(store, File.INTENTS, None), history):
        if isinstance(row, Row):
            _intended(history, ended, _key(row), row.get("url", str))
        elif row.urls and is_to_be_read([row]):
            for visit, url in zip(row.visits, row.urls, strict=True):
                _intended(history, ended, (row.run, visit), url.decode())


def _intended(history: History, ended: Ended, key: VisitKey, url: str) -> None:
    later = history.unfinished.get(url, {}).get("run", 0)
    if ended.depth(*key) is not None or history.has_final(url) or later > key[0]:
        history.begun.discard(url)
    else:
        history.begun.add(url)


def _ending(row: Row) -> Ending:
    """How a page record says that its visit ended, and until when if its reason has such a time."""
    ending = row.ending()
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
