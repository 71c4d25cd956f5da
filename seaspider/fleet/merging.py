"""The shards of a fleet as one store: its lines in the order of the whole queue, its bodies, its digest.

Reads each shard once, while nobody is at work in it, and holds no more than one shard's line numbers and followed
links; what is to be sorted goes through temporary files. Says what the merged store is to be; never writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from struct import Struct
from typing import Any, Final

from seaspider import bodyfiles
from seaspider.bigsort import BigSort
from seaspider.core.queue import Fate
from seaspider.core.records import File, to_line
from seaspider.fleet.folder import Fleet
from seaspider.fleet.locks import SHARD, idle
from seaspider.fleet.plan import name_of
from seaspider.fleet.shardreading import Placed, ShardReading
from seaspider.fleet.standing import Standing, from_manifest
from seaspider.verify.equal import EqualDigest, is_final

FILES: Final = (File.SKIPPED, File.ROBOTS, File.PAGES, File.LINKS)
"""What the merged store has beside its manifest. Intents and requests stay with the shards."""
UNFINISHED: Final = "merge.part"
"""Where it is made. Files of a merged store without its manifest are a broken merge's if this is there, too."""
_SHARD: Final = Struct(">H")


def shard_idle(fleet: Fleet, shard: int) -> AbstractContextManager[None]:
    """No crawl is at work in the shard, nor begins meanwhile. Raises StoreInUse."""
    store = fleet.store(shard)
    return idle(store, SHARD, f"shard {name_of(shard)} ({store}) is being crawled")


class Merging:
    """`scratch`: where what does not fit in memory is put; None: where TMPDIR says. Raises OSError if it is full."""

    def __init__(self, fleet: Fleet, scratch: Path | None = None) -> None:
        self._fleet = fleet
        self.standings: tuple[Standing, ...] = ()
        self._sorted = {file: BigSort(scratch) for file in FILES}
        self._bodies = BigSort(scratch)
        self._final = EqualDigest(scratch)
        self.equal = ""
        """Of the final page records (verify.equal)."""
        self._counts: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()

    @property
    def incomplete(self) -> list[Standing]:
        return [standing for standing in self.standings if not standing.complete]

    def look(self) -> None:
        """Fills in `standings` as the manifests alone tell. Raises UsageFault, StoreInUse and StoreError."""
        found = []
        for shard in range(self._fleet.plan.shards):
            with shard_idle(self._fleet, shard):
                found.append(from_manifest(self._fleet, shard))
        self.standings = tuple(found)

    def read(self) -> None:
        """Reads all shards. Raises UsageFault, StoreInUse and StoreError."""
        found = []
        for shard in range(self._fleet.plan.shards):
            with shard_idle(self._fleet, shard):
                standing = from_manifest(self._fleet, shard)
                if self._fleet.is_begun(shard):
                    reading = ShardReading(self._fleet, standing)
                    for placed in reading:
                        self._take(shard, placed)
                    standing = reading.standing
                found.append(standing)
        self.standings = tuple(found)
        self.equal = self._final.hexdigest()
        self._counts["bodies"] = sum(1 for _ in self.bodies())

    def _take(self, shard: int, placed: Placed) -> None:
        self._sorted[placed.file].add(placed.place, placed.line)
        self._counts[placed.file.removesuffix(".jsonl")] += 1
        row = placed.row
        if placed.file is File.SKIPPED:
            self._counts[row.get("fate", str)] += 1
        elif placed.file is not File.LINKS:
            if (sha256 := row.optional("sha256", str)) is not None:
                if not bodyfiles.is_name(sha256):
                    raise row.error(f"'sha256' is {sha256!r}, no digest")
                self._bodies.add(sha256.encode(), _SHARD.pack(shard))
            if placed.file is File.PAGES and is_final(row):
                self._final.add(row)
                reason = row.optional("reason", str)
                self._outcomes[row.get("outcome", str) + (f"/{reason}" if reason else "")] += 1

    # --- what it comes to ---

    def lines(self, file: File) -> Iterator[bytes]:
        """The lines of a file of the merged store."""
        if file is File.MANIFEST:
            yield to_line(self.record())
        else:
            yield from (line for _, line in self._sorted[file])

    def bodies(self) -> Iterator[tuple[str, list[int]]]:
        """The sha256 of each body, in order, and the shards that have it."""
        for sha256, found in groupby(self._bodies, key=itemgetter(0)):
            shards = {shard for _, shard in found}
            yield sha256.decode(), sorted(_SHARD.unpack(shard)[0] for shard in shards)

    def record(self) -> dict[str, Any]:
        """The one line of the merged manifest. No time is in it, so merging again gives the same."""
        plan, counts = self._fleet.plan, self._counts
        numbers = (
            "pages",
            "links",
            "skipped",
            *(str(fate) for fate in (Fate.DUPLICATE, Fate.REJECTED)),
            "robots",
            "bodies",
        )
        return {
            "event": "merge",
            "plan": plan.digest,
            "queue_sha256": plan.queue_sha256,
            "queue": dict(plan.lines),
            "shards": plan.shards,
            "partial": bool(self.incomplete),
            "incomplete": [standing.to_record() for standing in self.incomplete],
            "counts": {**{name: counts[name] for name in numbers}, "final": dict(sorted(self._outcomes.items()))},
            "equal": self.equal,
        }
