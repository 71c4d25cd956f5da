"""Puts bodies into the folder `bodies` of a store, each under its sha256, and knows which names may not be on the disk.

Never gives a body its name before it is whole and on the disk, and never writes through a link. Raises OSError. Paths
are strings here: there are a dozen system calls a page, and pathlib took longer than they do.
"""
# ruff: noqa: PTH102, PTH104, PTH108, PTH114, PTH119, PTH123

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

from seaspider import faultpoints
from seaspider.bodyfiles import FOLDER

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class BodyShelf:
    """`durable`: a body outlives a power cut. `unsynced`: folders with names that may not."""

    def __init__(self, store: Path, *, durable: bool) -> None:
        self._folder = str(store / FOLDER)
        self._durable = durable
        self._synced: set[str] = set()
        self.unsynced: set[str] = set()

    def put(self, body: bytes) -> str:
        """Its sha256 in hex. The name, whichever process gave it, is to be synced before a line speaks of it."""
        sha256 = hashlib.sha256(body).hexdigest()
        folder = f"{self._folder}/{sha256[:2]}"
        path = f"{folder}/{sha256}"
        refuse_link(folder)
        if not _holds(path, body):
            self._write(folder, path, body)
        self._keep_name(folder)
        return sha256

    def synced(self) -> None:
        """The folders of `unsynced` are on the disk."""
        self._synced |= self.unsynced
        self.unsynced.clear()

    def _keep_name(self, folder: str) -> None:
        self.unsynced |= {folder, self._folder} - self._synced

    def _write(self, folder: str, path: str, body: bytes) -> None:
        """Under its name only when it is whole and on the disk."""
        temporary = f"{path}.part"
        descriptor = self._open(folder, temporary)
        try:
            rest = memoryview(body)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            faultpoints.reached("before sync body")
            if self._durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        faultpoints.reached("before rename body")
        os.rename(temporary, path)
        faultpoints.reached("after rename body")
        self._synced.discard(folder)

    def _open(self, folder: str, temporary: str) -> int:
        try:
            return os.open(temporary, _NEW, 0o666)
        except FileNotFoundError:
            os.mkdir(folder)
            self._synced.discard(self._folder)
        except FileExistsError:
            os.unlink(temporary)  # of a crash, or a link that somebody put there
        return os.open(temporary, _NEW, 0o666)


def refuse_link(path: str | Path) -> None:
    """What is written stays in the store: a link in it, whoever put it there, may lead to any file of the user's."""
    if os.path.islink(path):
        raise OSError(errno.ELOOP, f"{os.path.basename(path)} in it is a symbolic link")


def _holds(path: str, body: bytes) -> bool:
    """Whether the file is there and whole; one that was changed is to be written again."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size != len(body):
            return False
        with open(path, "rb") as file:
            return file.read() == body
    except OSError:
        return False
