"""The transport against raw loopback servers: what each answer on the wire becomes, and that nothing else happens."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.http1 import (
    SKIP,
    WHOLE,
    Answer,
    BodyPlan,
    ExchangeError,
    Headers,
    Limits,
    exchange,
    request_bytes,
)
from seaspider.http1.framing import Chunked
from seaspider.http1.head import HeadReader
from tests.rawserver import (
    WAIT_S,
    RawServer,
    Script,
    close_after,
    drip,
    hang_after,
    octet_by_octet,
    reset_after,
    run,
    wait_for_close,
)

REQUEST = request_bytes(b"GET", b"/a", [(b"Host", b"h.test")])
LIMITS = Limits(timeout_s=5, body_bytes=1000, head_bytes=2000, header_count=20, line_bytes=600, interim_count=3)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def ask(
    server: RawServer,
    plan: BodyPlan = WHOLE,
    limits: Limits = LIMITS,
    before_send: Callable[[], None] = lambda: None,
) -> Answer:
    return await exchange(
        server.host,
        server.port,
        REQUEST,
        tls=None,
        server_name=None,
        limits=limits,
        plan=lambda status, headers: plan,
        before_send=before_send,
    )


def outcome(script: Script, plan: BodyPlan = WHOLE, limits: Limits = LIMITS) -> Answer | ExchangeError:
    """One exchange with one server; checks what holds for every exchange."""
    with RawServer(script) as server:
        try:
            return run(ask(server, plan, limits))
        except ExchangeError as error:
            return error
        finally:
            assert server.ended.wait(WAIT_S)
            assert server.requests == [REQUEST]


def shown(result: Answer | ExchangeError) -> tuple[Any, ...]:
    if isinstance(result, ExchangeError):
        assert result.sent
        return (result.reason, result.detail, result.status, result.headers, result.wire_bytes)
    return (result.status, result.reason, result.headers, result.body, result.wire_bytes, result.clipped, result.flags)


ANSWERS = [
    ("content-length", OK + b"Content-Length: 3\r\n\r\nabc", "hang", 200, b"abc", ()),
    (
        "octets-after-content-length",
        OK + b"Content-Length: 3\r\n\r\nabcHTTP/1.1 200 evil\r\n\r\n",
        "hang",
        200,
        b"abc",
        (),
    ),
    ("reset-after-content-length", OK + b"Content-Length: 3\r\n\r\nabc", "reset", 200, b"abc", ()),
    ("content-length-0", OK + b"Content-Length: 0\r\n\r\n", "hang", 200, b"", ()),
    (
        "content-length-twice-equal",
        OK + b"Content-Length: 4\r\ncontent-length: 4\r\n\r\nabcd",
        "hang",
        200,
        b"abcd",
        (),
    ),
    ("content-length-list-equal", OK + b"Content-Length: 4, 04\r\n\r\nabcd", "hang", 200, b"abcd", ()),
    ("close-delimited", OK + b"\r\nabc", "close", 200, b"abc", ("no-length",)),
    ("close-delimited-empty", OK + b"\r\n", "close", 200, b"", ("no-length",)),
    ("http-1.0", b"HTTP/1.0 200 OK\r\n\r\nabc", "close", 200, b"abc", ("no-length",)),
    (
        "http-1.0-chunked",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "hang",
        200,
        b"abc",
        ("chunked-in-http-1.0",),
    ),
    ("chunked", CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "hang", 200, b"abcde", ()),
    ("chunked-upper-hex", CHUNKED + b"0A\r\n0123456789\r\n0\r\n\r\n", "hang", 200, b"0123456789", ()),
    ("chunked-extension", CHUNKED + b'3;n=v;q="x"\r\nabc\r\n0;e\r\n\r\n', "hang", 200, b"abc", ()),
    ("chunked-blank-after-size", CHUNKED + b"3  \r\nabc\r\n0 \r\n\r\n", "hang", 200, b"abc", ()),
    ("chunked-trailers", CHUNKED + b"3\r\nabc\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n", "hang", 200, b"abc", ()),
    ("chunked-lf-only", CHUNKED + b"3\nabc\n0\n\n", "hang", 200, b"abc", ()),
    ("chunked-closed-after-last-chunk", CHUNKED + b"3\r\nabc\r\n0\r\n", "close", 200, b"abc", ()),
    ("chunked-reset-after-last-chunk", CHUNKED + b"3\r\nabc\r\n0\r\n", "reset", 200, b"abc", ()),
    ("chunked-then-octets", CHUNKED + b"3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 evil\r\n\r\n", "hang", 200, b"abc", ()),
    (
        "te-case-and-empty-members",
        OK + b"transfer-encoding: ,Chunked,\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "hang",
        200,
        b"a",
        (),
    ),
    ("te-identity", OK + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab", "hang", 200, b"ab", ()),
    ("te-identity-alone", OK + b"Transfer-Encoding: identity\r\n\r\nab", "close", 200, b"ab", ("no-length",)),
    (
        "te-and-cl",
        OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "hang",
        200,
        b"ab",
        ("both-lengths",),
    ),
    ("204-with-body", b"HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nbody", "hang", 204, b"", ()),
    ("304-with-length", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", "hang", 304, b"", ()),
    ("304-bad-length", b"HTTP/1.1 304 Not Modified\r\nContent-Length: x\r\n\r\n", "hang", 304, b"", ()),
    ("100-first", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na", "hang", 200, b"a", ()),
    (
        "103-then-404",
        b"HTTP/1.1 103 Early\r\nLink: </a>\r\nContent-Length: 9\r\n\r\nHTTP/1.1 404 N\r\nContent-Length: 1\r\n\r\na",
        "hang",
        404,
        b"a",
        (),
    ),
    ("three-interims", b"HTTP/1.1 102 P\r\n\r\n" * 3 + OK + b"Content-Length: 1\r\n\r\na", "hang", 200, b"a", ()),
    ("status-700", b"HTTP/1.1 700 x\r\nContent-Length: 0\r\n\r\n", "hang", 700, b"", ()),
    ("status-999", b"HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n", "hang", 999, b"", ()),
    ("no-reason", b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "hang", 200, b"", ()),
    ("lf-only-head", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nab", "hang", 200, b"ab", ()),
    ("blank-before-colon", OK + b"Content-Length : 2\r\n\r\nabc", "hang", 200, b"ab", ()),
    (
        "line-without-colon",
        OK + b"garbage line\r\n folded garbage\r\nContent-Length: 2\r\n\r\nab",
        "hang",
        200,
        b"ab",
        ("skipped-header-line",),
    ),
    (
        "name-no-token",
        OK + b"a b: c\r\n: d\r\nContent-Length: 2\r\n\r\nab",
        "hang",
        200,
        b"ab",
        ("skipped-header-line",),
    ),
    (
        "fold-first",
        OK + b" Content-Length: 9\r\nContent-Length: 2\r\n\r\nab",
        "hang",
        200,
        b"ab",
        ("skipped-header-line",),
    ),
    ("bare-cr", OK + b"X: a\rb\r\nContent-Length: 2\r\r\n\r\nab", "hang", 200, b"ab", ("bare-cr",)),
]

FAULTS = [
    # name, raw, ending, reason, detail, status
    ("closed-at-once", b"", "close", "cut", "head: closed", None),
    ("reset-at-once", b"", "reset", "reset", "head: Connection reset by peer", None),
    ("closed-in-status-line", b"HTTP/1.1 20", "close", "cut", "head: closed", None),
    ("closed-in-head", OK + b"Content-Le", "close", "cut", "head: closed", None),
    ("reset-in-head", OK + b"Content-Le", "reset", "reset", "head: Connection reset by peer", None),
    ("head-without-blank-line", OK + b"Content-Length: 2\r\n", "close", "cut", "head: closed", None),
    ("100-only", b"HTTP/1.1 100 Continue\r\n\r\n", "close", "cut", "head: closed", None),
    ("short", OK + b"Content-Length: 500\r\n\r\nshort", "close", "cut", "body: closed after 5 octets", 200),
    (
        "short-reset",
        OK + b"Content-Length: 500\r\n\r\nshort",
        "reset",
        "cut",
        "body: Connection reset by peer after 5 octets",
        200,
    ),
    ("close-delimited-reset", OK + b"\r\nabc", "reset", "cut", "body: Connection reset by peer after 3 octets", 200),
    ("chunked-no-last-chunk", CHUNKED + b"3\r\nabc\r\n", "close", "cut", "body: closed after 3 octets", 200),
    ("chunked-half-last-chunk", CHUNKED + b"3\r\nabc\r\n0", "close", "cut", "body: closed after 3 octets", 200),
    ("chunked-cut-in-chunk", CHUNKED + b"5\r\nabc", "close", "cut", "body: closed after 3 octets", 200),
    ("chunk-size-text", CHUNKED + b"xyz\r\nabc\r\n", "hang", "protocol", "not a chunk size: b'xyz'", 200),
    ("chunk-size-empty", CHUNKED + b"\r\nabc\r\n", "hang", "protocol", "not a chunk size: b''", 200),
    ("chunk-size-negative", CHUNKED + b"-3\r\nabc\r\n", "hang", "protocol", "not a chunk size: b'-3'", 200),
    ("chunk-size-0x", CHUNKED + b"0x3\r\nabc\r\n", "hang", "protocol", "not a chunk size: b'0x3'", 200),
    ("chunk-size-underscore", CHUNKED + b"0_3\r\nabc\r\n", "hang", "protocol", "not a chunk size: b'0_3'", 200),
    (
        "chunk-size-17-digits",
        CHUNKED + b"00000000000000003\r\nabc\r\n",
        "hang",
        "protocol",
        "not a chunk size: b'00000000000000003'",
        200,
    ),
    (
        "chunk-longer",
        CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
        "hang",
        "protocol",
        "a chunk is longer than its size: b'd'",
        200,
    ),
    ("te-but-plain", CHUNKED + b"<html>\r\n", "hang", "protocol", "not a chunk size: b'<html>'", 200),
    (
        "chunk-extensions-endless",
        CHUNKED + b"1;" + b"x" * 3000,
        "hang",
        "protocol",
        "chunk extensions and trailers are too long",
        200,
    ),
    (
        "chunk-extensions-many",
        CHUNKED + (b"1;" + b"x" * 500 + b"\r\na\r\n") * 6,
        "hang",
        "protocol",
        "chunk extensions and trailers are too long",
        200,
    ),
    (
        "trailers-endless",
        CHUNKED + b"0\r\n" + b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 100,
        "hang",
        "protocol",
        "chunk extensions and trailers are too long",
        200,
    ),
    (
        "content-length-differs",
        OK + b"Content-Length: 4\r\nContent-Length: 9\r\n\r\nabcd",
        "hang",
        "protocol",
        "Content-Length differs: b'4, 9'",
        200,
    ),
    (
        "content-length-negative",
        OK + b"Content-Length: -5\r\n\r\nabcde",
        "hang",
        "protocol",
        "not a Content-Length: b'-5'",
        200,
    ),
    (
        "content-length-plus",
        OK + b"Content-Length: +5\r\n\r\nabcde",
        "hang",
        "protocol",
        "not a Content-Length: b'+5'",
        200,
    ),
    (
        "content-length-text",
        OK + b"Content-Length: abc\r\n\r\nabc",
        "hang",
        "protocol",
        "not a Content-Length: b'abc'",
        200,
    ),
    ("content-length-empty", OK + b"Content-Length:\r\n\r\nabc", "hang", "protocol", "not a Content-Length: b''", 200),
    (
        "content-length-huge",
        OK + b"Content-Length: " + b"9" * 99 + b"\r\n\r\n",
        "hang",
        "protocol",
        f"not a Content-Length: {b'9' * 64!r}",
        200,
    ),
    (
        "content-length-nul",
        OK + b"Content-Length: 2\0\r\n\r\nab",
        "hang",
        "protocol",
        "NUL in the head: b'Content-Length: 2\\x00'",
        None,
    ),
    (
        "content-length-folded",
        OK + b"Content-Length: 2\r\n 3\r\n\r\nab",
        "hang",
        "protocol",
        "not a Content-Length: b'2 3'",
        200,
    ),
    (
        "te-gzip-chunked",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        "hang",
        "protocol",
        "transfer coding b'gzip, chunked'",
        200,
    ),
    (
        "te-chunked-twice",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "hang",
        "protocol",
        "transfer coding b'chunked, chunked'",
        200,
    ),
    (
        "te-unknown-with-cl",
        OK + b"Transfer-Encoding: xchunked\r\nContent-Length: 1\r\n\r\na",
        "hang",
        "protocol",
        "transfer coding b'xchunked'",
        200,
    ),
    ("http-0.9", b"<html>hi</html>", "close", "protocol", "not a status line: b'<html>hi</html>'", None),
    (
        "http-0.9-lines",
        b"User-agent: *\nDisallow: /page\n",
        "hang",
        "protocol",
        "not a status line: b'User-agent: *'",
        None,
    ),
    ("no-line-end", b"x" * 100, "hang", "protocol", f"not a status line: {b'x' * 64!r}", None),
    ("icy", b"ICY 200 OK\r\n\r\n", "hang", "protocol", "not a status line: b'ICY 200 OK'", None),
    ("ftp-banner", b"220 ready\r\n", "hang", "protocol", "not a status line: b'220 ready'", None),
    ("blank-line-first", b"\r\n" + OK + b"\r\n", "hang", "protocol", "not a status line: b''", None),
    ("status-text", b"HTTP/1.1 abc OK\r\n\r\n", "hang", "protocol", "not a status line: b'HTTP/1.1 abc OK'", None),
    ("status-000", b"HTTP/1.1 000 x\r\n\r\n", "hang", "protocol", "status below 100: b'HTTP/1.1 000 x'", None),
    ("status-2000", b"HTTP/1.1 2000 x\r\n\r\n", "hang", "protocol", "not a status line: b'HTTP/1.1 2000 x'", None),
    ("status-glued", b"HTTP/1.1 200OK\r\n\r\n", "hang", "protocol", "not a status line: b'HTTP/1.1 200OK'", None),
    ("status-missing", b"HTTP/1.1\r\n\r\n", "hang", "protocol", "not a status line: b'HTTP/1.1'", None),
    ("http-2", b"HTTP/2.0 200 OK\r\n\r\n", "hang", "protocol", "not a status line: b'HTTP/2.0 200 OK'", None),
    (
        "101",
        b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n",
        "hang",
        "protocol",
        "101 Switching Protocols, which was not asked for",
        None,
    ),
    ("interims-without-end", b"HTTP/1.1 100 C\r\n\r\n" * 9, "hang", "protocol", "over 3 interim answers", None),
    (
        "line-too-long",
        OK + b"Location: /" + b"x" * 600 + b"\r\n\r\n",
        "hang",
        "protocol",
        "a line of the head is over 600 octets",
        None,
    ),
    (
        "line-endless",
        OK + b"Location: /" + b"x" * 1900,
        "hang",
        "protocol",
        "a line of the head is over 600 octets",
        None,
    ),
    (
        "head-too-long",
        OK + (b"X: " + b"y" * 500 + b"\r\n") * 9,
        "hang",
        "protocol",
        "the head is over 2000 octets",
        None,
    ),
    ("headers-too-many", OK + b"X: y\r\n" * 21 + b"\r\n", "hang", "protocol", "over 20 header lines", None),
    (
        "content-length-over",
        OK + b"Content-Length: 1001\r\n\r\n",
        "hang",
        "too-large",
        "Content-Length 1001 is over 1000",
        200,
    ),
    ("close-delimited-over", OK + b"\r\n" + b"x" * 1001, "hang", "too-large", "body over 1000 octets", 200),
    (
        "chunked-over",
        CHUNKED + (b"65\r\n" + b"x" * 101 + b"\r\n") * 10,
        "hang",
        "too-large",
        "body over 1000 octets",
        200,
    ),
]
ENDINGS = {"close": close_after, "hang": hang_after, "reset": reset_after}


@pytest.mark.parametrize(
    ("raw", "ending", "status", "body", "flags"), [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS]
)
def test_answers(raw: bytes, ending: str, status: int, body: bytes, flags: tuple[str, ...]) -> None:
    result = outcome(ENDINGS[ending](raw))
    assert isinstance(result, Answer), str(result)
    assert (result.status, result.body, result.flags, result.clipped) == (status, body, flags, False)
    in_packets = outcome(octet_by_octet(raw, then=ENDINGS[ending]))
    assert shown(in_packets) == shown(result)


@pytest.mark.parametrize(
    ("raw", "ending", "reason", "detail", "status"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_faults(raw: bytes, ending: str, reason: str, detail: str, status: int | None) -> None:
    result = outcome(ENDINGS[ending](raw))
    assert isinstance(result, ExchangeError), shown(result)
    assert (result.reason, result.detail, result.status) == (reason, detail, status)
    assert bool(result.headers) == (status is not None and not raw.startswith(OK + b"\r\n"))
    in_packets = outcome(octet_by_octet(raw, then=ENDINGS[ending]))
    assert shown(in_packets) == shown(result)


def test_the_caps_themselves_are_allowed() -> None:
    line = b"X: " + b"y" * (LIMITS.line_bytes - 4)
    raw = OK + (line + b"\r\n") * 2 + b"Y" * 300 + b":\r\nContent-Length: 1000\r\n"
    filler = LIMITS.head_bytes - len(raw) - len(b"F: \r\n\r")  # the LF that ends the head is not counted
    raw += b"F: " + b"z" * filler + b"\r\n\r\n" + b"x" * 1000
    result = outcome(hang_after(raw))
    assert isinstance(result, Answer), str(result)
    assert len(result.body) == 1000
    many = outcome(hang_after(OK + b"X: y\r\n" * 19 + b"Content-Length: 0\r\n\r\n"))
    assert isinstance(many, Answer)
    assert len(many.headers) == 20


def test_headers_keep_order_case_repeats_and_octets() -> None:
    raw = (
        OK
        + b"content-type: a/b\r\nX-A:1\r\nx-a: \t2 \r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
        + b"Fold: a\r\n\t b\r\nL: \xfc\xff\r\nE:\r\n"
    )
    result = outcome(close_after(raw + b"\r\n"))
    assert isinstance(result, Answer)
    assert result.reason == b"OK"
    assert result.headers == (
        (b"content-type", b"a/b"),
        (b"X-A", b"1"),
        (b"x-a", b"2"),
        (b"Set-Cookie", b"a"),
        (b"Set-Cookie", b"b"),
        (b"Fold", b"a b"),
        (b"L", b"\xfc\xff"),
        (b"E", b""),
    )
    assert result.flags == ("folded-header", "no-length")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"HTTP/1.1 200", b""),
        (b"HTTP/1.1 200 ", b""),
        (b"HTTP/1.1  200  Very  good ", b"Very  good"),
        (b"HTTP/1.1 200 \xfc", b"\xfc"),
    ],
)
def test_reason_phrases(line: bytes, reason: bytes) -> None:
    result = outcome(close_after(line + b"\r\n\r\n"))
    assert isinstance(result, Answer)
    assert result.reason == reason


def test_wire_bytes_count_the_message_and_nothing_behind_it() -> None:
    interim, head, body = b"HTTP/1.1 103 E\r\n\r\n", CHUNKED, b"3\r\nabc\r\n0\r\nT: r\r\n\r\n"
    result = outcome(hang_after(interim + head + body + b"and more"))
    assert isinstance(result, Answer)
    assert result.wire_bytes == len(interim + head + body)


def test_chunking_does_not_change_the_body() -> None:
    two, one = CHUNKED + b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", CHUNKED + b"6\r\nabcdef\r\n0\r\n\r\n"
    results = [outcome(hang_after(raw)) for raw in (two, one)]
    assert [result.body for result in results if isinstance(result, Answer)] == [b"abcdef", b"abcdef"]


CLIPS = [
    ("shorter", OK + b"Content-Length: 2\r\n\r\nab", b"ab", False, 2),
    ("exact-length", OK + b"Content-Length: 3\r\n\r\nabc", b"abc", False, 3),
    ("exact-chunked", CHUNKED + b"3\r\nabc\r\n0\r\n\r\n", b"abc", False, 13),
    ("exact-close", OK + b"\r\nabc", b"abc", False, 3),
    ("over-length", OK + b"Content-Length: 50000\r\n\r\nabcdef", b"abc", True, 4),
    ("over-chunked", CHUNKED + b"2\r\nab\r\n4\r\ncdef\r\n", b"abc", True, 12),
    ("over-close", OK + b"\r\nabcdef", b"abc", True, 4),
]


@pytest.mark.parametrize(("raw", "body", "clipped", "used"), [c[1:] for c in CLIPS], ids=[c[0] for c in CLIPS])
def test_a_clip_reads_so_much_and_stops(raw: bytes, body: bytes, clipped: bool, used: int) -> None:
    ending = hang_after if clipped or b"Content-Length" in raw or b"chunked" in raw else close_after
    result = outcome(ending(raw), BodyPlan(clip_bytes=3))
    assert isinstance(result, Answer), str(result)
    assert (result.body, result.clipped) == (body, clipped)
    assert result.wire_bytes == raw.index(b"\r\n\r\n") + 4 + used
    assert shown(outcome(octet_by_octet(raw, then=ending), BodyPlan(clip_bytes=3))) == shown(result)


def test_a_clip_is_not_bound_by_the_body_limit_and_a_short_body_is_still_cut() -> None:
    result = outcome(hang_after(OK + b"\r\n" + b"x" * 2000), BodyPlan(clip_bytes=1500))
    assert isinstance(result, Answer)
    assert (len(result.body), result.clipped) == (1500, True)
    short = outcome(close_after(OK + b"Content-Length: 9\r\n\r\nab"), BodyPlan(clip_bytes=3))
    assert isinstance(short, ExchangeError)
    assert short.reason == "cut"


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Encoding: gzip\r\n\r\nplain",
        b"HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Length: 50000000\r\n\r\n",
        b"HTTP/1.1 302 F\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
    ],
    ids=["mislabelled", "huge", "bad-chunks"],
)
def test_a_skipped_body_is_not_looked_at(raw: bytes) -> None:
    result = outcome(hang_after(raw), SKIP)
    assert isinstance(result, Answer)
    assert (result.status, result.body, result.clipped) == (302, b"", False)
    assert result.wire_bytes == raw.index(b"\r\n\r\n") + 4


def test_a_huge_body_of_a_hop_is_not_downloaded() -> None:
    sent = 0

    def flood(peer: socket.socket) -> None:
        nonlocal sent
        peer.sendall(b"HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Length: 500000000\r\n\r\n")
        while sent < 500_000_000:
            sent += peer.send(bytes(1_000_000))

    with RawServer(flood) as server:
        run(ask(server, SKIP))
        assert server.ended.wait(WAIT_S)
    assert sent < 500_000_000
    assert [type(fault) for fault in server.faults] in ([ConnectionResetError], [BrokenPipeError])


def test_plan_sees_the_final_head_and_chooses() -> None:
    seen: list[tuple[int, Headers]] = []

    def plan(status: int, headers: Headers) -> BodyPlan:
        seen.append((status, headers))
        return SKIP

    async def act(server: RawServer) -> Answer:
        return await exchange(
            server.host,
            server.port,
            REQUEST,
            tls=None,
            server_name=None,
            limits=LIMITS,
            plan=plan,
            before_send=lambda: None,
        )

    with RawServer(hang_after(b"HTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 301 M\r\nLocation: /b\r\n\r\n")) as server:
        run(act(server))
    assert seen == [(301, ((b"Location", b"/b"),))]


class Refused(Exception):
    pass


@pytest.mark.parametrize(
    "error", [Refused(), OSError("disk full"), TimeoutError("lock")], ids=lambda e: type(e).__name__
)
def test_what_before_send_raises_passes_and_nothing_is_sent(error: Exception) -> None:
    def refuse() -> None:
        raise error

    with RawServer(hang_after(b"")) as server:
        with pytest.raises(type(error)) as caught:
            run(ask(server, before_send=refuse))
        assert caught.value is error
        assert server.ended.wait(WAIT_S)
    assert server.requests == [b""]


def test_before_send_runs_once_connected_and_before_any_octet() -> None:
    seen: list[list[bytes]] = []
    with RawServer(hang_after(OK + b"Content-Length: 0\r\n\r\n")) as server:
        run(ask(server, before_send=lambda: seen.append(list(server.requests))))
    assert seen == [[]]
    assert server.requests == [REQUEST]
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    server.port = port
    with pytest.raises(ExchangeError) as caught:
        run(ask(server, before_send=lambda: seen.append([])))
    assert (caught.value.reason, caught.value.detail, caught.value.sent) == (
        "connect",
        "connect: Connection refused",
        False,
    )
    assert seen == [[]]


SHORT = Limits(timeout_s=0.3, head_bytes=10_000_000, line_bytes=10_000_000, body_bytes=10_000_000, interim_count=10**9)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        pytest.param(hang_after(b""), None, id="silent"),
        pytest.param(hang_after(OK), None, id="stuck-head"),
        pytest.param(hang_after(OK + b"Content-Length: 9\r\n\r\nabc"), 200, id="stuck-body"),
        pytest.param(drip(OK + b"X: ", b"x", 0.02), None, id="dripping-head"),
        pytest.param(drip(b"", b"HTTP/1.1 100 C\r\n\r\n", 0.02), None, id="interims-for-ever"),
        pytest.param(drip(OK + b"\r\n", b"x", 0.02), 200, id="dripping-body"),
        pytest.param(drip(CHUNKED, b"1\r\nx\r\n", 0.02), 200, id="dripping-chunks"),
        pytest.param(drip(CHUNKED + b"0\r\n", b"x", 0.02), 200, id="dripping-trailer"),
    ],
)
def test_the_time_is_for_all_together(script: Script, status: int | None) -> None:
    started = time.monotonic()
    result = outcome(script, limits=SHORT)
    assert time.monotonic() - started >= SHORT.timeout_s
    assert isinstance(result, ExchangeError)
    assert (result.reason, result.detail, result.status) == ("timeout", "no whole answer in 0.3 s", status)


def test_a_flood_cannot_hold_up_the_time_or_the_loop() -> None:
    def flood(peer: socket.socket) -> None:
        while True:
            peer.sendall(b"HTTP/1.1 100 C\r\n\r\n" * 10_000)

    async def act(server: RawServer) -> int:
        turns = 0
        task = asyncio.create_task(ask(server, limits=SHORT))
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        with pytest.raises(ExchangeError, match="timeout"):
            await task
        return turns

    with RawServer(flood) as server:
        assert run(act(server)) > 10


def test_connecting_is_within_the_time() -> None:
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):  # fill the backlog: the next SYN gets no answer
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        server = RawServer(hang_after(b""))
        with server:
            server.port = listener.getsockname()[1]
            with pytest.raises(ExchangeError) as caught:
                run(ask(server, limits=SHORT))
    assert (caught.value.reason, caught.value.sent) == ("timeout", False)


@pytest.mark.parametrize(
    "start", [b"", OK, OK + b"Content-Length: 9\r\n\r\nabc"], ids=["waiting", "in-head", "in-body"]
)
def test_cancelling_closes_at_once(start: bytes) -> None:
    async def act(server: RawServer) -> None:
        task = asyncio.create_task(ask(server))
        assert await asyncio.to_thread(server.asked.wait, WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.ended.wait, WAIT_S)

    with RawServer(hang_after(start)) as server:
        run(act(server))
    assert server.connections == 1


def test_no_descriptor_is_left_whatever_happens() -> None:
    def open_now() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def act() -> list[int]:
        counts = [open_now()]
        for script in (
            close_after(b""),
            reset_after(OK),
            hang_after(OK + b"Content-Length: 1\r\n\r\na"),
            hang_after(b"junk\r\n"),
        ):
            with RawServer(script) as server:
                with contextlib.suppress(ExchangeError):
                    await ask(server)
                assert server.ended.wait(WAIT_S)
            counts.append(open_now())
        return counts

    counts = run(act())
    assert counts == counts[:1] * 5


def test_one_request_a_connection_and_what_comes_unasked_is_not_believed() -> None:
    def unasked(peer: socket.socket) -> None:
        peer.sendall(OK + b"Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc")
        peer.sendall(OK + b"Content-Length: 4\r\n\r\nevil")
        wait_for_close(peer)

    async def act(server: RawServer) -> list[bytes]:
        return [(await ask(server)).body for _ in range(3)]

    real = [hang_after(OK + b"Content-Length: 6\r\n\r\nreal-" + name) for name in (b"b", b"c")]
    with RawServer(unasked, *real) as server:
        assert run(act(server)) == [b"abc", b"real-b", b"real-c"]
    assert server.connections == 3
    assert server.requests == [REQUEST] * 3


@pytest.mark.parametrize("script", [reset_after(b""), close_after(b"")], ids=["reset", "close"])
def test_nothing_is_sent_again(script: Script) -> None:
    with RawServer(script, hang_after(OK + b"Content-Length: 0\r\n\r\n")) as server:
        with pytest.raises(ExchangeError):
            run(ask(server))
        assert server.ended.wait(WAIT_S)
    assert server.connections == 1


def test_the_connection_goes_to_the_literal_and_no_other() -> None:
    with contextlib.ExitStack() as stack:
        three = stack.enter_context(RawServer(hang_after(OK + b"Content-Length: 1\r\n\r\n3"), host="127.0.0.3"))
        other = RawServer(hang_after(OK + b"Content-Length: 1\r\n\r\n4"), host="127.0.0.4", port=three.port)
        four = stack.enter_context(other)
        assert run(ask(three)).body == b"3"
        assert run(ask(four)).body == b"4"
    assert (three.connections, four.connections) == (1, 1)


def test_ipv6() -> None:
    try:
        server = RawServer(hang_after(OK + b"Content-Length: 1\r\n\r\n6"), host="::1")
    except OSError:
        pytest.skip("no IPv6 loopback here")
    with server:
        assert run(ask(server)).body == b"6"


@pytest.mark.parametrize(
    "address", ["localhost", "h.test", "127.1", "2130706433", "0x7f.0.0.1", "fe80::1%lo", "[::1]", ""]
)
def test_only_an_address_literal_is_connected_to(address: str) -> None:
    with RawServer(hang_after(b"")) as server:
        server.host = address
        with pytest.raises(ValueError, match="address"):
            run(ask(server))
    assert server.connections == 0


def test_proxy_variables_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(hang_after(b"")) as proxy, RawServer(hang_after(OK + b"Content-Length: 0\r\n\r\n")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert run(ask(server)).status == 200
    assert (proxy.connections, server.connections) == (0, 1)


def test_request_bytes() -> None:
    fields = [(b"Host", b"h.test:8080"), (b"X", b"\xfc\t1"), (b"E", b"")]
    head = b"GET /a?b HTTP/1.1\r\nHost: h.test:8080\r\nX: \xfc\t1\r\nE: \r\n"
    assert request_bytes(b"GET", b"/a?b", fields) == head + b"Connection: close\r\n\r\n"
    assert request_bytes(b"GET", b"/a?b", [*fields, (b"connection", b"Close")]) == head + b"connection: Close\r\n\r\n"


HOST = (b"Host", b"h")


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        (b"GET\r\n", b"/", [HOST]),
        (b"G T", b"/", [HOST]),
        (b"", b"/", [HOST]),
        (b"GET", b"", [HOST]),
        (b"GET", b"/a b", [HOST]),
        (b"GET", b"/\r\nX: y", [HOST]),
        (b"GET", b"/\n", [HOST]),
        (b"GET", b"/\0", [HOST]),
        (b"GET", b"/\xfc", [HOST]),
        (b"GET", b"/", [HOST, (b"X", b"a\r\nY: b")]),
        (b"GET", b"/", [HOST, (b"X", b"a\nb")]),
        (b"GET", b"/", [HOST, (b"X", b"a\rb")]),
        (b"GET", b"/", [HOST, (b"X", b"a\0b")]),
        (b"GET", b"/", [HOST, (b"X\n", b"a")]),
        (b"GET", b"/", [HOST, (b"X:", b"a")]),
        (b"GET", b"/", [HOST, (b"", b"a")]),
        (b"GET", b"/", []),
        (b"GET", b"/", [HOST, HOST]),
        (b"GET", b"/", [HOST, (b"Connection", b"keep-alive")]),
        (b"GET", b"/", [HOST, (b"Content-Length", b"3")]),
        (b"GET", b"/", [HOST, (b"transfer-encoding", b"chunked")]),
    ],
)
def test_request_bytes_refuses(method: bytes, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        request_bytes(method, target, headers)


class Witness:
    """llhttp, through httptools."""

    def __init__(self, raw: bytes) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.whole = False
        self._head = True
        self.parser = httptools.HttpResponseParser(self)
        try:
            self.parser.feed_data(raw)
        except httptools.HttpParserError:
            self.whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._head = False

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.whole = True


def unchunked(raw: bytes, packet: int) -> bytes | None:
    chunked, body = Chunked(10_000), b""
    for at in range(0, len(raw), packet):
        data = raw[at : at + packet]
        try:
            body += chunked.feed(data, 1_000_000)
        except ExchangeError:
            return None
        if chunked.done:
            return body
    return None


chunks = st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.sampled_from([b"", b";a", b";a=b", b';a="b c"'])))
trailers = st.sampled_from([b"", b"A: b\r\n", b"A: b\r\nC:\r\n"])


def written(pieces: list[tuple[bytes, bytes]], trailer: bytes) -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(data), ext, data) for data, ext in pieces) + b"0\r\n" + trailer + b"\r\n"


@settings(derandomize=True, deadline=None, max_examples=200, database=None)
@given(chunks, trailers, st.integers(1, 50))
def test_llhttp_reads_the_same_chunks(pieces: list[tuple[bytes, bytes]], trailer: bytes, packet: int) -> None:
    raw = written(pieces, trailer)
    witness = Witness(CHUNKED + raw)
    assert witness.whole
    assert unchunked(raw, packet) == witness.body == b"".join(data for data, _ in pieces)


@settings(derandomize=True, deadline=None, max_examples=500, database=None)
@given(chunks, trailers, st.integers(0, 1000), st.integers(0, 255))
def test_what_llhttp_takes_of_damaged_chunks_is_read_the_same(
    pieces: list[tuple[bytes, bytes]], trailer: bytes, where: int, octet: int
) -> None:
    damaged = bytearray(written(pieces, trailer))
    damaged[where % len(damaged)] = octet
    witness = Witness(CHUNKED + bytes(damaged))
    if witness.whole:
        assert unchunked(bytes(damaged), 7) == witness.body


token = st.text("abcXYZ019-_", min_size=1, max_size=9).map(str.encode)
value = st.text("ab 1:;,=\t\xfc", max_size=20).map(lambda text: text.encode("latin-1").strip(b" \t"))


@settings(derandomize=True, deadline=None, max_examples=200, database=None)
@given(st.lists(st.tuples(token, value), max_size=15), st.integers(1, 80))
def test_llhttp_reads_the_same_head(fields: list[tuple[bytes, bytes]], packet: int) -> None:
    raw = OK + b"".join(b"%s: %s\r\n" % field for field in fields) + b"\r\n"
    reader, head = HeadReader(Limits()), None
    for at in range(0, len(raw), packet):
        head = reader.feed(raw[at : at + packet])
    assert head is not None
    assert list(head.headers) == Witness(raw).headers == fields
