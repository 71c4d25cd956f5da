"""What a run had to visit, as far as the store tells: the URLs of its queue and the links followed before it.

A run that came to its end has a page record of each. Of one that did not, the URLs that never had a turn are known only
if another run of the same queue (by its digest) met them. Judges nothing.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf

from seaspider.core.records import File
from seaspider.core.robotsstate import RobotsReason
from seaspider.journal import Row
from seaspider.verify.evidence import Evidence, RunInfo
from seaspider.verify.orderfacts import Lines, Places, count, fingerprint, lines_of
from seaspider.verify.orderpast import Past

NO_LINE = -1
NEVER = 2**62
"""In the place of a visit's number: it did not begin."""
UNKNOWN = 0
"""In the place of a URL's digest: which one it was nobody knows."""


@dataclass(slots=True)
class Tasks:
    """URLs to visit, by number: origin, digest of the URL, queue line, depth, digest of the page that linked to it."""

    origins: array[int] = field(default_factory=lambda: array("L"))
    urls: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    depths: array[int] = field(default_factory=lambda: array("L"))
    vias: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, origin: int, url: int, line: int = NO_LINE, depth: int = 0, via: int = UNKNOWN) -> int:
        self.origins.append(origin)
        self.urls.append(url)
        self.lines.append(line)
        self.depths.append(depth)
        self.vias.append(via)
        return len(self.urls) - 1

    def __len__(self) -> int:
        return len(self.urls)


@dataclass(slots=True)
class Begun:
    """What the records of one run name: its queue lines with their URLs, and which visits have which records."""

    lines: array[int] = field(default_factory=lambda: array("q"))
    urls: array[int] = field(default_factory=lambda: array("Q"))
    origins: array[int] = field(default_factory=lambda: array("L"))
    visits: array[int] = field(default_factory=lambda: array("L"))
    followed: set[int] = field(default_factory=set)
    """Digests of the URLs without a line."""
    ended: set[int] = field(default_factory=set)
    """Visits with a page record. Looked at only if the run did not come to its end."""
    only_robots: dict[int, int] = field(default_factory=dict)
    """Visits that got no further than robots.txt, by number, with the origin that was asked."""
    moved: set[str] = field(default_factory=set)
    """Hosts that a visit, or its robots.txt fetch, went to from another host, and those it came from."""
    dropped: set[str] = field(default_factory=set)
    """Origins of which a robots.txt request was dropped by another part of the crawl."""

    def add(self, places: Places, row: Row) -> None:
        url = row.get("url", str)
        if row.optional("line", int) is None:
            self.followed.add(fingerprint(url))
            return
        self._append(count(row, "line"), fingerprint(url), places.of(row.place, url), count(row, "visit"))

    def add_others(self, others: Iterable[tuple[int, int, int]]) -> None:
        """Lines that never had a turn, as (line, URL, origin), and the visits of which only the origin is known."""
        known = set()
        for line, url, origin in others:
            known.add(origin)
            self._append(line, url, origin, NEVER)
        for visit, origin in self.only_robots.items():
            if origin not in known:
                self._append(NO_LINE, UNKNOWN, origin, visit)

    def _append(self, line: int, url: int, origin: int, visit: int) -> None:
        self.lines.append(line)
        self.urls.append(url)
        self.origins.append(origin)
        self.visits.append(visit)

    def forget_lines(self) -> None:
        """They wait for their turns now."""
        for column in (self.lines, self.urls, self.origins, self.visits):
            del column[:]

    def by_line(self, hosts: Sequence[str]) -> list[int]:
        """Places in the arrays, in queue order. A visit without a line comes before those of its host that began later:
        it was taken before them."""
        keys: Sequence[float] = self.lines
        unknown = {hosts[self.origins[at]] for at, line in enumerate(self.lines) if line == NO_LINE}
        if unknown:
            keys = list(self.lines)
            of_host: dict[str, list[int]] = {host: [] for host in unknown}
            for at, origin in enumerate(self.origins):
                if hosts[origin] in of_host:
                    of_host[hosts[origin]].append(at)
            for same in of_host.values():
                for at in same:
                    if self.lines[at] == NO_LINE:
                        later = [self.lines[i] for i in same if self.visits[i] > self.visits[at] and self.lines[i] > 0]
                        keys[at] = min(later, default=inf) - 0.5
        return sorted(range(len(keys)), key=keys.__getitem__)


