"""Hostile answers by chance: a seed, a host and a target give the octets, how they are sent, and how it ends.

The same three give the same answer, whoever asks and however often. Nothing here leads out of the web it is made for:
Locations name its own hosts, special addresses, or what is no URL.
"""

from __future__ import annotations

import gzip
import socket
import struct
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from random import Random

import brotli

from seaspider.decoding import zstd
from tests.rawserver import wait_for_close

PIECE_BYTES = 64 * 1024
BODY_CAP_BYTES = 100_000
"""The crawl's cap on a body; some bodies are over it."""


class Close(StrEnum):
    """How a connection ends after the octets."""

    ORDERLY = "orderly"
    RESET = "reset"
    NEVER = "never"  # the client has to


@dataclass(frozen=True, slots=True)
class Hostile:
    """An answer. `pieces` are sent with `pause_s` between them."""

    kind: str
    pieces: tuple[bytes, ...]
    close: Close = Close.ORDERLY
    pause_s: float = 0.0

    def __call__(self, peer: socket.socket) -> None:
        for piece in self.pieces:
            peer.sendall(piece)
            if self.pause_s:
                time.sleep(self.pause_s)
        if self.close is Close.NEVER:
            wait_for_close(peer)
        elif self.close is Close.RESET:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclass(frozen=True, slots=True)
class Dice:
    """Chance, and what an answer may be about: a page or a robots.txt, and the URLs of the web."""

    random: Random
    is_robots: bool
    urls: Sequence[str]

    def octets(self, most: int) -> bytes:
        return self.random.randbytes(self.random.randint(0, most))

    def body(self) -> bytes:
        made = self.random.choice(_ROBOTS_BODIES if self.is_robots else _BODIES)(self)
        return mutated(self.random, made, 3) if self.random.random() < 0.3 else made


def make(seed: int, host: str, target: str, urls: Sequence[str]) -> Hostile:
    """The answer of a host to a target. `urls`: some of the web's own, for Locations and links."""
    random = Random(f"{seed} {host} {target}")
    dice = Dice(random, target == "/robots.txt", urls)
    [kind] = random.choices([*_KINDS], [*_KINDS.values()])
    answer = kind(dice)
    if answer.close is Close.ORDERLY and random.random() < 0.2:
        answer = replace(answer, close=Close.RESET)
    if answer.close is Close.ORDERLY and random.random() < 0.005:
        answer = replace(answer, close=Close.NEVER)
    return answer


def mutated(random: Random, octets: bytes, most: int) -> bytes:
    """With up to so many places changed: an octet, a piece gone, doubled, moved, or something put in."""
    data = bytearray(octets)
    for _ in range(random.randint(1, most)):
        at = random.randrange(len(data) + 1)
        piece = data[at : at + random.choice((1, 1, 2, 7, 40))]
        match random.randrange(6):
            case 0 if at < len(data):
                data[at] = random.randrange(256)
            case 1:
                del data[at : at + len(piece)]
            case 2:
                data[at:at] = piece * random.choice((1, 2, 50))
            case 3:
                data[at:at] = random.choice(_INSERTS)
            case 4:
                del data[at : at + len(piece)]
                to = random.randrange(len(data) + 1)
                data[to:to] = piece
            case _:
                data[at:at] = random.randbytes(random.choice((1, 3, 30)))
    return bytes(data)


_INSERTS = (
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\n\n",
        b"\0",
        b"\0\0\0\0",
        b" ",
        b"\t",
        b":",
        b": ",
        b",",
        b";",
        b"%",
        b"%00",
    ),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        "\u2028".encode(),
        b"\x1b[2J",
        b"\x07",
        b"\x85",
        b"0",
        b"-1",
        b"9" * 20,
        b"A" * 5000,
    ),
    *(
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Encoding: gzip\r\n",
        b"HTTP/1.1 200 OK\r\n",
    ),
)

# --- bodies ---


