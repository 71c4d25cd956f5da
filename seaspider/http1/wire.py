"""One TCP connection to one address literal, with or without TLS in it. Knows nothing of HTTP.

It owns its socket: `close` closes it at once, whatever is under way, and no asyncio transport is left behind. TLS runs
over memory buffers, so what the peer said last (a close, a TLS close, a reset) is known and not guessed.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from typing import TypeVar

from seaspider.core.addresses import ip_of

_READ_BYTES = 64 * 1024
_QUICK_READS = range(1, 4)  # after the first one, as many as most answers take
_T = TypeVar("_T")


class Ending(Enum):
    OPEN = auto()
    CLOSED = auto()
    RAGGED = auto()  # closed inside TLS without close_notify (RFC 8446 6.1)
    RESET = auto()


class Wire:
    """Use: `connect`, perhaps `start_tls`, `send`, `receive` until it gives b"", always `close`."""

    def __init__(self, address: str) -> None:
        """`address`: an IP literal without zone. ValueError if not; OSError if there is no socket to be had."""
        family, self._address = _literal(address)
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        # Else a request over TLS may wait some 40 ms for the acknowledgement of the handshake's last record.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reads = 0
        self._tls: ssl.SSLObject | None = None
        self.ending = Ending.OPEN
        self.ending_detail = ""

    async def connect(self, port: int) -> None:
        """Raises OSError."""
        await asyncio.get_running_loop().sock_connect(self._socket, (self._address, port))

    async def start_tls(self, context: ssl.SSLContext, server_name: str) -> None:
        """Shake hands, verifying `server_name` (a host name in ASCII or an IP literal, for which no SNI is sent).

        Raises ssl.SSLError, OSError, or ValueError for a name that cannot stand in a handshake.
        """
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        # RFC 6066 3: the name goes without its trailing dot.
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name.removesuffix("."))
        await self._pump(self._tls.do_handshake)

    async def send(self, data: bytes) -> None:
        """Raises OSError, ssl.SSLError."""
        tls = self._tls
        if tls is None:
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
        else:
            view = memoryview(data)
            while view:
                written = await self._pump(lambda: tls.write(view))  # noqa: B023 (called before the next turn)
                view = view[written:]

    async def receive(self) -> bytes:
        """Some octets; b"" at the end, and then `ending` says which. Raises ssl.SSLError."""
        tls = self._tls
        try:
            data = await (self._receive_plain() if tls is None else self._pump(lambda: tls.read(_READ_BYTES)))
        except ssl.SSLEOFError:
            return self._end(Ending.RAGGED, "closed without close_notify")
        except ssl.SSLError:
            raise
        except OSError as error:
            return self._end(Ending.RESET, error.strerror or "reset")
        return data or self._end(Ending.CLOSED, "closed")

    @property
    def secure(self) -> bool:
        return self._tls is not None

    def close(self) -> None:
        self._socket.close()

    def _end(self, ending: Ending, detail: str) -> bytes:
        self.ending, self.ending_detail = ending, detail
        return b""

    async def _receive_plain(self) -> bytes:
        # sock_recv does not suspend while octets are waiting: without this a fast peer holds up timeout and signals.
        if self._reads not in _QUICK_READS:
            await asyncio.sleep(0)
        self._reads += 1
        return await asyncio.get_running_loop().sock_recv(self._socket, _READ_BYTES)

    async def _pump(self, step: Callable[[], _T]) -> _T:
        """Do one TLS step, carrying octets between the buffers and the socket until it succeeds."""
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._receive_plain()
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._socket.send(self._outgoing.read())  # the alert that tells the peer why, if it goes at once
                raise
            else:
                await self._flush()
                return result

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await asyncio.get_running_loop().sock_sendall(self._socket, self._outgoing.read())


@lru_cache(maxsize=64)
def _literal(address: str) -> tuple[socket.AddressFamily, str]:
    """Family and canonical text. Raises ValueError."""
    literal = ip_of(address)
    if "%" in address:
        raise ValueError(f"address with a zone: {address!r}")
    return socket.AF_INET if literal.version == 4 else socket.AF_INET6, str(literal)
