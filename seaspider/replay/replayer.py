"""Replays the runs of a store, one after the other, with the parts of a crawl and the world as it was recorded."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings

from seaspider.config import Config
from seaspider.core.queue import QueueError
from seaspider.errors import SeaspiderError, Shortage
from seaspider.queuefile import Queue, QueueFile
from seaspider.replay.recordedqueue import recorded_queue
from seaspider.replay.replaystore import ReplayStore
from seaspider.replay.tape import LINES, Differs, Reel, Tape
from seaspider.replay.world import TapeClock, as_it_was
from seaspider.run import Run, frontier_policy, next_run
from seaspider.spiders.seaspider import SeaspiderSpider
from seaspider.verify.evidence import Evidence, RunInfo


class ReplayedSpider(SeaspiderSpider):
    """The spider of a run that is made already."""

    @classmethod
    def made_run(cls, crawler: Crawler, arguments: Mapping[str, Any]) -> Run:
        run: Run = arguments["run"]
        return run


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A run to be replayed, or replayed by now."""

    tape: Tape
    store: ReplayStore
    run: Run

    def check(self) -> None:
        """Raises what kept it from its end, if anything did."""
        if self.store.difference is not None:
            raise self.store.difference
        if self.run.failed is not None and not isinstance(self.run.failed, Shortage):
            raise self.run.failed
        for file in LINES:
            row = self.tape.line(file)
            if row is not None:
                raise Differs(f"{row.place}: the run wrote this line, and would not now")


class Replayer:
    """`old`: the store to be replayed. `folder`: the new one. `queue`: the file that the runs' queue is read from, if
    it is not taken from the store."""

    def __init__(self, old: Evidence, folder: Path, queue: str | None) -> None:
        self.requests = 0
        self.unknown = 0
        """URLs of the queue that the store does not tell, since they never had a turn."""
        self.error: SeaspiderError | None = None
        """What ended the replay before its end."""
        self._old = old
        self._folder = folder
        self._queue = queue
        self._reel = Reel(old)
        self._runs = iter(old.runs)
        self._now: _Prepared | None = None

    def go(self) -> None:
        """All runs. Afterwards `error` says what went wrong, if anything did."""
        process = AsyncCrawlerProcess(_settings())
        self._next(process)
        process.start()

    def _next(self, process: AsyncCrawlerProcess, before: Task[None] | None = None) -> None:
        try:
            if before is not None and self._now is not None:
                before.result()
                self.requests += self._now.run.log.requests
                self._now.check()
            info = next(self._runs, None)
            if info is None:
                return
            self._now = self._prepared(info)
        except SeaspiderError as error:
            self.error = error
            return
        crawler = process.create_crawler(ReplayedSpider)
        crawler.settings.set("USER_AGENT", self._now.run.config.user_agent, priority="cmdline")
        # Added before the process itself waits for the crawl, so there is a next one before it looks.
        process.crawl(crawler, run=self._now.run).add_done_callback(lambda task: self._next(process, task))

    def _prepared(self, info: RunInfo) -> _Prepared:
        try:
            config = Config.from_record(info.settings)
        except ValueError as error:
            raise info.start.error(str(error)) from error
        tape = Tape(self._reel, info)
        clock = TapeClock(tape)
        backoff_ms = frontier_policy(config).backoff_ns // 1_000_000
        store = ReplayStore(self._folder, tape, clock)
        try:
            run = next_run(config, store, lambda stopped: as_it_was(tape, clock, backoff_ms))
            run.halted = lambda: _halted(run, tape)
            run.load(self._queue_of(info, run))
        except BaseException:
            store.close()
            raise
        return _Prepared(tape, store, run)

    def _queue_of(self, info: RunInfo, run: Run) -> Queue:
        """The queue as recorded; if that is not all of it, the file that it was read from, if it is still the same."""
        if self._queue is not None:
            return QueueFile(self._queue, run.past.done.__contains__)
        queue = recorded_queue(self._old, info)
        if queue.whole:
            return queue
        file = QueueFile(queue.path, run.past.done.__contains__)
        if _is_still(file, queue.sha256):
            return QueueFile(queue.path, run.past.done.__contains__)
        # What never had a turn had no part in anything but the count of what is left.
        run.tally.lines.added += queue.missing
        self.unknown += queue.missing
        return queue


def _is_still(file: QueueFile, sha256: str) -> bool:
    try:
        for _ in file.content():
            pass
    except QueueError:
        return False
    return file.sha256 == sha256


def _halted(run: Run, tape: Tape) -> str | None:
    """A run that did not come to its own end ends when its records do, for the same reason."""
    if tape.finished or not tape.over:
        return None
    if tape.end_reason == Shortage.word:
        run.door.failed = Shortage("as recorded")
    return tape.end_reason or "killed"


def _settings() -> Settings:
    settings = Settings()
    settings.setmodule("settings.base")
    settings.set("LOG_LEVEL", "WARNING")
    return settings
