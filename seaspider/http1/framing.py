"""Decides how long a body is, and takes it out of its framing (RFC 9112 6, 7.1). Pure.

Never guesses: a length that is not one number, or a transfer coding that is not plain `chunked`, is an error. If both
Transfer-Encoding and Content-Length are there, chunked is read (RFC 9112 6.3) and flagged: a body that is not chunked
then fails as such, and the connection is closed in any case, so no second message can hide behind the disagreement.
"""

import re
from typing import Protocol

from seaspider.http1.head import Head
from seaspider.http1.message import Flag, Headers, protocol

_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?", re.DOTALL)
_PLAIN_CHUNK_LINE = 18  # 16 digits, CR, and the LF: what a chunk line without an extension needs at most


class Framing(Protocol):
    """Takes a body out of its framing piece by piece.

    `done`: the body is complete. `used`: octets understood so far, framing included, in whole lines.
    """

    done: bool
    used: int

    def feed(self, data: bytes, room: int) -> bytes:
        """Body octets, at most `room`: all there are in `data` unless that many are reached. Raises `protocol`."""

    def complete_at_close(self, orderly: bool) -> bool:
        """Whether a close right here leaves the body whole."""


class Length:
    """Exactly `length` octets (RFC 9112 6.2)."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.used = 0
        self.done = length == 0

    def feed(self, data: bytes, room: int) -> bytes:
        piece = data[: min(self.length - self.used, room)]
        self.used += len(piece)
        self.done = self.used == self.length
        return piece

    def complete_at_close(self, orderly: bool) -> bool:
        return self.done


class UntilClose:
    """Everything until the peer closes; a reset is not a close (RFC 9112 8)."""

    done = False

    def __init__(self) -> None:
        self.used = 0

    def feed(self, data: bytes, room: int) -> bytes:
        piece = data[:room]
        self.used += len(piece)
        return piece

    def complete_at_close(self, orderly: bool) -> bool:
        return orderly


class Chunked:
    """Chunks (RFC 9112 7.1). Trailers are read and dropped; they and all chunk extensions share `spare_bytes`."""

    def __init__(self, spare_bytes: int) -> None:
        self._spare = spare_bytes
        self._left = 0
        self._line = b""
        self._expect = self._size_line
        self._last_chunk = False
        self.used = 0
        self.done = False

    def feed(self, data: bytes, room: int) -> bytes:
        pieces: list[bytes] = []
        at = 0
        while at < len(data) and room > 0 and not self.done:
            if self._left:
                end = min(at + self._left, at + room, len(data))
                pieces.append(data[at:end])
                self._left -= end - at
                room -= end - at
                self.used += end - at
            else:
                end = data.find(b"\n", at) + 1 or len(data)
                self._take_line_part(data[at:end])
            at = end
        return b"".join(pieces)

    def complete_at_close(self, orderly: bool) -> bool:
        return self._last_chunk

    def _take_line_part(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > _PLAIN_CHUNK_LINE + self._spare:
            raise protocol("chunk extensions and trailers are too long")
        if part.endswith(b"\n"):
            line, self._line = self._line, b""
            self._expect(line[:-1].removesuffix(b"\r"))
            self.used += len(line)

    def _size_line(self, line: bytes) -> None:
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise protocol(f"not a chunk size: {line[:32]!r}")
        self._spare -= len(line) - len(match[1])
        self._left = int(match[1], 16)
        self._last_chunk = self._left == 0
        self._expect = self._trailer_line if self._last_chunk else self._chunk_end

    def _chunk_end(self, line: bytes) -> None:
        if line:
            raise protocol(f"a chunk is longer than its size: {line[:32]!r}")
        self._expect = self._size_line

    def _trailer_line(self, line: bytes) -> None:
        self._spare -= len(line)
        self.done = not line


def framing_of(head: Head, spare_bytes: int) -> tuple[Framing, tuple[Flag, ...]]:
    """The framing of an answer to a request other than HEAD and CONNECT (RFC 9112 6.3). Raises `protocol`."""
    if head.status in (204, 304):
        return Length(0), ()
    transfer = [coding for coding in _listed(head.headers, b"transfer-encoding") if coding not in (b"", b"identity")]
    lengths = _listed(head.headers, b"content-length")
    if transfer:
        if transfer != [b"chunked"]:
            raise protocol(f"transfer coding {b', '.join(transfer)[:64]!r}")
        faults = {Flag.BOTH_LENGTHS: bool(lengths), Flag.CHUNKED_1_0: head.minor == 0}
        return Chunked(spare_bytes), tuple(flag for flag, holds in faults.items() if holds)
    if not lengths:
        return UntilClose(), ()
    if not all(re.fullmatch(rb"[0-9]{1,19}", length) for length in lengths):
        raise protocol(f"not a Content-Length: {b', '.join(lengths)[:64]!r}")
    if len({int(length) for length in lengths}) > 1:
        raise protocol(f"Content-Length differs: {b', '.join(lengths)[:64]!r}")
    return Length(int(lengths[0])), ()


def _listed(headers: Headers, wanted: bytes) -> list[bytes]:
    """The members of a list header over all its lines, lower case, empty members kept."""
    values = [value for name, value in headers if name.lower() == wanted]
    return [member.strip(b" \t").lower() for value in values for member in value.split(b",")]
