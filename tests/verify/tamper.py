"""Single edits to a good store: what an edit can be, and a copy of the store with it done.

An edit of a file is a function from its records to new ones; one of a body from its bytes to others, or to None for a
body that is gone. The records are the edit's own to change.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from seaspider.core.records import File, to_line
from seaspider.verify.verification import verify

Row = dict[str, Any]
Rows = list[Row]
Change = Callable[[Rows], Rows]
Where = Callable[[Row], Any]


class NotThere(Exception):
    """The store has no such line, so the edit cannot be made."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`file`: the journal file that is changed. `everywhere`: it breaks the promise in each store it can be made in,
    not only in those that had to do with it."""

    file: File
    change: Change
    everywhere: bool = True

    def made_in(self, store: Path, folder: Path) -> Path:
        """A copy of the store in `folder`, edited. Raises NotThere, also if the edit changes nothing."""
        before = read(store, self.file)
        after = self.change(read(store, self.file))
        if after == before:
            raise NotThere
        copy = copied(store, folder, self.file)
        (copy / self.file).write_bytes(b"".join(map(to_line, after)))
        return copy


@dataclass(frozen=True, slots=True)
class BodyEdit:
    """`of`: the file whose rows name the body in their `sha256`; the first that `where` is true of."""

    of: File
    where: Where
    change: Callable[[bytes], bytes | None]
    everywhere: bool = True

    def made_in(self, store: Path, folder: Path) -> Path:
        digest = first(read(store, self.of), lambda row: row["sha256"] is not None and self.where(row))["sha256"]
        copy = copied(store, folder, "bodies")
        shutil.copytree(store / "bodies", copy / "bodies")
        path = copy / "bodies" / digest[:2] / digest
        changed = self.change(path.read_bytes())
        path.unlink() if changed is None else path.write_bytes(changed)
        return copy


def read(store: Path, file: File) -> Rows:
    return [json.loads(line) for line in (store / file).read_bytes().splitlines()]


def copied(store: Path, folder: Path, without: str) -> Path:
    """A folder with links to all that is in the store but one thing, which is to be put there."""
    folder.mkdir(parents=True)
    for path in store.iterdir():
        if path.name != without:
            (folder / path.name).symlink_to(path)
    return folder


def refuted(store: Path, queue: Path | None = None) -> dict[str, str]:
    """The promises that do not hold, each with its first counterexample. Raises StoreError for what is no store."""
    found = verify(store, None if queue is None else str(queue))
    assert list(found.proofs) == ["P1", "P2", "P3", "P4", "P5", "P6"]
    assert None not in found.proofs.values()
    return {name: str(proof.counterexample) for name, proof in found.proofs.items() if proof and not proof.holds}


# --- which line ---


def first(rows: Rows, where: Where) -> Row:
    """The first row that `where` is true of. Raises NotThere."""
    for row in rows:
        if where(row):
            return row
    raise NotThere


def place(rows: Rows, where: Where) -> int:
    found = first(rows, where)
    return next(n for n, row in enumerate(rows) if row is found)


# --- what is done to it ---


def put(where: Where, **values: Any) -> Change:
    """New values for keys of the first such row; a function makes the new value of the old one."""

    def change(rows: Rows) -> Rows:
        set_values(first(rows, where), values)
        return rows

    return change


def put_in(key: str, n: int, where: Where, **values: Any) -> Change:
    """The same for the n-th mapping of a list of the row, e.g. a hop of its chain."""

    def change(rows: Rows) -> Rows:
        set_values(first(rows, lambda row: where(row) and len(row[key]) > max(n, -n - 1))[key][n], values)
        return rows

    return change


def inside(where: Where, *path: str | int, **values: Any) -> Change:
    """The same for a mapping further inside."""

    def change(rows: Rows) -> Rows:
        found: Any = first(rows, where)
        for step in path:
            found = found[step]
        set_values(found, values)
        return rows

    return change


def set_values(mapping: Row, values: Row) -> None:
    """New values for keys that it has; a function makes the new value of the old one."""
    for key, value in values.items():
        if key not in mapping:
            raise KeyError(key)
        mapping[key] = value(mapping[key]) if callable(value) else value


def drop(*wheres: Where) -> Change:
    """Without the first row of each kind."""

    def change(rows: Rows) -> Rows:
        for where in wheres:
            rows.remove(first(rows, where))
        return rows

    return change


def double(where: Where, **values: Any) -> Change:
    """The row once more, right behind itself, with these values."""

    def change(rows: Rows) -> Rows:
        at = place(rows, where)
        copy = json.loads(json.dumps(rows[at]))
        set_values(copy, values)
        return [*rows[: at + 1], copy, *rows[at + 1 :]]

    return change


def swap(one: Where, other: Where) -> Change:
    """The first row of one kind in the place of the first of the other, and the other way round."""

    def change(rows: Rows) -> Rows:
        at, to = place(rows, one), place(rows, other)
        rows[at], rows[to] = rows[to], rows[at]
        return rows

    return change


def pairs(rows: Rows) -> Iterator[tuple[Row, Row]]:
    """The requests, of both their lines."""
    for claim, settle in pairwise(rows):
        if claim["event"] == "claim" and settle["event"] == "settle":
            yield claim, settle


def request(where: Callable[[Row, Row], Any], act: Callable[[Rows, Row, Row], Rows]) -> Change:
    """Does something to the rows, told claim and settle of the first request that `where` is true of."""

    def change(rows: Rows) -> Rows:
        for claim, settle in pairs(rows):
            if where(claim, settle):
                return act(rows, claim, settle)
        raise NotThere

    return change
