"""The log that a store writes ahead: one wait for the disk, where each file that took something would need its own.

What has gone to the files since the last wait goes into the log as well, with its place, and the log alone is synced;
the files reach the disk when it suits the system. After a power cut they are made what they were at the last wait. When
the log is full, the files are synced where they lie and it begins anew.

Writes the log: what is in it decides the store, and when to wait for it. What it looks like is in logframes.py, how a
store is restored from it in restoring.py.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from seaspider import faultpoints, logframes
from seaspider.core.records import File
from seaspider.logframes import FIRST_BYTES

NAME = "writeahead"
"""Its file in the store. There while a run is at work, and after one that was cut off."""

FIRST_SIZE, SIZE = 1 << 20, 1 << 22
"""Bytes of its file, at first and from its second round on. It is made of zeros: bytes that are written over cost a
disk less than a file that grows."""

MOST = 1 << 18
"""Bytes that one wait can be for; what is more is synced where it lies, not written twice."""

_CHUNK = 1 << 18
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

SPARE = 64 << 20
"""Bytes that have to be free on a disk that a log is made on: else the store needs them more."""


class WriteAhead:
    """The log of a store that this process has locked, and that is on the disk as it is. Raises OSError.

    `ends`: how long the journal files are. It takes the place of one that was restored. Where there is no room for one,
    an empty file says that a run is at work, and `sync` takes nothing.
    """

    def __init__(self, store: Path, boot_id: str, ends: Mapping[File, int]) -> None:
        self.path = store / NAME
        self._boot_id = boot_id.encode("ascii")
        self._generation, self._size, self._end = 0, 0, len(FIRST_BYTES)
        self._pieces: list[bytes] = []
        self._bodies: list[bytes] = []
        self.unsynced = 0
        """Bytes that were added since the last sync."""
        self.path.unlink(missing_ok=True)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            self._lengthen(FIRST_SIZE)
            if self.has_room:
                os.pwrite(self._descriptor, FIRST_BYTES, 0)
                self._begin(ends)
        except OSError:
            self.close()
            raise

    @property
    def has_room(self) -> bool:
        """False: `sync` takes nothing."""
        return self._size > 0

    def _lengthen(self, size: int) -> None:
        """If there is room for it."""
        disk = os.fstatvfs(self._descriptor)
        if disk.f_bavail * disk.f_frsize < SPARE:
            return
        zeros, at = memoryview(bytes(_CHUNK)), self._size
        try:
            while at < size:
                at += os.pwrite(self._descriptor, zeros[: size - at], at)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            os.ftruncate(self._descriptor, self._size)
        else:
            self._size = size

    def add(self, file: File, offset: int, lines: bytes) -> None:
        """Lines at byte `offset` of a file, for the next `sync`."""
        self.unsynced += len(lines)
        if self.unsynced <= MOST:
            self._pieces.append(logframes.piece(file, offset, lines))

    def add_body(self, sha256: str, body: bytes) -> None:
        """For the next `sync`."""
        self.unsynced += len(body)
        if self.unsynced <= MOST:
            self._bodies.append(logframes.body(sha256, body))

    def sync(self) -> bool:
        """What was added outlives a power cut when this returns. False: there is no room for it, nothing was done."""
        if self.unsynced > MOST:
            return False
        frame = logframes.frame(self._boot_id, self._generation, self._pieces, self._bodies)
        if self._end + len(frame) > self._size:
            return False
        self._write(frame)
        self._end += len(frame)
        self._forget()
        return True

    def _forget(self) -> None:
        self._pieces.clear()
        self._bodies.clear()
        self.unsynced = 0

    def _write(self, frame: bytes) -> None:
        faultpoints.reached("before write writeahead")
        at, rest = self._end, frame
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            at, rest = at + written, rest[written:]
        faultpoints.reached("after write writeahead")
        os.fdatasync(self._descriptor)
        faultpoints.reached("after sync writeahead")

    def restart(self, ends: Mapping[File, int]) -> None:
        """Begins anew: everything is on the disk where it lies, and the journal files are so long."""
        self._forget()
        if self.has_room:
            self._lengthen(SIZE)
            self._begin(ends)

    def _begin(self, ends: Mapping[File, int]) -> None:
        self._generation += 1
        self._end = len(FIRST_BYTES)
        for file, end in ends.items():
            self.add(file, end, b"")
        self.sync()

    def remove(self) -> None:
        """Everything is on the disk where it lies. A log that another took its place with is left alone."""
        with suppress(FileNotFoundError):
            if os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                self.path.unlink()

    def close(self) -> None:
        os.close(self._descriptor)
