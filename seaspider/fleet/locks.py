"""Who is at work in a fleet's folder: a fleet or a merge in all of it, a crawl in a shard of it."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from seaspider.errors import StoreError, StoreInUse

FLEET: Final = "fleet.lock"
SHARD: Final = "lock"
_BUSY: Final = (errno.EAGAIN, errno.EACCES)


@contextmanager
def fleet_held(folder: Path, by: str) -> Iterator[None]:
    """Neither a fleet nor a merge begins in it meanwhile. `by`: who else may be. Raises StoreInUse, StoreError."""
    path = folder / FLEET
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
    with _held(descriptor, fcntl.LOCK_EX, f"store {str(folder)!r} is in use by {by}"):
        yield


@contextmanager
def idle(folder: Path, lock: str, what: str) -> Iterator[None]:
    """Nobody is at work in it, nor begins meanwhile. `what` it is called if somebody is. Raises StoreInUse."""
    try:
        descriptor = os.open(folder / lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        # Nobody ever was, or it is nobody's to lock.
        yield
        return
    with _held(descriptor, fcntl.LOCK_SH, what):
        yield


@contextmanager
def _held(descriptor: int, kind: int, what: str) -> Iterator[None]:
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise StoreError(f"{what}: cannot be locked: {error.strerror or error}") from error
            raise StoreInUse(what) from None
        yield
    finally:
        os.close(descriptor)
