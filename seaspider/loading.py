"""The queue of a run, loaded: each URL is numbered, and the numbers wait in the line of their origin.

Decides the fate of each line (to be visited, duplicate, done) and tells the ones that are not visited as they are
written down. Makes a visit when its turn comes first, not before.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, compress, pairwise
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

_MANY: Final = 50_000
"""From so many entries on numpy groups them."""


class Entries:
    """URLs that wait for their first turn, in the order of their lines; once that is asked for, by their origins."""

    def __init__(self, urls: KnownUrls, make: Callable[[int], Visit]) -> None:
        self.urls = urls
        self.make = make
        self.numbers = array("I")
        self.origins = array("I")
        self.last = 0
        """The line of the last one."""

    def by_origin(self, origins: int) -> list[Waiting]:
        """The entries of each origin; to be called once, at the end."""
        self.last = self.line(-1) if self.numbers else 0
        if len(self.numbers) < _MANY:
            ends = list(accumulate(map(Counter(self.origins).__getitem__, range(origins))))
            order = sorted(range(len(self.numbers)), key=self.origins.__getitem__)
            self.numbers = array("I", map(self.numbers.__getitem__, order))
        else:
            self.numbers, ends = spool.many().by_group(self.numbers, self.origins, origins)
        self.origins = array("I")
        return [Waiting(self, start, end) for start, end in pairwise([0, *ends])]

    def line(self, entry: int) -> int:
        return self.urls.lines[self.numbers[entry]]


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
        return self._entries.make(self._entries.numbers[self._at - 1])

    def __iter__(self) -> Iterator[Visit]:
        return map(self._entries.make, self._entries.numbers[self._at : self._end])


class Loading:
    """One queue on its way into a run. `make`: the visit of a URL's number."""

    def __init__(self, run: int, urls: KnownUrls, make: Callable[[int], Visit]) -> None:
        self._run = run
        self._urls = urls
        self._origins = Origins()
        self._entries = Entries(urls, make)

    def read(self, queue: QueueFile, reader: readahead.Reader | None = None) -> Iterator[list[bytes]]:
        """Lines of skipped.jsonl, in order; `reader`: see queueworker.blocks(). Raises QueueError, and OSError if there
        is no room for the URLs."""
        if reader is not None:
            self._urls.expect_many()
        for block in queueworker.blocks(queue, self._origins, reader):
            yield self._take(block, queue.counts)

    def waiting(self) -> Iterator[tuple[str, str, Waiting]]:
        """Host, origin and URLs of each origin that has any; to be called once, at the end."""
        origins = self._origins
        for host, origin, urls in zip(
            origins.hosts, origins.texts, self._entries.by_origin(len(origins.texts)), strict=True
        ):
            if urls:
                yield host, origin, urls

    def _take(self, block: Block, counts: Counts) -> list[bytes]:
        urls, first_new = self._urls, len(self._urls.marks)
        known = urls.add(block.urls)
        is_new = [True] * len(block.urls)
        for index, _ in known:
            is_new[index] = False
        urls.lines[first_new:] = array("I", compress(block.lines, is_new))
        rows, again = self._judged(block, known, counts)
        if block.rejected:
            rows += [(each.line, to_line(skipped_record(self._run, each))) for each in block.rejected]
            rows.sort()
        self._queue(block.origins, is_new, range(first_new, len(urls.marks)), again)
        counts.entries += len(block.urls) - len(known) + len(again)
        return [row for _, row in rows]

    def _judged(
        self, block: Block, known: list[tuple[int, int]], counts: Counts
    ) -> tuple[list[tuple[int, bytes]], dict[int, int]]:
        """Of the URLs known before, by their index in the block: the rows of those that are not visited, with their
        lines, and the numbers of those that are."""
        rows: list[tuple[int, bytes]] = []
        duplicates = 0
        again: dict[int, int] = {}
        run, lines, urls = self._run, block.lines, block.urls
        first_lines, marks, is_done = self._urls.lines, self._urls.marks, int(Mark.DONE)
        # Of all URLs that are known here, in most resumed runs.
        plain = not _has_escapes([urls[index] for index, _ in known])
        done = _DONE.__mod__ if plain else done_line
        duplicate = _DUPLICATE.__mod__ if plain else duplicate_line
        for index, number in known:
            line, first = lines[index], first_lines[number]
            if first:
                duplicates += 1
                rows.append((line, duplicate((run, line, urls[index], first))))
                continue
            first_lines[number] = line
            if marks[number] & is_done:
                rows.append((line, done((run, line, urls[index]))))
            else:
                again[index] = number
        counts.duplicate += duplicates
        counts.done += len(rows) - duplicates
        return rows, again

    def _queue(self, origins: Sequence[int], is_new: list[bool], new: range, again: dict[int, int]) -> None:
        """Adds the new URLs of a block, and those that are visited again, by their index in it."""
        numbers: Iterable[int] = new
        if again:
            following = iter(new)
            order = [index for index, fresh in enumerate(is_new) if fresh or index in again]
            numbers = [next(following) if is_new[index] else again[index] for index in order]
            is_new = [fresh or index in again for index, fresh in enumerate(is_new)]
        self._entries.numbers.extend(numbers)
        self._entries.origins.extend(compress(origins, is_new))


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
