"""`scrapy merge` and `scrapy verify` over a fleet of 10,000 requests and one of ten times as many: how they grow.

Prints a Markdown table. The shards are made without a crawl (benchmarks.bigstore), each by a clock of its own, all of
which begin at once. Each command is run more than once in a process of its own; the shortest time counts. Time is that
of the processor, as a ratio; memory is the peak of the process as the system counts it.

    python -m benchmarks.merge [REQUESTS ...]
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import seaspider
from benchmarks import bigstore
from seaspider.fleet import planning

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000)
SHARDS = 16
TIMES = 2
COMMANDS = ("merge", "verify")


def write(folder: Path, requests: int) -> Path:
    """The store of a fleet all of whose shards are crawled."""
    folder.mkdir()
    bigstore.write_queue(folder / "queue.txt", requests)
    store = folder / "store"
    planning.make(str(folder / "queue.txt"), store, SHARDS)
    for shard in range(SHARDS):
        (store / f"shards/{shard:04}").mkdir(parents=True)
        bigstore.write_store(store / f"shards/{shard:04}", store / f"plan/{shard:04}.txt")
    return store


def _run(*arguments: str) -> tuple[float, float]:
    """Processor time (s) and peak memory (MiB). Raises RuntimeError."""
    with subprocess.Popen([sys.executable, "-m", "scrapy", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - this very Python
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments}: ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    print(
        f"{SHARDS} shards, {1 + bigstore.PAGES_PER_HOST} requests a host, {bigstore.LINKS} links a page.\n"
        f"seaspider {seaspider.__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}\n"
    )
    print("| command | requests | time | time per request | peak memory, MiB |\n|---|---|---|---|---|", flush=True)
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for requests in sizes:
            store = write(Path(folder) / str(requests), requests)
            for command in COMMANDS:
                taken = [_run(command, str(store)) for _ in range(TIMES)]
                cpu_s, peak = min(cpu_s for cpu_s, _ in taken), min(peak for _, peak in taken)
                times = cpu_s / first.setdefault(command, cpu_s)
                each = times / (requests / sizes[0])
                print(f"| {command} | {requests:,} | x {times:.1f} | x {each:.2f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
