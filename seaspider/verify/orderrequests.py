"""The requests of one run, taken in their order: each is a turn of its host, and its recorded pause follows it.

What the turns of robots.txt fetches and of visits have in common. Raises Refuted at a claim that something stood
against.
"""

from __future__ import annotations

from dataclasses import dataclass

from seaspider.core.politeness import PauseBasis
from seaspider.core.times import ns_from_s
from seaspider.journal import Row
from seaspider.verify.evidence import Request, RunInfo
from seaspider.verify.orderendings import Open
from seaspider.verify.orderfacts import Lines, Places, Policy, Requests
from seaspider.verify.orderhosts import Standing
from seaspider.verify.orderpast import Past
from seaspider.verify.ordertasks import Begun, ended_whole
from seaspider.verify.proof import Refuted


@dataclass(frozen=True, slots=True)
class Files:
    """The lines of each file, run by run."""

    requests: Requests
    pages: Lines[Row]
    intents: Lines[Row]
    links: Lines[Row]
    robots: Lines[Row]


class NotItsTurn(Refuted):
    """What is recorded next is not of the visit whose turn it is."""


class Turns:
    """What has been asked in a run so far, and whose turn that makes it."""

    def __init__(self, run: RunInfo, past: Past, places: Places, files: Files, begun: Begun) -> None:
        self.asked = 0
        """Requests in their turn."""
        self._run = run.number
        self._end_place = run.start.place if run.end is None else run.end.place
        self._whole = ended_whole(run)
        self._policy = Policy.of(run)
        self._past = past
        self._places = places
        self._files = files
        self._begun = begun
        self._order = self._policy.new_order()
        self._standing = Standing(self._policy, past)
        self._over: tuple[str, str] | None = None
        """Nothing may follow in this run: its last line, and why."""
        self._others = 0
        """Requests that other parts of the crawl made."""

    def _next_request(self) -> Request | None:
        """The next that was made for a visit."""
        return self._files.requests.own(self._run)

    def _next_page(self) -> Row | None:
        return self._files.pages.peek(self._run)

    def _goes_on(self) -> bool:
        """Whether a request or a page record of a visit is left."""
        following = self._next_request() or self._next_page()
        if following is not None and self._over is not None:
            raise Refuted(self._over[0], f"{self._over[1]}, but the run goes on with {following.place}")
        return following is not None

    def _not_here(self, due: str) -> NotItsTurn:
        request, page = self._next_request(), self._next_page()
        found = [f"{request.place} (visit {request.visit})"] if request else []
        found += [f"{page.place} (visit {page.get('visit', int)})"] if page else []
        where = request or page
        place = self._end_place if where is None else where.place
        return NotItsTurn(place, f"it is the turn of {due}; recorded next: {', '.join(found) or 'nothing'}")

    def _take(self, visit: Open, request: Request, *, in_turn: bool = True) -> Request | None:
        """Takes the request and those made in its place, because a claim was over before anything was sent.

        Returns the one that has an answer, or a failure; None if none has.
        """
        while True:
            self._take_others()
            obstacle = self._standing.obstacle(request.host, request.judged_ms)
            if obstacle is not None:
                raise Refuted(request.place, f"{request.host} is asked for visit {visit.number} in spite of {obstacle}")
            if self._places.hosts[self._places.of(request.place, request.url)] != request.host:
                raise Refuted(request.place, f"{request.url} is of another host than {request.host}")
            self._files.requests.take()
            self.asked += 1
            if in_turn:
                self._order.took_turn()
            if request.kind == "page":
                visit.asked()
            self._settled(request)
            settle = request.settle
            if settle is None or settle.status is not None or settle.error is not None:
                return None if settle is None else request
            following = self._next_request()
            if following is None or (following.visit, following.url) != (visit.number, request.url):
                return None
            request = following

    def _settled(self, request: Request) -> None:
        self._standing.count(request.host)
        settle = request.settle
        if settle is None:
            self._over = request.place, f"request {request.n} has no end"
            return
        try:
            pause_ns, address_ns = ns_from_s(settle.pause_s), self._policy.ip_interval_ns
        except ValueError as error:
            raise Refuted(settle.place, str(error)) from error
        if settle.pause_basis != PauseBasis.INTERVAL:
            address_ns = max(address_ns, pause_ns)
        self._order.settled(request.host, request.ip, pause_ns, address_ns)

    def _take_others(self, *, before_turn: bool = False) -> None:
        """Takes the requests that other parts made; `before_turn`: those that were over when the next turn was given.

        They take no turn, but their pauses count from the moment that the logical clock shows.
        """
        while (other := self._files.requests.other(self._run)) is not None:
            own = self._next_request()
            if before_turn and own and other.settle and other.settle.ended_ms > own.judged_ms:
                return
            self._files.requests.take()
            self._others += 1
            self._settled(other)
            if other.kind == "page" and other.settle is not None:
                self._standing.page_answered(other.host, other.settle)
