"""The queue: bytes in, one verdict a line out.

Decides which lines of a queue are URLs to visit and why the others are not. Never opens a file (that is
`seaspider.queuefile`), never holds the whole queue: one line and the URLs seen so far.

Lines end with LF, CR or CRLF and nothing else: U+2028, VT and NEL are part of a line, as every other reader of such a
file would have it. Blank lines and lines whose first non-blank character is `#` are counted, not reported.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress
from typing import cast

from seaspider.core.credentials import HIDDEN, without_userinfo_anywhere
from seaspider.core.plainurls import Origins, plain
from seaspider.core.urls import Url, UrlError, UrlReason, normalise

# A longer line is cut while it is read, so one line without an end cannot take the memory.
MAX_LINE_BYTES = 65_536
# What a rejected line keeps in the record.
MAX_TEXT_CHARS = 2_048
# How far a NUL makes the file something else than text.
SNIFFED_BYTES = 8_192

_UTF8_BOM = b"\xef\xbb\xbf"
# UTF-32LE first: its mark begins with the one of UTF-16LE.
_FOREIGN_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32LE"),
    (b"\x00\x00\xfe\xff", "UTF-32BE"),
    (b"\xff\xfe", "UTF-16LE"),
    (b"\xfe\xff", "UTF-16BE"),
)
_GZIP_MAGIC = b"\x1f\x8b"
_HASH = ord("#")
# What stands for a line whose user information cannot be told from the rest of it.
_NOTHING_LEFT = {
    UrlReason.SCHEME: f"x:{HIDDEN}",
    UrlReason.USERINFO: f"http://{HIDDEN}@{HIDDEN}",
    UrlReason.HOST: f"http://[{HIDDEN}",
    UrlReason.PORT: f"http://{HIDDEN}:{HIDDEN}",
    UrlReason.SYNTAX: f"http:{HIDDEN}",
    UrlReason.ENCODING: "\ud800",
}


class QueueError(Exception):
    """The queue as a whole cannot be used. The message is one line that names the problem."""


class Fate(StrEnum):
    """What became of a URL line that is not visited."""

    DUPLICATE = "duplicate"
    DONE = "done"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL to visit and the number of its line, counted from 1."""

    line: int
    url: Url


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that is not visited. A rejected one has `text` and `reason`, the others `url`; a duplicate `of`."""

    line: int
    fate: Fate
    url: str | None = None
    text: str | None = None
    """The line, user information hidden, cut at MAX_TEXT_CHARS; bytes that are not UTF-8 as `\\xNN`."""
    of: int | None = None
    """The line that named the same URL first."""
    reason: UrlReason | None = None


@dataclass(slots=True)
class Counts:
    """How many lines of each kind were read so far; all but `lines` add up to `lines`."""

    lines: int = 0
    blank: int = 0
    comment: int = 0
    entries: int = 0
    duplicate: int = 0
    done: int = 0
    rejected: int = 0


@dataclass(slots=True)
class Block:
    """Lines that follow each other. Of each URL among them its line, the number of its origin and its text; and the
    lines that are none, with their bytes."""

    lines: Sequence[int]
    origins: Sequence[int]
    urls: list[bytes]
    text: bytes
    """All of the lines, with LF between them."""
    is_url: list[bool] | None = None
    """Of each line whether it is a URL; None: they all are."""
    rejected: list[Skipped] = field(default_factory=list)
    rejected_raws: list[bytes] = field(default_factory=list)
    """Each cut if it is longer than MAX_LINE_BYTES, in such a way that it is rejected as the whole would be."""

    @property
    def raws(self) -> list[bytes]:
        """Of each URL its line's bytes."""
        raws = self.text.split(b"\n")
        return raws if self.is_url is None else list(compress(raws, self.is_url))


