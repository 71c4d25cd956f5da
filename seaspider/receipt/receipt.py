"""What a store tells of one host, for the person who runs it: gathered from the records, worded elsewhere.

Keeps the lines that concern the host and no other. Judges nothing but what it counts, never guesses what is not
recorded, and never writes. Raises StoreError, with file and line, for what is no store of format 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from seaspider.core.credentials import without_userinfo_anywhere
from seaspider.core.politeness import PauseBasis
from seaspider.core.records import File
from seaspider.core.times import ns_from_s
from seaspider.core.urls import UrlError, host_of, normalise
from seaspider.errors import UsageFault
from seaspider.journal import Row
from seaspider.receipt.pages import PageFact, begun_of, pages_of
from seaspider.receipt.requests import ROBOTS, Asked, Gaps, Meter, Requests
from seaspider.receipt.robots import OriginFact, RobotsFiles, robots_of
from seaspider.receipt.source import Source
from seaspider.verify.evidence import RunInfo

FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class RunFact:
    """A run as far as it matters to a host. `ended_ms`: None if its end is not recorded."""

    run: int
    boot_id: str
    started_ms: int
    ended_ms: int | None
    reason: str | None
    versions: Mapping[str, str]
    user_agent: str
    contact: str | None
    token: str
    interval_s: float
    ip_interval_s: float
    crawl_delay_cap_s: float
    robots_ttl_s: float
    stop_on_403: bool


@dataclass(frozen=True, slots=True)
class Slowed:
    """A request after which the host was given a longer pause than usual, or asked for one. `following`: the next one;
    `gap_ns`: until that, if it can be measured."""

    asked: Asked
    following: Asked | None
    gap_ns: int | None


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A page request answered 403. `stops`: its run was to stop asking the host then. `next_page`: the next one all the
    same, which may have come when the block was over."""

    asked: Asked
    stops: bool
    next_page: Asked | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """`given`: HOST as it was typed. `latest`: the store's last run, None in an empty store. `runs`: those that asked
    the host, or recorded a page or robots.txt of it. `gaps_ns`: for each of `asked` the time since the one before, if
    it can be measured. `came_from`: (run, n) of a page request -> the URL of another host that led to it.
    `begun`: visits of its own URLs. `skipped`: lines of the list that name one of them again. `strays`: ends of
    requests, of whatever host, without a beginning. `names_at`: hosts that were asked at `host`, if that is an
    address."""

    given: str
    host: str
    latest: RunFact | None
    runs: tuple[RunFact, ...]
    asked: tuple[Asked, ...]
    gaps_ns: tuple[int | None, ...]
    came_from: Mapping[tuple[int, int], str]
    pages: tuple[PageFact, ...]
    origins: tuple[OriginFact, ...]
    robots_for_others: int
    gaps: Gaps
    ip_gaps: Mapping[str, Gaps]
    begun: int
    skipped: int
    strays: int
    names_at: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the store knows anything of the host."""
        return bool(self.asked or self.pages or self.origins or self.begun or self.skipped)

    @property
    def redirected(self) -> int:
        """Requests that came by redirect from another host, to a page or on the way to its robots.txt."""
        return len(self.came_from) + self.robots_for_others

    @property
    def longest_pause(self) -> Asked | None:
        """The first of the requests that the longest pause followed."""
        settled = [each for each in self.asked if each.pause_s is not None]
        return max(settled, key=lambda each: each.pause_s or 0, default=None)

    @property
    def slowed(self) -> tuple[Slowed, ...]:
        """The requests that made the pause longer, or whose answer asked for it, and what came after each."""
        following = zip(self.asked, [*self.asked[1:], None], [*self.gaps_ns[1:], None], strict=False)
        return tuple(Slowed(each, after, gap_ns) for each, after, gap_ns in following if each.slowed)

    @property
    def forbidden(self) -> tuple[Forbidden, ...]:
        """The page requests that were answered 403, and what came after each."""
        stops = {run.run: run.stop_on_403 for run in self.runs}
        pages = [each for each in self.asked if each.kind != ROBOTS]
        followed = zip(pages, [*pages[1:], None], strict=False)
        return tuple(
            Forbidden(each, stops[each.run], following) for each, following in followed if each.status == FORBIDDEN
        )


def host_named(text: str) -> str:
    """The host that a text names: a name or address, with or without brackets, port or scheme. Raises UsageFault."""
    named = text.strip()
    if "://" not in named:
        bare_ipv6 = named.count(":") > 1 and "[" not in named
        named = f"http://[{named}]/" if bare_ipv6 else f"http://{named}/"
    try:
        return normalise(named).host
    except UrlError as error:
        shown = without_userinfo_anywhere(text)
        raise UsageFault(f"HOST {shown!r}: is no host name, address or URL ({error.reason})") from error


def gather(source: Source, given: str, host: str) -> Receipt:
    """All that the store tells of `host`. Reads requests.jsonl twice, the other files once. Raises StoreError."""
    store = _Snapshot(source)
    requests = Requests(store.rows(File.REQUESTS), lambda row: row.get("host", str) == host)
    asked, meter = tuple(requests), Meter()
    gaps_ns = tuple(meter.add(each, store.runs[each.run].boot_id, each.pause_ns) for each in asked)
    skipped = sum(host_of(row.optional("url", str) or "") == host for row in store.rows(File.SKIPPED))
    begun, elsewhere = begun_of(store.rows(File.INTENTS), host, {(each.run, each.visit) for each in asked})
    pages = pages_of(store.rows(File.PAGES), host, elsewhere)
    files = RobotsFiles(source, {run: fact.token for run, fact in store.runs.items()})
    asked_robots = Counter((each.run, each.url) for each in asked if each.kind == ROBOTS)
    origins, for_others = robots_of(store.rows(File.ROBOTS), host, files, asked_robots)
    runs = {each.run for each in asked} | {page.run for page in pages.latest}
    runs |= {record.entry.run for origin in origins for record in origin.records}
    return Receipt(
        given=given,
        host=host,
        latest=store.runs[store.last] if store.runs else None,
        runs=tuple(fact for run, fact in store.runs.items() if run in runs),
        asked=asked,
        gaps_ns=gaps_ns,
        came_from={(each.run, each.n): url for each in asked if (url := pages.came_from(each)) is not None},
        pages=pages.latest,
        origins=origins,
        robots_for_others=for_others,
        gaps=meter.gaps,
        ip_gaps=_ip_gaps(store, sorted({each.ip for each in asked})),
        begun=begun,
        skipped=skipped,
        strays=requests.strays,
        names_at=_names_at(store, host),
    )


def _names_at(store: _Snapshot, host: str) -> tuple[str, ...]:
    """The names that were asked at an address. People who complain may know no more than that."""
    if not _is_address(host):
        return ()
    requests = Requests(store.rows(File.REQUESTS), lambda row: row.get("ip", str) == host)
    return tuple(sorted({normalise(each.url).host for each in requests} - {host}))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class _Snapshot:
    """The store as far as the manifest told of it when it was read: a crawl may begin in it meanwhile."""

    def __init__(self, source: Source) -> None:
        self.runs = {info.number: _run(info) for info in source.runs}
        self.last = max(self.runs, default=0)
        self._source = source

    def rows(self, file: File) -> Iterator[Row]:
        return (row for row in self._source.rows(file) if self._is_of_a_run(row.get("run", int), row))

    def _is_of_a_run(self, run: int, row: Row) -> bool:
        if run not in self.runs and run <= self.last:
            raise row.error(f"run {run} is not in {File.MANIFEST}")
        return run <= self.last


def _run(info: RunInfo) -> RunFact:
    start, settings = info.start, Row(info.start.place, dict(info.settings))
    return RunFact(
        run=info.number,
        boot_id=info.boot_id,
        started_ms=start.milliseconds("started_at"),
        ended_ms=None if info.end is None else info.end.milliseconds("ended_at"),
        reason=None if info.end is None else info.end.get("reason", str),
        versions=start.get("versions", dict),
        user_agent=settings.get("user_agent", str),
        contact=settings.optional("contact", str),
        token=settings.get("token", str),
        interval_s=settings.get("interval_s", float),
        ip_interval_s=settings.get("ip_interval_s", float),
        crawl_delay_cap_s=settings.get("crawl_delay_cap_s", float),
        robots_ttl_s=settings.get("robots_ttl_s", float),
        stop_on_403=settings.get("stop_on_403", bool),
    )


def _ip_gaps(store: _Snapshot, ips: Iterable[str]) -> dict[str, Gaps]:
    """The gaps between requests to each address, whatever the host."""
    meters = {ip: Meter() for ip in ips}
    if meters:
        for each in Requests(store.rows(File.REQUESTS), lambda row: row.get("ip", str) in meters):
            run = store.runs[each.run]
            meters[each.ip].add(each, run.boot_id, _ip_pause_ns(each, run))
    return {ip: meter.gaps for ip, meter in meters.items()}


def _ip_pause_ns(request: Asked, run: RunFact) -> int:
    """The pause of the address: its own interval, or the pause of the host if that is more than the interval."""
    own_ns = ns_from_s(run.ip_interval_s)
    return own_ns if request.pause_basis in (None, PauseBasis.INTERVAL) else max(own_ns, request.pause_ns)
