"""The ledger of processes on many machines: a Redis server. Each verb is one Lua script (redisscripts/), by its clock.

The server's times never leave it but as durations: what is claimed, and until when, is told in this process's
CLOCK_BOOTTIME, a claim's moment no earlier and its end no later than the server has it. Every duration is sent a
thousandth longer, since clocks do not run alike; a server whose clock jumps begins a new epoch, as one that restarts
does (common.lua), and what this process itself did is kept in mind and told it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from seaspider import faultpoints
from seaspider.clock import Clock
from seaspider.core.leases import LOST, Lease, LeaseToken, Taken
from seaspider.core.politeness import Claimed, Lost, Settled, Token, check_claim, check_settle
from seaspider.core.redisurl import RedisPlace
from seaspider.core.times import NS_PER_S
from seaspider.ledger import LeaseTaken
from seaspider.redisserver import RedisError, RedisServer, UnfitServer
from seaspider.sharedledger import SharedLedger

_NS_PER_US: Final = 1000
_FASTER: Final = 1000
"""One part in so many is how much faster another machine's clock may run: NTP slews by half of it at most."""
_JITTER_NS: Final = NS_PER_S // 1000
_MOST_US: Final = 2**50  # a few of them added up are exact in Lua's numbers
_OWN_BEFORE_SWEEP: Final = 4096
_TOLD_AT_ONCE: Final = 1000

__all__ = ["RedisLedger", "UnfitServer"]


class ClockJumped(Exception):
    """The server's clock went ahead by more than the time that passed: no pause was counted right."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a script said, and the boot times around it. `now_us` is the server's clock, `epoch` its present epoch."""

    kind: str
    wait_us: int
    now_us: int
    epoch: int
    rest: list[Any]
    before_ns: int
    after_ns: int

    @property
    def wait_until_ns(self) -> int:
        return self.after_ns + self.wait_us * _NS_PER_US


