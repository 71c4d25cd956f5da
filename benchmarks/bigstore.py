"""A large store, written as a crawl would have left it, without a crawl: for measuring what reads stores.

Hosts of ten requests each (a robots.txt and nine pages), one run, no trouble. The turns are the crawl's own
(core.order), the clock is virtual, and the records are made by the classes that make them in a crawl. Only the bodies
are fewer than the pages: BODIES different ones.

    python -m benchmarks.bigstore FOLDER REQUESTS
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from scrapy.settings import Settings

from seaspider.config import Config
from seaspider.core.order import RoundRobin
from seaspider.core.records import STORED, File, to_line
from seaspider.core.robotsbook import RobotsEntry, RobotsHop
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsState, expires_at_ms
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import Url, normalise
from seaspider.core.verdict import verdict
from seaspider.core.visits import Decision, Hop, Visit
from seaspider.policies import robots_policy

PAGES_PER_HOST = 9
LINKS = 2
BODIES = 1000
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
ROBOTS_SHA256 = hashlib.sha256(ROBOTS).hexdigest()
START_MS, START_NS = 1_796_015_856_123, 123_456_789_012_345
ANSWER_NS, PAUSE_NS = 5_000_000, 2_000_000_000
SETTINGS = {
    "SEASPIDER_LEDGER": ":memory:",
    "SEASPIDER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "ROBOTSTXT_USER_AGENT": "seaspider",
}
HEADERS = [["Content-Type", "text/html; charset=utf-8"], ["Content-Length", "64"], ["Connection", "close"]]
BOOT_ID = "3b1f0d52-6f0e-4b0a-9a51-7d6c2f8e9041"


@dataclass(slots=True)
class Host:
    name: str
    address: str
    free_ns: int = 0
    robots_id: int | None = None
    requests: int = 0


@dataclass(slots=True)
class Crawl:
    """The run, by a clock of its own."""

    queue: Path
    config: Config
    files: Mapping[File, IO[bytes]]
    bodies: list[str]
    order: RoundRobin[Visit] = field(default_factory=RoundRobin)
    asked: dict[str, Host] = field(default_factory=dict)
    now_ns: int = START_NS
    requests: int = 0
    visits: int = 0
    robots_ids: int = 0

    def write(self, file: File, record: Mapping[str, Any]) -> None:
        self.files[file].write(to_line(record))

    @property
    def now_ms(self) -> int:
        return START_MS + (self.now_ns - START_NS) // 1_000_000

    def run(self) -> None:
        queue = self._load()
        config = self.config.to_record()
        start = {"started_at": rfc3339_ms(self.now_ms), "started_ns": self.now_ns, "boot_id": BOOT_ID}
        what = {"versions": {}, "queue": self.queue.name, "queue_sha256": queue, "settings": config}
        self.write(File.MANIFEST, {"run": 1, "event": "start", **start, **what})
        while (visit := self.order.next()) is not None:
            self._turn(visit)
        self._end()

    def _load(self) -> str:
        octets = self.queue.read_bytes()
        for number, line in enumerate(octets.decode().split(), 1):
            url = normalise(line)
            if url.host not in self.asked:
                self.asked[url.host] = Host(url.host, _address(int(url.host[1:7])))
            self.order.push(url.host, url.origin, Visit(url, number))
        return hashlib.sha256(octets).hexdigest()

    def _turn(self, visit: Visit) -> None:
        host = self.asked[visit.url.host]
        if visit.number is None:
            self.visits += 1
            visit.number, visit.started_ms = self.visits, self.now_ms
            visit.chain.append(Hop(visit.url))
        if host.robots_id is None:
            self.order.put_back(host.name, visit.url.origin, visit)
            self.order.hold(host.name, visit.url.origin)
            self._ask(host, visit, "robots", normalise("/robots.txt", visit.url), len(ROBOTS))
            self._robots(host, visit)
            self.order.release(host.name, visit.url.origin)
        else:
            self._page(host, visit)

    def _ask(self, host: Host, visit: Visit, kind: str, url: Url, octets: int) -> None:
        judged_ms, self.now_ns = self.now_ms, max(self.now_ns, host.free_ns)
        self.requests += 1
        host.requests += 1
        who = {"n": self.requests, "visit": visit.number, "kind": kind, "url": url.text, "host": host.name}
        where = {"ip": host.address, "addresses": [host.address], "judged_at": rfc3339_ms(judged_ms)}
        when = {"claimed_at": rfc3339_ms(self.now_ms), "claimed_ns": self.now_ns}
        self.write(File.REQUESTS, {"run": 1, "event": "claim", **who, **where, **when})
        self.order.took_turn()
        sent_ns, self.now_ns = self.now_ns, self.now_ns + ANSWER_NS
        ended = {"sent_ns": sent_ns, "ended_at": rfc3339_ms(self.now_ms), "ended_ns": self.now_ns}
        pause = {"pause_s": PAUSE_NS / 1e9, "pause_basis": "interval"}
        answer = {"status": 200, "error": None, "headers": HEADERS, "bytes": octets}
        self.write(File.REQUESTS, {"run": 1, "event": "settle", "n": self.requests, **ended, **pause, **answer})
        self.order.settled(host.name, host.address, PAUSE_NS, PAUSE_NS)
        host.free_ns = self.now_ns + PAUSE_NS

    def _robots(self, host: Host, visit: Visit) -> None:
        self.robots_ids += 1
        host.robots_id = self.robots_ids
        entry = RobotsEntry(
            run=1,
            id=self.robots_ids,
            origin=visit.url.origin,
            cause=RobotsCause.FIRST,
            chain=(RobotsHop(f"{visit.url.origin}/robots.txt", host.address, 200),),
            state=RobotsState.PARSED,
            reason=None,
            status=200,
            sha256=ROBOTS_SHA256,
            bytes=len(ROBOTS),
            truncated=False,
            etag=None,
            last_modified=None,
            retry_after_s=None,
            fetched_at_ms=self.now_ms,
            expires_at_ms=expires_at_ms(RobotsState.PARSED, self.now_ms, None, None, self._policy),
        )
        self.write(File.ROBOTS, entry.to_row())

    @property
    def _policy(self) -> RobotsPolicy:
        return robots_policy(self.config)

    def _page(self, host: Host, visit: Visit) -> None:
        hop = visit.chain[-1]
        hop.judged_ms, hop.ip, hop.decision = self.now_ms, host.address, Decision.ALLOW
        hop.robots_id, hop.group, hop.witness = host.robots_id, "*", Decision.ALLOW
        own = {"run": 1, "visit": visit.number, "url": visit.url.text}
        self.write(File.INTENTS, {**own, "line": visit.line, "intended_at": rfc3339_ms(self.now_ms)})
        self._ask(host, visit, "page", visit.url, 200)
        hop.status, visit.attempts, visit.wire_bytes = 200, 1, 200
        for n in range(1, LINKS + 1):
            link = {"page": visit.url.text, "n": n, "url": f"{visit.url.origin}/{n}", "text": f"page {n}", "rel": ""}
            fate = {"nofollow": False, "followed": False, "reason": "off"}
            self.write(File.LINKS, {"run": 1, "visit": visit.number, **link, **fate})
        found = {"content_type": HEADERS[0][1], "charset": "utf-8", "links": LINKS, "nofollow": False}
        sha256 = self.bodies[(visit.number or 0) % BODIES]
        self.write(File.PAGES, {**visit.record(1, STORED, self.now_ms), **found, "sha256": sha256})

    def _end(self) -> None:
        lines = len(self.asked) * PAGES_PER_HOST
        queue = dict.fromkeys(
            ("lines", "blank", "comment", "duplicate", "done", "rejected", "recorded", "unfinished"), 0
        )
        counts = {
            "queue": {**queue, "lines": lines, "recorded": lines},
            "followed": {"recorded": 0, "unfinished": 0},
            "pages": {"stored": lines},
            "unfinished": 0,
            "interrupted": 0,
            "requests": self.requests,
            "hosts": len(self.asked),
        }
        found = verdict({name: host.requests for name, host in self.asked.items()}, 0, self.config.gate)
        end = {"ended_at": rfc3339_ms(self.now_ms), "ended_ns": self.now_ns, "reason": "finished", "exit": 0}
        self.write(File.MANIFEST, {"run": 1, "event": "end", **end, "counts": counts, "verdict": found.to_record()})


def _address(number: int) -> str:
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _put(folder: Path, body: bytes) -> str:
    sha256 = hashlib.sha256(body).hexdigest()
    path = folder / "bodies" / sha256[:2] / sha256
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return sha256


def write(folder: Path, requests: int) -> None:
    """Writes a store of about so many requests into a new folder, with its queue."""
    folder.mkdir(parents=True)
    write_queue(folder / "queue.txt", requests)
    write_store(folder, folder / "queue.txt")


def write_queue(path: Path, requests: int) -> None:
    hosts = max(1, requests // (1 + PAGES_PER_HOST))
    with path.open("w") as file:
        for page in range(PAGES_PER_HOST):
            file.writelines(f"http://h{host:06}.test/{page}\n" for host in range(hosts))


def write_store(folder: Path, queue: Path) -> None:
    """Writes the store of a crawl of such a queue, or of the hosts of a shard of it, into a folder."""
    _put(folder, ROBOTS)
    bodies = [
        _put(folder, f"<title>{n}</title><a href=/1>page 1</a> <a href=/2>page 2</a>\n".encode()) for n in range(BODIES)
    ]
    files = {file: (folder / file).open("wb") for file in File}
    try:
        Crawl(queue, Config.from_settings(Settings(SETTINGS)), files, bodies).run()
    finally:
        for file in files.values():
            file.close()


def main() -> None:
    if len(sys.argv) != 3 or not sys.argv[2].isdecimal():
        sys.exit(__doc__)
    write(Path(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    main()
