"""`scrapy verify` over a store of 10,000 requests and one of ten times as many: how time and memory grow.

Prints a Markdown table. Each store is verified in a process of its own, more than once; the shortest time counts. Time
is that of the processor, as a ratio; memory is the peak of the process as the system counts it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import seaspider
from benchmarks import bigstore

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000)
TIMES = 2


@dataclass(frozen=True, slots=True)
class Taken:
    """By one process. `lines`: of the store's journal files."""

    requests: int
    lines: int
    cpu_s: float
    peak_mib: float


def verified(store: Path, requests: int) -> Taken:
    """The best of several runs. Raises RuntimeError if the store is not proven."""
    lines = sum(sum(1 for _ in path.open("rb")) for path in store.glob("*.jsonl"))
    runs = [_run(store) for _ in range(TIMES)]
    return Taken(requests, lines, min(cpu_s for cpu_s, _ in runs), min(peak for _, peak in runs))


def _run(store: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "scrapy", "verify", str(store), "--queue", str(store / "queue.txt")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - this very Python
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{store}: verify ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


HEAD = ("requests", "lines", "time", "time per request", "peak memory, MiB", "memory")


def row(taken: Taken, base: Taken) -> tuple[str, ...]:
    """Time and memory as multiples of the first row's."""
    times, each = taken.cpu_s / base.cpu_s, taken.requests / base.requests
    return (
        f"{taken.requests:,}",
        f"{taken.lines:,}",
        f"x {times:.1f}",
        f"x {times / each:.2f}",
        f"{taken.peak_mib:.0f}",
        f"x {taken.peak_mib / base.peak_mib:.1f}",
    )


def main() -> None:
    print(
        f"One run, {1 + bigstore.PAGES_PER_HOST} requests a host, {bigstore.LINKS} links a page.\n"
        f"seaspider {seaspider.__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}\n"
    )
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    base: Taken | None = None
    with tempfile.TemporaryDirectory() as folder:
        for requests in SIZES:
            store = Path(folder) / str(requests)
            bigstore.write(store, requests)
            taken = verified(store, requests)
            base = base or taken
            print("| " + " | ".join(row(taken, base)) + " |", flush=True)


if __name__ == "__main__":
    main()
