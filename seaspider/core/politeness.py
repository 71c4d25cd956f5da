"""When a key may be used again: claim, then settle. And which of four pauses is in force.

A key is what must be left in peace: `"ip:192.0.2.7"`, `"host:a.test"`. A claim takes all keys of one request or none. A
settle, once the answer is in or has failed, starts each key's pause; so for two requests in a row
arrival(1) <= settle(1) <= claim(2) - pause, however late a process gets round to sending. A holder that never settles
loses a key `hold + pause` after its claim; what it learned of longer pauses died with it, so whoever comes next waits
for its own pause if that is longer. Never sleeps, never reads a clock (`now_ns` is CLOCK_BOOTTIME and does not
go back) and never makes any key free earlier than it already was. RFC 9110 section 10.2.3 (Retry-After), RFC 6585
section 4 (429); crawl-delay is the de facto robots.txt line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import NewType

from seaspider.core.times import NS_PER_S

Token = NewType("Token", str)
"""Names one claim. Opaque; unique as long as the holders' names are."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """All keys are the holder's until it settles, at most for its hold; a request not sent by then must not be sent."""

    token: Token
    claimed_ns: int
    hold_until_ns: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nobody holds the keys, but `key` rests until `until_ns`."""

    until_ns: int
    key: str


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody holds `key`, until `until_ns` at the latest; its settle may come at any time before."""

    until_ns: int
    key: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The keys are given back and rest for their pauses."""


@dataclass(frozen=True, slots=True)
class Lost:
    """These keys were no longer (or never) the token's. Their rest was lengthened, their present holder kept."""

    keys: tuple[str, ...]


@dataclass(slots=True)
class KeyState:
    """Resting until `rest_ns`, and held by `token` until that settles or `lapse_ns` comes: hold and pause are over.

    `pause_ns` is the pause behind the latest of these; it starts anew where the clock does (another boot).
    """

    rest_ns: int
    lapse_ns: int = 0
    token: Token | None = None
    pause_ns: int = 0

    def free_ns(self, pause_ns: int = 0) -> int:
        """When it is free for a claimer whose own pause is `pause_ns`. Nobody knows how long a holder that never
        settled would have let it rest: for its own pause, and for no less than the claimer's."""
        longer_ns = 0 if self.token is None else max(0, pause_ns - self.pause_ns)
        return max(self.rest_ns, self.lapse_ns + longer_ns)

    def rest(self, pause_ns: int, now_ns: int) -> None:
        """Rests from now on for at least that long; a holder, alive or not, stays one, and its pause is its own."""
        if now_ns + pause_ns > self.rest_ns:
            self.rest_ns = now_ns + pause_ns
            if self.token is None:
                self.pause_ns = max(pause_ns, self.pause_ns)

    def joined(self, other: "KeyState") -> "KeyState":
        """Of two accounts of one key the one that ends later, its rest no shorter than the other's."""
        last = self if self.free_ns() >= other.free_ns() else other
        return KeyState(max(self.rest_ns, other.rest_ns), last.lapse_ns, last.token, last.pause_ns)


def check_claim(pauses_ns: Mapping[str, int], hold_ns: int) -> None:
    """Raises ValueError without keys, and for a negative pause or hold."""
    if not pauses_ns or min(hold_ns, *pauses_ns.values()) < 0:
        raise ValueError(f"a claim needs keys, and pauses and a hold from 0 ns: {dict(pauses_ns)}, {hold_ns}")


def check_settle(pauses_ns: Mapping[str, int]) -> None:
    """Raises ValueError for a negative pause."""
    if min(pauses_ns.values(), default=0) < 0:
        raise ValueError(f"a settle needs pauses from 0 ns: {dict(pauses_ns)}")


