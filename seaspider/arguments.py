"""The spider's arguments (`-a name=value`), read once and checked. Raises ArgumentError with the name and the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seaspider.config import FOLLOW_MODES, ORDERS, Config, suggestion
from seaspider.errors import ArgumentError

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


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "queue": _text,
    "store": _text,
    "follow": _one_of(FOLLOW_MODES),
    "max_depth": _count,
    "max_pages": _count,
    "order": _one_of(ORDERS),
    "retry": _one_of(("failed",)),
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

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Arguments:
        """The arguments of `-a`, name -> text. Raises ArgumentError."""
        for name, value in given.items():
            if name not in _READERS:
                known = ", ".join(_READERS)
                raise ArgumentError(name, value, f"is unknown; known are {known}{suggestion(name, _READERS)}")
        if "queue" not in given:
            raise ArgumentError(
                "queue", "FILE", "is required: a text file with one URL a line, or - for standard input"
            )
        return cls(**{name: _READERS[name](name, value) for name, value in given.items()})

    def applied_to(self, config: Config) -> Config:
        """The settings with what the arguments say instead."""
        chosen = {
            name: value
            for name in ("follow", "max_depth", "max_pages", "order")
            if (value := getattr(self, name)) is not None
        }
        return replace(config, **chosen, retry_failed=self.retry == "failed")
