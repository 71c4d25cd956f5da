"""The rows that no median may soften: the pauses as the servers saw them, and the order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
        if asked := [workload for workload in ORDERED if runs.of(workload, ours.name)]:
            yield _ordered(runs, asked, ours)


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


def _ordered(runs: Runs, workloads: list[str], ours: Crawler) -> Row:
    mine = {name: [*runs.of(name, ours.name), *runs.of(name, ours.name, busy=True)] for name in workloads}
    verdict: str = Verdict.STRETCH if all(len(_orders(same)) == 1 for same in mine.values()) else Verdict.BELOW
    if verdict is Verdict.STRETCH and (short := [name for name, same in mine.items() if len(same) < LEAST_RUNS]):
        verdict = f"{Verdict.OPEN} fewer than {LEAST_RUNS} runs of {', '.join(short)}"
    theirs = {name: same for name in workloads if (same := runs.of(name, SCRAPY.name))}
    peers = f"{SCRAPY.name} {_different(theirs)}" if theirs else ""
    about = "orders / runs, idle and with all cores busy"
    return Row("P11", ", ".join(workloads), ours.name, about, _different(mine), peers, "", "1", "1", verdict)


def _orders(runs: list[Run]) -> set[str]:
    return {seen(run).order for run in runs}


def _different(of: Mapping[str, list[Run]]) -> str:
    """How many orders in how many runs, as far as they differ from workload to workload."""
    shown = {name: f"{len(_orders(runs))} / {len(runs)}" for name, runs in of.items()}
    alike = sorted(set(shown.values()))
    return ", ".join(
        f"{value} ({', '.join(name for name in shown if shown[name] == value)})" if len(alike) > 1 else value
        for value in alike
    )
