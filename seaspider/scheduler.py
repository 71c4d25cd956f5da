"""The scheduler: one Request is one turn, made when its turn comes.

Asks the frontier whose turn it is, and gives nothing out while anything is in flight or being scraped, so the order
depends on answers and never on time. Never answers "later": waiting happens in the door.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from seaspider import manifest, scrapyhooks
from seaspider.core.frontier import RobotsStop, RobotsTurn
from seaspider.errors import StoreError
from seaspider.extension import NextAttempt, NextHop, Seaspider
from seaspider.scrapyhooks import busy
from seaspider.spiders.seaspider import SeaspiderSpider

logger = logging.getLogger(__name__)


class Scheduler(BaseScheduler):
    """Requests that are no turns (from a shell, from another extension) get theirs before the queue's, in order.

    Of these, Scrapy's dupefilter drops what was asked for already, as in any crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seaspider = Seaspider.of(crawler)
        self._run = self._seaspider.run
        scrapyhooks.when_closing(crawler, self._seaspider.closing)
        self._others: deque[Request] = deque()
        self._seen: BaseDupeFilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        self._spider: SeaspiderSpider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        if isinstance(spider, SeaspiderSpider):
            self._spider = spider
            # The store has latched then: nothing is given out, and the run ends as for any other failed write. Raised
            # here, the error would meet an engine that cannot close what it has not opened.
            with suppress(StoreError):
                manifest.start(self._run)

    def close(self, reason: str) -> Deferred[None]:
        if reason == "shutdown" and self._crawler.engine.start_time is None:
            # Scrapy's word for it, too, when a part could not be opened; that is an error, and no signal.
            reason, self._run.tally.errors = "open-error", self._run.tally.errors + 1
        if self._run.queue is not None:
            manifest.end(self._run, reason, self._crawler.stats)
        return deferred_from_coro(self._run.close())

    def has_pending_requests(self) -> bool:
        return bool(self._others) or (self._run.over is None and self._run.frontier.pending > 0)

    def enqueue_request(self, request: Request) -> bool:
        ours = self._seaspider.ours(request)
        if ours is None:
            if not request.dont_filter and self._seen.request_seen(request):
                return False
            self._others.append(request)
        elif isinstance(ours.what, NextHop):
            self._run.frontier.hop(ours.what.visit, ours.what.url)
        elif isinstance(ours.what, NextAttempt):
            self._run.frontier.again(ours.what.visit)
        elif isinstance(ours.what, RobotsTurn):
            if not self._seaspider.is_over(ours):
                self._run.frontier.robots_hop(ours.what)
        else:
            raise ValueError(f"a turn that was given out already: {request.url}")
        return True

    def next_request(self) -> Request | None:
        if busy(self._crawler):
            return None
        if self._others:
            return self._others.popleft()
        # A store that cannot be written has latched, a door on a shortage too: the run ends when it is idle.
        with suppress(StoreError):
            return None if self._run.over is not None else self._next_turn()
        return None

    def _next_turn(self) -> Request | None:
        frontier = self._run.frontier
        while True:
            now_ms = self._run.clock.wall_ms()
            turn = frontier.next_turn(now_ms)
            if turn is None and not self._end_lost_fetches():
                return None
            if isinstance(turn, RobotsStop):
                turn.fetch.outcome = self._run.desk.failed(turn.fetch, turn.reason, now_ms)
                self._seaspider.robots_ended(RobotsTurn(turn.fetch, turn.fetch.chain[-1]))
            elif turn is not None:
                return self._seaspider.mark(self._spider.request(turn), turn, in_turn=True)

    def _end_lost_fetches(self) -> bool:
        """If nothing is in flight and URLs wait for a robots.txt, its Request was dropped on the way by another part.

        Such an origin is unreachable; else the crawl would wait for ever.
        """
        lost = [] if scrapyhooks.busy(self._crawler) else self._run.frontier.fetches_under_way
        for fetch in lost:
            logger.warning("robots.txt of %s: its request was dropped by another part of the crawl", fetch.origin)
            self._seaspider.robots_lost(RobotsTurn(fetch, fetch.chain[-1]))
        return bool(lost)
