"""What an answer asks for beyond the usual pause: the back-off, Retry-After, and a rate limit with nothing left of it.

Decides how long that is and whether it is waited for at all: a Retry-After over the back-off cap is not, it defers the
URL and the rest of its host until then. Whatever a server says, nothing here makes a pause shorter. Never sleeps, never
reads a clock. RFC 9110 section 10.2.3 (Retry-After, which is not tied to any status). The draft
ietf-httpapi-ratelimit-headers (`RateLimit: "name";r=0;t=30`) and its earlier forms (`limit=10, remaining=0, reset=30`,
and the two fields RateLimit-Remaining and RateLimit-Reset).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seaspider.core.governor import BackoffPolicy, backoff_ns
from seaspider.core.httpfields import DELTA_MAX_S, retry_after_s, texts_of
from seaspider.core.times import MS_PER_S, NS_PER_S

Headers = Sequence[tuple[bytes, bytes]]

_SAY_SO = frozenset({b"retry-after", b"ratelimit", b"ratelimit-remaining"})
"""Nothing is asked for without one of these fields."""
_NOTHING = re.compile(r"0+")
# Commas and semicolons inside a quoted name separate nothing; a quote that is never closed swallows the rest.
_PIECE = re.compile(r'[,;]|(?:[^,;"]|"(?:[^"\\]|\\.)*"?)+')

# Some servers send the moment instead of the seconds until then, in seconds since the epoch or in milliseconds: no
# window is 31 years long. More digits are no moment of our time.
_MOMENT = re.compile(r"0*([1-9][0-9]{9}|[1-9][0-9]{12})")


@dataclass(frozen=True, slots=True)
class Pushback:
    """ns to leave the host alone after an answer, None being nothing. `backoff_ns` is never over the cap."""

    backoff_ns: int | None = None
    retry_after_ns: int | None = None
    """Of Retry-After and the rate limit the longer."""
    over_cap: bool = False
    """`retry_after_ns` is longer than the back-off cap: it is not waited for, see answers.deferral()."""

    @property
    def waited_ns(self) -> int | None:
        """`retry_after_ns` as far as it is a pause of this run: what politeness.pause() takes."""
        return None if self.over_cap else self.retry_after_ns


NOTHING = Pushback()


def pushback(headers: Headers, failures: int, policy: BackoffPolicy, now_ms: int) -> Pushback:
    """What follows an answer, or a failure, of any status.

    `headers`: of the answer as far as there was one. `failures`: in a row of the host, this one included, 0 after a
    success. `now_ms`: wall clock when it was in.
    """
    if not failures and _SAY_SO.isdisjoint(name.lower() for name, _ in headers):
        return NOTHING
    asked_s = [retry_after_s(texts_of(headers, b"retry-after"), texts_of(headers, b"date"), now_ms)]
    asked_s.append(rate_limit_s(headers, now_ms))
    longest_ns = max((seconds * NS_PER_S for seconds in asked_s if seconds is not None), default=None)
    return Pushback(
        backoff_ns(failures, policy) if failures else None,
        longest_ns,
        longest_ns is not None and longest_ns > policy.cap_ns,
    )


def rate_limit_s(headers: Headers, now_ms: int) -> int | None:
    """Seconds until a limit that is used up is restored, the longest of them; None if something is left of each.

    What remains is never a reason to go faster, and a limit that is not understood is passed over.
    """
    limits = [limit for line in texts_of(headers, b"ratelimit") for limit in _limits(line)]
    resets = [limit.get("t", limit.get("reset", "")) for limit in limits if _used_up(limit)]
    if any(_NOTHING.fullmatch(line.strip(" \t")) for line in texts_of(headers, b"ratelimit-remaining")):
        resets += texts_of(headers, b"ratelimit-reset")
    waits = [_seconds_until(reset, now_ms) for reset in resets]
    return max((wait for wait in waits if wait is not None), default=None)


def _limits(line: str) -> Iterator[dict[str, str]]:
    """The parameters of each member of a list; and, as the form of draft 07 is one limit spread over them, of all."""
    members: list[dict[str, str]] = [{}]
    for piece in _PIECE.findall(line):
        if piece == ",":
            members.append({})
        elif piece != ";":
            name, _, value = piece.partition("=")
            members[-1].setdefault(name.strip(" \t").lower(), value.strip(" \t"))
    yield from members
    spread = {name: value for member in reversed(members) for name, value in member.items()}
    yield {name: spread[name] for name in ("remaining", "reset") if name in spread}


def _used_up(limit: dict[str, str]) -> bool:
    return bool(_NOTHING.fullmatch(limit.get("r", limit.get("remaining", ""))))


def _seconds_until(reset: str, now_ms: int) -> int | None:
    """Digits, or a date; read like a line of Retry-After."""
    moment = _MOMENT.fullmatch(reset.strip(" \t"))
    if moment is None:
        return retry_after_s([reset], (), now_ms)
    moment_ms = int(moment[1]) * (MS_PER_S if len(moment[1]) == 10 else 1)
    return min(max(0, -((now_ms - moment_ms) // MS_PER_S)), DELTA_MAX_S)  # rounded up
