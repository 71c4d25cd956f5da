"""A loopback server that answers with raw octets: no HTTP library stands between a test and the wire."""

import asyncio
import contextlib
import fcntl
import socket
import ssl
import struct
import termios
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

WAIT_S = 10.0
"""No wait on either side is longer; a test that runs into it fails."""

_T = TypeVar("_T")


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of `coroutine` on an event loop of its own, in a thread: the test may itself run inside a loop."""

    async def bounded() -> _T:
        async with asyncio.timeout(3 * WAIT_S):
            return await coroutine

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, bounded()).result()


Script = Callable[[socket.socket], None]


def close_after(raw: bytes) -> Script:
    """Send and close in an orderly way."""
    return lambda peer: peer.sendall(raw)


def hang_after(raw: bytes) -> Script:
    """Send, then say nothing until the client closes."""

    def script(peer: socket.socket) -> None:
        peer.sendall(raw)
        wait_for_close(peer)

    return script


def reset_after(raw: bytes) -> Script:
    """Send, then close with a TCP reset."""

    def script(peer: socket.socket) -> None:
        peer.sendall(raw)
        _wait_until_taken(peer)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return script


def _wait_until_taken(peer: socket.socket) -> None:
    """A reset throws away what the client's machine has not acknowledged."""
    deadline = time.monotonic() + WAIT_S
    while struct.unpack("i", fcntl.ioctl(peer, termios.TIOCOUTQ, bytes(4)))[0]:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def octet_by_octet(raw: bytes, then: Callable[[bytes], Script]) -> Script:
    """Send every octet in a packet of its own, then end as `then` does."""

    def script(peer: socket.socket) -> None:
        for at in range(len(raw)):
            peer.sendall(raw[at : at + 1])
        then(b"")(peer)

    return script


def drip(start: bytes, drop: bytes, pause_s: float) -> Script:
    """Send `start`, then `drop` again and again until the client closes."""

    def script(peer: socket.socket) -> None:
        peer.sendall(start)
        peer.settimeout(pause_s)
        for _ in range(int(WAIT_S / pause_s)):
            peer.sendall(drop)
            with contextlib.suppress(TimeoutError):
                if not peer.recv(65536):
                    return

    return script


def wait_for_close(peer: socket.socket) -> None:
    while peer.recv(65536):
        pass


class RawServer:
    """Accepts on `host` (port chosen by the system); each connection: read one request head, run the next script.

    The last script serves all further connections. `read_request=False`: the script starts right after accepting.
    """

    def __init__(
        self,
        *scripts: Script,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        read_request: bool = True,
    ) -> None:
        self._scripts = scripts
        self._tls = tls
        self._read_request = read_request
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self.host: str = host
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self.requests: list[bytes] = []
        self.faults: list[OSError] = []
        self.asked = threading.Event()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            peer.settimeout(WAIT_S)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with peer:
                try:
                    self._converse(peer, script)
                except OSError as error:  # what the client did to the connection; tests look at it where it matters
                    self.faults.append(error)
            self.ended.set()

    def _converse(self, peer: socket.socket, script: Script) -> None:
        if self._tls is not None:
            peer = self._tls.wrap_socket(peer, server_side=True)
        with peer:
            if self._read_request:
                self.requests.append(_read_head(peer))
                self.asked.set()
            script(peer)


def _read_head(peer: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = peer.recv(65536)
        if not data:
            break
        head += data
    return head
