"""A fleet's folder as it is now, for commands that look at it: its plan, its shards' stores, whose line is whose.

Never locked, never changed. Raises PlanError for a plan, and StoreError for a shard's store, that cannot be read.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from seaspider.core.records import File
from seaspider.errors import ArgumentError, UsageFault
from seaspider.fleet import plan as plans
from seaspider.fleet.plan import Plan, PlanError, name_of

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Fleet:
    folder: Path
    plan: Plan

    @classmethod
    def of(cls, folder: Path) -> Fleet:
        """Raises PlanError, and UsageFault for stores that are no shard's."""
        fleet = cls(folder, plans.read(plans.plan_folder(folder)))
        names = {name_of(shard) for shard in range(fleet.plan.shards)}
        others = sorted(path.name for path in plans.shards_folder(folder).glob("*") if path.name not in names)
        if others:
            shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
            raise UsageFault(f"{plans.shards_folder(folder)}: has {shown}, which the plan knows nothing of")
        return fleet

    def store(self, shard: int) -> Path:
        return plans.shards_folder(self.folder) / name_of(shard)

    def queue(self, shard: int) -> Path:
        return plans.queue_path(plans.plan_folder(self.folder), shard)

    def is_begun(self, shard: int) -> bool:
        """Whether a crawl of the shard has come to write its first line."""
        return (self.store(shard) / File.MANIFEST).is_file()

    def lines(self, shard: int) -> array[int]:
        """The whole queue's line of each line of the shard's queue, in order. Raises PlanError."""
        path = plans.lines_path(plans.plan_folder(self.folder), shard)
        try:
            octets = path.read_bytes()
        except OSError as error:
            raise PlanError(f"{path}: cannot be read: {error.strerror or error}") from error
        part = self.plan.parts[shard]
        plans.refuse_changed(path, hashlib.sha256(octets).hexdigest(), part.lines_sha256)
        try:
            numbers = array("Q", map(int, octets.split()))
        except (OverflowError, ValueError) as error:
            raise PlanError(f"{path}: has what is no number of a line: {error}") from error
        if len(numbers) != part.lines or any(before >= after for before, after in pairwise(numbers)):
            raise PlanError(f"{path}: has {len(numbers)} lines, not {part.lines} that ascend")
        return numbers


def refuse_as_store(folder: Path) -> None:
    """A crawl's records are not to be mixed with those of a fleet. Raises ArgumentError."""
    if is_fleet(folder):
        raise ArgumentError("store", folder, "is a fleet's; crawl its shards (-a plan=... -a shard=N), or name another")


def is_fleet(folder: Path) -> bool:
    """Whether it is the folder of a fleet, not an ordinary store."""
    return (plans.plan_folder(folder) / plans.PLAN).is_file()
