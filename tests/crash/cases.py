"""Which crawls die, where and how often: the cases of the matrix, made from what an undisturbed run reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.crash.saboteur import ANY, EARLY, Kill

MOST_RUNS = 20
COLUMNS = {"power": "power cut", "early": "early"}
ARRIVAL = "request in flight"
"""No point in the process: the server sees a request, and the test kills the process."""

END = ("before remove writeahead", 1)
"""Where a run ends: all of it is on the disk."""


@dataclass(frozen=True, slots=True)
class Case:
    """`kills`: one a run, the last of them again and again if `on_and_on`; then the crawl is left to itself."""

    row: str
    """Whose line of the matrix it is."""
    column: str
    kills: tuple[Kill, ...]
    on_and_on: bool = False
    new_boot: bool = False
    """The next run has another boot id."""
    command: bool = False
    """The command is run from nothing, not forked from a process that is warm."""
    sabotage: str = ""
    """Python that takes a guard out of each run."""
    settings: dict[str, object] = field(default_factory=dict)
    most_runs: int = MOST_RUNS

    def __str__(self) -> str:
        kills = " then ".join(f"{kill.how} at {kill.point} {kill.nth}" for kill in self.kills)
        return f"{kills} on and on" if self.on_and_on else kills

    def kill(self, run: int) -> Kill | None:
        """What ends a run; runs count from 0."""
        if self.on_and_on and run < self.most_runs:
            return self.kills[-1]
        return self.kills[run] if run < len(self.kills) else None


UNDISTURBED = Case("", "", ())

NO_LOG = "from seaspider import writeahead; writeahead.SPARE = 1 << 62\n"
"""No disk has room for a log."""

WITH_LOG = ("writeahead", "file system")
"""Where points end that are reached with a log only."""


def everything(reached: Sequence[str], requests: int) -> list[Case]:
    """Each occurrence of each point; torn writes, power cuts and second crashes at the first, middle and last."""
    times = Counter(reached)
    cases = [_plain(point, nth) for point in times for nth in range(1, times[point] + 1)]
    cases += [_in_flight(nth) for nth in range(1, requests + 1)]
    for point in times:
        for nth in _first_middle_last(times[point]):
            cases += [_torn(point, nth, keep) for keep in ((1, 0.5, -1) if nth > 1 else (0.5,)) if _tearable(point)]
            cases += [_power(point, nth, how) for how in COLUMNS] if _unsynced(point) else []
        cases += _twice(point, times[point])
        cases += _without_log(point, times[point]) if _unsynced(point) and not point.endswith(WITH_LOG) else []
    return [*_on_and_on((50, 61, 83)), *cases]  # the longest first


def representative(reached: Sequence[str], requests: int) -> list[Case]:
    """One case of each kind that there is for each point, at its middle occurrence or near it; some from nothing."""
    times = Counter(reached)
    cases = [_plain(point, _middle(times[point])) for point in times]
    cases += [_torn(point, _middle(times[point]), 0.5) for point in times if _tearable(point)]
    cases += [_power(point, _middle(times[point]), "power") for point in times if point.startswith("after sync ")]
    cases += [_in_flight(requests // 2), *_twice("after write pages.jsonl", times["after write pages.jsonl"])]
    cases += [
        Case(point, "command", (Kill(point, _middle(times[point])),), command=True)
        for point in ("before write pages.jsonl", "after commit settle")
    ]
    for point in (f"after write {file}.jsonl" for file in EARLY):
        cases += [_power(point, _middle(times[point]), "early"), *_without_log(point, times[point])]
    return [*_on_and_on((83,)), *cases]


def _plain(point: str, nth: int) -> Case:
    return Case(point, "killed", (Kill(point, nth),))


def _in_flight(nth: int) -> Case:
    return Case(ARRIVAL, "killed", (Kill(ARRIVAL, nth),))


def _torn(point: str, nth: int, keep: float) -> Case:
    return Case(point, "torn", (Kill(point, nth, "torn", keep),))


def _tearable(point: str) -> bool:
    return point.startswith("before write ") or point == "before rename body"


def _power(point: str, nth: int, how: str) -> Case:
    return Case(point, COLUMNS[how], (Kill(point, nth, how),), new_boot=True)


def _without_log(point: str, times: int) -> list[Case]:
    kills = (Kill(point, _middle(times), how) for how in COLUMNS)
    return [Case(point, "no log", (kill,), new_boot=True, sabotage=NO_LOG) for kill in kills]


def _unsynced(point: str) -> bool:
    return not point.startswith("before write ")


def _twice(point: str, times: int) -> list[Case]:
    """Dies, and dies again: early in the next run; and after it, when the power fails: that run vouches for all it
    found, synced or not."""
    return [
        Case(point, "twice", (Kill(point, _middle(times)), Kill("before send", 1))),
        Case(point, "twice", (Kill(point, times), Kill(*END, "power"))),
    ]


def _on_and_on(steps: Iterable[int]) -> list[Case]:
    return [
        Case(f"each {step} points", "on and on", (Kill(ANY, step, how),), on_and_on=True, new_boot=how != "kill")
        for step in steps
        for how in ("kill", *COLUMNS)
    ]


def _first_middle_last(times: int) -> list[int]:
    return sorted({1, _middle(times), times})


def _middle(times: int) -> int:
    return (times + 1) // 2
