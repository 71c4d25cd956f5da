"""HopMiddleware: turns a redirect into the next hop of its visit, and a push-back or a failure into another attempt.

Outermost, so nothing sees either as an answer, and a robots.txt ends here. The rules are core/redirects and
core/answers. Hop and attempt wait for their host's turn, then get their own robots decision, address check and claim
like any other request.
"""

from __future__ import annotations

from collections.abc import Sequence

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from seaspider import scrapyhooks
from seaspider.core.answers import Again, after_answer, after_failure
from seaspider.core.frontier import PageTurn
from seaspider.core.records import STORED, Ending, Outcome, Reason
from seaspider.core.redirects import RefusedHop, next_hop
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Hop, Visit
from seaspider.extension import NextAttempt, NextHop, Seaspider
from seaspider.refusals import ExchangeFailed, VisitStopped

_SEEN = "seaspider_seen"
"""meta key: the URLs a request that is no visit was redirected through."""


class HopMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seaspider = Seaspider.of(crawler)
        self._run = self._seaspider.run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HopMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        ours = self._seaspider.ours(request)
        if ours is None:
            return self._other(request, response)
        if self._seaspider.is_over(ours):
            # No spider's business: the engine gets the Request back, which goes to the scheduler and no further, not
            # the Response, which would go through the scraper and all that is in it.
            scrapyhooks.received(self._crawler, request, response)
            return request
        if not isinstance(ours.what, PageTurn) or ours.what.visit.answer is None:
            return response
        visit, hop, answer = ours.what.visit, ours.what.hop, ours.what.visit.answer
        locations = [value.encode("latin-1") for value in answer.values("Location")]
        target = self._target(hop.url, answer.status, locations, [hop.url.text for hop in visit.chain])
        if target is not None:
            return self._seaspider.mark(Request(target.text), NextHop(visit, target), in_turn=False)
        what = after_answer(answer.status, hop.tries, self._run.config.max_attempts, self._deferral(hop))
        return response if what == STORED else self._again(visit, what)

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        ours = self._seaspider.ours(request)
        if ours is None or not isinstance(ours.what, PageTurn) or not isinstance(exception, ExchangeFailed):
            return None
        visit, hop = ours.what.visit, ours.what.hop
        hop.error = exception.reason
        if exception.reason is Reason.DNS:
            raise VisitStopped(self._run.frontier.put_off(hop.url.host, self._run.clock.wall_ms()))
        return self._again(
            visit, after_failure(hop.tries, self._run.config.max_attempts, exception.reason, self._deferral(hop))
        )

    def _deferral(self, hop: Hop) -> Ending | None:
        return self._run.frontier.deferral(hop.url.host, self._run.clock.wall_ms())

    def _again(self, visit: Visit, what: Again | Ending) -> Request:
        """The Request that waits for another attempt. Raises VisitStopped if there is none."""
        if isinstance(what, Ending):
            raise VisitStopped(what)
        return self._seaspider.mark(Request(visit.final_url.text), NextAttempt(visit), in_turn=False)

    def _other(self, request: Request, response: Response) -> Request | Response:
        """A request of another part is redirected as Scrapy does it: a new Request, which is judged anew."""
        url = normalise(request.url)
        if request.meta.get("dont_redirect") or response.status in request.meta.get("handle_httpstatus_list", ()):
            return response
        if request.meta.get("handle_httpstatus_all"):
            return response
        seen = (*request.meta.get(_SEEN, ()), url.text)
        target = self._target(url, response.status, response.headers.getlist("Location"), seen)
        return response if target is None else self._next(request, target, seen)

    def _next(self, request: Request, target: Url, seen: tuple[str, ...]) -> Request:
        meta = {**request.meta, _SEEN: seen, "verbatim_url": True}
        return request.replace(url=target.text, meta=meta, dont_filter=True)

    def _target(self, url: Url, status: int, locations: Sequence[bytes], seen: Sequence[str]) -> Url | None:
        """Where the answer sends the visit; None if nowhere. Raises VisitStopped."""
        target = next_hop(url, status, locations, seen, self._run.config.max_redirects - (len(seen) - 1))
        if isinstance(target, RefusedHop):
            raise VisitStopped(Ending(Outcome.REFUSED, Reason(target.reason)))
        return target
