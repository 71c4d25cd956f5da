"""A web of hostile servers by chance: each URL ends in exactly one record, and the store proves its promises.

The hosts whose turns come between theirs are visited as if they were not there. Time, memory and descriptors of the
crawl stay bounded.

The seed is in the test's name; a failure names the URL, whose answer is `hostile.make(seed, host, target, urls)`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Ended, scrapy
from tests.rawserver import Script, hang_after
from tests.running import Running
from tests.web import hostile
from tests.web.rawcases import ROBOTS
from tests.web.rawweb import RawWeb, page

NETWORK = "127.0.61"
GOOD_IP = f"{NETWORK}.250"
TIMEOUT_S = 2
SETTINGS = {
    "DOWNLOAD_TIMEOUT": TIMEOUT_S,
    "DOWNLOAD_MAXSIZE": hostile.BODY_CAP_BYTES,
    "SEASPIDER_ALLOWED_NETWORKS": f"{NETWORK}.0/24",
    "SEASPIDER_MAX_ATTEMPTS": 1,
    "SEASPIDER_BACKOFF_BASE": 0,
    "SEASPIDER_BACKOFF_CAP": 0.01,
    "SEASPIDER_CRAWL_DELAY_CAP": 0.01,
}
# A name that is not in the table, out of a broken Location, is asked of nobody.
NO_RESOLVER = """
import socket
def getaddrinfo(*asked, **more):
    raise socket.gaierror(socket.EAI_NONAME, "no such name")
socket.getaddrinfo = getaddrinfo
"""
WORDS = {"deferred", "blocked", "failed", "refused", "disallowed", "stored"}


@dataclass(frozen=True, slots=True)
class Sample:
    """The crawl's process while a request of it is being answered."""

    answered: int
    rss_kib: int
    descriptors: int


@dataclass
class Watch:
    """Chooses the answers, and looks at the crawl's process at each `every`-th of them."""

    seed: int
    urls: Sequence[str]
    every: int
    pid: int | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    answered: int = 0

    def __call__(self, host: str, target: str) -> Script:
        self.answered += 1
        if self.pid is not None and self.answered % self.every == 0:
            self.samples.append(self._sample(self.pid))
        if is_good(host):
            return hang_after(page(b"User-agent: *\nDisallow: /no\n" if target == ROBOTS else good_body(host, target)))
        if target == ROBOTS and mild(host):
            return hang_after(page(b"", status=b"404 Not Found"))
        answer = hostile.make(self.seed, host, target, self.urls)
        self.kinds[answer.kind] += 1
        return answer

    def _sample(self, pid: int) -> Sample:
        status = Path(f"/proc/{pid}/status").read_text()
        rss = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
        return Sample(self.answered, int(rss), len(list(Path(f"/proc/{pid}/fd").iterdir())))


@dataclass(frozen=True, slots=True)
class Over:
    """A crawl of a hostile web that is over."""

    ended: Ended
    web: RawWeb
    watch: Watch
    urls: Sequence[str]
    pages: Sequence[Mapping[str, Any]]


def good_body(host: str, target: str) -> bytes:
    return f"<p>the page {target} of {host}</p>\n".encode()


def is_good(host: str) -> bool:
    return host.endswith("-good.test")


def mild(host: str) -> bool:
    """Three of four hostile hosts have no robots.txt, so their pages are asked for."""
    return int(host[1:5]) % 4 != 3


def crawl(seed: int, hosts: int, pages: int, folder: Path, every: int, limit_s: float) -> Over:
    """So many hostile hosts, each with a good one beside it in the order of turns, and so many pages each."""
    hostiles = [f"h{n:04}.test" for n in range(hosts)]
    goods = [f"h{n:04}-good.test" for n in range(hosts)]
    names = dict.fromkeys(goods, GOOD_IP) | {host: f"{NETWORK}.{1 + n % 40}" for n, host in enumerate(hostiles)}
    watch = Watch(seed, (), every)
    with RawWeb(watch, names) as web:
        # Not at all good hosts, whose pages are then asked for twice.
        watch.urls = [web.url(host, f"/p{n}") for host in hostiles[:9] for n in range(3)] + ["/p1", "p2", "?p3"]
        urls = [web.url(host, f"/p{n}") for n in range(pages) for host in sorted(names)]
        with Running(folder, urls, names=names, settings=SETTINGS, sabotage=NO_RESOLVER, most_s=limit_s) as running:
            watch.pid = running.process.pid
            ended = running.end(limit_s)
    lines = (ended.store / "pages.jsonl").read_bytes().split(b"\n")[:-1]
    return Over(ended, web, watch, urls, [json.loads(line) for line in lines])


