"""The store: the folder a crawl writes its evidence to.

Decides where a record goes and what outlives a power cut: all that was written before the last `sync`, which comes
before anything more is asked of anybody. Latches: after the first write that fails, nothing more is written and every
further write raises. Never decides what a record says.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from seaspider import bodyfiles, faultpoints, journal, restoring, writeahead
from seaspider.bodyshelf import BodyShelf, refuse_link
from seaspider.core.records import File, to_line
from seaspider.errors import StoreError, StoreInUse
from seaspider.journal import JournalFile, Row
from seaspider.syncing import sync_folder
from seaspider.wholesync import WholeSync
from seaspider.writeahead import WriteAhead

# On the disk in this order: before a line is all that it speaks of.
_IN_ORDER = (File.SKIPPED, File.REQUESTS, File.LINKS, File.ROBOTS, File.INTENTS, File.PAGES, File.MANIFEST)


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
        """Keeps a body and returns its sha256 in hex. To come before a record that names it."""

    def sync(self) -> None:
        """All that was written so far outlives a power cut when this returns. Raises StoreError as `write` does."""

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

    def sync(self) -> None:
        pass

    def body(self, sha256: str) -> bytes | None:
        return self._bodies.get(sha256)

    def close(self) -> None:
        pass


class FolderStore:
    """A store folder, locked for this process as long as it is open.

    `durable`: False for what can be made again and need not outlive a power cut. `boot_id`: of this machine's boot; a
    run of another boot may have ended with a power cut. Raises StoreInUse, and StoreError if the folder cannot be
    written or holds what no store of ours does.
    """

    def __init__(self, folder: Path, *, boot_id: str = "", durable: bool = True) -> None:
        self.folder = folder
        self._durable = durable
        self._boot_id = boot_id
        self.failed: StoreError | None = None
        self.torn: dict[str, int] = {}
        self._files: dict[File, JournalFile] = {}
        self._shelf = BodyShelf(folder, durable=durable)
        self._ahead: WriteAhead | None = None
        self._whole: WholeSync | None = None
        try:
            _make_folder(folder)
            refuse_link(folder / bodyfiles.FOLDER)
            _make_folder(folder / bodyfiles.FOLDER)
            self._lock: int | None = _lock(folder / "lock")
            if durable:
                self._whole = WholeSync(folder, self._lock)
            try:
                self._open()
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise StoreError(f"store {str(folder)!r} cannot be written: {error.strerror or error}") from error

    def _open(self) -> None:
        self.torn.update(restoring.restore(self.folder, self._boot_id))
        for file in File:
            torn = journal.cut_torn_end(self.folder / file)
            if torn:
                self.torn[file] = self.torn.get(file, 0) + torn
        for file in File:
            self._files[file] = JournalFile(self.folder / file)
        sync_folder(self.folder)
        # This run builds on all it finds, so all of it is to outlive a power cut.
        self._sync_in_place()
        if self._durable:
            self._ahead = WriteAhead(self.folder, self._boot_id, self._ends())
            sync_folder(self.folder)

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
        written = self._files[file]
        try:
            lines = b"".join(map(to_line, records))
            end = written.size
            if file in restoring.VOUCHING and self._ahead is not None and not self._ahead.has_room:
                self._sync_in_place()
            written.append(lines)
            # Millions of lines may be skipped. What they speak of is in the queue, so that nothing builds on them.
            if self._ahead is not None and file is not File.SKIPPED:
                self._ahead.add(file, end, lines)
                if file is File.MANIFEST:
                    self._files[File.SKIPPED].sync()
                    self._sync()
        except OSError as error:
            raise self._latch(self.folder / file, error) from error

    def put_body(self, body: bytes) -> str:
        self._check()
        try:
            sha256, is_new = self._shelf.put(body)
            if is_new and self._ahead is not None:
                self._ahead.add_body(sha256, body)
        except OSError as error:
            path = bodyfiles.path_of(self.folder, hashlib.sha256(body).hexdigest())
            raise self._latch(path, error) from error
        return sha256

    def sync(self) -> None:
        self._check()
        try:
            self._sync()
        except OSError as error:
            raise self._latch(Path(error.filename or self.folder / writeahead.NAME), error) from error

    def _sync(self) -> None:
        if self._ahead is not None and self._ahead.unsynced and not self._ahead.sync():
            self._sync_round(self._ahead)
            self._ahead.restart(self._ends())

    def _sync_round(self, log: WriteAhead) -> None:
        """What the log has is synced where it lies; with the log there, in any order."""
        if log.has_room and self._whole is not None and self._whole.pays(self._shelf.unsynced):
            self._sync_files()
            if self._whole.sync():
                self._shelf.synced_as_one()
        self._sync_in_place()

    def _sync_in_place(self) -> None:
        self._shelf.sync()
        self._sync_files()

    def _sync_files(self) -> None:
        for file in _IN_ORDER:
            self._files[file].sync()

    def _ends(self) -> dict[File, int]:
        return {file: self._files[file].size for file in _IN_ORDER}

    def body(self, sha256: str) -> bytes | None:
        return bodyfiles.read(self.folder, sha256)

    def close(self) -> None:
        self._close_log()
        for file in self._files.values():
            file.close()
        self._files.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _close_log(self) -> None:
        """Takes it away once nothing needs it any more. After an error it stays: what it holds is for the next run."""
        if self._ahead is None:
            return
        log, self._ahead = self._ahead, None
        if self.failed is None:
            with suppress(OSError):
                self._sync_round(log)
                faultpoints.reached(f"before remove {writeahead.NAME}")
                log.remove()
        log.close()

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
