"""The values of an exchange: limits, body plan, answer, failure, and the octets of a request. No I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Name and value of each header line: order, case and repeats as received, a folded line joined by one space."""

TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2
_TARGET = re.compile(rb"[!-~]+")
_VALUE_FORBIDDEN = re.compile(rb"[\r\n\0]")


class Reason(StrEnum):
    """Why there is no answer.

    `connect`: no TCP connection. `tls`: no handshake, no trust, or a TLS fault later. `timeout`: the total time is
    over. `reset`: reset by the peer before the head was complete. `cut`: closed in an orderly way before the head was
    complete (before its first octet, too), or ended in any way within the body. `too-large`: body over the limit.
    `protocol`: not HTTP/1.x as RFC 9112 has it, or a cap on the head reached.
    """

    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    CUT = "cut"
    TOO_LARGE = "too-large"
    PROTOCOL = "protocol"


class Flag(StrEnum):
    """What was read leniently. Never depends on how the octets were split into packets."""

    SKIPPED_LINE = "skipped-header-line"  # no colon, or no token before it (browsers skip it as well)
    FOLDED = "folded-header"  # RFC 9112 5.2
    BARE_CR = "bare-cr"  # read as a space, RFC 9112 2.2
    BOTH_LENGTHS = "both-lengths"  # Transfer-Encoding wins over Content-Length, RFC 9112 6.3
    CHUNKED_1_0 = "chunked-in-http-1.0"  # a fault of the framing, RFC 9112 6.1; read as its sender means it
    NO_LENGTH = "no-length"  # the length is given by the close, and without TLS a cut looks just the same
    NO_CLOSE_NOTIFY = "no-close-notify"  # the same, and TLS was cut off: whoever is on the way could have done it
    UNKNOWN_CODING = "unknown-coding"  # left in place, and what was coded before it (RFC 9110 8.4); set by our caller


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout_s` covers connecting, TLS, head and body together. The head's caps count 1xx heads in."""

    timeout_s: float = 30.0
    body_bytes: int = 32 * 1024 * 1024
    head_bytes: int = 64 * 1024
    header_count: int = 256
    line_bytes: int = 16 * 1024
    interim_count: int = 8


@dataclass(frozen=True, slots=True)
class BodyPlan:
    """What to read of a body. `clip_bytes` None: all of it, up to `Limits.body_bytes`, and an error beyond.

    A number: so many octets at most, whatever the limit; the rest is left and the answer `clipped`. `skip`: nothing,
    close at the head.
    `close_notify`: a body over TLS whose length is given by the close is `cut` without it, instead of flagged.
    """

    clip_bytes: int | None = None
    skip: bool = False
    close_notify: bool = False


WHOLE = BodyPlan()
SKIP = BodyPlan(skip=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer. `body`: transfer coding undone, content coding not; empty for a skipped body.

    `wire_bytes`: octets (inside TLS) from the first 1xx head to where reading ended by plan, framing included; octets
    that came after the end of the message do not count, so the figure does not depend on packets.
    """

    status: int
    reason: bytes
    headers: Headers
    body: bytes
    wire_bytes: int
    clipped: bool
    flags: tuple[Flag, ...]


class ExchangeError(Exception):
    """No answer. `status` and `headers` are those of the final head, if it was complete.

    `sent`: whether the request's first octet may have left. `wire_bytes`: octets of the answer that were understood.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.status: int | None = None
        self.headers: Headers = ()
        self.sent = False
        self.wire_bytes = 0

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def protocol(detail: str) -> ExchangeError:
    return ExchangeError(Reason.PROTOCOL, detail)


def request_bytes(method: bytes, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The octets of a request without a body (RFC 9112 3). `Connection: close` is added if it is not among `headers`.

    Raises ValueError for what could end a line early or start a second request, for a missing or repeated Host, for
    headers that announce a body and for another Connection than close.
    """
    if not TOKEN.fullmatch(method):
        raise ValueError(f"not a method: {method!r}")
    if not _TARGET.fullmatch(target):
        raise ValueError(f"not a request target: {target!r}")
    for name, value in headers:
        _check_field(name, value)
    names = [name.lower() for name, _ in headers]
    if names.count(b"host") != 1:
        raise ValueError(f"one Host header is needed, there are {names.count(b'host')}")
    closing = [] if b"connection" in names else [(b"Connection", b"close")]
    lines = [b"%s %s HTTP/1.1" % (method, target), *(b"%s: %s" % field for field in [*headers, *closing])]
    return b"\r\n".join([*lines, b"", b""])


@lru_cache(maxsize=64)  # but for Host they are the same in every request
def _check_field(name: bytes, value: bytes) -> None:
    if not TOKEN.fullmatch(name):
        raise ValueError(f"not a header name: {name!r}")
    if _VALUE_FORBIDDEN.search(value):
        raise ValueError(f"CR, LF or NUL in header {name!r}: {value!r}")
    if name.lower() in (b"content-length", b"transfer-encoding"):
        raise ValueError(f"a request here has no body: {name!r}: {value!r}")
    if name.lower() == b"connection" and value.lower() != b"close":
        raise ValueError(f"one request a connection: {name!r}: {value!r}")
