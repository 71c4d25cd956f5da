"""What an answer's own header fields say about time: Date, Retry-After, Cache-Control.

Decides how many seconds a server asks for, or that it asked for nothing we understand (None). Never decides what
follows from that (robotsstate, politeness) and reads no clock: `now_ms` comes in as an argument.
A field comes as the sequence of its lines, in order, as text. RFC 9110 sections 5.6.7 (HTTP-date), 6.6.1 (Date) and
10.2.3 (Retry-After); RFC 9111 sections 1.2.2 (delta-seconds), 4.2.1 and 5.2.2 (Cache-Control).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

DELTA_MAX_S: Final = 2_147_483_648
"""Longer durations are read as this one (RFC 9111 section 1.2.2)."""

DATE_TOLERANCE_MS: Final = 86_400_000
"""A Date further from our own clock than this is not taken for the server's clock."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DELTA = re.compile(r"[0-9]+")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_HTTP_DATE_FORMS = (
    re.compile(f"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),  # IMF-fixdate
    re.compile(f"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),  # RFC 850
    re.compile(f"{_DAY} {_MONTH} (?P<day>[0-9 ][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),  # asctime
)
# Commas inside a quoted string separate nothing; a quote that is never closed swallows the rest of its line.
_DIRECTIVE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')


def parse_http_date(text: str, now_ms: int) -> int | None:
    """An HTTP-date in any of its three forms as milliseconds since the epoch; None if it is not one.

    `now_ms` only places two-digit years: the latest year that is not more than 50 years ahead (RFC 9110 section 5.6.7).
    The name of the weekday is not compared with the date: refusing a whole Retry-After over it would shorten a pause.
    """
    found = next((match for form in _HTTP_DATE_FORMS if (match := form.fullmatch(text.strip(" \t")))), None)
    if found is None:
        return None
    month = _MONTHS.index(found["month"]) + 1
    day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
    year = int(found["year"])
    if len(found["year"]) == 2:
        year = _full_year(year, (month, day, hour, minute, second), now_ms)
    leap = second == 60  # the grammar allows a leap second, datetime does not
    try:
        moment = datetime(year, month, day, hour, minute, second - leap, tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + 1000 * leap


def _full_year(two_digits: int, rest: tuple[int, ...], now_ms: int) -> int:
    now = _EPOCH + timedelta(milliseconds=now_ms)
    horizon = (now.year + 50, now.month, now.day, now.hour, now.minute, now.second)
    year = horizon[0] // 100 * 100 + two_digits
    return year if (year, *rest) <= horizon else year - 100


def values_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """The values of a header in the order received; `name` in lower case."""
    return [value for key, value in headers if key.lower() == name]


def texts_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """As values_of(), each octet a character."""
    return [value.decode("latin-1") for value in values_of(headers, name)]


def retry_after_s(lines: Sequence[str], date_lines: Sequence[str], now_ms: int) -> int | None:
    """Seconds the server asks to be left alone, 0 to DELTA_MAX_S; None if it said nothing readable.

    A line is ASCII digits or an HTTP-date. A date counts from the answer's own Date if there is exactly one, readable
    and within DATE_TOLERANCE_MS of `now_ms`, else from `now_ms`; a date gone by is 0. A sign, a fraction or a list
    within a line is unreadable. Of several lines the longest readable one holds: the reading that fetches less.
    """
    base_ms = _server_clock_ms(date_lines, now_ms)
    readings = [_retry_after_line_s(line.strip(" \t"), base_ms, now_ms) for line in lines]
    return max((reading for reading in readings if reading is not None), default=None)


def _server_clock_ms(date_lines: Sequence[str], now_ms: int) -> int:
    date_ms = parse_http_date(date_lines[0], now_ms) if len(date_lines) == 1 else None
    return date_ms if date_ms is not None and abs(date_ms - now_ms) <= DATE_TOLERANCE_MS else now_ms


def _retry_after_line_s(value: str, base_ms: int, now_ms: int) -> int | None:
    seconds = _delta_s(value)
    if seconds is None and (until_ms := parse_http_date(value, now_ms)) is not None:
        seconds = max(0, -((base_ms - until_ms) // 1000))  # rounded up: never back before the named second
    return None if seconds is None else min(seconds, DELTA_MAX_S)


def max_age_s(lines: Sequence[str]) -> int | None:
    """Seconds Cache-Control lets an answer live, 0 to DELTA_MAX_S; None if it sets no readable limit.

    Of several max-age the smallest readable one holds; negative, fractional and wordy ones are passed over. `no-cache`
    and `no-store` without an argument are 0; `no-cache="field"` speaks of that field only. s-maxage is for shared
    caches. Age is not asked for: a life counts from our own fetch, and robots rules have a floor and a ceiling anyway.
    """
    limits = []
    for name, argument in _directives(lines):
        if name in {"no-cache", "no-store"} and argument is None:
            limits.append(0)
        elif name == "max-age" and (seconds := _delta_s(argument or "")) is not None:
            limits.append(seconds)
    return min(limits, default=None)


def _directives(lines: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    for line in lines:
        for element in _DIRECTIVE.findall(line):
            name, equals, argument = (part.strip(" \t") for part in element.partition("="))
            yield name.lower(), _unquoted(argument) if equals else None


def _unquoted(argument: str) -> str:
    if len(argument) >= 2 and argument[0] == argument[-1] == '"':
        return re.sub(r"\\(.)", r"\1", argument[1:-1])
    return argument


def _delta_s(text: str) -> int | None:
    if not _DELTA.fullmatch(text):
        return None
    digits = text.lstrip("0")
    # The length is looked at first: int() refuses very long runs of digits.
    return min(int(digits or "0"), DELTA_MAX_S) if len(digits) <= 10 else DELTA_MAX_S
