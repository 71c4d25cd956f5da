"""A client that says exactly what it is told to, over a plain socket, and hands back exactly what came."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from seaspider.loopback import LoopbackWeb

TIMEOUT_S = 10.0


def get(target: str, host: str = "harbour.test", *more: str, method: str = "GET") -> bytes:
    """The bytes of a request; `more` are header lines."""
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {host}", *more, "", ""]).encode("latin-1")


@contextmanager
def connected(web: LoopbackWeb, address: str | None = None) -> Iterator[socket.socket]:
    with socket.create_connection((address or web.addresses[0], web.port), TIMEOUT_S) as sock:
        yield sock


def read_to_end(sock: socket.socket) -> bytes:
    """All bytes until the server closes; ConnectionResetError if it resets."""
    return b"".join(iter(lambda: sock.recv(65_536), b""))


def read_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more, f"closed after {data!r}"
        data += more
    return data


def is_silent(sock: socket.socket) -> bool:
    """Whether nothing has come for 50 ms: neither a byte nor an end."""
    sock.settimeout(0.05)
    try:
        sock.recv(1)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(TIMEOUT_S)
    return False


def ask(web: LoopbackWeb, target: str, host: str = "harbour.test", *more: str, address: str | None = None) -> bytes:
    """The whole answer to one GET on a connection of its own (Connection: close)."""
    with connected(web, address) as sock:
        sock.sendall(get(target, host, "Connection: close", *more))
        return read_to_end(sock)
