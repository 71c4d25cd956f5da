"""RobotsMiddleware: no page passes without a decision for its origin.

For a turn, the scheduler has the decision with it: it becomes a Clearance for this one Request and URL, or stops the
visit. For a request of any other part, robots.txt is fetched first if need be, through the same door, once per origin.
A missing or unknown state is a refusal. RFC 9309.
"""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakValueDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from seaspider.core.frontier import NeedsRobots, PageTurn, RobotsTurn, StopTurn, fetch_stopped
from seaspider.core.records import Ending, File
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsReason
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.core.visits import Hop, Visit
from seaspider.errors import RunFailed
from seaspider.extension import Ours, Seaspider
from seaspider.permits import Clearance, RobotsPermit
from seaspider.refusals import DoorRefusal, ExchangeFailed, Interrupted, VisitStopped
from seaspider.requests import request_for

logger = logging.getLogger(__name__)

POLL_S = 0.02
"""How often a request of another part looks whether a fetch is over that a turn has under way."""


class RobotsMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seaspider = Seaspider.of(crawler)
        self._run = self._seaspider.run
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        return cls(crawler)

    # --- requests ---

    async def process_request(self, request: Request) -> Request | None:
        ours = self._seaspider.ours(request)
        if ours is None:
            return await self._decide_for_other(request)
        if isinstance(ours.what, StopTurn):
            raise VisitStopped(ours.what.ending)
        if self._seaspider.is_over(ours):
            raise DoorRefusal(f"{request.url} has had its turn")
        if isinstance(ours.what, RobotsTurn):
            self._permit_robots(request, ours.what, in_turn=ours.in_turn)
        elif isinstance(ours.what, PageTurn):
            self._intend(ours.what.visit)
            self._clear(request, ours.what.hop, ours.what.visit, in_turn=ours.in_turn)
        else:
            raise DoorRefusal(f"{request.url} has not had its turn")
        return None

    def _permit_robots(self, request: Request, turn: RobotsTurn, *, in_turn: bool) -> None:
        now_ms = self._run.clock.wall_ms()
        if not in_turn:
            turn.hop.judged_ms = now_ms
        obstacle = self._run.frontier.fetch_obstacle(turn, now_ms)
        if obstacle:
            raise VisitStopped(obstacle)
        conditional = self._run.desk.conditional_headers(turn.fetch, turn.hop.url)
        if conditional:
            request.headers.update(conditional)
        permit = RobotsPermit(turn, self._run.desk, self._run.frontier, bool(conditional), in_turn)
        self._run.permits.issue(request, permit)

    def _clear(self, request: Request, hop: Hop, visit: Visit | None, *, in_turn: bool) -> None:
        self._run.permits.issue(request, Clearance(hop, self._run.config.max_body_bytes, visit, in_turn))

    def _intend(self, visit: Visit) -> None:
        """Says on the disk that the visit is under way, once, before its first page request."""
        if not visit.intended and visit.number is not None:
            intent = {
                "run": self._run.number,
                "visit": visit.number,
                "url": visit.url.text,
                "line": visit.line,
                "intended_at": rfc3339_ms(self._run.clock.wall_ms()),
            }
            self._run.store.write(File.INTENTS, intent)
            visit.intended = True
            self._run.tally.begun.add(visit.number)

    # --- answers to robots.txt requests ---

    def process_response(self, request: Request, response: Response) -> Request | Response:
        ours = self._seaspider.ours(request)
        if ours is None or not isinstance(ours.what, RobotsTurn) or self._seaspider.is_over(ours):
            return response
        fetch = ours.what.fetch
        if isinstance(fetch.outcome, Url):
            turn = self._run.frontier.fetch_hop(fetch, fetch.outcome)
            return self._robots_request(turn)
        self._seaspider.robots_ended(ours.what)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        ours = self._seaspider.ours(request)
        if ours is not None and isinstance(ours.what, RobotsTurn) and not self._seaspider.is_over(ours):
            self._robots_failed(ours, ours.what, exception)

    def _robots_failed(self, ours: Ours, turn: RobotsTurn, exception: Exception) -> None:
        """The fetch ends here. Only when the crawl ends (stopped, store full, a shortage) is nothing concluded."""
        fetch, desk, now_ms = turn.fetch, self._run.desk, self._run.clock.wall_ms()
        if isinstance(exception, Interrupted | RunFailed):
            return
        if isinstance(exception, VisitStopped):
            if len(fetch.chain) == 1:
                self._run.frontier.robots_abandoned(fetch)
                return
            fetch.outcome = desk.failed(fetch, fetch_stopped(exception.ending), now_ms)
        elif isinstance(exception, ExchangeFailed):
            turn.hop.error = exception.reason
            if not isinstance(fetch.outcome, RobotsEntry):  # a failed exchange has been concluded, when it was over
                fetch.outcome = desk.failed(fetch, RobotsReason(exception.reason), now_ms)
        else:
            fetch.outcome = desk.failed(fetch, RobotsReason.ABORTED, now_ms)
        self._seaspider.robots_ended(turn)

    def _robots_request(self, turn: RobotsTurn) -> Request:
        return self._seaspider.mark(request_for(turn.hop.url, NO_CALLBACK), turn, in_turn=False)

    # --- requests of other parts ---

    async def _decide_for_other(self, request: Request) -> Request | None:
        try:
            url = normalise(request.url)
        except UrlError as error:
            raise DoorRefusal(str(error)) from error
        if url.text != request.url:
            return request.replace(url=url.text, meta={**request.meta, "verbatim_url": True}, dont_filter=True)
        hop = Hop(url)
        lock = self._locks.setdefault(url.origin, asyncio.Lock())
        async with lock:
            judgement = self._run.frontier.judge(hop, self._run.clock.wall_ms())
            if isinstance(judgement, NeedsRobots):
                judgement = await self._fetch_and_judge(hop)
        if isinstance(judgement, Ending):
            logger.warning("Not asked for: %s: %s%s", url.text, judgement, _rule(hop))
            raise VisitStopped(judgement)
        if judgement is not None:
            raise DoorRefusal(f"no robots decision could be made for {url.text}")
        self._clear(request, hop, None, in_turn=False)
        return None

    async def _fetch_and_judge(self, hop: Hop) -> Ending | NeedsRobots | None:
        turn = await self._under_way(hop.url.origin)
        if turn is None:
            judgement = self._run.frontier.judge(hop, self._run.clock.wall_ms())
            if not isinstance(judgement, NeedsRobots):
                return judgement
            turn = self._run.frontier.new_fetch(hop.url, self._run.clock.wall_ms(), None)
        try:
            await self._crawler.engine.download_async(self._robots_request(turn))
        except Interrupted:
            raise
        except (IgnoreRequest, ExchangeFailed) as error:
            logger.info("robots.txt of %s: %s", hop.url.origin, error)
        outcome = turn.fetch.outcome
        awaited = None if isinstance(outcome, Url) else outcome
        return self._run.frontier.judge(hop, self._run.clock.wall_ms(), awaited)

    async def _under_way(self, origin: str) -> RobotsTurn | None:
        """Waits for a request that a turn made for the same robots.txt, then goes on from there: it is asked once.

        The next hop of that fetch, if any, is the caller's to ask: no turn is given out before its request is over.
        """
        while (fetch := self._run.frontier.under_way(origin)) is not None:
            if fetch.queued:
                fetch.queued = False
                return RobotsTurn(fetch, fetch.chain[-1])
            if self._run.stopped() or self._run.failed is not None:
                raise Interrupted(f"stopped while waiting for robots.txt of {origin}")
            await self._run.clock.sleep(POLL_S)
        return None


def _rule(hop: Hop) -> str:
    return f" (robots.txt line {hop.rule_line}: {hop.rule})" if hop.rule else ""
