"""The plan of a fleet: a folder that says which lines of a queue are whose. Written once, whole or not at all.

    plan.json      what it was made of, and of each shard how much it has and the digests of its two files
    0007.txt       the queue of shard 7: its lines of the whole queue, in order, as they are there (LF after each; one
                   longer than 65,536 bytes is cut, and stays too long)
    0007.lines     their line numbers in the whole queue, one decimal a line

Each line that is neither blank nor a comment is in exactly one shard. Nothing but the queue's bytes, the number of
shards and the suffix list decides where. Reads what it wrote and believes none of it that has another digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from seaspider.core.queue import QueueError
from seaspider.errors import QueueFileError, UsageFault
from seaspider.queuefile import sha256_of

FORMAT: Final = 1
PLAN: Final = "plan.json"


class PlanError(UsageFault):
    """A plan that is none, or not whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one shard has."""

    lines: int
    hosts: int
    """Distinct hosts of its URLs."""
    sha256: str
    """Of its .txt file."""
    lines_sha256: str
    """Of its .lines file."""


@dataclass(frozen=True, slots=True)
class Plan:
    queue: str
    """The path it was read from: the one field that decides nothing."""
    queue_sha256: str
    lines: Mapping[str, int]
    """Lines of the whole queue: `lines`, of which `blank`, `comment`, `rejected` and `urls`."""
    shards: int
    placement: str
    """The name of the rule (core.shards.RULE)."""
    suffix_list: Mapping[str, str]
    """`version` and `sha256` of the public suffix list."""
    resolve: Mapping[str, Any] | None
    """How names that share an address were brought together; None: they were not."""
    parts: tuple[Part, ...]
    """By the number of the shard."""

    @property
    def digest(self) -> str:
        """One number for all that decides what each shard does: sha256 in hex."""
        record = {name: value for name, value in self.to_record().items() if name != "queue"}
        return hashlib.sha256(_text(record).encode()).hexdigest()

    def to_record(self) -> dict[str, Any]:
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"v": FORMAT, **record, "parts": [asdict(part) for part in self.parts]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Plan:
        """Raises KeyError, TypeError and ValueError for what to_record() does not write."""
        if record["v"] != FORMAT:
            raise ValueError(f"format {record['v']!r} is not {FORMAT}")
        read = {field.name: record[field.name] for field in fields(cls)}
        plan = cls(**{**read, "parts": tuple(Part(**part) for part in read["parts"])})
        for part in plan.parts:
            if not isinstance(part.lines, int) or not isinstance(part.hosts, int):
                raise TypeError(f"a part has {part.lines!r} lines of {part.hosts!r} hosts")
        if len(plan.parts) != plan.shards:
            raise ValueError(f"{len(plan.parts)} parts, {plan.shards} shards")
        return plan


def name_of(shard: int) -> str:
    """`0007`."""
    return f"{shard:04d}"


def queue_path(folder: Path, shard: int) -> Path:
    """The queue of a shard, in a plan's folder."""
    return folder / f"{name_of(shard)}.txt"


def lines_path(folder: Path, shard: int) -> Path:
    """The line numbers of a shard, in a plan's folder."""
    return folder / f"{name_of(shard)}.lines"


def plan_folder(store: Path) -> Path:
    return store / "plan"


def shards_folder(store: Path) -> Path:
    return store / "shards"


def shard_store(folder: Path, shard: int) -> Path:
    """The store of a shard, beside its plan's folder."""
    return shards_folder(folder.parent) / name_of(shard)


def encoded(plan: Plan) -> bytes:
    """plan.json."""
    return (_text(plan.to_record()) + "\n").encode()


def read(folder: Path) -> Plan:
    """The plan of a folder. Raises PlanError."""
    path = folder / PLAN
    try:
        return Plan.from_record(json.loads(path.read_bytes()))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise PlanError(f"{path}: is no plan of a fleet: {_said(error)}") from error


def checked_part(folder: Path, shard: int) -> Plan:
    """The plan of a folder, whose queue of one shard is whole. Raises PlanError."""
    plan = read(folder)
    if shard >= plan.shards:
        raise PlanError(f"{folder / PLAN}: has no shard {shard}, only 0 to {plan.shards - 1}")
    path = queue_path(folder, shard)
    refuse_changed(path, queue_sha256(str(path)), plan.parts[shard].sha256)
    return plan


def queue_sha256(path: str) -> str:
    """The digest of a queue, as a plan has it. Raises QueueFileError."""
    try:
        return sha256_of(path)
    except QueueError as error:
        raise QueueFileError(str(error)) from error


def refuse_changed(path: Path, sha256: str, planned: str) -> None:
    """Raises PlanError for a file of a plan that is not as it was written."""
    if sha256 != planned:
        raise PlanError(f"{path}: was changed: its sha256 is {sha256}, the plan has {planned}")


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))


def _said(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
