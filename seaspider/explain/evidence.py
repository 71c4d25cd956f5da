"""What a store has about one URL, up to a moment: gathered in one pass over each of its files.

Keeps only what concerns the URL, its host, its origin and the visits it is part of, so memory does not grow with the
store; each host that ever answered 403 counts. Decides nothing but what belongs to the URL. Reads what was written
when it began: a crawl may add lines meanwhile. Raises StoreError for a line that is not as a store has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from seaspider.core.queue import Fate, as_recorded
from seaspider.core.records import File, Outcome, Reason
from seaspider.core.robotsentry import RobotsEntry, RobotsRowError
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.explain.rows import (
    Attempt,
    Begun,
    LinkRow,
    QueueLine,
    RunInfo,
    VisitKey,
    VisitRow,
    attempt,
    settle,
    visit_key,
    visit_row,
)
from seaspider.journal import Row
from seaspider.storereader import StoreReader

ALWAYS: Final = "9999-12-31T23:59:59.999Z"
"""The latest moment; moments of a store compare as texts."""
SHOWN: Final = 10
"""So many visits that led to the URL by a redirect, or requests of it outside a visit, are kept: the latest ones."""

_PAUSED: Final = frozenset({Reason.RETRY_AFTER, Reason.BACKOFF})


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A page that answered 403."""

    url: str
    at: str


@dataclass(slots=True)
class Evidence:
    """Of one URL, in the order of the files. `led_here`: visits of other URLs with the URL among their hops."""

    url: Url
    runs: list[RunInfo] = field(default_factory=list)
    queue: list[QueueLine] = field(default_factory=list)
    visits: list[VisitRow] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    led_here: deque[VisitRow] = field(default_factory=lambda: deque(maxlen=SHOWN))
    led_here_count: int = 0
    followed: list[LinkRow] = field(default_factory=list)
    unfollowed: dict[str, LinkRow] = field(default_factory=dict)
    """The first link of each reason why it was not followed."""
    links: int = 0
    forbidden: dict[str, Forbidden] = field(default_factory=dict)
    """The latest page of each host that answered 403."""
    deferred: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The latest records of URLs of its host that tell of a pause which is not waited for."""
    requests: list[Attempt] = field(default_factory=list)
    """Of the URL's own visits and of the latest that led to it, robots.txt included."""
    others: deque[Attempt] = field(default_factory=lambda: deque(maxlen=SHOWN))
    """For this very URL, in no such visit: its robots.txt fetches if it is one, and those of other parts."""
    entries: dict[int, RobotsEntry] = field(default_factory=dict)
    """The robots.txt records that its hops name."""
    of_origin: list[RobotsEntry] = field(default_factory=list)
    """All robots.txt records of its own origin."""

    def run(self, number: int) -> RunInfo | None:
        return next((run for run in self.runs if run.number == number), None)


def runs_until(store: StoreReader, until: str) -> list[RunInfo]:
    """The runs that had started at that moment, with their end if it had come."""
    runs: dict[int, RunInfo] = {}
    for row in store.read(File.MANIFEST):
        number = row.get("run", int)
        if row.get("event", str) == "start":
            if row.get("started_at", str) <= until:
                runs[number] = RunInfo(number, row.get("started_at", str), row)
        elif number in runs and row.get("ended_at", str) <= until:
            unfinished = Row(row.place, row.get("counts", dict)).get("unfinished", int)
            runs[number] = replace(runs[number], ended_at=row.get("ended_at", str), unfinished=unfinished)
    return list(runs.values())


def rejected_lines(store: StoreReader, text: str, runs: list[RunInfo]) -> list[QueueLine]:
    """The queue lines of these runs that were rejected and read like `text`."""
    wanted, started = as_recorded(text.strip()), {run.number for run in runs}
    return [
        _queue_line(row)
        for row in store.read(File.SKIPPED)
        if row.get("fate", str) == Fate.REJECTED
        and row.get("run", int) in started
        and row.get("text", str).strip() == wanted
    ]


def gather(store: StoreReader, url: Url, until: str = ALWAYS) -> Evidence:
    """All that concerns the URL and was recorded by that moment."""
    found = Evidence(url, runs_until(store, until))
    started = {run.number for run in found.runs}
    for row in store.read(File.SKIPPED):
        if row.optional("url", str) == url.text and row.get("run", int) in started:
            found.queue.append(_queue_line(row))
    _read_pages(store, found, until)
    for row in store.read(File.INTENTS):
        if row.get("url", str) == url.text and row.get("intended_at", str) <= until:
            line, intended_at = row.optional("line", int), row.get("intended_at", str)
            found.begun.append(Begun(*visit_key(row), line, intended_at))
    _read_requests(store, found, until)
    _read_robots(store, found, until)
    return found


