"""What a disk holds after a power cut: what was synced, and nothing else.

A model that takes everything away that POSIX lets a disk lose: bytes of a file that were not fsynced, and names in a
folder that was not fsynced after they were made. It watches the syncs of the process that writes, and keeps its
knowledge in a file, so that it goes on over restarts. Files are told apart by their inodes. Files grow at their ends;
the store's log, which is written over, is kept as it was synced.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection
from pathlib import Path

from seaspider import syncing
from seaspider.writeahead import NAME


class Disk:
    """`folder` is what lies on it; its name in its parent can get lost, too. `memory`: where this is kept."""

    def __init__(self, folder: Path, memory: Path) -> None:
        self._folder = folder
        self._memory = memory
        known = json.loads(memory.read_text()) if memory.exists() else {"sizes": {}, "names": {}, "logs": {}}
        self._sizes: dict[str, int] = known["sizes"]
        """Inode of a file -> how many of its bytes are on the disk."""
        self._names: dict[str, dict[str, str]] = known["names"]
        """Inode of a folder -> its names that are on the disk, and their inodes."""
        self._logs: dict[str, str] = known["logs"]
        """Inode of a log -> its bytes that are on the disk, in hex."""

    def watch(self) -> None:
        """From now on the syncs of this process count."""
        os.fsync = self._counted(os.fsync)  # type: ignore[assignment]
        os.fdatasync = self._counted(os.fdatasync)  # type: ignore[assignment]
        syncing.syncfs = lambda _: self._all_synced()

    def _counted(self, sync: Callable[[int], None]) -> Callable[[int], None]:
        def counted(descriptor: int) -> None:
            sync(descriptor)
            self._synced(descriptor)

        return counted

    def _synced(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(descriptor) as entries:
                self._names[str(status.st_ino)] = {entry.name: str(entry.inode()) for entry in entries}
        else:
            self._sizes[str(status.st_ino)] = status.st_size
            if Path(f"/proc/self/fd/{descriptor}").readlink().name == NAME:
                self._logs[str(status.st_ino)] = os.pread(descriptor, status.st_size, 0).hex()

    def _all_synced(self) -> None:
        for path in (self._folder.parent, self._folder, *self._folder.rglob("*")):
            descriptor = os.open(path, os.O_RDONLY)
            self._synced(descriptor)
            os.close(descriptor)

    def save(self) -> None:
        self._memory.write_text(json.dumps({"sizes": self._sizes, "names": self._names, "logs": self._logs}))

    def cut(self, early: Collection[str] = ()) -> None:
        """The power fails: what was not synced is lost, but for the bytes of `early` files."""
        if self._has(self._folder):
            self._lose_below(self._folder, early)
        else:
            shutil.rmtree(self._folder)

    def _lose_below(self, folder: Path, early: Collection[str]) -> None:
        for path in list(folder.iterdir()):
            if path.is_dir():
                self._lose_below(path, early) if self._has(path) else shutil.rmtree(path)
            elif self._has(path):
                if path.name not in early:
                    os.truncate(path, min(path.stat().st_size, self._sizes.get(_inode(path), 0)))
                # Its inode may have been an earlier log's.
                if path.name == NAME and _inode(path) in self._logs:
                    path.write_bytes(bytes.fromhex(self._logs[_inode(path)]))
            else:
                # Its inode may be another file's soon.
                self._sizes.pop(_inode(path), None)
                self._logs.pop(_inode(path), None)
                path.unlink()

    def _has(self, path: Path) -> bool:
        """Whether the name is on the disk, and stands for what it stands for now."""
        return self._names.get(_inode(path.parent), {}).get(path.name) == _inode(path)


def _inode(path: Path) -> str:
    return str(path.stat().st_ino)
