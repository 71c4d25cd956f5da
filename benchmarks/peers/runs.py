"""The crawls of one benchmark, asked for by workload and crawler. Pure. A crawl that is not whole is no figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.peers.seen import Seen


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl. `load`: the machine's load average before it. `start_s`: until the first request. `fault`: why it is
    not whole."""

    workload: str
    crawler: str
    round: int
    busy: bool
    load: float
    wall_s: float
    cpu_s: float
    peak_mib: float
    start_s: float = 0
    seen: Seen | None = None
    fault: str = ""


class Runs:
    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)

    def _of(self, workload: str, crawler: str) -> list[Run]:
        return [run for run in self._runs if (run.workload, run.crawler) == (workload, crawler)]

    def of(self, workload: str, crawler: str, *, busy: bool = False) -> list[Run]:
        """The whole ones."""
        return [run for run in self._of(workload, crawler) if not run.fault and run.busy == busy]

    def ran(self, workload: str, crawler: str) -> bool:
        return bool(self._of(workload, crawler))

    def faults(self, workload: str, crawler: str) -> list[str]:
        return [run.fault for run in self._of(workload, crawler) if run.fault]


def seen(run: Run) -> Seen:
    """Raises ValueError for a run that no server saw."""
    if run.seen is None:
        raise ValueError(f"{run.workload}, {run.crawler}: no server saw it")
    return run.seen


def pages_per_s(run: Run, _: Runs) -> float:
    return seen(run).pages / seen(run).window_s


def page_cpu_ms(run: Run, runs: Runs) -> float | None:
    """The processor's time for one page more: without what the null workload took in the same round."""
    for start in runs.of("W0", run.crawler):
        if start.round == run.round:
            return 1000 * (run.cpu_s - start.cpu_s) / (seen(run).pages - seen(start).pages)
    return None
