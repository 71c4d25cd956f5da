"""The kill test: stock Scrapy with JOBDIR beside Seaspider, each killed with SIGKILL and restarted until it ends.

Prints a Markdown table of counts. Every figure is taken from outside: requests from the servers' log, records from the
files the crawler leaves, the exit code from the process. Run it as README.md in this folder says.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import seaspider
from seaspider.loopback import Answer, LoopbackWeb

ROOT = Path(__file__).resolve().parents[1]
HOSTS = tuple(f"127.0.16.{n}" for n in range(1, 7))
PAGES_PER_HOST = 100
KILLS, KILL_AFTER = 3, 100
"""Each of the first runs is killed once the servers have this many page requests of it."""
MOST_RUNS, RUN_S = 10, 120
HTML = (("Content-Type", "text/html"),)
ROBOTS = Answer(body="User-agent: *\nDisallow: /private\n")
PAGE_S = {1: 0.02, 16: 0.25}
"""Requests at a time -> how long a page takes: long enough that they are at work all the time, as on the open web."""

PICKLE: dict[str, object] = {}  # Scrapy's default
SQLITE: dict[str, object] = {
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoSQLiteQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
}


@dataclass(frozen=True, slots=True)
class Crawler:
    """`args` with {folder} filled in is run in `cwd`; `records` is its file of records, one JSON object a line."""

    name: str
    args: Sequence[str]
    records: str
    settings: Mapping[str, object] = field(default_factory=dict)
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    at_a_time: int = 1

    def command(self, folder: Path) -> list[str]:
        switches = [part for name, value in self.settings.items() for part in ("-s", f"{name}={value}")]
        parts = [part.replace("{folder}", str(folder)) for part in (*self.args, *switches)]
        return [sys.executable, "-m", "scrapy", *parts]


def stock(name: str, at_a_time: int, **settings: object) -> Crawler:
    spider = str(Path(__file__).with_name("stock_spider.py"))
    return Crawler(
        f"Scrapy, JOBDIR, {name}",
        ["runspider", spider, "-a", "queue={folder}/queue.txt", "-o", "{folder}/items.jsonl"],
        "items.jsonl",
        {
            "JOBDIR": "{folder}/job",
            "CONCURRENT_REQUESTS": at_a_time,
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            **settings,
        },
        at_a_time=at_a_time,
    )


CRAWLERS = (
    stock("pickle queues", 16, **PICKLE),
    stock("pickle queues", 1, **PICKLE),
    stock("SQLite queues", 16, **SQLITE),
    stock("SQLite queues", 1, **SQLITE),
    Crawler(
        "Seaspider",
        ["crawl", "seaspider", "-a", "queue={folder}/queue.txt", "-a", "store={folder}/store"],
        "store/pages.jsonl",
        {"SEASPIDER_INTERVAL": 0, "SEASPIDER_LEDGER": "{folder}/ledger.sqlite3", "DOWNLOAD_TIMEOUT": 3},
        ROOT,
        {"SCRAPY_PROJECT": "loopback"},
    ),
)


@dataclass(slots=True)
class Outcome:
    exits: list[int] = field(default_factory=list)
    """Of each run; a killed one is -9."""
    asked: Counter[str] = field(default_factory=Counter)
    """Page URL -> requests at the servers, over all runs."""
    recorded: Counter[str] = field(default_factory=Counter)
    """Page URL -> whole records in the end."""
    torn: int = 0
    """Lines of the records' file that are none."""


def kill_test(crawler: Crawler, web: LoopbackWeb, urls: Sequence[str], folder: Path) -> Outcome:
    """Kills the first runs, each after KILL_AFTER page requests, and restarts until one ends by itself."""
    (folder / "queue.txt").write_text("".join(f"{url}\n" for url in urls), "utf-8")
    outcome = Outcome()
    ended = False
    while not ended and len(outcome.exits) < MOST_RUNS:
        web.clear()
        kill = len(outcome.exits) < KILLS
        outcome.exits.append(_run(crawler, web, folder, KILL_AFTER if kill else None))
        outcome.asked.update(_pages(web))
        ended = outcome.exits[-1] != -signal.SIGKILL
    _read_records(folder / crawler.records, outcome)
    return outcome


def _run(crawler: Crawler, web: LoopbackWeb, folder: Path, kill_after: int | None) -> int:
    """One run, killed at that many page requests or left to its end. Its exit code."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    with subprocess.Popen(  # noqa: S603 - this very Python, and nothing from outside
        crawler.command(folder),
        cwd=crawler.cwd or folder,
        env={**inherited, **crawler.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + RUN_S
        while process.poll() is None:
            if time.monotonic() > until:
                process.kill()
                raise TimeoutError(f"{crawler.name}: no end within {RUN_S} s")
            with suppress(TimeoutError):
                web.wait_until(lambda _: _enough(web, kill_after), 0.05)
                process.kill()
        return process.wait()


def _enough(web: LoopbackWeb, kill_after: int | None) -> bool:
    return kill_after is not None and sum(1 for _ in _pages(web)) >= kill_after


def _pages(web: LoopbackWeb) -> Iterator[str]:
    for arrival in web.arrivals:
        if arrival.target and arrival.target != "/robots.txt":
            yield f"http://{arrival.host}{arrival.target}"


def _read_records(path: Path, outcome: Outcome) -> None:
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            record: dict[str, Any] = json.loads(line)
            outcome.recorded[record["url"]] += 1
        except (ValueError, KeyError, TypeError):
            outcome.torn += 1


HEAD = (
    "crawler",
    "at a time",
    "runs (killed)",
    "pages asked",
    "never asked",
    "asked twice or more",
    "pages without a record",
    "recorded twice or more",
    "broken lines",
    "last exit code",
)


def row(crawler: Crawler, urls: Sequence[str], outcome: Outcome) -> tuple[object, ...]:
    kills = outcome.exits.count(-signal.SIGKILL)
    return (
        crawler.name,
        crawler.at_a_time,
        f"{len(outcome.exits)} ({kills})",
        len(outcome.asked),
        sum(1 for url in urls if url not in outcome.asked),
        sum(1 for times in outcome.asked.values() if times > 1),
        sum(1 for url in urls if url not in outcome.recorded),
        sum(1 for times in outcome.recorded.values() if times > 1),
        outcome.torn,
        outcome.exits[-1],
    )


def main() -> None:
    print(
        f"{len(HOSTS) * PAGES_PER_HOST} pages on {len(HOSTS)} hosts; kill -9 after each {KILL_AFTER} page requests, "
        f"{KILLS} times; pause 0.\n"
        f"seaspider {seaspider.__version__}, scrapy {version('scrapy')}, twisted {version('twisted')}, "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    for crawler in CRAWLERS:
        page = Answer(headers=HTML, body="<p>a page\n", delay_s=PAGE_S[crawler.at_a_time])
        with (
            LoopbackWeb({"/robots.txt": ROBOTS, "/*": page}, addresses=HOSTS) as web,
            tempfile.TemporaryDirectory() as folder,
        ):
            urls = [web.url(host, f"/{n}") for n in range(PAGES_PER_HOST) for host in HOSTS]
            outcome = kill_test(crawler, web, urls, Path(folder))
        print("| " + " | ".join(map(str, row(crawler, urls, outcome))) + " |", flush=True)


if __name__ == "__main__":
    main()
