"""One exchange: octets out to one address, one answer in, its body decoded. What opens a socket is here alone.

Never waits for a pause, never records, and never decides what an answer means. RFC 9112 (the message), RFC 9110 8.4
(content codings).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from ssl import SSLContext
from typing import Protocol

from seaspider import http1
from seaspider.config import Config
from seaspider.core.records import Reason
from seaspider.decoding import DecodeError, DecodeReason
from seaspider.errors import Shortage
from seaspider.permits import Asked, Permit


class Exchange(Protocol):
    async def ask(self, permit: Permit, ip: str, octets: bytes, before_send: Callable[[], None]) -> Asked:
        """What came of it. `before_send` is called right before the first octet goes out; what it raises comes through,
        and nothing is sent then. Raises Shortage: this machine cannot ask."""


class HttpExchange:
    """Over HTTP/1.1, one connection each."""

    def __init__(self, config: Config) -> None:
        self._limits = http1.Limits(timeout_s=config.timeout_s, body_bytes=config.max_body_bytes)

    @cached_property
    def _tls(self) -> SSLContext:
        # Reading the trust store takes a while, and not every crawl meets https.
        return http1.client_context()

    async def ask(self, permit: Permit, ip: str, octets: bytes, before_send: Callable[[], None]) -> Asked:
        """See Exchange."""
        url = permit.hop.url
        try:
            answer = await http1.exchange(
                ip,
                url.port,
                octets,
                tls=self._tls if url.scheme == "https" else None,
                server_name=url.host,
                limits=self._limits,
                plan=permit.plan,
                before_send=before_send,
            )
        except http1.ExchangeError as error:
            return Asked(
                status=error.status,
                headers=error.headers,
                wire_bytes=error.wire_bytes,
                error=Reason(error.reason),
                detail=error.detail,
            )
        except (OSError, MemoryError) as error:
            # What passes through an exchange so is this machine's, see http1/exchange.py.
            why = getattr(error, "strerror", None) or str(error) or "out of memory"
            raise Shortage(f"this machine cannot ask for {url.text}: {why}") from error
        return _decoded(permit, answer)


def _decoded(permit: Permit, answer: http1.Answer) -> Asked:
    flags = tuple(map(str, answer.flags))
    try:
        decoded = permit.decoded(answer)
    except DecodeError as error:
        reason = Reason.TOO_LARGE if error.reason is DecodeReason.TOO_LARGE else Reason.DECODE
        asked = Asked(answer.status, answer.headers, wire_bytes=answer.wire_bytes, flags=flags)
        return replace(asked, error=reason, detail=str(error))
    if decoded.unknown:
        flags = (*flags, str(http1.Flag.UNKNOWN_CODING))
    return Asked(answer.status, answer.headers, decoded.body, decoded.clipped, answer.wire_bytes, flags)
