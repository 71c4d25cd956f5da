"""How far a shard has come: whether each line of its queue, and each link it follows, has its end, and what is missing.

Judges by the shard's records, never by an exit code. Raises UsageFault for a store that is not of this plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from seaspider.core.records import File
from seaspider.errors import UsageFault
from seaspider.fleet.folder import Fleet
from seaspider.fleet.plan import name_of
from seaspider.journal import Row
from seaspider.storereader import StoreReader


@dataclass(frozen=True, slots=True)
class Standing:
    shard: int
    begun: bool = True
    """A crawl of it has begun."""
    ended: bool = True
    """The last line of its manifest is the end of a run."""
    no_record: int = 0
    """Lines of its queue without a page record that are no duplicates or rejected."""
    not_followed: int = 0
    """Links to be followed without a page record."""
    not_final: int = 0
    """URLs whose latest record is not final."""

    @property
    def complete(self) -> bool:
        return self == Standing(self.shard)

    def to_record(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{name_of(self.shard)} ({', '.join(self._words())})"

    def _words(self) -> Iterator[str]:
        if not self.begun:
            yield "not begun"
        elif not self.ended:
            yield "its last run has no end"
        numbers = {
            "lines without a record": self.no_record,
            "links to follow": self.not_followed,
            "not final": self.not_final,
        }
        yield from (f"{number} {name}" for name, number in numbers.items() if number)


def from_manifest(fleet: Fleet, shard: int) -> Standing:
    """What the manifest alone tells. Raises UsageFault, StoreError."""
    part = fleet.plan.parts[shard]
    if not fleet.is_begun(shard):
        # There is nothing to do for a shard without a line.
        return Standing(shard, begun=not part.lines, no_record=part.lines)
    last: Row | None = None
    for row in StoreReader(fleet.store(shard)).read(File.MANIFEST):
        last = row
        if row.get("event", str) == "start":
            _check(row, fleet, shard)
    return Standing(shard, begun=last is not None, ended=last is not None and last.get("event", str) == "end")


def _check(start: Row, fleet: Fleet, shard: int) -> None:
    """Raises UsageFault if a run had another queue than the plan has for the shard."""
    expected = {"queue_sha256": fleet.plan.parts[shard].sha256, "plan": fleet.plan.digest, "shard": str(shard)}
    versions = start.get("versions", dict)
    # A crawl that was given the queue of a shard by its name knows nothing of a plan.
    found = {"queue_sha256": start.get("queue_sha256", str)} | {
        name: versions[name] for name in ("plan", "shard") if name in versions
    }
    for name, value in found.items():
        if value != expected[name]:
            raise UsageFault(f"{start.place}: is of another plan or shard: {name} is {value}, not {expected[name]}")
