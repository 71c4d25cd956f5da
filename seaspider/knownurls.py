"""What is known of URLs by number: whether an earlier run ended them, and which queue line named them first.

A URL takes 5 bytes beside those of its spool.Spool.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence, Set
from enum import IntFlag

from seaspider.spool import Spool


class Mark(IntFlag):
    """What is known of a URL, beside its line."""

    DONE = 1
    """Its latest record is final, and it is not taken up again."""
    FAILED = 2
    """Its latest record is final and says that it failed."""
    FOLLOWED = 4


class KnownUrls:
    """`marks` and `lines` are indexed by number; a line is 0 as long as none of this run's queue named the URL."""

    def __init__(self, digest: Callable[[bytes], int] = hash) -> None:
        self.marks = bytearray()
        self.lines = array("I")
        self._spool = Spool(digest)

    def expect(self, urls: int) -> None:
        """See Spool.expect()."""
        self._spool.expect(urls)

    def add(self, urls: Sequence[bytes]) -> list[tuple[int, int]]:
        """Gives the next numbers, from len(marks), to the URLs that have none, in order. Returns the others: index in
        `urls`, and number. Raises OSError if there is no room."""
        known = self._spool.add(urls)
        more = len(urls) - len(known)
        self.marks += bytes(more)
        self.lines.frombytes(bytes(more * self.lines.itemsize))
        return known

    def number(self, url: str) -> int:
        """The number of a URL; if it has none, it gets the next. Raises OSError if there is no room."""
        known = self.add([_bytes(url)])
        return known[0][1] if known else len(self.marks) - 1

    def find(self, url: str) -> int | None:
        """The number of a URL, if it has one."""
        return self._spool.find(_bytes(url))

    def text(self, number: int) -> str:
        return self._spool.text(number).decode(errors="surrogatepass")

    def is_known(self, url: str) -> bool:
        """Whether a URL is in the queue, was followed, or is done."""
        number = self.find(url)
        return number is not None and bool(self.lines[number] or self.marks[number] & (Mark.DONE | Mark.FOLLOWED))

    def mark(self, url: str, mark: int) -> None:
        """Adds a mark."""
        self.marks[self.number(url)] |= mark


def _bytes(url: str) -> bytes:
    # A row that somebody else wrote may have anything in it.
    return url.encode(errors="surrogatepass")


class Marked(Set[str]):
    """The URLs that have a mark."""

    def __init__(self, urls: KnownUrls, mark: Mark) -> None:
        self._urls = urls
        self._mark = mark

    def __contains__(self, url: object) -> bool:
        number = self._urls.find(str(url))
        return number is not None and bool(self._urls.marks[number] & self._mark)

    def __iter__(self) -> Iterator[str]:
        return (self._urls.text(number) for number, mark in enumerate(self._urls.marks) if mark & self._mark)

    def __len__(self) -> int:
        return sum(bool(mark & self._mark) for mark in self._urls.marks)
