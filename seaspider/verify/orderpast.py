"""What the runs before left for the next: URLs done, waiting or followed, hosts that said no, robots.txt entries.

Taken from the records alone, in file order, as `scrapy crawl` takes it when it starts. Judges nothing.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from seaspider.core.records import Outcome, Reason
from seaspider.core.robotsentry import RobotsEntry, RobotsRowError
from seaspider.core.robotsstate import RobotsState
from seaspider.journal import Row
from seaspider.verify.orderfacts import fingerprint
from seaspider.verify.proof import Refuted

# A record that is kept says these anew.
_OF_THE_VISIT = ("v", "run", "visit", "url", "line", "depth", "via", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A URL's latest record, if it is not final."""

    digest: bytes
    not_before_ms: int | None
    reason: str
    host: str
    """Of its final URL."""


@dataclass(frozen=True, slots=True)
class Known:
    """The robots.txt entry of an origin. `failures`: retry periods unreachable in a row."""

    id: int
    state: RobotsState
    failures: int
    fetched_ms: int
    expires_ms: int


@dataclass(slots=True)
class Followed:
    """Links that were followed, in file order: origin, URL, depth of its page and digest of the page it was on."""

    origins: array[int] = field(default_factory=lambda: array("L"))
    urls: array[int] = field(default_factory=lambda: array("Q"))
    depths: array[int] = field(default_factory=lambda: array("L"))
    vias: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, origin: int, url: int, depth: int, via: int) -> None:
        self.origins.append(origin)
        self.urls.append(url)
        self.depths.append(depth)
        self.vias.append(via)

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(self.origins, self.urls, self.depths, self.vias, strict=True)

    def __len__(self) -> int:
        return len(self.urls)


@dataclass(slots=True)
class Past:
    done: set[int] = field(default_factory=set)
    """URLs whose latest record is final."""
    failed: set[int] = field(default_factory=set)
    """Those of them that failed: a later run may have been told to take them up again."""
    waiting: dict[int, Waiting] = field(default_factory=dict)
    forbidden_ms: dict[str, int] = field(default_factory=dict)
    """Hosts that answered 403 to a page, and when."""
    followed: Followed = field(default_factory=Followed)
    robots: dict[str, Known] = field(default_factory=dict)

    def page(self, row: Row, final_host: str) -> None:
        """Takes in a page record, the latest of its URL."""
        url, outcome = fingerprint(row.get("url", str)), Outcome(row.get("outcome", str))
        self.done.discard(url)
        self.failed.discard(url)
        self.waiting.pop(url, None)
        if outcome.final:
            self.done.add(url)
        else:
            until_ms = None if row.optional("not_before", str) is None else row.milliseconds("not_before")
            self.waiting[url] = Waiting(digest(row), until_ms, row.get("reason", str), final_host)
        if outcome is Outcome.FAILED:
            self.failed.add(url)
        if outcome is Outcome.STORED and row.get("status", int) == 403:
            answered_ms = row.milliseconds("ended_at")
            self.forbidden_ms[final_host] = max(answered_ms, self.forbidden_ms.get(final_host, answered_ms))

    def deferred(self) -> dict[str, tuple[int, str]]:
        """Hosts that asked for a pause that was not waited for: until when, and the reason."""
        hosts: dict[str, tuple[int, str]] = {}
        for record in self.waiting.values():
            until_ms = record.not_before_ms
            if until_ms is None or record.reason not in (Reason.RETRY_AFTER, Reason.BACKOFF):
                continue
            if record.host not in hosts or hosts[record.host][0] < until_ms:
                hosts[record.host] = until_ms, record.reason
        return hosts

    def robots_row(self, row: Row) -> RobotsEntry:
        """Takes in a line of robots.jsonl."""
        try:
            entry = RobotsEntry.from_row(row.record)
        except RobotsRowError as error:
            raise Refuted(row.place, str(error)) from error
        before, failures = self.robots.get(entry.origin), 0
        if entry.state is RobotsState.UNREACHABLE:
            failures = 1
            if before is not None and before.failures:
                same_period = before.fetched_ms <= entry.fetched_at_ms < before.expires_ms
                failures = before.failures + (not same_period)
        self.robots[entry.origin] = Known(entry.id, entry.state, failures, entry.fetched_at_ms, entry.expires_at_ms)
        return entry


def digest(row: Row) -> bytes:
    """Of what a kept record repeats."""
    kept = {key: value for key, value in row.record.items() if key not in _OF_THE_VISIT}
    return blake2b(json.dumps(kept).encode(), digest_size=16).digest()
