"""Runs the shards of a plan on a Dask cluster, until each has an end.

As many shards are given out as there are workers up, so that Dask holds none back and a worker's death is the death of
the one it had. What an end means is fleet.roster's to say. A first SIGINT or SIGTERM lets the crawls come to their end,
a second one ends at once.
"""

from __future__ import annotations

import errno
import signal
import threading
import time
import uuid
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from seaspider.errors import ExitCode, RunFailed, StoreError
from seaspider.fleet import task
from seaspider.fleet.journals import Watched, is_finished, judged, last_line
from seaspider.fleet.plan import Plan, name_of, plan_folder, shard_store
from seaspider.fleet.roster import Roster, Shard, State
from seaspider.fleet.task import PROJECT, Order

_LOOK_S: Final = 0.5
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
LOGS: Final = "logs"


class ClusterLost(RunFailed):
    """Nobody can tell any more what the workers do. Their leases keep others away from what they are at."""


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (OSError, CancelledError) as error:
        why = " ".join(str(error).split()) or "its connection is closed"
        raise ClusterLost(f"Dask's scheduler is lost ({why}); run it again, when it is back, to go on") from error


@dataclass(frozen=True, slots=True)
class Crawl:
    """What all shards have in common. `arguments`: of `scrapy crawl`, beside plan and shard."""

    store: Path
    arguments: Sequence[str]
    settings_module: str


def roster_of(plan: Plan, store: Path, *, again: bool) -> Roster:
    """The shards that are to be crawled, the finished ones done already. `again`: those, too. Raises StoreError."""
    shards = [Shard(number, part.lines, part.hosts) for number, part in enumerate(plan.parts)]
    for shard, part in zip(shards, plan.parts, strict=True):
        if not part.lines or (not again and is_finished(shard_store(plan_folder(store), shard.number), part)):
            shard.state = State.DONE
    return Roster(shards)


class FleetRun:
    """`show` is called now and then while the shards are crawled."""

    def __init__(
        self, client: Any, crawl: Crawl, roster: Roster, workers: int | None, show: Callable[[], None]
    ) -> None:
        self._client = client
        self._crawl = crawl
        self._roster = roster
        self._workers = workers
        self._show = show
        self._name = uuid.uuid4().hex
        self._ended: SimpleQueue[tuple[Shard, Any]] = SimpleQueue()
        self._watched: dict[int, Watched] = {}
        self._futures: dict[int, Any] = {}
        self._told = False
        self.stop = threading.Event()

    def __call__(self) -> None:
        """Raises StoreError for a journal that cannot be read, and ClusterLost."""
        while not self._roster.over:
            self._begin()
            try:
                shard, future = self._ended.get(timeout=_LOOK_S)
            except Empty:
                pass
            else:
                self._end(shard, future)
            self._look()

    def _begin(self) -> None:
        self._roster.stopped = self._roster.stopped or self.stop.is_set()
        if self._roster.stopped and not self._told:
            self._told = True
            with _answering():
                self._client.run(task.stop, self._name, on_error="ignore")
        # Those that are up: one that died is replaced, and gets its shard then.
        with _answering():
            threads = sum(self._client.nthreads().values())
        room = min(threads, self._workers or threads)
        while len(self._futures) < room and (shard := self._roster.next(time.monotonic())) is not None:
            self._submit(shard)

    def _submit(self, shard: Shard) -> None:
        store = shard_store(plan_folder(self._crawl.store), shard.number)
        self._watched.setdefault(shard.number, Watched(store))
        name = name_of(shard.number)
        given = ("-a", f"plan={plan_folder(self._crawl.store)}", "-a", f"shard={shard.number}")
        order = Order(
            fleet=self._name,
            shard=shard.number,
            arguments=("crawl", "seaspider", *given, *self._crawl.arguments),
            settings_module=self._crawl.settings_module,
            log=str(self._log(shard)),
        )
        with _answering():
            key = f"shard-{name}-{self._name}-{shard.starts}"
            future = self._client.submit(task.crawl_shard, order, key=key, pure=False)
        self._futures[shard.number] = future
        future.add_done_callback(lambda done: self._ended.put((shard, done)))

    def _end(self, shard: Shard, future: Any) -> None:
        del self._futures[shard.number]
        store = shard_store(plan_folder(self._crawl.store), shard.number)
        self._roster.ended(shard, self._code(shard, future, store), time.monotonic())
        if shard.state is State.FAILED and not shard.said:
            shard.said = last_line(self._log(shard))
        self._count(shard)
        shard.too_near = self._watched[shard.number].too_near()

    def _code(self, shard: Shard, future: Any, store: Path) -> int | None:
        """Of its crawl; None if nobody can tell."""
        if future.status == "finished":
            with _answering():
                code = future.result()
            return judged(code, store)
        error = future.exception() if future.status == "error" else None
        if error is None or type(error).__name__ == "KilledWorker":
            return None
        # It could not begin, and no other worker could: the project, the store or the log is not there.
        shard.said = _no_beginning(error)
        full = isinstance(error, OSError) and error.errno in _FULL
        return ExitCode.STORE if full else ExitCode.USAGE

    def _log(self, shard: Shard) -> Path:
        return self._crawl.store / LOGS / f"{name_of(shard.number)}.log"

    def _look(self) -> None:
        for shard in self._roster.shards:
            if shard.state is State.RUNNING:
                self._count(shard)
        self._show()

    def _count(self, shard: Shard) -> None:
        try:
            shard.requests = self._watched[shard.number].look()
        except OSError as error:
            raise StoreError(f"shard {name_of(shard.number)}: cannot be read: {error.strerror or error}") from error


def _no_beginning(error: BaseException) -> str:
    """Why a worker did not get as far as a crawl, in one line."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ImportError):
            needs = f"it needs PYTHONPATH={PROJECT} and the packages of requirements.txt"
            return f"Dask's scheduler, or a worker, cannot import this project ({cause}); {needs}"
        cause = cause.__cause__
    return f"a worker cannot begin it: {' '.join(str(error).split())}"


@contextmanager
def heeding_signals(run: FleetRun) -> Iterator[None]:
    """A first SIGINT or SIGTERM stops the run, a second one raises KeyboardInterrupt."""

    def heed(number: int, frame: object) -> None:
        if run.stop.is_set():
            raise KeyboardInterrupt
        run.stop.set()

    before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
