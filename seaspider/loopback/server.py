"""A small web on 127.0.0.0/8: real sockets, many hosts, every fault on demand, and a log of what arrived.

    with LoopbackWeb({"harbour.test/": Answer(body="hello")}, names={"harbour.test": "127.0.0.2"}) as web:
        crawl(web.url("harbour.test"), resolve=web.names)
        print(web.arrivals)

The server runs its own asyncio loop in a thread of its own, so it works beside a reactor in this process or a crawl in
another. It answers as routes.py says; it never resolves a name and never leaves the loopback network. It stands in
for servers of the open web in the demo and in tests, and is not meant to be one.
"""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from seaspider.loopback.answers import Answer, Fault, Ports, Request, Route
from seaspider.loopback.arrivals import Arrival, ArrivalLog
from seaspider.loopback.connection import RESET_ON_CLOSE, Connection
from seaspider.loopback.routes import RouteTable, WireError, from_wire
from seaspider.loopback.sockets import ConnectFault, Listener, bind_all, is_loopback

__all__ = ["Answer", "Arrival", "ConnectFault", "Fault", "LoopbackWeb", "Request", "Route", "WireError", "from_wire"]

STEP_S = 10.0  # the longest wait for the thread to start or to end

Names = Mapping[str, str | Sequence[str]]


class LoopbackError(Exception):
    """The server itself failed, or a computed route raised (that error is the cause)."""


