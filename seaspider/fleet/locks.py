"""Who is at work in a fleet's folder: a fleet or a merge in all of it, a crawl in a shard of it.

And, in a folder that is no fleet's yet, a crawl in all of it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from seaspider.errors import StoreError, StoreInUse
from seaspider.fleet.plan import plan_folder

FLEET: Final = "fleet.lock"
SHARD: Final = "lock"
_BUSY: Final = (errno.EAGAIN, errno.EACCES)


@contextmanager
def fleet_held(folder: Path, by: str) -> Iterator[None]:
    """Neither a fleet nor a merge begins in it meanwhile, and no crawl is at work in it. `by`: who else may be.

    The lock's file stays only where there is a plan. Raises StoreInUse, StoreError.
    """
    path, in_use = folder / FLEET, f"store {str(folder)!r} is in use by "
    with idle(folder, SHARD, f"{in_use}a crawl"), _held(_opened(path), fcntl.LOCK_EX, f"{in_use}{by}", path):
        try:
            yield
        finally:
            if not plan_folder(folder).exists():
                with suppress(OSError):
                    path.unlink()


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


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
def _held(descriptor: int, kind: int, what: str, path: Path | None = None) -> Iterator[None]:
    """`path`: where the file still has to be once it is locked."""
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise StoreError(f"{what}: cannot be locked: {error.strerror or error}") from error
            raise StoreInUse(what) from None
        if path is not None and not _is_at(descriptor, path):
            # Who had it took it away, and somebody may have a new one.
            raise StoreInUse(what)
        yield
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
