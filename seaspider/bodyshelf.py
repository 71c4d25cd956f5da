"""Puts bodies into the folder `bodies` of a store, each under its sha256, and knows which may not be on the disk yet.

Never gives a body its name before it is whole, and never writes through a link. Raises OSError. Paths are strings here:
there are a dozen system calls a page, and pathlib took longer than they do.
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
from seaspider.syncing import sync_file, sync_folder
from seaspider.wholesync import check_kept

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class BodyShelf:
    """`durable`: `sync` is to come."""

    def __init__(self, store: Path, *, durable: bool) -> None:
        self._folder = str(store / FOLDER)
        self._durable = durable
        self._new: list[tuple[str, int]] = []
        self._folders: set[str] = set()

    def put(self, body: bytes) -> tuple[str, bool]:
        """Its sha256 in hex, and whether it was not there before."""
        sha256 = hashlib.sha256(body).hexdigest()
        folder = f"{self._folder}/{sha256[:2]}"
        path = f"{folder}/{sha256}"
        refuse_link(folder)
        if os.access(path, os.F_OK, follow_symlinks=False) and _holds(path, body):
            return sha256, False
        self._write(folder, path, body)
        if self._durable:
            self._new.append((path, len(body)))
            self._folders.add(folder)
        return sha256, True

    @property
    def unsynced(self) -> int:
        """How many files `sync` would wait for."""
        return len(self._new) + len(self._folders)

    def sync(self) -> None:
        """What was put is on the disk when this returns, and its name after it."""
        for path, _ in self._new:
            faultpoints.reached("before sync body")
            sync_file(path)
        for folder in sorted(self._folders):
            sync_folder(folder)
        self._forget()

    def synced_as_one(self) -> None:
        """The file system was synced as a whole, so that there is nothing to wait for."""
        for path, size in self._new:
            check_kept(path, size)
        self._forget()

    def _forget(self) -> None:
        self._new.clear()
        self._folders.clear()

    def _write(self, folder: str, path: str, body: bytes) -> None:
        """Under its name only when it is whole."""
        temporary = f"{path}.part"
        descriptor = self._open(folder, temporary)
        try:
            rest = memoryview(body)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
        faultpoints.reached("before rename body")
        os.rename(temporary, path)
        faultpoints.reached("after rename body")

    def _open(self, folder: str, temporary: str) -> int:
        try:
            return os.open(temporary, _NEW, 0o666)
        except FileNotFoundError:
            os.mkdir(folder)
            self._folders.add(self._folder)
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
