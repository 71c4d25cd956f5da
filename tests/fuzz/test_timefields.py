"""Retry-After, dates and rate limits: never negative, never shorter than what they say in any sane reading.

Compared with `seaspider.core.httpfields` and `seaspider.core.pushback`: the dates of email.utils of the standard
library, and arithmetic on the number or moment that a line was made from. Seeds: those of `budgets`.
"""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.governor import BackoffPolicy
from seaspider.core.httpfields import DATE_TOLERANCE_MS, DELTA_MAX_S, max_age_s, parse_http_date, retry_after_s
from seaspider.core.pushback import pushback, rate_limit_s
from seaspider.core.times import MS_PER_S, NS_PER_S
from tests.core.test_robotscost import python_steps
from tests.fuzz.budgets import examples

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
POLICY = BackoffPolicy(base_ns=5 * NS_PER_S, cap_ns=300 * NS_PER_S)
NOWS = st.integers(1_577_836_800_000, 4_102_444_800_000)  # 2020 to 2100
# Whole seconds, near now and far from it.
MOMENTS = st.one_of(st.integers(0, 4_102_444_800), st.integers(4_102_444_800, 253_402_300_799))
NEAR = st.integers(-200_000, 200_000)
OFFSETS = st.one_of(NEAR, st.integers(-2_000_000_000, 5_000_000_000))

TOKENS = st.sampled_from(
    ["0", "1", "30", "007", "1796015900", "9" * 12, "9" * 400, "-", "+", ".", ",", ";", "=", '"', "\\", " ", "\t",
     "r=0", "t=30", "r=00;t=7", "remaining=0", "reset=50", "limit=1", '"a"', "t", "Mon, 30 Nov 2026 05:18:36 GMT",
     "Mon, ", "GMT", "Nov", "Monday, 30-Nov-26 05:18:36 GMT", "Mon Nov 30 05:18:36 2026", "max-age=", "no-cache", "é",
     "\x00", "\u0663"]
)  # fmt: skip
LINES = st.one_of(st.lists(TOKENS, max_size=8).map("".join), st.text(max_size=12))
NAMES = st.sampled_from([b"Retry-After", b"RateLimit", b"ratelimit-Remaining", b"RateLimit-Reset", b"X-Other"])
VALUES = LINES.map(lambda line: line.encode("latin-1", "replace"))
HEADERS = st.lists(st.tuples(st.one_of(NAMES, st.just(b"Date")), VALUES), max_size=6)


