"""Whether a power cut took from a store what its log still has: it would be taken for less than it is, or for false."""

from __future__ import annotations

from pathlib import Path

from seaspider import restoring
from seaspider.clock import SystemClock
from seaspider.errors import StoreError, StoreInUse
from seaspider.fleet.locks import SHARD, idle
from seaspider.fleet.plan import shards_folder
from seaspider.writeahead import NAME


def is_cut_off(store: Path) -> bool:
    """Until the next crawl into it restores it. One that is at work, or was killed, has all it needs.

    Raises StoreError.
    """
    found = restoring.left(store)
    if found is None or found.boot_id == SystemClock().boot_id:
        return False
    try:
        with idle(store, SHARD, str(store)):
            return not restoring.is_in_place(store, found)
    except StoreInUse:
        return False


def refuse_cut_off(folder: Path) -> None:
    """Of a fleet, each of its stores. Raises StoreError."""
    for log in (folder / NAME, *shards_folder(folder).glob(f"*/{NAME}")):
        if is_cut_off(log.parent):
            raise StoreError(
                f"{log.parent}: its files are not what its log, {NAME}, says. A crawl was cut off, by a power cut it "
                "seems. The next crawl into it puts that right; without its log it is read as it is"
            )
