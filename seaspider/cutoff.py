"""Who only reads a store is told if a power cut took what its log still has: it would be taken for less than it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from seaspider import restoring
from seaspider.clock import SystemClock
from seaspider.errors import StoreError, StoreInUse
from seaspider.fleet.locks import SHARD, idle
from seaspider.fleet.plan import shards_folder
from seaspider.writeahead import NAME


def refuse_cut_off(folder: Path) -> None:
    """Of a fleet, each of its stores. One that is at work, or was killed, has all it needs. Raises StoreError."""
    for log in (folder / NAME, *shards_folder(folder).glob(f"*/{NAME}")):
        store = log.parent
        found = restoring.left(store)
        if found is None or found.boot_id == SystemClock().boot_id:
            continue
        with suppress(StoreInUse), idle(store, SHARD, str(store)):
            if not restoring.is_in_place(store, found):
                raise StoreError(
                    f"{store}: not all that its log, {log.name}, holds is in its files. A crawl was cut off, by a "
                    "power cut it seems. The next crawl into it puts that right; without its log it is read as it is"
                )
