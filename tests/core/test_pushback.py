"""What an answer asks for: back-off, Retry-After, a rate limit with nothing left."""

import pytest

from seaspider.core.governor import BackoffPolicy
from seaspider.core.httpfields import DELTA_MAX_S
from seaspider.core.pushback import Pushback, pushback, rate_limit_s

S = 1_000_000_000
POLICY = BackoffPolicy(base_ns=5 * S, cap_ns=300 * S)
T0 = 1_796_015_856_123  # 2026-11-30T05:17:36.123Z
DATE = b"Mon, 30 Nov 2026 05:17:36 GMT"
IN_TEN_MINUTES = b"Mon, 30 Nov 2026 05:27:36 GMT"


def fields(*pairs: tuple[str, str | bytes]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value if isinstance(value, bytes) else value.encode("latin-1")) for name, value in pairs]


PUSHES: dict[str, tuple[list[tuple[str, str | bytes]], int, Pushback]] = {
    "a-plain-answer": ([], 0, Pushback(None, None, False)),
    "first-failure": ([], 1, Pushback(10 * S, None, False)),
    "third-failure": ([], 3, Pushback(40 * S, None, False)),
    "backoff-is-never-over-the-cap": ([], 50, Pushback(300 * S, None, False)),
    "retry-after": ([("Retry-After", "3")], 1, Pushback(10 * S, 3 * S, False)),
    "whatever-the-status": ([("Retry-After", "3")], 0, Pushback(None, 3 * S, False)),
    "retry-after-at-the-cap": ([("retry-after", "300")], 1, Pushback(10 * S, 300 * S, False)),
    "retry-after-over-the-cap": ([("RETRY-AFTER", "301")], 1, Pushback(10 * S, 301 * S, True)),
    "a-day": ([("Retry-After", "86400")], 2, Pushback(20 * S, 86_400 * S, True)),
    "huge": ([("Retry-After", "9" * 60)], 1, Pushback(10 * S, DELTA_MAX_S * S, True)),
    "zero": ([("Retry-After", "0")], 1, Pushback(10 * S, 0, False)),
    "negative": ([("Retry-After", "-5")], 1, Pushback(10 * S, None, False)),
    "garbage": ([("Retry-After", "soon \xff")], 1, Pushback(10 * S, None, False)),
    "imf-date": ([("Retry-After", IN_TEN_MINUTES), ("Date", DATE)], 1, Pushback(10 * S, 600 * S, True)),
    "rfc-850-date": (
        [("Retry-After", "Monday, 30-Nov-26 05:19:36 GMT"), ("Date", DATE)], 1, Pushback(10 * S, 120 * S, False)
    ),
    "asctime-date": (
        [("Retry-After", "Mon Nov 30 05:19:36 2026"), ("Date", DATE)], 1, Pushback(10 * S, 120 * S, False)
    ),
    "date-counted-from-the-answers-own": (
        [("Retry-After", IN_TEN_MINUTES), ("Date", "Mon, 30 Nov 2026 05:26:36 GMT")], 1, Pushback(10 * S, 60 * S, False)
    ),
    "date-gone-by": ([("Retry-After", DATE), ("Date", IN_TEN_MINUTES)], 1, Pushback(10 * S, 0, False)),
    "several-the-longest": ([("Retry-After", "5"), ("Retry-After", "9")], 0, Pushback(None, 9 * S, False)),
    "nothing-left": ([("RateLimit", '"default";r=0;t=30')], 0, Pushback(None, 30 * S, False)),
    "nothing-left-over-the-cap": ([("RateLimit", '"day";r=0;t=4000')], 0, Pushback(None, 4_000 * S, True)),
    "something-left": ([("RateLimit", '"default";r=1;t=30')], 1, Pushback(10 * S, None, False)),
    "rate-limit-longer": (
        [("Retry-After", "3"), ("RateLimit", '"a";r=0;t=30')], 1, Pushback(10 * S, 30 * S, False)
    ),
    "retry-after-longer": (
        [("Retry-After", "40"), ("RateLimit", '"a";r=0;t=30')], 1, Pushback(10 * S, 40 * S, False)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("headers", "failures", "expected"), PUSHES.values(), ids=PUSHES)
def test_what_follows_an_answer(headers: list[tuple[str, str | bytes]], failures: int, expected: Pushback) -> None:
    assert pushback(fields(*headers), failures, POLICY, T0) == expected


@pytest.mark.parametrize(
    ("pushed", "expected"), [(Pushback(1, 5, False), 5), (Pushback(1, 5, True), None), (Pushback(), None)]
)
def test_over_the_cap_it_is_no_pause(pushed: Pushback, expected: int | None) -> None:
    assert pushed.waited_ns == expected


LIMITS: dict[str, tuple[list[tuple[str, str]], int | None]] = {
    "none": ([], None),
    "the-draft": ([("RateLimit", '"default";r=0;t=30')], 30),
    "names-in-any-case": ([("ratelimit", '"default";R=0;T=30')], 30),
    "without-a-name": ([("RateLimit", "r=0;t=30")], 30),
    "token-name-and-spaces": ([("RateLimit", "default ; r=0 ; t=30 ")], 30),
    "other-parameters": ([("RateLimit", '"d";w=60;r=0;pk=:QUI=:;t=7')], 7),
    "reset-now": ([("RateLimit", '"default";r=0;t=0')], 0),
    "something-left": ([("RateLimit", '"default";r=1;t=30')], None),
    "ten-left": ([("RateLimit", '"default";r=10;t=30')], None),
    "nothing-said-about-when": ([("RateLimit", '"default";r=0')], None),
    "garbage": ([("RateLimit", '"default";r=zero;t=30')], None),
    "negative-time": ([("RateLimit", '"default";r=0;t=-30')], None),
    "of-several-those-used-up": ([("RateLimit", '"sec";r=0;t=1, "day";r=5;t=80000, "min";r=0;t=50')], 50),
    "of-several-lines": ([("RateLimit", '"sec";r=0;t=1'), ("RateLimit", '"min";r=0;t=50')], 50),
    "none-of-several": ([("RateLimit", '"sec";r=3;t=1, "day";r=5;t=80000')], None),
    "not-one-limits-r-with-anothers-t": ([("RateLimit", '"sec";r=0, "day";r=5;t=80000')], None),
    "separators-in-a-name": ([("RateLimit", r'"a;r=0;t=9, \";r=0;t=8";r=1;t=7, "b";r=0;t=6')], 6),
    "a-quote-never-closed": ([("RateLimit", '"a;r=0;t=9')], None),
    "draft-07": ([("RateLimit", "limit=100, remaining=0, reset=50")], 50),
    "draft-07-something-left": ([("RateLimit", "limit=100, remaining=10, reset=50")], None),
    "draft-07-in-one-member": ([("RateLimit", "remaining=0;reset=50")], 50),
    "two-fields": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "50")], 50),
    "two-fields-in-any-order-and-case": ([("ratelimit-reset", " 50 "), ("RATELIMIT-REMAINING", "00")], 50),
    "two-fields-something-left": ([("RateLimit-Remaining", "1"), ("RateLimit-Reset", "50")], None),
    "only-a-reset": ([("RateLimit-Reset", "50")], None),
    "only-nothing-left": ([("RateLimit-Remaining", "0")], None),
    "a-moment-instead-of-seconds": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1796015900")], 44),
    "a-moment-gone-by": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1796015856")], 0),
    "a-moment-after-2038": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "2147483649")], 351_467_793),
    "a-moment-in-milliseconds": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1796015900124")], 45),
    "digits-that-are-no-moment": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "9" * 400)], DELTA_MAX_S),
    "a-date-32-years-ahead": (
        [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "Mon, 30 Nov 2058 05:17:37 GMT")],
        1_009_843_201,
    ),
    "a-date": ([("RateLimit-Remaining", "0"), ("RateLimit-Reset", "Mon, 30 Nov 2026 05:18:36 GMT")], 60),
    "not-the-fields-of-one-vendor": ([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "50")], None),
}


@pytest.mark.parametrize(("headers", "expected"), LIMITS.values(), ids=LIMITS)
def test_when_a_used_up_limit_is_restored(headers: list[tuple[str, str]], expected: int | None) -> None:
    assert rate_limit_s(fields(*headers), T0) == expected


@pytest.mark.parametrize("line", ['"' * 40_000, "," * 40_000, ";" * 40_000, '"\\' * 20_000, "r=0;t=1," * 8_000])
def test_a_long_line_takes_no_longer_than_its_length(line: str) -> None:
    assert rate_limit_s(fields(("RateLimit", line)), T0) in {None, 1}
