"""The world as it was: a clock, a resolver, a ledger and an exchange that give what a Tape says, and open no socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from seaspider import http1
from seaspider.core.politeness import Claimed, Settled, Token
from seaspider.core.records import Reason
from seaspider.core.times import parse_rfc3339_ms
from seaspider.errors import Interrupted, StoreError
from seaspider.journal import Row
from seaspider.ledger import LedgerStopped, Waiting
from seaspider.outside import Outside
from seaspider.permits import Asked, Permit
from seaspider.replay.tape import Differs, Tape
from seaspider.resolver import ResolveError
from seaspider.verify.evidence import Request, Settle

_WIRE_FLAGS = frozenset(map(str, http1.Flag))


class TapeClock:
    """Stands where the run stood: at a moment that was recorded, or else at the turn that comes next."""

    def __init__(self, tape: Tape) -> None:
        self.boot_id = tape.run.boot_id
        self._tape = tape
        self._wall_ms = parse_rfc3339_ms(tape.run.start.get("started_at", str))
        self._boot_ns = tape.run.start.get("started_ns", int)
        self._held = False

    def hold(self, wall_ms: int | None = None, boot_ns: int | None = None) -> None:
        """It is this moment, until let_go(). None: unchanged."""
        self._held = True
        self._wall_ms = self._wall_ms if wall_ms is None else wall_ms
        self._boot_ns = self._boot_ns if boot_ns is None else boot_ns

    def let_go(self) -> None:
        self._held = False

    def boot_ns(self) -> int:
        return self._boot_ns

    def wall_ms(self) -> int:
        turn_ms = None if self._held else self._tape.turn_ms()
        if turn_ms is not None:
            self._wall_ms = turn_ms
        return self._wall_ms

    async def sleep(self, seconds: float) -> None:
        raise Differs(f"nobody sleeps in a replay, but {seconds} s were asked for")


class TapeResolver:
    """The addresses that were found, or that there were none. `backoff_ms`: how long a host is put off then."""

    def __init__(self, tape: Tape, clock: TapeClock, backoff_ms: int) -> None:
        self._tape = tape
        self._clock = clock
        self._backoff_ms = backoff_ms

    async def resolve(self, host: str) -> Sequence[str]:
        failed = self._tape.no_address(host)
        if failed is not None:
            return self._none(host, failed)
        request = self._tape.request
        if request is None:
            raise Interrupted(f"the run ended before the address of {host} was known")
        if request.host != host:
            raise Differs(f"{request.place}: a request to {request.host} was next, and {host} is now")
        return request.addresses

    def _none(self, host: str, row: Row) -> Sequence[str]:
        last = row.record["chain"][-1]
        if row.record["reason"] == Reason.SPECIAL_ADDRESS:
            return [last["ip"]]
        temporary = last["error"] == Reason.DNS
        if temporary:
            self._clock.hold(self._failed_ms(row))
        raise ResolveError(host, "as recorded", temporary=temporary)

    def _failed_ms(self, row: Row) -> int:
        if "fetched_at" in row.record:
            return parse_rfc3339_ms(row.get("fetched_at", str))
        return parse_rfc3339_ms(row.get("not_before", str)) - self._backoff_ms


class TapeLedger:
    """Every claim is had when it was had."""

    def __init__(self, tape: Tape, clock: TapeClock) -> None:
        self.waiting: Waiting | None = None
        self._tape = tape
        self._clock = clock

    async def claim(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed:
        request = self._tape.request
        if request is None:
            raise LedgerStopped("the run ended while this claim waited")
        if request.visit is None:
            raise Differs(f"{request.place}: asked by another part of the crawl, which no replay has")
        if not {f"host:{request.host}", f"ip:{request.ip}"} == set(pauses_ns):
            raise Differs(f"{request.place}: {request.host} at {request.ip} was next, {sorted(pauses_ns)} are now")
        self._clock.hold(request.claimed_ms, request.claimed_ns)
        return Claimed(Token(str(request.n)), request.claimed_ns, request.claimed_ns + hold_ns)

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled:
        return Settled()

    async def close(self) -> None:
        pass


class TapeExchange:
    """Each request gets the answer it got. No socket is opened here."""

    def __init__(self, tape: Tape, clock: TapeClock) -> None:
        self._tape = tape
        self._clock = clock

    async def ask(self, permit: Permit, ip: str, octets: bytes, before_send: Callable[[], None]) -> Asked:
        """See exchange.Exchange."""
        request = self._tape.take_request()
        settle = request.settle
        if request.url != permit.hop.url.text or request.kind != permit.kind:
            raise Differs(f"{request.place}: {request.kind} {request.url} was next, {permit.hop.url.text} is now")
        if settle is None:
            raise Interrupted("the run was killed while this request was under way")
        if settle.sent_ns is not None:
            self._clock.hold(boot_ns=settle.sent_ns)
            before_send()
        elif settle.status is None and settle.error is None:
            self._too_late(before_send)
        self._clock.hold(settle.ended_ms, settle.ended_ns)
        if settle.status is None and settle.error is None:
            raise Interrupted("the run was stopped while this request was under way")
        return self._answer(request, settle)

    def _too_late(self, before_send: Callable[[], None]) -> None:
        """The claim was over before the first octet, so it is now."""
        self._clock.hold(boot_ns=1 << 62)
        before_send()

    def _answer(self, request: Request, settle: Settle) -> Asked:
        found = self._tape.brought_by(request)
        has_body = found is not None and found.record["sha256"] is not None
        return Asked(
            status=settle.status,
            headers=settle.headers,
            body=self._body(found) if found is not None and has_body else b"",
            clipped=has_body and found is not None and found.record.get("truncated", False),
            wire_bytes=settle.bytes,
            flags=() if found is None else tuple(flag for flag in found.record.get("flags", ()) if flag in _WIRE_FLAGS),
            error=None if settle.error is None else Reason(settle.error),
            detail="as recorded",
        )

    def _body(self, row: Row) -> bytes:
        body = self._tape.evidence.true_body(row.get("sha256", str))
        if body is None:
            raise StoreError(f"{row.place}: bodies/{row.record['sha256']} is missing or changed")
        return body


def as_it_was(tape: Tape, clock: TapeClock, backoff_ms: int) -> Outside:
    """All of it."""
    return Outside(clock, TapeResolver(tape, clock, backoff_ms), TapeLedger(tape, clock), TapeExchange(tape, clock))
