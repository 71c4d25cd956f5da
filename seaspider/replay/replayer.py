"""Replays the runs of a store, one after the other, with the parts of a crawl and the world as it was recorded."""

from __future__ import annotations

from asyncio import Task
from dataclasses import dataclass
from pathlib import Path

from scrapy.crawler import AsyncCrawlerProcess

from seaspider import queuefile
from seaspider.core.answers import put_off
from seaspider.core.queue import Entry, QueueError
from seaspider.errors import LeaseLost, Shortage
from seaspider.policies import frontier_policy
from seaspider.queuefile import Queue, QueueFile
from seaspider.replay import made
from seaspider.replay.differences import Differs
from seaspider.replay.givenqueue import GivenQueue
from seaspider.replay.recordedqueue import recorded_queue
from seaspider.replay.reel import LINES, Reel
from seaspider.replay.replaystore import ReplayStore, take_over
from seaspider.replay.standins import fill_up, with_stand_ins
from seaspider.replay.tape import Tape
from seaspider.replay.world import TapeClock, as_it_was
from seaspider.run import Run, next_run
from seaspider.verify.evidence import Evidence, RunInfo


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A run to be replayed, or replayed by now."""

    tape: Tape
    run: Run

    def halted(self) -> str | None:
        """Why the run is to end here, if it is."""
        return self._cut_short() if self.tape.reel.error is None else self.tape.reel.error.word

    def _cut_short(self) -> str | None:
        """A run that did not come to its own end ends when its records do, for the same reason."""
        if self.tape.finished or not self.tape.over:
            return None
        for error in (Shortage, LeaseLost):
            if self.tape.end_reason == error.word:
                self.run.door.failed = error("as recorded")
        return self.tape.end_reason or "killed"

    def check(self) -> None:
        """Raises what kept it from its end, if anything did; KeyboardInterrupt for a signal."""
        if self.run.reason == "shutdown" and self._cut_short() != "shutdown":
            raise KeyboardInterrupt
        if self.tape.reel.error is not None:
            raise self.tape.reel.error
        if self.run.failed is not None and not isinstance(self.run.failed, Shortage | LeaseLost):
            raise self.run.failed
        for file in LINES:
            line = self.tape.line(file)
            if line is not None and self.tape.finished:
                raise Differs(f"{line.row.place}: the run wrote this line, and would not now")


class Replayer:
    """`old`: the store to be replayed. `folder`: the new one. `queue`: the file that the runs' queue is read from, if
    it is not taken from the store. `source`: the digest of `old`, which the new store names."""

    def __init__(self, old: Evidence, folder: Path, queue: GivenQueue | None, source: str) -> None:
        self.requests = 0
        self.unknown = 0
        """URLs of the queue that the store does not tell, since they never had a turn."""
        self.incomplete: tuple[int, ...] = ()
        """Runs whose queue the store does not tell to its end, and no file does."""
        self.taken_over = 0
        """Lines that were taken as they are, see take_over()."""
        self._old = old
        self._folder = folder
        self._queue = queue
        self._source = source
        self._reel = Reel(old)
        self._runs = iter(old.runs)
        self._now: _Prepared | None = None
        self._error: BaseException | None = None

    def go(self) -> None:
        """All runs. Raises SeaspiderError (Differs, if one comes out differently), and KeyboardInterrupt."""
        process = made.process()
        self._next(process)
        process.start()
        if self._error is not None:
            raise self._error
        if self._now is not None:
            # A second signal has ended it here and now.
            raise KeyboardInterrupt
        self.taken_over += take_over(self._reel, self._folder, None)

    def _next(self, process: AsyncCrawlerProcess, before: Task[None] | None = None) -> None:
        try:
            if before is not None and self._now is not None:
                before.result()
                self.requests += self._now.run.log.requests
                self._now.check()
            info, self._now = next(self._runs, None), None
            if info is None:
                return
            self._now = self._prepared(info)
        except BaseException as error:  # noqa: BLE001 - go() raises it: whoever calls back has no use for it
            self._error = error
            return
        # Added before the process itself waits for the crawl, so there is a next one before it looks.
        made.crawl(process, self._now.run).add_done_callback(lambda task: self._next(process, task))

    def _prepared(self, info: RunInfo) -> _Prepared:
        self.taken_over += take_over(self._reel, self._folder, info.number - 1)
        config = made.config(info)
        tape = Tape(self._reel, info)
        clock = TapeClock(tape)
        backoff_ms = put_off(0, frontier_policy(config).backoff_ns).not_before_ms or 0
        store = ReplayStore(self._folder, tape, clock, self._source)
        try:
            run = next_run(config, store, lambda stopped: as_it_was(tape, clock, backoff_ms))
            prepared = _Prepared(tape, run)
            run.halted = prepared.halted
            run.load(self._queue_of(info, run))
            fill_up(run, info)
        except BaseException:
            store.close()
            raise
        return prepared

    def _queue_of(self, info: RunInfo, run: Run) -> Queue:
        """The queue that was given, if it is this run's; else as recorded; if that is not all of it, the file that it
        was read from, if it is still the same."""
        done = run.past.done.__contains__
        if self._queue is not None and self._queue.sha256 == info.start.get("queue_sha256", str):
            return self._queue.file(done)
        queue = recorded_queue(self._old, info)
        if queue.whole:
            return queue
        if _is_still(queue.path, queue.sha256):
            return QueueFile(queue.path, done)
        # What else never had a turn had no part in anything but the count of what is left; nearly always.
        listed = {line.url.text for line in queue if isinstance(line, Entry)}
        followed = [
            url for url in (link.url for link in run.past.followed) if not (url.text in listed or done(url.text))
        ]
        queue = with_stand_ins(queue, self._old, info, followed)
        self.incomplete += (info.number,)
        run.tally.lines.added += queue.missing
        self.unknown += queue.missing
        return queue


def _is_still(path: str, sha256: str) -> bool:
    """Whether the file is there and what it was. Not for what can be read only once."""
    try:
        return Path(path).is_file() and queuefile.sha256_of(path) == sha256
    except QueueError:
        return False
