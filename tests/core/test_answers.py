"""How the answer, or the failure, of a last request ends a visit."""

import pytest

from seaspider.core.answers import (
    Again,
    after_answer,
    after_failure,
    deferral,
    put_off,
)
from seaspider.core.pushback import Pushback
from seaspider.core.records import STORED, Ending, Outcome, Reason

T0 = 1_796_015_856_123  # 2026-11-30T05:17:36.123Z
ALL_STATUSES = range(100, 1_000)


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


@pytest.mark.parametrize(("backoff_ns", "wait_ms"), [(0, 0), (1, 1), (10_000_000_000, 10_000), (1_500_001, 2)])
def test_a_host_that_cannot_be_looked_up_is_put_off_and_never_failed(backoff_ns: int, wait_ms: int) -> None:
    assert put_off(T0, backoff_ns) == Ending(Outcome.DEFERRED, Reason.BACKOFF, T0 + wait_ms)
