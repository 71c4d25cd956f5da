"""Carries out one exchange: connect, TLS, one request, one answer, close; and names every way it can fail.

Outside errors become an `ExchangeError` here and nowhere else. Not mapped: cancellation, what the two callbacks raise,
ValueError for a bad argument, and the shortage of this machine (out of descriptors, buffers or memory), because that
says nothing about the server and must not end up in its record.
"""

import asyncio
import errno
import io
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from seaspider.http1.framing import Framing, Length, UntilClose, framing_of
from seaspider.http1.head import Head, HeadReader
from seaspider.http1.message import Answer, BodyPlan, ExchangeError, Flag, Headers, Limits, Reason
from seaspider.http1.wire import Ending, Wire

_OUR_OWN_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@dataclass(slots=True)
class _Progress:
    sent: bool = False
    status: int | None = None
    headers: Headers = ()
    wire_bytes: int = 0


async def exchange(
    address: str,
    port: int,
    request: bytes,
    *,
    tls: ssl.SSLContext | None,
    server_name: str | None,
    limits: Limits,
    plan: Callable[[int, Headers], BodyPlan],
    before_send: Callable[[], None],
) -> Answer:
    """Send `request` (see `request_bytes`; not HEAD, whose answers are framed otherwise) and read its one answer.

    `address`: the IP literal to connect to. `tls`: None for plain http. `server_name`: the URL's host, needed with TLS.
    `before_send` runs right before the first octet leaves; if it raises, nothing is sent. `plan` gets status and
    headers of the final head. Raises ExchangeError; see the module for what passes through.
    """
    progress = _Progress()
    try:
        async with asyncio.timeout(limits.timeout_s) as deadline:
            wire = _open(address)
            try:
                await _connect(wire, port)
                if tls is not None:
                    await _secure(wire, tls, server_name)
                before_send()
                progress.sent = True
                await _send(wire, request)
                return await _read_answer(wire, limits, plan, progress)
            finally:
                wire.close()
    except TimeoutError:
        if not deadline.expired():
            raise
        raise _complete(ExchangeError(Reason.TIMEOUT, f"no whole answer in {limits.timeout_s:g} s"), progress) from None
    except ExchangeError as error:
        _complete(error, progress)
        raise


def _complete(error: ExchangeError, progress: _Progress) -> ExchangeError:
    error.status, error.headers = progress.status, progress.headers
    error.sent, error.wire_bytes = progress.sent, progress.wire_bytes
    return error


def _open(address: str) -> Wire:
    try:
        return Wire(address)
    except OSError as error:
        raise _connect_error(error) from error


async def _connect(wire: Wire, port: int) -> None:
    try:
        await wire.connect(port)
    except OSError as error:
        raise _connect_error(error) from error


def _connect_error(error: OSError) -> Exception:
    if error.errno in _OUR_OWN_SHORTAGE:
        return error
    reason = Reason.TIMEOUT if error.errno == errno.ETIMEDOUT else Reason.CONNECT
    return ExchangeError(reason, f"connect: {_text(error)}")


async def _secure(wire: Wire, context: ssl.SSLContext, server_name: str | None) -> None:
    if not server_name:
        raise ValueError("TLS needs the name to verify")
    try:
        await wire.start_tls(context, server_name)
    except ssl.SSLError as error:
        raise _tls_error(error) from error
    except OSError as error:
        raise ExchangeError(Reason.TLS, f"handshake: {_text(error)}") from error
    except ValueError as error:
        raise ExchangeError(Reason.TLS, f"a name that cannot be asked for: {server_name[:64]!r}") from error


def _text(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)  # asyncio puts addresses into `strerror`


def _tls_error(error: ssl.SSLError) -> ExchangeError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return ExchangeError(Reason.TLS, f"certificate: {error.verify_message}")
    if isinstance(error, ssl.SSLEOFError):
        return ExchangeError(Reason.TLS, "handshake: closed")
    return ExchangeError(Reason.TLS, f"{error.reason or error.strerror}")


async def _send(wire: Wire, request: bytes) -> None:
    try:
        await wire.send(request)
    except ssl.SSLError as error:
        raise _tls_error(error) from error
    except OSError as error:
        raise ExchangeError(Reason.RESET, f"request: {_text(error)}") from error


async def _receive(wire: Wire) -> bytes:
    try:
        return await wire.receive()
    except ssl.SSLError as error:
        raise _tls_error(error) from error


async def _read_answer(
    wire: Wire, limits: Limits, plan: Callable[[int, Headers], BodyPlan], progress: _Progress
) -> Answer:
    head, rest = await _read_head(wire, limits, progress)
    framing, flags = framing_of(head, limits.head_bytes)
    chosen = plan(head.status, head.headers)
    body, clipped = b"", False
    if not chosen.skip:
        body, clipped = await _read_body(wire, framing, rest, chosen=chosen, limits=limits, progress=progress)
    if isinstance(framing, UntilClose) and not chosen.skip:
        flags += _ended_by(wire, chosen)
    return Answer(head.status, head.reason, head.headers, body, progress.wire_bytes, clipped, head.flags + flags)


def _ended_by(wire: Wire, chosen: BodyPlan) -> tuple[Flag, ...]:
    """How far a body can be called whole that only its connection's end ends (RFC 9112 8, 9.8)."""
    if wire.ending is Ending.RAGGED:
        if chosen.close_notify:
            raise ExchangeError(Reason.CUT, f"body: {wire.ending_detail}")
        return (Flag.NO_CLOSE_NOTIFY,)
    return () if wire.secure else (Flag.NO_LENGTH,)


async def _read_head(wire: Wire, limits: Limits, progress: _Progress) -> tuple[Head, bytes]:
    reader = HeadReader(limits)
    head = None
    while head is None:
        data = await _receive(wire)
        if wire.ending is Ending.RESET:
            raise ExchangeError(Reason.RESET, f"head: {wire.ending_detail}")
        if not data:
            reader.check_start()
            raise ExchangeError(Reason.CUT, f"head: {wire.ending_detail}")
        try:
            head = reader.feed(data)
        finally:
            progress.wire_bytes = reader.used
    progress.status, progress.headers = head.status, head.headers
    return head, reader.rest


async def _read_body(
    wire: Wire, framing: Framing, rest: bytes, *, chosen: BodyPlan, limits: Limits, progress: _Progress
) -> tuple[bytes, bool]:
    """(body, whether it was clipped). One octet beyond the cap is taken to see that there is one, and no more."""
    clip = chosen.clip_bytes is not None
    cap = limits.body_bytes if chosen.clip_bytes is None else chosen.clip_bytes
    if not clip and isinstance(framing, Length) and framing.length > cap:
        raise ExchangeError(Reason.TOO_LARGE, f"Content-Length {framing.length} is over {cap}")
    body = io.BytesIO()  # its getvalue() does not copy
    data, head_bytes = rest, progress.wire_bytes
    while not framing.done:
        if not data and not (data := await _receive(wire)):
            if framing.complete_at_close(orderly=wire.ending is not Ending.RESET):
                break
            raise ExchangeError(Reason.CUT, f"body: {wire.ending_detail} after {body.tell()} octets")
        try:
            body.write(framing.feed(data, cap + 1 - body.tell()))
        finally:
            progress.wire_bytes = head_bytes + framing.used
        data = b""
        if body.tell() > cap:
            if not clip:
                raise ExchangeError(Reason.TOO_LARGE, f"body over {cap} octets")
            body.truncate(cap)
            return body.getvalue(), True
    return body.getvalue(), False
