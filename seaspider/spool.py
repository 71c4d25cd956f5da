"""URLs that wait, outside the memory: each is numbered once, and its text lies in a temporary file.

The file has no name and lies where TMPDIR says; it takes the bytes of the URLs, and is gone with the process. The first
MiB stays in memory, so a small queue needs no file; at most 64 MiB of the file are mapped. A URL takes 20 to 40 bytes
of memory: where its text begins, and its slot in a table by digest. Two URLs of one digest are told apart by their
texts, so none is taken for another. Raises OSError where there is no room.
"""

from __future__ import annotations

import os
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, compress
from mmap import ACCESS_READ, mmap
from operator import eq
from tempfile import TemporaryFile
from types import ModuleType
from typing import Final

_BLOCK_BYTES: Final = 1 << 20
_FIRST_SLOTS: Final = 1 << 17
_LARGE: Final = 1 << 20
# From how many texts on, and how many at a time, they are added with numpy, whose import takes as long as 50,000 do.
_MANY: Final = 50_000
_AT_ONCE: Final = 256
_KEY: Final = (1 << 32) - 1
# A queue that is crawled again has each of its URLs read back. After many reads, and when most texts of some are known,
# the beginning of the file is mapped.
_MANY_READS: Final = 50_000
_MAPPED_BYTES: Final = 1 << 26


class Spool:
    """`digest`: of a text, 64 bits with a sign. hash() differs from process to process; nothing here shows it."""

    def __init__(self, digest: Callable[[bytes], int] = hash) -> None:
        self._digest = digest
        # Where each text begins, and where the last one ends.
        self._begins = array("Q", [0])
        # A slot is empty, or 32 bits of the digest and the number + 1; the digest says where to look first.
        self._slots = array("Q", bytes(8 * _FIRST_SLOTS))
        self._file: int | None = None
        self._mapped: mmap | bytes = b""
        self._reads = 0
        # The texts that are not in the file yet, and how many are.
        self._late: list[bytes] = []
        self._written = 0
        self._many_from = _MANY
        # The number of the text that comes next, if those of a queue come again in their order.
        self._turn = 0

    def __len__(self) -> int:
        return len(self._begins) - 1

    def expect(self, texts: int) -> None:
        """About so many will be there, more than the import of numpy takes. It is done now, while there is nothing else
        to do, say; and a table that need not grow, unless they are very many, leaves no hole in the memory."""
        many()
        self._many_from = 0
        self._make_room(max(0, min(texts, _LARGE) - len(self)))

    def add(self, texts: Sequence[bytes]) -> list[tuple[int, int]]:
        """Gives the next numbers, from len(), to the texts that have none, in order. Returns the others: index in
        `texts`, and number."""
        self._make_room(len(texts))
        in_turn = self._in_turn(texts)
        if in_turn:
            rest = [index for index in range(len(texts)) if index not in in_turn]
            others = self._add([texts[index] for index in rest])
            known = sorted([*in_turn.items(), *((rest[index], number) for index, number in others)])
        else:
            known = self._add(texts)
            self._turn = known[-1][1] + 1 if known else 0
        if self._begins[-1] - self._begins[self._written] >= _BLOCK_BYTES:
            self._write()
        return known

    def _in_turn(self, texts: Sequence[bytes]) -> dict[int, int]:
        """Texts that are mapped and come in the order of their numbers, from where it was left: index and number."""
        known: dict[int, int] = {}
        begins, mapped, number = self._begins, self._mapped, self._turn
        whole = bisect_right(begins, len(mapped)) - 1
        if number >= whole or len(texts) < _AT_ONCE:
            return known
        begin, end = begins[number], begins[number + 1]
        for index, text in enumerate(texts):
            if mapped[begin:end] == text:
                known[index] = number
                number += 1
                if number == whole:
                    break
                begin, end = end, begins[number + 1]
        self._turn = number
        return known

    def _add(self, texts: Sequence[bytes]) -> list[tuple[int, int]]:
        many = len(texts) >= _AT_ONCE and len(self) + len(texts) >= self._many_from
        return self._add_many(texts) if many else self._add_few(texts)

    def _add_few(self, texts: Sequence[bytes]) -> list[tuple[int, int]]:
        known: list[tuple[int, int]] = []
        for index, text in enumerate(texts):
            key = self._digest(text) & _KEY
            at = self._place(text, key)
            if self._slots[at]:
                known.append((index, (self._slots[at] & _KEY) - 1))
                continue
            self._slots[at] = key << 32 | len(self) + 1
            self._late.append(text)
            self._begins.append(self._begins[-1] + len(text))
        return known

    def _add_many(self, texts: Sequence[bytes]) -> list[tuple[int, int]]:
        first = len(self)

        def are_they(indices: list[int], numbers: list[int]) -> Iterator[bool]:
            if 2 * len(numbers) > len(texts):
                self._map()
            begins, mapped, text = self._begins, self._mapped, self.text
            whole = bisect_right(begins, len(mapped)) - 1
            theirs = [
                mapped[begins[number] : begins[number + 1]]
                if number < whole
                else (text(number) if number < first else texts[number - first])
                for number in numbers
            ]
            return map(eq, map(texts.__getitem__, indices), theirs)

        known: list[tuple[int, int]]
        known = many().add(self._slots, map(self._digest, texts), len(texts), first, are_they)
        if len(known) == len(texts):
            return known
        is_new = [True] * len(texts)
        for index, _ in known:
            is_new[index] = False
        new = list(compress(texts, is_new))
        self._late += new
        self._begins.extend(accumulate(map(len, new), initial=self._begins.pop()))
        return known

    def find(self, text: bytes) -> int | None:
        """The number of a text, if it has one."""
        slot = self._slots[self._place(text, self._digest(text) & _KEY)]
        return (slot & _KEY) - 1 if slot else None

    def text(self, number: int) -> bytes:
        """The text of a number."""
        if number >= self._written:
            return self._late[number - self._written]
        assert self._file is not None
        begin, end = self._begins[number], self._begins[number + 1]
        if end <= len(self._mapped):
            return self._mapped[begin:end]
        self._reads += 1
        if self._reads % _MANY_READS == 0 and 4 * self._reads >= len(self):
            self._map()
        return os.pread(self._file, end - begin, begin)

    def _map(self) -> None:
        """The beginning of the file, as far as there is more of it than before."""
        size = min(_MAPPED_BYTES, self._begins[self._written])
        if self._file is not None and size > len(self._mapped):
            self._mapped = mmap(self._file, size, access=ACCESS_READ)

    def _place(self, text: bytes, key: int) -> int:
        """The slot of a text: its own, or the empty one where it would be."""
        slots, mask = self._slots, len(self._slots) - 1
        at = key & mask
        while (slot := slots[at]) and (slot >> 32 != key or self.text((slot & _KEY) - 1) != text):
            at = (at + 1) & mask
        return at

    def _write(self) -> None:
        if self._file is None:
            with TemporaryFile() as file:
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
        rest = memoryview(b"".join(self._late))
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._written = len(self)
        self._late.clear()

    def _make_room(self, more: int) -> None:
        """Keeps the table at most 5/8 full. A small one gets four times the slots, so that its numbers seldom move; a
        large one twice, so that it is not much too large."""
        size = len(self._slots)
        while 8 * (len(self) + more) > 5 * size:
            size *= 4 if size < _LARGE else 2
        if size > len(self._slots):
            self._slots = many().grown(self._slots, size)


def many() -> ModuleType:
    """The module that needs numpy."""
    from seaspider import manydigests  # noqa: PLC0415 - numpy: what few crawls need takes a tenth of a second

    return manydigests