def _links(dice: Dice) -> bytes:
    random = dice.random
    links = [f"<a href='{random.choice(dice.urls)}'>x</a>".encode() for _ in range(random.randint(0, 20))]
    base = random.choice((b"", b"<base href='//'>", b"<base href='http://[::1'>", b"<base href='javascript:0'>"))
    return b"<html><head>" + base + b"</head><body>" + b"".join(links)


def _nested(dice: Dice) -> bytes:
    tag = dice.random.choice(
        (b"<div>", b"<b>", b"<table><tr><td>", b"<a href=/x>", b"<template>", b"<svg>", b"<!--", b"<")
    )
    return tag * dice.random.choice((10, 1000, 9000))


def _attributes(dice: Dice) -> bytes:
    return (
        b"<a " + b" ".join(b"a%d=%s" % (n, dice.octets(9)) for n in range(dice.random.randint(1, 2000))) + b" href=/y>"
    )


_BODIES: tuple[Callable[[Dice], bytes], ...] = (
    lambda dice: b"<p>a page</p>\n",
    lambda dice: b"",
    lambda dice: dice.octets(3000),
    lambda dice: b"<html>" + dice.octets(20_000),
    lambda dice: b"%PDF-1.4" + dice.octets(500),
    lambda dice: b"<meta http-equiv=refresh content='0;url=" + dice.octets(30) + b"'>",
    lambda dice: ("<a href='http://" + "\u0561\u200d\u00df." * dice.random.randint(1, 90) + "test/'>x").encode(),
    _links,
    _nested,
    _attributes,
)


def _rules(dice: Dice) -> bytes:
    random = dice.random
    words = (b"User-agent", b"Disallow", b"Allow", b"Crawl-delay", b"Sitemap", b"disalow", b"Noindex", b"")
    values = (
        b"*",
        b"seaspider",
        b"/",
        b"/p",
        b"/p1$",
        b"0.01",
        b"99999",
        b"-1",
        b"NaN",
        b"1e999",
        b"*" * 50,
        b"/%",
        b"",
    )
    ends = (b"\n", b"\r\n", b"\r", b"\n\n", b"\0\n", "\u2028".encode())
    lines = [
        random.choice(words) + random.choice((b":", b": ", b" ", b"")) + random.choice(values) + random.choice(ends)
        for _ in range(random.randint(0, 40))
    ]
    return b"User-agent: *\nDisallow: /no\n" + b"".join(lines)


_ROBOTS_BODIES: tuple[Callable[[Dice], bytes], ...] = (
    _rules,
    _rules,
    _rules,
    lambda dice: b"User-agent: *\nDisallow: /" + b"*a" * dice.random.choice((10, 1000)) + b"$\n",
    lambda dice: b"User-agent: *\n" * dice.random.choice((2, 9000)) + b"Disallow: /no\n",
    lambda dice: b"User-agent: *\nDisallow: /no\n" + b"x" * dice.random.choice((100, 90_000)),
    lambda dice: dice.octets(3000),
    lambda dice: b"<html>not found</html>",
    lambda dice: b"",
)

# --- answers ---


def _head(*lines: bytes, status: bytes = b"200 OK", version: bytes = b"HTTP/1.1") -> bytes:
    return b"\r\n".join([version + b" " + status, *lines, b"", b""])


