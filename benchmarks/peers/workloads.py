"""What is crawled: a queue, the web that answers it, and how fast anybody can be who keeps the pauses.

Each workload is the same each time. `scale` makes it smaller, for tests. Starts nothing and measures nothing.
"""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Profile:
    """How a host answers. `crawl_delay_s`: None for a robots.txt that has none."""

    size: int = 8192
    links: int = 10
    latency_s: float = 0.0
    crawl_delay_s: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """`urls(port)` are the lines of the queue, `pages` how many different ones; `requests`: of each address, the
    robots.txt of each of its hosts included."""

    name: str
    about: str
    interval_s: float
    urls: Callable[[int], Iterable[str]]
    requests: Mapping[str, int]
    pages: int
    profile: Profile
    slow_s: Mapping[str, float] = field(default_factory=dict)
    """Address -> its crawl-delay, where it is longer than the interval."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Host name -> address, for those that are asked by name."""
    enough: int = 0
    """A crawl is ended when the servers have seen so many requests; 0: it ends by itself."""

    @property
    def bound_s(self) -> float:
        """From the first request to the last answer, nobody who keeps the pauses and asks one at a time is faster."""
        rests = ((n - 1) * self.slow_s.get(address, self.interval_s) for address, n in self.requests.items())
        return max(*rests, sum(self.requests.values()) * self.profile.latency_s)

    def write(self, queue: Path, port: int) -> None:
        with queue.open("w", encoding="utf-8") as file:
            file.writelines(f"{url}\n" for url in self.urls(port))

    def profiles(self) -> dict[str, Profile]:
        """Of the addresses that answer in another way than most."""
        return {address: Profile(crawl_delay_s=delay_s) for address, delay_s in self.slow_s.items()}


def address(number: int) -> str:
    return f"127.{number // 62_500}.{1 + number // 250 % 250}.{1 + number % 250}"


def _mixed(
    name: str,
    about: str,
    interval_s: float,
    per_host: Mapping[str, int],
    profile: Profile,
    *,
    slow_s: Mapping[str, float] = MappingProxyType({}),
    names: Mapping[str, str] = MappingProxyType({}),
) -> Workload:
    """So many pages of each host, in no order. Hosts are addresses, or names of `names`."""
    requests: Counter[str] = Counter()
    for host, pages in per_host.items():
        requests[names.get(host, host)] += pages + 1

    def urls(port: int) -> list[str]:
        lines = [f"http://{host}:{port}/p/{page}" for host, pages in per_host.items() for page in range(pages)]
        random.Random(7).shuffle(lines)  # noqa: S311 - the same each time
        return lines

    return Workload(name, about, interval_s, urls, requests, sum(per_host.values()), profile, slow_s, names)


def _hosts(count: int, pages: int) -> dict[str, int]:
    return {address(number): pages for number in range(count)}


def null(_: float) -> Workload:
    return _mixed("W0", "one page: what a start costs", 0, _hosts(1, 1), Profile())


def breadth(scale: float) -> Workload:
    hosts = max(10, int(2000 * scale))
    return _mixed("W1", f"{hosts:,} hosts x 1 page, no pause", 0, _hosts(hosts, 1), Profile())


def depth(scale: float) -> Workload:
    pages = max(3, int(25 * scale))
    return _mixed("W2", f"20 hosts x {pages} pages, 0.2 s", 0.2, _hosts(20, pages), Profile(crawl_delay_s=0.2))


def depth_whole_seconds(scale: float) -> Workload:
    pages = max(1, int(8 * scale))
    return _mixed("W2i", f"20 hosts x {pages} pages, 1 s", 1.0, _hosts(20, pages), Profile(crawl_delay_s=1))


def depth_by_name(scale: float) -> Workload:
    pages = max(3, int(25 * scale))
    names = {f"h{number}.test": address(number) for number in range(20)}
    profile = Profile(crawl_delay_s=0.2)
    return _mixed("W2n", f"W2 by name, {pages} pages", 0.2, dict.fromkeys(names, pages), profile, names=names)


def skew(scale: float) -> Workload:
    pages, few, slow = max(2, int(10 * scale)), max(1, int(5 * scale)), address(13)
    about = f"40 hosts x {pages} pages, 0.2 s; one host x {few} pages, 1 s"
    return _mixed("W3", about, 0.2, {**_hosts(41, pages), slow: few}, Profile(), slow_s={slow: 1.0})


def latency(scale: float) -> Workload:
    hosts = max(5, int(200 * scale))
    about = f"{hosts} hosts x 3 pages, 0.2 s, each answer takes 0.1 s"
    return _mixed("W4", about, 0.2, _hosts(hosts, 3), Profile(latency_s=0.1))


def links(scale: float) -> Workload:
    pages = max(1, int(5 * scale))
    about = f"8 hosts x {pages} pages of 1 MB with 5,000 links, no pause"
    return _mixed("W6", about, 0, _hosts(8, pages), Profile(size=1_000_000, links=5000))


def shared_address(scale: float) -> Workload:
    pages = max(1, int(4 * scale))
    names = {f"a{alias}.h{number}.test": address(number) for number in range(8) for alias in range(5)}
    about, profile = f"8 addresses x 5 names x {pages} pages, 0.2 s", Profile(size=4096, links=0)
    return _mixed("W7", about, 0.2, dict.fromkeys(names, pages), profile, names=names)


def big_queue(scale: float) -> Workload:
    lines = round(1_000_000 * scale)
    hosts = max(10, lines // 100)
    about, profile = f"{lines:,} lines over {hosts:,} hosts, to the first requests", Profile(size=4096, links=0)
    spread, pages = _hosts(hosts, 1), lines - lines // 10
    return Workload("W5", about, 0, lambda port: _long(lines, hosts, port), spread, pages, profile, enough=20)


def _long(lines: int, hosts: int, port: int) -> Iterator[str]:
    """Each tenth line is a duplicate: as the same text, or as another spelling of it."""
    chance = random.Random(11)  # noqa: S311 - the same each time
    seen = array("Q")  # packed: the texts would need more memory than the crawls that are measured
    for line in range(lines):
        if seen and line % 10 == 9:
            yield _again(*_spelled(seen[chance.randrange(len(seen))], hosts, port), chance)
            continue
        host, section = chance.randrange(hosts), chance.randrange(50)
        page = chance.randrange(20) if line % 3 == 0 else 0
        seen.append(((line * hosts + host) * 50 + section) * 20 + page)
        yield "".join(_spelled(seen[-1], hosts, port))


def _spelled(packed: int, hosts: int, port: int) -> tuple[str, str]:
    """(origin, path and query)"""
    packed, page = divmod(packed, 20)
    packed, section = divmod(packed, 50)
    line, host = divmod(packed, hosts)
    query = f"?id={line}&lang=en&page={page}" if line % 3 == 0 else ""
    return f"http://{address(host)}:{port}", f"/p/section{section}/article-{line}-%7euser/index.html{query}"


def _again(origin: str, path: str, chance: random.Random) -> str:
    match chance.randrange(4):
        case 0:
            return f"{origin}{path}"
        case 1:
            return f"{origin}{path}#part{chance.randrange(9)}"
        case 2:
            return f"HTTP{origin[4:]}{path}"
        case _:
            return f"{origin}/x/..{path}"


WORKLOADS: Mapping[str, Callable[[float], Workload]] = {
    "W0": null,
    "W1": breadth,
    "W2": depth,
    "W2i": depth_whole_seconds,
    "W2n": depth_by_name,
    "W3": skew,
    "W4": latency,
    "W5": big_queue,
    "W6": links,
    "W7": shared_address,
}
