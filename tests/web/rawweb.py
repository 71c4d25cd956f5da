"""A loopback web of raw octets: which script answers is chosen by host and target, and all that arrives is kept.

One connection is served at a time, so a client that opened a second one beside it would wait for ever.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from seaspider.loopback.sockets import bind_all
from tests.rawserver import WAIT_S, Script, hang_after

Tls = ssl.SSLContext | Sequence[ssl.SSLContext]
Chooser = Callable[[str, str], Script]

OK = b"HTTP/1.1 200 OK\r\n"
NO_ROBOTS = hang_after(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def page(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """The octets of a whole answer, with a Content-Length."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"", body])


def chunked(*pieces: bytes, headers: Sequence[bytes] = (), end: bytes = b"0\r\n\r\n") -> bytes:
    """The octets of an answer in chunks."""
    head = b"\r\n".join([b"HTTP/1.1 200 OK", *headers, b"Transfer-Encoding: chunked", b"", b""])
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request head as it came."""

    host: str
    """Of the Host header, without a port."""
    target: str
    head: bytes


class RawWeb:
    """Serves every address of `names` on one port.

    routes: `host/target` -> script, or a function that chooses one. What has none gets a 404; so a robots.txt has none.
    tls: host -> context, at whose address only TLS is spoken then; of several each serves one connection, the last all
        further ones. at_once: host -> script that runs as soon as a connection is made, before anything is read.
    """

    def __init__(
        self,
        routes: Mapping[str, Script] | Chooser,
        names: Mapping[str, str],
        *,
        tls: Mapping[str, Tls] | None = None,
        at_once: Mapping[str, Script] | None = None,
    ) -> None:
        self._choose = routes if callable(routes) else lambda host, target: routes.get(host + target, NO_ROBOTS)
        self.names = dict(names)
        self._tls = {names[host]: context for host, context in (tls or {}).items()}
        self._at_once = {names[host]: script for host, script in (at_once or {}).items()}
        self._listeners = bind_all(sorted(set(names.values())), "http", {})
        self.port: int = self._listeners[0].sock.getsockname()[1]
        self.arrivals: list[Arrival] = []
        self.connections: Counter[str] = Counter()
        """How often each address was connected to."""
        self.faults: list[OSError] = []
        """What clients did to connections."""
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._serve)

    def url(self, host: str, target: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{target}"

    def asked(self, host: str) -> list[str]:
        """What was asked of a host, in order."""
        return [arrival.target for arrival in self.arrivals if arrival.host == host]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.close()
        self._thread.join(2 * WAIT_S)
        self._stopped.close()
        for listener in self._listeners:
            listener.sock.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        poll = select.poll()
        listeners = {listener.sock.fileno(): listener for listener in self._listeners}
        for number in (*listeners, self._stopped.fileno()):
            poll.register(number, select.POLLIN)
        while True:
            for number, _ in poll.poll():
                if number == self._stopped.fileno():
                    return
                peer, _ = listeners[number].sock.accept()
                self._converse(peer, listeners[number].address)

    def _converse(self, peer: socket.socket, address: str) -> None:
        """Whatever the client does to the connection is kept in `faults`; tests look at it where it matters."""
        self.connections[address] += 1
        peer.settimeout(WAIT_S)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.ExitStack() as stack:
            stack.enter_context(peer)
            try:
                if address in self._at_once:
                    self._at_once[address](peer)
                    return
                if address in self._tls:
                    peer = stack.enter_context(self._context(address).wrap_socket(peer, server_side=True))
                self._answer(peer)
            except OSError as error:
                self.faults.append(error)

    def _context(self, address: str) -> ssl.SSLContext:
        contexts = self._tls[address]
        if isinstance(contexts, ssl.SSLContext):
            return contexts
        return contexts[min(self.connections[address], len(contexts)) - 1]

    def _answer(self, peer: socket.socket) -> None:
        head = _read_head(peer)
        if not head:
            return
        lines = head.decode("latin-1").split("\r\n")
        host = next(line for line in lines if line.lower().startswith("host:"))[5:].strip()
        target = lines[0].split(" ")[1]
        name = host.removesuffix(f":{self.port}")
        self.arrivals.append(Arrival(name, target, head))
        self._choose(name, target)(peer)


def _read_head(peer: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = peer.recv(65536)
        if not data:
            return b""
        head += data
    return head
