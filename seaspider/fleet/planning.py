"""Makes the plan of a queue: reads it once, in memory that does not grow with its lines, and writes the plan's folder.

The folder gets its name when all in it is on the disk, so a half plan is never taken for one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, QueueError
from seaspider.core.shards import RULE, Placement
from seaspider.errors import QueueFileError, StoreError, UsageFault
from seaspider.fleet import plan as plans
from seaspider.fleet.foreign import refuse_foreign
from seaspider.fleet.plan import Part, Plan
from seaspider.fleet.suffixes import bundled
from seaspider.queuefile import QueueFile
from seaspider.syncing import sync_folder

_HELD_BYTES: Final = 16 << 20
_LINE_BYTES: Final = 128
"""What a line takes in memory beside its bytes."""
UNFINISHED: Final = "plan.part"


def make(queue: str, store: Path, shards: int) -> Plan:
    """The plan of a store: the one that is there, if it is of this queue, or a new one. For one process at a time.

    Raises UsageFault (QueueFileError for the queue, PlanError for a plan that is none) and StoreError.
    """
    refuse_foreign(store)
    folder = plans.plan_folder(store)
    if folder.exists():
        return _checked(plans.read(folder), queue, shards, folder)
    if any(plans.shards_folder(store).glob("*")):
        raise UsageFault(f"{store}: has shards of a plan that is gone; name another store")
    unfinished = store / UNFINISHED
    try:
        store.mkdir(parents=True, exist_ok=True)
        # Of a process that was killed.
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        plan = _write(QueueFile(queue), unfinished, shards)
        # A long queue takes long, and until there is a plan a crawl may begin here.
        refuse_foreign(store)
        unfinished.rename(folder)
        sync_folder(store)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error
    except QueueError as error:
        raise QueueFileError(str(error)) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return plan


def _checked(plan: Plan, queue: str, shards: int, folder: Path) -> Plan:
    """A plan keeps the suffix list it was made with, whichever there is now."""
    sha256 = plans.queue_sha256(queue)
    if plan.queue_sha256 != sha256:
        raise UsageFault(
            f"{folder}: is the plan of another queue: its sha256 is {plan.queue_sha256}, that of {queue} is {sha256}; "
            "name another store"
        )
    if plan.shards != shards:
        raise UsageFault(f"{folder}: is a plan of {plan.shards} shards, not {shards}; name another store")
    return plan


def _write(queue: QueueFile, folder: Path, shards: int) -> Plan:
    suffixes = bundled()
    files = _Files(folder, Placement(shards, suffixes.suffix_of))
    parts = files.write(queue)
    counts = queue.counts
    lines = {name: getattr(counts, name) for name in ("lines", "blank", "comment", "rejected")}
    plan = Plan(
        queue=queue.path,
        queue_sha256=queue.sha256,
        lines={**lines, "urls": counts.lines - counts.blank - counts.comment - counts.rejected},
        shards=shards,
        placement=RULE,
        suffix_list={"version": suffixes.version, "sha256": suffixes.sha256},
        resolve=None,
        parts=parts,
    )
    with (folder / plans.PLAN).open("xb") as file:
        file.write(plans.encoded(plan))
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return plan


class _Files:
    """The files of all shards on their way. Lines are held until there are enough, so that few files are open."""

    def __init__(self, folder: Path, placement: Placement) -> None:
        self._folder = folder
        self._placement = placement
        shards = range(placement.shards)
        self._texts: list[list[bytes]] = [[] for _ in shards]
        self._lines: list[list[int]] = [[] for _ in shards]
        self._counts = [0] * placement.shards
        self._digests = [(hashlib.sha256(), hashlib.sha256()) for _ in shards]
        self._held = 0

    def write(self, queue: QueueFile) -> tuple[Part, ...]:
        """Raises QueueError and OSError."""
        origins = Origins()
        shards: list[int] = []
        met: set[int] = set()
        for block in queue.blocks(origins):
            shards += map(self._placement.of_host, origins.hosts[len(shards) :])
            met.update(block.origins)
            for shard, line, raw in self._placed(block, shards):
                self._texts[shard].append(raw)
                self._lines[shard].append(line)
            for raws in (block.raws, block.rejected_raws):
                self._held += sum(map(len, raws)) + _LINE_BYTES * len(raws)
            if self._held > _HELD_BYTES:
                self._flush()
        self._flush()
        self._sync()
        hosts = Counter({origins.hosts[origin]: shards[origin] for origin in met}.values())
        return tuple(
            Part(self._counts[shard], hosts[shard], text.hexdigest(), numbers.hexdigest())
            for shard, (text, numbers) in enumerate(self._digests)
        )

    def _placed(self, block: Block, shards: list[int]) -> Iterable[tuple[int, int, bytes]]:
        """Shard, line and bytes of each line of a block, in order."""
        placed = zip(map(shards.__getitem__, block.origins), block.lines, block.raws, strict=True)
        if not block.rejected:
            return placed
        others = (
            (self._placement.of_bytes(raw), skipped.line, raw)
            for skipped, raw in zip(block.rejected, block.rejected_raws, strict=True)
        )
        return sorted([*placed, *others], key=lambda each: each[1])

    def _flush(self) -> None:
        for shard, (texts, lines) in enumerate(zip(self._texts, self._lines, strict=True)):
            self._counts[shard] += len(lines)
            pieces = b"".join(text + b"\n" for text in texts), "".join(f"{line}\n" for line in lines).encode()
            for path, piece, digest in zip(self._paths(shard), pieces, self._digests[shard], strict=True):
                # Also for nothing: each shard has its files.
                with path.open("ab") as file:
                    file.write(piece)
                digest.update(piece)
            texts.clear()
            lines.clear()
        self._held = 0

    def _sync(self) -> None:
        for shard in range(self._placement.shards):
            for path in self._paths(shard):
                with path.open("rb") as file:
                    os.fsync(file.fileno())

    def _paths(self, shard: int) -> tuple[Path, Path]:
        return plans.queue_path(self._folder, shard), plans.lines_path(self._folder, shard)
