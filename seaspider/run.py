"""One run: its parts, put together. With a queue and a store for `scrapy crawl`, without both for other commands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from scrapy.settings import BaseSettings

from seaspider import history, queuecheck, queueworker
from seaspider.arguments import Arguments
from seaspider.clock import Clock, SystemClock
from seaspider.config import Config
from seaspider.core.frontier import Frontier
from seaspider.core.leases import Lease
from seaspider.core.queue import Entry, QueueError
from seaspider.core.records import File, Outcome
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.urls import Url, normalise
from seaspider.core.verdict import Verdict, verdict
from seaspider.core.visits import Visit
from seaspider.door import Door
from seaspider.errors import ExitCode, QueueFileError, RunFailed, Shortage
from seaspider.fleet.folder import refuse_as_store
from seaspider.fleet.shard import Held, Shard
from seaspider.history import History
from seaspider.items import Page, record
from seaspider.knownurls import Mark
from seaspider.loading import Loading, skipped_record
from seaspider.outside import World, real_world
from seaspider.permits import Permits
from seaspider.policies import frontier_policy, order_of, robots_policy
from seaspider.queuefile import Queue, QueueFile
from seaspider.readahead import Reader
from seaspider.requestlog import RequestLog
from seaspider.robotsdesk import RobotsDesk
from seaspider.store import FolderStore, NoStore, Store
from seaspider.tally import Tally

logger = logging.getLogger(__name__)


class Run:
    """The parts that one run of one process shares. `world`: what it meets."""

    def __init__(
        self,
        config: Config,
        store: Store,
        number: int,
        book: RobotsBook,
        past: History,
        world: World,
    ) -> None:
        met = world(self._is_stopped)
        self.config = config
        self.clock = clock = met.clock
        self.store, self.number = store, number
        self.past = past
        self.stopped: Callable[[], bool] = lambda: False
        self.crawler_errors: Callable[[], int] = lambda: 0
        self.tally = Tally()
        self.followed = 0
        """Links followed in the store so far."""
        self.begun_again = 0
        """Visits that an earlier run had under way when it ended."""
        self.queue: Queue | None = None
        self.feed_errors: dict[str, str] = {}
        """The feeds that could not be written, and why. No matter of the store, so not of `exit_code` either."""
        self.made_from: dict[str, str] = {}
        """What its `versions` name beside programs: `replay_of`, a store's digest, or a fleet's `plan` and `shard`."""
        self.held: Held | None = None
        self.halted: Callable[[], str | None] = lambda: None
        """Why no further turn is given out, although nothing failed: the reason in the manifest."""
        self.watched: Callable[[Page], None] = lambda page: None
        """Told each page whose line is written."""
        self.reason = ""
        """Why the run ended, in Scrapy's words; empty while it goes on."""
        self.permits = Permits()
        self.log = RequestLog(store, clock, number, self.tally)
        limit = config.robots_max_redirects
        self.desk = RobotsDesk(robots_policy(config), book, store, number, past.robots_ids, limit)
        self.frontier = Frontier(frontier_policy(config), book, self.desk.rules, order_of(config))
        self.ledger = met.ledger
        self.door = Door(config, clock, met.resolver, met.ledger, met.exchange, self.frontier, self.permits, self.log)

    async def close(self) -> None:
        """Gives back the store, the ledger and the shard."""
        self.store.close()
        await self.ledger.close()
        if self.held is not None:
            await self.held.close()

    def _is_stopped(self) -> bool:
        return self.stopped() or self.failed is not None

    # --- what is to be visited ---

    def load(self, queue: Queue, reader: Reader | None = None) -> None:
        """Puts the queue, then the links followed in earlier runs, into the frontier. `reader`: of its file, if one is
        at work already. Raises QueueFileError."""
        self.queue = queue
        for host, answered_ms in self.past.forbidden:
            self.frontier.forbidden(host, answered_ms)
        for host, ending in self.past.deferred.items():
            self.frontier.deferred(host, ending)
        try:
            if isinstance(queue, QueueFile):
                self._load_file(queue, reader)
            else:
                self._load_items(queue)
        except QueueError as error:
            raise QueueFileError(str(error)) from error
        except OSError as error:
            raise QueueFileError(f"queue {queue.path!a}: {_no_room(error)}") from error
        finally:
            self.past.leave()
        self.followed = len(self.past.followed)
        for link in self.past.followed:
            if not self.is_known(link.url.text):
                self._add(link.url, depth=link.depth, via=link.via)

    def is_known(self, url: str) -> bool:
        """Whether a URL is in the queue, was followed, or is done in the store: no link to it is followed."""
        return self.past.urls.is_known(url)

    def page_stored(self, page: Page) -> None:
        """A page line is written: counts it, and queues the links that are followed."""
        self.tally.record(page)
        outcome = Outcome(page.outcome)
        self.past.ended(page.url, outcome, {} if outcome.final else record(page))
        for url in page.followed:
            self.followed += 1
            self._follow(normalise(url), page)
        self.watched(page)

    def _follow(self, url: Url, page: Page) -> None:
        try:
            self._add(url, depth=page.depth + 1, via=page.final_url)
        except OSError as error:
            # The record is written, so the next run takes the link up.
            self.door.failed = Shortage(_no_room(error))

    def _load_file(self, queue: QueueFile, reader: Reader | None) -> None:
        loading = Loading(self.number, self.past.urls, self._visit)
        for lines in loading.read(queue, reader):
            if lines:
                self.store.write(File.SKIPPED, lines)
        for host, origin, visits in loading.waiting():
            self.tally.lines.added += len(visits)
            self.frontier.add_all(host, origin, visits)
        self.past.complete()
        self.begun_again += sum(map(self._is_queued, self.past.begun))

    def _load_items(self, queue: Queue) -> None:
        for item in queue:
            if isinstance(item, Entry):
                self._add(item.url, line=item.line)
            else:
                self.store.write(File.SKIPPED, skipped_record(self.number, item))

    def _visit(self, number: int) -> Visit:
        url = self.past.urls.text(number)
        return Visit(normalise(url), self.past.urls.lines[number], earlier=self.past.unfinished.get(url))

    def _is_queued(self, url: str) -> bool:
        number = self.past.urls.find(url)
        return number is not None and self.past.urls.lines[number] > 0

    def _add(self, url: Url, *, line: int | None = None, depth: int = 0, via: str | None = None) -> None:
        visit = Visit(url, line, depth, via, earlier=self.past.unfinished.get(url.text))
        self.past.urls.mark(url.text, Mark.FOLLOWED)
        self.begun_again += url.text in self.past.begun
        kind = self.tally.followed if line is None else self.tally.lines
        kind.added += 1
        self.frontier.add(visit)

    # --- what became of it ---

    def counts(self) -> dict[str, Any]:
        """What became of every line of the queue (all but `lines` add up to `lines`), and of every visit."""
        lines = asdict(self.queue.counts) if self.queue else {}
        lines.pop("entries", None)
        return {
            "queue": {**lines, "recorded": self.tally.lines.recorded, "unfinished": self.tally.lines.unfinished},
            "followed": {"recorded": self.tally.followed.recorded, "unfinished": self.tally.followed.unfinished},
            "pages": self.tally.outcomes,
            "unfinished": self.tally.unfinished,
            "interrupted": len(self.tally.begun),
            "requests": self.log.requests,
            "hosts": len(self.frontier.requests),
        }

    def verdict(self) -> Verdict:
        """Whether the run may be called polite and broad: all requests of this run, robots.txt included."""
        return verdict(self.frontier.requests, self.door.too_near, self.config.gate)

    @property
    def failed(self) -> RunFailed | None:
        """Why no further turn is given out: a write failed, or this machine is short of something."""
        return self.store.failed or self.door.failed

    @property
    def over(self) -> str | None:
        """Why no further turn is given out: the reason in the manifest. None: the run goes on."""
        return self.halted() if self.failed is None else self.failed.word

    @property
    def exit_code(self) -> ExitCode:
        """What the process ends with, once `reason` is known."""
        if self.failed is not None:
            return self.failed.exit_code
        left = self.tally.not_final or self.tally.unfinished
        # Errors that were counted up to a limit are what the limit was set for.
        limited = self.reason == "closespider_errorcount" and left
        if self.tally.errors or (self.crawler_errors() and not limited):
            return ExitCode.INTERNAL
        if self.reason == "shutdown":
            return ExitCode.INTERRUPTED
        # A run that had nothing to ask is no sample to be judged.
        if self.log.requests and self.verdict().gate is False:
            return ExitCode.GATE
        return ExitCode.UNFINISHED if left else ExitCode.DONE


