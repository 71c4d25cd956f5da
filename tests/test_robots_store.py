"""Robots.txt and the store: written before it is used, asked anew when its bytes are lost. And very short lives.

Holds the recorded case t-30-days.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seaspider.core.times import parse_rfc3339_ms
from seaspider.loopback import Answer, LoopbackWeb, Request
from tests.crawling import Ended, crawl
from tests.test_robots_cache import NONE, NOW, T0, TAGGED, TTL, Seen, robots_of

BODY = "User-agent: *\nDisallow: /page\n"

# --- written before it is used ---


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def crawl_and_look(folder: Path, sabotage: str = "") -> list[tuple[list[int], list[str], bool]]:
    """At each page request: ids in robots.jsonl, URLs in intents.jsonl, and whether the parsed body is there."""
    store = folder / "store"
    found = []

    def page(request: Request) -> Answer:
        robots = rows(store / "robots.jsonl")
        bodies = [path.read_text() for path in store.glob("bodies/*/*")]
        intents = [row["url"].removeprefix(f"http://{request.host}") for row in rows(store / "intents.jsonl")]
        found.append(([row["id"] for row in robots], intents, BODY in bodies))
        return Answer(body="a page")

    names = {"order.test": "127.1.203.1"}
    routes = {"/robots.txt": Answer(body=BODY), "/a": page, "/b": page}
    with LoopbackWeb(routes, names=names) as web:
        ended = crawl(
            [web.url("order.test", "/a"), web.url("order.test", "/b")], folder, names=names, sabotage=sabotage
        )
        assert ended.exit == 0, ended.log
    return found


def test_robots_and_intent_are_in_the_store_before_the_page_is_asked_for(tmp_path: Path) -> None:
    assert crawl_and_look(tmp_path) == [([1], ["/a"], True), ([1], ["/a", "/b"], True)]


def test_without_the_record_the_server_sees_a_page_request_first(tmp_path: Path) -> None:
    sabotage = (
        "from seaspider.robotsdesk import RobotsDesk; RobotsDesk.record = lambda self, entry: self._book.put(entry)"
    )
    assert crawl_and_look(tmp_path, sabotage) == [([], ["/a"], True), ([], ["/a", "/b"], True)]


# --- bytes that are lost ---

LOST = {f"{name}.test": f"127.1.203.{number}" for number, name in enumerate(["changed", "missing", "whole"], 11)}
OPEN = "User-agent: *\nDisallow:\n"


def own_rules(host: str) -> str:
    return f"# {host}\n{BODY}"


def own_body(store: Path, host: str) -> Path:
    return next(path for path in store.glob("bodies/*/*") if host in path.read_text())


@dataclass(frozen=True, slots=True)
class Run:
    ended: Ended
    robots: dict[str, Seen]
    endings: dict[str, list[str]]
    """Endings of /page… and /open… of this run; '' where there is no record."""


def tamper(store: Path) -> None:
    own_body(store, "missing.test").unlink()
    own_body(store, "changed.test").write_text(OPEN)


def runs(folder: Path, *steps: tuple[int, Callable[[Path], None]], sabotage: str = "") -> list[Run]:
    """Runs on one store; before each, what is done to it. Steps: ms after T0, and that."""
    routes: dict[str, Any] = {"/*": Answer(body="a page")}
    for host in LOST:

        def robots(request: Request) -> Answer:
            if request.header("If-None-Match"):
                return Answer(304)
            return Answer(200, (("ETag", '"v1"'),), own_rules(request.name))

        routes[f"{host}/robots.txt"] = robots
    found = []
    with LoopbackWeb(routes, names=LOST) as web:
        for number, (after_ms, before) in enumerate(steps):
            before(folder / "store")
            urls = {host: [web.url(host, f"/page{number}"), web.url(host, f"/open{number}")] for host in LOST}
            environment = {"NOW_MS": str(T0 + after_ms)}
            queue = [url for pair in urls.values() for url in pair]
            ended = crawl(queue, folder, names=LOST, sabotage=NOW + sabotage, environment=environment)
            endings = ended.endings()
            found.append(
                Run(
                    ended,
                    {host: robots_of(web.arrivals, host) for host in LOST},
                    {host: [endings.get(url, "") for url in pair] for host, pair in urls.items()},
                )
            )
            web.clear()
    return found


def untouched(store: Path) -> None:
    pass


def test_lost_rules_are_asked_for_again_without_a_condition(tmp_path: Path) -> None:
    _, in_force, over = runs(tmp_path, (0, untouched), (1, tamper), (1 + TTL, tamper))
    asked = [("/robots.txt", NONE)]
    assert in_force.robots == {"changed.test": asked, "missing.test": asked, "whole.test": []}
    # Over, they would be renewed by a 304 that speaks of bytes nobody has.
    assert over.robots == {"changed.test": asked, "missing.test": asked, "whole.test": [("/robots.txt", TAGGED)]}
    for run in (in_force, over):
        assert run.endings == {host: ["disallowed/robots-rule", "stored"] for host in LOST}
        assert run.ended.exit == 0
        assert run.ended.log.count("is missing or changed") == 2
    store = tmp_path / "store"
    assert [own_body(store, host).read_text() for host in LOST] == [own_rules(host) for host in LOST]


def test_without_the_digest_changed_rules_would_decide(tmp_path: Path) -> None:
    sabotage = """
