"""The store of one shard, with the line numbers of the whole queue; and which shards may know something of a URL."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from seaspider.core.records import File
from seaspider.core.shards import RULE, Placement
from seaspider.core.urls import UrlError, normalise
from seaspider.fleet.folder import Fleet
from seaspider.fleet.suffixes import bundled
from seaspider.journal import Row
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


def _placed(fleet: Fleet, text: str) -> int | None:
    suffixes, plan = bundled(), fleet.plan
    if plan.placement != RULE or plan.resolve is not None or plan.suffix_list["sha256"] != suffixes.sha256:
        return None
    try:
        return Placement(plan.shards, suffixes.suffix_of).of_host(normalise(text).host)
    except UrlError:
        return None
