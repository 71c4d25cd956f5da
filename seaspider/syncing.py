"""What outlives a power cut, beside the bytes of one file."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_folder(folder: str | Path) -> None:
    """Names given and taken away in it are on the disk when this returns. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(folder: Path) -> None:
    """All that anybody wrote to the file system it lies on is on the disk when this returns. Raises OSError.

    syncfs(2), which Python does not have; os.sync() would wait for all other file systems as well.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if libc.syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)
