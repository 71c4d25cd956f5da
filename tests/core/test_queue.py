"""What becomes of each line of a queue, however its bytes arrive."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.queue import (
    MAX_LINE_BYTES,
    MAX_TEXT_CHARS,
    SNIFFED_BYTES,
    Counts,
    Entry,
    Fate,
    QueueError,
    QueueReader,
    Skipped,
)
from seaspider.core.urls import UrlReason, normalise


def read(*chunks, done=lambda url: False):
    return list(QueueReader(done).read(chunks))


def urls(*chunks):
    return [(item.line, item.url.text) for item in read(*chunks) if isinstance(item, Entry)]


def rejected(line, text, reason):
    return Skipped(line, Fate.REJECTED, text=text, reason=reason)


A, B = "http://h.test/a", "http://h.test/b"

LINES = {
    "lf": (b"http://h.test/a\nhttp://h.test/b\n", [(1, A), (2, B)]),
    "cr": (b"http://h.test/a\rhttp://h.test/b\r", [(1, A), (2, B)]),
    "crlf": (b"http://h.test/a\r\nhttp://h.test/b\r\n", [(1, A), (2, B)]),
    "mixed-and-blank": (b"http://h.test/a\n\r\n\r\rhttp://h.test/b", [(1, A), (5, B)]),
    "no-newline-at-the-end": (b"http://h.test/a\nhttp://h.test/b", [(1, A), (2, B)]),
    "byte-order-mark": (b"\xef\xbb\xbfhttp://h.test/a", [(1, A)]),
    "byte-order-mark-and-comment": (b"\xef\xbb\xbf# note\nhttp://h.test/b", [(2, B)]),
    "comments": (b"#a\n  \t# note http://h.test/x\nhttp://h.test/a#b\n", [(3, A)]),
    "comment-that-is-not-utf-8": (b"# caf\xe9\nhttp://h.test/a", [(2, A)]),
    "blanks-around": (b"\t http://h.test/a \nhttp://h.test/b\x0c", [(1, A), (2, B)]),
    "next-line-is-no-line-end": ("http://h.test/a\x85b".encode(), [(1, "http://h.test/a%C2%85b")]),
    "line-separator-is-no-line-end": ("http://h.test/a\u2028b".encode(), [(1, "http://h.test/a%E2%80%A8b")]),
    "vertical-tab-is-no-line-end": (b"http://h.test/a\x0bb\x1cc", [(1, "http://h.test/a%0Bb%1Cc")]),
    "late-nul": (
        b"http://h.test/a\n" + b"\n" * SNIFFED_BYTES + b"http://h.test/\0x",
        [(1, A), (8194, f"{A[:-1]}%00x")],
    ),
}


@pytest.mark.parametrize(("content", "expected"), LINES.values(), ids=LINES.keys())
def test_lines(content, expected):
    assert urls(content) == expected
    assert urls(*(content[at : at + 1] for at in range(len(content)))) == expected


def test_str_splitlines_would_make_two_lines():
    """Twin: what the rule about line ends is for."""
    assert len("http://h.test/a\u2028http://h.test/b".splitlines()) == 2


def test_every_fate():
    content = b"\n".join(
        [
            b"http://h.test/a",
            b"# comment",
            b"",
            b"http://H.test:80/%61#x",
            b"http://h.test/done",
            b"h.test/no-scheme",
            b"http://h.test/caf\xe9",
            b"http://h.test/done",
            b"http://h.test:99999/",
            b'"http://h.test/a"',
            b"http://h.test/caf%e9",
        ]
    )
    reader = QueueReader(done=lambda url: url == "http://h.test/done")
    assert list(reader.read([content])) == [
        Entry(1, normalise(A)),
        Skipped(4, Fate.DUPLICATE, url=A, of=1),
        Skipped(5, Fate.DONE, url="http://h.test/done"),
        rejected(6, "h.test/no-scheme", UrlReason.MISSING_SCHEME),
        rejected(7, "http://h.test/caf\\xe9", UrlReason.ENCODING),
        Skipped(8, Fate.DUPLICATE, url="http://h.test/done", of=5),
        rejected(9, "http://h.test:99999/", UrlReason.PORT),
        rejected(10, '"http://h.test/a"', UrlReason.MISSING_SCHEME),
        Entry(11, normalise("http://h.test/caf%E9")),
    ]
    assert reader.counts == Counts(lines=11, blank=1, comment=1, entries=2, duplicate=2, done=1, rejected=4)


def test_one_bad_line_of_a_thousand():
    lines = [b"http://h.test/%d" % number for number in range(1000)]
    lines[499] = b"http://h.test/caf\xe9"
    items = read(b"\n".join(lines))
    assert [item.line for item in items] == list(range(1, 1001))
    assert [item for item in items if isinstance(item, Skipped)] == [
        rejected(500, "http://h.test/caf\\xe9", UrlReason.ENCODING)
    ]


def test_changed_queue_only_asks_what_is_new():
    first = {item.url.text for item in read(b"http://h.test/a\nhttp://h.test/b")}
    again = read(b"http://h.test/c\nhttp://h.test/b\nhttp://h.test/a", done=first.__contains__)
    assert [(item.line, getattr(item, "fate", None)) for item in again] == [(1, None), (2, Fate.DONE), (3, Fate.DONE)]


@pytest.mark.parametrize("step", [1000, MAX_LINE_BYTES, MAX_LINE_BYTES + 1, 10 * MAX_LINE_BYTES])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b""])
def test_long_lines(step, end):
    longest = b"http://h.test/#" + b"a" * (MAX_LINE_BYTES - 15)
    longer = b"http://h.test/" + b"b" * (MAX_LINE_BYTES - 13)
    longest_of_all = b"c" * (3 * MAX_LINE_BYTES)
    content = b"".join([longest, end or b"\n", longer, end or b"\n", longest_of_all, end])
    assert read(*(content[at : at + step] for at in range(0, len(content), step))) == [
        Entry(1, normalise("http://h.test/")),
        rejected(2, "http://h.test/" + "b" * (MAX_TEXT_CHARS - 17) + "...", UrlReason.TOO_LONG),
        rejected(3, "c" * (MAX_TEXT_CHARS - 3) + "...", UrlReason.TOO_LONG),
    ]


@pytest.mark.parametrize("start", [b"http://h.test/a", b"\nhttp://h.test/a"])
def test_a_cut_line_keeps_its_carriage_return(start):
    long = b"b" * (2 * MAX_LINE_BYTES)
    assert [item.line for item in read(long + b"\r", start)] == [1, 2]
    assert [item.line for item in read(long, b"\r", start)] == [1, 2]


@pytest.mark.parametrize(
    ("rest", "items"),
    [
        (b"", []),
        (b"# note", []),
        (b"http://h.test/b", [rejected(2, " " * (MAX_TEXT_CHARS - 3) + "...", UrlReason.TOO_LONG)]),
        (b"\r\nhttp://h.test/b", [Entry(3, normalise(B))]),
    ],
    ids=["blank", "comment", "url", "next-line"],
)
@pytest.mark.parametrize("step", [1000, MAX_LINE_BYTES + 20, 2 * MAX_LINE_BYTES])
def test_what_follows_many_blanks_says_what_the_line_is(rest, items, step):
    content = b"http://h.test/a\n" + b" " * (MAX_LINE_BYTES + 9) + rest
    found = read(*(content[at : at + step] for at in range(0, len(content), step)))
    assert found == [Entry(1, normalise(A)), *items]


def test_a_line_without_end_is_not_kept():
    """Memory stays bounded: of one line of 64 MiB the reader never holds more than a few chunks."""
    chunk = b"a" * 65_536
    tracemalloc.start()
    try:
        items = read(b"http://h.test/a\n", *(chunk for _ in range(1024)))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [item.line for item in items] == [1, 2]
    assert peak_bytes < 2 * 1024 * 1024


def test_long_multibyte_text_is_cut_between_characters():
    (_, item) = read(b"http://h.test/a\n" + "x😀".encode() * (MAX_LINE_BYTES // 4))
    assert item == rejected(2, ("x😀" * MAX_TEXT_CHARS)[: MAX_TEXT_CHARS - 3] + "...", UrlReason.TOO_LONG)


UNUSABLE = {
    "nothing": (b"", "is empty"),
    "mark-only": (b"\xef\xbb\xbf", "is empty"),
    "blank": (b"\n \n", "no line is a URL (2 blank)"),
    "comments": (b"# http://h.test/\n\n", "no line is a URL (1 comment, 1 blank)"),
    "no-url": (b"h.test\n# x", "no line is a URL (1 rejected, 1 comment)"),
    "utf-16le": ("\ufeffhttp://h.test/".encode("utf-16-le"), "is UTF-16LE text, not UTF-8"),
    "utf-16be": ("\ufeffhttp://h.test/".encode("utf-16-be"), "is UTF-16BE text, not UTF-8"),
    "utf-32le": ("\ufeffhttp://h.test/".encode("utf-32-le"), "is UTF-32LE text, not UTF-8"),
    "utf-32be": ("\ufeffhttp://h.test/".encode("utf-32-be"), "is UTF-32BE text, not UTF-8"),
    "utf-16-without-mark": ("http://h.test/".encode("utf-16-le"), "is not UTF-8 text: NUL at byte 1"),
    "gzip": (b"\x1f\x8b\x08\0", "is gzip data, but its name does not end in .gz"),
    "nul-in-time": (b"http://h.test/a\n" + b"\n" * 8175 + b"\0", "is not UTF-8 text: NUL at byte 8191"),
}


@pytest.mark.parametrize(("content", "problem"), UNUSABLE.values(), ids=UNUSABLE.keys())
@pytest.mark.parametrize("step", [1, 100_000])
def test_unusable_queue(content, problem, step):
    with pytest.raises(QueueError) as caught:
        read(*(content[at : at + step] for at in range(0, len(content), step)))
    assert str(caught.value) == problem


def test_a_queue_that_is_all_done_is_no_error():
    assert read(b"http://h.test/a", done=lambda url: True) == [Skipped(1, Fate.DONE, url=A)]


def test_the_queue_is_streamed():
    def chunks():
        for number in range(10**9):
            yield b"http://h.test/%d\n" % number

    items = QueueReader().read(chunks())
    assert [next(items).line for _ in range(3)] == [1, 2, 3]


PIECES = st.sampled_from(
    [b"http://h.test/", b"a", b"#", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\xe9", b"\xc3", b"\xa9"]
)


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(0, 200), max_size=8))
def test_chunking_never_changes_the_result(content, cuts):
    def outcome(chunks):
        reader = QueueReader()
        items = []
        try:
            items.extend(reader.read(chunks))
        except QueueError as error:
            items.append(str(error))
        return items, reader.counts

    marks = sorted({0, len(content), *(min(cut, len(content)) for cut in cuts)})
    whole, counts = outcome([content])
    assert outcome([content[start:end] for start, end in pairwise(marks)]) == (whole, counts)
    assert counts.lines == sum([counts.blank, counts.comment, counts.entries, counts.duplicate, counts.rejected])
