"""What the Scrapy parts share: the run, and what each Request object that is ours stands for."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider

from seaspider import guard, interrupts
from seaspider.core.frontier import PageTurn, RobotsTurn, StopTurn
from seaspider.core.robotsstate import RobotsReason
from seaspider.core.urls import Url
from seaspider.core.visits import Visit
from seaspider.run import Run, without_queue


@dataclass(frozen=True, slots=True)
class NextHop:
    """A visit goes on at this URL, when its host's turn comes."""

    visit: Visit
    url: Url


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """The last hop of a visit is asked once more, when its host's turn comes."""

    visit: Visit


Stands = PageTurn | RobotsTurn | StopTurn | NextHop | NextAttempt


@dataclass(frozen=True, slots=True)
class Ours:
    """What a Request object stands for. `in_turn`: the scheduler gave it its turn; else it is still to wait for one,
    or is a robots.txt fetch that some other request needs at once."""

    what: Stands
    in_turn: bool


class Seaspider:
    """Listed in EXTENSIONS, so made before the engine and its parts, which find it with `Seaspider.of(crawler)`.

    Refuses to be made if a setting undoes a promise; no part works without it.
    """

    def __init__(self, crawler: Crawler) -> None:
        guard.check(crawler.settings)
        run = getattr(crawler.spider, "run", None)
        with interrupts.breaking_in():
            self.run: Run = run if isinstance(run, Run) else without_queue(crawler.settings)
        self._crawler = crawler
        self._ran = False
        self._closing = False
        self.run.stopped = self._stopped
        self.run.crawler_errors = lambda: int(crawler.stats.get_value("spider_exceptions/count", 0))
        self._requests: WeakKeyDictionary[Request, Ours] = WeakKeyDictionary()
        if crawler.settings.getpriority("USER_AGENT") == 0:
            crawler.settings.set("USER_AGENT", self.run.config.user_agent, priority="default")
        crawler.signals.connect(self._idle, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Seaspider:
        return cls(crawler)

    @classmethod
    def of(cls, crawler: Crawler) -> Seaspider:
        """The crawler's one. Raises RuntimeError if it was switched off: nothing may be asked for without it."""
        extension = crawler.get_extension(cls)
        if extension is None:
            raise RuntimeError("seaspider.extension.Seaspider must be in EXTENSIONS")
        return extension

    def mark(self, request: Request, what: Stands, *, in_turn: bool) -> Request:
        """Says what this very object stands for; a copy of it stands for nothing."""
        self._requests[request] = Ours(what, in_turn)
        return request

    def ours(self, request: Request | None) -> Ours | None:
        """What a Request stands for; None for one that some other part made."""
        return None if request is None else self._requests.get(request)

    def is_over(self, ours: Ours) -> bool:
        """Whether a Request is the turn of a robots.txt fetch that has ended: it is neither sent nor queued again."""
        what = ours.what
        return isinstance(what, RobotsTurn) and ours.in_turn and not self.run.frontier.waits_for(what.fetch)

    def robots_ended(self, turn: RobotsTurn) -> None:
        """The fetch has its entry: records it, puts it in force and lets the origin's URLs go on."""
        entry = turn.fetch.outcome
        assert entry is not None
        assert not isinstance(entry, Url)
        turn.fetch.outcome = recorded = self.run.desk.record(entry)
        self.run.frontier.robots_known(turn.fetch, recorded)

    def robots_lost(self, turn: RobotsTurn) -> None:
        """A fetch whose end RobotsMiddleware did not see, because another part stopped it: unreachable."""
        if self.run.frontier.waits_for(turn.fetch):
            turn.fetch.outcome = self.run.desk.failed(turn.fetch, RobotsReason.ABORTED, self.run.clock.wall_ms())
            self.robots_ended(turn)

    def closing(self) -> None:
        """The spider is to be closed: what waits is not sent any more, what is in flight comes to its end."""
        self._closing = True

    def _stopped(self) -> bool:
        """Whether the engine ran and does no more. Before it runs, other extensions may ask for something already."""
        running = self._crawler.engine.running
        self._ran = self._ran or running
        return self._closing or (self._ran and not running)

    def _idle(self) -> None:
        if self.run.over is not None:
            raise CloseSpider(self.run.over)
