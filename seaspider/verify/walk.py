"""The files of a store joined into one account, in the order in which it came about.

Decides which lines belong together: a request's to its visit or robots.txt, a robots.txt row or a page line to the
requests before it, and which rules were in force at each. Judges nothing but that; every file is read once, and what is
kept in memory is what later lines may still speak of.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from seaspider.core.records import File
from seaspider.core.robotsstate import RobotsReason
from seaspider.core.urls import UrlError, normalise
from seaspider.journal import Row
from seaspider.verify.evidence import Evidence, Request, RunInfo, Stray
from seaspider.verify.facts import Asked, Check, PageLine, RobotsLine, Run, Visit, Waiting
from seaspider.verify.lanes import Lane, page_lines, robots_lines, run_of_row
from seaspider.verify.numbers import Numbers, key_of
from seaspider.verify.proof import Counterexample, Proof, Refuted
from seaspider.verify.robots import Robots
from seaspider.verify.terms import Terms


def prove(evidence: Evidence, checks: Sequence[Check]) -> list[Proof]:
    """What each check comes to. Raises StoreError for what is no store."""
    Walk(evidence, checks).walk()
    return [check.proof() for check in checks]


class Walk:
    def __init__(self, evidence: Evidence, checks: Iterable[Check]) -> None:
        self._evidence = evidence
        self._checks = list(checks)
        self._requests: Lane[Request | Stray] = Lane("P2", evidence.requests(), lambda item: item.run)
        self._robots = Lane("P1", robots_lines(evidence.rows(File.ROBOTS)), lambda line: line.entry.run)
        self._pages = Lane("P6", page_lines(evidence.rows(File.PAGES)), lambda line: line.run)
        self._intents = Lane("P6", evidence.rows(File.INTENTS), run_of_row)
        self._skipped = Lane("P6", evidence.rows(File.SKIPPED), run_of_row)
        self._book = Robots(evidence)
        self._last_id = 0
        self._waiting: dict[int, Waiting] = {}
        self._run: Run
        self._visits: dict[int, Visit] = {}
        self._ended = Numbers()
        self._fetches: dict[str, list[Request]] = defaultdict(list)

    # --- telling ---

    def _tell(self, fact: Callable[[Check], None]) -> None:
        for check in tuple(self._checks):
            try:
                fact(check)
            except Refuted as refuted:
                self._refute(check, refuted.counterexample)

    def _fault(self, promise: str, place: str, why: str) -> None:
        """A line that does not join: a counterexample to the promise whose matter it is."""
        for check in [check for check in self._checks if check.promise == promise]:
            self._refute(check, Counterexample(place, why))

    def _refute(self, check: Check, counterexample: Counterexample) -> None:
        check.counterexample = counterexample
        self._checks.remove(check)

    # --- runs ---

    def walk(self) -> None:
        last = 0
        for info in self._evidence.runs:
            if info.number <= last:
                self._fault("P6", info.start.place, f"run {info.number} starts after run {last}")
            last = max(last, info.number)
            self._strangers(info.number)
            self._walk_run(info)
        self._strangers(None)
        self._tell(lambda check: check.store_ends())

    def _strangers(self, number: int | None) -> None:
        """Lines of no run that is, or of one that was over. A run that was killed before its start line has skipped
        lines of the queue already."""
        known = {info.number for info in self._evidence.runs}
        while (row := self._skipped.stranger(number)) is not None:
            if row.get("run", int) in known:
                self._fault("P6", row.place, f"run {row.get('run', int)} was over by then")
        lanes: tuple[Lane[Any], ...] = (self._requests, self._robots, self._pages, self._intents)
        for lane in lanes:
            while (item := lane.stranger(number)) is not None:
                self._fault(lane.promise, item.place, "belongs to no run that was under way here")

    def _walk_run(self, info: RunInfo) -> None:
        self._run = run = Run(info, Terms.of(info), self._book)
        self._visits, self._ended = {}, Numbers()
        self._fetches.clear()
        self._tell(lambda check: check.run_starts(run))
        while (row := self._skipped.take(run.number)) is not None:
            self._skip(row)
        self._catch_up(None)
        while (item := self._requests.take(run.number)) is not None:
            if isinstance(item, Stray):
                self._fault("P2", item.place, f"request {item.n} ends here without a claim right before")
                continue
            self._ask(item)
            self._catch_up(item)
        self._flush()
        visits = [self._visits[number] for number in sorted(self._visits)]
        fetches = [request for requests in self._fetches.values() for request in requests]
        self._tell(lambda check: check.run_ends(run, visits, fetches))

    def _skip(self, row: Row) -> None:
        self._tell(lambda check: check.skipped(row))

    def _flush(self) -> None:
        """What is left of the run, whatever it lacks."""
        number = self._run.number
        while (robots := self._robots.take(number)) is not None:
            self._conclude(robots)
        while (page := self._pages.take(number)) is not None:
            self._end(page)
        while (intent := self._intents.take(number)) is not None:
            self._intend(intent)

    # --- requests ---

    def _ask(self, request: Request) -> None:
        visit = self._visit(request)
        page = None
        if request.kind == "robots":
            if not request.came_to_nothing:
                self._fetches[request.url].append(request)
        else:
            if visit is not None and not visit.asked:
                self._intents_until(visit.number)
            page = self._judged(request, visit)
            if visit is not None:
                visit.asked.append(page)
        self._tell(lambda check: check.asked(request, page, visit))

    def _visit(self, request: Request) -> Visit | None:
        """The visit a request is for. One for a page must not be over; its robots.txt may be all that it came to."""
        number = request.visit
        if number is None:
            return None
        if self._ended[number]:
            if request.kind == "page":
                self._fault("P2", request.place, f"is for visit {number}, whose page line counts fewer requests")
            return Visit(number)
        if number not in self._visits:
            self._visits[number] = Visit(number)
        return self._visits[number]

    def _judged(self, request: Request, visit: Visit | None) -> Asked:
        """The page request with the rules in force. The robots.txt that a visit waited for decides its next request,
        even if it is over by then."""
        try:
            origin = normalise(request.url).origin
        except UrlError:
            return Asked(request, "", None, None)
        entry = self._book.latest(origin, request.judged_ms)
        if visit is not None:
            awaited, visit.awaited = visit.awaited, None
        else:
            awaited = entry if entry is not None and entry.run == request.run else None
        if entry is not None and not entry.in_force(request.judged_ms) and entry is not awaited:
            entry = None
        said = None if entry is None else self._book.says(entry, self._run.terms.token, request.url)
        return Asked(request, origin, entry, said)

    # --- intents ---

    def _intents_until(self, visit: int) -> None:
        """The intents up to that of a visit. Those of others before it came to no page request."""
        while (intent := self._intents.take(self._run.number)) is not None:
            self._intend(intent)
            if intent.get("visit", int) == visit:
                return

    def _intend(self, intent: Row) -> None:
        ended = self._ended[intent.get("visit", int)]
        self._tell(lambda check: check.intent(intent, ended))

    # --- robots.txt rows and page lines, as soon as what they speak of is known ---

    def _catch_up(self, last: Request | None) -> None:
        number = self._run.number
        while True:
            robots, page = self._robots.peek(number), self._pages.peek(number)
            if robots is not None and self._is_known(robots, last):
                self._robots.take()
                self._conclude(robots)
            elif page is not None and self._is_over(page):
                self._pages.take()
                self._end(page)
            else:
                return

    def _is_known(self, line: RobotsLine, last: Request | None) -> bool:
        """Whether all requests of the fetch have been met; if an answer concluded it, the one with that answer."""
        if not any(map(line.was_asked, range(len(line.entry.chain)))):
            return True
        requests = self._requests_of(line)
        if any(request is None for hop, request in enumerate(requests) if line.was_asked(hop)):
            return False
        final = requests[-1]
        if final is None or line.entry.reason is RobotsReason.ABORTED:
            return True
        if final.settle is None:
            return False
        hop = line.entry.chain[-1]
        same = (hop.status, hop.error) == (final.settle.status, final.settle.error)
        return final.settle.ended_ms == line.entry.fetched_at_ms or (final is last and same)

    def _requests_of(self, line: RobotsLine) -> list[Request | None]:
        """The requests of a fetch, hop by hop; None where there is none. All are for one visit, one after the other."""
        chain = line.entry.chain
        best: list[Request | None] = [None] * len(chain)
        if not chain or not line.was_asked(0):
            return best
        for begun in reversed(self._fetches.get(chain[0].url, [])):
            found = self._hops_from(begun, line)
            if all(found[number] is not None for number in range(len(chain)) if line.was_asked(number)):
                return found
            best = found if best[0] is None else best
        return best

    def _hops_from(self, begun: Request, line: RobotsLine) -> list[Request | None]:
        found: list[Request | None] = [begun]
        last = begun.n
        for number, hop in enumerate(line.entry.chain[1:], 1):
            same = self._fetches.get(hop.url, ()) if line.was_asked(number) else ()
            fitting = next((each for each in same if each.visit == begun.visit and each.n > last), None)
            found.append(fitting)
            last = fitting.n if fitting is not None else last
        return found

    def _conclude(self, line: RobotsLine) -> None:
        requests = self._requests_of(line)
        for request in filter(None, requests):
            same = self._fetches[request.url]
            same.remove(request)
            if not same:
                del self._fetches[request.url]
        number = requests[0].visit if requests and requests[0] is not None else None
        entry, before = self._book.put(line.entry, number, answered=line.answered)
        visit = self._visits.get(number) if number is not None else None
        if visit is not None:
            visit.awaited = entry
        self._last_id = max(self._last_id, entry.id)
        self._tell(lambda check: check.robots(line, requests, entry, before))

    def _is_over(self, page: PageLine) -> bool:
        if any((hop.optional("robots_id", int) or 0) > self._last_id for hop in page.chain):
            return False
        if self._kept_from(page) is not None or page.attempts == 0:
            return True
        visit = self._visits.get(page.visit)
        return visit is not None and len(visit.asked) >= page.attempts

    def _kept_from(self, page: PageLine) -> Waiting | None:
        """The record of an earlier run that this one repeats: its time had not come when the visit had its turn."""
        earlier = self._waiting.get(page.key)
        if earlier is None or earlier.not_before_ms is None or earlier.not_before_ms <= page.started_ms:
            return None
        return earlier

    def _end(self, page: PageLine) -> None:
        kept_from = self._kept_from(page)
        visit = self._visits.pop(page.visit, None) or Visit(page.visit)
        self._tell(lambda check: check.page(page, visit, kept_from))
        self._ended[page.visit] = page.visit_key
        if page.ending.outcome.final:
            self._waiting.pop(page.key, None)
        else:
            kept = key_of(json.dumps(page.kept_part))
            self._waiting[page.key] = Waiting(page.not_before_ms, kept, page.run)