class LoopbackWeb:
    """A web of routes. Use it as a context manager: the server runs inside the block and is gone after it.

    routes: key -> route, see routes.py. Keys are a target ("/robots.txt"), with a host name or an address in front
        where it matters ("127.0.0.2/r1", "harbour.test/"), with a scheme in front of that where that matters; the
        target "/*" stands for any. Routes are Answers, `wire` mappings, tuples of them (one a request, the last
        repeats) or functions Request -> Answer, which run in the server's thread and must not block it.
    names: host name -> address or addresses, for `names` (a resolver's table) and `url`. Addresses outside
        127.0.0.0/8 are allowed here, and nothing is bound for them.
    addresses: addresses to serve beside 127.0.0.1 and those that names and keys give.
    connect: address -> what a connection to it meets instead of a server.
    tls: also serve https, on a port of its own.
    """

    def __init__(
        self,
        routes: Mapping[str, Any],
        *,
        names: Names | None = None,
        addresses: Sequence[str] = (),
        connect: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._routes = RouteTable(routes)
        self.names = dict(names or {})
        self._faults = {address: ConnectFault(fault) for address, fault in (connect or {}).items()}
        self._tls = tls
        self.addresses = self._all_addresses(addresses)
        self._log = ArrivalLog()
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._errors: list[BaseException] = []
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event

    def _all_addresses(self, extra: Sequence[str]) -> tuple[str, ...]:
        if bad := [address for address in (*extra, *self._faults) if not is_loopback(address)]:
            raise ValueError(f"not in 127.0.0.0/8: {bad}")
        named = [a for value in self.names.values() for a in ([value] if isinstance(value, str) else value)]
        found = {a for a in (*extra, *self._faults, *named, *self._routes.places()) if is_loopback(a)}
        # 127.0.0.1 comes first, and clients connect from it: its free port is not one of theirs.
        return ("127.0.0.1", *sorted(found - {"127.0.0.1"}, key=socket.inet_aton))

    # what a test asks

    @property
    def port(self) -> int:
        """The http port, the same on all addresses."""
        return self._ports.http

    @property
    def tls_port(self) -> int:
        """The https port; LoopbackError if there is none."""
        if self._ports.https is None:
            raise LoopbackError("this server has no https port: pass `tls`")
        return self._ports.https

    def url(self, host: str, path: str = "/", scheme: str = "http") -> str:
        """The URL of a path on a host name or an address."""
        return f"{scheme}://{host}:{self.tls_port if scheme == 'https' else self.port}{path}"

    @property
    def arrivals(self) -> list[Arrival]:
        """A copy of the log in order of arrival."""
        return self._log.arrivals()

    @property
    def connections(self) -> int:
        """How many connections were made, also those that said nothing."""
        return self._log.connections()

    def connections_to(self, address: str) -> int:
        """How many connections were made to one address."""
        return self._log.connections(address)

    def clear(self) -> None:
        """Forget arrivals and connections. Sequences of answers go on where they are."""
        self._log.clear()

    def wait_for(self, count: int, timeout_s: float = STEP_S) -> list[Arrival]:
        """The arrivals as soon as there are at least `count` with a whole head; TimeoutError after `timeout_s`."""
        return self.wait_until(lambda seen: sum(bool(a.method) for a in seen) >= count, timeout_s)

    def wait_until(self, true: Callable[[list[Arrival]], bool], timeout_s: float = STEP_S) -> list[Arrival]:
        """The arrivals as soon as `true` of them holds; TimeoutError, with what was seen, after `timeout_s`."""
        return self._log.wait_until(true, timeout_s)

    def wait_idle(self, timeout_s: float = STEP_S) -> None:
        """Returns when no request is in flight (a client may have its answer before the log knows)."""
        self._log.wait_idle(timeout_s)

    # life

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._end()
        if error is None:
            self._raise_first()

    def start(self) -> None:
        """Binds and serves, once; returns when connections are accepted. OSError if no port can be had."""
        if self._listeners:
            raise LoopbackError("a server starts once: make another one")
        with contextlib.ExitStack() as undo:
            self._open("http", undo)
            if self._tls is not None:
                self._open("https", undo)
            undo.pop_all()
        found = {listener.scheme: listener.sock.getsockname()[1] for listener in self._listeners}
        self._ports = Ports(found["http"], found.get("https"))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="loopback-web", daemon=True)
        self._thread.start()
        if not self._ready.wait(STEP_S):
            raise LoopbackError(f"the server did not start within {STEP_S} s")

    def stop(self) -> None:
        """Ends all connections and the thread. LoopbackError if a route raised while it ran."""
        self._end()
        self._raise_first()

    def _open(self, scheme: str, undo: contextlib.ExitStack) -> None:
        for listener in bind_all(self.addresses, scheme, self._faults):
            undo.callback(listener.sock.close)
            self._listeners.append(listener)

    def _end(self) -> None:
        if self._thread is None:
            return
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STEP_S)
        if self._thread.is_alive():
            raise LoopbackError(f"the server did not stop within {STEP_S} s")
        self._thread = None

    def _raise_first(self) -> None:
        errors, self._errors = self._errors, []
        if errors:
            raise LoopbackError(f"the server failed: {errors[0]!r}") from errors[0]

    # in the server's thread

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._conversations: set[Connection] = set()
        self._held: set[socket.socket] = set()
        for listener in self._listeners:
            if listener.fault is not ConnectFault.REFUSE:
                self._watch(self._loop.create_task(self._accept(listener)))
        await asyncio.sleep(0)  # each of them waits for a connection by now
        self._ready.set()
        await self._stop.wait()
        for conversation in self._conversations:
            conversation.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for sock in (*self._held, *(listener.sock for listener in self._listeners)):
            sock.close()

    def _watch(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._reap)

    def _reap(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)

    async def _accept(self, listener: Listener) -> None:
        while True:
            sock, _ = await self._loop.sock_accept(listener.sock)
            number = self._log.connected(listener.address)
            if listener.fault is ConnectFault.HANG:
                self._held.add(sock)
            elif listener.fault is ConnectFault.RESET:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                sock.close()
            else:
                self._watch(self._loop.create_task(self._converse(sock, listener, number)))

    async def _converse(self, sock: socket.socket, listener: Listener, number: int) -> None:
        place = (listener.scheme, listener.address, number)
        conversation = Connection(self._routes, self._log, self._ports, place)
        tls = self._tls if listener.scheme == "https" else None
        try:
            await self._loop.connect_accepted_socket(lambda: conversation, sock, ssl=tls)
        except OSError:  # the handshake failed or the client left: counted as a connection, no request to log
            return
        self._watch(conversation.task)
        self._conversations.add(conversation)
        try:
            await conversation.gone.wait()
        finally:
            self._conversations.discard(conversation)
