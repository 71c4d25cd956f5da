"""Who is compared: Seaspider in each of its orders, and what is run beside it on each workload. Starts nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.peers.workloads import Workload
from seaspider.config import ORDERS

ROOT = Path(__file__).resolve().parents[2]
LOG_LEVEL = "INFO"
SPIDER = Path(__file__).with_name("spider.py")


@dataclass(frozen=True, slots=True)
class Job:
    """One crawl: what is crawled, and an empty folder for what comes of it."""

    workload: Workload
    queue: Path
    folder: Path


@dataclass(frozen=True, slots=True, eq=False)
class Crawler:
    """`needs`: a library it cannot be run without. `order`: Seaspider's, empty for the others."""

    name: str
    command: Callable[[Job], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str = "scrapy"
    order: str = ""

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def installed(self) -> bool:
        return find_spec(self.needs) is not None


def _switches(flag: str, pairs: Mapping[str, object]) -> list[str]:
    return [part for name, value in pairs.items() for part in (flag, f"{name}={value}")]


def _seaspider(order: str, job: Job) -> list[str]:
    arguments = {"queue": job.queue, "store": job.folder / "store", "order": order}
    settings: dict[str, object] = {
        "SEASPIDER_INTERVAL": job.workload.interval_s,
        "SEASPIDER_LEDGER": job.folder / "ledger.sqlite3",
        "SEASPIDER_ALLOWED_NETWORKS": "127.0.0.0/8",
        "LOG_LEVEL": LOG_LEVEL,
    }
    if job.workload.names:
        settings["SEASPIDER_RESOLVE"] = json.dumps(job.workload.names)
    scrapy = [sys.executable, "-m", "scrapy", "crawl", "seaspider"]
    return [*scrapy, *_switches("-a", arguments), *_switches("-s", settings)]


def _scrapy(job: Job, *, links: bool = False, bodies: bool = False, durable: bool = False) -> list[str]:
    """One request at a time, as polite as its settings make it."""
    arguments: dict[str, object] = {"queue": job.queue}
    if links:
        arguments["links"] = "all"
    if bodies:
        arguments["bodies"] = job.folder / "bodies"
        (job.folder / "bodies").mkdir()
    if durable:
        arguments["durable"] = job.folder / "pages.jsonl"
    if job.workload.names:
        arguments["names"] = job.folder / "names.json"
        (job.folder / "names.json").write_text(json.dumps(job.workload.names), "utf-8")
    settings = {
        "CONCURRENT_REQUESTS": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": job.workload.interval_s,
        "DOWNLOAD_DELAY_JITTER": 0,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": LOG_LEVEL,
    }
    feed = [] if durable else ["-o", str(job.folder / "pages.jsonl")]
    run = [sys.executable, "-m", "scrapy", "runspider", str(SPIDER), *feed]
    return [*run, *_switches("-a", arguments), *_switches("-s", settings)]


def _loop(module: str, job: Job) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.peers.{module}", str(job.queue), str(job.folder / "pages.jsonl")]


def _sort(job: Job) -> list[str]:
    return ["sort", "-u", "-o", str(job.folder / "sorted.txt"), str(job.queue)]


OURS = tuple(
    Crawler(f"seaspider/{order}", partial(_seaspider, order), {"SCRAPY_PROJECT": "loopback"}, order=order)
    for order in ORDERS
)
SCRAPY = Crawler("scrapy", _scrapy)
SCRAPY_LINKS = Crawler("scrapy/links", partial(_scrapy, links=True))
SCRAPY_SAME = Crawler("scrapy/same-output", partial(_scrapy, links=True, bodies=True))
SCRAPY_DURABLE = Crawler("scrapy/same-durable", partial(_scrapy, links=True, bodies=True, durable=True))
AIOHTTP = Crawler("aiohttp", partial(_loop, "aiohttploop"), needs="aiohttp")
PYCURL = Crawler("pycurl", partial(_loop, "pycurlloop"), needs="pycurl")
SORT = Crawler("sort", _sort, {"LC_ALL": "C"})

FLOORS = (SCRAPY, SCRAPY_SAME, SCRAPY_DURABLE, AIOHTTP, PYCURL)
BESIDE: Mapping[str, tuple[Crawler, ...]] = {
    "W0": FLOORS,
    "W1": FLOORS,
    "W2": (SCRAPY,),
    "W2i": (SCRAPY,),
    "W2n": (SCRAPY,),
    "W3": (SCRAPY,),
    "W4": (SCRAPY,),
    "W5": (SORT,),
    "W6": (SCRAPY_LINKS,),
    "W7": (SCRAPY,),
}
"""Stock Scrapy is not run on W5: it takes minutes and gigabytes until its first request."""
FAMILIES = tuple(dict.fromkeys(crawler.family for crawlers in BESIDE.values() for crawler in crawlers))


def environment(crawler: Crawler) -> dict[str, str]:
    """Of this process, without what would change a crawl."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SCRAPY_") and not name.lower().endswith("_proxy")
    }
    return {**inherited, "PYTHONPATH": str(ROOT), **crawler.environment}
