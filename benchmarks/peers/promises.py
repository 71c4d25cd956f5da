"""The rows that no median may soften: the pauses as the servers saw them, and the order. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers.crawlers import OURS, SCRAPY, Crawler
from benchmarks.peers.rows import Row, Verdict
from benchmarks.peers.runs import Run, Runs, seen

PACED = ("W2", "W2i", "W2n", "W3", "W4", "W7")
ORDERED = ("W1", "W2", "W2i", "W2n", "W3", "W4", "W6", "W7")
LEAST_RUNS = 5
"""Whose order has to be the same."""
NEARER = "pairs nearer than the pause; pages before robots.txt; in flight"


def promises(runs: Runs) -> Iterator[Row]:
    for ours in OURS:
        for busy in (False, True):
            if asked := [workload for workload in PACED if runs.of(workload, ours.name, busy=busy)]:
                yield _paced(runs, asked, ours, busy)
    for ours in OURS:
        for workload in ORDERED:
            if runs.ran(workload, ours.name):
                yield _ordered(runs, workload, ours)


def _paced(runs: Runs, workloads: list[str], ours: Crawler, busy: bool) -> Row:
    mine = [run for workload in workloads for run in runs.of(workload, ours.name, busy=busy)]
    theirs = [run for workload in workloads for run in runs.of(workload, SCRAPY.name, busy=busy)]
    kept = all(seen(run).nearer == seen(run).early == 0 and seen(run).in_flight == 1 for run in mine)
    figure = f"{NEARER}; {'all cores busy' if busy else 'idle'}"
    verdict: str = Verdict.STRETCH if kept else Verdict.BELOW
    if faults := [fault for workload in workloads for fault in runs.faults(workload, ours.name)]:
        verdict = f"{Verdict.BELOW}: {faults[0]}"
    peers = f"{SCRAPY.name} {_near(theirs)}" if theirs else ""
    return Row("P1", ", ".join(workloads), ours.name, figure, _near(mine), peers, "", "0", "0", verdict)


def _near(runs: list[Run]) -> str:
    """Of all runs together."""
    sights = [seen(run) for run in runs]
    nearer, pairs = sum(sight.nearer for sight in sights), sum(sight.pairs for sight in sights)
    return f"{nearer} of {pairs:,}; {sum(s.early for s in sights)}; {max(s.in_flight for s in sights)}"


def _ordered(runs: Runs, workload: str, ours: Crawler) -> Row:
    idle, busy = runs.of(workload, ours.name), runs.of(workload, ours.name, busy=True)
    orders = {seen(run).order for run in (*idle, *busy)}
    shown = f"{len(orders)} in {len(idle)} idle and {len(busy)} busy runs"
    verdict: str = Verdict.STRETCH if len(orders) == 1 else Verdict.BELOW
    if verdict is Verdict.STRETCH and len(idle) + len(busy) < LEAST_RUNS:
        verdict = f"{Verdict.OPEN} fewer than {LEAST_RUNS} runs"
    theirs = runs.of(workload, SCRAPY.name)
    peers = f"{SCRAPY.name} {len({seen(run).order for run in theirs})} in {len(theirs)}" if theirs else ""
    return Row("P11", workload, ours.name, "different orders", shown, peers, "", "1", "1", verdict)
