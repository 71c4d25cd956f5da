"""The store of one shard, with the line numbers of the whole queue; which shards may know something of a URL, and which
line of the queue it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from seaspider.core.plainurls import Origins
from seaspider.core.queue import QueueError
from seaspider.core.records import File
from seaspider.core.shards import RULE, Placement
from seaspider.core.urls import UrlError, normalise
from seaspider.fleet.folder import Fleet
from seaspider.fleet.plan import PlanError, refuse_changed
from seaspider.fleet.suffixes import bundled
from seaspider.journal import Row
from seaspider.queuefile import QueueFile
from seaspider.storereader import StoreReader

_WITH_LINES = frozenset({File.SKIPPED, File.INTENTS, File.PAGES})


class ShardView(StoreReader):
    """Only to be read by the row."""

    def __init__(self, fleet: Fleet, shard: int) -> None:
        super().__init__(fleet.store(shard))
        self._lines: array[int] = fleet.lines(shard)

    def read(self, file: File) -> Iterator[Row]:
        rows = super().read(file)
        return map(self._mapped, rows) if file in _WITH_LINES else rows

    def _mapped(self, row: Row) -> Row:
        changed = {name: self._whole(row, name) for name in ("line", "of") if row.record.get(name) is not None}
        return Row(row.place, {**row.record, **changed}) if changed else row

    def _whole(self, row: Row, name: str) -> int:
        line = row.get(name, int)
        if not 1 <= line <= len(self._lines):
            raise row.error(f"{name!r} is {line}, no line of the shard's queue")
        return self._lines[line - 1]


def shards_for(fleet: Fleet, text: str) -> list[int]:
    """The shards that have begun, the one that the plan puts a URL in first, if it can be told."""
    begun = [shard for shard in range(fleet.plan.shards) if fleet.is_begun(shard)]
    own = _placed(fleet, text)
    return sorted(begun, key=lambda shard: (shard != own, shard))


class Place(NamedTuple):
    """A line of the whole queue, and the shard whose it is."""

    line: int
    shard: int


def place_in_plan(fleet: Fleet, text: str) -> Place | None:
    """The first line of the queue that is this URL, whatever became of it. Raises PlanError."""
    try:
        url = normalise(text).text.encode()
    except UrlError:
        return None
    own = _placed(fleet, text)
    shards = range(fleet.plan.shards) if own is None else (own,)
    places = (Place(fleet.lines(shard)[line - 1], shard) for shard in shards for line in _first_line(fleet, shard, url))
    return min(places, default=None)


def _first_line(fleet: Fleet, shard: int, url: bytes) -> Iterator[int]:
    """In a shard's queue; none if it is not there."""
    path = fleet.queue(shard)
    queue = QueueFile(str(path), part=True)
    found: int | None = None
    try:
        for block in queue.blocks(Origins()):
            if found is None and url in block.urls:
                found = block.lines[block.urls.index(url)]
    except QueueError as error:
        raise PlanError(str(error)) from error
    refuse_changed(path, queue.sha256, fleet.plan.parts[shard].sha256)
    if found is not None:
        yield found


def _placed(fleet: Fleet, text: str) -> int | None:
    suffixes, plan = bundled(), fleet.plan
    if plan.placement != RULE or plan.resolve is not None or plan.suffix_list["sha256"] != suffixes.sha256:
        return None
    try:
        return Placement(plan.shards, suffixes.suffix_of).of_host(normalise(text).host)
    except UrlError:
        return None
