"""How the answer, or the failure, of a visit's last request ends the visit.

Decides which statuses are answers and which push back (429, 5xx), and from when on it may be asked again. Never sends,
counts attempts or reads a clock. Seed rule: 403, 404, 402 and 451 are answers; RFC 9110 10.2.3 (Retry-After).
"""

from __future__ import annotations

from collections.abc import Sequence

from seaspider.core.httpfields import retry_after_s
from seaspider.core.records import STORED, Ending, Outcome, Reason
from seaspider.core.times import MS_PER_S, ms_from_s

# Asking again would give the same.
_FINAL_FAILURES = frozenset({Reason.TOO_LARGE})


def backoff_s(failures: int, base_s: float, cap_s: float) -> float:
    """base x 2^n seconds, capped. `failures`: n, failures in a row of the host, 1 at the first."""
    return min(base_s * 2.0 ** min(failures, 64), cap_s)


def pushes_back(status: int) -> bool:
    """Whether the server asks for less, or cannot answer now."""
    return status == 429 or 500 <= status <= 599


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