def _queue_line(row: Row) -> QueueLine:
    reason = row.optional("reason", str)
    return QueueLine(row.get("run", int), row.get("line", int), row.get("fate", str), row.optional("of", int), reason)


class _Links:
    """The links to the URL, page by page. Links stand before their page line and a page is recorded before the next
    is begun, so both files are in one order; only the last links of a run may have no page, if it was killed there."""

    def __init__(self, store: StoreReader, url: str) -> None:
        self._rows = (row for row in store.read(File.LINKS) if row.get("url", str) == url)
        self._next = next(self._rows, None)

    def of(self, page: VisitKey) -> Iterator[Row]:
        while self._next is not None and visit_key(self._next)[0] < page[0]:
            self._next = next(self._rows, None)
        while self._next is not None and visit_key(self._next) == page:
            yield self._next
            self._next = next(self._rows, None)


def _read_pages(store: StoreReader, found: Evidence, until: str) -> None:
    last = store.last(File.PAGES)
    end = None if last is None else visit_key(last)
    links = _Links(store, found.url.text)
    for row in store.read(File.PAGES):
        key = visit_key(row)
        linked = list(links.of(key))
        if row.get("ended_at", str) <= until:
            _take_page(row, found)
            for link in linked:
                _take_link(link, row.get("depth", int) + 1, found)
        if key == end:
            return


def _take_page(row: Row, found: Evidence) -> None:
    url, outcome, wanted = row.get("url", str), row.get("outcome", str), found.url.text
    if url == wanted:
        found.visits.append(visit_row(row, found.visits[-1] if found.visits else None))
    elif any(isinstance(hop, dict) and hop.get("url") == wanted for hop in row.get("chain", list)):
        found.led_here.append(visit_row(row))
        found.led_here_count += 1
    found.deferred.pop(url, None)
    if outcome == Outcome.STORED and row.optional("status", int) == 403:
        host, forbidden = _host(row), Forbidden(row.get("final_url", str), row.get("ended_at", str))
        if host not in found.forbidden or found.forbidden[host].at <= forbidden.at:
            found.forbidden[host] = forbidden
    elif row.optional("reason", str) in _PAUSED and _host(row) == found.url.host:
        found.deferred[url] = row.record


def _host(row: Row) -> str:
    try:
        return normalise(row.get("final_url", str)).host
    except UrlError as error:
        raise row.error(str(error)) from error


def _take_link(row: Row, depth: int, found: Evidence) -> None:
    link = LinkRow(
        *visit_key(row),
        page=row.get("page", str),
        n=row.get("n", int),
        followed=row.get("followed", bool),
        reason=row.optional("reason", str),
        depth=depth,
    )
    found.links += 1
    if link.followed:
        found.followed.append(link)
    else:
        found.unfollowed.setdefault(link.reason or "", link)


def _read_requests(store: StoreReader, found: Evidence, until: str) -> None:
    begun = {each.key for each in found.begun}
    visits = begun.union(each.key for each in (*found.visits, *found.led_here))
    open_request: Attempt | None = None
    for row in store.read(File.REQUESTS):
        if row.get("event", str) == "claim":
            open_request = None
            ours = (row.get("run", int), row.optional("visit", int)) in visits
            if (ours or row.get("url", str) == found.url.text) and row.get("claimed_at", str) <= until:
                open_request = attempt(row)
                (found.requests if ours else found.others).append(open_request)
        elif open_request is not None and (row.get("run", int), row.get("n", int)) == (
            open_request.run,
            open_request.n,
        ):
            if row.get("ended_at", str) <= until:
                settle(open_request, row)
            open_request = None


def _read_robots(store: StoreReader, found: Evidence, until: str) -> None:
    named = {hop.robots_id for each in (*found.visits, *found.led_here) for hop in each.chain}
    for row in store.read(File.ROBOTS):
        if row.get("fetched_at", str) > until:
            continue
        of_origin = row.get("origin", str) == found.url.origin
        if of_origin or row.get("id", int) in named:
            try:
                entry = RobotsEntry.from_row(row.record)
            except RobotsRowError as error:
                raise row.error(str(error).removeprefix(f"{File.ROBOTS}: ")) from error
            if entry.id in named:
                found.entries[entry.id] = entry
            if of_origin:
                found.of_origin.append(entry)
