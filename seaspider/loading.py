"""The queue of a run, loaded: each URL is numbered, and the numbers wait in the line of their origin.

Decides the fate of each line (to be visited, duplicate, done) and tells the ones that are not visited as they are
written down. Makes a visit when its turn comes first, not before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, pairwise, repeat
from operator import or_
from typing import Final

from seaspider import queueworker, readahead, spool
from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, Counts, Fate, Skipped
from seaspider.core.records import FORMAT, to_line
from seaspider.core.visits import Visit
from seaspider.knownurls import KnownUrls, Mark
from seaspider.queuefile import QueueFile

# As to_line() would have it, where the URL has no character that JSON escapes.
_DUPLICATE: Final = (
    b'{"v":%d,"run":%%d,"line":%%d,"fate":"duplicate","url":"%%b","text":null,"of":%%d,"reason":null}\n' % FORMAT
)
_DONE: Final = b'{"v":%d,"run":%%d,"line":%%d,"fate":"done","url":"%%b","text":null,"of":null,"reason":null}\n' % FORMAT

_LINE_BYTES: Final = 100
"""About what a line of a queue takes."""

# From so many entries on numpy sorts them.
_MANY: Final = 50_000
_NUMBER: Final = (1 << 32) - 1
_AT_ORIGIN: Final = (32).__rlshift__


class Entries:
    """URLs that wait for their first turn, once sort() was called by their origins, those of one in queue order."""

    def __init__(self, urls: KnownUrls, make: Callable[[int], Visit]) -> None:
        self.urls = urls
        self.make = make
        self.last = 0
        """No line is higher."""
        # Of each its origin, and in the lower half its number. The numbers of new URLs are in the order of their lines.
        self._words = array("Q")
        self._has_old = False

    def add_new(self, origins: Sequence[int], is_new: list[bool], numbers: range, *, many: bool) -> None:
        """The new ones of a block; `many`: with numpy, which is there already."""
        if many:
            self._words.frombytes(spool.many().words(origins, is_new, numbers.start))
        else:
            self._words.extend(map(or_, map(_AT_ORIGIN, compress(origins, is_new)), numbers))

    def add_old(self, origin: int, number: int) -> None:
        """One that was known before."""
        self._words.append(_AT_ORIGIN(origin) | number)
        self._has_old = True

    def sort(self, origins: int) -> list[Waiting]:
        """The entries of each origin; to be called once, at the end."""
        if len(self._words) < _MANY:
            self._words = array("Q", sorted(self._words))
            ends = [bisect_left(self._words, _AT_ORIGIN(origin)) for origin in range(1, origins + 1)]
        else:
            ends = spool.many().sort_words(self._words, origins)
        waiting = [Waiting(self, start, end) for start, end in pairwise([0, *ends])]
        if self._has_old:
            for start, end in pairwise([0, *ends]):
                self._words[start:end] = array("Q", sorted(self._words[start:end], key=self._line))
        return waiting

    def number(self, entry: int) -> int:
        return self._words[entry] & _NUMBER

    def line(self, entry: int) -> int:
        return self._line(self._words[entry])

    def _line(self, word: int) -> int:
        return self.urls.lines[word & _NUMBER]


class Waiting:
    """The URLs of one origin, in queue order (hostqueue.Source); they arrive as their lines do."""

    __slots__ = ("_at", "_end", "_entries")

    def __init__(self, entries: Entries, at: int, end: int) -> None:
        self._entries = entries
        self._at = at
        self._end = end

    def __len__(self) -> int:
        return self._end - self._at

    @property
    def first(self) -> int:
        return self._entries.line(self._at)

    @property
    def last(self) -> int:
        """Of all origins, so of this one none is after it."""
        return self._entries.last

    def take(self) -> Visit:
        self._at += 1
        return self._entries.make(self._entries.number(self._at - 1))

    def __iter__(self) -> Iterator[Visit]:
        return map(self._entries.make, map(self._entries.number, range(self._at, self._end)))


class Loading:
    """One queue on its way into a run. `make`: the visit of a URL's number."""

    def __init__(self, run: int, urls: KnownUrls, make: Callable[[int], Visit]) -> None:
        self._run = run
        self._urls = urls
        self._origins = Origins()
        self._entries = Entries(urls, make)
        self._many = False

    def read(self, queue: QueueFile, reader: readahead.Reader | None = None) -> Iterator[bytes]:
        """Lines of skipped.jsonl, in order, by the block; `reader`: see queueworker.blocks(). Raises QueueError, and
        OSError if there is no room for the URLs."""
        self._many = reader is not None
        if self._many:
            self._urls.expect((queue.plain_bytes or 0) // _LINE_BYTES)
        for block in queueworker.blocks(queue, self._origins, reader):
            yield self._take(block, queue.counts)
            self._entries.last = queue.counts.lines

    def waiting(self) -> Iterator[tuple[str, str, Waiting]]:
        """Host, origin and URLs of each origin that has any; to be called once, at the end."""
        origins = self._origins
        for host, origin, urls in zip(
            origins.hosts, origins.texts, self._entries.sort(len(origins.texts)), strict=True
        ):
            if urls:
                yield host, origin, urls

    def _take(self, block: Block, counts: Counts) -> bytes:
        urls, first_new = self._urls, len(self._urls.marks)
        known = urls.add(block.urls)
        if len(known) < len(block.urls):
            is_new = [True] * len(block.urls)
            for index, _ in known:
                is_new[index] = False
            urls.lines[first_new:] = array("I", compress(block.lines, is_new))
            self._entries.add_new(block.origins, is_new, range(first_new, len(urls.marks)), many=self._many)
        rows, again = self._judged(block, known, counts)
        for index, number in again:
            self._entries.add_old(block.origins[index], number)
        counts.entries += len(block.urls) - len(known) + len(again)
        if block.rejected:
            visited = {index for index, _ in again}
            by_line = dict(zip((block.lines[index] for index, _ in known if index not in visited), rows, strict=True))
            by_line |= {each.line: to_line(skipped_record(self._run, each)) for each in block.rejected}
            rows = [by_line[line] for line in sorted(by_line)]
        return b"".join(rows)

    def _judged(
        self, block: Block, known: list[tuple[int, int]], counts: Counts
    ) -> tuple[list[bytes], list[tuple[int, int]]]:
        """Of the URLs known before: the rows of those that are not visited; and those that are, as in `known`."""
        rows: list[bytes] = []
        duplicates = 0
        again: list[tuple[int, int]] = []
        first_lines, marks, is_done = self._urls.lines, self._urls.marks, int(Mark.DONE)
        indices = [index for index, _ in known]
        lines, urls = map(block.lines.__getitem__, indices), list(map(block.urls.__getitem__, indices))
        # Of all URLs that are known here, in most resumed runs.
        plain = not _has_escapes(urls)
        done = _DONE.__mod__ if plain else done_line
        duplicate = _DUPLICATE.__mod__ if plain else duplicate_line
        for place, told in zip(known, zip(repeat(self._run), lines, urls), strict=False):
            number = place[1]
            if first := first_lines[number]:
                duplicates += 1
                rows.append(duplicate((*told, first)))
                continue
            first_lines[number] = told[1]
            if marks[number] & is_done:
                rows.append(done(told))
            else:
                again.append(place)
        counts.duplicate += duplicates
        counts.done += len(rows) - duplicates
        return rows, again


def duplicate_line(told: tuple[int, int, bytes, int]) -> bytes:
    """The line of skipped.jsonl for a URL that another line named first: run, line, URL and that line."""
    run, line, url, first = told
    if _has_escapes([url]):
        return to_line(skipped_record(run, Skipped(line, Fate.DUPLICATE, url=url.decode(), of=first)))
    return _DUPLICATE % told


def done_line(told: tuple[int, int, bytes]) -> bytes:
    """The line of skipped.jsonl for a URL that an earlier run ended: run, line and URL."""
    run, line, url = told
    if _has_escapes([url]):
        return to_line(skipped_record(run, Skipped(line, Fate.DONE, url=url.decode())))
    return _DONE % told


def _has_escapes(urls: list[bytes]) -> bool:
    """Whether a character is in them that JSON escapes."""
    text = b"".join(urls)
    return b'"' in text or b"\\" in text


def skipped_record(run: int, line: Skipped) -> dict[str, object]:
    """The record of a line that is not visited."""
    return {
        "run": run,
        "line": line.line,
        "fate": line.fate,
        "url": line.url,
        "text": line.text,
        "of": line.of,
        "reason": line.reason,
    }
