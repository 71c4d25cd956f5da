"""Many cases side by side, each on a bench of its own, and the table that tells what came of them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from tests.crash.bench import Bench, Trace, times
from tests.crash.cases import UNDISTURBED, Case
from tests.crash.verdict import held_back, wrong
from tests.crash.warm import shared

Choice = Callable[[Sequence[str], int], Iterable[Case]]


@dataclass(slots=True)
class Matrix:
    """`cells`: (row, column) -> what was wrong with each of its cases."""

    undisturbed: Trace
    cells: dict[tuple[str, str], list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    red: list[str] = field(default_factory=list)
    kills: int = 0
    held_back: int = 0
    seconds: float = 0

    def add(self, trace: Trace, found: list[str]) -> None:
        self.cells[trace.case.row, trace.case.column].append(found)
        self.red += [f"{trace.case}: {text}" for text in found]
        self.kills += sum(run.killed for run in trace.runs)
        self.held_back += held_back(trace)

    def table(self) -> str:
        """Points x ways to die: how many of the cases left nothing wrong, of how many."""
        rows = list(dict.fromkeys(row for row, _ in self.cells))
        columns = list(dict.fromkeys(column for _, column in self.cells))
        reached = times(self.undisturbed.last)
        width = max(map(len, rows))
        lines = [f"{'fault point':{width}}  reached  " + "  ".join(f"{column:>9}" for column in columns)]
        for row in rows:
            cells = "  ".join(f"{self._cell(row, column):>9}" for column in columns)
            lines.append(f"{row:{width}}  {reached[row] or '':>7}  {cells}")
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        cases = [found for cell in self.cells.values() for found in cell]
        green = sum(not found for found in cases)
        points = len(times(self.undisturbed.last))
        return (
            f"{points} points, {len(cases)} cases, {self.kills} kills, {green} green, {len(cases) - green} red; "
            f"{self.held_back} requests held back across a restart; {self.seconds:.0f} s"
        )

    def _cell(self, row: str, column: str) -> str:
        cases = self.cells.get((row, column))
        return f"{sum(not found for found in cases)}/{len(cases)}" if cases else ""


def run(folder: Path, choice: Choice, benches: int) -> Matrix:
    """Runs the cases that `choice` makes of the points an undisturbed run reached, and the number of its requests."""
    began = time.monotonic()
    with ExitStack() as stack:
        folder.mkdir(exist_ok=True)
        made = [stack.enter_context(Bench(folder / f"bench-{number}", shared())) for number in range(benches)]
        pool = stack.enter_context(ThreadPoolExecutor(benches))
        baselines = dict(zip(made, pool.map(lambda bench: bench.run(UNDISTURBED), made), strict=True))
        free: SimpleQueue[Bench] = SimpleQueue()
        for bench in made:
            free.put(bench)

        def judged(case: Case) -> tuple[Trace, list[str]]:
            bench = free.get()
            try:
                trace = bench.run(case)
                found = wrong(trace, baselines[bench])
                if not found:
                    bench.forget(trace)
                return trace, found
            finally:
                free.put(bench)

        matrix = Matrix(baselines[made[0]])
        first = matrix.undisturbed.last
        matrix.red += [
            f"{bench}: an undisturbed run like no other"
            for bench, trace in baselines.items()
            if trace.last.reached != first.reached
        ]
        for trace, found in pool.map(judged, choice(first.reached, len(first.arrivals))):
            matrix.add(trace, found)
    matrix.seconds = time.monotonic() - began
    return matrix
