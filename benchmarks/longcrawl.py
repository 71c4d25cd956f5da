"""What a long crawl costs at its end, beside what it cost at its beginning; and a turn among many hosts, among few.

    python -m benchmarks.longcrawl [HOSTS [PAGES_OF_EACH]]

One crawl of 10,000 hosts x 10 pages without a pause (the web is that of benchmarks.peers, links are not followed). When
all robots.txt files are fetched its pages are counted in tenths: processor time of the crawl's process a page, and
resident memory at the end of each. Then, without a crawl, the orders alone: the time of a turn among 50,000 hosts
against that among 500, as many turns of each, in alternation; and a page with its turn, likewise.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import seaspider
from benchmarks.peers.crawlers import OURS, ROOT, Job, environment
from benchmarks.peers.measure import free_port, running_web
from benchmarks.peers.workloads import Profile, Workload, address
from seaspider.core.hostqueue import HostOrder
from seaspider.core.orders import OrderName, new_order
from seaspider.core.records import File

HOSTS, PAGES = 10_000, 10
TENTHS = 10
TURNS, FEW, MANY, ROUNDS = 200_000, 500, 50_000, 5
LONGEST_S = 3_600
PAUSE_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Tenth:
    """Of a crawl's pages. `cpu_s`: of its process since it began, when this tenth was recorded."""

    pages: int
    cpu_s: float
    rss_mib: float


def workload(hosts: int, pages: int) -> Workload:
    names = [address(number) for number in range(hosts)]

    def urls(port: int) -> Iterator[str]:
        return (f"http://{name}:{port}/p/{page}" for page in range(pages) for name in names)

    requests = dict.fromkeys(names, pages + 1)
    return Workload("long", f"{hosts:,} hosts x {pages} pages", 0, urls, requests, hosts * pages, Profile(4096, 10))


def crawled(work: Workload) -> list[Tenth]:
    """The beginning, when the first page is recorded, and the end of each tenth."""
    with TemporaryDirectory() as name, free_port() as port:
        folder = Path(name)
        work.write(folder / "queue.txt", port)
        (folder / "out").mkdir()
        ours = OURS[0]
        with running_web(work, port, folder), (folder / "output").open("wb") as output:
            command = ours.command(Job(work, folder / "queue.txt", folder / "out"))
            process = subprocess.Popen(command, cwd=ROOT, env=environment(ours), stdout=output, stderr=output)  # noqa: S603
            try:
                tenths = list(watched(process, folder / "out" / "store" / File.PAGES, work.pages))
                code = process.wait(LONGEST_S)
            finally:
                process.kill()
                process.wait()
        if code != 0 or len(tenths) != TENTHS + 1:
            raise SystemExit(f"exit code {code}: {(folder / 'output').read_text('utf-8', 'replace')[-500:]}")
    return tenths


def watched(process: subprocess.Popen[bytes], pages: Path, total: int) -> Iterator[Tenth]:
    until, seen, read, told = time.monotonic() + LONGEST_S, 0, 0, 0
    while told <= TENTHS and process.poll() is None and time.monotonic() < until:
        if pages.exists() and pages.stat().st_size > read:
            with pages.open("rb") as file:
                file.seek(read)
                new = file.read()
            seen, read = seen + new.count(b"\n"), read + len(new)
            # The last but one page ends the last tenth: after the last the process is soon gone.
            if seen and seen >= told * (total - 1) // TENTHS:
                yield used(process.pid, seen)
                told += 1
        time.sleep(0.002)


def used(pid: int, pages: int) -> Tenth:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Tenth(pages, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), resident / 2**20)


def turn_s(order: HostOrder[str], hosts: int) -> float:
    """The time of a turn, the queue's work not counted."""
    names = [address(number) for number in range(hosts)]
    for number in range(TURNS):
        name = names[number % hosts]
        order.push(name, name, name)
    begun = time.process_time()
    for _ in range(TURNS):
        host = order.next()
        assert host is not None
        order.took_turn()
        order.settled(host, host, PAUSE_NS, PAUSE_NS)
    return (time.process_time() - begun) / TURNS


def main(hosts: int = HOSTS, pages: int = PAGES) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = workload(hosts, pages)
    print(f"{work.about}; seaspider {seaspider.__version__}, Python {platform.python_version()}, {platform.system()}\n")
    tenths = crawled(work)
    costs = [(b.cpu_s - a.cpu_s) / (b.pages - a.pages) for a, b in pairwise(tenths)]
    print("| tenth | processor time a page, first = 1 | resident memory, MiB |\n|---|---|---|")
    for number, (cost, tenth) in enumerate(zip(costs, tenths[1:], strict=True), 1):
        print(f"| {number} | {cost / costs[0]:.3f} | {tenth.rss_mib:.1f} |")
    print(f"\n| order | a turn among {MANY:,} hosts / among {FEW} | a page with its turn |\n|---|---|---|")
    page_s = median(costs)
    for name in OrderName:
        found = [tuple(turn_s(new_order(name, 0, PAUSE_NS), each) for each in (MANY, FEW)) for _ in range(ROUNDS)]
        alone = median(many / few for many, few in found)
        whole = median((page_s + many - few) / page_s for many, few in found)
        print(f"| {name} | {alone:.2f} | {whole:.4f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