def _whole(dice: Dice, *more: bytes, status: bytes = b"200 OK", body: bytes | None = None) -> bytes:
    """A valid answer."""
    random = dice.random
    body = dice.body() if body is None else body
    types = (b"text/html", b"text/html; charset=utf-16", b"text/plain", b"x", b"text/html; charset=" + b"y" * 90)
    lines = [b"Content-Type: " + random.choice(types), *more]
    random.shuffle(lines)
    match random.randrange(3):
        case 0:
            return _head(*lines, status=status) + body
        case 1:
            size = random.choice((1, 7, 100, 70_000))
            size = max(size, len(body) // 500)
            chunks = (body[at : at + size] for at in range(0, len(body), size))
            framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
            return _head(*lines, b"Transfer-Encoding: chunked", status=status) + framed + b"0\r\n\r\n"
        case _:
            return _head(*lines, b"Content-Length: %d" % len(body), status=status) + body


def valid(dice: Dice) -> Hostile:
    return Hostile("valid", (_whole(dice),))


def changed(dice: Dice) -> Hostile:
    return Hostile("changed", (mutated(dice.random, _whole(dice), 6),))


def changed_head(dice: Dice) -> Hostile:
    """A small body, so that what is changed is the head."""
    return Hostile("changed-head", (mutated(dice.random, _whole(dice, b"X-A: b", b"Server: x", body=b"<p>ab"), 4),))


def framing(dice: Dice) -> Hostile:
    random = dice.random
    lengths = (b"0", b"5", b"05", b"+5", b"-5", b"5, 5", b"5,6", b"", b"x", b"5\0", b"1e9", b"9" * 19, b"9" * 40)
    codings = (
        b"chunked",
        b"identity",
        b"gzip, chunked",
        b"chunked, chunked",
        b"Chunked",
        b"xchunked",
        b"",
        b"chunked\0",
    )
    lines = [b"Content-Length: " + random.choice(lengths) for _ in range(random.choice((0, 1, 1, 2)))]
    lines += [b"Transfer-Encoding: " + random.choice(codings) for _ in range(random.choice((0, 1, 1, 2)))]
    random.shuffle(lines)
    sizes = (b"5", b"5;x=y", b"FFFFFFFFFFFFFFFF", b"-1", b"0x5", b"", b"5 ", b"0", b"5\0", b"0" * 17)
    chunks = b"".join(random.choice(sizes) + b"\r\n12345\r\n" for _ in range(random.randint(0, 4)))
    ends = (b"", b"0\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\n" + b"X: y\r\n" * 20_000)
    return Hostile(
        "framing", (_head(*lines, version=random.choice((b"HTTP/1.1", b"HTTP/1.0"))) + chunks + random.choice(ends),)
    )


_PACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"gzip": partial(gzip.compress, compresslevel=1, mtime=0),
    b"deflate": partial(zlib.compress, level=1),
    b"br": partial(brotli.compress, quality=1),
    b"zstd": zstd.compress,
    b"none": bytes,
}


def codings(dice: Dice) -> Hostile:
    random = dice.random
    body = bytes(random.choice((10**3, 10**6, 10**7))) if random.random() < 0.1 else dice.body()
    listed = random.choices([*_PACK], k=random.choice((1, 1, 1, 2, 3)))
    for coding in listed:
        body = _PACK[coding](body)
    match random.randrange(5):
        case 0:
            body = body[: random.randint(0, len(body))]
        case 1:
            body = mutated(random, body, 3)
        case 2:
            random.shuffle(listed)
        case 3:
            body += random.choice((b"\0", b"\n", body, b"junk"))
        case _:
            pass
    value = b"Content-Encoding: " + random.choice((b", ", b",", b" ,, ")).join(listed)
    return Hostile("codings", (_whole(dice, value, body=body),))


def cut(dice: Dice) -> Hostile:
    whole = _whole(dice)
    return Hostile("cut", (whole[: dice.random.randint(0, min(len(whole), dice.random.choice((60, 200, 10**6))))],))


def drip(dice: Dice) -> Hostile:
    whole = mutated(dice.random, _whole(dice, body=b"<p>ab"), 1)[:300]
    size = dice.random.choice((1, 2, 5))
    pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    return Hostile("drip", pieces, pause_s=dice.random.choice((0.0, 0.0, 0.0001)))


def flood(dice: Dice) -> Hostile:
    """Of lines, of one line, of interim answers, of a body or its chunks; always more than is taken."""
    start, piece = dice.random.choice(
        (
            (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 5000),
            (b"HTTP/1.1 200 OK\r\nX: ", b"y" * PIECE_BYTES),
            (b"HTTP/1.1 200 OK\r\n", b"garbage\r\n" * 5000),
            (b"HTTP/1.1 200 ", b"y" * PIECE_BYTES),
            (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000),
            (b"HTTP/1.1 200 OK\r\n\r\n", b"<a href=/z>z</a>\n" * 4000),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * PIECE_BYTES),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 5000),
        )
    )
    return Hostile("flood", (start, *[piece] * (12 if dice.is_robots else 4)))