class QueueReader:
    """Reads one queue, once. `done` tells of a normalised URL whether its record is final already.

    `part`: these are lines of a queue that was judged as a whole, so how they begin says nothing, and there need not be
    a URL among them, or a line at all.
    """

    def __init__(self, done: Callable[[str], bool] = lambda url: False, *, part: bool = False) -> None:
        self.counts = Counts()
        self._done = done
        self._part = part
        self._first_lines: dict[bytes, int] = {}

    def read(self, chunks: Iterable[bytes]) -> Iterator[Entry | Skipped]:
        """One item for each line that is neither blank nor a comment, in order; where `chunks` split does not matter.

        Raises QueueError: at once for an empty queue, another encoding, gzip or a NUL in the first SNIFFED_BYTES; at
        the end if no line was a URL.
        """
        for block in self.blocks(chunks, Origins()):
            rejected = iter([*block.rejected, None])
            skipped = next(rejected)
            for line, url in zip(block.lines, block.urls, strict=True):
                while skipped is not None and skipped.line < line:
                    yield skipped
                    skipped = next(rejected)
                yield self._judge(line, url)
            while skipped is not None:
                yield skipped
                skipped = next(rejected)

    def blocks(self, chunks: Iterable[bytes], origins: Origins) -> Iterator[Block]:
        """The URLs by the block, which ones came before or are done left aside: so only lines that are no URLs are
        counted. The numbers of origins are those of `origins`. Raises QueueError, as read()."""
        counts = self.counts
        for text in _blocks(chunks if self._part else _text_bytes(chunks)):
            yield self._block(text, origins)
        if not self._part and counts.lines == counts.blank + counts.comment + counts.rejected:
            raise QueueError(f"no line is a URL ({_summary(counts)})")

    def _block(self, text: bytes, origins: Origins) -> Block:
        text = b"\n".join(text.splitlines()) if b"\r" in text else text.removesuffix(b"\n")
        numbers, urls = plain(text, origins)
        lines = range(self.counts.lines + 1, self.counts.lines + 1 + len(numbers))
        self.counts.lines += len(numbers)
        block = Block(lines, cast(list[int], numbers), urls, text)
        raws = text.split(b"\n") if None in numbers else []
        at = -1
        for _ in range(numbers.count(None)):
            at = numbers.index(None, at + 1)
            found = self._other(lines[at], raws[at], origins)
            if isinstance(found, Skipped):
                block.rejected.append(found)
                block.rejected_raws.append(_cut(raws[at]))
            elif found is not None:
                numbers[at], urls[at] = found
        if None in numbers:
            block.is_url = is_url = [number is not None for number in numbers]
            block.lines, block.origins = list(compress(lines, is_url)), list(compress(block.origins, is_url))
            block.urls = list(compress(urls, is_url))
        return block

    def _other(self, line: int, raw: bytes, origins: Origins) -> tuple[int, bytes] | Skipped | None:
        stripped = raw.strip()
        if not stripped:
            self.counts.blank += 1
            return None
        if stripped[0] == _HASH:
            self.counts.comment += 1
            return None
        try:
            url = _url(raw)
        except UrlError as error:
            self.counts.rejected += 1
            return Skipped(line, Fate.REJECTED, text=_shown(raw), reason=error.reason)
        return origins.of(url), url.text.encode()

    def _judge(self, line: int, text: bytes) -> Entry | Skipped:
        url = text.decode()
        first_line = self._first_lines.setdefault(text, line)
        if first_line != line:
            self.counts.duplicate += 1
            return Skipped(line, Fate.DUPLICATE, url=url, of=first_line)
        if self._done(url):
            self.counts.done += 1
            return Skipped(line, Fate.DONE, url=url)
        self.counts.entries += 1
        return Entry(line, normalise(url))


def _url(raw: bytes) -> Url:
    if len(raw) > MAX_LINE_BYTES:
        raise UrlError(UrlReason.TOO_LONG, _shown(raw))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise UrlError(UrlReason.ENCODING, _shown(raw)) from None
    return normalise(text)


def _shown(raw: bytes) -> str:
    """The line for the record: any bytes become text, and not more of it than MAX_TEXT_CHARS."""
    return as_recorded(raw[: 4 * (MAX_TEXT_CHARS + 1)].decode(errors="backslashreplace"))


def as_recorded(line: str) -> str:
    """A rejected line as its record has it, which is rejected for the same reason."""
    text = without_userinfo_anywhere(line)
    if text != line and (reason := _reason(line)) is not None and _reason(text) is not reason:
        text = _NOTHING_LEFT.get(reason, HIDDEN)
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 3] + "..."


def _reason(text: str) -> UrlReason | None:
    try:
        normalise(text)
    except UrlError as error:
        return error.reason
    return None


def _summary(counts: Counts) -> str:
    kinds = ((counts.rejected, "rejected"), (counts.comment, "comment"), (counts.blank, "blank"))
    return ", ".join(f"{count} {name}" for count, name in kinds if count)


def _text_bytes(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """`chunks` without a byte order mark at the start. Raises QueueError if they are not the bytes of UTF-8 text."""
    rest = iter(chunks)
    head = b""
    for chunk in rest:
        head += chunk
        if len(head) >= SNIFFED_BYTES:
            break
    _check_head(head[:SNIFFED_BYTES])
    yield head.removeprefix(_UTF8_BOM)
    yield from rest


def _check_head(head: bytes) -> None:
    if not head.removeprefix(_UTF8_BOM):
        raise QueueError("is empty")
    for mark, encoding in _FOREIGN_MARKS:
        if head.startswith(mark):
            raise QueueError(f"is {encoding} text, not UTF-8")
    if head.startswith(_GZIP_MAGIC):
        raise QueueError("is gzip data, but its name does not end in .gz")
    nul_at = head.find(b"\0")
    if nul_at >= 0:
        raise QueueError(f"is not UTF-8 text: NUL at byte {nul_at}")


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines by the block. One longer than MAX_LINE_BYTES may be cut, but stays longer than that."""
    tail = b""
    for chunk in chunks:
        text = tail + chunk
        # A CR at the end of a chunk may be half of a CRLF.
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        tail = _cut(text[end:])
        if end:
            yield text[:end]
    if tail:
        yield tail


def _cut(tail: bytes) -> bytes:
    """An unfinished line, cut to what tells that it is too long; a CR at its end stays.

    If it is all blanks so far, the first other byte is kept too: a comment has no length, and no line is blank with
    a URL at its end.
    """
    if len(tail) <= MAX_LINE_BYTES + 1:
        return tail
    head = tail[: MAX_LINE_BYTES + 1]
    kind = b"" if head.strip() else tail.lstrip()[:1]
    return head + kind + (b"\r" if tail.endswith(b"\r") else b"")
