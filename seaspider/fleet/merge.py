"""Writes the merged store of a fleet into its folder: whole, or not at all.

All files are written beside, under `merge.part`, and get their names when all is on the disk, the manifest last: a
folder without manifest.jsonl has no merged store. Bodies are hard links to those of the shards, or copies where the
file system has none. Merging again gives the same bytes.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from seaspider import bodyfiles, faultpoints
from seaspider.core.records import File
from seaspider.errors import ExitCode, SeaspiderError, StoreError
from seaspider.fleet.folder import Fleet
from seaspider.fleet.foreign import refuse_foreign
from seaspider.fleet.locks import fleet_held
from seaspider.fleet.merging import FILES, UNFINISHED, Merging
from seaspider.syncing import sync_folder

_SHOWN: Final = 10
_BUFFER_BYTES: Final = 1 << 20


class Incomplete(SeaspiderError):
    """Something of the queue has no end yet."""

    exit_code = ExitCode.UNFINISHED


def merge(folder: Path, *, partial: bool = False) -> dict[str, Any]:
    """The record of the merged store's manifest. `partial`: merge what there is.

    Raises Incomplete, UsageFault for what is no fleet, of another plan or no merge's to write over, StoreInUse, and
    StoreError.
    """
    fleet = Fleet.of(folder)
    with fleet_held(folder, "a fleet, or by another merge"):
        refuse_foreign(folder)
        unfinished = folder / UNFINISHED
        try:
            # Of a process that was killed.
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            merging = Merging(fleet, unfinished)
            merging.look()
            _check(merging, partial)
            merging.read()
            _check(merging, partial)
            _write(merging, unfinished)
            _put_bodies(merging, fleet)
            _name(unfinished, folder)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be merged: {error.strerror or error}") from error
        finally:
            if not _is_broken(folder):
                shutil.rmtree(unfinished, ignore_errors=True)
        return merging.record()


def _check(merging: Merging, partial: bool) -> None:
    missing = merging.incomplete
    if missing and not partial:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
        of = len(merging.standings)
        raise Incomplete(
            f"{len(missing)} of {of} shards are not complete: {shown}; crawl on, or merge what there is: --partial"
        )


def _write(merging: Merging, folder: Path) -> None:
    for file in (*FILES, File.MANIFEST):
        with (folder / file).open("xb", buffering=_BUFFER_BYTES) as opened:
            opened.writelines(merging.lines(file))
            opened.flush()
            faultpoints.reached(f"before sync {file}")
            os.fsync(opened.fileno())
    sync_folder(folder)


def _name(unfinished: Path, folder: Path) -> None:
    """From the first step on there is no merged store, until the last one."""
    (folder / File.MANIFEST).unlink(missing_ok=True)
    sync_folder(folder)
    for file in FILES:
        faultpoints.reached(f"before rename {file}")
        (unfinished / file).rename(folder / file)
    sync_folder(folder)
    faultpoints.reached(f"before rename {File.MANIFEST}")
    (unfinished / File.MANIFEST).rename(folder / File.MANIFEST)
    faultpoints.reached(f"after rename {File.MANIFEST}")
    sync_folder(folder)


def _is_broken(folder: Path) -> bool:
    """It was cut short between its first name and its last."""
    return not (folder / File.MANIFEST).exists() and any((folder / file).exists() for file in FILES)


# --- bodies ---


def _put_bodies(merging: Merging, fleet: Fleet) -> None:
    """Raises StoreError if no shard has one."""
    bodies = fleet.folder / bodyfiles.FOLDER
    if bodies.is_symlink():
        raise StoreError(f"{bodies}: is a symbolic link")
    bodies.mkdir(exist_ok=True)
    last: Path | None = None
    for sha256, shards in merging.bodies():
        target = bodyfiles.path_of(fleet.folder, sha256)
        if target.parent != last:
            _sync(last)
            target.parent.mkdir(exist_ok=True)
            last = target.parent
        _put_body(target, [bodyfiles.path_of(fleet.store(shard), sha256) for shard in shards])
    _sync(last)
    sync_folder(bodies)


def _put_body(target: Path, sources: Iterable[Path]) -> None:
    """The same file as a shard's, or a copy of it."""
    for source in sources:
        found = _stat(source)
        if found is None or not stat.S_ISREG(found.st_mode):
            continue
        there = _stat(target)
        if there is None or not os.path.samestat(found, there):
            part = target.with_name(f"{target.name}.part")
            part.unlink(missing_ok=True)
            _link(source, part)
            faultpoints.reached("before rename body")
            part.rename(target)
        return
    raise StoreError(f"{target}: no shard has this body any more")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        # Another file system, or one without links, or too many of them.
        with source.open("rb") as old, target.open("xb") as new:
            shutil.copyfileobj(old, new)
            new.flush()
            os.fsync(new.fileno())


def _sync(folder: Path | None) -> None:
    if folder is not None:
        sync_folder(folder)
