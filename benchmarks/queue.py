"""How long a crawl of a large queue takes to its first request, and how much memory: beside `sort -u` of the file.

    python -m benchmarks.queue [LINES [ROUNDS]]

The queue is that of benchmarks.peers: a hundredth as many hosts as lines, each tenth line a duplicate, as the same text
or as another spelling of it, and an escape in each. Three things are done with it in each round, in another order each
time: the file is sorted (`LC_ALL=C sort -u`); it is crawled into a new store; it is crawled into a store that has a
final record of each URL but one. A crawl is killed when it has written its first claim; all hosts are closed ports of
127.0.0.0/8. The store of the last is made here, too, with the lines that a crawl writes. Times are taken from the start
of each process, peak RSS is what the system tells of it when it has ended.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from statistics import median

import seaspider
from benchmarks.peers.workloads import WORKLOADS
from seaspider import writeahead
from seaspider.core.plainurls import Origins
from seaspider.core.records import STORED, File, to_line
from seaspider.core.urls import normalise
from seaspider.core.visits import Decision, Hop, Visit
from seaspider.queuefile import QueueFile
from seaspider.spool import Spool

ROOT = Path(__file__).resolve().parents[1]
LINES, ROUNDS = 1_000_000, 3
PORT = 21_873
LONGEST_S = 1_800
SETTINGS = {
    "SEASPIDER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "SEASPIDER_INTERVAL": "0",
    # A crawl that is killed leaves a claim; the next one is not to wait for it.
    "SEASPIDER_LEDGER": ":memory:",
    "SEASPIDER_CONTACT": "https://example.org/bench",
}
T = "2026-01-02T03:04:05.678Z"


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    peak_mib: float


def make(lines: int, path: Path, folder: Path) -> None:
    WORKLOADS["W5"](lines / LINES).write(path, PORT)
    make_store(path, folder)


def make_store(path: Path, folder: Path) -> None:
    """A store that has all URLs of a queue but the last, each stored at once by one run."""
    folder.mkdir()
    seen, number = Spool(), 0
    page, intent = _templates()
    with (folder / File.PAGES).open("wb") as pages, (folder / File.INTENTS).open("wb") as intents:
        for block in QueueFile(str(path)).blocks(Origins()):
            known = {index for index, _ in seen.add(block.urls)}
            for index, url in enumerate(block.urls):
                if index not in known:
                    number += 1
                    for file, template in ((pages, page), (intents, intent)):
                        line = template.replace(b"http://h.test/", url).replace(b'"visit":0,', b'"visit":%d,' % number)
                        file.write(line.replace(b'"line":1,', b'"line":%d,' % block.lines[index]))
    for file in (File.PAGES, File.INTENTS):
        _cut_last(folder / file)


def _templates() -> tuple[bytes, bytes]:
    url = normalise("http://h.test/")
    visit = Visit(url, 1, number=0, started_ms=0, attempts=1, wire_bytes=4_321)
    hop = Hop(url, ip="127.0.0.1", decision=Decision.ALLOW, status=200)
    hop.robots_id, hop.group, hop.witness, hop.judged_ms = 1, "*", Decision.ALLOW, 0
    visit.chain.append(hop)
    found = {"content_type": "text/html; charset=utf-8", "charset": "utf-8", "links": 7, "nofollow": False}
    page = to_line({**visit.record(1, STORED, 0), **found, "sha256": "0" * 64})
    return page, to_line({"run": 1, "visit": 0, "url": url.text, "line": 1, "intended_at": T})


def _cut_last(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-4_096, os.SEEK_END)
        end = file.tell() + file.read().rstrip(b"\n").rfind(b"\n") + 1
        file.truncate(end)


def sort(path: Path, scratch: Path) -> Measured:
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["sort", "-u", "-o", str(scratch / "sorted.txt"), str(path)]
    return _measured(command, environment, lambda: False)


def crawl(path: Path, store: Path) -> Measured:
    """To the first claim of a crawl."""
    switches = [part for name, value in SETTINGS.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", "seaspider", "-a", f"queue={path}", "-a", f"store={store}"]
    requests = store / File.REQUESTS
    return _measured([*command, *switches], dict(os.environ), lambda: requests.exists() and requests.stat().st_size > 0)


def _measured(command: list[str], environment: dict[str, str], enough: Callable[[], bool]) -> Measured:
    """Until the process ends or `enough` says so; it is killed then."""
    begun = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - sort, or this very Python
        command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL
    )
    while not (status := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)):
        if enough() or time.monotonic() > begun + LONGEST_S:
            break
        time.sleep(0.005)
    seconds = time.monotonic() - begun
    if status is None:
        process.send_signal(signal.SIGKILL)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    # A crawl of one URL may be over before it is looked at.
    if not (process.returncode in (0, -signal.SIGKILL) or enough()) or seconds > LONGEST_S:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode} after {seconds:.0f} s")
    return Measured(seconds, usage.ru_maxrss / 1024)


def main(lines: int = LINES, rounds: int = ROUNDS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        path, full = scratch / "queue.txt", scratch / "full"
        # In a process of its own: what a process used before it becomes another program counts as used by that one.
        maker = get_context("spawn").Process(target=make, args=(lines, path, full))
        maker.start()
        maker.join()
        ways = {"`sort -u`": lambda: sort(path, scratch), "fresh start": lambda: crawl(path, scratch / "fresh")}
        ways["resume, all but one done"] = lambda: crawl(path, full)
        made = {file: (full / file).stat().st_size for file in (File.PAGES, File.INTENTS)}
        found: dict[str, list[Measured]] = {name: [] for name in ways}
        for turn in range(rounds):
            names = list(ways)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                rmtree(scratch / "fresh", ignore_errors=True)
                for file in (File.REQUESTS, File.SKIPPED, File.MANIFEST, File.ROBOTS, writeahead.NAME):
                    (full / file).unlink(missing_ok=True)
                for file, size in made.items():
                    os.truncate(full / file, size)
                found[name].append(ways[name]())
    _print(lines, rounds, found)


def _print(lines: int, rounds: int, found: dict[str, list[Measured]]) -> None:
    print(f"{lines:,} lines on {max(10, lines // 100):,} hosts; medians of {rounds} rounds")
    print(f"seaspider {seaspider.__version__}, Python {platform.python_version()}, {platform.system()}\n")
    print("| | time to the first request / `sort -u` | of each round | peak RSS in MiB |\n|---|---|---|---|")
    sorts = found["`sort -u`"]
    for name, measured in found.items():
        ratios = [each.seconds / beside.seconds for each, beside in zip(measured, sorts, strict=True)]
        of_rounds = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {median(ratios):.2f} | {of_rounds} | {median(each.peak_mib for each in measured):.0f} |")
    fresh, resumed = found["fresh start"], found["resume, all but one done"]
    twice = median(late.seconds / early.seconds for early, late in zip(fresh, resumed, strict=True))
    print(f"\nA resume takes {twice:.2f} x the time of a fresh start.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
