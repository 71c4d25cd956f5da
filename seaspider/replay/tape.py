"""What one run met, in the order it met it, read from the store as the replay gets there.

Decides what comes next: which request, which answer, when a turn was judged. Never runs a crawl. A run ends on the tape
where its records end, so one that was killed or stopped is replayed up to the very line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seaspider.core.records import File, to_line
from seaspider.refusals import Interrupted
from seaspider.replay.differences import Differs, compare
from seaspider.replay.found import Found
from seaspider.replay.reel import LINES, Line, Reel
from seaspider.replay.steps import Seen, Steps
from seaspider.verify.evidence import Request, RunInfo

_STARTED = ("started_at", "started_ns", "boot_id")


class Tape:
    """One run of a Reel. `cut`: what comes next is not recorded, as in a run that did not come to its own end."""

    def __init__(self, reel: Reel, run: RunInfo) -> None:
        self.run = run
        self.reel = reel
        self.cut = False
        began = Seen(run.start.milliseconds("started_at"), run.start.get("started_ns", int))
        self._steps = Steps(began, _end_of(self.request) or began, began.wall_ms)

    def line(self, file: File) -> Line | None:
        """The line that comes next in a file; None if the run wrote no more."""
        line = self.reel.lines[file].at
        return line if line is not None and line.run == self.run.number else None

    def _found(self, file: File) -> Found | None:
        line = self.line(file)
        return None if line is None else line.found

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
        """Whether all the run's lines have come that can."""
        return self.cut or all(self.line(file) is None for file in LINES)

    # --- lines ---

    def take(self, file: File, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The next line of a file, which this record must be, times aside. None: the run was cut short before it.

        Raises Differs if it is another, and if a run that came to its end has no more.
        """
        line = None if self.cut else self.line(file)
        if line is None:
            if self.finished:
                more = to_line(record).decode().rstrip()
                raise self.reel.fail(
                    Differs(f"run {self.run.number} has no further line of {file}, and would now: {more}")
                )
            return None
        try:
            compare(line.row, record)
        except Differs as error:
            raise self.reel.fail(error) from None
        self.reel.take(self.reel.lines[file])
        return line.row.record

    def take_manifest(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A line of the manifest, likewise; that of a start is the replay's own but for its times."""
        if record["event"] == "start":
            was = self.run.start
            return {key: was.get(key, object) if key in _STARTED else value for key, value in record.items()}
        if self.run.end is None:
            return None
        try:
            compare(self.run.end, record)
        except Differs as error:
            raise self.reel.fail(error) from None
        return self.run.end.record

    def names_body(self, sha256: str) -> bool:
        """Whether the next record of pages or robots.txt speaks of a body of this digest."""
        ends = (self._found(File.PAGES), self._found(File.ROBOTS))
        return any(found is not None and found.kept.sha256 == sha256 for found in ends)

    # --- requests ---

    @property
    def request(self) -> Request | None:
        """The request that comes next."""
        request = self.reel.requests.at
        return request if request is not None and request.run == self.run.number else None

    def wanted_request(self, whom: str) -> Request:
        """The request that comes next, since one to `whom` is to be made now.

        Raises Interrupted if the run ended before it, and Differs if it ended by itself, or if another part of the
        crawl made the next request.
        """
        request = self.request
        if request is None:
            if not self.finished:
                self.cut = True
                raise Interrupted(f"the run ended before {whom} was asked")
            raise self.reel.fail(Differs(f"run {self.run.number} made no further request, and would ask {whom} now"))
        if request.visit is None:
            raise self.reel.fail(
                Differs(f"{request.place}: another part of the crawl asked for {request.url}; no replay has that part")
            )
        return request

    def take_request(self, whom: str) -> Request:
        """The request that comes next, which is under way now. Raises as wanted_request()."""
        request = self.wanted_request(whom)
        self.reel.take(self.reel.requests)
        now = _end_of(request) or self._steps.before
        self._steps = Steps(now, _end_of(self.request) or now, request.judged_ms)
        return request

    def brought_by(self, request: Request) -> Found | None:
        """The record of pages or robots.txt that a request's answer brought, if it ended a visit or a fetch."""
        found = self._found(File.PAGES if request.kind == "page" else File.ROBOTS)
        status = None if request.settle is None else request.settle.status
        if found is None or found.url != request.url or found.status != status:
            return None
        return found if found.visit in (None, request.visit) else None

    # --- when ---

    def turn_ms(self) -> int | None:
        """When the turn that comes next was judged, wall clock; None if there is none."""
        request, ends = self.request, (self._found(File.PAGES), self._found(File.ROBOTS))
        times = [found.when_ms for found in ends if found is not None]
        return min(
            [*times, request.judged_ms] if request is not None else times, key=self._steps.in_order, default=None
        )

    # --- names ---

    def no_address(self, host: str) -> Found | None:
        """The record of pages or robots.txt that says next, before any request, that a host had no usable address."""
        ends = (self._found(File.ROBOTS), self._found(File.PAGES))
        failed = [found for found in ends if found is not None and found.host == host and found.no_address]
        first = min(failed, key=lambda found: self._steps.in_order(found.when_ms), default=None)
        if first is None or self._is_before(self.request, host, first.when_ms):
            return None
        return first

    def _is_before(self, request: Request | None, host: str, when_ms: int) -> bool:
        """Whether a request to the host was judged before that time."""
        if request is None or request.host != host:
            return False
        return self._steps.in_order(request.judged_ms) < self._steps.in_order(when_ms)


def _end_of(request: Request | None) -> Seen | None:
    settle = None if request is None else request.settle
    return None if settle is None else Seen(settle.ended_ms, settle.ended_ns)
