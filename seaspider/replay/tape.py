"""What one run met, in the order it met it, read from the store as the replay gets there.

Decides what comes next: which request, which answer, when a turn was judged. Never runs a crawl. A run ends on the tape
where its records end, so one that was killed or stopped is replayed up to the very line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from seaspider.core.records import File, Reason, to_line, without_times
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import normalise
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.verify.evidence import Evidence, Request, RunInfo, Stray

T = TypeVar("T")

LINES = (File.SKIPPED, File.ROBOTS, File.INTENTS, File.REQUESTS, File.PAGES, File.LINKS)
"""The files whose lines tell how far a run came."""

_NO_ADDRESS = frozenset({Reason.DNS, Reason.SPECIAL_ADDRESS})


class Differs(StoreError):
    """What is replayed is not what was recorded. The message names the first line that differs."""


class Head(Generic[T]):
    """An iterator whose next item can be looked at. `at`: that item, None at the end."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self.at: T | None = next(items, None)

    def take(self) -> T | None:
        taken, self.at = self.at, next(self._items, None)
        return taken


class Reel:
    """All runs of a store: their lines, each read once, from the first run to the last."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.lines = {file: Head(evidence.rows(file)) for file in LINES}
        self.requests = Head(_whole(evidence.requests()))


class Tape:
    """One run of a Reel."""

    def __init__(self, reel: Reel, run: RunInfo) -> None:
        self.run = run
        self.evidence = reel.evidence
        self._reel = reel

    def line(self, file: File) -> Row | None:
        """The line that comes next in a file; None if the run wrote no more."""
        row = self._reel.lines[file].at
        return row if row is not None and row.get("run", int) == self.run.number else None

    @property
    def end_reason(self) -> str | None:
        """Why the run ended, in its own words; None if it was killed."""
        return None if self.run.end is None else self.run.end.get("reason", str)

    @property
    def finished(self) -> bool:
        """Whether the run came to its own end."""
        return self.end_reason == "finished"

    @property
    def over(self) -> bool:
        """Whether all the run's lines have come."""
        return all(self.line(file) is None for file in LINES)

    @property
    def request(self) -> Request | None:
        """The request that comes next."""
        request = self._reel.requests.at
        return request if request is not None and request.run == self.run.number else None

    def take_request(self) -> Request:
        """The request that comes next, which is under way now. Raises Differs if there is none."""
        request = self.request
        if request is None:
            raise Differs(f"run {self.run.number} made no further request")
        self._reel.requests.take()
        return request

    def is_next(self, file: File, record: Mapping[str, Any]) -> bool:
        """Takes the next line of a file. False: the run was cut short and wrote no more of them.

        Raises Differs if the line is not this record, times aside, and if a run that came to its end has no more.
        """
        row = self.line(file)
        if row is not None:
            _compare(row, record)
            self._reel.lines[file].take()
        elif self.finished:
            raise Differs(f"run {self.run.number} wrote no further line of {file}, and would now: {dict(record)}")
        return row is not None

    def is_in_manifest(self, record: Mapping[str, Any]) -> bool:
        """Whether the run wrote the line that tells of its end. Raises Differs if that said something else."""
        if record["event"] == "start":
            return True
        if self.run.end is not None:
            _compare(self.run.end, record)
        return self.run.end is not None

    # --- when ---

    def turn_ms(self) -> int | None:
        """When the turn that comes next was judged, wall clock; None if there is none."""
        page, robots, request = self.line(File.PAGES), self.line(File.ROBOTS), self.request
        times = [] if request is None else [request.judged_ms]
        if page is not None:
            times.append(_page_ms(page))
        if robots is not None:
            times.append(_ms(robots, "fetched_at"))
        return min(times, default=None)

    # --- names ---

    def no_address(self, host: str) -> Row | None:
        """The record of pages or robots.txt that says next, before any request, that a host had no usable address."""
        rows = [row for row in (self.line(File.ROBOTS), self.line(File.PAGES)) if row is not None]
        failed = [row for row in rows if _without_address(row, host)]
        if not failed:
            return None
        first, request = min(failed, key=_row_ms), self.request
        if request is not None and request.host == host and request.judged_ms < _row_ms(first):
            return None
        return first

    # --- bodies ---

    def brought_by(self, request: Request) -> Row | None:
        """The record of pages or robots.txt that a request's answer brought, if it ended a visit or a fetch."""
        row = self.line(File.PAGES if request.kind == "page" else File.ROBOTS)
        status = None if request.settle is None else request.settle.status
        if row is None or row.record["chain"][-1]["url"] != request.url or row.record["status"] != status:
            return None
        return row if request.kind == "robots" or row.record["visit"] == request.visit else None


def _compare(row: Row, record: Mapping[str, Any]) -> None:
    now = json.loads(to_line(record))
    if without_times(row.record) != without_times(now):
        raise Differs(f"{row.place}: {first_difference(row.record, now)}")


def first_difference(was: Any, now: Any, where: str = "") -> str:
    """The first field, times aside, in which two records differ, with both values."""
    was, now = without_times(was), without_times(now)
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(key for key in now if key not in was)]:
            if was.get(key) != now.get(key):
                return first_difference(was.get(key), now.get(key), f"{where}.{key}".lstrip("."))
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (one, other) in enumerate(zip(was, now, strict=True)):
            if one != other:
                return first_difference(one, other, f"{where}[{place}]")
    return f"{where or 'the line'} was {was!r}, and is {now!r} now"


def _whole(requests: Iterator[Request | Stray]) -> Iterator[Request]:
    for request in requests:
        if isinstance(request, Stray):
            raise StoreError(f"{request.place}: ends request {request.n}, which did not begin right before")
        yield request


def _without_address(row: Row, host: str) -> bool:
    """Whether a record ends at this host for want of an address, without a request for it."""
    last = row.record["chain"][-1]
    if last["status"] is not None or normalise(last["url"]).host != host:
        return False
    return row.record["reason"] in _NO_ADDRESS or last["error"] == Reason.DNS


def _row_ms(row: Row) -> int:
    return _ms(row, "fetched_at") if "fetched_at" in row.record else _page_ms(row)


def _page_ms(page: Row) -> int:
    """When the last turn of a visit was judged. A record kept of an earlier run holds that one's times in its chain."""
    judged = page.record["chain"][-1]["judged_at"]
    started_ms = _ms(page, "started_at")
    return started_ms if judged is None else max(started_ms, parse_rfc3339_ms(judged))


def _ms(row: Row, key: str) -> int:
    return parse_rfc3339_ms(row.get(key, str))
