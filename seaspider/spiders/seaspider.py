"""The spider: says what becomes of a visit's last answer, and yields its Page.

Each visit ends in exactly one of `visit_answered` and `visit_failed`. The URLs come from the queue by way of the
scheduler, so start() yields nothing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from seaspider import feeds, guard, interrupts
from seaspider.arguments import Arguments
from seaspider.core import links
from seaspider.core.frontier import PageTurn, RobotsTurn, StopTurn
from seaspider.core.links import FollowMode, FollowPolicy, LinkRow
from seaspider.core.records import STORED, Ending
from seaspider.core.visits import Answered, Visit
from seaspider.errors import RunFailed
from seaspider.extension import Seaspider
from seaspider.html import page_links
from seaspider.items import Link, Page
from seaspider.refusals import Interrupted, VisitStopped
from seaspider.requests import request_for
from seaspider.run import Run, with_queue

logger = logging.getLogger(__name__)


class SeaspiderSpider(Spider):
    name = "seaspider"
    run: Run
    link_items = False
    """Whether Link items are yielded, because a feed's item_classes names Link."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SeaspiderSpider:
        """Takes the arguments of README, "Arguments". Raises a SeaspiderError; nothing was asked of anybody then."""
        run = cls.made_run(crawler, kwargs)
        spider = super().from_crawler(crawler, *args)
        spider.run = run
        spider.link_items = _feeds_want_links(crawler)
        return spider

    @classmethod
    def made_run(cls, crawler: Crawler, arguments: Mapping[str, Any]) -> Run:
        """The run that the arguments ask for, its queue loaded."""
        guard.check(crawler.settings)
        feeds.complete(crawler.settings)
        feeds.check(crawler.settings, Path(Arguments.read(arguments).store))
        with interrupts.breaking_in():
            return with_queue(crawler.settings, arguments)

    async def start(self) -> AsyncIterator[Any]:
        return
        yield

    def request(self, turn: PageTurn | RobotsTurn | StopTurn) -> Request:
        """The Request that stands for a turn."""
        if isinstance(turn, RobotsTurn):
            return request_for(turn.hop.url, self.robots_answered, self.robots_failed)
        return request_for(turn.visit.final_url, self.visit_answered, self.visit_failed)

    # --- visits ---

    def visit_answered(self, response: Response) -> Iterator[Page | Link]:
        """What is recorded is the answer that came through the door, whatever another part made of the Response."""
        visit = self._visit(response.request)
        if visit is None:
            return iter(())
        if visit.answer is None:
            return self._error(f"{visit.url.text}: not recorded: another part of the crawl answered for its server")
        return self._closed(visit, STORED, visit.answer)

    def visit_failed(self, failure: Failure) -> Iterator[Page | Link]:
        error = failure.value
        visit = self._visit(failure.request)  # type: ignore[attr-defined]
        if visit is None:
            return iter(())
        if isinstance(error, VisitStopped):
            return self._closed(visit, error.ending)
        if isinstance(error, RunFailed):
            logger.error("%s", error)
        elif not isinstance(error, Interrupted):
            return self._error(f"{visit.url.text}: not finished: {error!r}", error)
        return iter(())

    def _visit(self, request: Request | None) -> Visit | None:
        """The visit a Request stands for; None, and an error of the run, if another part has put in its own."""
        ours = Seaspider.of(self.crawler).ours(request)
        if ours is not None and isinstance(ours.what, PageTurn | StopTurn):
            return ours.what.visit
        self._error(f"{request}: not finished: another part of the crawl replaced the request of a visit")
        return None

    def _error(self, text: str, error: BaseException | None = None) -> Iterator[Page | Link]:
        """A visit that ends without a record: it is unfinished, and the run ends with exit code 1."""
        self.run.tally.errors += 1
        logger.error("%s", text, exc_info=error)
        return iter(())

    def _closed(self, visit: Visit, ending: Ending, answer: Answered | None = None) -> Iterator[Page | Link]:
        """The Page that ends the visit; a stored answer brings body and links."""
        record = visit.record(self.run.number, ending, self.run.clock.wall_ms())
        if answer is None:
            yield Page(**record)
            return
        content_type = ", ".join(answer.values("Content-Type")[-1:])
        tags, token = answer.values("X-Robots-Tag"), self.run.config.token
        found = page_links(answer.body, content_type, visit.final_url, tags, token)
        rows = self._follow(visit, found.links) if found.is_html else ()
        record |= {
            "content_type": content_type or None,
            "charset": found.charset,
            "links": len(rows) if found.is_html else None,
            "nofollow": found.nofollow if found.is_html else None,
            "flags": [*record["flags"], *map(str, found.flags)],
        }
        page = Page(**record, content=answer.body, rows=rows)
        yield page
        if self.link_items:
            yield from page.link_items

    def _follow(self, visit: Visit, found: Sequence[links.FoundLink]) -> Sequence[LinkRow]:
        config = self.run.config
        rows, _ = links.decide(
            found,
            FollowPolicy(FollowMode(config.follow), config.max_depth, config.max_pages),
            visit=visit.url,
            page=visit.final_url,
            depth=visit.depth,
            followed=self.run.followed,
            seen=self.run.is_known,
        )
        return rows

    # --- robots.txt, which RobotsMiddleware has dealt with by now ---

    def robots_answered(self, response: Response) -> None:
        pass

    def robots_failed(self, failure: Failure) -> None:
        seaspider = Seaspider.of(self.crawler)
        ours = seaspider.ours(failure.request)  # type: ignore[attr-defined]
        if isinstance(failure.value, RunFailed):
            logger.error("%s", failure.value)
        elif ours is not None and isinstance(ours.what, RobotsTurn) and not isinstance(failure.value, Interrupted):
            seaspider.robots_lost(ours.what)


def _feeds_want_links(crawler: Crawler) -> bool:
    """Whether a feed's item_classes names Link."""
    names = {f"{Link.__module__}.{Link.__qualname__}", Link}
    wanted = crawler.settings.getdict("FEEDS").values()
    return any(item_class in names for feed in wanted for item_class in feed.get("item_classes") or ())
