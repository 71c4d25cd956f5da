"""The listening sockets of a loopback server: one port on every address, and what happens before any byte is read.

Binds addresses of 127.0.0.0/8 only, so nothing outside this machine can reach a test's server.
"""

import contextlib
import errno
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network

LOOPBACK = IPv4Network("127.0.0.0/8")
BIND_TRIES = 100
BACKLOG = 128


class ConnectFault(StrEnum):
    """What an address does to whoever connects."""

    REFUSE = "refuse"  # the port is taken, but nobody listens
    RESET = "reset"  # accepted and reset at once
    HANG = "hang"  # accepted and never read, so a TLS handshake never ends either


@dataclass(frozen=True, slots=True)
class Listener:
    """One bound socket. `fault` says what a connection meets instead of a server."""

    sock: socket.socket
    address: str
    scheme: str
    fault: ConnectFault | None


def is_loopback(text: str) -> bool:
    """Whether the text is an address of 127.0.0.0/8."""
    try:
        return IPv4Address(text) in LOOPBACK
    except ValueError:
        return False


def bind_all(addresses: Sequence[str], scheme: str, faults: Mapping[str, ConnectFault]) -> list[Listener]:
    """Sockets on all addresses with one port: the first address gets a free one, the others follow or all try again."""
    for _ in range(BIND_TRIES):
        with contextlib.ExitStack() as undo:
            try:
                found = list(_bind(addresses, scheme, faults, undo))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            undo.pop_all()
            return found
    raise OSError(errno.EADDRINUSE, f"no port is free on all of {addresses}")


def _bind(
    addresses: Sequence[str], scheme: str, faults: Mapping[str, ConnectFault], undo: contextlib.ExitStack
) -> Iterator[Listener]:
    port = 0
    for address in addresses:
        sock = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        sock.setblocking(False)
        # Without SO_REUSEADDR a bound port is ours alone, also where nobody listens (REFUSE).
        sock.bind((address, port))
        port = sock.getsockname()[1]
        if faults.get(address) is not ConnectFault.REFUSE:
            sock.listen(BACKLOG)
        yield Listener(sock, address, scheme, faults.get(address))
