"""What Date, Retry-After and Cache-Control are read as."""

import pytest

from seaspider.core.httpfields import DATE_TOLERANCE_MS, DELTA_MAX_S, max_age_s, parse_http_date, retry_after_s
from seaspider.core.times import parse_rfc3339_ms

NOW = "2026-11-30T05:17:36.123Z"
NOW_MS = parse_rfc3339_ms(NOW)

DATES = {
    "imf-fixdate": ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    "rfc850": ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    "asctime": ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    "asctime-two-digit-day": ("Wed Nov 16 08:49:37 1994", "1994-11-16T08:49:37.000Z"),
    "asctime-zero-padded-day": ("Sun Nov 06 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    "blanks-around": (" \tSun, 06 Nov 1994 08:49:37 GMT ", "1994-11-06T08:49:37.000Z"),
    "wrong-weekday": ("Mon, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    "leap-day": ("Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00.000Z"),
    "leap-second": ("Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00.000Z"),
    "before-the-epoch": ("Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59.000Z"),
    "last-year": ("Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.000Z"),
    "rfc850-this-year": ("Monday, 30-Nov-26 05:17:36 GMT", "2026-11-30T05:17:36.000Z"),
    "rfc850-50-years-ahead": ("Monday, 30-Nov-76 05:17:36 GMT", "2076-11-30T05:17:36.000Z"),
    "rfc850-50-years-and-a-second": ("Tuesday, 30-Nov-76 05:17:37 GMT", "1976-11-30T05:17:37.000Z"),
    "rfc850-77": ("Friday, 01-Jan-77 00:00:00 GMT", "1977-01-01T00:00:00.000Z"),
    "rfc850-leap-day-of-2000": ("Tuesday, 29-Feb-00 00:00:00 GMT", "2000-02-29T00:00:00.000Z"),
}
NO_DATES = {
    "empty": "",
    "no-zone": "Sun, 06 Nov 1994 08:49:37",
    "utc": "Sun, 06 Nov 1994 08:49:37 UTC",
    "offset": "Sun, 06 Nov 1994 08:49:37 +0000",
    "lower-case": "sun, 06 nov 1994 08:49:37 gmt",
    "no-weekday": "06 Nov 1994 08:49:37 GMT",
    "one-digit-day": "Sun, 6 Nov 1994 08:49:37 GMT",
    "no-such-weekday": "Sol, 06 Nov 1994 08:49:37 GMT",
    "no-such-month": "Sun, 06 Nuv 1994 08:49:37 GMT",
    "no-such-day": "Thu, 30 Feb 2023 00:00:00 GMT",
    "no-leap-year": "Wed, 29 Feb 2023 00:00:00 GMT",
    "day-zero": "Sun, 00 Nov 1994 08:49:37 GMT",
    "hour-24": "Sun, 06 Nov 1994 24:00:00 GMT",
    "minute-60": "Sun, 06 Nov 1994 08:60:00 GMT",
    "second-61": "Sun, 06 Nov 1994 08:49:61 GMT",
    "year-zero": "Sat, 01 Jan 0000 00:00:00 GMT",
    "rfc850-short-weekday": "Sun, 06-Nov-94 08:49:37 GMT",
    "rfc850-four-digits": "Sunday, 06-Nov-1994 08:49:37 GMT",
    "two-dates": "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "arabic-digits": "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    "rfc3339": NOW,
    "newline": "Sun, 06 Nov 1994 08:49:37 GMT\n",
}


@pytest.mark.parametrize(("text", "moment"), DATES.values(), ids=DATES)
def test_http_date(text: str, moment: str) -> None:
    assert parse_http_date(text, NOW_MS) == parse_rfc3339_ms(moment)


@pytest.mark.parametrize("text", NO_DATES.values(), ids=NO_DATES)
def test_no_http_date(text: str) -> None:
    assert parse_http_date(text, NOW_MS) is None


def test_two_digit_years_follow_the_clock_that_is_passed_in() -> None:
    early = parse_rfc3339_ms("1990-01-01T00:00:00.000Z")
    late = parse_rfc3339_ms("2080-01-01T00:00:00.000Z")
    text = "Thursday, 01-Jan-10 00:00:00 GMT"
    assert parse_http_date(text, early) == parse_rfc3339_ms("2010-01-01T00:00:00.000Z")
    assert parse_http_date(text, late) == parse_rfc3339_ms("2110-01-01T00:00:00.000Z")


# Retry-After lines -> seconds, without a Date of the answer.
RETRY_AFTER: dict[str, tuple[list[str], int | None]] = {
    "none": ([], None),
    "seconds": (["120"], 120),
    "zero": (["0"], 0),
    "leading-zeros": (["0" * 5000 + "7"], 7),
    "blanks-around": (["\t 7 "], 7),
    "largest": (["2147483648"], DELTA_MAX_S),
    "larger": (["2147483649"], DELTA_MAX_S),
    "more-digits-than-int-takes": (["9" * 5000], DELTA_MAX_S),
    "empty": ([""], None),
    "negative": (["-1"], None),
    "plus": (["+1"], None),
    "fraction": (["1.5"], None),
    "exponent": (["1e3"], None),
    "underscore": (["1_000"], None),
    "unit": (["120s"], None),
    "quoted": (['"120"'], None),
    "list": (["120, 60"], None),
    "list-of-equals": (["120,120"], None),
    "arabic-digits": (["١٢٠"], None),
    "superscript": (["²"], None),
    "word": (["never"], None),
    "rfc3339": (["2026-11-30T06:00:00Z"], None),
    # The clock stands at .123: a second is begun, and rounded up.
    "date-imf": (["Mon, 30 Nov 2026 05:18:36 GMT"], 60),
    "date-rfc850": (["Monday, 30-Nov-26 05:18:36 GMT"], 60),
    "date-asctime": (["Mon Nov 30 05:18:36 2026"], 60),
    "date-now": (["Mon, 30 Nov 2026 05:17:36 GMT"], 0),
    "date-next-second": (["Mon, 30 Nov 2026 05:17:37 GMT"], 1),
    "date-gone-by": (["Sun, 06 Nov 1994 08:49:37 GMT"], 0),
    "date-far": (["Fri, 31 Dec 9999 23:59:59 GMT"], DELTA_MAX_S),
    "two-lines-longest": (["60", "120"], 120),
    "two-lines-longest-first": (["120", "60"], 120),
    "two-lines-one-unreadable": (["never", "60"], 60),
    "two-lines-unreadable": (["never", "soon"], None),
    "two-lines-seconds-and-date": (["10", "Mon, 30 Nov 2026 05:18:36 GMT"], 60),
}


@pytest.mark.parametrize(("lines", "seconds"), RETRY_AFTER.values(), ids=RETRY_AFTER)
def test_retry_after(lines: list[str], seconds: int | None) -> None:
    assert retry_after_s(lines, [], NOW_MS) == seconds


# Retry-After says 05:18:36 by date; the answer's Date lines -> seconds.
SERVER_CLOCKS = {
    "absent": ([], 60),
    "server-5-minutes-behind": (["Mon, 30 Nov 2026 05:12:36 GMT"], 360),
    "server-50-seconds-ahead": (["Mon, 30 Nov 2026 05:18:26 GMT"], 10),
    "server-past-it": (["Mon, 30 Nov 2026 05:30:00 GMT"], 0),
    "obsolete-form": (["Monday, 30-Nov-26 05:12:36 GMT"], 360),
    "as-far-as-believed": (["Sun, 29 Nov 2026 05:17:37 GMT"], 86_459),
    "a-second-too-far": (["Sun, 29 Nov 2026 05:17:36 GMT"], 60),
    "too-far-ahead": (["Tue, 01 Dec 2026 05:17:37 GMT"], 60),
    "epoch": (["Thu, 01 Jan 1970 00:00:00 GMT"], 60),
    "unreadable": (["yesterday"], 60),
    "two-lines": (["Mon, 30 Nov 2026 05:12:36 GMT", "Mon, 30 Nov 2026 05:12:36 GMT"], 60),
}


@pytest.mark.parametrize(("date_lines", "seconds"), SERVER_CLOCKS.values(), ids=SERVER_CLOCKS)
def test_retry_after_date_counts_from_the_servers_own_clock(date_lines: list[str], seconds: int) -> None:
    assert DATE_TOLERANCE_MS == 86_400_000
    assert retry_after_s(["Mon, 30 Nov 2026 05:18:36 GMT"], date_lines, NOW_MS) == seconds
    assert retry_after_s(["90"], date_lines, NOW_MS) == 90


MAX_AGE: dict[str, tuple[list[str], int | None]] = {
    "none": ([], None),
    "empty": ([""], None),
    "plain": (["max-age=60"], 60),
    "upper-case": (["MAX-AGE=60"], 60),
    "quoted": (['max-age="60"'], 60),
    "quoted-escape": (['max-age="6\\0"'], 60),
    "among-others": (["public, max-age=60, immutable"], 60),
    "empty-elements": ([" ,, max-age=60 ,"], 60),
    "blanks-at-the-equals-sign": (["max-age = 60"], 60),
    "zero": (["max-age=0"], 0),
    "huge": (["max-age=99999999999999999999"], DELTA_MAX_S),
    "more-digits-than-int-takes": (["max-age=" + "9" * 5000], DELTA_MAX_S),
    "negative": (["max-age=-1"], None),
    "fraction": (["max-age=1.5"], None),
    "empty-argument": (["max-age="], None),
    "no-argument": (["max-age"], None),
    "word": (["max-age=day"], None),
    "arabic-digits": (["max-age=٦٠"], None),
    "half-quoted": (['max-age="60'], None),
    "one-quote": (['max-age="'], None),
    "other-separator": (["max-age=60; public"], None),
    "repeated": (["max-age=60, max-age=30"], 30),
    "repeated-in-lines": (["max-age=30", "max-age=60"], 30),
    "repeated-one-negative": (["max-age=-5, max-age=60"], 60),
    "no-cache": (["no-cache"], 0),
    "no-store": (["No-Store"], 0),
    "no-cache-and-max-age": (["max-age=60, no-cache"], 0),
    "no-cache-of-a-field": (['no-cache="set-cookie, max-age=5", max-age=60'], 60),
    "inside-a-quoted-string": (['private="x, max-age=5"'], None),
    "after-an-escaped-quote": (['ext="a\\", max-age=5", max-age=60'], 60),
    "after-an-open-quote": (['ext="a, max-age=5'], None),
    "s-maxage": (["s-maxage=5"], None),
    "similar-name": (["x-max-age=5, max-age-x=6"], None),
    "must-revalidate": (["must-revalidate"], None),
}


@pytest.mark.parametrize(("lines", "seconds"), MAX_AGE.values(), ids=MAX_AGE)
def test_max_age(lines: list[str], seconds: int | None) -> None:
    assert max_age_s(lines) == seconds


def test_long_hostile_lines_are_read_in_one_pass() -> None:
    for unit in ('"', '\\"', ",", '",', 'a="b\\', "max-age=,"):
        assert max_age_s([unit * 100_000]) is None
        assert retry_after_s([unit * 100_000], [unit * 100_000], NOW_MS) is None
