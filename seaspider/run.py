"""One run: its parts, put together. With a queue and a store for `scrapy crawl`, without both for other commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings

from seaspider import history
from seaspider.arguments import Arguments
from seaspider.clock import Clock, SystemClock
from seaspider.config import Config
from seaspider.core.frontier import Frontier, FrontierPolicy, RobotsTurn
from seaspider.core.order import RoundRobin
from seaspider.core.queue import Entry, QueueError
from seaspider.core.records import Outcome
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.core.times import MS_PER_S
from seaspider.core.urls import normalise
from seaspider.core.visits import Visit
from seaspider.door import Door
from seaspider.errors import ExitCode, QueueFileError
from seaspider.history import History
from seaspider.items import Page
from seaspider.ledger import MemoryLedger
from seaspider.permits import Permits
from seaspider.queuefile import STDIN, QueueFile
from seaspider.requestlog import RequestLog
from seaspider.resolver import SystemResolver
from seaspider.robotsdesk import RobotsDesk
from seaspider.store import File, FolderStore, NoStore, Store


@dataclass(slots=True)
class Tally:
    """What became of the visits of this run."""

    outcomes: dict[str, int] = field(default_factory=dict)
    """Page records by `outcome` or `outcome/reason`."""
    not_final: int = 0
    interrupted: int = 0
    """Visits that were under way when the run was stopped."""
    errors: int = 0
    """Visits that ended in an error of ours."""


class Run:
    """The parts that one run of one process shares."""

    def __init__(
        self, config: Config, clock: Clock, store: Store, number: int, book: RobotsBook, past: History
    ) -> None:
        self.config = config
        self.clock = clock
        self.store = store
        self.number = number
        self.past = past
        self.stopped: Callable[[], bool] = lambda: False
        self.crawler_errors: Callable[[], int] = lambda: 0
        self.tally = Tally()
        self.known: set[str] = set()
        """Every URL of the queue, and every one followed."""
        self.followed = len(past.followed)
        self.queue: QueueFile | None = None
        self.reason = ""
        """Why the run ended, in Scrapy's words; empty while it goes on."""
        self.permits = Permits()
        self.log = RequestLog(store, clock, number)
        self.desk = RobotsDesk(
            _robots_policy(config),
            book,
            store,
            clock,
            run=number,
            last_id=past.robots_ids,
            max_redirects=config.robots_max_redirects,
        )
        order: RoundRobin[Visit | RobotsTurn] = RoundRobin()
        self.frontier = Frontier(_frontier_policy(config), book, self.desk.rules, order)
        self.door = Door(
            config,
            clock,
            SystemResolver(config.resolve, config.dns_timeout_s),
            MemoryLedger(clock, holder=f"{os.getpid()}", stopped=self._is_stopped),
            self.frontier,
            self.permits,
            self.log,
        )

    def _is_stopped(self) -> bool:
        return self.stopped()

    def load_queue(self, path: str) -> None:
        """Puts the queue, then the links followed in earlier runs, into the frontier. Raises QueueFileError."""
        for host, answered_ms in self.past.forbidden:
            self.frontier.forbidden(host, answered_ms)
        self.queue = QueueFile(path, self.past.final.__contains__)
        try:
            for item in self.queue:
                if isinstance(item, Entry):
                    self.known.add(item.url.text)
                    self.frontier.add(Visit(item.url, item.line, earlier=self.past.unfinished.get(item.url.text)))
                else:
                    if item.url is not None:
                        self.known.add(item.url)
                    self._skipped(item.line, item.fate, item.url, item.text, item.of, item.reason)
        except QueueError as error:
            raise QueueFileError(str(error)) from error
        self._load_followed()

    def _load_followed(self) -> None:
        for link in self.past.followed:
            if link.url not in self.known:
                self.known.add(link.url)
                if link.url not in self.past.final:
                    earlier = self.past.unfinished.get(link.url)
                    self.frontier.add(Visit(normalise(link.url), None, link.depth, link.via, earlier=earlier))

    def page_stored(self, page: Page) -> None:
        """A page line is written: counts it, and queues the links that are followed."""
        outcome = f"{page.outcome}/{page.reason}" if page.reason else page.outcome
        self.tally.outcomes[outcome] = self.tally.outcomes.get(outcome, 0) + 1
        self.tally.not_final += not Outcome(page.outcome).final
        for link in page.link_items:
            if link.followed:
                self.followed += 1
                self.known.add(link.url)
                self.frontier.add(Visit(normalise(link.url), None, page.depth + 1, page.final_url))

    def counts(self) -> dict[str, Any]:
        """What became of every line of the queue, and of every visit."""
        unfinished = sum(1 for _ in self.frontier.unfinished()) + self.tally.interrupted
        return {
            "queue": asdict(self.queue.counts) if self.queue else {},
            "pages": dict(sorted(self.tally.outcomes.items())),
            "unfinished": unfinished,
            "interrupted": self.tally.interrupted,
            "requests": self.log.requests,
            "hosts": len(self.frontier.requests),
        }

    def verdict(self) -> dict[str, int]:
        """Breadth as the seed counts it: all requests of this run, robots.txt included, in integers."""
        requests = self.frontier.requests
        total = sum(requests.values())
        return {
            "hosts": len(requests),
            "requests": total,
            "breadth_per_mil": len(requests) * 1000 // total if total else 0,
            "most_per_host": max(requests.values(), default=0),
        }

    @property
    def exit_code(self) -> ExitCode:
        """What the process ends with, once `reason` is known."""
        if self.store.failed is not None:
            return ExitCode.STORE
        if self.tally.errors or self.crawler_errors():
            return ExitCode.INTERNAL
        if self.reason == "shutdown":
            return ExitCode.INTERRUPTED
        if self.reason != "finished" or self.tally.not_final or self.tally.interrupted or self.frontier.pending:
            return ExitCode.UNFINISHED
        return ExitCode.DONE

    def _skipped(
        self, line: int, fate: str, url: str | None, text: str | None, of: int | None, why: str | None
    ) -> None:
        self.store.write(
            File.SKIPPED,
            {"run": self.number, "line": line, "fate": fate, "url": url, "text": text, "of": of, "reason": why},
        )


