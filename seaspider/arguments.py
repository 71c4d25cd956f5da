"""The spider's arguments (`-a name=value`), read once and checked. Raises ArgumentError with the name and the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seaspider.config import FOLLOW_MODES, ORDERS, Config, suggestion
from seaspider.core.shards import MAX_SHARDS
from seaspider.errors import ArgumentError
from seaspider.fleet.plan import queue_path, shard_store

_COUNT = re.compile(r"[0-9]{1,18}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ArgumentError(name, value, "must name a file or folder")
    return value


def _count(name: str, value: Any) -> int:
    if not _COUNT.fullmatch(str(value)):
        raise ArgumentError(name, value, "must be a whole number, not negative")
    return int(value)


def _one_of(choices: Sequence[str]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if value not in choices:
            raise ArgumentError(name, value, "must be one of: " + ", ".join(choices))
        return str(value)

    return check


def _shard(name: str, value: Any) -> int:
    if not _COUNT.fullmatch(str(value)) or int(value) >= MAX_SHARDS:
        raise ArgumentError(name, value, f"must be the number of a shard, 0 to {MAX_SHARDS - 1}")
    return int(value)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "queue": _text,
    "store": _text,
    "follow": _one_of(FOLLOW_MODES),
    "max_depth": _count,
    "max_pages": _count,
    "order": _one_of(ORDERS),
    "retry": _one_of(("failed",)),
    "plan": _text,
    "shard": _shard,
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """None: not given, the setting counts."""

    queue: str
    store: str = "store"
    follow: str | None = None
    max_depth: int | None = None
    max_pages: int | None = None
    order: str | None = None
    retry: str | None = None
    """`failed`: URLs that failed are taken up again."""
    plan: str | None = None
    """The folder of a fleet's plan; then `shard` is the number of a shard, whose queue is `queue`."""
    shard: int | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Arguments:
        """The arguments of `-a`, name -> text. Raises ArgumentError."""
        for name, value in given.items():
            if name not in _READERS:
                known = ", ".join(_READERS)
                raise ArgumentError(name, value, f"is unknown; known are {known}{suggestion(name, _READERS)}")
        read = {name: _READERS[name](name, value) for name, value in given.items()}
        if "plan" in read or "shard" in read:
            read |= _of_shard(read)
        elif "queue" not in read:
            raise ArgumentError(
                "queue", "FILE", "is required: a text file with one URL a line, or - for standard input"
            )
        return cls(**read)

    def applied_to(self, config: Config) -> Config:
        """The settings with what the arguments say instead."""
        chosen = {
            name: value
            for name in ("follow", "max_depth", "max_pages", "order")
            if (value := getattr(self, name)) is not None
        }
        return replace(config, **chosen, retry_failed=self.retry == "failed")


def _of_shard(read: Mapping[str, Any]) -> dict[str, Any]:
    """The queue of a shard, and its store unless one is named."""
    for name, other in (("plan", "shard"), ("shard", "plan")):
        if name not in read:
            raise ArgumentError(other, read[other], f"says nothing without -a {name}")
    if "queue" in read:
        raise ArgumentError("queue", read["queue"], "a shard has the queue of its plan, so no other can be named")
    folder, shard = Path(read["plan"]), read["shard"]
    return {"queue": str(queue_path(folder, shard)), "store": read.get("store", str(shard_store(folder, shard)))}
