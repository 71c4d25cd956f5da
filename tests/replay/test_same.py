"""A replay writes what the crawl wrote, line for line, and asks nobody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.loopback import LoopbackWeb
from seaspider.verify.verification import verify
from tests.crawling import scrapy
from tests.replay import sites
from tests.replay.replaying import NO_SOCKET, Ground, Replayed, records
from tests.replay.sites import WEBS, Web

EACH_WEB = pytest.mark.parametrize("name", WEBS)


@dataclass(frozen=True, slots=True)
class Crawled:
    """A store, what it must show, its replay, and how many requests the servers got of that."""

    store: Path
    web: Web
    replayed: Replayed
    arrived: int


def crawled(ground: Ground, name: str, make: Callable[[], Web]) -> Crawled:
    web, store = make(), ground.folder / name
    with LoopbackWeb(web.routes, names=web.names) as servers:
        for plan in web.runs:
            lines = sites.lines_of(plan, servers.port)
            ended = ground.crawl(
                lines, store, names=web.names, arguments=plan.arguments, settings=plan.settings, sabotage=plan.sabotage
            )
            assert plan.exit in (None, ended.exit), ended.text
        servers.clear()
        return Crawled(store, web, ground.replay(store), len(servers.arrivals))


@pytest.fixture(scope="module")
def stores(ground: Ground) -> Iterator[dict[str, Crawled]]:
    with ThreadPoolExecutor(2) as pool:
        jobs = {name: pool.submit(crawled, ground, name, make) for name, make in WEBS.items()}
        yield {name: job.result() for name, job in jobs.items()}


def words(store: Path) -> set[str]:
    """What the records show."""
    found: set[str] = set()
    for file, keys in {
        File.PAGES: ("outcome", "reason"),
        File.ROBOTS: ("state", "reason", "cause", "status"),
        File.SKIPPED: ("fate",),
        File.MANIFEST: ("reason",),
        File.REQUESTS: ("error", "pause_basis"),
    }.items():
        found |= {str(row.get(key)) for row in records(store, file) for key in keys}
    found |= {f"{page['outcome']}/{page['reason']}" for page in records(store, File.PAGES)}
    if any(row["followed"] for row in records(store, File.LINKS)):
        found.add("followed")
    if any("sent_ns" in row and row["sent_ns"] is None for row in records(store, File.REQUESTS)):
        found.add("unsent")
    if any(page["attempts"] and page["started_at"] > page["chain"][0]["judged_at"] for page in kept(store)):
        found.add("kept")
    return found


def kept(store: Path) -> list[dict[str, object]]:
    """Page records that are the same as in the run before."""
    pages = records(store, File.PAGES)
    before = [(page["url"], page["not_before"]) for page in pages]
    return [page for page in pages if page["not_before"] and before.count((page["url"], page["not_before"])) > 1]


@EACH_WEB
def test_every_record_comes_out_the_same(stores: dict[str, Crawled], name: str) -> None:
    stores[name].replayed.check()


@EACH_WEB
def test_the_store_has_what_it_is_made_for(stores: dict[str, Crawled], name: str) -> None:
    found = stores[name]
    assert found.web.shows <= words(found.store)
    assert len(records(found.store, File.MANIFEST)) == 2 * len(found.web.runs)


@EACH_WEB
def test_nobody_is_asked(stores: dict[str, Crawled], name: str) -> None:
    found = stores[name]
    asked = sum(row["event"] == "claim" for row in records(found.store, File.REQUESTS))
    assert (found.arrived, found.replayed.found["requests"]) == (0, asked)


def test_the_new_store_proves_the_promises_too(stores: dict[str, Crawled]) -> None:
    found = verify(stores["rich"].replayed.new, None)
    assert (found.refuted, found.digest) == (False, stores["rich"].replayed.found["digest"])


def test_a_replay_can_be_replayed(ground: Ground, stores: dict[str, Crawled]) -> None:
    ground.replay(stores["trouble"].replayed.new).check()


def test_what_it_says(ground: Ground, stores: dict[str, Crawled], tmp_path: Path) -> None:
    store, new = stores["demo"].store, tmp_path / "new"
    found = stores["demo"].replayed.found
    ended = scrapy(["replay", str(store), "-a", f"store={new}"], tmp_path)
    assert (ended.exit, ended.log) == (0, "")
    assert ended.out.splitlines() == [
        f"Replayed {store} into {new}: {found['requests']} requests, none of them sent.",
        f"The records are the same, times aside. Digest: {found['digest']}",
    ]
    assert list(found) == [
        *("store", "new", "runs", "requests", "digest", "new_digest", "difference", "unknown", "incomplete"),
        *("taken_over", "same"),
    ]


def test_settings_of_the_user_change_nothing(stores: dict[str, Crawled], tmp_path: Path) -> None:
    store, new = stores["rich"].store, tmp_path / "new"
    ended = scrapy(
        ["replay", str(store), "-a", f"store={new}", "--json"],
        tmp_path,
        names={"a.test": []},
        settings={"SEASPIDER_INTERVAL": 9, "SEASPIDER_FOLLOW": "off", "ROBOTSTXT_USER_AGENT": "other"},
        environment={"SCRAPY_PROJECT": "research"},
    )
    assert (ended.exit, json.loads(ended.out)["new_digest"]) == (0, stores["rich"].replayed.found["digest"])
    assert not (tmp_path / "ledger.sqlite3").exists()


def test_twin_a_crawl_asks_and_gets_nothing_without_a_socket(ground: Ground, tmp_path: Path) -> None:
    """What each replay here does without is what a crawl cannot do without."""
    with LoopbackWeb({"/*": sites.OK}, names={"a.test": "127.0.34.1"}) as servers:
        queue, names = [servers.url("a.test", "/1")], {"a.test": "127.0.34.1"}
        assert ground.crawl(queue, tmp_path / "with", names=names).exit == 0
        arrived = len(servers.arrivals)
        ground.crawl(queue, tmp_path / "without", names=names, sabotage=NO_SOCKET)
        assert (arrived, len(servers.arrivals)) == (2, 2)
    assert [page["outcome"] for page in records(tmp_path / "with", File.PAGES)] == ["stored"]
    assert "stored" not in [page["outcome"] for page in records(tmp_path / "without", File.PAGES)]
