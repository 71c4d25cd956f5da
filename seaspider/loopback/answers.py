"""What a loopback server says to one request: the value, and the bytes it stands for.

Decides the bytes of an answer (RFC 9112: status line, framing) and says what happens to the connection afterwards. It
never touches a socket. Nothing is added to an answer that its author did not ask for, apart from the framing header
(Content-Length or Transfer-Encoding) and `Connection: close` where the connection will be closed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Literal

PIECE_BYTES = 65_536
BODYLESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

Headers = tuple[tuple[str, str], ...]


class Fault(StrEnum):
    """What goes wrong with an answer."""

    RAW_CLOSE = "raw-close"  # `raw` is sent as it is, then the connection is closed
    CLOSE_AFTER_BODY = "close-after-body"
    RESET_AFTER_BODY = "reset-after-body"
    NO_LAST_CHUNK = "no-last-chunk"  # a chunked body without its end, then the connection is closed
    STALL_AFTER_BODY = "stall-after-body"  # nothing more, and the connection stays open
    RESET = "reset"  # TCP RST instead of an answer
    CLOSE = "close"  # TCP FIN instead of an answer
    HANG = "hang"  # no answer, and the connection stays open


SPEECHLESS = frozenset({Fault.RESET, Fault.CLOSE, Fault.HANG})
ENDLESS = frozenset({Fault.HANG, Fault.STALL_AFTER_BODY})
RESETTING = frozenset({Fault.RESET, Fault.RESET_AFTER_BODY})
CLOSING = frozenset({Fault.RAW_CLOSE, Fault.CLOSE_AFTER_BODY, Fault.NO_LAST_CHUNK, Fault.CLOSE})


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a running server; `fill` puts them in the place of `{port}` and `{tlsport}` in a text."""

    http: int
    https: int | None

    def fill(self, text: str) -> str:
        return text.replace("{port}", str(self.http)).replace("{tlsport}", str(self.https))


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. `host` is the Host header's value, '' if there is none; texts are Latin-1 decoded."""

    scheme: str
    address: str
    host: str
    method: str
    target: str
    headers: Headers

    @property
    def name(self) -> str:
        """The Host header's name: lower case, without a port."""
        return host_name(self.host)

    def header(self, name: str) -> str | None:
        """The first header of that name (any case)."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. A `str` body is UTF-8 with ports filled in, `bytes` go out as they are.

    `parts` are (text, repeat) pairs after `body`, made while sending. `content_length` "auto" is the true length, None
    leaves the header out (the body then ends with the connection). `raw` replaces the whole answer. Header texts are
    Latin-1, so any byte can be written. `delay_s` passes before the first byte, `drip_s` after each single byte.
    """

    status: int = 200
    headers: Headers = ()
    body: str | bytes = ""
    reason: str | None = None
    parts: tuple[tuple[bytes, int], ...] = ()
    content_length: int | Literal["auto"] | None = "auto"
    chunked: bool = False
    pre: str = ""
    raw: str | None = None
    fault: Fault | None = None
    delay_s: float = 0.0
    drip_s: float = 0.0


Route = Answer | tuple[Answer, ...] | Callable[[Request], Answer]


def host_name(value: str) -> str:
    """The name of a Host header: lower case, without a port."""
    name, _, port = value.rpartition(":")
    return (name if name and port.isdigit() else value).lower()


def closes(answer: Answer, request: Request) -> bool:
    """Whether the connection is closed after the answer: by a fault, by its framing or because the client asked."""
    if answer.fault in CLOSING or answer.fault in RESETTING:
        return True
    unframed = answer.raw is None and answer.content_length is None and not answer.chunked
    return unframed or (request.header("Connection") or "").lower() == "close"


def pieces(answer: Answer, request: Request, ports: Ports) -> Iterator[bytes]:
    """The bytes of the answer, in pieces of at most about 64 KiB; of one byte each if it drips."""
    whole = _pieces(answer, request, ports)
    if answer.drip_s:
        return (bytes([byte]) for piece in whole for byte in piece)
    return whole


def _pieces(answer: Answer, request: Request, ports: Ports) -> Iterator[bytes]:
    if answer.raw is not None:
        yield ports.fill(answer.raw).encode("latin-1")
        return
    body = ports.fill(answer.body).encode() if isinstance(answer.body, str) else answer.body
    yield _head(answer, request, ports, len(body) + sum(len(text) * count for text, count in answer.parts))
    if request.method == "HEAD" or answer.status in BODYLESS:
        return
    for piece in _body(body, answer.parts):
        yield b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece
    if answer.chunked and answer.fault is not Fault.NO_LAST_CHUNK:
        yield b"0\r\n\r\n"


def _body(body: bytes, parts: tuple[tuple[bytes, int], ...]) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]
    for text, count in parts:
        at_once = max(1, PIECE_BYTES // max(1, len(text)))
        for done in range(0, count, at_once):
            yield text * min(at_once, count - done)


def _head(answer: Answer, request: Request, ports: Ports, size_bytes: int) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {_reason(answer)}"]
    lines += [f"{name}: {ports.fill(value)}" for name, value in answer.headers]
    present = {name.lower() for name, _ in answer.headers}
    lines += [f"{name}: {value}" for name, value in _framing(answer, size_bytes) if name.lower() not in present]
    if closes(answer, request) and "connection" not in present:
        lines.append("Connection: close")
    return ports.fill(answer.pre).encode("latin-1") + "\r\n".join([*lines, "", ""]).encode("latin-1")


def _framing(answer: Answer, size_bytes: int) -> Headers:
    if answer.chunked:
        return (("Transfer-Encoding", "chunked"),)
    if answer.content_length is None or (answer.content_length == "auto" and answer.status in BODYLESS):
        return ()
    return (("Content-Length", str(size_bytes if answer.content_length == "auto" else answer.content_length)),)


def _reason(answer: Answer) -> str:
    if answer.reason is not None:
        return answer.reason
    try:
        return HTTPStatus(answer.status).phrase
    except ValueError:
        return ""
