"""The world as it was: a clock, a resolver, a ledger and an exchange that give what a Tape says, and open no socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from seaspider.core.calltimes import CallTimes
from seaspider.core.politeness import Claimed, Settled, Token
from seaspider.core.records import Reason
from seaspider.core.robotsanswer import wants_body
from seaspider.ledger import Waiting
from seaspider.outside import Outside
from seaspider.permits import Asked, Permit
from seaspider.refusals import Interrupted
from seaspider.replay.differences import Differs
from seaspider.replay.found import Found
from seaspider.replay.tape import Tape
from seaspider.resolver import ResolveError
from seaspider.verify.evidence import Request, Settle

_TOO_LATE_NS = 1 << 62


class TapeClock:
    """Stands where the run stood: at a moment that was recorded, or else at the turn that comes next."""

    def __init__(self, tape: Tape) -> None:
        self.boot_id = tape.run.boot_id
        self._tape = tape
        self._wall_ms = tape.run.start.milliseconds("started_at")
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
        raise self._tape.reel.fail(Differs(f"nobody sleeps in a replay, but {seconds} s were asked for"))


class TapeResolver:
    """The addresses that were found, or that there were none. `backoff_ms`: how long a host is put off then."""

    def __init__(self, tape: Tape, clock: TapeClock, backoff_ms: int) -> None:
        self._tape = tape
        self._clock = clock
        self._backoff_ms = backoff_ms

    async def resolve(self, host: str) -> Sequence[str]:
        found = self._tape.no_address(host)
        if found is not None:
            return self._none(host, found)
        request = self._tape.wanted_request(host)
        if request.host != host:
            raise self._tape.reel.fail(
                Differs(f"{request.place}: a request to {request.host} was next, and one to {host} is now")
            )
        return request.addresses

    def _none(self, host: str, found: Found) -> Sequence[str]:
        if found.no_address is Reason.SPECIAL_ADDRESS:
            return [found.ip or ""]
        temporary = found.no_address is Reason.BACKOFF
        if temporary:
            until_ms = found.not_before_ms
            self._clock.hold(found.when_ms if until_ms is None else until_ms - self._backoff_ms)
        raise ResolveError(host, "as recorded", temporary=temporary)


class TapeLedger:
    """Every claim is had when it was had."""

    def __init__(self, tape: Tape, clock: TapeClock) -> None:
        self.waiting: Waiting | None = None
        self.times = CallTimes()
        self._tape = tape
        self._clock = clock

    async def claim(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed:
        request = self._tape.wanted_request(", ".join(sorted(pauses_ns)))
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
        request = self._tape.take_request(permit.hop.url.text)
        settle = request.settle
        if settle is None:
            raise Interrupted("the run was killed while this request was under way")
        try:
            if settle.sent_ns is not None:
                self._clock.hold(boot_ns=settle.sent_ns)
                before_send()
            elif request.came_to_nothing:
                # The claim was over before the first octet, so it is now.
                self._clock.hold(boot_ns=_TOO_LATE_NS)
                before_send()
        finally:
            self._clock.hold(settle.ended_ms, settle.ended_ns)
        if request.came_to_nothing:
            raise Interrupted("the run was stopped while this request was under way")
        return self._answer(request, settle)

    def _answer(self, request: Request, settle: Settle) -> Asked:
        found = self._tape.brought_by(request)
        if found is None and self._is_unknown(request, settle):
            self._tape.cut = True
            raise Interrupted("the run was killed before it wrote down what this request brought")
        return Asked(
            status=settle.status,
            headers=settle.headers,
            body=b"" if found is None else self._body(found),
            clipped=found is not None and found.kept.clipped,
            wire_bytes=settle.bytes,
            flags=() if found is None else found.kept.flags,
            error=None if settle.error is None else Reason(settle.error),
            detail="as recorded",
        )

    def _is_unknown(self, request: Request, settle: Settle) -> bool:
        """Whether a run was killed between an answer with rules, whose pause may follow from them, and their record."""
        with_rules = request.kind == "robots" and settle.error is None and wants_body(settle.status or 0)
        return with_rules and self._tape.request is None and not self._tape.finished

    def _body(self, found: Found) -> bytes:
        sha256 = found.kept.sha256
        if sha256 is None:
            return b""
        body = self._tape.reel.evidence.true_body(sha256)
        if body is None:
            raise self._tape.reel.fail(
                Differs(f"{found.row.place}: bodies/{sha256[:2]}/{sha256} is missing or changed")
            )
        return body


def as_it_was(tape: Tape, clock: TapeClock, backoff_ms: int) -> Outside:
    """All of it."""
    return Outside(clock, TapeResolver(tape, clock, backoff_ms), TapeLedger(tape, clock), TapeExchange(tape, clock))