def redirect(dice: Dice) -> Hostile:
    random = dice.random
    junk = (
        *(b"", b"#", b"?", b"//", b"///", b"http:", b"http://", b"http:///x", b"http://[::1", b"http://[::1]/", b"/p1"),
        *(
            b"http://10.0.0.1/",
            b"http://169.254.169.254/meta",
            b"http://0/",
            b"http://[::ffff:10.0.0.1]/",
            b"javascript:0",
        ),
        *(
            b"data:,x",
            b"file:///etc/passwd",
            b"ftp://x.test/",
            b"http://me:secret@x.test/",
            b"/\x1b]0;x\x07",
            b"/\xff\xfe",
        ),
        *(
            b"/" + b"../" * 500 + b"p2",
            b"/" + b"x" * 9000,
            b"http://x.test:99999/",
            b"http://nowhere.test/",
            b"\\\\x\\y",
        ),
        *(
            b"/" + dice.octets(40),
            dice.octets(40),
            b"?" + b"&" * 3000,
            b"http://" + b"a." * 200 + b"test/",
            b"/robots.txt",
        ),
    )
    location = random.choice(
        (random.choice(junk), random.choice(dice.urls).encode(), dice.random.choice(dice.urls).encode())
    )
    if random.random() < 0.2:
        location = mutated(random, location, 2)
    location = location.replace(b"\r", b"").replace(b"\n", b"")
    lines = [b"Location: " + location] * random.choice((1, 1, 1, 2))
    if random.random() < 0.1:
        lines.append(b"Location: /other")
    status = random.choice((b"301 M", b"302 F", b"303 S", b"307 T", b"308 P", b"300 C", b"304 N", b"305 U", b"399"))
    return Hostile("redirect", (_whole(dice, *lines, status=status),))


def status(dice: Dice) -> Hostile:
    """Statuses there are and are not. What stops or defers a host (403, Retry-After) has its own small share."""
    random = dice.random
    odd = (
        b"200",
        b"200  ",
        b"999 x",
        b"000",
        b"2000",
        b"-1",
        b"20",
        b"OK",
        b"",
        b"101 S",
        b"199 x",
        b"204 N",
        b"404 N",
    )
    odd += (b"206 P", b"410 G", b"451 U", b"500 E", b"503 S", b"599", b"600", b"402 P", b"401 U", b"416 R", b"\xff\xfe")
    odd += (b"429 T",)
    return Hostile("status", (_whole(dice, status=random.choice(odd)),))


def pushing(dice: Dice) -> Hostile:
    random = dice.random
    values = (b"0", b"1", b"-1", b"x", b"9" * 30, b"Fri, 31 Dec 9999 23:59:59 GMT", b"Fri, 99 Foo 2026", b"0.001", b"")
    lines = [b"Retry-After: " + random.choice(values), b"Cache-Control: max-age=" + random.choice(values)]
    return Hostile("pushing", (_whole(dice, *lines, status=random.choice((b"429 T", b"503 S", b"403 F", b"200 OK"))),))


def unasked(dice: Dice) -> Hostile:
    return Hostile("unasked", (_whole(dice, body=b"<p>ab"), _whole(dice, body=b"evil")))


def noise(dice: Dice) -> Hostile:
    starts = (b"", b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\n", b"\x16\x03\x03", b"<html>", b"\r\n", b"\0")
    return Hostile("noise", (dice.random.choice(starts) + dice.octets(3000),))


def silence(dice: Dice) -> Hostile:
    return Hostile("silence", (_whole(dice)[: dice.random.choice((0, 5, 20, 40))],), Close.NEVER)


_KINDS: dict[Callable[[Dice], Hostile], int] = {
    valid: 40,
    changed: 150,
    changed_head: 150,
    framing: 120,
    codings: 120,
    cut: 100,
    drip: 20,
    flood: 30,
    redirect: 100,
    status: 60,
    pushing: 8,
    unasked: 40,
    noise: 60,
    silence: 2,
}
