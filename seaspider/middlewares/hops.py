"""HopMiddleware: turns a redirect into the next hop of its visit. Outermost, so nothing sees a hop as an answer.

The rules are core/redirects. The next hop waits for its host's turn, then gets its own robots decision, address check
and claim like any other request.
"""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from seaspider.core.frontier import PageTurn
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.redirects import RefusedHop, next_hop
from seaspider.core.urls import Url, normalise
from seaspider.errors import VisitStopped
from seaspider.extension import NextHop, Seaspider

_SEEN = "seaspider_seen"
"""meta key: the URLs a request that is no visit was redirected through."""


class HopMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        self._seaspider = Seaspider.of(crawler)
        self._run = self._seaspider.run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HopMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        ours = self._seaspider.ours(request)
        if ours is None:
            return self._other(request, response)
        if not isinstance(ours.what, PageTurn):
            return response
        visit, hop = ours.what.visit, ours.what.hop
        target = self._target(hop.url, response, [hop.url.text for hop in visit.chain])
        if target is None:
            return response
        return self._seaspider.mark(Request(target.text), NextHop(visit, target), in_turn=False)

    def _other(self, request: Request, response: Response) -> Request | Response:
        """A request of another part is redirected as Scrapy does it: a new Request, which is judged anew."""
        url = normalise(request.url)
        if request.meta.get("dont_redirect") or response.status in request.meta.get("handle_httpstatus_list", ()):
            return response
        if request.meta.get("handle_httpstatus_all"):
            return response
        seen = (*request.meta.get(_SEEN, ()), url.text)
        target = self._target(url, response, seen)
        return response if target is None else self._next(request, target, seen)

    def _next(self, request: Request, target: Url, seen: tuple[str, ...]) -> Request:
        meta = {**request.meta, _SEEN: seen, "verbatim_url": True}
        return request.replace(url=target.text, meta=meta, dont_filter=True)

    def _target(self, url: Url, response: Response, seen: list[str] | tuple[str, ...]) -> Url | None:
        """Where the answer sends the visit; None if it is final. Raises VisitStopped."""
        budget = self._run.config.max_redirects - (len(seen) - 1)
        target = next_hop(url, response.status, response.headers.getlist("Location"), seen, budget)
        if isinstance(target, RefusedHop):
            raise VisitStopped(Ending(Outcome.REFUSED, Reason(target.reason)))
        return target
