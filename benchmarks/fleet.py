"""How a fleet's speed grows with its workers, and what its ledger does meanwhile.

    python -m benchmarks.fleet FOLDER [WORKERS ...]

64 hosts on this machine that take 100 ms for an answer, in 16 shards, with a pause of 100 ms: 63 hosts of 12 pages and
one of 100. Each number of workers (1, 2, 4, 8) with a Redis server and with a SQLite file. The window is the time from
the servers' first arrival to their last, so without Dask's own start but with that of each shard's process.

The *politeness bound* is what the largest host needs, whoever asks it: its answers and the pauses between them. The
*workers' bound* is all answers, divided among the workers, where that is more. Calls of the ledger are the crawls'
claims and settles: their number and times from the stats of each shard's crawl, by the crawl's clock, within bounds of
1, 2, 5, 10 ms and so on; the server's own times, without the network, from what Redis tells of its scripts.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from seaspider.core.calltimes import BOUNDS_MS
from seaspider.loopback import Answer, Arrival, LoopbackWeb, judge
from tests.crawling import ROOT, command, environment
from tests.redisservers import RedisProcess

HOSTS = 64
PAGES, MOST_PAGES = 12, 100
SHARDS = 16
LATENCY_S = 0.1
PAUSE_S = 0.1
NAMES = {f"h{number}.test": f"127.0.5.{number + 1}" for number in range(HOSTS)}
PAGES_OF = {name: MOST_PAGES if number == 0 else PAGES for number, name in enumerate(NAMES)}
REQUESTS = HOSTS + sum(PAGES_OF.values())  # a robots.txt each
POLITE_S = (MOST_PAGES + 1) * LATENCY_S + MOST_PAGES * PAUSE_S
_STAT = re.compile(r"'seaspider/ledger/([\w/.]+)': ([\d.]+)")
_HEAD = (
    "ledger | workers | speed | politeness bound / window | workers' bound / window | calls/s | median | 99 % | longest"
    " | in the server: median | 99 % | pairs too near"
)


@dataclass(frozen=True, slots=True)
class Row:
    window_s: float
    stats: Counter[str]
    """Of the ledger, added up over the shards; but for the longest."""
    longest_s: float
    server: tuple[str, str]
    too_near: int

    def within(self, part: float) -> str:
        """The bound that so great a part of the calls keeps."""
        wanted = part * self.stats["calls"]
        return next((f"≤ {ms:g}" for ms in BOUNDS_MS if self.stats[f"within_ms/{ms:g}"] >= wanted), "> 1000")


def measure(folder: Path, workers: int, ledger: str) -> tuple[float, int]:
    """The window in s, and pairs too near."""
    routes = {"/robots.txt": Answer(404, delay_s=LATENCY_S), "/*": Answer(body="hello", delay_s=LATENCY_S)}
    with LoopbackWeb(routes, names=NAMES) as web:
        urls = [web.url(name, f"/{page}") for page in range(MOST_PAGES) for name in NAMES if page < PAGES_OF[name]]
        (folder / "q").write_text("".join(f"{url}\n" for url in urls))
        given = ["fleet", str(folder / "q"), "--store", str(folder / "store"), "--no-dashboard"]
        subprocess.run(  # noqa: S603 - this very Python
            command(
                [*given, "--shards", str(SHARDS), "--workers", str(workers)],
                names=NAMES,
                settings={"SEASPIDER_LEDGER": ledger, "SEASPIDER_INTERVAL": PAUSE_S},
            ),
            cwd=ROOT,
            env=environment(),
            check=True,
            capture_output=True,
        )
        found: list[Arrival] = web.arrivals
    if len(found) != REQUESTS:
        raise SystemExit(f"{len(found)} requests, not {REQUESTS}: no figure")
    times = sorted(arrival.arrived_ns for arrival in found)
    near = sum(len(judge.pairs_nearer(found, key, int(PAUSE_S * 1e9))) for key in judge.Key)
    return (times[-1] - times[0]) / 1e9, near


def row(folder: Path, workers: int, kind: str) -> Row:
    folder.mkdir(parents=True)
    with ledger_of(kind, folder) as (ledger, client):
        window_s, near = measure(folder, workers, ledger)
        server = ("", "") if client is None else told_by(client)
    stats: Counter[str] = Counter()
    longest_s = 0.0
    for log in (folder / "store/logs").glob("*.log"):
        for name, value in _STAT.findall(log.read_text()):
            if name == "longest_seconds":
                longest_s = max(longest_s, float(value))
            elif name != "seconds":
                stats[name] += int(value)
    return Row(window_s, stats, longest_s, server, near)


@contextmanager
def ledger_of(kind: str, folder: Path) -> Iterator[tuple[str, Redis | None]]:
    if kind == "SQLite":
        yield str(folder / "ledger"), None
        return
    (folder / "redis").mkdir()
    with RedisProcess(folder / "redis") as server, server.client as client:
        server.began(ago_s=3600)
        client.config_resetstat()
        yield server.url, client


def told_by(client: Redis) -> tuple[str, str]:
    """Median and 99th percentile of a script in the server, in ms."""
    told = client.info("latencystats")["latency_percentiles_usec_evalsha"]  # type: ignore[index]
    return f"{told['p50'] / 1000:.2f}", f"{told['p99'] / 1000:.2f}"


def shown(kind: str, workers: int, found: Row, first_s: float) -> str:
    cells = (
        kind,
        workers,
        f"x {first_s / found.window_s:.1f}",
        f"{POLITE_S / found.window_s:.2f}",
        f"{max(POLITE_S, REQUESTS * LATENCY_S / workers) / found.window_s:.2f}",
        f"{found.stats['calls'] / found.window_s:.0f}",
        f"{found.within(0.5)} ms",
        f"{found.within(0.99)} ms",
        f"{found.longest_s * 1000:.0f} ms",
        *(f"{each} ms" if each else "" for each in found.server),
        found.too_near,
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    folder, *given = sys.argv[1:]
    print(f"{REQUESTS} requests; politeness bound {REQUESTS / POLITE_S:.0f}/s, one worker's {1 / LATENCY_S:.0f}/s\n")
    print(f"| {_HEAD} |\n|{'---|' * (_HEAD.count('|') + 1)}")
    first_s: dict[str, float] = {}
    for workers in map(int, given or ["1", "2", "4", "8"]):
        for kind in ("Redis", "SQLite"):
            found = row(Path(folder) / f"{kind}-{workers}", workers, kind)
            print(shown(kind, workers, found, first_s.setdefault(kind, found.window_s)), flush=True)


if __name__ == "__main__":
    main()
