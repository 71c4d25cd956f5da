"""Where a ledger's file lies, which file a path leads to, and how one is made: for nobody but the user."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

Place = tuple[int, int]
"""Device and inode: which file a path leads to."""


def default_path() -> Path:
    """The user's ledger, in the state folder of the XDG base directory specification; RuntimeError if there is none."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # the specification: to be ignored
        state = Path.home() / ".local" / "state"
    return state / "seaspider" / "ledger.sqlite3"


def place_of(path: str) -> Place | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - four times a request, and half the time that way
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def make(path: Path) -> None:
    """The file and its folders, for nobody but the user where they are new."""
    _make_folder(path.parent)
    with suppress(FileExistsError):
        # Not opened: closing it would end the locks that this process has on it by other connections.
        os.mknod(path, stat.S_IFREG | 0o600)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
