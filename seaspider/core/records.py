"""The vocabulary of the store: outcomes, reasons, and how a record becomes a line.

Decides which outcomes are final and what a JSONL line looks like (format 1, fixed key order, ASCII escapes, one object
a line). Never opens a file and never reads a clock: times come in as RFC 3339 text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FORMAT = 1

# Left out when two stores are compared: they say when, not what.
TIME_FIELDS = frozenset({"not_before", "boot_id"})
TIME_SUFFIXES = ("_at", "_ns")


class File(StrEnum):
    """The journal files of a store."""

    MANIFEST = "manifest.jsonl"
    SKIPPED = "skipped.jsonl"
    ROBOTS = "robots.jsonl"
    INTENTS = "intents.jsonl"
    REQUESTS = "requests.jsonl"
    PAGES = "pages.jsonl"
    LINKS = "links.jsonl"


PAGE_FLAGS = frozenset(
    {
        # of the transport
        *("skipped-header-line", "folded-header", "bare-cr", "both-lengths", "chunked-in-http-1.0"),
        *("no-length", "no-close-notify", "unknown-coding"),
        # of the page
        *("binary-body", "parse-limited", "links-limited"),
    }
)
"""What a page record may say was read leniently: http1.Flag and html.PageFlag."""


class Outcome(StrEnum):
    STORED = "stored"
    DISALLOWED = "disallowed"
    REFUSED = "refused"
    FAILED = "failed"
    DEFERRED = "deferred"
    BLOCKED = "blocked"

    @property
    def final(self) -> bool:
        """A final outcome is never asked again; the others say when it may be."""
        return self not in (Outcome.DEFERRED, Outcome.BLOCKED)


class Reason(StrEnum):
    ROBOTS_RULE = "robots-rule"
    SPECIAL_ADDRESS = "special-address"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    REDIRECT_LIMIT = "redirect-limit"
    REDIRECT_LOOP = "redirect-loop"
    BAD_LOCATION = "bad-location"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    CUT = "cut"
    TOO_LARGE = "too-large"
    DECODE = "decode"
    PROTOCOL = "protocol"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    HTTP_429 = "http-429"
    HTTP_5XX = "http-5xx"
    CRAWL_DELAY = "crawl-delay"
    RETRY_AFTER = "retry-after"
    BACKOFF = "backoff"
    BUDGET = "budget"
    FORBIDDEN = "forbidden"


_REASONS: dict[Outcome, frozenset[Reason]] = {
    Outcome.STORED: frozenset(),
    Outcome.DISALLOWED: frozenset({Reason.ROBOTS_RULE}),
    Outcome.REFUSED: frozenset(
        {
            Reason.SPECIAL_ADDRESS,
            Reason.SCHEME,
            Reason.USERINFO,
            Reason.REDIRECT_LIMIT,
            Reason.REDIRECT_LOOP,
            Reason.BAD_LOCATION,
        }
    ),
    Outcome.FAILED: frozenset(
        {
            Reason.DNS,
            Reason.CONNECT,
            Reason.TLS,
            Reason.TIMEOUT,
            Reason.RESET,
            Reason.CUT,
            Reason.TOO_LARGE,
            Reason.DECODE,
            Reason.PROTOCOL,
            Reason.ROBOTS_UNREACHABLE,
            Reason.HTTP_429,
            Reason.HTTP_5XX,
        }
    ),
    Outcome.DEFERRED: frozenset(
        {Reason.CRAWL_DELAY, Reason.ROBOTS_UNREACHABLE, Reason.RETRY_AFTER, Reason.BACKOFF, Reason.BUDGET}
    ),
    Outcome.BLOCKED: frozenset({Reason.FORBIDDEN}),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a visit ends. `not_before_ms`: wall clock ms since the epoch before which it is not asked again, if known."""

    outcome: Outcome
    reason: Reason | None = None
    not_before_ms: int | None = None

    def __post_init__(self) -> None:
        allowed = _REASONS[self.outcome]
        if (self.reason not in allowed) if allowed else (self.reason is not None):
            raise ValueError(f"{self.outcome} does not go with reason {self.reason}")

    def __str__(self) -> str:
        return f"{self.outcome}/{self.reason}" if self.reason else str(self.outcome)


STORED = Ending(Outcome.STORED)

quoted = json.encoder.encode_basestring_ascii
"""A text as it stands in a line, with its quotation marks."""
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def to_line(record: Mapping[str, Any] | bytes) -> bytes:
    """One JSON object and a line feed. `"v"` is put first; keys keep the record's order. What is a line stays one.

    ASCII escapes everywhere: no control character, U+2028 or lone surrogate of a server can break a line.
    Raises ValueError for NaN and infinities.
    """
    if isinstance(record, bytes):
        return record
    return (_ENCODER.encode({"v": FORMAT, **record}) + "\n").encode("ascii")


def without_times(value: Any) -> Any:
    """The record with every time field taken out, at any depth: what two stores are compared by."""
    if isinstance(value, Mapping):
        return {
            key: without_times(item)
            for key, item in value.items()
            if key not in TIME_FIELDS and not key.endswith(TIME_SUFFIXES)
        }
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value
