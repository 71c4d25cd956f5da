"""The merged files of a fleet are, byte for byte, what merging its shards gives, and each body is there and whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Final

from seaspider import bodyfiles, journal
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.fleet.folder import Fleet
from seaspider.fleet.merging import FILES, UNFINISHED, Merging
from seaspider.fleet.plan import name_of
from seaspider.verify.facts import contradiction
from seaspider.verify.proof import Counterexample, Proof, Refuted

AGAIN: Final = "if a shard was crawled on since, merge again"


def is_merged(fleet: Fleet) -> bool:
    return (fleet.folder / File.MANIFEST).is_file()


def without_manifest(fleet: Fleet) -> Proof | str:
    """What is refuted of a folder that has no merged store, or else the note."""
    left, again = [file for file in FILES if (fleet.folder / file).exists()], f"scrapy merge {fleet.folder}"
    if not left:
        return f"it was not merged yet: {again}"
    if (fleet.folder / UNFINISHED).is_dir():
        return f"a merge was cut short; what is there ({', '.join(left)}) proves nothing: {again}"
    return Proof(
        "merged", {}, Counterexample(left[0], f"is there without {File.MANIFEST}, so no merge tells of it; merge again")
    )


def prove(fleet: Fleet, merging: Merging) -> Proof:
    """`merging`: of all shards, read. Raises StoreError."""
    checked: dict[str, int] = {}
    try:
        for file in (*FILES, File.MANIFEST):
            checked[file] = _compare(fleet.folder, file, merging.lines(file))
        checked["bodies"] = _check_bodies(fleet, merging)
    except Refuted as refuted:
        return Proof("merged", checked, refuted.counterexample)
    return Proof("merged", checked)


def _compare(folder: Path, file: File, expected: Iterator[bytes]) -> int:
    number = 0
    for number, (found, right) in enumerate(zip_longest(_raw(folder / file), expected), 1):
        if found != right:
            raise Refuted(f"{file}:{number}", _why(found, right))
    return number


def _raw(path: Path) -> Iterator[bytes]:
    try:
        with journal.opened(path) as file:
            yield from file
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def _why(found: bytes | None, right: bytes | None) -> str:
    if right is None:
        return f"is a line more than the shards give; {AGAIN}"
    row = json.loads(right)
    whose = f", of shard {name_of(row['shard'])}" if "shard" in row else ""
    what = "is missing: a line" if found is None else "is not the line"
    return f"{what} that the shards give here{whose}; {AGAIN}"


def _check_bodies(fleet: Fleet, merging: Merging) -> int:
    """Each is the very file of a shard, or has the digest that its name says; and there is no other."""
    count = 0
    folder = fleet.folder / bodyfiles.FOLDER
    found = {path.name for path in folder.glob("*")}
    for prefix, bodies in groupby(merging.bodies(), key=lambda each: each[0][:2]):
        names = {path.name for path in (folder / prefix).glob("*")}
        found.discard(prefix)
        for sha256, shards in bodies:
            count += 1
            names.discard(sha256)
            path = bodyfiles.path_of(fleet.folder, sha256)
            same = any(_is_same(path, bodyfiles.path_of(fleet.store(shard), sha256)) for shard in shards)
            whole = same or bodyfiles.read(fleet.folder, sha256) is not None
            contradiction(whole, f"bodies/{prefix}/{sha256}", "is missing or changed")
        _check_none(names, f"bodies/{prefix}/")
    _check_none(found, "bodies/")
    return count


def _check_none(names: Iterable[str], where: str) -> None:
    for name in sorted(names):
        raise Refuted(f"{where}{name}", "is of no record of the shards")


def _is_same(path: Path, other: Path) -> bool:
    """A shard's own proof looks at what is in its file."""
    try:
        return os.path.samestat(path.lstat(), other.lstat())
    except OSError:
        return False
