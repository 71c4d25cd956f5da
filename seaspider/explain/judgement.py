"""What a run would do with a URL at a moment, by what a store knows then: judged by the crawl's own Frontier.

Decides only what keeps a URL from being decided: no robots.txt on record, one that is over, or one whose bytes are
gone. That is never an allow. Takes the settings of the store's latest run. Never resolves a name, never asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Any

from seaspider.core.addresses import SpecialAddressError, choose, parse_networks
from seaspider.core.frontier import Frontier, FrontierPolicy, NeedsRobots
from seaspider.core.order import RoundRobin
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import CLOCK_TOLERANCE_MS, RobotsEntry
from seaspider.core.robotsfile import RobotsFile, parse
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.core.times import MS_PER_S, parse_rfc3339_ms
from seaspider.core.visits import Hop
from seaspider.errors import StoreError
from seaspider.explain.evidence import Evidence
from seaspider.explain.rows import RunInfo
from seaspider.history import History
from seaspider.journal import Row
from seaspider.storereader import StoreReader


class Undecided(StrEnum):
    """Why nothing is decided."""

    NO_RUN = "no-run"
    NO_RECORD = "no-record"
    EXPIRED = "expired"
    NOT_YET = "not-yet"
    """Fetched later than the moment, by the clock of that run."""
    BODY_MISSING = "body-missing"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`ending` and `undecided` None: it would be asked for. `entry`: the latest robots.txt record of the origin.

    `run`: whose settings count. `hop` tells decision, group and rule.
    """

    at_ms: int
    hop: Hop
    entry: RobotsEntry | None
    ending: Ending | None = None
    undecided: Undecided | None = None
    run: RunInfo | None = None

    @property
    def run_number(self) -> int:
        return self.run.number if self.run else 0


def judge(store: StoreReader, found: Evidence, at_ms: int) -> Judgement:
    """Raises StoreError if the latest run's settings are not as a store has them."""
    hop, run = Hop(found.url), found.runs[-1] if found.runs else None
    entry = found.of_origin[-1] if found.of_origin else None
    if run is None:
        return Judgement(at_ms, hop, entry, undecided=Undecided.NO_RUN)
    settings = _Settings(run.settings)
    files = _Files(store)
    book = RobotsBook(settings.robots_policy())
    book.read_bodies_by(files.readable)
    for each in found.of_origin:
        book.put(each)
    frontier = Frontier(settings.frontier_policy(), book, files.rules, RoundRobin())
    for host, forbidden in found.forbidden.items():
        frontier.forbidden(host, parse_rfc3339_ms(forbidden.at))
    for host, ending in History(unfinished=found.deferred).deferred.items():
        frontier.deferred(host, ending)
    judged = frontier.judge(hop, at_ms)
    if not isinstance(judged, Ending):
        # A turn looks the address up before anything is sent, robots.txt included.
        refused = settings.no_address(found.url.host)
        if refused is not None:
            judged = refused
    if isinstance(judged, NeedsRobots):
        return Judgement(at_ms, hop, entry, undecided=_why_undecided(entry, at_ms), run=run)
    return Judgement(at_ms, hop, entry, ending=judged, run=run)


def _why_undecided(entry: RobotsEntry | None, at_ms: int) -> Undecided:
    if entry is None:
        return Undecided.NO_RECORD
    if entry.expires_at_ms <= at_ms:
        return Undecided.EXPIRED
    return Undecided.NOT_YET if entry.fetched_at_ms - CLOCK_TOLERANCE_MS > at_ms else Undecided.BODY_MISSING


class _Files:
    """Parsed robots.txt files of the store."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    def readable(self, entry: RobotsEntry) -> bool:
        return has_body(self._store, entry)

    def rules(self, entry: RobotsEntry) -> RobotsFile:
        body = self._store.body(entry.sha256 or "")
        if body is None:
            raise StoreError(f"the robots.txt of {entry.origin}, body {entry.sha256}, is gone")
        return parse(body, cut=entry.truncated)


def has_body(store: StoreReader, entry: RobotsEntry) -> bool:
    """Whether the bytes that were parsed are in the store, unchanged."""
    return entry.sha256 is not None and store.body(entry.sha256) is not None


class _Settings:
    """The settings in a run's start line. Raises StoreError for one that is missing or of another type."""

    def __init__(self, row: Row) -> None:
        self._row = row

    def frontier_policy(self) -> FrontierPolicy:
        row = self._row
        return FrontierPolicy(
            token=row.get("token", str),
            crawl_delay_cap_s=row.get("crawl_delay_cap_s", float),
            stop_on_403=row.get("stop_on_403", bool),
            block_ms=int(row.get("block_s", float) * MS_PER_S),
            host_budget=row.get("host_budget", int),
        )

    def robots_policy(self) -> RobotsPolicy:
        row = self._row
        try:
            return RobotsPolicy(
                ttl_s=row.get("robots_ttl_s", float),
                retry_s=row.get("robots_retry_s", float),
                give_up=row.get("give_up", int),
            )
        except ValueError as error:
            raise row.error(str(error)) from error

    def no_address(self, host: str) -> Ending | None:
        """Why a host has no usable address, if that is known without looking it up: a literal, or as resolved by
        SEASPIDER_RESOLVE."""
        resolved: Mapping[str, Any] = self._row.get("resolve", dict)
        try:
            networks = parse_networks(self._row.get("allowed_networks", list))
        except ValueError as error:
            raise self._row.error(f"'allowed_networks': {error}") from error
        try:
            addresses = resolved[host] if host in resolved else [str(ip_address(host))]
        except ValueError:
            return None
        try:
            choose(addresses, networks)
        except SpecialAddressError:
            return Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)
        except ValueError:
            return Ending(Outcome.FAILED, Reason.DNS)
        return None
