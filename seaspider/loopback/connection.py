"""One connection to a loopback server: reads requests (RFC 9112), sends answers, commits the faults it is told to.

Decides nothing about answers (routes.py does). An end of input counts as the client leaving: what it has not been
sent yet it does not get.
"""

import asyncio
import socket
import struct
from typing import cast

from seaspider.loopback.answers import (
    ENDLESS,
    RESETTING,
    SPEECHLESS,
    Answer,
    Headers,
    Ports,
    Request,
    closes,
    pieces,
)
from seaspider.loopback.arrivals import ArrivalLog, Entry, now_ns
from seaspider.loopback.routes import RouteTable

HEAD_LIMIT_BYTES = 65_536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close() sends RST
BAD_REQUEST = Answer(400, (("Connection", "close"),), "not an HTTP/1.1 request\n")


class _ClientGoneError(Exception):
    """The answer could not be handed to the socket."""


class _BadHeadError(Exception):
    """The request's head cannot be read."""


class Connection(asyncio.Protocol):
    """Serves one accepted connection until either side ends it: `task` is the conversation, then `gone` is set."""

    def __init__(self, routes: RouteTable, log: ArrivalLog, ports: Ports, place: tuple[str, str, int]) -> None:
        """`place`: scheme, local address, number of the connection."""
        self._routes, self._log, self._ports = routes, log, ports
        self._scheme, self._address, self._number = place
        self._buffer = bytearray()
        self._read_ns = 0
        self._deaf = False
        self._more = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._reading: Entry | None = None
        self._answering: Entry | None = None
        self.gone = asyncio.Event()

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        # A single unsent byte stops the writer, so "written" means handed to the socket (with TLS: to the TLS layer,
        # whose transport would pause and never resume at a limit of 0).
        self.transport.set_write_buffer_limits(high=int(self._scheme == "https"), low=0)
        self.task = asyncio.get_running_loop().create_task(self._converse())

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._read_ns = now_ns()
        self._buffer += data
        if self._reading is None:
            self._reading = self._begin()
        self._more.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.task.cancel()
        self.gone.set()
        # Not left to the task: a cancelled task ends later, and until then the request would look as if in flight.
        for entry in (self._answering, self._reading):
            if entry is not None:
                self._log.end(entry, None)

    # the conversation

    def _begin(self) -> Entry:
        return self._log.begin(self._scheme, self._address, self._number, self._read_ns)

    async def _converse(self) -> None:
        try:
            while await self._exchange():
                pass
            self.transport.close()
        except _ClientGoneError:
            pass
        finally:
            if not self.transport.is_closing():  # a route raised
                self.transport.abort()

    async def _exchange(self) -> bool:
        """One request and its answer; whether the connection stays open for another."""
        try:
            request = await self._request()
        except _BadHeadError:
            request, answer, stays = Request(self._scheme, self._address, "", "", "", ()), BAD_REQUEST, False
            self._deaf = True  # where the next request would begin is not known
            self._buffer.clear()
        else:
            answer = self._routes.answer(request)
            stays = not closes(answer, request)
        # A request sent before this answer is in flight beside it, so it is counted now.
        self._answering, self._reading = self._reading, self._begin() if self._buffer else None
        await self._send(answer, request)
        self._answering = None
        return stays

    async def _request(self) -> Request:
        """The next request, whose body is read and dropped. It is in the log as soon as its head is complete."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT_BYTES:
                raise _BadHeadError
            await self._read_more()
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        request = self._parse(lines)
        if self._reading is not None:
            self._log.head(self._reading, request)
        size = int(request.header("Content-Length") or 0)
        while len(self._buffer) < size:
            await self._read_more()
        del self._buffer[:size]
        return request

    async def _read_more(self) -> None:
        self._more.clear()
        await self._more.wait()

    def _parse(self, lines: list[str]) -> Request:
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise _BadHeadError
        pairs = [line.partition(":") for line in lines[1:]]
        headers: Headers = tuple((name, value.strip(" \t")) for name, _, value in pairs)
        bare = Request(self._scheme, self._address, "", words[0], words[1], headers)
        if not (bare.header("Content-Length") or "0").isdecimal() or bare.header("Transfer-Encoding"):
            raise _BadHeadError
        return Request(self._scheme, self._address, bare.header("Host") or "", words[0], words[1], headers)

    async def _send(self, answer: Answer, request: Request) -> None:
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if answer.fault not in SPEECHLESS:
            for piece in pieces(answer, request, self._ports):
                await self._write(piece)
                if answer.drip_s:
                    await asyncio.sleep(answer.drip_s)
        if answer.fault in ENDLESS:
            await asyncio.Event().wait()  # until the client leaves or the server stops
        if answer.fault in RESETTING:
            self._reset()
        if self._answering is not None:
            self._log.end(self._answering, now_ns())

    async def _write(self, data: bytes) -> None:
        self.transport.write(data)
        if self.transport.is_closing():
            raise _ClientGoneError
        await self._writable.wait()

    def _reset(self) -> None:
        sock: socket.socket = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.transport.abort()
