"""Names to addresses: the table of SEASPIDER_RESOLVE first, then the system's resolver. All answers are returned.

Never judges an address and never keeps an answer: each request resolves anew, and goes to what was checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from seaspider.core.addresses import ip_of
from seaspider.errors import Shortage
from seaspider.refusals import Interrupted

# The name, or an address for it, does not exist. Anything else may pass.
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})
_OUR_OWN_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, socket.EAI_MEMORY})
_SLICE_S = 0.25
_DESCRIPTORS = 4
"""A lookup opens files and sockets; with so many to be had it does not fail for want of them."""

_Found = list[tuple[Any, ...]]
"""What getaddrinfo gives."""


class ResolveError(Exception):
    """No address. `temporary`: the resolver could not say."""

    def __init__(self, host: str, detail: str, *, temporary: bool) -> None:
        super().__init__(f"{host}: {detail}")
        self.temporary = temporary


class Resolver(Protocol):
    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of a name, or the literal itself. Raises ResolveError, Interrupted if the crawl stops first, or
        Shortage: this machine cannot ask."""


class SystemResolver:
    """`table`: name -> addresses that stand for the system's answer; an empty list says that there is no such name.

    `stopped` ends the wait for an answer; it is looked at four times a second.
    """

    def __init__(
        self, table: Mapping[str, Sequence[str]], timeout_s: float, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._table = table
        self._timeout_s = timeout_s
        self._stopped = stopped

    async def resolve(self, host: str) -> Sequence[str]:
        if _is_literal(host):
            return [host]
        if host in self._table:
            if not self._table[host]:
                raise ResolveError(host, "no such name (SEASPIDER_RESOLVE)", temporary=False)
            return self._table[host]
        return await self._ask_system(host)

    async def _ask_system(self, host: str) -> list[str]:
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._unless_stopped(host)
        except TimeoutError:
            raise ResolveError(host, f"no answer in {self._timeout_s:g} s", temporary=True) from None
        except UnicodeError as error:
            raise ResolveError(host, str(error), temporary=False) from error
        except OSError as error:
            if error.errno in _OUR_OWN_SHORTAGE or _out_of_descriptors():
                raise Shortage(f"no address of {host}: {error.strerror or error}") from error
            temporary = not (isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME)
            raise ResolveError(host, error.strerror or str(error), temporary=temporary) from error
        return sorted({str(address[0]) for *_, address in found})

    async def _unless_stopped(self, host: str) -> _Found:
        lookup = asyncio.wrap_future(_lookup(host))
        try:
            while not lookup.done():
                if self._stopped():
                    raise Interrupted(f"stopped before the address of {host} was known")
                await asyncio.wait([lookup], timeout=_SLICE_S)
            return lookup.result()
        finally:
            lookup.cancel()


def _lookup(host: str) -> Future[_Found]:
    """The system's answer, from a thread that nobody waits for: neither a stop nor the end of the process does."""
    future: Future[_Found] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        except (OSError, ValueError, MemoryError) as error:
            future.set_exception(error)

    try:
        threading.Thread(target=work, name=f"address of {host}", daemon=True).start()
    except RuntimeError as error:
        raise Shortage(f"no address of {host}: {error}") from error
    return future


def _out_of_descriptors() -> bool:
    """The system's resolver calls it "no such name" when it could not open what it needed."""
    with contextlib.ExitStack() as opened:
        try:
            for _ in range(_DESCRIPTORS):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            return error.errno in _OUR_OWN_SHORTAGE
    return False


def _is_literal(host: str) -> bool:
    try:
        ip_of(host)
    except ValueError:
        return False
    return True