class ClaimTable:
    """The claims and rests of keys, as one mutable value. A key nobody uses or rests is free and not kept.

    `keys`: those known so far; a ledger that keeps them elsewhere brings the keys of one claim and takes them back.
    """

    def __init__(self, keys: Mapping[str, KeyState] | None = None) -> None:
        self._keys = dict(keys or {})
        self._claims = 0
        self._sweep_at = 64

    def __len__(self) -> int:
        """How many keys are kept in mind."""
        return len(self._keys)

    @property
    def keys(self) -> dict[str, KeyState]:
        return dict(self._keys)

    def claim(self, pauses_ns: Mapping[str, int], holder: str, now_ns: int, hold_ns: int) -> Claimed | Wait | Busy:
        """Take every key of `pauses_ns` (key -> pause in force, ns) for `holder`, or touch none of them.

        Of several obstacles a held key is reported before a resting one (a rest has a certain end), then the latest.
        Raises ValueError without keys, and for a negative pause or hold.
        """
        check_claim(pauses_ns, hold_ns)
        found = [(self._keys[key], key) for key in sorted(pauses_ns) if key in self._keys]
        taken = [(e.lapse_ns > now_ns, free, key) for e, key in found if (free := e.free_ns(pauses_ns[key])) > now_ns]
        if taken:
            held, free_ns, key = max(taken, key=itemgetter(0, 1))
            return Busy(free_ns, key) if held else Wait(free_ns, key)
        self._sweep(now_ns)
        self._claims += 1
        token = Token(f"{holder}:{self._claims}")
        for key, pause_ns in pauses_ns.items():
            self._keys[key] = KeyState(now_ns, now_ns + hold_ns + pause_ns, token, pause_ns)
        return Claimed(token, now_ns, now_ns + hold_ns)

    def settle(self, token: Token, now_ns: int, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        """Give keys back; each rests from `now_ns` for its pause (ns), and no less than it had to anyway.

        Too late, twice, or with a token nobody knows, it frees nothing: the named keys only rest longer, since a
        request may have gone out under it. A key of the claim that is not named stays held until hold and pause are
        over. Raises ValueError for a negative pause; nothing has changed then.
        """
        check_settle(pauses_ns)
        lost = []
        for key, pause_ns in sorted(pauses_ns.items()):
            entry = self._keys.setdefault(key, KeyState(now_ns))
            if entry.token == token and now_ns < entry.lapse_ns:
                entry.token, entry.lapse_ns = None, 0
            else:
                lost.append(key)
            entry.rest(pause_ns, now_ns)
        return Lost(tuple(lost)) if lost else Settled()

    def _sweep(self, now_ns: int) -> None:
        """Forget free keys now and then: a broad crawl meets millions of them."""
        if len(self._keys) >= self._sweep_at:
            self._keys = {key: entry for key, entry in self._keys.items() if entry.free_ns() > now_ns}
            self._sweep_at = 2 * len(self._keys) + 64


class PauseBasis(StrEnum):
    """What a pause follows from, as requests.jsonl names it."""

    INTERVAL = "interval"
    CRAWL_DELAY = "crawl-delay"
    BACKOFF = "backoff"
    RETRY_AFTER = "retry-after"


_ASKED_FOR = (PauseBasis.CRAWL_DELAY, PauseBasis.BACKOFF, PauseBasis.RETRY_AFTER)


@dataclass(frozen=True, slots=True)
class Pause:
    """How long a key rests after a settle, and why."""

    ns: int
    basis: PauseBasis

    @property
    def seconds(self) -> float:
        """The pause as requests.jsonl records it (`pause_s`)."""
        return self.ns / NS_PER_S


@lru_cache(maxsize=256)
def pause(interval_ns: int, crawl_delay_ns: int | None, backoff_ns: int | None, retry_after_ns: int | None) -> Pause:
    """The longest of the four, None being none; of equal ones the first in this order is the basis."""
    longest = Pause(interval_ns, PauseBasis.INTERVAL)
    for ns, basis in zip((crawl_delay_ns, backoff_ns, retry_after_ns), _ASKED_FOR, strict=True):
        if ns is not None and ns > longest.ns:
            longest = Pause(ns, basis)
    return longest