class RedisLedger(SharedLedger):
    """A server that is not there is waited for. Raises UnfitServer for one that must not be used; later that is waited
    for as well."""

    troubles = (OSError, RedisError, UnfitServer, ClockJumped)
    is_far = True

    def __init__(
        self,
        place: RedisPlace,
        clock: Clock,
        *,
        stopped: Callable[[], bool] = lambda: False,
        lease: Lease | None = None,
    ) -> None:
        super().__init__(str(place), clock, stopped, lease)
        self._redis = place
        self._server: RedisServer | None = None
        self._claims = 0
        self._unheard: dict[frozenset[str], Token] = {}
        """Tokens of claims that were sent, but whose answer did not come."""
        self._own: dict[str, int] = {}
        """Until when this process let a key rest, in case the server forgets it."""
        self._sweep_at = _OWN_BEFORE_SWEEP
        self._latest: _Answer | None = None
        try:
            self._open()
        except UnfitServer:
            raise
        except self.troubles as error:
            self._trouble(error)

    # --- the verbs ---

    def _claim_once(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        check_claim(pauses_ns, hold_ns)
        token = self._token(frozenset(pauses_ns))
        held = "" if self._lease is None else self._lease.token
        answer = self._ask("claim", pauses_ns, token, _us(hold_ns), held, *map(_us, pauses_ns.values()))
        del self._unheard[frozenset(pauses_ns)]
        if answer.kind == "lost":
            assert self._lease is not None
            raise LeaseTaken(f"the lease of {self._lease.name} {LOST}")
        if answer.kind == "new":
            self._say(f"it is new or was restarted; nothing is sent for {answer.wait_us / 1_000_000:.1f} s")
        if answer.kind != "go":
            return answer.wait_until_ns
        faultpoints.reached("after commit claim")
        own_ns = max(self._own.get(key, 0) for key in pauses_ns)
        if own_ns > answer.after_ns:
            self._tell(token, {key: max(0, self._own.get(key, 0) - answer.after_ns) for key in pauses_ns})
            return own_ns
        return Claimed(token, answer.after_ns, answer.before_ns + hold_ns)

    def _settle_once(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        check_settle(pauses_ns)
        answer = self._ask("settle", pauses_ns, token, *map(_us, pauses_ns.values()))
        faultpoints.reached("after commit settle")
        if len(self._own) >= self._sweep_at:
            self._own = {key: until for key, until in self._own.items() if until > answer.after_ns}
            self._sweep_at = 2 * len(self._own) + _OWN_BEFORE_SWEEP
        for key, pause_ns in pauses_ns.items():
            self._own[key] = max(self._own.get(key, 0), answer.before_ns + pause_ns)
        names = dict(zip(map(_key, pauses_ns), pauses_ns, strict=True))
        return Settled() if answer.kind == "settled" else Lost(tuple(sorted(names[key] for key in answer.rest)))

    def _acquire_once(self, name: str, ttl_ns: int) -> Lease | Taken:
        answer = self._ask_lease("acquire", name, self._holder, _us(ttl_ns))
        if answer.kind == "taken":
            return Taken(answer.wait_until_ns)
        return Lease(name, LeaseToken(answer.rest[0]), ttl_ns)

    def _renew_once(self, lease: Lease) -> bool:
        return self._ask_lease("renew", lease.name, lease.token, _us(lease.ttl_ns)).kind == "go"

    def _release_once(self, lease: Lease) -> bool:
        return self._ask_lease("release", lease.name, lease.token).kind == "go"

    def _token(self, keys: frozenset[str]) -> Token:
        """A claim that may have been made without our knowing is asked for under its own name again."""
        if keys not in self._unheard:
            self._claims += 1
            self._unheard[keys] = Token(f"{self._holder}:{self._claims}")
        return self._unheard[keys]

    # --- in the thread: the server ---

    def _ask(self, verb: str, keys: Mapping[str, int], *args: str | int) -> _Answer:
        lease = "" if self._lease is None else self._lease.name
        return self._answer(verb, [_lease(lease), *map(_key, keys)], *args)

    def _ask_lease(self, verb: str, name: str, *args: str | int) -> _Answer:
        return self._answer(verb, [_lease(name)], *args)

    def _answer(self, verb: str, keys: list[str], *args: str | int) -> _Answer:
        """What the server says. Raises what `troubles` names; nothing is to be believed then."""
        answer, latest = self._exchange(verb, keys, *args), self._latest
        if latest is not None and _jumped(latest, answer):
            self._latest = None
            self._exchange("anew", [_lease("")], answer.epoch)
            raise ClockJumped("the server's clock went ahead; every pause begins anew")
        if latest is not None and latest.epoch != answer.epoch:
            self._disconnect()
            self._open()  # it may have been started again with other settings
            self._tell(Token(""), {key: max(0, until - answer.after_ns) for key, until in self._own.items()})
        self._latest = answer
        return answer

    def _exchange(self, verb: str, keys: list[str], *args: str | int) -> _Answer:
        server = self._server or self._open()
        before_ns = self._clock.boot_ns()
        try:
            kind, wait_us, now_us, epoch, *rest = server.ask(verb, ["seaspider:epoch", *keys], list(args))
        except BaseException:
            self._disconnect()
            raise
        return _Answer(kind, wait_us, now_us, epoch, rest, before_ns, self._clock.boot_ns())

    def _tell(self, token: Token, rests_ns: Mapping[str, int]) -> None:
        """Has keys rest on. A claim's token gives it back; no token is nobody's."""
        told = [(key, _us(rest_ns)) for key, rest_ns in rests_ns.items()]
        for first in range(0, len(told), _TOLD_AT_ONCE):
            part = told[first : first + _TOLD_AT_ONCE]
            keys = [_lease(""), *(_key(key) for key, _ in part)]
            self._exchange("settle", keys, token, *(rest_us for _, rest_us in part))

    def _open(self) -> RedisServer:
        self._server = RedisServer(self._redis)
        return self._server

    def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _jumped(latest: _Answer, answer: _Answer) -> bool:
    """Whether more time passed between two answers by the server's clock than did here."""
    passed_ns = answer.after_ns - latest.before_ns
    counted_ns = (answer.now_us - latest.now_us) * _NS_PER_US
    return counted_ns > passed_ns + passed_ns // _FASTER + _JITTER_NS


def _us(ns: int) -> int:
    """In us, rounded up, and a thousandth longer."""
    return min(_MOST_US, -(-(ns + ns // _FASTER) // _NS_PER_US))


def _key(key: str) -> str:
    return f"seaspider:key:{key}"


def _lease(name: str) -> str:
    return f"seaspider:lease:{name}"
