"""Names to addresses: the table of SEASPIDER_RESOLVE first, then the system's resolver. All answers are returned.

Never judges an address and never keeps an answer: each request resolves anew, and goes to what was checked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from typing import Protocol

# The name, or an address for it, does not exist. Anything else may pass.
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})


class ResolveError(Exception):
    """No address. `temporary`: the resolver could not say."""

    def __init__(self, host: str, detail: str, *, temporary: bool) -> None:
        super().__init__(f"{host}: {detail}")
        self.temporary = temporary


class Resolver(Protocol):
    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of a name, or the literal itself. Raises ResolveError."""


class SystemResolver:
    """`table`: name -> addresses that stand for the system's answer; an empty list says that there is no such name."""

    def __init__(self, table: Mapping[str, Sequence[str]], timeout_s: float) -> None:
        self._table = table
        self._timeout_s = timeout_s

    async def resolve(self, host: str) -> Sequence[str]:
        if _is_literal(host):
            return [host]
        if host in self._table:
            if not self._table[host]:
                raise ResolveError(host, "no such name (SEASPIDER_RESOLVE)", temporary=False)
            return self._table[host]
        return await self._ask_system(host)

    async def _ask_system(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise ResolveError(host, f"no answer in {self._timeout_s:g} s", temporary=True) from None
        except UnicodeError as error:
            raise ResolveError(host, str(error), temporary=False) from error
        except OSError as error:
            temporary = not (isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME)
            raise ResolveError(host, error.strerror or str(error), temporary=temporary) from error
        return sorted({str(address[0]) for *_, address in found})


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
