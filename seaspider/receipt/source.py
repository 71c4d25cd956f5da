"""What a receipt is gathered from: one store, or all shards of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from seaspider.core.records import File
from seaspider.journal import Row
from seaspider.verify.evidence import RunInfo


class Source(Protocol):
    """verify.evidence.Evidence is one."""

    @property
    def runs(self) -> tuple[RunInfo, ...]: ...

    def rows(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first."""

    def true_body(self, sha256: str) -> bytes | None:
        """The bytes whose digest is this; None if they are missing or changed."""

    def has_body(self, sha256: str) -> bool:
        """Whether something lies there, true or changed."""
