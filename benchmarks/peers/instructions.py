"""P7: instructions a request, counted by callgrind: a figure that a busy machine does not move.

Two crawls of W1, of FEW and of MANY hosts: what a request more takes is the slope between them, without the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers.crawlers import AIOHTTP, Crawler, Job
from benchmarks.peers.measure import BenchError, ended, running_web
from benchmarks.peers.rows import Limit, Row, Verdict
from benchmarks.peers.seen import read
from benchmarks.peers.workloads import WORKLOADS

VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
SAME_HASHES = ("env", "PYTHONHASHSEED=0")
FEW, MANY = 0.005, 0.03
LIMIT = Limit(7, 4, at_most=True)


def per_request(crawler: Crawler, port: int) -> float:
    """Raises BenchError if there is no count."""
    (few, asked), (many, asked_more) = (_counted(crawler, port, scale) for scale in (FEW, MANY))
    return (many - few) / (asked_more - asked)


def _counted(crawler: Crawler, port: int, scale: float) -> tuple[int, int]:
    """(instructions, requests) of a crawl."""
    workload = WORKLOADS["W1"](scale)
    with TemporaryDirectory() as name:
        folder = Path(name)
        queue, out = folder / "queue.txt", folder / "out"
        workload.write(queue, port)
        out.mkdir()
        command = [*SAME_HASHES, *VALGRIND, *crawler.command(Job(workload, queue, out))]
        with running_web(workload, port, folder) as log:
            ended(command, crawler, folder)
        counts = re.findall(r"Collected : (\d+)", (folder / "output").read_text("utf-8", "replace"))
        if not counts or not (asked := len(read(log))):
            raise BenchError(f"{crawler.name}: callgrind counted nothing")
        return sum(map(int, counts)), asked


def rows(crawlers: Iterable[Crawler], port: int) -> list[Row]:
    """One for each of Seaspider's orders that is among them."""
    counts = {crawler: per_request(crawler, port) for crawler in crawlers}
    base = counts.get(AIOHTTP)
    peers = ", ".join(f"{each.name} {count / 1e6:.2f}" for each, count in counts.items() if not each.order)
    about = "million instructions a request"
    made = []
    for ours in (crawler for crawler in counts if crawler.order):
        ratio = counts[ours] / base if base else None
        verdict = f"{Verdict.OPEN} nothing to compare with" if ratio is None else LIMIT.verdict(ratio)
        shown = f"{ratio:.2f} x {AIOHTTP.name}" if ratio else ""
        made.append(
            Row("P7", "W1", ours.name, about, f"{counts[ours] / 1e6:.2f}", peers, shown, *LIMIT.shown(), verdict)
        )
    return made
