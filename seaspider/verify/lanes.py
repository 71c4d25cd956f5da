"""The files of a store read side by side, each as a line of facts of which the next can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from seaspider.core.robotsentry import RobotsEntry, RobotsRowError
from seaspider.journal import Row
from seaspider.verify.facts import PageLine, RobotsLine
from seaspider.verify.numbers import key_of

T = TypeVar("T")


class Lane(Generic[T]):
    """`promise`: whose matter it is that its lines are in order."""

    def __init__(self, promise: str, items: Iterator[T], run_of: Callable[[T], int]) -> None:
        self.promise = promise
        self._items = items
        self._run_of = run_of
        self._next = next(items, None)

    def peek(self, run: int | None = None) -> T | None:
        """The next fact; None if there is none, or it is not of that run."""
        item = self._next
        return item if item is None or run is None or self._run_of(item) == run else None

    def take(self, run: int | None = None) -> T | None:
        """As peek(), and goes on."""
        item = self.peek(run)
        if item is not None:
            self._next = next(self._items, None)
        return item

    def stranger(self, run: int | None) -> T | None:
        """Takes the next fact if it is of a run before this one. None: before the end of all."""
        item = self._next
        if item is None or (run is not None and self._run_of(item) >= run):
            return None
        return self.take()


def run_of_row(row: Row) -> int:
    return row.get("run", int)


def robots_lines(rows: Iterator[Row]) -> Iterator[RobotsLine]:
    for row in rows:
        try:
            yield RobotsLine(row, RobotsEntry.from_row(row.record))
        except RobotsRowError as error:
            raise row.error(str(error).partition(": ")[2]) from error


def page_lines(rows: Iterator[Row]) -> Iterator[PageLine]:
    for row in rows:
        url = row.get("url", str)
        yield PageLine(
            row=row,
            run=row.get("run", int),
            visit=row.get("visit", int),
            url=url,
            key=key_of(url),
            line=row.optional("line", int),
            ending=row.ending(),
            attempts=row.get("attempts", int),
            not_before_ms=None if row.optional("not_before", str) is None else row.milliseconds("not_before"),
            started_ms=row.milliseconds("started_at"),
            ended_ms=row.milliseconds("ended_at"),
            chain=tuple(_hops(row)),
        )


def _hops(row: Row) -> Iterator[Row]:
    for hop in row.get("chain", list):
        if not isinstance(hop, dict):
            raise row.error(f"'chain' has {hop!r} in it, not an object")
        yield Row(row.place, hop)
