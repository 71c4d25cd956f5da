"""Runs one case after the other against a web of its own, and keeps what was seen of each run."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seaspider.loopback import Arrival, LoopbackWeb
from seaspider.store import FolderStore
from tests.crash import site
from tests.crash.cases import ARRIVAL, COLUMNS, Case
from tests.crash.saboteur import Kill, Plan
from tests.crash.warm import MOST_S, Crawling, Warm
from tests.crawling import ROOT, command, environment

FILES = ("manifest", "skipped", "robots", "intents", "requests", "pages", "links")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A store as it lies on the disk, restored after a power cut.

    `bad`: whole lines that are no record; `torn`: files that end in half a line, and parts of bodies. `bodies`: name ->
    whether it is the digest of what the file holds.
    """

    records: dict[str, list[dict[str, Any]]]
    bad: list[str]
    torn: list[str]
    bodies: dict[str, bool]

    @classmethod
    def of(cls, store: Path) -> Snapshot:
        snapshot = cls({}, [], [], {})
        for file in FILES:
            path = store / f"{file}.jsonl"
            *lines, rest = path.read_bytes().split(b"\n") if path.exists() else [b""]
            snapshot.records[file] = [record for line in lines if (record := snapshot._record(file, line))]
            if rest:
                snapshot.torn.append(file)
        for path in store.glob("bodies/*/*"):
            if path.suffix == ".part":
                snapshot.torn.append(path.name)
            else:
                snapshot.bodies[path.name] = hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        return snapshot

    def _record(self, file: str, line: bytes) -> dict[str, Any] | None:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and record.get("v") == 1 and isinstance(record.get("run"), int):
            return record
        self.bad.append(f"{file}.jsonl: {line[:60]!r}")
        return None


@dataclass(frozen=True, slots=True)
class Seen:
    """One run: what ended it, what arrived at the servers, and the store it left."""

    kill: Kill | None
    exit: int
    reached: tuple[str, ...]
    arrivals: tuple[Arrival, ...]
    store: Snapshot
    log: str

    @property
    def killed(self) -> bool:
        return self.exit == -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class Trace:
    case: Case
    folder: Path
    runs: list[Seen] = field(default_factory=list)

    @property
    def last(self) -> Seen:
        return self.runs[-1]

    @property
    def arrivals(self) -> list[Arrival]:
        return [arrival for run in self.runs for arrival in run.arrivals]


class Bench:
    """One case at a time, against servers and folders of its own."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self._folder = folder
        self._warm = warm
        self._cases = 0
        self._stack = ExitStack()

    def __enter__(self) -> Bench:
        self._folder.mkdir()
        self.web = self._stack.enter_context(LoopbackWeb(site.routes(), names=site.NAMES))
        self.queue = self._folder / "queue.txt"
        self.queue.write_text("".join(f"{line}\n" for line in site.queue(self.web.port)))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def run(self, case: Case) -> Trace:
        """Kills the crawl as the case says, and starts it anew until a run ends by itself."""
        self._cases += 1
        trace = Trace(case, self._folder / str(self._cases))
        trace.folder.mkdir()
        while not trace.runs or (trace.last.killed and len(trace.runs) <= case.most_runs):
            trace.runs.append(self._run(trace, case.kill(len(trace.runs))))
        return trace

    def forget(self, trace: Trace) -> None:
        """Removes its files."""
        shutil.rmtree(trace.folder)

    def _run(self, trace: Trace, kill: Kill | None) -> Seen:
        number = len(trace.runs)
        store, reached = trace.folder / "store", trace.folder / f"reached-{number}"
        boot_id = f"5b1f0d52-6f0e-4b0a-9a51-7d6c2f8e{number:04x}" if trace.case.new_boot and number else None
        in_process = None if kill is None or kill.point == ARRIVAL else kill
        plan = Plan(reached, store, trace.folder / "disk.json", site.HOLD_S - site.TIMEOUT_S, in_process, boot_id)
        self.web.clear()
        log = trace.folder / f"log-{number}"
        with ExitStack() as stack:
            crawling = self._start(trace, trace.case.sabotage + plan.sabotage(), log, stack)
            if kill is not None and kill.point == ARRIVAL:
                nth = kill.nth
                self.web.wait_until(lambda seen: len(seen) >= nth, MOST_S)
                crawling.kill()
            code = crawling.wait(timeout=MOST_S)
        self.web.wait_idle()
        points = tuple(reached.read_text().splitlines()) if reached.exists() else ()
        found = Snapshot.of(store if kill is None or kill.how not in COLUMNS else self._restored(store))
        return Seen(kill, code, points, tuple(self.web.arrivals), found, log.read_text())

    def _restored(self, store: Path) -> Path:
        """As anybody finds it after a power cut, in another boot. The store is left for the next run to restore."""
        shutil.rmtree(copy := self._folder / "restored", ignore_errors=True)
        if store.exists():
            shutil.copytree(store, copy)
            FolderStore(copy, boot_id="another").close()
        return copy

    def _start(self, trace: Trace, sabotage: str, log: Path, stack: ExitStack) -> Crawling | subprocess.Popen[bytes]:
        arguments = {"queue": self.queue, "store": trace.folder / "store", **site.ARGUMENTS}
        settings = {
            "SEASPIDER_INTERVAL": site.INTERVAL_S,
            "DOWNLOAD_TIMEOUT": site.TIMEOUT_S,
            "SEASPIDER_LEDGER": trace.folder / "ledger.sqlite3",
            **trace.case.settings,
        }
        line = command(
            ["crawl", "seaspider", *(part for key, value in arguments.items() for part in ("-a", f"{key}={value}"))],
            names=site.NAMES,
            settings=settings,
            sabotage=sabotage,
        )
        if not trace.case.command:
            return self._warm.start(line, log)
        file = stack.enter_context(log.open("wb"))
        return stack.enter_context(subprocess.Popen(line, cwd=ROOT, env=environment(), stdout=file, stderr=file))


def times(run: Seen) -> Counter[str]:
    """How often each point was reached."""
    return Counter(run.reached)
