"""Undoes content codings (RFC 9110 8.4): exactly those listed, in reverse order, strictly and in bounded memory.

Never passes on a body whose coding is not whole. Choices: several gzip members or zstd frames in a row are one body
(RFC 1952 2.2, RFC 8878 3); any other octet behind the end is an error, padding too; `deflate` is zlib or raw deflate;
a zstd window is at most 8 MiB (RFC 9659). An empty body under a label is no stream of that kind, so it is refused
unless the caller says `empty_ok`: servers label empty pages, but an empty robots.txt would allow everything. So is a
label nobody knows, unless the caller says `unknown_ok`: servers write `none` or `utf-8` over a plain page. What is not
labelled is not undone: a .gz file stays one.
"""

import io
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import brotli  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = b"gzip, deflate, br, zstd"
"""Value for a request header: what `decode` can undo."""

MAX_CODINGS = 5
MAX_MEMBERS = 10_000
"""Members or frames of one body; each costs a decoder, an empty one takes but 20 octets."""

_STEP_BYTES = 64 * 1024
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
_RAW_ERRORS = (zlib.error, brotli.error, zstd.ZstdError)


class DecodeReason(StrEnum):
    UNKNOWN_CODING = "unknown-coding"
    TOO_MANY = "too-many"  # codings, or members of one
    CORRUPT = "corrupt"  # a checksum that does not match, too; with br, octets behind the end, too
    CUT = "cut"
    TRAILING = "trailing"
    TOO_LARGE = "too-large"


