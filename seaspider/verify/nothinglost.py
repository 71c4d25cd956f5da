"""P6: what was begun has an end or waits for one, each line of the queue has one fate, and what was stored is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar, Final

from seaspider.core.queue import Fate
from seaspider.core.records import Outcome, Reason
from seaspider.journal import Row
from seaspider.verify import walk
from seaspider.verify.counts import Counted
from seaspider.verify.evidence import Evidence, Request
from seaspider.verify.facts import Asked, Check, PageLine, Run, Visit, Waiting, contradiction, visit_key
from seaspider.verify.fates import Fates
from seaspider.verify.numbers import Numbers, key_of
from seaspider.verify.proof import Proof, Refuted
from seaspider.verify.queuefate import Queue
from seaspider.verify.unfinished import Unfinished
from seaspider.verify.untils import Untils

_TIMED: Final = frozenset({Reason.ROBOTS_UNREACHABLE, Reason.BACKOFF, Reason.RETRY_AFTER, Reason.FORBIDDEN})
"""Not final, and from when on they may be asked again is known. A crawl-delay and a budget say no time."""
_NOT_FINAL, _FINAL, _FAILED = range(3)
_BITS: Final = 2
_STANDING: Final = (1 << _BITS) - 1


def prove(evidence: Evidence, queue: Queue | None = None) -> Proof:
    return walk.prove(evidence, [NothingLost(evidence, queue)])[0]


class NothingLost(Check):
    promise: ClassVar[str] = "P6"

    def __init__(self, evidence: Evidence, queue: Queue | None = None) -> None:
        super().__init__()
        self._evidence = evidence
        self._queue = queue
        self._latest: dict[int, int] = {}
        """Key of a URL -> run of its latest record and how final that is."""
        self._unfinished = Unfinished()
        self._untils = Untils()
        self._run: Run
        self._fates = Fates()
        self._counted = Counted()
        self._intents: dict[int, tuple[int, int, str]] = {}
        """Open visits -> what they were begun with, key of their URL, and where that is written."""
        self._last_intent = 0
        self._intended = Numbers()

    def run_starts(self, run: Run) -> None:
        self._run = run
        self._fates, self._counted = Fates(), Counted()
        self._untils.run_starts(run)
        self._intents, self._last_intent, self._intended = {}, 0, Numbers()

    def skipped(self, row: Row) -> None:
        self.checked["queue lines skipped"] += 1
        fate = self._fates.skipped(row)
        self._counted.skipped(fate)
        if fate is Fate.DONE:
            done = self._is_done(key_of(row.get("url", str)), self._run.number)
            contradiction(done, row.place, "is skipped as done, but has no final record of an earlier run")

    # --- visits ---

    def intent(self, row: Row, ended_key: int) -> None:
        self.checked["intents"] += 1
        visit, url = row.get("visit", int), row.get("url", str)
        key = visit_key(url, row.optional("line", int))
        self._counted.visit(visit)
        contradiction(not self._intended[visit], row.place, f"visit {visit} has an intent already")
        self._intended[visit] = 1
        if ended_key:
            contradiction(ended_key == key, row.place, f"is of another URL or line than the page line of visit {visit}")
        else:
            self._intents[visit] = (key, key_of(url), row.place)
        self._last_intent = visit

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        if page is not None:
            self._untils.asked(request)
        if visit is None:
            return
        self._counted.visit(visit.number)
        if page is None or len(visit.asked) != 1:
            return
        _, key, place = self._intents.get(visit.number, (0, 0, ""))
        written = self._last_intent == visit.number and bool(place)
        contradiction(written, request.place, f"begins visit {visit.number}, whose intent was not written right before")
        contradiction(key == key_of(request.url), place, f"is not of {request.url}, with which its visit began")

    def page(self, line: PageLine, visit: Visit, kept_from: Waiting | None) -> None:
        self.checked["page lines"] += 1
        key, _, place = self._intents.pop(line.visit, (line.visit_key, 0, ""))
        contradiction(key == line.visit_key, place, f"is not of the URL and line that {line.place} ends the visit with")
        self._take_record(line)
        self._check_time(line, kept_from)
        self._check_body(line)
        if kept_from is None:
            self._untils.page(line)
        self._unfinished.ended(line.key)
        self._counted.page(line)
        if line.line is not None:
            self._fates.recorded(line.line, line.key, line.place)

    def _take_record(self, line: PageLine) -> None:
        """A URL has one record a run, and none after a final one, unless it failed and the run takes such up again."""
        known = self._latest.get(line.key, 0)
        contradiction(known >> _BITS != line.run, line.place, f"{line.url} has a record in this run already")
        contradiction(not self._is_done(line.key, line.run), line.place, f"{line.url} has a final record already")
        outcome = line.ending.outcome
        standing = _FAILED if outcome is Outcome.FAILED else _FINAL if outcome.final else _NOT_FINAL
        self._latest[line.key] = line.run << _BITS | standing

    def _is_done(self, key: int, run: int) -> bool:
        """Whether a URL had a final record before a run that does not take it up again."""
        known = self._latest.get(key, 0)
        standing = known & _STANDING
        final = standing == _FINAL or (standing == _FAILED and not self._run.terms.retry_failed)
        return final and known >> _BITS < run

    def _check_time(self, line: PageLine, kept_from: Waiting | None) -> None:
        ending, until_ms = line.ending, line.not_before_ms
        if ending.outcome.final or ending.reason not in _TIMED:
            contradiction(until_ms is None, line.place, f"not_before is set, but {ending} knows no time")
            return
        if until_ms is None:
            raise Refuted(line.place, f"{ending} without a not_before")
        if kept_from is not None:
            same = kept_from.kept == key_of(json.dumps(line.kept_part))
            contradiction(same, line.place, f"is not the record of run {kept_from.run}, whose time had not come")

    def _check_body(self, line: PageLine) -> None:
        sha256 = line.row.optional("sha256", str)
        stored = line.ending.outcome is Outcome.STORED
        contradiction(stored == (sha256 is not None), line.place, f"{line.ending} with sha256 {sha256}")
        if sha256 is not None:
            self.checked["bodies"] += 1
            whole = self._evidence.true_body(sha256) is not None
            contradiction(whole, line.place, f"its body, bodies/{sha256[:2]}/{sha256}, is missing or changed")

    # --- the end of a run ---

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        self._untils.run_ends()
        for _, key, place in self._intents.values():
            self._unfinished.begun(key, place)
        for visit in visits:
            if visit.asked and visit.number not in self._intents:
                first = visit.asked[0].request
                raise Refuted(first.place, f"visit {visit.number} has neither an intent that is open nor a page line")
        left = self._counted.check(run.end, len(self._intents)) if run.ended else None
        if not run.ended:
            self.notes.append(
                f"run {run.number} has no last line: it was killed, or its end was taken away; that these are all its "
                "records is not proven"
            )
        self._fates.check_duplicates(all_known=left == 0)
        if self._queue is not None:
            self._queue.check(run, self._fates.lines, self._is_done)

    def store_ends(self) -> None:
        self.notes.extend(self._unfinished.notes())
        if self._queue is not None:
            self.checked["lines of the queue file"] = self._queue.lines
            self.notes.extend(self._queue.notes())
            self._queue.check_met(self._evidence)