def ended_whole(run: RunInfo) -> bool:
    """Whether every visit of the run has its record, as the manifest counts."""
    return run.end is not None and run.end.get("counts", dict).get("unfinished") == 0


class Gatherer:
    """Reads what each run began, one run after the other."""

    def __init__(self, evidence: Evidence, places: Places) -> None:
        self._places = places
        self._pages = lines_of(evidence.rows(File.PAGES))
        self._intents = lines_of(evidence.rows(File.INTENTS))
        self._robots = lines_of(evidence.rows(File.ROBOTS))
        self._claims: Lines[Row] | None = None
        self._evidence = evidence
        self._queues = _queues(evidence, places)

    def begun(self, run: RunInfo) -> Begun:
        """To be asked for each run in its turn."""
        begun, whole = Begun(), ended_whole(run)
        for row in self._pages.rest(run.number):
            begun.add(self._places, row)
            if not whole:
                begun.ended.add(row.get("visit", int))
        intended = set()
        for row in self._intents.rest(run.number):
            if not whole and row.get("visit", int) not in begun.ended:
                begun.add(self._places, row)
                intended.add(row.get("visit", int))
        for row in self._robots.rest(run.number):
            if row.optional("reason", str) == RobotsReason.ABORTED:
                begun.dropped.add(row.get("origin", str))
        if not whole:
            self._ask_claims(run.number, begun, begun.ended | intended)
        return begun

    def _ask_claims(self, run: int, begun: Begun, named: set[int]) -> None:
        """`named`: visits whose URL is known."""
        self._claims = self._claims or lines_of(self._evidence.rows(File.REQUESTS))
        self._claims.skip_to(run)
        hosts: dict[int, str] = {}
        for row in self._claims.rest(run):
            if row.record.get("visit") is None:
                continue  # of another part, or a second line
            visit = count(row, "visit")
            host = row.get("host", str)
            if visit not in named and visit not in begun.only_robots:
                begun.only_robots[visit] = self._places.of(row.place, row.get("url", str))
            if hosts.setdefault(visit, host) != host:
                begun.moved |= {hosts[visit], host}
                hosts[visit] = host

    def others(self, run: RunInfo, begun: Begun, past: Past) -> Iterator[tuple[int, int, int]]:
        """Lines of the run's queue that it did not begin, as other runs of the same queue tell: line, URL, origin."""
        queue = self._queues.get(run.start.get("queue_sha256", str))
        if queue is None or ended_whole(run):
            return
        met = set(begun.lines)
        for line, (url, origin) in queue.items():
            if line not in met and url not in past.done:
                yield line, url, origin


def _queues(evidence: Evidence, places: Places) -> dict[str, dict[int, tuple[int, int]]]:
    """By its digest, the lines of each queue that a run did not come to the end of and another run had, too."""
    digests = {run.number: run.start.get("queue_sha256", str) for run in evidence.runs}
    counted: dict[str, int] = defaultdict(int)
    for sha256 in digests.values():
        counted[sha256] += 1
    cut = {digests[run.number] for run in evidence.runs if not ended_whole(run)}
    queues: dict[str, dict[int, tuple[int, int]]] = {sha256: {} for sha256 in cut if counted[sha256] > 1}
    if queues:
        for row in chain(evidence.rows(File.PAGES), evidence.rows(File.INTENTS)):
            queue = queues.get(digests.get(row.get("run", int), ""))
            line = row.optional("line", int)
            if queue is not None and line is not None:
                url = row.get("url", str)
                queue.setdefault(line, (fingerprint(url), places.of(row.place, url)))
    return queues
