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

VOUCHING = (File.PAGES, File.ROBOTS, File.MANIFEST)
"""Their lines vouch for others: for a body, links and requests, for a whole run. Those that nobody waited for may be
there alone."""

_FILES = frozenset(File)
_MOST_OFFSET = 1 << 62
_READ_BYTES = 1 << 20


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
        if piece.file not in _FILES or piece.offset > _MOST_OFFSET:
            raise StoreError(f"{store / NAME}: tells of byte {piece.offset} of {piece.file!a}, which no store has")
    return Left(frames[0].boot_id if frames else "", pieces, [body for frame in frames for body in frame.bodies])


def restore(store: Path, boot_id: str) -> dict[str, int]:
    """Makes a store, locked by this process, what it was at the last wait of a run that was cut off, if not more.

    Everything in it is on the disk when this returns. Returns the files that lost what nobody had waited for, and how
    many bytes. A log that is not of this store as it is now is refused before anything is changed.
    """
    found = left(store)
    if found is None:
        return {}
    _refuse_others(store, found)
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
    for folder in (store, store / bodyfiles.FOLDER):
        syncing.sync_file_system(folder)
    return cut


def _refuse_others(store: Path, found: Left) -> None:
    """Raises StoreError for a log of another store, or of this one at another time.

    What the files have where the log has something is the same, or zeros that the disk had not written yet; and a line
    of the manifest is waited for before the next one is written.
    """
    sizes: dict[str, int] = {}
    for piece in found.pieces:
        path = store / piece.file
        size = sizes[piece.file] if piece.file in sizes else _size(path)
        if size < piece.offset:
            raise _other(path, f"has {size} bytes, and the log goes on at byte {piece.offset}")
        sizes[piece.file] = max(size, piece.offset + len(piece.data))
        there = _read(path, piece.offset, len(piece.data))
        if not piece.data.startswith(there) and any(a not in (0, b) for a, b in zip(there, piece.data, strict=False)):
            raise _other(path, f"has other bytes at byte {piece.offset} than the log")
    manifest, end = store / File.MANIFEST, found.ends.get(File.MANIFEST, 0)
    lines = _read(manifest, end, max(0, sizes.get(File.MANIFEST, 0) - end)).count(b"\n")
    if lines > 1:
        raise _other(manifest, f"has {lines} lines that came after the log")


def _other(path: Path, why: str) -> StoreError:
    return StoreError(f"{path}: {why}: {NAME} is of another time or store. Without it a crawl builds on what is there")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read(path: Path, offset: int, size: int) -> bytes:
    try:
        with journal.opened(path) as file:
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        return b""


def is_in_place(store: Path, found: Left) -> bool:
    """Whether there is nothing to restore after a power cut."""
    try:
        return (
            all(bodyfiles.read(store, hashlib.sha256(body).hexdigest()) == body for body in found.bodies)
            and all(_read(store / piece.file, piece.offset, len(piece.data)) == piece.data for piece in found.pieces)
            and all(_kept(store / file, end) == (store / file).stat().st_size for file, end in found.ends.items())
        )
    except OSError as error:
        raise StoreError(f"{store}: {error.strerror}") from error


def _put(store: Path, piece: Piece) -> None:
    descriptor = os.open(store / piece.file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.seek(piece.offset)
        file.write(piece.data)


def _kept(path: Path, end: int) -> int:
    """How much of a file is kept after a power cut that came when `end` bytes of it had been waited for.

    Of lines that vouch for others, no more: what they vouch for may be gone. Of others, all that the disk happened to
    take: whole lines, before the zeros that it may have where it did not.
    """
    if path.name in VOUCHING:
        return end
    kept = at = end
    with journal.opened(path) as file:
        file.seek(end)
        while block := file.read(_READ_BYTES):
            zero = block.find(b"\0")
            line_feed = block.rfind(b"\n", 0, len(block) if zero < 0 else zero)
            kept = at + line_feed + 1 if line_feed >= 0 else kept
            at += len(block)
            if zero >= 0:
                return kept
    return at
