"""A store folder as it is now, for commands that only look: not locked, not made, never changed.

A crawl may be at work in it meanwhile: a line that is not written to its end yet is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seaspider import bodyfiles, journal
from seaspider.core.records import File
from seaspider.journal import Row
from seaspider.store import NoStore


class StoreReader(NoStore):
    """A folder that is not there is an empty store. Raises StoreError for what cannot be read."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def read(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first."""
        return journal.read(self.folder / file)

    def blocks(self, file: File) -> Iterator[bytes]:
        """The lines of a file by the block."""
        return journal.blocks(self.folder / file)

    def row(self, file: File, number: int, line: bytes) -> Row:
        """A line of a block."""
        return journal.row(self.folder / file, number, line)

    def path(self, file: File) -> Path:
        """Where a file lies."""
        return self.folder / file

    def last(self, file: File) -> Row | None:
        """The last line of a file, if it has one."""
        return journal.last(self.folder / file)

    def body(self, sha256: str) -> bytes | None:
        return bodyfiles.read(self.folder, sha256)
