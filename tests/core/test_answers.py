"""How the answer, or the failure, of a last request ends a visit."""

import pytest

from seaspider.core.answers import (
    Again,
    after_answer,
    after_failure,
    answer_ending,
    backoff_s,
    deferral,
    failure_ending,
)
from seaspider.core.governor import pushes_back
from seaspider.core.pushback import Pushback
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


# Attempts

NEVER_MIND = Ending(Outcome.DEFERRED, Reason.RETRY_AFTER, T0)
NETWORK = [Reason.CONNECT, Reason.TLS, Reason.TIMEOUT, Reason.RESET, Reason.CUT, Reason.DECODE, Reason.PROTOCOL]


@pytest.mark.parametrize(
    ("tries", "max_attempts", "again"),
    [(1, 3, True), (2, 3, True), (3, 3, False), (4, 3, False), (1, 1, False), (1, 2, True), (1, 0, False)],
)
@pytest.mark.parametrize("reason", [*NETWORK, Reason.HTTP_429, Reason.HTTP_5XX], ids=str)
def test_a_hop_is_asked_so_many_times(reason: Reason, tries: int, max_attempts: int, again: bool) -> None:
    expected = Again() if again else Ending(Outcome.FAILED, reason)
    assert after_failure(tries, max_attempts, reason) == expected


@pytest.mark.parametrize("deferred", [None, NEVER_MIND])
def test_what_is_too_large_is_not_asked_again(deferred: Ending | None) -> None:
    assert after_failure(1, 3, Reason.TOO_LARGE, deferred) == Ending(Outcome.FAILED, Reason.TOO_LARGE)


@pytest.mark.parametrize("tries", [1, 3, 9])
def test_over_the_cap_it_is_put_off_and_not_failed(tries: int) -> None:
    assert after_failure(tries, 3, Reason.CUT, NEVER_MIND) == NEVER_MIND
    assert after_answer(503, tries, 3, NEVER_MIND) == NEVER_MIND


@pytest.mark.parametrize("tries", [0, -1])
def test_a_failure_that_nobody_counted_is_refused(tries: int) -> None:
    with pytest.raises(ValueError, match=f"tries={tries}"):
        after_failure(tries, 3, Reason.TIMEOUT)


def test_an_answer_ends_the_visit_and_what_pushes_back_is_asked_again() -> None:
    reasons = {429: Reason.HTTP_429} | dict.fromkeys(range(500, 600), Reason.HTTP_5XX)
    assert {status: after_answer(status, 2, 3) for status in ALL_STATUSES} == {
        status: Again() if status in reasons else STORED for status in ALL_STATUSES
    }
    assert {status: after_answer(status, 3, 3) for status in ALL_STATUSES} == {
        status: Ending(Outcome.FAILED, reasons[status]) if status in reasons else STORED for status in ALL_STATUSES
    }


@pytest.mark.parametrize("status", [200, 304, 402, 403, 404, 451])
def test_a_final_answer_is_stored_though_the_rest_of_its_host_waits(status: int) -> None:
    assert after_answer(status, 1, 3, NEVER_MIND) == STORED


@pytest.mark.parametrize(
    ("pushed", "not_before_ms"),
    [
        (Pushback(), None),
        (Pushback(10, 300_000_000_000, False), None),
        (Pushback(10, 301_000_000_000, True), T0 + 301_000),
        (Pushback(None, 86_400_000_000_000, True), T0 + 86_400_000),
        (Pushback(None, 1_000_001, True), T0 + 2),
    ],
)
def test_what_is_over_the_cap_is_put_off_until_then(pushed: Pushback, not_before_ms: int | None) -> None:
    expected = None if not_before_ms is None else Ending(Outcome.DEFERRED, Reason.RETRY_AFTER, not_before_ms)
    assert deferral(pushed, T0) == expected
