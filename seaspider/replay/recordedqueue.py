"""The queue of a run, as far as its store tells: from the records of the lines, its own and those of other runs of it.

Lines that are blank or comments are not recorded one by one; the manifest counts them. Of a run that was cut short the
lines that never had a turn may be unknown: then its counts cannot be told again. Never reads the queue's file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seaspider.core.queue import Counts, Entry, Fate, Skipped
from seaspider.core.records import File
from seaspider.core.urls import Url, UrlReason
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.replay.found import url_of
from seaspider.verify.evidence import Evidence, RunInfo


@dataclass(frozen=True, slots=True)
class RecordedQueue:
    """Reads like a queue file. `path` and `sha256` are those that the run had."""

    path: str
    sha256: str
    counts: Counts
    lines: tuple[Entry | Skipped, ...]
    missing: int
    """How many URLs of it are known not to be in the store."""
    whole: bool
    """Whether it is known to be all of it."""

    def __iter__(self) -> Iterator[Entry | Skipped]:
        yield from self.lines


def recorded_queue(evidence: Evidence, run: RunInfo) -> RecordedQueue:
    """The queue of one run. Raises StoreError."""
    sha256 = run.start.get("queue_sha256", str)
    same = {other.number for other in evidence.runs if other.start.get("queue_sha256", str) == sha256}
    urls: dict[int, Url] = {}
    skipped: dict[int, Skipped] = {}
    for file in (File.SKIPPED, File.INTENTS, File.PAGES):
        for row in evidence.rows(file):
            line = row.optional("line", int)
            if row.get("run", int) not in same or line is None:
                continue
            if file is File.SKIPPED and row.get("run", int) == run.number:
                skipped[line] = _skipped(row)
            elif file is not File.SKIPPED or row.get("fate", str) == Fate.DONE:
                urls[line] = url_of(row)
    entries = {line: Entry(line, url) for line, url in urls.items() if line not in skipped}
    items: dict[int, Entry | Skipped] = {**entries, **skipped}
    lines = tuple(items[line] for line in sorted(items))
    counts = _counts(run, skipped, len(entries))
    missing = counts.entries - len(entries)
    whole = run.end is not None and missing == 0
    return RecordedQueue(run.start.get("queue", str), sha256, counts, lines, missing, whole)


def _counts(run: RunInfo, skipped: dict[int, Skipped], entries: int) -> Counts:
    """As the run's end tells them; of a run that was killed, what is known."""
    if run.end is None:
        fates = [item.fate for item in skipped.values()]
        return Counts(
            lines=entries + len(skipped),
            entries=entries,
            **{str(fate): fates.count(fate) for fate in Fate},
        )
    counts = run.end.get("counts", dict)
    try:
        told = counts["queue"]
        found = {name: told[name] for name in ("lines", "blank", "comment", "duplicate", "done", "rejected")}
        return Counts(**found, entries=told["recorded"] + told["unfinished"])
    except (KeyError, TypeError) as error:
        raise StoreError(f"{run.end.place}: the counts of the queue are not whole: {error}") from error


def _skipped(row: Row) -> Skipped:
    reason = row.optional("reason", str)
    try:
        return Skipped(
            line=row.get("line", int),
            fate=Fate(row.get("fate", str)),
            url=row.optional("url", str),
            text=row.optional("text", str),
            of=row.optional("of", int),
            reason=None if reason is None else UrlReason(reason),
        )
    except ValueError as error:
        raise row.error(str(error)) from error
