"""What is known about the robots.txt of each origin, and which of it is in force.

Decides whether an origin must be asked, why it is asked again, with which validators, what a 304 renews and when an
origin is given up. Never asks, parses or opens robots.jsonl: lines come in and go out as mappings, `now_ms` comes in.
Expired rules are not in force, even while every refetch fails; only their validators live on.
RFC 9309 section 2.4 (caching); RFC 9110 section 13.1 and RFC 9111 sections 4.3.1 and 4.3.4 (conditional requests).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from seaspider.core.httpfields import parse_http_date
from seaspider.core.robotsstate import (
    RobotsCause,
    RobotsPolicy,
    RobotsReason,
    RobotsState,
    expires_at_ms,
)
from seaspider.core.times import MS_PER_S, parse_rfc3339_ms, rfc3339_ms

CLOCK_TOLERANCE_MS: Final = 600_000
"""An entry fetched further in the future than this was written under another clock: it is not in force."""

_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')  # RFC 9110 section 8.8.3
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One request on the way to a robots.txt. `error`: a word of the door's, where no answer came."""

    url: str
    ip: str | None = None
    status: int | None = None
    location: str | None = None
    error: str | None = None


class RobotsRowError(ValueError):
    """A line of robots.jsonl that does not say what one must say."""


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """One line of robots.jsonl, and `failures`: retry periods unreachable in a row, counted from the lines by the book.

    `chain` holds the request that was answered last; `sha256`, `bytes`, `truncated` and `sitemaps` are of the parsed
    body and empty in the other states. `*_at_ms` are stored as RFC 3339. Raises ValueError if the fields disagree.
    """

    run: int
    id: int
    origin: str
    cause: RobotsCause
    chain: tuple[RobotsHop, ...]
    state: RobotsState
    reason: RobotsReason | None
    status: int | None
    sha256: str | None
    bytes: int | None
    truncated: bool
    etag: str | None
    last_modified: str | None
    retry_after_s: int | None
    fetched_at_ms: int
    expires_at_ms: int
    sitemaps: tuple[str, ...] = ()
    failures: int = 0

    def __post_init__(self) -> None:
        parsed = self.state is RobotsState.PARSED
        if (self.reason is not None) != (self.state is RobotsState.UNREACHABLE):
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with reason {self.reason}")
        if (self.sha256 is not None) != parsed or (self.bytes is not None) != parsed:
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with body {self.sha256}")
        if not parsed and (self.truncated or self.sitemaps):
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with rules")
        if self.expires_at_ms <= self.fetched_at_ms:
            raise ValueError(f"robots entry {self.id} of {self.origin}: over at {self.expires_at_ms}, before it begins")

    @property
    def body_url(self) -> str:
        """The URL that gave the body (or refused it): the one its validators may be sent to."""
        return self.chain[-1].url if self.chain else f"{self.origin}/robots.txt"

    def to_row(self) -> dict[str, Any]:
        """The line as a mapping, keys in their fixed order; the writer adds the format's version."""
        return {
            "run": self.run,
            "id": self.id,
            "origin": self.origin,
            "cause": self.cause.value,
            "chain": [
                {"url": hop.url, "ip": hop.ip, "status": hop.status, "location": hop.location, "error": hop.error}
                for hop in self.chain
            ],
            "state": self.state.value,
            "reason": self.reason.value if self.reason else None,
            "status": self.status,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "truncated": self.truncated,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "retry_after_s": self.retry_after_s,
            "fetched_at": rfc3339_ms(self.fetched_at_ms),
            "expires_at": rfc3339_ms(self.expires_at_ms),
            "sitemaps": list(self.sitemaps),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "RobotsEntry":
        """The entry a line holds, `failures` 0. Raises RobotsRowError; keys it does not know are passed over."""
        try:
            reason = _optional(row, "reason", str)
            return cls(
                run=_typed(row, "run", int),
                id=_typed(row, "id", int),
                origin=_typed(row, "origin", str),
                cause=RobotsCause(_typed(row, "cause", str)),
                chain=tuple(_hop(hop) for hop in _typed(row, "chain", list)),
                state=RobotsState(_typed(row, "state", str)),
                reason=None if reason is None else RobotsReason(reason),
                status=_optional(row, "status", int),
                sha256=_optional(row, "sha256", str),
                bytes=_optional(row, "bytes", int),
                truncated=_typed(row, "truncated", bool),
                etag=_optional(row, "etag", str),
                last_modified=_optional(row, "last_modified", str),
                retry_after_s=_optional(row, "retry_after_s", int),
                fetched_at_ms=parse_rfc3339_ms(_typed(row, "fetched_at", str)),
                expires_at_ms=parse_rfc3339_ms(_typed(row, "expires_at", str)),
                sitemaps=tuple(_checked("sitemaps", url, str) for url in _typed(row, "sitemaps", list)),
            )
        except ValueError as error:
            raise RobotsRowError(f"robots.jsonl: {error}") from error


def _typed(row: Mapping[str, Any], key: str, kind: type[_T]) -> _T:
    if key not in row:
        raise ValueError(f"no {key!r}")
    return _checked(key, row[key], kind)


def _optional(row: Mapping[str, Any], key: str, kind: type[_T]) -> _T | None:
    return None if key in row and row[key] is None else _typed(row, key, kind)


def _checked(key: str, value: object, kind: type[_T]) -> _T:
    # A bool is an int to isinstance, but never to this file.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{key!r} is {value!r}, not of type {kind.__name__}")
    return value


def _hop(value: object) -> RobotsHop:
    hop = _checked("chain", value, dict)
    return RobotsHop(
        url=_typed(hop, "url", str),
        ip=_optional(hop, "ip", str),
        status=_optional(hop, "status", int),
        location=_optional(hop, "location", str),
        error=_optional(hop, "error", str),
    )


class RobotsBook:
    """The current entry of each origin, and its last parsed one for its validators. Mutable, filled in file order."""

    def __init__(self, policy: RobotsPolicy) -> None:
        self._policy = policy
        self._current: dict[str, RobotsEntry] = {}
        self._body: dict[str, RobotsEntry] = {}
        self._readable: Callable[[RobotsEntry], bool] = lambda entry: True

    def read_bodies_by(self, readable: Callable[[RobotsEntry], bool]) -> None:
        """`readable`: whether the bytes of a parsed entry can be had. If not, it is not in force and not renewed."""
        self._readable = readable

    def load(self, row: Mapping[str, Any]) -> RobotsEntry:
        """Put an earlier line of robots.jsonl. Raises RobotsRowError; the book is unchanged then."""
        return self.put(RobotsEntry.from_row(row))

    def put(self, entry: RobotsEntry) -> RobotsEntry:
        """Make `entry` the current one of its origin and return it with its `failures` counted.

        Failures that fall into one retry period, as in a file written by two processes, are one.
        """
        counted = replace(entry, failures=self._failures(entry))
        self._current[entry.origin] = counted
        if entry.state is RobotsState.PARSED:
            self._body[entry.origin] = counted
        elif entry.state is RobotsState.ABSENT:
            self._body.pop(entry.origin, None)
        return counted

    def _failures(self, entry: RobotsEntry) -> int:
        if entry.state is not RobotsState.UNREACHABLE:
            return 0
        before = self._current.get(entry.origin)
        if before is None or before.failures == 0:
            return 1
        same_period = before.fetched_at_ms <= entry.fetched_at_ms < before.expires_at_ms
        return before.failures + (not same_period)

    def in_force(self, origin: str, now_ms: int) -> RobotsEntry | None:
        """The entry that decides for the origin now; None: its robots.txt must be fetched first."""
        entry = self._current.get(origin)
        if entry is None or not entry.fetched_at_ms - CLOCK_TOLERANCE_MS <= now_ms < entry.expires_at_ms:
            return None
        if entry.state is RobotsState.PARSED and self._with_body(origin) is None:
            return None
        return entry

    def _with_body(self, origin: str) -> RobotsEntry | None:
        """The last parsed entry of the origin, if it can be read."""
        entry = self._body.get(origin)
        if entry is not None and not self._readable(entry):
            self.lose_body(origin)
            return None
        return entry

    def cause(self, origin: str, now_ms: int) -> RobotsCause:
        """Why the origin is asked now. Raises ValueError if it must not be, an entry being in force."""
        if self.in_force(origin, now_ms) is not None:
            raise ValueError(f"{origin}: asked for robots.txt while an entry is in force")
        entry = self._current.get(origin)
        if entry is None:
            return RobotsCause.FIRST
        return RobotsCause.RETRY if entry.state is RobotsState.UNREACHABLE else RobotsCause.EXPIRED

    def conditional_headers(self, origin: str, url: str | None = None) -> tuple[tuple[str, str], ...]:
        """Validators for the hop that asks `url` (default: the origin's own /robots.txt) for the origin's robots.txt.

        Empty unless the last answer that was no failure was parsed, its body is known and came from this very URL: a
        redirecting URL never saw that ETag. A value that is no entity tag, or no HTTP-date, is not sent back.
        """
        entry = self._with_body(origin)
        if entry is None or entry.body_url != (url or f"{origin}/robots.txt"):
            return ()
        headers = []
        if entry.etag is not None and _ETAG.fullmatch(entry.etag):
            headers.append(("If-None-Match", entry.etag))
        if entry.last_modified is not None and parse_http_date(entry.last_modified, entry.fetched_at_ms) is not None:
            headers.append(("If-Modified-Since", entry.last_modified))
        return tuple(headers)

    def renew(
        self,
        origin: str,
        *,
        run: int,
        id: int,
        cause: RobotsCause,
        chain: tuple[RobotsHop, ...],
        fetched_at_ms: int,
        max_age_s: int | None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> RobotsEntry:
        """The entry a 304 makes of the last parsed one: its body and sitemaps, new times. It is not put.

        A validator the 304 brings replaces the earlier one; without a max-age the earlier life holds, as the earlier
        Cache-Control does (RFC 9111 section 4.3.4). Raises ValueError if there is no body the 304 could speak of.
        """
        entry = self._body.get(origin)
        if entry is None:
            raise ValueError(f"{origin}: a 304 without an earlier robots.txt")
        life_s = (entry.expires_at_ms - entry.fetched_at_ms) / MS_PER_S
        return replace(
            entry,
            run=run,
            id=id,
            cause=cause,
            chain=chain,
            status=304,
            etag=etag or entry.etag,
            last_modified=last_modified or entry.last_modified,
            retry_after_s=None,
            fetched_at_ms=fetched_at_ms,
            expires_at_ms=expires_at_ms(
                RobotsState.PARSED, fetched_at_ms, life_s if max_age_s is None else max_age_s, None, self._policy
            ),
        )

    def lose_body(self, origin: str) -> None:
        """The bytes of the origin's last parsed entry are not in the store: its rules cannot be used or renewed."""
        self._body.pop(origin, None)

    def given_up(self, origin: str) -> bool:
        """Whether the origin was unreachable in as many periods in a row as the policy bears.

        Ask it of an entry in force; once that is over, another failure must be seen before the next URLs are given up.
        """
        entry = self._current.get(origin)
        return entry is not None and entry.failures >= self._policy.give_up
