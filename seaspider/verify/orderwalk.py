"""The turns of one run, taken again: the real order of hosts over the recorded answers, compared with what was asked.

`next()` gives a task; the next request of the run has to be this visit's, or else the next page record ends this visit
without a request. Pauses are those recorded; whether they are right, and whether a decision is, other promises say.
Raises Refuted at the first line that is not the one whose turn it was.
"""

from __future__ import annotations

from seaspider.core.answers import Again
from seaspider.core.records import Ending
from seaspider.core.urls import Url
from seaspider.journal import Row
from seaspider.verify.evidence import Request, RunInfo
from seaspider.verify.orderendings import Judge, Open, after
from seaspider.verify.orderfacts import Places, count, fingerprint
from seaspider.verify.orderlinks import LinkCheck
from seaspider.verify.orderpast import Past, digest
from seaspider.verify.orderrequests import Files, NotItsTurn
from seaspider.verify.ordertasks import NO_LINE, UNKNOWN, Begun
from seaspider.verify.orderwaiting import Waiting
from seaspider.verify.proof import Refuted


class Walk(Waiting):
    """One run. If all its visits have their records, the walk has to end with no task left; else with the records."""

    def __init__(self, run: RunInfo, past: Past, places: Places, files: Files, begun: Begun, *, last: bool) -> None:
        """`last`: no run comes after, for which to remember."""
        super().__init__(run, past, places, files, begun)
        self._last = last
        self.pages = 0
        self.links = LinkCheck(self._policy, past, files.links, self.known, whole=self._whole)
        self._judge = Judge(self._policy, self.tasks, self._standing, past)
        self._visits = 0

    # --- turns ---

    def walk(self) -> None:
        while self._goes_on():
            self._take_others(before_turn=True)
            task = self._next_task()
            if task is None:
                self._end_lost_fetches()
                continue
            try:
                self._take_turn(task)
            except NotItsTurn:
                if not self._take_over():
                    raise
                self._take_turn(task)
        self._end()

    def _take_turn(self, task: int) -> None:
        if task < 0:
            self._unknown(-1 - task)
        elif task % 2:
            self._fetch_goes_on(self._open[task // 2])
        else:
            self._turn_of(task // 2)

    def _unknown(self, origin: int) -> None:
        request = self._next_request()
        number = self._visits + 1
        if request is not None and request.visit == number and self._begun.only_robots.get(number) == origin:
            self._turn_of(self.tasks.add(origin, UNKNOWN))

    def _turn_of(self, task: int) -> None:
        visit = self._open.get(task) or self._first_turn(task)
        if visit is None:
            return
        request, page = self._next_request(), self._next_page()
        if request is not None and request.visit == visit.number:
            if request.kind == "robots":
                self._check_not_kept(visit, request)
                self._fetch_begins(visit, request)
            elif request.kind == "page":
                self._ask_page(visit, request)
            else:
                raise Refuted(request.place, f"kind is {request.kind!r}")
        elif page is not None and page.get("visit", int) == visit.number:
            self._stop(visit, page)
        elif not self._may_be_lost(visit):
            raise self._not_here(f"visit {visit.number}, {self._name(visit.task)}")

    def _first_turn(self, task: int) -> Open | None:
        """The visit with its number; None if nothing is recorded of it, as if another part had dropped it."""
        number = self._number_of(task)
        if number is None:
            if self._whole:
                raise self._not_here(f"a new visit, number {self._visits + 1}, {self._name(task)}")
            return None
        self._visits = number
        visit = Open(task, number, [], self.tasks.origins[task])
        self._open[task] = visit
        return visit

    def _number_of(self, task: int) -> int | None:
        """The next number, if it is recorded next; a later one if visits that left no record may have had those."""
        request, page, due = self._next_request(), self._next_page(), self._visits + 1
        found = [] if page is None else [(page.get("visit", int), page.get("url", str))]
        if request is not None and request.visit is not None:
            found.append((request.visit, request.url))
        if any(number == due for number, _ in found):
            return due
        if self._whole:
            return None
        url = self.tasks.urls[task]
        return next((number for number, text in found if number > due and fingerprint(text) == url), None)

    def _may_be_lost(self, visit: Open) -> bool:
        """Whether a visit may have ended without a record."""
        return not self._whole and visit.number not in self._begun.ended

    # --- requests ---

    def _ask_page(self, visit: Open, request: Request) -> None:
        if visit.chain and request.url != visit.chain[-1]:
            raise Refuted(request.place, f"it is the turn of {visit.chain[-1]}, visit {visit.number}")
        if not visit.chain and fingerprint(request.url) != self.tasks.urls[visit.task]:
            raise Refuted(request.place, f"it is the turn of {self._name(visit.task)}, visit {visit.number}")
        visit.chain = visit.chain or [request.url]
        self._check_not_kept(visit, request)
        self._intend(visit, request)
        answered = self._take(visit, request)
        if answered is None or answered.settle is None:
            return
        visit.answered(answered.settle)
        self._standing.page_answered(request.host, answered.settle)
        what = after(visit, request.host, answered.settle, self._policy, self._standing)
        if isinstance(what, Url):
            visit.goes_to(what.text, self._places.named(what.host, what.origin))
            self._order.push(what.host, what.origin, 2 * visit.task, goes_on=True)
        elif isinstance(what, Again):
            self._order.push(request.host, self._places.origins[visit.origin], 2 * visit.task, goes_on=True)
        else:
            self._answered(visit, what, answered)

    def _check_not_kept(self, visit: Open, request: Request) -> None:
        waiting = self._past.waiting.get(self.tasks.urls[visit.task])
        if waiting and waiting.not_before_ms is not None and waiting.not_before_ms > request.judged_ms:
            raise Refuted(request.place, f"visit {visit.number} begins before the record of an earlier run allows it")

    def _intend(self, visit: Open, request: Request) -> None:
        if visit.intended:
            return
        intent, task = self._files.intents.peek(self._run), visit.task
        if intent is None or intent.get("visit", int) != visit.number:
            where = request.place if intent is None else intent.place
            raise Refuted(where, f"the intent of visit {visit.number}, asked at {request.place}, is not here")
        self._files.intents.take()
        visit.intended = True
        line = intent.optional("line", int)
        said = fingerprint(intent.get("url", str)), NO_LINE if line is None else line
        if said != (self.tasks.urls[task], self.tasks.lines[task]):
            raise Refuted(intent.place, f"visit {visit.number} is {self._name(task)}")

    # --- ends of visits ---

    def _answered(self, visit: Open, ending: Ending, answered: Request) -> None:
        """The answer ended the visit: the next page record is its."""
        page = self._next_page()
        if page is not None and page.get("visit", int) == visit.number:
            self._judge.identity(page, visit)
            self._judge.ending(page, visit, ending)
            self._record(visit, page)
        elif not self._may_be_lost(visit):
            where = self._end_place if page is None else page.place
            raise Refuted(where, f"here has to be the record of visit {visit.number}: {ending} by {answered.place}")

    def _stop(self, visit: Open, page: Row) -> None:
        """The visit ended in its turn without a request."""
        self._judge.identity(page, visit)
        visit.chain = visit.chain or [page.get("url", str)]
        intent = self._files.intents.peek(self._run)
        if intent is not None and intent.get("visit", int) == visit.number:
            self._files.intents.take()
        waiting = self._past.waiting.get(self.tasks.urls[visit.task])
        if waiting and waiting.not_before_ms and waiting.not_before_ms > page.milliseconds("started_at"):
            if digest(page) != waiting.digest:
                raise Refuted(page.place, "the record of an earlier run holds until its 'not_before', and this differs")
            self._ended(visit, page)
            return
        self._take_entries(page)
        self._judge.stopped(page, visit, self._places.hosts[visit.origin])
        self._record(visit, page)

    def _take_entries(self, page: Row) -> None:
        """What decides is recorded by now, also what could not be asked for, or was asked by other parts."""
        hops = page.get("chain", list)
        robots_id = hops[-1].get("robots_id") if hops and isinstance(hops[-1], dict) else None
        while isinstance(robots_id, int) and (row := self._files.robots.peek(self._run)) is not None:
            if row.get("id", int) > robots_id:
                return
            self._past.robots_row(self._files.robots.take())

    def _record(self, visit: Open, page: Row) -> None:
        self._judge.record(page, visit)
        self._ended(visit, page)

    def _ended(self, visit: Open, page: Row) -> None:
        """Takes the page record with its links, and queues those that are followed."""
        self._files.pages.take()
        self.pages += 1
        del self._open[visit.task]
        followed = self.links.of_page(page, self._run)
        final = page.get("final_url", str)
        if not self._last:
            self._past.page(page, self._places.hosts[self._places.of(page.place, final)])
        for url in followed:
            link = self._places.of(page.place, url), fingerprint(url), count(page, "depth") + 1, fingerprint(final)
            self._past.followed.add(*link)
            self.add(link[0], link[1], depth=link[2], via=link[3])

    def _end(self) -> None:
        self._take_others()
        self._end_fetches()
        self.links.end(self._run)
        task = self._order.next()
        if self._whole and task is not None:
            name = self._name(task // 2)
            raise Refuted(self._end_place, f"the run ends, but it was the turn of {name}, of which nothing is recorded")
        for intent in self._files.intents.rest(self._run):
            if self._whole or intent.get("visit", int) in self._begun.ended:
                raise Refuted(
                    intent.place, f"an intent of visit {intent.get('visit', int)}, which did not ask a page here"
                )
