"""What is known about the robots.txt of each origin, and which of it is in force.

Decides whether an origin must be asked, why it is asked again, with which validators, what a 304 renews and when an
origin is given up. Never asks, parses or opens robots.jsonl: lines come in and go out as mappings, `now_ms` comes in.
Expired rules are not in force, even while every refetch fails; only their validators live on.
RFC 9309 section 2.4 (caching); RFC 9110 section 13.1 and RFC 9111 sections 4.3.1 and 4.3.4 (conditional requests).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from seaspider.core.httpfields import parse_http_date
from seaspider.core.robotsentry import CLOCK_TOLERANCE_MS, RobotsEntry, RobotsHop
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsState, expires_at_ms
from seaspider.core.times import MS_PER_S

_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')  # RFC 9110 section 8.8.3


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
        failures = self._failures(entry)
        counted = entry if entry.failures == failures else replace(entry, failures=failures)
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