class DecodeError(Exception):
    """The body could not be had. `reason` is closed, `detail` is for people."""

    def __init__(self, reason: DecodeReason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Decoded:
    """`clipped`: something is missing at the end, because the input was clipped or the output was cut at its limit.

    `unknown`: it is still in a coding that nobody knows, or so its label says.
    """

    body: bytes
    clipped: bool
    unknown: bool = False


def decode(
    body: bytes,
    content_encoding: Sequence[bytes],
    limit_bytes: int,
    clip: bool = False,
    *,
    input_clipped: bool = False,
    empty_ok: bool = False,
    unknown_ok: bool = False,
) -> Decoded:
    """Undo `content_encoding` (the header's values, in order) on `body`; at most `limit_bytes` come out.

    Over the limit: DecodeError `too-large`, or with `clip` the first `limit_bytes`; what follows them is not looked at
    then. `input_clipped`: `body` is only the beginning, so a stream that is merely unfinished is not an error.
    `unknown_ok`: what lies over an unknown coding is undone, and that one is left with all below it.
    """
    if empty_ok and not body:
        return Decoded(b"", input_clipped)
    codings = _listed(content_encoding)
    known = _known(codings, unknown_ok)
    pieces: Iterator[bytes] = (body[at : at + _STEP_BYTES] for at in range(0, len(body), _STEP_BYTES))
    for coding in reversed(known):
        # An intermediate form is smaller than the body, but for oddities; without a cap it could be made of nothing.
        pieces = _undo(coding, _capped(pieces, 2 * max(limit_bytes, len(body)) + _STEP_BYTES), input_clipped)
    decoded = _collect(pieces, limit_bytes, clip, input_clipped)
    return decoded if len(known) == len(codings) else replace(decoded, unknown=True)


def _listed(content_encoding: Sequence[bytes]) -> list[str]:
    members = [member.strip(b" \t").lower() for value in content_encoding for member in value.split(b",")]
    codings = [member.decode("latin-1") for member in members if member not in (b"", b"identity")]
    if len(codings) > MAX_CODINGS:
        raise DecodeError(DecodeReason.TOO_MANY, f"{len(codings)} content codings")
    return codings


def _known(codings: list[str], unknown_ok: bool) -> list[str]:
    """The codings that can be undone: those after the last unknown one."""
    unknown = [at for at, coding in enumerate(codings) if coding not in _STREAMS]
    if unknown and not unknown_ok:
        raise DecodeError(DecodeReason.UNKNOWN_CODING, f"content coding {codings[unknown[0]][:64]!r}")
    return codings[unknown[-1] + 1 :] if unknown else codings


def _capped(pieces: Iterator[bytes], cap: int) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > cap:
            raise DecodeError(DecodeReason.TOO_LARGE, f"an inner coding yields over {cap} octets")
        yield piece


def _collect(pieces: Iterator[bytes], limit_bytes: int, clip: bool, input_clipped: bool) -> Decoded:
    out = io.BytesIO()  # its getvalue() does not copy
    for piece in pieces:
        out.write(piece)
        if out.tell() > limit_bytes:
            if not clip:
                raise DecodeError(DecodeReason.TOO_LARGE, f"over {limit_bytes} octets decoded")
            out.truncate(limit_bytes)
            return Decoded(out.getvalue(), True)
    return Decoded(out.getvalue(), input_clipped)


class _Stream(Protocol):
    """One coded stream. `step` takes input (b"" to go on) and gives at most about `_STEP_BYTES`.

    `hungry`: only more input helps. `done`: the end was seen and `rest` came behind it.
    """

    hungry: bool
    done: bool
    rest: bytes

    def step(self, data: bytes) -> bytes: ...

    def may_follow(self, octet: int) -> bool:
        """Whether another stream of this kind, beginning with `octet`, may follow this one."""


class _Zlib:
    def __init__(self, wbits: int, first_octet: int | None = None) -> None:
        self._decoder = zlib.decompressobj(wbits)
        self._first_octet = first_octet
        self._tail = b""
        self.hungry, self.done, self.rest = True, False, b""

    def step(self, data: bytes) -> bytes:
        out = self._decoder.decompress(self._tail + data, _STEP_BYTES)
        self._tail = self._decoder.unconsumed_tail
        self.hungry = not self._tail and len(out) < _STEP_BYTES
        self.done, self.rest = self._decoder.eof, self._decoder.unused_data
        return out

    def may_follow(self, octet: int) -> bool:
        return octet == self._first_octet


class _Deflate:
    """Zlib (RFC 1950) if its header checks, else raw: no raw stream begins like that, its padding bits would be set."""

    def __init__(self) -> None:
        self._inner: _Zlib | None = None
        self._start = b""
        self.hungry, self.done, self.rest = True, False, b""

    def step(self, data: bytes) -> bytes:
        if self._inner is None:
            self._start += data
            if len(self._start) < 2:
                return b""
            method, check = self._start[0], int.from_bytes(self._start[:2])
            is_zlib = method & 0x0F == 8 and method >> 4 <= 7 and check % 31 == 0
            self._inner, data = _Zlib(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS), self._start
        out = self._inner.step(data)
        self.hungry, self.done, self.rest = self._inner.hungry, self._inner.done, self._inner.rest
        return out

    def may_follow(self, octet: int) -> bool:
        return False


class _Brotli:
    rest = b""  # the library refuses input that goes on behind the end

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self.hungry, self.done = True, False

    def step(self, data: bytes) -> bytes:
        out: bytes = self._decoder.process(data, output_buffer_limit=_STEP_BYTES)
        self.done = self._decoder.is_finished()
        # The library says it can take more even while output waits, so a full step is asked again.
        self.hungry = self._decoder.can_accept_more_data() and len(out) < _STEP_BYTES
        return out

    def may_follow(self, octet: int) -> bool:
        return False


class _Zstd:
    def __init__(self) -> None:
        self._decoder = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        self.hungry, self.done, self.rest = True, False, b""

    def step(self, data: bytes) -> bytes:
        out = self._decoder.decompress(data, _STEP_BYTES)
        self.done, self.rest = self._decoder.eof, self._decoder.unused_data
        self.hungry = self._decoder.needs_input
        return out

    def may_follow(self, octet: int) -> bool:
        return octet == 0x28 or 0x50 <= octet <= 0x5F  # a frame, a skippable frame


def _gzip() -> _Stream:
    return _Zlib(16 + zlib.MAX_WBITS, first_octet=0x1F)


_STREAMS: dict[str, Callable[[], _Stream]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}


def _undo(coding: str, pieces: Iterator[bytes], unfinished_ok: bool) -> Iterator[bytes]:
    stream = _STREAMS[coding]()
    members = 1
    for piece in pieces:
        data = piece
        while data or not (stream.done or stream.hungry):
            if stream.done:
                members += 1
                if not stream.may_follow(data[0]):
                    raise DecodeError(DecodeReason.TRAILING, f"octets behind the end of {coding}: {data[:16]!r}")
                if members > MAX_MEMBERS:
                    raise DecodeError(DecodeReason.TOO_MANY, f"over {MAX_MEMBERS} members of {coding}")
                stream = _STREAMS[coding]()
            yield _step(coding, stream, data)
            data = stream.rest if stream.done else b""
    if not stream.done and not unfinished_ok:
        raise DecodeError(DecodeReason.CUT, f"{coding} ends too early")


def _step(coding: str, stream: _Stream, data: bytes) -> bytes:
    try:
        return stream.step(data)
    except _RAW_ERRORS as error:
        raise DecodeError(DecodeReason.CORRUPT, f"{coding}: {error}") from error
