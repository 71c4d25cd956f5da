"""One append-only file of JSON lines: written a line at a time, read back after a crash.

Decides what a torn end is (bytes after the last line feed) and which lines are not ours (another format, no JSON).
Never changes a line that was written whole. Raises StoreError with file and line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seaspider.core.records import FORMAT, to_line
from seaspider.errors import StoreError


class JournalFile:
    """Open for appending. Each line goes out in one write, so that it is whole or at the very end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def append(self, record: Mapping[str, Any], *, sync: bool) -> None:
        """Adds one line; `sync`: it is on the disk when this returns. Raises OSError."""
        line = to_line(record)
        written = os.write(self._descriptor, line)
        if written != len(line):
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise OSError(f"only {written} of {len(line)} bytes could be written")
        if sync:
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a journal file with their numbers, from 1. A file that is not there has none."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, _parse(path, number, line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def cut_torn_end(path: Path) -> int:
    """Cuts what follows the last line feed, the rest of a write that a crash broke off. Returns how many bytes."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            keep = _end_of_last_line(file, size)
            if keep < size:
                file.truncate(keep)
            return size - keep
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def _end_of_last_line(file: Any, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - 65_536)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return int(start + at + 1)
        end = start
    return 0


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise StoreError(f"{path}:{number}: not a JSON line: {line[:80]!r}") from error
    if not isinstance(record, dict) or record.get("v") != FORMAT:
        version = record.get("v") if isinstance(record, dict) else record
        raise StoreError(f"{path}:{number}: format {version!r}; this version of Seaspider reads format {FORMAT}")
    return record
