"""Sorts more than the memory holds: pairs of a key and a value, both bytes, by key; equal keys stay in order.

What is held is sorted and put away in a temporary file without a name, so it is gone with the process; so few files are
open at a time, and so little is held, that neither grows with the number of pairs. Raises OSError where there is no
room.
"""

from __future__ import annotations

import heapq
import weakref
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, Final

Pair = tuple[bytes, bytes]

_HELD_BYTES: Final = 16 << 20
_PAIR_BYTES: Final = 160
"""What a pair takes in memory beside its bytes."""
_MOST_FILES: Final = 64
_LENGTHS: Final = Struct("<II")
_BUFFER_BYTES: Final = 1 << 18
_KEY: Final = itemgetter(0)


class BigSort:
    """`folder`: where the files lie; None: where TMPDIR says."""

    def __init__(self, folder: Path | None = None, held_bytes: int = _HELD_BYTES) -> None:
        self._folder = folder
        self._most_bytes = held_bytes
        self._held: list[Pair] = []
        self._held_bytes = 0
        self._files: list[IO[bytes]] = []
        weakref.finalize(self, _close, self._files)

    def add(self, key: bytes, value: bytes) -> None:
        self._held.append((key, value))
        self._held_bytes += len(key) + len(value) + _PAIR_BYTES
        if self._held_bytes >= self._most_bytes:
            self._held.sort(key=_KEY)
            self._files.append(self._put_away(self._held))
            self._held, self._held_bytes = [], 0
            if len(self._files) == _MOST_FILES:
                self._files[:] = [self._put_away(_merged(self._files))]

    def __iter__(self) -> Iterator[Pair]:
        """All pairs so far, again each time; one iteration at a time."""
        self._held.sort(key=_KEY)
        # What is held came after what was put away.
        yield from heapq.merge(*map(_read, self._files), self._held, key=_KEY)

    def _put_away(self, pairs: Iterable[Pair]) -> IO[bytes]:
        file = TemporaryFile(dir=self._folder, buffering=_BUFFER_BYTES)  # noqa: SIM115 - open as long as this lives
        for key, value in pairs:
            file.write(_LENGTHS.pack(len(key), len(value)))
            file.write(key)
            file.write(value)
        file.flush()
        return file


def _merged(files: list[IO[bytes]]) -> Iterator[Pair]:
    yield from heapq.merge(*map(_read, files), key=_KEY)
    _close(files)


def _close(files: list[IO[bytes]]) -> None:
    for file in files:
        file.close()


def _read(file: IO[bytes]) -> Iterator[Pair]:
    file.seek(0)
    while lengths := file.read(_LENGTHS.size):
        key, value = _LENGTHS.unpack(lengths)
        yield file.read(key), file.read(value)
