"""Whether one sync of a whole file system is as sure as one of each body, and no slower; and that sync.

syncfs(2) waits for what others wrote as well, and promises less than fsync(2) in places. What is made up for here:

- It tells of data that could not be written since Linux 5.8, of a journal that could not since 5.17. Each error is told
  once to each descriptor that was open when it happened: to one opened later only if nobody was told before. So the
  descriptor has to be older than what it is to vouch for.
- Of an ext4 that gave up, and of any that became read-only with it, it says nothing (ext4: up to 6.12). An fsync of any
  file does. That also has the disk empty its own cache, where a sync of all may have done so too early.
- Of bytes that ext4 found no place for (its map of free blocks is damaged) it says nothing. They have no blocks then.

Never decides what has to be on the disk, nor when.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from seaspider import faultpoints, syncing

AS_SURE = frozenset({"ext3", "ext4", "xfs"})
"""Types of file systems whose sync as a whole does what is said here. Of others it is not known."""

SINCE = (5, 17)
"""The first Linux."""

WAITING_A_FILE = 1 << 16
"""Bytes that may wait to be written, on the whole machine, for each file to be synced: about what a disk writes in the
time of an fsync. With a full log that is some 64 MiB."""

_RELEASE = re.compile(r"(\d+)\.(\d+)")
_MOUNT = re.compile(rb"\d+ \d+ (\d+:\d+) [^ ]+ ([^ ]+) [^ ]+ (?:[^ ]+ )*?- ([^ ]+) ")
_OCTAL = re.compile(rb"\\([0-7]{3})")
_WAITING = re.compile(r"^(?:Dirty|Writeback): +(\d+) kB$", re.MULTILINE)
_BLOCK = 512


class WholeSync:
    """Of the file system that a store lies on.

    `descriptor`: of a file in it that stays open, and was before anything was written that `sync` is to wait for.
    """

    def __init__(self, store: Path, descriptor: int) -> None:
        self._descriptor = descriptor
        self._as_sure = is_as_sure(store)

    def pays(self, files: int) -> bool:
        """Whether it is to be done where so many files wait to be synced."""
        if not self._as_sure or not files:
            return False
        waiting = waiting_bytes()
        return waiting is not None and waiting <= files * WAITING_A_FILE

    def sync(self) -> bool:
        """All that was written outlives a power cut when this returns, but for what `check_kept` finds.

        False: something failed, maybe somebody else's; a sync of each file tells.
        """
        faultpoints.reached("before sync file system")
        try:
            syncing.syncfs(self._descriptor)
            os.fsync(self._descriptor)
        except OSError:
            return False
        faultpoints.reached("after sync file system")
        return True


def check_kept(path: str, size: int) -> None:
    """Raises OSError for a file that the file system found no place for, after it was synced as a whole."""
    found = os.stat(path)  # noqa: PTH116 - for each body
    if found.st_size < size or found.st_blocks * _BLOCK < size:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)


def is_as_sure(store: Path) -> bool:
    """Whether all of a store lies on one file system, and of it and this Linux the above is known."""
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes()
        path, device = os.fsencode(store.resolve()), store.stat().st_dev
    except OSError:
        return False
    kind = type_of(mounts, f"{os.major(device)}:{os.minor(device)}", path)
    return kind in AS_SURE and release_of(os.uname().release) >= SINCE


def waiting_bytes() -> int | None:
    """How much waits to be written on this machine, whoever wrote it; None: unknown."""
    try:
        return waiting_of(Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return None


def release_of(text: str) -> tuple[int, int]:
    """The first two numbers of what Linux calls its release; (0, 0) if it has none."""
    found = _RELEASE.match(text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def type_of(mounts: bytes, device: str, folder: bytes) -> str | None:
    """The type of the file system `device` (as in `8:1`), from /proc/self/mountinfo.

    None: it is not there (btrfs gives its files other devices than it has), or another one is mounted in `folder`.
    """
    kind = None
    for line in mounts.split(b"\n")[:-1]:
        found = _MOUNT.match(line)
        if found is None:
            return None
        if found[1].decode() == device:
            kind = found[3].decode(errors="replace")
        elif _OCTAL.sub(lambda octal: bytes([int(octal[1], 8) & 255]), found[2]).startswith(folder.rstrip(b"/") + b"/"):
            return None
    return kind


def waiting_of(meminfo: str) -> int | None:
    """From /proc/meminfo, in bytes: what is to be written, and what is under way. None: it does not say."""
    found = _WAITING.findall(meminfo)
    return sum(map(int, found)) * 1024 if len(found) == 2 else None