def check_records(over: Over) -> None:
    """One record each, of known words, and what was stored is there."""
    assert Counter(row["url"] for row in over.pages) == Counter(over.urls)
    assert {row["outcome"] for row in over.pages} <= WORDS
    assert over.ended.exit in (0, 3), over.ended.log[-5000:]
    assert "Traceback" not in over.ended.log
    assert "] ERROR" not in over.ended.log
    for row in over.pages:
        if row["outcome"] == "stored":
            digest = row["sha256"]
            assert (over.ended.store / "bodies" / digest[:2] / digest).is_file()
        else:
            assert row["sha256"] is None, row


def check_good_hosts(over: Over) -> None:
    """Each good page is stored whole at once, whatever was asked for before it."""
    wanted = [url for url in over.urls if is_good(host_and_target(url)[0])]
    rows = {row["url"]: row for row in over.pages}
    for url in wanted:
        row, body = rows[url], good_body(*host_and_target(url))
        assert (row["outcome"], row["status"], row["attempts"], row["flags"]) == ("stored", 200, 1, []), row
        assert (over.ended.store / "bodies" / row["sha256"][:2] / row["sha256"]).read_bytes() == body
    asked = [f"{arrival.host}{arrival.target}" for arrival in over.web.arrivals if is_good(arrival.host)]
    assert len(asked) == len(set(asked)) == len(wanted) + len({host_and_target(url)[0] for url in wanted})


def check_text(over: Over) -> None:
    """No control character of a server reaches the log, or a line of the store."""
    assert {letter for letter in over.ended.log if not letter.isprintable()} == {"\n"}
    for path in over.ended.store.glob("*.jsonl"):
        lines = path.read_bytes().split(b"\n")
        assert lines.pop() == b""
        for line in lines:
            assert min(line) >= 0x20, (path.name, line)
            json.loads(line)


def host_and_target(url: str) -> tuple[str, str]:
    _, _, authority, path = url.split("/", 3)
    return authority.rpartition(":")[0], f"/{path}"


def check_descriptors(over: Over) -> None:
    """Nothing is left open: never more than when it was under way first."""
    counts = [sample.descriptors for sample in over.watch.samples]
    assert max(counts) == counts[0], counts


def check_all(over: Over) -> None:
    check_records(over)
    check_good_hosts(over)
    check_text(over)
    check_descriptors(over)
    verified = scrapy(["verify", str(over.ended.store)], over.ended.store.parent)
    assert verified.exit == 0, verified.out


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: what is looked at is no matter of the disk, and it is twice as fast."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


@pytest.mark.parametrize("seed", [1])
def test_each_url_of_a_hostile_web_ends_in_one_record(seed: int, folder: Path) -> None:
    over = crawl(seed, hosts=20, pages=20, folder=folder, every=20, limit_s=60)
    check_all(over)
    assert over.watch.kinds.total() >= 300


@pytest.mark.soak
@pytest.mark.parametrize("seed", [20261])
def test_ten_thousand_hostile_answers_leave_memory_and_descriptors_as_they_were(seed: int, folder: Path) -> None:
    """Beside as many good pages. Resident memory after 5,000 answers, and at any time from then on: within 10 %."""
    over = crawl(seed, hosts=720, pages=20, folder=folder, every=100, limit_s=1500)
    rss = {sample.answered: sample.rss_kib for sample in over.watch.samples}
    print(f"\n{over.watch.kinds.total()} hostile answers {dict(over.watch.kinds)}, {len(over.pages)} visits;", end=" ")
    print(f"KiB at 5,000 {rss[5_000]}, at 20,000 {rss[20_000]}, most {max(rss.values())};", end=" ")
    print(f"endings {dict(Counter(row['reason'] or row['outcome'] for row in over.pages))}")
    check_all(over)
    assert over.watch.kinds.total() >= 10_000
    assert max(size for answered, size in rss.items() if answered >= 5_000) <= 1.1 * rss[5_000]
