"""One append-only file of JSON lines: written a line, or the lines of a page, at a time, read back after a crash.

Decides what a torn end is (bytes of a line of ours after the last line feed) and which lines are not ours (another
format, no JSON, a key that is missing or of another type). Never changes a line that was written whole. Raises
StoreError with file and line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from seaspider import faultpoints
from seaspider.core.records import FORMAT, Ending, Outcome, Reason, to_line
from seaspider.core.times import parse_rfc3339_ms
from seaspider.errors import StoreError
from seaspider.syncing import named

T = TypeVar("T")

_BLOCK_BYTES = 65_536
_READ_BYTES = 1 << 20
_PROBE_BYTES = 1 << 12
_SHOWN_BYTES = 80
_SHOWN_CHARS = 500
_BEGINNING = to_line({}).rstrip(b"}\n")  # of every line: {"v":1


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a journal file, and its place for messages: `file:number`, numbers counted from 1."""

    place: str
    record: dict[str, Any]

    def get(self, key: str, kind: type[T]) -> T:
        """The value of a key. Raises StoreError if it is not there or of another type."""
        if key not in self.record:
            raise self.error(f"no {key!r}")
        value = self.record[key]
        # A bool is an int to isinstance, but never to a record.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise self.error(f"{key!r} is {value!r}, not of type {kind.__name__}")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """The value of a key that must be there, but may be null."""
        return None if key in self.record and self.record[key] is None else self.get(key, kind)

    def milliseconds(self, key: str) -> int:
        """A time, as ms since the epoch. Raises StoreError if it is none."""
        try:
            return parse_rfc3339_ms(self.get(key, str))
        except ValueError as error:
            raise self.error(f"{key!r}: {error}") from error

    def ending(self, not_before_ms: int | None = None) -> Ending:
        """How a page record says that its visit ended. Raises StoreError."""
        try:
            reason = self.optional("reason", str)
            return Ending(Outcome(self.get("outcome", str)), None if reason is None else Reason(reason), not_before_ms)
        except ValueError as error:
            raise self.error(str(error)) from error

    def error(self, why: str) -> StoreError:
        """The complaint about this row; `why` may hold a value of any length and is cut."""
        shown = why if len(why) <= _SHOWN_CHARS else why[:_SHOWN_CHARS] + "..."
        return StoreError(f"{self.place}: {shown}")


class JournalFile:
    """Open for appending. What is added goes out whole, or not at all, or at the very end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dirty = True
        """Something may not be on the disk yet: what a process left that was killed, if not of this one."""
        # A link, whoever put it there, may lead to any file of the user's.
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        self._name, self._place = path.name, str(path)
        self._itself = os.fstat(self._descriptor)
        self.size = self._itself.st_size
        """In bytes."""

    def append(self, lines: bytes) -> None:
        """Adds lines. Raises OSError; none of them is there then."""
        rest = lines
        faultpoints.reached(f"before write {self._name}")
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._take_back(len(lines) - len(rest))
            raise
        self.size += len(lines)
        self.dirty = True
        faultpoints.reached(f"after write {self._name}")
        self.check_place()

    def sync(self) -> None:
        """What was added is on the disk when this returns. Raises OSError."""
        if self.dirty:
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                raise named(error, self._place) from error
            self.dirty = False
            faultpoints.reached(f"after sync {self._name}")

    def check_place(self) -> None:
        """Raises OSError if the file was removed, moved or replaced: it would take lines for nobody to read."""
        if not os.path.samestat(os.stat(self._place), self._itself):  # noqa: PTH116 - each line asks
            raise FileNotFoundError(errno.ENOENT, "another file has taken its place")

    def _take_back(self, written: int) -> None:
        """A full disk may have taken a part. If that cannot be undone, it is a torn end and is cut next time."""
        if written:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)

    def close(self) -> None:
        os.close(self._descriptor)


def opened(path: Path) -> BinaryIO:
    """A file of a store, to be read. Raises OSError, also for a device or a pipe, which might give bytes for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "is no regular file")
    return os.fdopen(descriptor, "rb")


