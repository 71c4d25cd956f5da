"""How the answer, or the failure, of a visit's last request ends the visit, or that it is asked again.

Decides which statuses end a visit (403, 404, 402 and 451 do; 429 and 5xx push back), which failures are final at once,
when there have been attempts enough, and from when on what is put off may be asked again. Never sends, counts or reads
a clock. Seed rule (any answer but 429 and 5xx is one); RFC 9110 10.2.3 (Retry-After).
"""

from __future__ import annotations

from dataclasses import dataclass

from seaspider.core.governor import pushes_back
from seaspider.core.pushback import Pushback
from seaspider.core.records import STORED, Ending, Outcome, Reason
from seaspider.core.times import MS_PER_S, NS_PER_S

# Asking again would give the same.
_FINAL_FAILURES = frozenset({Reason.TOO_LARGE})


@dataclass(frozen=True, slots=True)
class Again:
    """The same hop is asked once more, at its host's next turn."""


def deferral(pushed: Pushback, now_ms: int) -> Ending | None:
    """How a Retry-After over the back-off cap ends the URL that got it, and all that waits at its host. None: it is not
    over the cap."""
    if not pushed.over_cap:
        return None
    return Ending(Outcome.DEFERRED, Reason.RETRY_AFTER, now_ms + _ms(pushed.retry_after_ns or 0))


def after_answer(status: int, tries: int, max_attempts: int, deferred: Ending | None = None) -> Again | Ending:
    """What becomes of a visit whose hop was answered for the `tries`-th time. `deferred`: deferral() of the answer.

    Any answer but 429 and 5xx ends it as stored, however long the rest of its host has to wait.
    """
    if not pushes_back(status):
        return STORED
    reason = Reason.HTTP_429 if status == 429 else Reason.HTTP_5XX
    return after_failure(tries, max_attempts, reason, deferred)


def after_failure(tries: int, max_attempts: int, reason: Reason, deferred: Ending | None = None) -> Again | Ending:
    """What becomes of a visit whose hop got no usable answer for the `tries`-th time. `deferred`: as above.

    `tries`: of this hop in this run, the failed one included, also if it failed before its request was sent. Raises
    ValueError below 1: a failure that nobody counts would be tried for ever.
    """
    if tries < 1:
        raise ValueError(f"a failure is a try: tries={tries}")
    if reason in _FINAL_FAILURES:
        return Ending(Outcome.FAILED, reason)
    if deferred is not None:
        return deferred
    return Again() if tries < max_attempts else Ending(Outcome.FAILED, reason)


def put_off(now_ms: int, backoff_ns: int) -> Ending:
    """The end of a visit whose host could not be looked up just now, and of all that waits at that host.

    It says nothing about the server, so it is never final.
    """
    return Ending(Outcome.DEFERRED, Reason.BACKOFF, now_ms + _ms(backoff_ns))


def _ms(ns: int) -> int:
    """Whole milliseconds, rounded up."""
    return -(-ns * MS_PER_S // NS_PER_S)
