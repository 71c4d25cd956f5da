"""A store after its run was cut off: made what it was at the last wait for the disk, from the log of writeahead.py.

Never takes away what a run waited for, nor, in the same boot, anything at all. Raises StoreError and OSError.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from seaspider import bodyfiles, journal, logframes, syncing
from seaspider.bodyshelf import BodyShelf
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.logframes import Piece
from seaspider.writeahead import NAME, SIZE

# These lines vouch for others: for a body, for links and requests. Those that were not waited for may be there alone.
_VOUCHING = (File.PAGES, File.ROBOTS)


@dataclass(frozen=True, slots=True)
class Left:
    """What a run that was cut off had waited for, and the boot it ran in; empty: unknown."""

    boot_id: str
    pieces: list[Piece]
    bodies: list[bytes]

    @property
    def ends(self) -> dict[str, int]:
        """How long the files were at the last wait."""
        return {piece.file: piece.offset + len(piece.data) for piece in self.pieces}


def left(store: Path) -> Left | None:
    """None: there is no log."""
    try:
        with journal.opened(store / NAME) as file:
            log = file.read(SIZE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{store / NAME}: {error.strerror}") from error
    if not logframes.is_log(log):
        raise StoreError(f"{store / NAME}: is no log of a store, or one of another version")
    frames = list(logframes.frames(log))
    pieces = [piece for frame in frames for piece in frame.pieces]
    for piece in pieces:
        if piece.file not in tuple(File):
            raise StoreError(f"{store / NAME}: tells of {piece.file!a}, which is no file of a store")
    return Left(frames[0].boot_id if frames else "", pieces, [body for frame in frames for body in frame.bodies])


def restore(store: Path, boot_id: str) -> dict[str, int]:
    """Makes a store, locked by this process, what it was at the last wait of a run that was cut off, if not more.

    Everything in it is on the disk when this returns. Returns the files that lost what nobody had waited for, and how
    many bytes.
    """
    found = left(store)
    if found is None:
        return {}
    shelf = BodyShelf(store, durable=False)
    for body in found.bodies:
        shelf.put(body)
    for piece in found.pieces:
        _put(store, piece)
    cut: dict[str, int] = {}
    if found.boot_id != boot_id:
        for path, end in found.ends.items():
            size = (store / path).stat().st_size
            kept = _kept(store / path, end)
            if kept < size:
                os.truncate(store / path, kept)
                cut[path] = size - kept
    # That run did not wait for what it wrote last. Which files took it, nobody knows any more.
    syncing.sync_file_system(store)
    return cut


def is_in_place(store: Path, found: Left) -> bool:
    """Whether there is nothing to restore after a power cut."""
    try:
        return (
            all(bodyfiles.read(store, hashlib.sha256(body).hexdigest()) == body for body in found.bodies)
            and all(_is_there(store, piece) for piece in found.pieces)
            and all(_kept(store / file, end) == (store / file).stat().st_size for file, end in found.ends.items())
        )
    except OSError as error:
        raise StoreError(f"{store}: {error.strerror}") from error


def _is_there(store: Path, piece: Piece) -> bool:
    with journal.opened(store / piece.file) as file:
        file.seek(piece.offset)
        return file.read(len(piece.data)) == piece.data


def _put(store: Path, piece: Piece) -> None:
    path = store / piece.file
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(descriptor, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size < piece.offset:
            raise StoreError(
                f"{path}: has {size} bytes, and the log, {NAME}, goes on at byte {piece.offset}: they are of different "
                f"moments. Without {NAME} a crawl builds on what the files have"
            )
        file.seek(piece.offset)
        if file.read(len(piece.data)) != piece.data:
            file.seek(piece.offset)
            file.write(piece.data)


def _kept(path: Path, end: int) -> int:
    """How much of a file is kept after a power cut that came when `end` bytes of it had been waited for.

    Of lines that vouch for others, no more: what they vouch for may be gone. Of others, all that the disk happened to
    take: whole lines, before the zeros that it may have where it did not.
    """
    if path.name in _VOUCHING:
        return end
    with journal.opened(path) as file:
        file.seek(end)
        rest = file.read()
    zero = rest.find(b"\0")
    return end + (len(rest) if zero < 0 else rest.rfind(b"\n", 0, zero) + 1)
