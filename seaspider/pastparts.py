"""A journal file in parts: lines of one form that follow each other, in columns, and each other line as it is.

A long file may be taken apart by another process (seaspider.readahead) that is ahead of this one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, Protocol

from seaspider import journal, readahead
from seaspider.core.records import File, Outcome
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.pastlines import FINAL_PAGE, INTENT, INTENT_KEY, LINK_LEFT, Found, lines_of, spans

_FORMS: Final = {File.PAGES: FINAL_PAGE, File.LINKS: LINK_LEFT, File.INTENTS: INTENT}
_FAILED: Final = Outcome.FAILED.encode()
_RUN: Final = itemgetter(0)
_AT_ONCE: Final = 2


class Journal(Protocol):
    """A store's journal files, to be read."""

    def read(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first."""

    def blocks(self, file: File) -> Iterator[bytes]:
        """The lines of a file by the block."""

    def row(self, file: File, number: int, line: bytes) -> Row:
        """A line of a block."""

    def last(self, file: File) -> Row | None:
        """The last line of a file, if it has one."""

    def path(self, file: File) -> Path | None:
        """Where a file lies, if it lies in a folder."""


@dataclass(slots=True)
class Formed:
    """So many lines of one run, known by their form. What a file's lines do not tell is empty."""

    run: int
    count: int
    visits: array[int] = field(default_factory=lambda: array("Q"))
    urls: list[bytes] = field(default_factory=list)
    depths: array[int] = field(default_factory=lambda: array("Q"))
    """Empty: all 0."""
    failed: bytes = b""
    """Of each page record whether it says that it failed."""


def parts(block: bytes, file: File, *, without_urls: bool = False) -> list[Formed | bytes]:
    """The lines of a block. Only intents can be without their URLs."""
    found = lines_of(block, INTENT_KEY if without_urls else _FORMS[file])
    lines: list[bytes] = []
    items: list[Formed | bytes] = []
    for start, end in spans(found):
        if start < end:
            items += _formed(found[start:end], file)
        else:
            lines = lines or block.split(b"\n")
            items.append(lines[start])
    return items


def _formed(found: list[Found], file: File) -> Iterator[Formed]:
    columns = list(zip(*found, strict=True))
    if len(set(columns[0])) > 1:
        for _, group in groupby(found, _RUN):
            yield from _formed(list(group), file)
    else:
        part = Formed(int(columns[0][0]), len(found))
        if file is not File.LINKS:
            part.visits = array("Q", map(int, columns[1]))
        if len(columns) > 2:
            part.urls = list(columns[2])
        if file is File.PAGES:
            if set(columns[3]) != {b"0"}:
                part.depths = array("Q", map(int, columns[3]))
            is_failed = {ending: ending.startswith(_FAILED) for ending in set(columns[4])}
            part.failed = bytes(map(is_failed.__getitem__, columns[4]))
        yield part


class Ahead:
    """A file that other processes take apart from now on, block by block in turns. The URLs of intents stay where they
    were read."""

    def __init__(self, path: Path, file: File, processes: int = 1, size: int = 0) -> None:
        self.size = size
        """Of the file in bytes, as far as it is known."""
        self._path = path
        arguments = [(str(path), file, str(number), str(processes)) for number in range(processes)]
        self._readers = [readahead.Reader(__name__, *each) for each in arguments]

    def parts(self) -> Iterator[list[Formed | bytes]]:
        """Those of each block. Raises StoreError."""
        # The first that has no more blocks is the one whose turn it is after the last block.
        sources = cycle([reader.sent() for reader in self._readers])
        try:
            while (items := next(next(sources), None)) is not None:
                if isinstance(items, str):
                    raise StoreError(items)
                yield items
        except readahead.EndedEarly:
            raise StoreError(f"{self._path}: the process that reads it ended early") from None

    def close(self) -> None:
        """Ends the processes."""
        for reader in self._readers:
            reader.close()


def ahead_of(store: Journal, file: File, processes: int = 1) -> Ahead | None:
    """Has a file of the store read ahead, if that pays."""
    path = store.path(file)
    try:
        size = path.stat().st_size if path is not None else 0
        return Ahead(path, file, processes, size) if path is not None and readahead.pays(size) else None
    except FileNotFoundError:
        return None


@contextmanager
def reading_ahead(store: Journal, file: File) -> Iterator[Ahead | None]:
    """As ahead_of(), by all means: nothing else can be done meanwhile. The processes are gone after it."""
    ahead = ahead_of(store, file, processes=_AT_ONCE)
    try:
        yield ahead
    finally:
        if ahead is not None:
            ahead.close()


def parts_of(store: Journal, file: File, ahead: Ahead | None) -> Iterator[list[Formed | bytes]]:
    """The parts of each block of a file."""
    return ahead.parts() if ahead else (parts(block, file) for block in store.blocks(file))


def main(path: str, file: str, first: str, step: str) -> None:
    """A process. What links and intents tell is small, and asked for late: it is had before anybody asks."""
    found = _sent(Path(path), File(file), int(first), int(step))
    readahead.send(found if file == File.PAGES else list(found))


def _sent(path: Path, file: File, first: int, step: int) -> Iterator[list[Formed | bytes] | str]:
    try:
        for block in journal.blocks(path, first, step):
            yield parts(block, file, without_urls=file is File.INTENTS)
    except StoreError as error:
        yield str(error)