def with_queue(settings: BaseSettings, arguments: Mapping[str, Any], clock: Clock | None = None) -> Run:
    """The run that the spider's arguments ask for, its queue loaded.

    Raises SettingError, ArgumentError, QueueFileError, StoreError and StoreInUse; nothing was asked of anybody then.
    """
    asked = Arguments.read(arguments)
    config = asked.applied_to(Config.from_settings(settings))
    _check_queue(asked.queue)
    store = FolderStore(Path(asked.store))
    try:
        book = RobotsBook(_robots_policy(config))
        past = history.read(Path(asked.store), book)
        run = Run(config, clock or SystemClock(), store, past.runs + 1, book, past)
        run.load_queue(asked.queue)
    except BaseException:
        store.close()
        raise
    return run


def without_queue(settings: BaseSettings, clock: Clock | None = None) -> Run:
    """A run that has no queue and writes no store. Raises SettingError."""
    config = Config.from_settings(settings)
    return Run(config, clock or SystemClock(), NoStore(), 0, RobotsBook(_robots_policy(config)), History())


def _check_queue(path: str) -> None:
    """Finds a queue that cannot be used before a store is made for it. What can be read only once is not looked at."""
    if path == STDIN or Path(path).is_fifo():
        return
    try:
        for item in QueueFile(path):
            if isinstance(item, Entry):
                return
    except QueueError as error:
        raise QueueFileError(str(error)) from error


def _robots_policy(config: Config) -> RobotsPolicy:
    return RobotsPolicy(ttl_s=config.robots_ttl_s, retry_s=config.robots_retry_s, give_up=config.give_up)


def _frontier_policy(config: Config) -> FrontierPolicy:
    return FrontierPolicy(
        token=config.token,
        crawl_delay_cap_s=config.crawl_delay_cap_s,
        stop_on_403=config.stop_on_403,
        block_ms=int(config.block_s * MS_PER_S),
        host_budget=config.host_budget,
    )