def read(path: Path) -> Iterator[Row]:
    """The lines of a journal file. A file that is not there has none; a line that has no end yet is none."""
    try:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                yield _row(f"{path}:{number}", line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def blocks(path: Path, first: int = 0, step: int = 1) -> Iterator[bytes]:
    """The lines of a journal file by the block, as read() has them.

    A block has the lines that begin in so many bytes, so there are empty ones where lines are long. From block `first`
    on each `step`th.
    """
    try:
        with opened(path) as file:
            for start in count(first * _READ_BYTES, step * _READ_BYTES):
                block = _block(file.fileno(), start)
                if block is None:
                    return
                yield block
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def _block(descriptor: int, start: int) -> bytes | None:
    """The whole lines that begin in _READ_BYTES from `start`; None behind the end of the file."""
    if not os.pread(descriptor, 1, start):
        return None
    # A line that began before is the block's before.
    begin = _after_next_line_feed(descriptor, start - 1) if start else 0
    if begin is None or begin >= start + _READ_BYTES:
        return b""
    end = _after_next_line_feed(descriptor, start + _READ_BYTES - 1)
    if end is not None:
        return os.pread(descriptor, end - begin, begin)
    rest = os.pread(descriptor, os.fstat(descriptor).st_size - begin, begin)
    return rest[: rest.rfind(b"\n") + 1]


def _after_next_line_feed(descriptor: int, at: int) -> int | None:
    """The place behind the first line feed from `at` on."""
    size = _PROBE_BYTES
    while probe := os.pread(descriptor, size, at):
        found = probe.find(b"\n")
        if found >= 0:
            return at + found + 1
        at, size = at + len(probe), 2 * size
    return None


def row(path: Path, number: int, line: bytes) -> Row:
    """One line of a block. Raises StoreError."""
    return _row(f"{path}:{number}", line)


def last(path: Path) -> Row | None:
    """The last whole line of a journal file; None if there is none."""
    try:
        with opened(path) as file:
            end = _after_line_feed(file, file.seek(0, os.SEEK_END))
            start = _after_line_feed(file, end - 1)
            file.seek(start)
            line = file.read(end - start)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return _row(f"{path}, last line", line) if line else None


def cut_torn_end(path: Path) -> int:
    """Cuts what follows the last line feed, the rest of a write that a crash broke off. Returns how many bytes.

    Raises StoreError for anything that no write of ours can have left: it is somebody else's file.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise StoreError(f"{path}: is no regular file")
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            keep = _after_line_feed(file, size)
            file.seek(keep)
            torn = file.read(_SHOWN_BYTES)
            # A machine that lost power may leave zeros where a line was to be.
            if torn.strip(b"\0") and not (torn.startswith(_BEGINNING) or _BEGINNING.startswith(torn)):
                raise StoreError(f"{path}: ends in what is no line of a store: {torn!r}")
            if keep < size:
                file.truncate(keep)
            return size - keep
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def _after_line_feed(file: BinaryIO, end: int) -> int:
    """Where the line begins that the first `end` bytes end in: behind their last line feed, or at 0."""
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _row(place: str, line: bytes) -> Row:
    try:
        # Decoded here: from bytes json would take UTF-16 and UTF-32, too.
        record = json.loads(line.decode())
    except (RecursionError, ValueError):
        raise StoreError(f"{place}: not a JSON line: {line[:_SHOWN_BYTES]!r}") from None
    if not isinstance(record, dict):
        raise StoreError(f"{place}: not a JSON object: {line[:_SHOWN_BYTES]!r}")
    version = record.get("v")
    if version != FORMAT or type(version) is not int:  # true and 1.0 equal 1
        found = repr(version)[:_SHOWN_BYTES] if "v" in record else "not named"
        raise StoreError(f"{place}: format {found}; this version of Seaspider reads format {FORMAT}")
    return Row(place, record)
