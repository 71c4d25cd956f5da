"""A small fleet made shard by shard, as any engine would, and the site it crawls: links to follow, redirects into other
shards, hosts that share an address, lines that are skipped."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from seaspider.fleet import planning
from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import Ended, scrapy

HOSTS = 8
SHARDS = 4
# Two hosts on each address.
NAMES = {f"h{number}.test": f"127.0.71.{number // 2 + 1}" for number in range(HOSTS)}
HTML = (("Content-Type", "text/html; charset=utf-8"),)
FOLLOW = ("-a", "follow=host", "-a", "max_depth=2")
PAUSE_S = 0.05
SETTINGS = {"SEASPIDER_INTERVAL": PAUSE_S}


def link(path: str) -> str:
    return f'<a href="{path}">x</a>'


def site() -> dict[str, Any]:
    """`/` leads to /a and /b, /a to /c; /away to the next host's /b."""
    pages = {"/": link("/b") + link("/a"), "/a": link("/c") + link("/b"), "/b": "b", "/c": link("/a")}
    routes: dict[str, Any] = {path: Answer(body=text, headers=HTML) for path, text in pages.items()}
    routes["/robots.txt"] = Answer(body="User-agent: *\nDisallow: /no\n")
    routes["/gone"] = Answer(404, body="gone")
    for number in range(HOSTS):
        location = f"http://h{(number + 1) % HOSTS}.test:{{port}}/b"
        routes[f"h{number}.test/away"] = Answer(302, headers=(("Location", location),))
    return routes


def queue_of(web: LoopbackWeb) -> list[str]:
    """With a comment, a blank line, duplicates and two lines that are no URLs."""
    urls = [web.url(f"h{host}.test", path) for path in ("/", "/gone", "/no", "/away") for host in range(HOSTS)]
    return ["# a queue", *urls[:10], "no URL", "", urls[3], *urls[10:], "nor this", urls[0].replace("http", "HTTP")]


@contextmanager
def small_web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(site(), names=NAMES) as web:
        yield web


def planned(folder: Path, lines: Iterable[str], shards: int = SHARDS) -> Path:
    """The store of a new fleet in `folder`, planned."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "q").write_text("".join(f"{line}\n" for line in lines))
    planning.make(str(folder / "q"), folder / "store", shards)
    return folder / "store"


def crawl_shard(store: Path, shard: int, *arguments: str, **more: Any) -> Ended:
    given = ["-a", f"plan={store / 'plan'}", "-a", f"shard={shard}", *arguments]
    settings = {**SETTINGS, **more.pop("settings", {})}
    # All shards share the ledger of this folder.
    return scrapy(["crawl", "seaspider", *given], store.parent, names=NAMES, settings=settings, **more)


def crawl_all(store: Path, shards: Sequence[int], *arguments: str, workers: int = 1) -> None:
    with ThreadPoolExecutor(workers) as pool:
        for ended in pool.map(lambda shard: crawl_shard(store, shard, *arguments), shards):
            assert ended.exit == 0, ended.log


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def merge(store: Path, *options: str, **more: Any) -> Ended:
    return scrapy(["merge", str(store), *options], store.parent, **more)


def verify(store: Path, *options: str, **more: Any) -> Ended:
    return scrapy(["verify", str(store), *options], store.parent, **more)


DIES = """
import os, signal
from seaspider import faultpoints
left = [{nth}]
def reached(point):
    left[0] -= point == {point!r}
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
faultpoints.reached = reached
"""


def crawl_killed(store: Path, shard: int, point: str, nth: int, *arguments: str) -> None:
    """A crawl of a shard that dies at the nth time it comes to `point`; its lease has run out then."""
    died = crawl_shard(store, shard, *arguments, sabotage=DIES.format(point=point, nth=nth))
    assert died.exit == -signal.SIGKILL, died.log
    with closing(sqlite3.connect(store.parent / "ledger.sqlite3")) as ledger, ledger:
        ledger.execute("UPDATE leases SET until_ns = 0")
