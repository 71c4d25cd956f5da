"""How the answer, or the failure, of a last request ends a visit."""

import pytest

from seaspider.core.answers import answer_ending, backoff_s, failure_ending, pushes_back
from seaspider.core.records import STORED, Ending, Outcome, Reason

T0 = 1_796_015_856_123  # 2026-11-30T05:17:36.123Z
NOW = "Mon, 30 Nov 2026 05:17:36 GMT"
LATER = "Mon, 30 Nov 2026 05:27:36 GMT"
ALL_STATUSES = range(100, 1_000)


def later(ms: int) -> Ending:
    return Ending(Outcome.DEFERRED, Reason.BACKOFF, T0 + ms)


def test_every_status_is_an_answer_or_pushes_back() -> None:
    endings = {status: answer_ending(status, [], [], T0, 10) for status in ALL_STATUSES}
    back = {429, *range(500, 600)}
    assert {status for status in ALL_STATUSES if pushes_back(status)} == back
    assert endings == {status: later(10_000) if status in back else STORED for status in ALL_STATUSES}


@pytest.mark.parametrize("status", [200, 204, 206, 300, 304, 305, 402, 403, 404, 410, 428, 430, 451, 499, 600, 999])
def test_final_answers_whatever_they_say_about_waiting(status: int) -> None:
    assert answer_ending(status, ["600"], [NOW], T0, 10) == STORED


WAITS: dict[str, tuple[list[str], list[str], float, int]] = {
    "backoff-only": ([], [], 10, 10_000),
    "retry-after-longer": (["600"], [], 10, 600_000),
    "retry-after-shorter": (["5"], [], 10, 10_000),
    "retry-after-zero": (["0"], [], 10, 10_000),
    "retry-after-unreadable": (["soon"], [], 10, 10_000),
    "retry-after-a-date": ([LATER], [NOW], 10, 600_000),
    "date-counted-from-the-answers-own-date": ([LATER], ["Mon, 30 Nov 2026 05:26:36 GMT"], 10, 60_000),
    "date-without-the-answers-date-rounded-up": ([LATER], [], 10, 600_000),
    "date-gone-by": ([NOW], [LATER], 10, 10_000),
    "several-the-longest": (["5", "600", "20"], [], 10, 600_000),
    "fraction-of-a-backoff-rounded-up": ([], [], 0.0001, 1),
    "no-backoff": ([], [], 0, 0),
}


@pytest.mark.parametrize(("retry_after", "date", "backoff", "wait_ms"), WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("status", [429, 500, 503, 599])
def test_how_long_a_url_waits(
    status: int, retry_after: list[str], date: list[str], backoff: float, wait_ms: int
) -> None:
    assert answer_ending(status, retry_after, date, T0, backoff) == later(wait_ms)


@pytest.mark.parametrize(
    "reason",
    [
        Reason.DNS,
        Reason.CONNECT,
        Reason.TLS,
        Reason.TIMEOUT,
        Reason.RESET,
        Reason.CUT,
        Reason.DECODE,
        Reason.PROTOCOL,
    ],
    ids=str,
)
def test_a_failure_is_asked_again_later(reason: Reason) -> None:
    assert failure_ending(reason, T0, 10) == later(10_000)


def test_what_is_too_large_stays_so() -> None:
    assert failure_ending(Reason.TOO_LARGE, T0, 10) == Ending(Outcome.FAILED, Reason.TOO_LARGE)


@pytest.mark.parametrize(
    ("failures", "base_s", "cap_s", "expected"),
    [
        (1, 5, 300, 10),
        (2, 5, 300, 20),
        (3, 5, 300, 40),
        (5, 5, 300, 160),
        (6, 5, 300, 300),
        (7, 5, 300, 300),
        (100_000, 5, 300, 300),
        (1, 0.25, 300, 0.5),
        (1, 5, 5, 5),
        (1, 5, 3, 3),
        (0, 5, 300, 5),
        (0, 5, 3, 3),
        (3, 0, 300, 0),
        (3, 5, 0, 0),
    ],
)
def test_base_times_two_to_the_n_capped(failures: int, base_s: float, cap_s: float, expected: float) -> None:
    assert backoff_s(failures, base_s, cap_s) == expected
