"""P5: what is asked in which order, and every record but for its times, does not depend on how long anything takes.

Ten runs against servers and with callbacks and pipelines that take a random while; and the twin without the sequential
guard, whose runs differ.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seaspider.core.records import to_line
from seaspider.loopback import Answer, LoopbackWeb, Request
from seaspider.loopback.answers import Headers
from seaspider.loopback.judge import max_in_flight, order
from tests.crawling import crawl
from tests.extras import added
from tests.extras.jitter import DELAYS_S

RUNS = 10
TWIN_RUNS = 3
FILES = ("robots", "intents", "requests", "pages", "links", "skipped")

NAMES = {name: f"127.0.4.{number}" for number, name in enumerate(("a.test", "b.test", "c.test", "d.test", "e.test"), 1)}
NAMES["b-too.test"] = NAMES["b.test"]
HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)
INTERVAL_S = 0.01


def links(*targets: str) -> str:
    return "".join(f'<a href="{target}">{target}</a>\n' for target in targets)


# target -> status, body, Location
SITE: dict[str, tuple[int, str, str]] = {
    "/*": (404, "nothing here", ""),
    "/robots.txt": (200, "User-agent: *\nDisallow: /private\n", ""),
    "a.test/": (200, links("/1", "/2", "/private/1", "/hop", "http://b.test/x", "/3"), ""),
    "a.test/1": (200, links("/", "/2", "/4", "/5"), ""),
    "a.test/2": (200, links("/6", "/private/2"), ""),
    "a.test/hop": (302, "", "http://c.test:{port}/from-a"),
    "b.test/robots.txt": (301, "", "http://c.test:{port}/b-robots"),
    "c.test/b-robots": (200, "User-agent: *\nCrawl-delay: 0.03\nDisallow: /x\n", ""),
    "b.test/": (200, links("/1", "/x", "/2"), ""),
    "b.test/1": (307, "", "/2"),
    "b.test/2": (200, links("/3", "/4"), ""),
    "b-too.test/": (200, links("/1", "/2", "/3"), ""),
    "c.test/": (200, links("/1", "/2", "/away"), ""),
    "c.test/from-a": (200, links("/9"), ""),
    "c.test/away": (302, "", "http://e.test:{port}/from-c"),
    "d.test/robots.txt": (503, "", ""),
    "e.test/robots.txt": (404, "", ""),
    "e.test/from-c": (200, links("/never"), ""),
    "e.test/2": (403, "no more", ""),
}
QUEUE = (
    *("a.test/", "b.test/", "b-too.test/", "c.test/", "d.test/", "e.test/1", "e.test/2", "e.test/3"),
    *("a.test/private/9", "a.test/7", "b.test/x", "c.test/away", "nowhere.test/", "d.test/2", "ftp://a.test/"),
)


@dataclass(frozen=True)
class Outcome:
    """One run: the order of arrival, and its records as bytes without times and ports."""

    order: tuple[tuple[str, str], ...]
    records: bytes
    in_flight: int


def routes(random: Random) -> dict[str, Callable[[Request], Answer]]:
    def route(status: int, body: str, location: str) -> Callable[[Request], Answer]:
        headers = (("Location", location),) if location else HTML
        return lambda request: Answer(status, headers, body, delay_s=random.choice(DELAYS_S))

    return {key: route(*answer) for key, answer in SITE.items()}


def run(folder: Path, seed: int, settings: dict[str, object], sabotage: str) -> Outcome:
    with LoopbackWeb(routes(Random(seed)), names=NAMES) as web:
        queue = [
            place if "//" in place else web.url(host, f"/{path}")
            for place in QUEUE
            for host, _, path in [place.partition("/")]
        ]
        ended = crawl(
            queue,
            folder,
            names={**NAMES, "nowhere.test": []},
            arguments={"follow": "host", "max_depth": 3},
            settings={
                "SEASPIDER_INTERVAL": INTERVAL_S,
                "JITTER_SEED": seed,
                **added("ITEM_PIPELINES", jitter__SlowPipeline=300),
                **added("SPIDER_MIDDLEWARES", jitter__SlowSpiderMiddleware=500),
                **settings,
            },
            sabotage=sabotage,
        )
        records: dict[str, list[Any]] = ended.timeless(*FILES)
        assert {file: bool(rows) for file, rows in records.items()} == dict.fromkeys(FILES, True), ended.log
        text = b"".join(to_line(row) for rows in records.values() for row in rows)
        found = web.arrivals
        return Outcome(tuple(order(found)), text.replace(f":{web.port}".encode(), b":PORT"), max_in_flight(found))


def runs(folder: Path, count: int, settings: dict[str, object] | None = None, sabotage: str = "") -> list[Outcome]:
    """`count` runs with different seeds, all at once, which makes them more unlike each other."""

    def one(seed: int) -> Outcome:
        mine = folder / str(seed)
        mine.mkdir()
        return run(mine, seed, settings or {}, sabotage)

    with ThreadPoolExecutor(RUNS) as pool:
        return list(pool.map(one, range(1, count + 1)))


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return runs(tmp_path_factory.mktemp("ten"), RUNS)


def test_p5_ten_runs_ask_in_one_order(ten: list[Outcome]) -> None:
    assert len(ten) == RUNS
    assert {one.order for one in ten} == {ten[0].order}
    assert {one.in_flight for one in ten} == {1}


def test_p5_ten_runs_write_the_same_bytes(ten: list[Outcome]) -> None:
    assert [one.records == ten[0].records for one in ten] == [True] * RUNS


def test_the_site_brings_every_kind_of_record(ten: list[Outcome]) -> None:
    rows = [json.loads(line) for line in ten[0].records.splitlines()]
    assert {f"{row['outcome']}/{row['reason']}" for row in rows if "outcome" in row} == {
        "stored/None",
        "disallowed/robots-rule",
        "deferred/robots-unreachable",
        "blocked/forbidden",
        "failed/dns",
    }
    assert {row["state"] for row in rows if "state" in row} == {"parsed", "absent", "unreachable"}
    assert sum(row.get("followed", False) for row in rows) > 10


# Twin.

NOT_SEQUENTIAL = """
import seaspider.guard, seaspider.scheduler
seaspider.guard.check = lambda settings: None
seaspider.scheduler.busy = lambda crawler: False
"""


def test_p5_twin_without_the_sequential_guard_the_runs_differ(ten: list[Outcome], tmp_path: Path) -> None:
    more: dict[str, object] = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    twins = runs(tmp_path, TWIN_RUNS, more, NOT_SEQUENTIAL)
    assert len({one.records for one in twins}) > 1
    assert len({one.order for one in twins}) > 1
