"""The rows of the table: what is compared, and the limits it is held to. Pure: runs in, judged rows out.

A ratio is made of two runs of one round, one beside the other. What is shown is the median of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from benchmarks.peers.crawlers import AIOHTTP, BESIDE, OURS, SCRAPY_DURABLE, SCRAPY_LINKS, SCRAPY_SAME, SORT, Crawler
from benchmarks.peers.runs import Run, Runs, page_cpu_ms, pages_per_s, seen
from seaspider.config import ORDERS
from seaspider.core.orders import OrderName


class Verdict(StrEnum):
    STRETCH = "stretch"
    MUST = "must"
    BELOW = "BELOW MUST"
    OPEN = "-"


@dataclass(frozen=True, slots=True)
class Limit:
    must: float
    stretch: float
    at_most: bool = False

    def shown(self) -> tuple[str, str]:
        sign = "≤" if self.at_most else "≥"
        return f"{sign} {self.must:g}", f"{sign} {self.stretch:g}"

    def verdict(self, value: float) -> Verdict:
        sign = -1 if self.at_most else 1
        if sign * value >= sign * self.stretch:
            return Verdict.STRETCH
        return Verdict.MUST if sign * value >= sign * self.must else Verdict.BELOW


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, as text. `ratio` is what is judged, where two are compared."""

    row: str
    workload: str
    crawler: str
    figure: str
    ours: str
    peers: str
    ratio: str
    must: str
    stretch: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a run that is held to a limit: itself or, if there is a `base`, its ratio to that one's number.

    `judged`: the orders it is asked of; of the others it is shown without a verdict. `middle`: of the rounds.
    """

    row: str
    workload: str
    about: str
    limit: Limit
    value: Callable[[Run, Runs], float | None]
    shown: str
    base: Crawler | None = None
    judged: Collection[str] = ORDERS
    middle: Callable[[Collection[float]], float] = median


def _efficiency(run: Run, _: Runs) -> float:
    return seen(run).efficiency


def _breadth(run: Run, _: Runs) -> float:
    return seen(run).breadth


def _start_s(run: Run, _: Runs) -> float:
    """Until the first request; of one that asks for nothing, until its end."""
    return run.start_s if run.seen else run.wall_s


def _peak_mib(run: Run, _: Runs) -> float:
    return run.peak_mib


BOUND = "bound / first request to last answer"
SPEED = "pages/s"
SPEED_DURABLE = "pages/s, beside one whose bodies and lines are on the disk, too"
NEW = "different hosts in the first n requests to n hosts, per mil"
EFFICIENT = Limit(0.97, 0.99)
FIGURES = (
    Figure("P2", "W2i", BOUND, EFFICIENT, _efficiency, "{:.3f}"),
    Figure("P2", "W2", BOUND, EFFICIENT, _efficiency, "{:.3f}", judged=()),
    Figure("P2", "W2n", BOUND, EFFICIENT, _efficiency, "{:.3f}", judged=()),
    Figure("P3", "W3", BOUND, Limit(0.95, 0.98), _efficiency, "{:.3f}", judged=(OrderName.LONGEST_IDLE,)),
    Figure("P4", "W4", BOUND, Limit(0.93, 0.97), _efficiency, "{:.3f}"),
    Figure("P5", "W1", SPEED, Limit(1.4, 1.9), pages_per_s, "{:.0f}", SCRAPY_SAME),
    Figure("P5", "W1", SPEED_DURABLE, Limit(1.4, 1.9), pages_per_s, "{:.0f}", SCRAPY_DURABLE),
    Figure("P6", "W1", "processor ms a page, without the start", Limit(6, 3, True), page_cpu_ms, "{:.2f}", AIOHTTP),
    Figure("P8", "W5", "s from start to first request", Limit(4, 2.5, True), _start_s, "{:.2f}", SORT),
    Figure("P9", "W5", "peak RSS in MiB", Limit(300, 180, True), _peak_mib, "{:.0f}"),
    Figure("P10", "W6", SPEED, Limit(4, 8), pages_per_s, "{:.1f}", SCRAPY_LINKS),
    Figure("P12", "W2", NEW, Limit(1000, 1000), _breadth, "{:.0f}", middle=min),
    Figure("P12", "W3", NEW, Limit(1000, 1000), _breadth, "{:.0f}", middle=min),
)


def rows(runs: Runs) -> Iterator[Row]:
    """Of everything that was run."""
    for figure in FIGURES:
        for crawler in OURS:
            if runs.ran(figure.workload, crawler.name):
                yield _row(figure, crawler, runs)


def _row(figure: Figure, ours: Crawler, runs: Runs) -> Row:
    mine = _values(figure, ours, runs)
    theirs = {peer: values for peer in BESIDE[figure.workload] if (values := _values(figure, peer, runs))}
    judged = mine
    if figure.base:
        base = theirs.get(figure.base, {})
        judged = {turn: value / base[turn] for turn, value in mine.items() if turn in base}
    shown = figure.middle(judged.values()) if judged else None
    return Row(
        figure.row,
        figure.workload,
        ours.name,
        figure.about,
        _shown(figure, mine),
        ", ".join(f"{peer.name} {_shown(figure, values)}" for peer, values in theirs.items()),
        f"{shown:.2f} x {figure.base.name}" if figure.base and shown is not None else "",
        *(figure.limit.shown() if ours.order in figure.judged else ("", "")),
        _verdict(figure, ours, shown, runs.faults(figure.workload, ours.name)),
    )


def _values(figure: Figure, crawler: Crawler, runs: Runs) -> dict[int, float]:
    """By round."""
    values = {run.round: figure.value(run, runs) for run in runs.of(figure.workload, crawler.name)}
    return {turn: value for turn, value in values.items() if value is not None}


def _shown(figure: Figure, values: dict[int, float]) -> str:
    return figure.shown.format(figure.middle(values.values())) if values else ""


def _verdict(figure: Figure, ours: Crawler, value: float | None, faults: list[str]) -> str:
    if faults:
        return f"{Verdict.BELOW}: {faults[0]}"
    if ours.order not in figure.judged:
        return Verdict.OPEN
    return f"{Verdict.OPEN} nothing to compare with" if value is None else figure.limit.verdict(value)
