"""The turns that robots.txt fetches take. The origin waits until its entry is recorded; hops wait in their own lane.

Whether a fetch was needed and what its entry says is another promise's matter. Raises Refuted.
"""

from __future__ import annotations

from seaspider.core.robotsstate import RobotsReason, RobotsState
from seaspider.core.urls import Url
from seaspider.verify.evidence import Request, RunInfo
from seaspider.verify.orderendings import Fetch, Open, target_of
from seaspider.verify.orderfacts import Places
from seaspider.verify.orderpast import Past
from seaspider.verify.orderrequests import Files, Turns
from seaspider.verify.ordertasks import Begun
from seaspider.verify.proof import Refuted

# No origin is called so.
ROBOTS_LANE = ""


def hop_task(task: int) -> int:
    """What waits for the next URL of a robots.txt fetch made for a visit."""
    return 2 * task + 1


class Fetches(Turns):
    def __init__(self, run: RunInfo, past: Past, places: Places, files: Files, begun: Begun) -> None:
        super().__init__(run, past, places, files, begun)
        self._fetching: dict[int, Open] = {}
        """Visits that wait for a robots.txt, by number, in the order of their fetches."""
        self._taken_over: str | None = None

    def _fetch_begins(self, visit: Open, request: Request) -> None:
        host, origin = self._places.hosts[visit.origin], self._places.origins[visit.origin]
        if request.url != f"{origin}/robots.txt":
            raise Refuted(request.place, f"it is the turn of visit {visit.number}, at {origin}, not of {request.url}")
        known = self._past.robots.get(origin)
        if known and known.state is not RobotsState.PARSED and known.fetched_ms <= request.judged_ms < known.expires_ms:
            raise Refuted(request.place, f"{origin} is asked although entry {known.id} of robots.jsonl is in force")
        self._order.put_back(host, origin, 2 * visit.task)
        self._order.hold(host, origin)
        visit.fetch = Fetch(origin, [request.url])
        self._fetching[visit.number] = visit
        self._fetch_asked(visit, visit.fetch, request)

    def _fetch_goes_on(self, visit: Open) -> None:
        """The turn of a hop. Without a request, the fetch ended there, or another part of the crawl dropped it."""
        fetch, request = visit.fetch, self._next_request()
        if fetch is None or not fetch.queued:
            return
        if request is not None and request.visit == visit.number:
            if (request.kind, request.url) != ("robots", fetch.chain[-1]):
                raise Refuted(request.place, f"visit {visit.number} asks {request.url}, it is {fetch.chain[-1]}'s turn")
            fetch.queued = False
            self._fetch_asked(visit, fetch, request)
        elif self._ends_unasked(fetch, request):
            fetch.queued = False
            self._fetch_ends(visit, fetch)
        elif self._whole and fetch.origin not in self._begun.dropped:
            raise self._not_here(f"{fetch.chain[-1]}, asked for visit {visit.number}")

    def _ends_unasked(self, fetch: Fetch, request: Request | None) -> bool:
        """Whether the entry of an origin is there because a hop was not to be asked. If its request was dropped without
        a word, which nobody noticed before all else was done, later requests were judged before."""
        row = self._files.robots.peek(self._run)
        if row is None or row.get("origin", str) != fetch.origin or row.optional("status", int) is not None:
            return False
        dropped = row.get("reason", str) == RobotsReason.ABORTED
        return not dropped or request is None or row.milliseconds("fetched_at") <= request.judged_ms

    def _fetch_asked(self, visit: Open, fetch: Fetch, request: Request, *, in_turn: bool = True) -> None:
        answered = self._take(visit, request, in_turn=in_turn)
        settle = None if answered is None else answered.settle
        if settle is not None and settle.error is None:
            budget = self._policy.robots_max_redirects - (len(fetch.chain) - 1)
            target = target_of(fetch.chain, settle, budget)
            if isinstance(target, Url):
                fetch.chain.append(target.text)
                fetch.queued = True
                self._order.push(target.host, ROBOTS_LANE, hop_task(visit.task), goes_on=True)
                return
        if self._files.robots.peek(self._run) is not None:
            self._fetch_ends(visit, fetch)
        elif self._over is None:
            self._over = request.place, f"robots.txt of {fetch.origin} was asked, and no entry of it is recorded"

    def _fetch_ends(self, visit: Open, fetch: Fetch) -> None:
        """The origin's entry is recorded, and its URLs may take turns again."""
        self._take_entry(fetch.origin)
        visit.fetch = None
        del self._fetching[visit.number]
        self._order.release(self._places.hosts[visit.origin], fetch.origin)

    def _take_entry(self, origin: str) -> None:
        """Takes lines of robots.jsonl up to the origin's. Those before are of other parts, or were not asked for."""
        while (row := self._files.robots.peek(self._run)) is not None:
            self._files.robots.take()
            if self._past.robots_row(row).origin == origin:
                return
            if not self._others and row.optional("status", int) is not None:
                raise Refuted(row.place, f"an entry of {row.get('origin', str)}, but the fetch of {origin} ended")
        raise Refuted(self._end_place, f"no entry of {origin} is recorded where its fetch ended")

    def _take_over(self) -> bool:
        """Takes a hop that another part of the crawl, in need of the same robots.txt, asked out of turn."""
        request = self._next_request()
        visit = None if request is None else self._fetching.get(request.visit or 0)
        if request is None or visit is None or visit.fetch is None or not visit.fetch.queued:
            return False
        if (request.kind, request.url) != ("robots", visit.fetch.chain[-1]):
            return False
        visit.fetch.queued = False
        self._taken_over = request.place
        self._fetch_asked(visit, visit.fetch, request, in_turn=False)
        return True

    def _end_lost_fetches(self) -> None:
        """No URL may take a turn: fetches whose request another part of the crawl dropped end now."""
        lost = list(self._fetching.values())
        for visit in lost:
            row = self._files.robots.peek(self._run)
            if row is None or row.optional("reason", str) != RobotsReason.ABORTED or visit.fetch is None:
                raise self._nothing_left()
            self._fetch_ends(visit, visit.fetch)
        if not lost:
            raise self._nothing_left()

    def _nothing_left(self) -> Refuted:
        following = self._next_request() or self._next_page()
        where = self._end_place if following is None else following.place
        return Refuted(where, "by the queue and the answers before, nothing is left that could take a turn here")

    def _end_fetches(self) -> None:
        """The run is over; what is left of robots.jsonl holds for the next."""
        for row in self._files.robots.rest(self._run):
            self._past.robots_row(row)
        if self._taken_over is not None and not self._others:
            raise Refuted(self._taken_over, "a robots.txt hop is asked out of turn")
