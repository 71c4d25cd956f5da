"""The store: the folder a crawl writes its evidence to.

Decides where a record goes and how surely it is written (design: which lines are fsynced), and latches: after the first
write that fails, nothing more is written and every further write raises. Never decides what a record says.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from seaspider import bodyfiles, journal
from seaspider.bodyshelf import BodyShelf, refuse_link
from seaspider.core.records import File
from seaspider.errors import StoreError, StoreInUse
from seaspider.journal import JournalFile, Row
from seaspider.syncing import sync_folder

# Written through to the disk before anything goes on.
_SYNCED = frozenset({File.MANIFEST, File.INTENTS, File.PAGES, File.ROBOTS})
# On the disk before a line that speaks of them is: a page line of its requests and links, the end of a run of all.
_BEFORE = {
    File.PAGES: (File.REQUESTS, File.LINKS),
    File.MANIFEST: (File.SKIPPED, File.REQUESTS, File.LINKS),
}


# A sync that takes longer than it takes to hand one to a thread, several times.
_SLOW_S = 0.001


class Store(Protocol):
    """Where evidence goes."""

    failed: StoreError | None
    """The error of the first write that failed."""
    torn: dict[str, int]
    """Journal files whose last line a crash had torn, and how many bytes were cut."""

    def write(self, file: File, *records: Mapping[str, Any] | bytes) -> None:
        """Adds records, or what to_line made of them, to a file, in one write.

        Raises StoreError, and again for each write after a failed one.
        """

    def put_body(self, body: bytes) -> str:
        """Keeps a body and returns its sha256 in hex."""

    def body(self, sha256: str) -> bytes | None:
        """A body kept, or None if there is none whose digest is this."""

    def close(self) -> None: ...


class NoStore:
    """For commands without a queue: writes nothing and keeps only bodies, in memory."""

    def __init__(self) -> None:
        self.failed: StoreError | None = None
        self.torn: dict[str, int] = {}
        self._bodies: dict[str, bytes] = {}

    def write(self, file: File, *records: Mapping[str, Any] | bytes) -> None:
        pass

    def put_body(self, body: bytes) -> str:
        sha256 = hashlib.sha256(body).hexdigest()
        self._bodies[sha256] = body
        return sha256

    def body(self, sha256: str) -> bytes | None:
        return self._bodies.get(sha256)

    def close(self) -> None:
        pass


class FolderStore:
    """A store folder, locked for this process as long as it is open.

    `durable`: what must outlive a power cut is on the disk before anything goes on; what can be made again need not.
    Raises StoreInUse, and StoreError if the folder cannot be written or holds what no store of ours does.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder = folder
        self._durable = durable
        self.failed: StoreError | None = None
        self.torn: dict[str, int] = {}
        self._files: dict[File, JournalFile] = {}
        self._shelf = BodyShelf(folder, durable=durable)
        self._threads = ThreadPoolExecutor(thread_name_prefix="store")
        self._disk_is_slow = False
        try:
            _make_folder(folder)
            refuse_link(folder / bodyfiles.FOLDER)
            _make_folder(folder / bodyfiles.FOLDER)
            self._lock: int | None = _lock(folder / "lock")
            try:
                self._open()
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise StoreError(f"store {str(folder)!r} cannot be written: {error.strerror or error}") from error

    def _open(self) -> None:
        for file in File:
            torn = journal.cut_torn_end(self.folder / file)
            if torn:
                self.torn[file] = torn
        for file in File:
            self._files[file] = JournalFile(self.folder / file)
        sync_folder(self.folder)
        # This run builds on all it finds, so all of it is to outlive a power cut.
        for opened in self._files.values():
            opened.sync()

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

    def write(self, file: File, *records: Mapping[str, Any] | bytes) -> None:
        self._check()
        try:
            synced = self._durable and file in _SYNCED
            if synced:
                self._sync_before(file)
            self._files[file].append(*records, sync=synced)
        except OSError as error:
            raise self._latch(self.folder / file, error) from error

    def put_body(self, body: bytes) -> str:
        self._check()
        try:
            return self._shelf.put(body)
        except OSError as error:
            path = bodyfiles.path_of(self.folder, hashlib.sha256(body).hexdigest())
            raise self._latch(path, error) from error

    def body(self, sha256: str) -> bytes | None:
        return bodyfiles.read(self.folder, sha256)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._threads.shutdown()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _sync_before(self, file: File) -> None:
        """What a line of that file speaks of is on the disk when this returns."""
        files = [opened for opened in map(self._files.__getitem__, _BEFORE.get(file, ())) if opened.dirty]
        steps: list[Callable[[], None]] = [partial(sync_folder, folder) for folder in self._shelf.unsynced]
        steps += [opened.flush for opened in files]
        if steps:
            self._do(steps)
        for opened in files:
            opened.flushed()
        self._shelf.synced()

    def _do(self, steps: list[Callable[[], None]]) -> None:
        """One after the other; where the disk is slow, all but the first in threads meanwhile."""
        beside = steps[1:] if self._disk_is_slow else []
        others = [self._threads.submit(step) for step in beside]
        here = steps[: len(steps) - len(beside)]
        began = perf_counter()
        for step in here:
            step()
        self._disk_is_slow = perf_counter() - began > _SLOW_S * len(here)
        for other in others:
            other.result()

    def _check(self) -> None:
        if self.failed is not None:
            raise self.failed

    def _latch(self, path: Path, error: OSError) -> StoreError:
        self.failed = StoreError(f"{path} cannot be written: {error.strerror or error}")
        return self.failed


def _lock(path: Path) -> int:
    refuse_link(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise StoreInUse(f"store {str(path.parent)!r} is in use by another process") from None
        raise
    return descriptor


def _make_folder(folder: Path) -> None:
    """With its parents, each of which keeps the name on the disk."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        if folder.exists():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
