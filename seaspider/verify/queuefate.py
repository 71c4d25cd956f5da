"""Each line of a queue file has exactly the fate that the store records, in the runs that had this queue.

Reads the file line by line, as a crawl does. Raises QueueFileError for one that cannot be used, and Refuted (P6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seaspider.core.queue import Entry, Fate, QueueError, Skipped
from seaspider.errors import QueueFileError
from seaspider.journal import Row
from seaspider.queuefile import STDIN, QueueFile
from seaspider.verify.evidence import Evidence
from seaspider.verify.facts import Run, contradiction
from seaspider.verify.fates import skipped_key
from seaspider.verify.numbers import Numbers, key_of
from seaspider.verify.proof import Refuted


class Queue:
    """`lines`: of the file, once a run had it. Raises QueueFileError."""

    def __init__(self, path: str) -> None:
        if path == STDIN:
            raise QueueFileError("queue '-': must be a file, since it is read for each run")
        self._path = path
        self.lines = 0
        self._met = 0
        self._others: list[int] = []
        file = QueueFile(path)
        try:
            for _ in file.content():
                pass
        except QueueError as error:
            raise QueueFileError(str(error)) from error
        self._sha256 = file.sha256

    def check(self, run: Run, recorded: Numbers, is_done: Callable[[int, int], bool]) -> None:
        """`recorded`: line -> key of its page line's URL, or skipped_key(); `is_done`: whether the URL of a key had a
        final record before a run."""
        if run.info.start.get("queue_sha256", str) != self._sha256:
            self._others.append(run.number)
            return
        self._met += 1
        # Of a shard, the queue is what its plan gave it, which may be no line at all.
        file = QueueFile(self._path, part="plan" in run.info.start.get("versions", dict))
        unfinished = 0
        try:
            for item in file:
                unfinished += not self._check_line(item, run, recorded, is_done)
        except QueueError as error:
            raise QueueFileError(str(error)) from error
        self.lines = file.counts.lines
        if run.ended:
            counts = Row(run.end.place, Row(run.end.place, run.end.get("counts", dict)).get("queue", dict))
            derived = {**_kinds(file), "unfinished": unfinished}
            for name, number in derived.items():
                found = counts.get(name, int)
                contradiction(
                    found == number, run.end.place, f"{found} queue lines are {name}, the file makes it {number}"
                )

    def _check_line(
        self, item: Entry | Skipped, run: Run, recorded: Numbers, is_done: Callable[[int, int], bool]
    ) -> bool:
        """Whether the line has its fate recorded. Only a URL to visit may wait for one, and in a killed run any."""
        found = recorded[item.line]
        place = run.info.start.place
        if isinstance(item, Skipped):
            right = skipped_key(
                {"fate": item.fate, "url": item.url, "text": item.text, "of": item.of, "reason": item.reason}
            )
            contradiction(found == right or not (found or run.ended), place, _why(item.line, f"is {item.fate}"))
            return True
        key = key_of(item.url.text)
        done = skipped_key({"fate": Fate.DONE, "url": item.url.text, "text": None, "of": None, "reason": None})
        if is_done(key, run.number):
            contradiction(found == done or not (found or run.ended), place, _why(item.line, "is done"))
        contradiction(found in (0, key, done), place, _why(item.line, f"is {item.url.text}"))
        return found != 0

    def check_met(self, evidence: Evidence) -> None:
        """Raises Refuted if no run had this queue."""
        if not self._met and evidence.runs:
            place = evidence.runs[-1].start.place
            raise Refuted(place, f"no run had the queue {self._path} (sha256 {self._sha256})")

    def notes(self) -> Iterator[str]:
        if self._met and self._others:
            runs = ", ".join(map(str, self._others[:10])) + (" ..." if len(self._others) > 10 else "")
            yield f"another queue than {self._path} was that of runs {runs}: their lines were not compared with a file"


def _kinds(file: QueueFile) -> dict[str, int]:
    counts = file.counts
    return {name: getattr(counts, name) for name in ("lines", "blank", "comment", "duplicate", "rejected")}


def _why(line: int, said: str) -> str:
    return f"line {line} of the queue {said}, which is not what the store has of it"
