"""The message on the wire as real servers send it, through a real crawl: what is believed and what fails.

The next visit is unaffected, whatever came before. RFC 9110, RFC 9112.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.rawserver import (
    RawServer,
    Script,
    close_after,
    drip,
    hang_after,
    octet_by_octet,
    reset_after,
    wait_for_close,
)
from tests.web.rawcases import ROBOTS, Case, Crawled, End, crawled, failed, host_of, one, robots, stored
from tests.web.rawweb import OK, chunked, page

CAP_BYTES = 200_000
SHORT_S = 1
"""The time for a whole exchange in the crawl of what never ends."""

WHERE = {
    "TRA-02": "tests/web/test_transport.py::test_case[TRA-02]: each body under its own URL: one request a connection",
    "TRA-03": "tests/web/test_transport.py::test_case[TRA-03]: failed/cut, status recorded, nothing stored",
    "TRA-05": "tests/web/test_transport.py::test_case[TRA-05]: stored if equal, failed/protocol if they differ",
    "TRA-06": "tests/web/test_transport.py::test_case[TRA-06]: failed/protocol, asked once",
    "TRA-08": "tests/web/test_transport.py::test_case[TRA-08]: failed/protocol, the first bytes in the log",
    "TRA-10": "tests/web/test_transport.py::test_case[TRA-10]: stored, flag skipped-header-line",
    "TRA-13": "tests/web/test_transport.py::test_case[TRA-13]: identity ignored; another coding failed/protocol",
    "TRA-14": "tests/web/test_transport.py::test_case[TRA-14]: 100-999 stored as sent, others failed/protocol",
    "TRA-16": "tests/web/test_transport.py::test_case[TRA-16]: failed/too-large with its status, at the cap",
    "TRA-17": "tests/web/test_transport.py::test_case[TRA-17]: 1xx passed over; 101 failed/protocol",
    "TRA-19": "tests/web/test_transport.py::test_header_lines_are_kept_as_they_came: headers in order, as received",
    "TRA-20": "tests/web/test_transport.py::test_no_proxy_of_the_environment_is_asked: the proxy sees no connection",
    "TRA-21": "tests/web/test_transport.py::test_case[TRA-21]: no body, the next URL right",
    "TRA-22": "tests/web/test_tls_dns.py::test_each_name_is_asked_for_by_its_own_name: 200 for both names",
}

UNASKED = page(b"evil")
ODD_OCTETS = b"a" + bytes(range(1, 9)) + bytes(range(128, 256))


def lines(*headers: bytes, body: bytes = b"ab") -> bytes:
    """An answer with just these header lines."""
    return b"\r\n".join([b"HTTP/1.1 200 OK", *headers, b"", body])


def length(value: bytes, body: bytes = b"ab") -> bytes:
    return lines(b"Content-Length: " + value, body=body)


def then(*pieces: bytes) -> Script:
    """Each piece in a packet of its own, then wait for the close."""

    def script(peer: socket.socket) -> None:
        for piece in pieces:
            peer.sendall(piece)
        wait_for_close(peer)

    return script


def flood(start: bytes, piece: bytes) -> Script:
    """As many octets as the client takes."""

    def script(peer: socket.socket) -> None:
        peer.sendall(start)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:
                peer.sendall(piece)

    return script


def shifted(first: bytes | Script) -> Case:
    """The server goes on talking after its first answer; the bodies of the next URLs are their own."""
    return Case(
        {"/a": first, "/b": page(b"real-b"), "/c": page(b"real-c")},
        {"/a": stored(b"abc"), "/b": stored(b"real-b"), "/c": stored(b"real-c")},
    )


def status(line: bytes, end: End) -> Case:
    return one(b"HTTP/1.1 " + line + b"\r\nContent-Length: 2\r\n\r\nab", end)


AB = stored(b"ab")
CUT = failed("cut", 200)
PROTOCOL = failed("protocol")
FRAMING = failed("protocol", 200)
TOO_LARGE = failed("too-large", 200)
SKIPPED = stored(b"ab", "skipped-header-line")

CASES: dict[str, Case] = {
    # --- one request a connection, unasked octets never believed, nothing sent again ---
    "TRA-02": shifted(then(lines(b"Content-Length: 3", b"Connection: keep-alive", body=b"abc"), UNASKED)),
    "TRA-02/in-one-packet": shifted(page(b"abc") + UNASKED),
    "TRA-02/behind-chunks": shifted(chunked(b"abc") + UNASKED),
    "TRA-02/behind-a-redirect": Case(
        {"/a": b"HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n" + UNASKED, "/b": page(b"real-b")},
        {"/a": stored(b"real-b", asked=2), "/c": stored(b"", status=404)},
        asked=("/a", "/b", "/c"),
    ),
    "TRA-02/behind-an-error": Case(
        {"/a": page(b"no", status=b"404 N") + UNASKED, "/b": page(b"real-b")},
        {"/a": stored(b"no", status=404), "/b": stored(b"real-b")},
    ),
    "TRA-02/behind-robots": Case(
        {ROBOTS: page(b"User-agent: *\nDisallow: /b\n") + page(b"User-agent: *\nAllow: /\n"), "/a": page(b"ab")},
        {"/a": AB, "/b": End("disallowed/robots-rule", None, asked=0)},
        "parsed",
    ),
    "TRA-02/closed-unanswered": one(close_after(b""), failed("cut")),
    "TRA-02/reset-unanswered": one(reset_after(b""), failed("reset")),
    "TRA-02/reset-in-the-head": one(reset_after(OK + b"Content-"), failed("reset")),
    # --- less than was said ---
    "TRA-03": one(close_after(length(b"500", b"short")), CUT),
    "TRA-03/reset": one(reset_after(length(b"500", b"short")), CUT),
    "TRA-03/nothing": one(close_after(length(b"500", b"")), CUT),
    "TRA-03/one-octet-missing": one(close_after(length(b"3")), CUT),
    "TRA-03/404": one(close_after(b"HTTP/1.1 404 N\r\nContent-Length: 9\r\n\r\nno"), failed("cut", 404)),
    "TRA-03/no-last-chunk": one(close_after(chunked(b"abc", end=b"")), CUT),
    "TRA-03/half-a-chunk": one(close_after(chunked(b"abc", end=b"8\r\nabc")), CUT),
    "TRA-03/half-a-last-chunk": one(close_after(chunked(b"abc", end=b"0")), CUT),
    "TRA-03/no-trailer-end": one(close_after(chunked(b"abc", end=b"0\r\n")), stored(b"abc")),
    "TRA-03/http-1-0": one(close_after(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nab"), CUT),
    "TRA-03/no-length": one(close_after(OK + b"\r\nab"), stored(b"ab", "no-length")),
    "TRA-03/no-length-http-1-0": one(close_after(b"HTTP/1.0 200 OK\r\n\r\nab"), stored(b"ab", "no-length")),
    "TRA-03/no-length-no-body": one(close_after(OK + b"\r\n"), stored(b"", "no-length")),
    "TRA-03/no-length-reset": one(reset_after(OK + b"\r\nab"), CUT),
    "TRA-03/in-the-head": one(close_after(OK + b"Content-Len"), failed("cut")),
    "TRA-03/head-without-end": one(close_after(OK + b"Content-Length: 0\r\n"), failed("cut")),
    "TRA-03/robots": robots(close_after(length(b"500", b"User-agent: *\nAllow: /\n")), "cut"),
    "TRA-03/robots-chunks": robots(close_after(chunked(b"User-agent: *\n", end=b"")), "cut"),
    "TRA-03/robots-no-length-reset": robots(reset_after(OK + b"\r\nUser-agent: *\n"), "cut"),
    "TRA-03/robots-not-a-chunk": robots(hang_after(chunked(end=b"User-agent: *\n")), "protocol"),
    # --- how long it is ---
    "TRA-05": Case(
        {
            "/a": lines(b"Content-Length: 4", b"Content-Length: 4", body=b"abcd"),
            "/b": lines(b"Content-Length: 4", b"Content-Length: 9", body=b"abcd"),
        },
        {"/a": stored(b"abcd"), "/b": FRAMING},
    ),
    "TRA-05/list": one(length(b"2, 2"), AB),
    "TRA-05/list-and-line": one(lines(b"Content-Length: 2,2", b"content-length: 02"), AB),
    "TRA-05/list-that-differs": one(length(b"2, 3"), FRAMING),
    "TRA-05/list-with-a-gap": one(length(b"2,,2"), FRAMING),
    "TRA-05/beside-chunks": one(chunked(b"ab", headers=[b"Content-Length: 9"]), stored(b"ab", "both-lengths")),
    "TRA-05/beside-chunks-that-are-none": one(
        lines(b"Content-Length: 2", b"Transfer-Encoding: chunked", body=b"<p>\r\n"), FRAMING
    ),
    "TRA-06": Case(
        {"/a": length(b"2\0"), "/b": length(b"-5"), "/c": length(b"abc")},
        {"/a": PROTOCOL, "/b": FRAMING, "/c": FRAMING},
    ),
    "TRA-06/plus": one(length(b"+2"), FRAMING),
    "TRA-06/empty": one(length(b""), FRAMING),
    "TRA-06/hexadecimal": one(length(b"0x2"), FRAMING),
    "TRA-06/exponent": one(length(b"2e0"), FRAMING),
    "TRA-06/point": one(length(b"2.0"), FRAMING),
    "TRA-06/two-words": one(length(b"2 2"), FRAMING),
    "TRA-06/underscore": one(length(b"0_2"), FRAMING),
    "TRA-06/other-digits": one(length("٢".encode()), FRAMING),
    "TRA-06/99-digits": one(length(b"9" * 99), FRAMING),
    "TRA-06/folded": one(lines(b"Content-Length: 2", b" 2"), FRAMING),
    "TRA-06/leading-zeros": one(length(b"0002"), AB),
    "TRA-06/robots": robots(length(b"-5", b"User-agent: *\n"), "protocol"),
    # --- what is no HTTP/1 ---
    "TRA-08": Case(
        {
            "/a": close_after(b"<html>hi</html>"),
            "/b": b"ICY 200 OK\r\nContent-Length: 2\r\n\r\nab",
            "/c": b"\r\n\r\n" + page(b"ab"),
        },
        {"/a": PROTOCOL, "/b": PROTOCOL, "/c": PROTOCOL},
    ),
    "TRA-08/http-2": one(b"HTTP/2 200\r\nContent-Length: 2\r\n\r\nab", PROTOCOL),
    "TRA-08/http-2-settings": one(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80" * 5, PROTOCOL),
    "TRA-08/lower-case": one(b"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", PROTOCOL),
    "TRA-08/no-version": one(b"200 OK\r\nContent-Length: 2\r\n\r\nab", PROTOCOL),
    "TRA-08/blank-before": one(b" " + page(b"ab"), PROTOCOL),
    "TRA-08/ssh": one(b"SSH-2.0-OpenSSH_9.9\r\n", PROTOCOL),
    "TRA-08/smtp": one(b"220 mail.test ESMTP \x1b[2J\x07\r\n", PROTOCOL),
    "TRA-08/the-request-again": one(b"GET /a HTTP/1.1\r\nHost: h.test\r\n\r\n", PROTOCOL),
    "TRA-08/short": one(close_after(b"hi"), PROTOCOL),
    "TRA-08/nul": one(bytes(100), PROTOCOL),
    "TRA-08/tls-alert": one(b"\x15\x03\x01\x00\x02\x02\x0a" * 20, PROTOCOL),
    "TRA-08/robots-0-9": robots(close_after(b"User-agent: *\nDisallow:\n"), "protocol"),
    # --- odd header lines ---
    "TRA-10": one(lines(b"garbage line", b"Content-Length: 2"), SKIPPED),
    "TRA-10/no-name": one(lines(b": x", b"Content-Length: 2"), SKIPPED),
    "TRA-10/name-with-a-blank": one(lines(b"X Y: z", b"Content-Length: 2"), SKIPPED),
    "TRA-10/name-not-ascii": one(lines("Größe: z".encode(), b"Content-Length: 2"), SKIPPED),
    "TRA-10/status-line-again": one(lines(b"HTTP/1.1 200 OK", b"Content-Length: 2"), SKIPPED),
    "TRA-10/fold-first": one(lines(b" Content-Length: 9", b"Content-Length: 2"), SKIPPED),
    "TRA-10/fold-of-a-skipped-line": one(lines(b"garbage", b" more: x", b"Content-Length: 2"), SKIPPED),
    "TRA-10/garbage-with-a-colon": one(lines(b"<b>x: y</b>", b"Content-Length: 2"), SKIPPED),
    "TRA-10/blank-before-the-colon": one(lines(b"Content-Length : 2"), AB),
    "TRA-10/no-blank-after-it": one(lines(b"Content-Length:2"), AB),
    "TRA-10/line-feeds-only": one(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nab", AB),
    "TRA-10/bare-cr": one(lines(b"X: a\rb", b"Content-Length: 2"), stored(b"ab", "bare-cr")),
    "TRA-10/folded": one(lines(b"X: a", b"\tb", b"Content-Length: 2"), stored(b"ab", "folded-header")),
    "TRA-10/nul": one(lines(b"X: a\0b", b"Content-Length: 2"), PROTOCOL),
    "TRA-10/escape": one(lines(b"X: \x1b[2J\x07", b"Content-Length: 2"), AB),
    "TRA-10/octets": one(lines(b"X: " + ODD_OCTETS, b"Content-Length: 2"), AB),
    "TRA-10/256-lines": one(lines(*[b"X: y"] * 255, b"Content-Length: 2"), AB),
    "TRA-10/257-lines": one(lines(*[b"X: y"] * 256, b"Content-Length: 2"), PROTOCOL),
    "TRA-10/lines-without-end": one(flood(OK, b"X: y\r\n" * 1000), PROTOCOL),
    "TRA-10/skipped-lines-without-end": one(flood(OK, b"garbage\r\n" * 1000), PROTOCOL),
    "TRA-10/a-line-of-16-kib": one(lines(b"X: " + b"y" * (16 * 1024 - 5), b"Content-Length: 2"), AB),
    "TRA-10/a-longer-line": one(lines(b"X: " + b"y" * (16 * 1024), b"Content-Length: 2"), PROTOCOL),
    "TRA-10/a-line-without-end": one(flood(OK + b"X: ", b"y" * 10_000), PROTOCOL),
    "TRA-10/a-head-of-64-kib": one(lines(*[b"X: " + b"y" * 16_000] * 4, b"Content-Length: 2"), AB),
    "TRA-10/a-longer-head": one(lines(*[b"X: " + b"y" * 16_000] * 5, b"Content-Length: 2"), PROTOCOL),
    "TRA-10/a-status-line-without-end": one(flood(b"HTTP/1.1 200 ", b"y" * 10_000), PROTOCOL),
    "TRA-10/octet-by-octet": one(octet_by_octet(lines(b"garbage", b"Content-Length: 2"), hang_after), SKIPPED),
    # --- transfer codings ---
    "TRA-13": Case(
        {
            "/a": lines(b"Transfer-Encoding: identity", b"Content-Length: 2"),
            "/b": lines(b"Transfer-Encoding: gzip, chunked", body=b"2\r\nab\r\n0\r\n\r\n"),
        },
        {"/a": AB, "/b": FRAMING},
    ),
    "TRA-13/identity-alone": one(close_after(lines(b"Transfer-Encoding: identity")), stored(b"ab", "no-length")),
    "TRA-13/empty": one(lines(b"Transfer-Encoding:", b"Content-Length: 2"), AB),
    "TRA-13/case": one(lines(b"transfer-encoding: Chunked", body=b"2\r\nab\r\n0\r\n\r\n"), AB),
    "TRA-13/gzip": one(lines(b"Transfer-Encoding: gzip", b"Content-Length: 2"), FRAMING),
    "TRA-13/chunked-twice": one(lines(*[b"Transfer-Encoding: chunked"] * 2, body=b"2\r\nab\r\n0\r\n\r\n"), FRAMING),
    "TRA-13/unknown": one(lines(b"Transfer-Encoding: xchunked", b"Content-Length: 2"), FRAMING),
    "TRA-13/quoted": one(lines(b'Transfer-Encoding: "chunked"', b"Content-Length: 2"), FRAMING),
    "TRA-13/http-1-0": one(
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        stored(b"ab", "chunked-in-http-1.0"),
    ),
    "TRA-13/extensions-and-trailers": one(
        lines(b"Transfer-Encoding: chunked", body=b'2;a="b;c"\r\nab\r\n0;d\r\nContent-Length: 9\r\n\r\n'), AB
    ),
    "TRA-13/size-of-17-digits": one(chunked(end=b"0" * 16 + b"2\r\nab\r\n0\r\n\r\n"), FRAMING),
    "TRA-13/size-negative": one(chunked(end=b"-2\r\nab\r\n0\r\n\r\n"), FRAMING),
    "TRA-13/size-with-0x": one(chunked(end=b"0x2\r\nab\r\n0\r\n\r\n"), FRAMING),
    "TRA-13/chunk-longer-than-said": one(chunked(end=b"1\r\nab\r\n0\r\n\r\n"), FRAMING),
    "TRA-13/extension-without-end": one(flood(chunked(end=b"2;"), b"x" * 10_000), FRAMING),
    "TRA-13/trailers-without-end": one(flood(chunked(end=b"0\r\n"), b"X: y\r\n" * 1000), FRAMING),
    # --- statuses ---
    "TRA-14": Case(
        {
            "/a": page(b"ab", status=b"999 x"),
            "/b": page(b"ab", status=b"000 x"),
            "/c": page(b"ab", status=b"2000 x"),
            "/d": page(b"ab", status=b"0 x"),
        },
        {"/a": stored(b"ab", status=999), "/b": PROTOCOL, "/c": PROTOCOL, "/d": PROTOCOL},
    ),
    "TRA-14/600": status(b"600", stored(b"ab", status=600)),
    "TRA-14/299": status(b"299 a reason", stored(b"ab", status=299)),
    "TRA-14/418": status(b"418", stored(b"ab", status=418)),
    "TRA-14/206-unasked": status(b"206 Part", stored(b"ab", status=206)),
    "TRA-14/599": status(b"599", End("failed/http-5xx", 599)),
    "TRA-14/099": status(b"099", PROTOCOL),
    "TRA-14/negative": status(b"-200", PROTOCOL),
    "TRA-14/text": status(b"OK", PROTOCOL),
    "TRA-14/glued": status(b"200OK", PROTOCOL),
    "TRA-14/none": status(b"", PROTOCOL),
    "TRA-14/other-digits": status("٢٠٠".encode(), PROTOCOL),
    "TRA-14/robots-999": robots(page(b"User-agent: *\n", status=b"999 x"), "http-other"),
    # --- more than is wanted ---
    "TRA-16": one(flood(OK + b"\r\n", b"x" * 10_000), TOO_LARGE),
    "TRA-16/chunks": one(flood(chunked(end=b""), b"a\r\n0123456789\r\n" * 1000), TOO_LARGE),
    "TRA-16/one-chunk": one(flood(chunked(end=b"ffffffffffff\r\n"), b"x" * 10_000), TOO_LARGE),
    "TRA-16/said-so": one(length(b"%d" % (CAP_BYTES + 1)), TOO_LARGE),
    "TRA-16/said-a-lot": one(length(b"9" * 19), TOO_LARGE),
    "TRA-16/just-the-cap": one(page(b"x" * CAP_BYTES), stored(b"x" * CAP_BYTES)),
    "TRA-16/404": one(flood(b"HTTP/1.1 404 N\r\n\r\n", b"x" * 10_000), failed("too-large", 404)),
    "TRA-16/a-hop": Case(
        {"/a": flood(b"HTTP/1.1 302 F\r\nLocation: /b\r\n\r\n", b"x" * 10_000), "/b": page(b"ab")},
        {"/a": stored(b"ab", asked=2)},
        asked=("/a", "/b"),
    ),
    # RFC 9309 2.5: 500 KiB of a robots.txt at least are read, however small a page has to be.
    "TRA-16/robots-larger-than-a-page-may-be": Case(
        {ROBOTS: page(b"User-agent: *\n" + b"#" * CAP_BYTES + b"\nDisallow: /a$\n")},
        {"/a": End("disallowed/robots-rule", None, asked=0)},
        "parsed",
    ),
    "TRA-16/robots": Case(
        {ROBOTS: flood(OK + b"\r\nUser-agent: *\nDisallow: /a$\n", b"#" * 9_999 + b"\n")},
        {"/a": End("disallowed/robots-rule", None, asked=0)},
        "parsed",
    ),
    # --- interim answers ---
    "TRA-17": Case(
        {
            "/a": b"HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n" + page(b"ab"),
            "/b": b"HTTP/1.1 100 Continue\r\n\r\n" + page(b"ab"),
            "/c": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        },
        {"/a": AB, "/b": AB, "/c": PROTOCOL},
    ),
    "TRA-17/said-to-have-a-body": one(b"HTTP/1.1 103 E\r\nContent-Length: 9\r\n\r\n" + page(b"ab"), AB),
    "TRA-17/unknown": one(b"HTTP/1.1 199 ?\r\n\r\n" + page(b"ab"), AB),
    "TRA-17/eight": one(b"HTTP/1.1 102 P\r\n\r\n" * 8 + page(b"ab"), AB),
    "TRA-17/nine": one(b"HTTP/1.1 102 P\r\n\r\n" * 9 + page(b"ab"), PROTOCOL),
    "TRA-17/nothing-after-it": one(close_after(b"HTTP/1.1 100 C\r\n\r\n"), failed("cut")),
    "TRA-17/robots": Case(
        {ROBOTS: b"HTTP/1.1 103 E\r\n\r\n" + page(b"User-agent: *\nDisallow: /a$\n")},
        {"/a": End("disallowed/robots-rule", None, asked=0)},
        "parsed",
    ),
    "TRA-19": one(
        close_after(
            lines(
                b"content-type: text/plain",
                b"X-A: 1",
                b"x-a: \t2 ",
                b"Set-Cookie: a=b",
                b"Set-Cookie: c=d",
                b"Fold: a",
                b"\t b",
                b"L: \xfc\xff",
                b"E:",
                b"Content-Length: 2",
                b"X-A: 3",
            )
        ),
        stored(b"ab", "folded-header"),
    ),
    # --- answers that have no body ---
    "TRA-21": Case(
        {"/a": page(b"body", status=b"204 N"), "/b": page(b"ab"), "/c": page(b"body", status=b"304 N")},
        {"/a": stored(b"", status=204), "/b": AB, "/c": stored(b"", status=304)},
    ),
    "TRA-21/chunks": one(
        b"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", stored(b"", status=204)
    ),
    "TRA-21/said-to-be-gzip": one(page(b"body", b"Content-Encoding: gzip", status=b"204 N"), stored(b"", status=204)),
    "TRA-21/205": one(page(b"ab", status=b"205 R"), stored(b"ab", status=205)),
    "TRA-21/404-without": one(page(b"", status=b"404 N"), stored(b"", status=404)),
    "TRA-21/robots-204": Case(
        {ROBOTS: page(b"User-agent: *\nDisallow: /\n", status=b"204 N"), "/a": page(b"ab")}, {"/a": AB}, "parsed"
    ),
    "TRA-21/robots-304-unasked": robots(page(b"", status=b"304 N"), "http-other"),
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[RawServer]:
    """What the environment names as a proxy."""
    with RawServer(close_after(b"")) as server:
        yield server


@pytest.fixture(scope="module")
def seen(proxy: RawServer, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY")
    environment = dict.fromkeys(names, f"http://127.0.0.1:{proxy.port}")
    settings = {"DOWNLOAD_MAXSIZE": CAP_BYTES}
    return crawled(CASES, tmp_path_factory.mktemp("web"), "127.0.41", settings=settings, environment=environment)


@pytest.mark.parametrize("case", CASES)
def test_case(seen: Crawled, case: str) -> None:
    assert seen.shown(case) == seen.promised(case)


def test_one_request_a_connection_each_says_so_and_nothing_is_sent_behind_it(seen: Crawled) -> None:
    assert seen.web.connections.total() == len(seen.web.arrivals)
    for arrival in seen.web.arrivals:
        assert arrival.head.count(b"\r\n\r\n") == 1
        assert b"\r\nConnection: close\r\n" in arrival.head


def test_no_proxy_of_the_environment_is_asked(seen: Crawled, proxy: RawServer) -> None:
    assert proxy.connections == 0
    assert seen.web.arrivals


@pytest.mark.parametrize(
    ("case", "target", "shown"),
    [
        ("TRA-03", "/a", "cut: body: closed after 5 octets"),
        ("TRA-06", "/a", r"protocol: NUL in the head: b'Content-Length: 2\x00'"),
        ("TRA-08", "/a", "protocol: not a status line: b'<html>hi</html>'"),
        ("TRA-08", "/b", "protocol: not a status line: b'ICY 200 OK'"),
        ("TRA-08/smtp", "/a", r"protocol: not a status line: b'220 mail.test ESMTP \x1b[2J\x07'"),
        ("TRA-13", "/b", "protocol: transfer coding b'gzip, chunked'"),
        ("TRA-16", "/a", "too-large: body over 200000 octets"),
        ("TRA-17", "/c", "protocol: 101 Switching Protocols, which was not asked for"),
    ],
)
def test_the_log_says_what_came_instead(seen: Crawled, case: str, target: str, shown: str) -> None:
    assert f"{seen.web.url(host_of(case), target)}: no answer: {shown}\n" in seen.ended.log


def test_no_control_character_reaches_the_log(seen: Crawled) -> None:
    assert not set(map(chr, range(32))) - {"\n"} & set(seen.ended.log)


def test_header_lines_are_kept_as_they_came(seen: Crawled) -> None:
    [request, _] = seen.requests("TRA-19")
    assert request["headers"] == [
        ["content-type", "text/plain"],
        ["X-A", "1"],
        ["x-a", "2"],
        ["Set-Cookie", "a=b"],
        ["Set-Cookie", "c=d"],
        ["Fold", "a b"],
        ["L", "\xfc\xff"],
        ["E", ""],
        ["Content-Length", "2"],
        ["X-A", "3"],
    ]
    [odd, _] = seen.requests("TRA-10/octets")
    assert odd["headers"][0] == ["X", ODD_OCTETS.decode("latin-1")]


def test_what_is_set_is_not_sent_back(seen: Crawled) -> None:
    assert not [arrival for arrival in seen.web.arrivals if b"\r\nCookie:" in arrival.head]


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("TRA-16")])
def test_not_more_is_read_than_the_cap(seen: Crawled, case: str) -> None:
    """One octet more shows that there is more; chunks have their framing."""
    for request in seen.requests(case):
        framing = 1.6 if case == "TRA-16/chunks" else 1
        assert request["bytes"] <= CAP_BYTES * framing + 200


DRIPS: dict[str, Case] = {
    "TRA-16/silent": one(hang_after(b""), failed("timeout")),
    "TRA-16/head-that-stops": one(hang_after(OK), failed("timeout")),
    "TRA-16/body-that-stops": one(hang_after(length(b"9")), failed("timeout", 200)),
    "TRA-16/dripping-line": one(drip(OK + b"X: ", b"y", 0.02), failed("timeout")),
    "TRA-16/dripping-lines": one(drip(OK, b"X: y\r\n", 0.1), failed("timeout")),
    "TRA-16/dripping-interims": one(drip(b"", b"HTTP/1.1 102 P\r\n\r\n", 0.2), failed("timeout")),
    "TRA-16/dripping-body": one(drip(OK + b"\r\n", b"x", 0.02), failed("timeout", 200)),
    "TRA-16/dripping-chunks": one(drip(chunked(end=b""), b"1\r\nx\r\n", 0.02), failed("timeout", 200)),
    "TRA-16/dripping-trailer": one(drip(chunked(end=b"0\r\n"), b"x", 0.02), failed("timeout", 200)),
    "TRA-16/dripping-robots": robots(drip(OK + b"\r\n", b"#\n", 0.02), "timeout"),
}


@pytest.fixture(scope="module")
def dripped(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    settings = {"DOWNLOAD_TIMEOUT": SHORT_S}
    return crawled(DRIPS, tmp_path_factory.mktemp("drips"), "127.0.42", settings=settings)


@pytest.mark.parametrize("case", DRIPS)
def test_what_never_ends_has_its_time_and_no_more(dripped: Crawled, case: str) -> None:
    assert dripped.shown(case) == dripped.promised(case)


@pytest.mark.parametrize("case", [case for case in DRIPS if "robots" not in case])
def test_the_time_is_for_head_and_body_together(dripped: Crawled, case: str) -> None:
    """Well before a server would stop by itself (10 s), and not before the time is over."""
    [slow, _] = dripped.requests(case)
    assert SHORT_S <= (slow["ended_ns"] - slow["claimed_ns"]) / 1e9 < 5
