"""What a store's log consists of: behind its first bytes, frames, each what was waited for at once.

A frame is a head, then pieces of the journal files with their places, then bodies. A checksum (CRC-32) covers all but
the bodies, which have their digest. Pure. What broke off half-way, or was changed, is no frame.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FIRST_BYTES = b"seaspider log 1\n"

_HEAD = struct.Struct("<36sQII")  # boot id, generation, bytes of the pieces, bytes of the bodies
_CHECKSUM = struct.Struct("<I")
_PIECE = struct.Struct("<BQI")  # bytes of the file's name, offset, bytes of the data
_BODY = struct.Struct("<32sI")  # sha256, bytes

_HEAD_BYTES = _HEAD.size + _CHECKSUM.size


@dataclass(frozen=True, slots=True)
class Piece:
    """`data` lies at byte `offset` of a file."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    boot_id: str
    pieces: list[Piece]
    bodies: list[bytes]


def piece(file: str, offset: int, data: bytes) -> bytes:
    """As it stands in a frame. `file` is ASCII, of up to 255 characters."""
    return _PIECE.pack(len(file), offset, len(data)) + file.encode("ascii") + data


def body(sha256: str, data: bytes) -> bytes:
    """As it stands in a frame."""
    return _BODY.pack(bytes.fromhex(sha256), len(data)) + data


def frame(boot_id: bytes, generation: int, pieces: Sequence[bytes], bodies: Sequence[bytes]) -> bytes:
    """`boot_id`: up to 36 bytes; `generation`: not 0. `pieces` and `bodies` are as `piece` and `body` make them."""
    told, kept = b"".join(pieces), b"".join(bodies)
    head = _HEAD.pack(boot_id, generation, len(told), len(kept))
    return b"".join((head, _CHECKSUM.pack(zlib.crc32(told, zlib.crc32(head))), told, kept))


def is_log(octets: bytes) -> bool:
    """Whether it begins as a log does, or is one of which nothing came to be written: there are zeros only."""
    return octets.startswith(FIRST_BYTES) or not octets.strip(b"\0")


def frames(log: bytes) -> Iterator[Frame]:
    """The whole frames from the first on, of its generation: those behind are left of an earlier one."""
    at, first = len(FIRST_BYTES), None
    while at + _HEAD_BYTES <= len(log):
        head = log[at : at + _HEAD.size]
        boot_id, generation, told_bytes, kept_bytes = _HEAD.unpack(head)
        (checksum,) = _CHECKSUM.unpack_from(log, at + _HEAD.size)
        begins = at + _HEAD_BYTES
        told, kept = log[begins : begins + told_bytes], log[begins + told_bytes : begins + told_bytes + kept_bytes]
        first = generation if first is None else first
        if generation != first or generation == 0 or checksum != zlib.crc32(told, zlib.crc32(head)):
            return
        try:
            found = Frame(boot_id.rstrip(b"\0").decode("ascii"), list(_pieces(told)), list(_bodies(kept)))
        except (struct.error, ValueError):
            return
        if len(kept) < kept_bytes:
            return
        yield found
        at = begins + told_bytes + kept_bytes


def _pieces(told: bytes) -> Iterator[Piece]:
    at = 0
    while at < len(told):
        named, offset, length = _PIECE.unpack_from(told, at)
        begins = at + _PIECE.size + named
        yield Piece(told[at + _PIECE.size : begins].decode("ascii"), offset, told[begins : begins + length])
        at = begins + length


def _bodies(kept: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(kept):
        sha256, length = _BODY.unpack_from(kept, at)
        data = kept[at + _BODY.size : at + _BODY.size + length]
        if len(data) != length or hashlib.sha256(data).digest() != sha256:
            raise ValueError("not the body of that digest")
        yield data
        at += _BODY.size + length
