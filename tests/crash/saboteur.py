"""In the crawl's process: counts the fault points it reaches, and dies at a chosen one.

The process kills itself with SIGKILL, so nothing of it runs any more: no `finally`, no buffer, no exit handler.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from threading import Lock
from typing import Any

from seaspider import bodyshelf, door, faultpoints, wholesync, writeahead
from seaspider.clock import SystemClock
from seaspider.journal import JournalFile
from seaspider.writeahead import WriteAhead
from tests.crash.disk import Disk

ANY = "any point"

EARLY = ("pages", "robots", "manifest")
"""Files whose lines vouch for others."""

LOG_BYTES = 8_000
"""So that the log of these short crawls is full a few times."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Dies when `point` is reached for the `nth` time.

    `how`: `kill`, and nothing else; `torn`, with a part of the lines written that were to be (or a part of the body);
    `power`, with everything lost that was not synced, and `early`, with everything lost but the lines that vouch for
    others. `keep`: what of the lines is written; negative: all but so much.
    """

    point: str
    nth: int
    how: str = "kill"
    keep: float = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen in one process. `reached`: the file that gets a line for each point reached."""

    reached: Path
    store: Path
    disk: Path
    hold_slack_s: float
    kill: Kill | None = None
    boot_id: str | None = None

    def sabotage(self) -> str:
        """Python that arms a process."""
        told = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(self).items()}
        return f"from tests.crash.saboteur import arm\narm({told!r})\n"


def arm(told: Mapping[str, Any]) -> None:
    paths = {key: Path(told[key]) for key in ("reached", "store", "disk")}
    kill = Kill(**told["kill"]) if told["kill"] else None
    Saboteur(Plan(**{**told, **paths, "kill": kill})).begin()


class Saboteur:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._reached = os.open(plan.reached, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._disk = Disk(plan.store, plan.disk)
        self._lock = Lock()
        self._times = 0
        self._writing: tuple[Path, int, bytes] | None = None
        """What is about to be written: the file, where in it, and what."""

    def begin(self) -> None:
        door.HOLD_SLACK_S = self._plan.hold_slack_s  # type: ignore[assignment]
        writeahead.FIRST_SIZE = LOG_BYTES
        writeahead.SIZE = 2 * LOG_BYTES
        faultpoints.reached = self.reached
        _sync_both_ways()
        self._disk.watch()
        self._look_at_lines()
        boot_id = self._plan.boot_id
        if boot_id is not None:
            SystemClock.boot_id = property(lambda clock: boot_id)  # type: ignore[method-assign, assignment]

    def reached(self, point: str) -> None:
        with self._lock:
            os.write(self._reached, f"{point}\n".encode())
            kill = self._plan.kill
            if kill is not None and kill.point in (point, ANY):
                self._times += 1
                if self._times == kill.nth:
                    self._die(kill)

    def _die(self, kill: Kill) -> None:
        if kill.how == "torn":
            self._tear(kill.keep)
        elif kill.how == "power":
            self._disk.cut()
        elif kill.how == "early":
            self._disk.cut(early=[f"{file}.jsonl" for file in EARLY])
        self._disk.save()
        os.kill(os.getpid(), signal.SIGKILL)

    def _tear(self, keep: float) -> None:
        if self._writing is not None:
            path, at, octets = self._writing
            with path.open("r+b") as file:
                file.seek(at)
                file.write(octets[: _kept(len(octets), keep)])
        for part in self._plan.store.glob("bodies/*/*.part"):
            os.truncate(part, _kept(part.stat().st_size, keep))

    def _look_at_lines(self) -> None:
        """Keeps what is about to be written, and where to, in mind."""
        append, write = JournalFile.append, WriteAhead._write

        def appended(file: JournalFile, lines: bytes) -> None:
            self._writing = file.path, file.size, lines
            append(file, lines)
            self._writing = None

        def written(log: WriteAhead, frame: bytes) -> None:
            self._writing = log.path, log._end, frame
            write(log, frame)
            self._writing = None

        JournalFile.append = appended  # type: ignore[method-assign]
        WriteAhead._write = written  # type: ignore[method-assign]


def _sync_both_ways() -> None:
    """Bodies as one and one by one in turn, whatever file system the store lies on."""
    waiting = cycle((0, 1 << 62))
    wholesync.is_as_sure = lambda store: True
    wholesync.waiting_bytes = lambda: next(waiting)
    bodyshelf.check_kept = lambda path, size: None  # blocks are not the same everywhere


def _kept(size: int, keep: float) -> int:
    """How many bytes of `size` are kept: a part of them, so many, or all but so many."""
    return int(size * keep) if 0 < keep < 1 else max(0, min(size, int(keep) if keep > 0 else size + int(keep)))
