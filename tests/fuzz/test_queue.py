"""The queue reader: any bytes, however they arrive, give the same items, and nothing is lost between the counts.

Compared with `seaspider.core.queue.QueueReader`: itself on other chunks, and a second reading written here the short
way, by one regular expression over the whole text. Seeds: those of `budgets`.
"""

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from seaspider.core.queue import MAX_LINE_BYTES, MAX_TEXT_CHARS, Counts, Entry, Fate, QueueError, QueueReader, Skipped
from seaspider.core.urls import UrlError, UrlReason, normalise
from tests.fuzz.budgets import examples

A = b"http://h.test/a"
PIECES = st.sampled_from(
    [A, b"http://h.test/", b"HTTPS://O.test", b"a", b"#", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\x0b", b"\x1c", b"\x85",
     b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xe9", b"\xc3", b"\xa9", b"\0", b"\x1f\x8b", b"\xff\xfe", b"u:p@"]
)  # fmt: skip
LONG = st.one_of(
    st.tuples(
        st.sampled_from([b" ", b"a", b"#", b"\x01"]),
        st.sampled_from([8_190, MAX_LINE_BYTES - 15, MAX_LINE_BYTES, MAX_LINE_BYTES + 1]),
    ),
    st.tuples(st.sampled_from([b"\r", b"\n", b"# \r\n"]), st.integers(1_360, 1_370)),
)
SHORT = st.tuples(st.one_of(PIECES, PIECES, PIECES, st.binary(max_size=3)), st.just(1))
# What is repeated, and how often: a failure can be shown.
RUNS = st.lists(st.one_of(SHORT, SHORT, SHORT, SHORT, LONG), max_size=20)
CUTS = st.lists(st.integers(0, 60) | st.integers(0, 140_000), max_size=8)

DONE = "https://o.test/"
BLANKS = (b" ", MAX_LINE_BYTES + 9)


def read(chunks: list[bytes]) -> tuple[list[Entry | Skipped], Counts, str | None]:
    reader = QueueReader(DONE.__eq__)
    items: list[Entry | Skipped] = []
    try:
        items.extend(reader.read(chunks))
    except QueueError as error:
        return items, reader.counts, str(error)
    return items, reader.counts, None


def cut(content: bytes, cuts: list[int]) -> list[bytes]:
    marks = sorted({0, len(content), *(min(mark, len(content)) for mark in cuts)})
    return [content[start:end] for start, end in pairwise(marks)]


def fates(content: bytes) -> list[tuple[int, str]]:
    """Each line that is neither blank nor a comment: its number, and its URL, or why it has none."""
    found = []
    lines = re.split(rb"\r\n|\r|\n", content.removeprefix(b"\xef\xbb\xbf"))
    for number, line in enumerate(lines, 1):
        if not re.match(rb"[ \t\x0b\x0c]*(#|\Z)", line):
            found.append((number, fate(line)))
    return found


def fate(line: bytes) -> str:
    if len(line) > MAX_LINE_BYTES:
        return UrlReason.TOO_LONG
    try:
        return normalise(line.decode()).text
    except UnicodeDecodeError:
        return UrlReason.ENCODING
    except UrlError as error:
        return error.reason


@examples(80, 1_200)
def test_any_bytes_in_any_chunks(budget) -> None:
    @budget
    @given(RUNS, CUTS)
    @example([(A + b"\n", 1), BLANKS], [MAX_LINE_BYTES + 20])
    @example([(A + b"\n", 1), BLANKS, (b"#", 1)], [MAX_LINE_BYTES + 20])
    @example([(A + b"\n", 1), BLANKS, (b"/\n", 1)], [MAX_LINE_BYTES + 20])
    @example([(A + b"\n", 1), BLANKS, (b"\r\n" + A, 1)], [MAX_LINE_BYTES + 20, MAX_LINE_BYTES + 26])
    def same(runs: list[tuple[bytes, int]], cuts: list[int]) -> None:
        content = b"".join(piece * times for piece, times in runs)
        items, counts, error = read([content])
        chunks = cut(content, cuts)
        assert read(chunks) == (items, counts, error)
        assert read([b"", *chunks, b""]) == (items, counts, error)
        check(items, counts)
        if error is None or error.startswith("no line"):
            assert [(item.line, answer(item)) for item in items] == fates(content)
            assert counts.lines == len(re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", without_mark(content)))
        else:
            assert (items, counts) == ([], Counts())

    same()


def without_mark(content: bytes) -> bytes:
    return content.removeprefix(b"\xef\xbb\xbf")


def answer(item: Entry | Skipped) -> str:
    if isinstance(item, Entry):
        return item.url.text
    return str(item.url if item.reason is None else item.reason)


def check(items: list[Entry | Skipped], counts: Counts) -> None:
    kinds = [Fate.DUPLICATE, Fate.DONE, Fate.REJECTED]
    skipped = [item for item in items if isinstance(item, Skipped)]
    assert [counts.duplicate, counts.done, counts.rejected] == [sum(i.fate is kind for i in skipped) for kind in kinds]
    assert counts.entries == len(items) - len(skipped)
    assert counts.lines == len(items) + counts.blank + counts.comment
    first_lines: dict[str, int] = {}
    for item in items:
        if isinstance(item, Entry) or item.url is not None:
            url = item.url.text if isinstance(item, Entry) else item.url
            assert first_lines.setdefault(url, item.line) == (
                item.of if isinstance(item, Skipped) and item.of else item.line
            )
        else:
            assert item.text is not None
            assert len(item.text) <= MAX_TEXT_CHARS
