"""What outlives a power cut, beside the bytes of one file."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_folder(folder: str | Path) -> None:
    """Names given and taken away in it are on the disk when this returns. Raises OSError."""
    _sync(folder, os.O_DIRECTORY)


def sync_file(path: str) -> None:
    """What it holds is on the disk when this returns. Raises OSError."""
    _sync(path, 0)


def _sync(path: str | Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise named(error, path) from error
    finally:
        os.close(descriptor)


def named(error: OSError, path: str | Path) -> OSError:
    """The error of a call that knows its file by a number only."""
    return OSError(error.errno, error.strerror, str(path))


def sync_file_system(folder: Path) -> None:
    """All that anybody wrote to the file system it lies on is on the disk when this returns. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)


def syncfs(descriptor: int) -> None:
    """syncfs(2), which Python lacks; os.sync() would wait for all other file systems as well. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
