"""How the answer, or the failure, of a visit's last request ends the visit, or that it is asked again.

Decides which statuses end a visit (403, 404, 402 and 451 do; 429 and 5xx push back), which failures are final at once,
when there have been attempts enough, and from when on what is put off may be asked again. Never sends, counts or reads
a clock. Seed rule (any answer but 429 and 5xx is one); RFC 9110 10.2.3 (Retry-After).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seaspider.core.governor import pushes_back
from seaspider.core.httpfields import retry_after_s
from seaspider.core.pushback import Pushback
from seaspider.core.records import STORED, Ending, Outcome, Reason
from seaspider.core.times import MS_PER_S, NS_PER_S, ms_from_s

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
    wait_ms = -(-(pushed.retry_after_ns or 0) * MS_PER_S // NS_PER_S)  # rounded up
    return Ending(Outcome.DEFERRED, Reason.RETRY_AFTER, now_ms + wait_ms)


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


# The rule until attempts are counted: one, then the URL is put off.


def backoff_s(failures: int, base_s: float, cap_s: float) -> float:
    """base x 2^n seconds, capped. `failures`: n, failures in a row of the host, 1 at the first."""
    return min(base_s * 2.0 ** min(failures, 64), cap_s)


def answer_ending(status: int, retry_after: Sequence[str], date: Sequence[str], now_ms: int, backoff: float) -> Ending:
    """The end of a visit whose last request was answered. Header values; `backoff` in seconds."""
    if not pushes_back(status):
        return STORED
    wait_ms = max(ms_from_s(backoff), (retry_after_s(retry_after, date, now_ms) or 0) * MS_PER_S)
    return Ending(Outcome.DEFERRED, Reason.BACKOFF, now_ms + wait_ms)


def failure_ending(reason: Reason, now_ms: int, backoff: float) -> Ending:
    """The end of a visit whose last request got no usable answer. `backoff` in seconds."""
    if reason in _FINAL_FAILURES:
        return Ending(Outcome.FAILED, reason)
    return Ending(Outcome.DEFERRED, Reason.BACKOFF, now_ms + ms_from_s(backoff))