from seaspider.store import FolderStore
FolderStore.body = lambda self, sha256: (self.folder / "bodies" / sha256[:2] / sha256).read_bytes()
"""

    def change(store: Path) -> None:
        own_body(store, "changed.test").write_text(OPEN)

    _, run = runs(tmp_path, (0, untouched), (1, change), sabotage=sabotage)
    assert run.endings["changed.test"] == ["stored", "stored"]


def test_bytes_that_cannot_be_put_back_end_the_run(tmp_path: Path) -> None:
    def block(store: Path) -> None:
        path = own_body(store, "changed.test")
        path.unlink()
        (path / "in the way").mkdir(parents=True)

    first, run = runs(tmp_path, (0, untouched), (1, block))
    assert run.ended.exit == 74
    (line,) = [row for row in first.ended.records("robots") if "changed.test" in row["origin"]]
    assert f"bodies/{line['sha256'][:2]}/{line['sha256']} cannot be written" in run.ended.log
    assert run.endings == {host: ["", ""] for host in LOST}


# --- a clock that moves on whenever it is read ---

MOVING = """
import os
from itertools import count
from seaspider.clock import SystemClock
moments = count(int(os.environ['NOW_MS']), int(os.environ['STEP_MS']))
SystemClock.wall_ms = lambda self: next(moments)
"""
FORGETFUL = """
from seaspider.core.frontier import Frontier
real = Frontier.robots_known
def robots_known(self, fetch, entry):
    visit = self._waiting_for.get(fetch)
    real(self, fetch, entry)
    if visit is not None:
        visit.awaited = None
Frontier.robots_known = robots_known
"""


def crawl_fast(
    folder: Path, robots: Answer, pages: int, step_ms: int, sabotage: str = "", **settings: float
) -> tuple[Ended, list[str]]:
    names = {"quick.test": "127.1.203.21"}
    with LoopbackWeb({"/robots.txt": robots, "/*": Answer(body="a page")}, names=names) as web:
        ended = crawl(
            [web.url("quick.test", f"/{number}") for number in range(pages)],
            folder,
            names=names,
            settings={f"SEASPIDER_{name}": value for name, value in settings.items()},
            sabotage=MOVING + sabotage,
            environment={"NOW_MS": str(T0), "STEP_MS": str(step_ms)},
        )
        return ended, [a.target for a in web.arrivals]


def test_rules_that_are_over_before_the_next_turn_bring_each_page_on(tmp_path: Path) -> None:
    ended, asked = crawl_fast(tmp_path, Answer(body=BODY), 3, 1000, ROBOTS_TTL=0.5)
    assert asked == ["/robots.txt", "/0", "/robots.txt", "/1", "/robots.txt", "/2"]
    assert ended.exit == 0, ended.log


def test_without_the_awaited_answer_no_page_is_ever_reached(tmp_path: Path) -> None:
    ended, asked = crawl_fast(tmp_path, Answer(body=BODY), 3, 1000, FORGETFUL, ROBOTS_TTL=0.5, HOST_BUDGET=10)
    assert asked == ["/robots.txt"] * 10, ended.log
    assert set(ended.endings().values()) == {"deferred/budget"}


def test_a_period_that_is_over_before_the_next_turn_ends_too(tmp_path: Path) -> None:
    ended, asked = crawl_fast(tmp_path, Answer(503), 5, 1000, ROBOTS_RETRY=0.5, GIVE_UP=3)
    assert asked == ["/robots.txt"] * 5
    assert list(ended.endings().values()) == ["deferred/robots-unreachable"] * 2 + ["failed/robots-unreachable"] * 3


def test_thirty_days_of_failures_allow_nothing(tmp_path: Path) -> None:
    """Case t-30-days: RFC 9309 would let a crawler take the file as absent by then."""
    ended, asked = crawl_fast(tmp_path, Answer(503), 60, 6 * 3_600_000, ROBOTS_RETRY=3600, GIVE_UP=1000)
    assert asked == ["/robots.txt"] * 60
    entries = ended.records("robots")
    first, last = (parse_rfc3339_ms(entries[at]["fetched_at"]) for at in (0, -1))
    assert last - first > 30 * 86_400_000
    assert {entry["state"] for entry in entries} == {"unreachable"}
    assert set(ended.endings().values()) == {"deferred/robots-unreachable"}
