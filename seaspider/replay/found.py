"""What a line of pages or robots.txt says of the request, or the lookup, that brought it.

Judges nothing. Raises StoreError, with file and line, for a line that is not as a store has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seaspider import http1
from seaspider.core.records import Outcome, Reason
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.journal import Row

_WIRE_FLAGS = frozenset(map(str, http1.Flag))


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store has of an answer beside what requests.jsonl says. `flags`: those that are of the wire."""

    sha256: str | None = None
    clipped: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a visit, or of a robots.txt fetch. `visit`: None for a fetch; `url`, `host`, `ip`, `status` and
    `error` are of its last hop."""

    row: Row
    visit: int | None
    when_ms: int
    """When its last turn was judged; of a fetch, when its answer was in."""
    url: str
    host: str
    ip: str | None
    status: int | None
    error: str | None
    reason: str | None
    not_before_ms: int | None
    kept: Kept

    @property
    def no_address(self) -> Reason | None:
        """What was wrong with the host's address, if that ended it: DNS, there is no such name; BACKOFF, nobody could
        say; SPECIAL_ADDRESS, see `ip`."""
        if self.status is not None:
            return None
        if self.reason == Reason.SPECIAL_ADDRESS:
            return Reason.SPECIAL_ADDRESS
        if self.error == Reason.DNS:
            return Reason.BACKOFF
        return Reason.DNS if self.reason == Reason.DNS else None


def of_page(row: Row) -> Found:
    """Of a line of pages.jsonl."""
    hop = _last_hop(row)
    judged_ms, started_ms, ended_ms = (
        None if hop.optional("judged_at", str) is None else hop.milliseconds("judged_at"),
        row.milliseconds("started_at"),
        row.milliseconds("ended_at"),
    )
    stored = row.get("outcome", str) == Outcome.STORED
    return Found(
        row=row,
        visit=row.get("visit", int),
        when_ms=started_ms if judged_ms is None or _is_kept(judged_ms, started_ms, ended_ms) else judged_ms,
        not_before_ms=None if row.optional("not_before", str) is None else row.milliseconds("not_before"),
        kept=Kept(
            sha256=row.optional("sha256", str) if stored else None,
            flags=tuple(flag for flag in row.get("flags", list) if flag in _WIRE_FLAGS),
        ),
        **_of_hop(row, hop),
    )


def of_robots(row: Row) -> Found:
    """Of a line of robots.jsonl."""
    renewed = row.optional("status", int) == 304
    return Found(
        row=row,
        visit=None,
        when_ms=row.milliseconds("fetched_at"),
        not_before_ms=None,
        kept=Kept(None if renewed else row.optional("sha256", str), row.get("truncated", bool)),
        **_of_hop(row, _last_hop(row)),
    )


def _is_kept(judged_ms: int, started_ms: int, ended_ms: int) -> bool:
    """Whether a page record is one of an earlier run, kept: its chain holds that run's times, so it was judged at its
    first turn. If it ends before it starts, somebody set the clock meanwhile."""
    return started_ms <= ended_ms and not started_ms <= judged_ms <= ended_ms


def url_of(row: Row) -> Url:
    """Its `url`, as a crawl asks for it."""
    try:
        return normalise(row.get("url", str))
    except UrlError as error:
        raise row.error(f"'url': {error}") from error


def _last_hop(row: Row) -> Row:
    chain = row.get("chain", list)
    if not chain or not isinstance(chain[-1], Mapping):
        raise row.error(f"'chain' is {chain!r}, without a last hop")
    return Row(row.place, dict(chain[-1]))


def _of_hop(row: Row, hop: Row) -> dict[str, Any]:
    url = url_of(hop)
    return {
        "url": url.text,
        "host": url.host,
        "ip": hop.optional("ip", str),
        "status": hop.optional("status", int),
        "error": hop.optional("error", str),
        "reason": row.optional("reason", str),
    }
