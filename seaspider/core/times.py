"""Times as the records hold them: integers inside, RFC 3339 text in the store.

Wall-clock times are whole milliseconds since the Unix epoch (`*_ms`), CLOCK_BOOTTIME is whole nanoseconds (`*_ns`), and
the seconds of a setting become either without ever getting shorter. Nothing here reads a clock.
RFC 3339 section 5.6; the store writes and reads one form of it only: UTC, three decimals, `Z`.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

MS_PER_S = 1_000
NS_PER_S = 1_000_000_000
NS_PER_MS = NS_PER_S // MS_PER_S

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STORED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def rfc3339_ms(wall_ms: int) -> str:
    """`1796015856123` -> `"2026-11-30T05:17:36.123Z"`. Raises ValueError outside the years 1 to 9999."""
    seconds, ms = divmod(wall_ms, MS_PER_S)
    try:
        return f"{_to_the_second(seconds)}.{ms:03d}Z"
    except OverflowError as error:
        raise ValueError(f"no RFC 3339 time: {wall_ms} ms since the epoch") from error


@lru_cache(maxsize=16)
def _to_the_second(seconds: int) -> str:
    """A request has half a dozen times, most of them of one second."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def parse_rfc3339_ms(text: str) -> int:
    """Exactly what rfc3339_ms writes, back as milliseconds. Raises ValueError for any other form or no such moment."""
    if not _STORED.fullmatch(text):
        raise ValueError(f"not a time of the store (YYYY-MM-DDThh:mm:ss.mmmZ): {text!r}")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def ms_from_s(seconds: float) -> int:
    """Whole milliseconds, rounded up. Raises ValueError if negative, infinite or not a number."""
    return _scaled(seconds, MS_PER_S)


def ns_from_s(seconds: float) -> int:
    """Whole nanoseconds, rounded up. Raises ValueError if negative, infinite or not a number."""
    return _scaled(seconds, NS_PER_S)


@lru_cache(maxsize=256)
def _scaled(seconds: float, factor: int) -> int:
    # Over the decimal that was typed, not the binary float: 0.07 s is 70 ms, though 0.07 * 1000 is above 70.
    exact = Decimal(repr(seconds))
    if not exact.is_finite() or exact < 0:
        raise ValueError(f"not a duration in seconds: {seconds!r}")
    return int((exact * factor).to_integral_value(ROUND_CEILING))
