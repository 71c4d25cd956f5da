"""The counts and the exit code that the last line of a run has, beside what the run recorded."""

from __future__ import annotations

from collections import Counter
from typing import Final

from seaspider.core.queue import Fate
from seaspider.errors import ExitCode
from seaspider.journal import Row
from seaspider.verify.facts import PageLine, contradiction

_FAILED: Final = {
    "store-error": ExitCode.STORE,
    "shortage": ExitCode.STORE,
    "lease-lost": ExitCode.STORE_IN_USE,
}


class Counted:
    """Of one run."""

    def __init__(self) -> None:
        self._skipped: Counter[Fate] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._of_lines = self._of_links = self._not_final = 0
        self._last_visit = 0

    def skipped(self, fate: Fate) -> None:
        self._skipped[fate] += 1

    def visit(self, number: int) -> None:
        """A visit of that number was begun; they are numbered from 1."""
        self._last_visit = max(self._last_visit, number)

    def page(self, line: PageLine) -> None:
        self.visit(line.visit)
        self._outcomes[str(line.ending)] += 1
        self._not_final += not line.ending.outcome.final
        if line.line is None:
            self._of_links += 1
        else:
            self._of_lines += 1

    def check(self, end: Row, open_intents: int) -> int:
        """How many lines of the queue wait for their fate. Raises Refuted."""
        counts = Row(end.place, end.get("counts", dict))
        queue, followed = (Row(end.place, counts.get(name, dict)) for name in ("queue", "followed"))
        self._check_queue(queue)
        _same(end, "followed pages", followed.get("recorded", int), self._of_links)
        contradiction(counts.get("pages", dict) == self._outcomes, end.place, "pages are not counted as recorded")
        left = counts.get("unfinished", int)
        waiting = queue.get("unfinished", int)
        _same(end, "unfinished visits", left, waiting + followed.get("unfinished", int))
        self._check_interrupted(end, counts.get("interrupted", int), left, open_intents)
        verdict = Row(end.place, end.get("verdict", dict))
        _same(end, "hosts", counts.get("hosts", int), verdict.get("hosts", int))
        self._check_exit(end, verdict, left)
        return waiting

    def _check_queue(self, queue: Row) -> None:
        found = {name: queue.get(name, int) for name in ("blank", "comment", "recorded", "unfinished", *Fate)}
        _same(queue, "lines of the queue", queue.get("lines", int), sum(found.values()))
        derived = {**{str(fate): self._skipped[fate] for fate in Fate}, "recorded": self._of_lines}
        for name, number in derived.items():
            _same(queue, f"queue lines that are {name}", found[name], number)
        contradiction(min(found.values()) >= 0, queue.place, "a count of queue lines is below 0")

    def _check_interrupted(self, end: Row, found: int, left: int, open_intents: int) -> None:
        """Visits begun without a page line. One may have left no trace: its turn had come when the run was stopped.
        What another part of the crawl broke leaves none either, and an exit code that says so."""
        least = max(self._last_visit - sum(self._outcomes.values()), open_intents)
        stopped = end.get("reason", str) != "finished"
        most = left if end.get("exit", int) == ExitCode.INTERNAL else min(left, least + stopped)
        why = f"{found} visits are counted as interrupted, {least} of those begun have no page line"
        contradiction(least <= found <= most, end.place, why)

    def _check_exit(self, end: Row, verdict: Row, left: int) -> None:
        reason, code, requests = end.get("reason", str), end.get("exit", int), verdict.get("requests", int)
        if reason in _FAILED:
            derived = _FAILED[reason]
        elif reason == "shutdown":
            derived = ExitCode.INTERRUPTED
        elif requests and verdict.optional("gate", bool) is False:
            derived = ExitCode.GATE
        else:
            derived = ExitCode.UNFINISHED if left or self._not_final else ExitCode.DONE
        # An error of another part is in no record.
        right = code in (derived, ExitCode.INTERNAL)
        contradiction(right, end.place, f"exit is {code}, the records make it {derived:d}")


def _same(row: Row, name: str, found: int, derived: int) -> None:
    contradiction(found == derived, row.place, f"{found} {name} are counted, {derived} are recorded so")