def with_queue(
    settings: BaseSettings, arguments: Mapping[str, Any], clock: Clock | None = None, lease: Lease | None = None
) -> Run:
    """The run that the spider's arguments ask for, its queue loaded. It ends when it no longer holds the `lease`.

    Raises SettingError, ArgumentError, QueueFileError, UnsupportedPlatform (no store is made then), StoreError and
    StoreInUse; nothing was asked of anybody. Of a shard, the plan is looked at first.
    """
    asked = Arguments.read(arguments)
    config = asked.applied_to(Config.from_settings(settings))
    clock = clock or SystemClock()
    shard = Shard.of(asked)
    if shard is None:
        return _loaded(asked, config, clock, lease)
    # Before anything of the store is read: another may still be at work in it, on another machine.
    held = Held(shard, config, clock)
    try:
        run = _loaded(asked, config, clock, held.lease, part=True)
    except BaseException:
        held.give_back()
        raise
    run.made_from, run.held = shard.to_record(), held
    return run


def _loaded(asked: Arguments, config: Config, clock: Clock, lease: Lease | None, *, part: bool = False) -> Run:
    refuse_as_store(Path(asked.store))
    # From now on, while the store is opened and read.
    reading = queueworker.started(QueueFile(asked.queue, part=part))
    with reading as reader, queuecheck.checked(asked.queue, part=part) as copy:
        store = FolderStore(Path(asked.store), boot_id=clock.boot_id)
        try:
            run = next_run(config, store, real_world(config, clock, lease), later=True)
            run.load(QueueFile(asked.queue, run.past.done.__contains__, copy, part=part), reader)
        except BaseException:
            store.close()
            raise
    return run


def without_queue(settings: BaseSettings, clock: Clock | None = None) -> Run:
    """A run that has no queue and writes no store. Raises SettingError."""
    config = Config.from_settings(settings)
    met = real_world(config, clock or SystemClock())
    return Run(config, NoStore(), 0, RobotsBook(robots_policy(config)), History(), met)


def next_run(config: Config, store: FolderStore, world: World, *, later: bool = False) -> Run:
    """The run that comes after those in a store; `later`: see history.read(). Raises StoreError, SettingError."""
    book = RobotsBook(robots_policy(config))
    past = history.read(store, book, retry_failed=config.retry_failed, later=later)
    return Run(config, store, past.runs + 1, book, past, world)


def _no_room(error: OSError) -> str:
    return f"no room in {gettempdir()} for the URLs that wait: {error.strerror or error}"
