"""What one shard has to say in a merge: its pages, links, skipped lines and robots.txt rows, each with where it goes.

A place is the line of the whole queue; of a followed page that of the page whose link led to it first, and the number
of the link. So places sort as one sees them: a page, the pages found on it, the next page. A line that was skipped has
one row, whichever run wrote it; one that was skipped as done has its page record.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any, Final

from seaspider.core.queue import Fate
from seaspider.core.records import File, to_line
from seaspider.fleet.folder import Fleet
from seaspider.fleet.standing import Standing
from seaspider.journal import Row
from seaspider.storereader import StoreReader
from seaspider.verify.equal import is_final
from seaspider.verify.numbers import key_of

_STEP: Final = Struct(">Q")
_NOTHING, _SKIPPED, _RECORDED = range(3)


@dataclass(frozen=True, slots=True)
class Placed:
    """A row as it is in the merged store, and the bytes that it is sorted by."""

    file: File
    place: bytes
    row: Row

    @property
    def line(self) -> bytes:
        """Raises StoreError."""
        try:
            return to_line(self.row.record)
        except (RecursionError, ValueError) as error:
            raise self.row.error(f"cannot be written again: {error}") from error


class ShardReading:
    """Iterated once. `standing` is known after that."""

    def __init__(self, fleet: Fleet, standing: Standing) -> None:
        self.standing = standing
        self._shard = standing.shard
        self._store = StoreReader(fleet.store(standing.shard))
        self._lines: array[int] = fleet.lines(standing.shard)
        self._fates = bytearray(len(self._lines))
        self._places: dict[int, bytes] = {}
        """Of the URLs that are followed."""
        self._waiting: set[int] = set()
        self._not_final: set[int] = set()

    def __iter__(self) -> Iterator[Placed]:
        """Raises StoreError."""
        yield from self._skipped()
        yield from self._pages()
        for row in self._store.read(File.ROBOTS):
            yield self._placed(File.ROBOTS, _STEP.pack(self._shard), row, {})
        self.standing = replace(
            self.standing,
            no_record=self._fates.count(_NOTHING),
            not_followed=len(self._waiting),
            not_final=len(self._not_final),
        )

    def _placed(self, file: File, place: bytes, row: Row, changed: Mapping[str, Any]) -> Placed:
        return Placed(file, place, Row(row.place, {**row.record, **changed, "shard": self._shard}))

    def _whole(self, row: Row, line: int) -> int:
        """The whole queue's line."""
        if not 1 <= line <= len(self._lines):
            raise row.error(f"line {line} is none of the shard's queue")
        return self._lines[line - 1]

    # --- lines ---

    def _skipped(self) -> Iterator[Placed]:
        for row in self._store.read(File.SKIPPED):
            line, of = row.get("line", int), row.optional("of", int)
            whole = self._whole(row, line)
            if row.get("fate", str) == Fate.DONE or self._fates[line - 1] == _SKIPPED:
                continue
            self._fates[line - 1] = _SKIPPED
            changed = {"line": whole, "of": None if of is None else self._whole(row, of)}
            yield self._placed(File.SKIPPED, _STEP.pack(whole), row, changed)

    # --- pages, each with its links ---

    def _pages(self) -> Iterator[Placed]:
        links = _Links(self._store)
        for row in self._store.read(File.PAGES):
            place = self._place_of(row)
            self._settle(row)
            line = row.optional("line", int)
            changed = {} if line is None else {"line": self._whole(row, line)}
            yield self._placed(File.PAGES, place, row, changed)
            found = links.of(row)
            if len(found) != (row.optional("links", int) or 0):
                raise row.error(f"counts {row.record['links']} links, {File.LINKS} has {len(found)}")
            for link in found:
                if link.get("followed", bool):
                    self._follow(link, place)
                yield self._placed(File.LINKS, place, link, {})

    def _place_of(self, row: Row) -> bytes:
        line = row.optional("line", int)
        if line is not None:
            place = _STEP.pack(self._whole(row, line))
            self._fates[line - 1] = _RECORDED
            return place
        found = self._places.get(key_of(row.get("url", str)))
        if found is None:
            raise row.error("is of no line of the queue and of no link that is followed")
        return found

    def _follow(self, link: Row, place: bytes) -> None:
        key = key_of(link.get("url", str))
        if key not in self._places:
            self._places[key] = place + _STEP.pack(link.get("n", int))
            self._waiting.add(key)

    def _settle(self, row: Row) -> None:
        key = key_of(row.get("url", str))
        self._waiting.discard(key)
        if is_final(row):
            self._not_final.discard(key)
        else:
            self._not_final.add(key)


class _Links:
    """Links stand before their page line, and a page is recorded before the next one's links: both files are in one
    order. Only the last links of a run that was killed may have no page."""

    def __init__(self, store: StoreReader) -> None:
        self._rows = store.read(File.LINKS)
        self._next = next(self._rows, None)

    def of(self, page: Row) -> list[Row]:
        wanted, found = _visit(page), []
        while self._next is not None and _visit(self._next) != wanted and self._next.get("run", int) < wanted[0]:
            self._next = next(self._rows, None)
        while self._next is not None and _visit(self._next) == wanted:
            found.append(self._next)
            self._next = next(self._rows, None)
        return found


def _visit(row: Row) -> tuple[int, int]:
    return row.get("run", int), row.get("visit", int)