def seconds_up(milliseconds: int) -> int:
    return max(0, -(-milliseconds // MS_PER_S))


def date(second: int, form: int) -> str:
    """A second since the epoch in the first or the last of the three forms."""
    moment = EPOCH + timedelta(seconds=second)
    return (
        format_datetime(moment, usegmt=True)
        if form == 0
        else moment.strftime("%a %b %e %H:%M:%S ") + f"{moment.year:04}"
    )


@examples(250, 1_200)
def test_any_lines(budget) -> None:
    @budget
    @given(st.lists(LINES, max_size=4), st.lists(LINES, max_size=2), LINES, NOWS)
    def hold(lines: list[str], dates: list[str], one_more: str, now_ms: int) -> None:
        before = retry_after_s(lines, dates, now_ms)
        assert before is None or 0 <= before <= DELTA_MAX_S
        after = retry_after_s([*lines, one_more], dates, now_ms)
        assert before is None or (after is not None and after >= before)
        age = max_age_s(lines)
        assert age is None or 0 <= age <= DELTA_MAX_S
        for line in lines:
            moment = parse_http_date(line, now_ms)
            assert moment is None or moment % MS_PER_S == 0

    hold()


@examples(200, 1_200)
def test_a_number_and_a_date_are_what_they_say(budget) -> None:
    @budget
    @given(st.integers(0, 10**15), MOMENTS, st.integers(0, 1), NOWS, NEAR)
    def exact(number: int, second: int, form: int, now_ms: int, skew_s: int) -> None:
        assert retry_after_s([f" {number:020} "], [], now_ms) == min(number, DELTA_MAX_S)
        text = date(second, form)
        assert parse_http_date(text, now_ms) == second * MS_PER_S
        assert retry_after_s([text], [], now_ms) == min(seconds_up(second * MS_PER_S - now_ms), DELTA_MAX_S)
        server_s = now_ms // MS_PER_S + skew_s
        trusted = abs(server_s * MS_PER_S - now_ms) <= DATE_TOLERANCE_MS
        base_ms = server_s * MS_PER_S if trusted else now_ms
        expected = min(seconds_up(second * MS_PER_S - base_ms), DELTA_MAX_S)
        assert retry_after_s([text], [date(server_s, form)], now_ms) == expected

    exact()


@examples(250, 1_500)
def test_dates_are_those_of_the_standard_library(budget) -> None:
    """Also those that are none, like the 30th of February or a 25th hour."""
    two_digits = st.integers(0, 32)

    @budget
    @given(
        st.tuples(two_digits, st.integers(1_000, 9_999), two_digits, st.integers(0, 61), st.integers(0, 59)),
        st.sampled_from(["Jan", "Feb", "Mar", "Jun", "Dec", "Foo", "dec"]),
        st.booleans(),
        NOWS,
    )
    def agree(numbers: tuple[int, ...], month: str, asctime: bool, now_ms: int) -> None:
        day, year, hour, minute, second = numbers
        time = f"{hour:02}:{minute:02}:{second:02}"
        text = f"Sun {month} {day:2} {time} {year}" if asctime else f"Sun, {day:02} {month} {year} {time} GMT"
        found = parse_http_date(text, now_ms)
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            assert found is None
            return
        # Its names of months are in any case; RFC 9110 5.6.7 has one spelling.
        expected = None if month == "dec" else (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
        assert found == expected

    agree()


@examples(250, 1_500)
def test_any_headers(budget) -> None:
    @budget
    @given(HEADERS, NAMES, VALUES, st.integers(0, 70), NOWS)
    def hold(headers: list[tuple[bytes, bytes]], name: bytes, value: bytes, failures: int, now_ms: int) -> None:
        pushed = pushback(headers, failures, POLICY, now_ms)
        assert (pushed.backoff_ns is None) == (failures == 0)
        assert pushed.backoff_ns is None or 0 < pushed.backoff_ns <= POLICY.cap_ns
        asked_ns = pushed.retry_after_ns
        assert asked_ns is None or 0 <= asked_ns <= DELTA_MAX_S * NS_PER_S
        assert pushed.over_cap == (asked_ns is not None and asked_ns > POLICY.cap_ns)
        more = pushback([*headers, (name, value)], failures, POLICY, now_ms)
        assert asked_ns is None or (more.retry_after_ns is not None and more.retry_after_ns >= asked_ns)

    hold()


SPELLINGS = st.sampled_from(
    [
        lambda reset: [(b"RateLimit", f'"day";r=0;t={reset}'.encode())],
        lambda reset: [(b"RateLimit", f"limit=5, remaining=0, reset={reset}".encode())],
        lambda reset: [(b"ratelimit-reset", f" {reset}".encode()), (b"RateLimit-Remaining", b"0")],
    ]
)


@examples(250, 1_200)
def test_a_limit_is_restored_no_earlier_than_it_says(budget) -> None:
    """Seconds, a moment in seconds or milliseconds, and a date: 30 years from now or more, too."""

    @budget
    @given(SPELLINGS, OFFSETS, NOWS)
    def no_earlier(spell, offset_s: int, now_ms: int) -> None:
        at_s = now_ms // MS_PER_S + offset_s
        wait_s = min(seconds_up(at_s * MS_PER_S - now_ms), DELTA_MAX_S)
        if 0 <= offset_s < 10**9:
            assert rate_limit_s(spell(offset_s), now_ms) == offset_s
        if 10**9 <= at_s < 10**10:
            assert rate_limit_s(spell(at_s), now_ms) == wait_s
            assert rate_limit_s(spell(at_s * MS_PER_S), now_ms) == wait_s
        if at_s >= 0:
            fields = [(b"RateLimit-Remaining", b"0"), (b"RateLimit-Reset", date(at_s, 0).encode())]
            assert rate_limit_s(fields, now_ms) == wait_s

    no_earlier()


@examples(20, 150)
def test_work_is_linear_whatever_is_repeated(budget) -> None:
    @budget
    @given(st.lists(TOKENS, min_size=1, max_size=5).map("".join), NAMES)
    def linear(unit: str, name: bytes) -> None:
        def use(times: int) -> None:
            line = unit * times
            pushback([(name, line.encode("latin-1", "replace")), (b"RateLimit-Remaining", b"0")], 1, POLICY, 10**12)
            max_age_s([line])

        assert python_steps(lambda: use(200)) <= 2.1 * python_steps(lambda: use(100)) + 300

    linear()
