"""A replay of another queue: a crawl of it from the recorded answers, which says what was not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File
from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import scrapy
from tests.replay.replaying import Ground, Replayed, records
from tests.replay.sites import FREE, HTML, OK, moved, names_of
from tests.test_order_runs import links

HOSTS = ("a.test", "b.test", "c.test", "gone.test", "inner.test", "silent.test")
NAMES: dict[str, Any] = {**names_of(37, HOSTS), "gone.test": [], "inner.test": ["10.0.0.1"]}
ROUTES: dict[str, Any] = {
    "/*": OK,
    "/robots.txt": FREE,
    "a.test/robots.txt": Answer(body="User-agent: *\nDisallow: /no\nCrawl-delay: 0.3\n"),
    "a.test/1": Answer(headers=HTML, body=links("/2", "/no", "/new")),
    "a.test/heals": (Answer(503), OK),
    "b.test/1": Answer(403),
    "c.test/hop": moved("http://a.test:{port}/2"),
    "silent.test/robots.txt": Answer(503),
}
QUEUE = (
    *("a.test/1", "a.test/2", "a.test/no", "a.test/heals", "b.test/1", "b.test/2", "c.test/hop", "c.test/1"),
    *("gone.test/", "inner.test/", "silent.test/"),
)
SETTINGS: dict[str, object] = {"SEASPIDER_INTERVAL": 0.01, "SEASPIDER_CRAWL_DELAY_CAP": 2}
TLS = "https://b.test/secret"
"""Blocked without a request, its robots.txt included."""
ENDINGS = {
    "a.test/1": "stored",
    "a.test/2": "stored",
    "a.test/no": "disallowed",
    "a.test/heals": "stored",
    "b.test/1": "stored",
    "b.test/2": "blocked",
    "c.test/hop": "stored",
    "c.test/1": "stored",
    "gone.test/": "failed",
    "inner.test/": "refused",
    "silent.test/": "deferred",
}


@dataclass(frozen=True, slots=True)
class Crawled:
    store: Path
    port: int
    ground: Ground

    def url(self, place: str) -> str:
        host, _, path = place.partition("/")
        return place if "//" in place else f"http://{host}:{self.port}/{path}"

    def replay(self, places: Sequence[str]) -> Replayed:
        queue = self.ground.queue([self.url(place) for place in places])
        return self.ground.replay(self.store, "--queue", str(queue))

    def endings(self, found: Replayed) -> dict[str, str]:
        """place -> outcome, in the order of the ends."""
        places = {self.url(place): place for place in (*ENDINGS, TLS, "b.test/never")}
        return {places[page["url"]]: page["outcome"] for page in records(found.new, File.PAGES)}


@pytest.fixture(scope="module")
def crawled(ground: Ground) -> Crawled:
    store = ground.folder / "store"
    with LoopbackWeb(ROUTES, names=NAMES) as servers:
        found = Crawled(store, servers.port, ground)
        queue = [found.url(place) for place in (*QUEUE, TLS)]
        ended = ground.crawl(queue, store, names=NAMES, settings=SETTINGS)
    assert ended.exit == 3, ended.text
    assert found.endings(Replayed(ended, store, store)) == {**ENDINGS, TLS: "blocked"}
    return found


def unknown(found: Replayed) -> list[tuple[int | None, str]]:
    return [(row["line"], row["what"]) for row in found.found["not_recorded"]]


def test_a_part_of_it_in_another_order(crawled: Crawled) -> None:
    part = ("silent.test/", "a.test/heals", "c.test/1", "a.test/no", "gone.test/", "inner.test/", "a.test/1")
    found = crawled.replay(part)
    assert (found.done.exit, unknown(found)) == (0, []), found.done.text
    assert crawled.endings(found) == {place: ENDINGS[place] for place in part}
    assert found.found["new_digest"] != found.found["digest"]
    assert found.done.text.count("\n") == 1


def test_time_is_virtual_and_pauses_are_those_of_the_crawl(crawled: Crawled) -> None:
    found = crawled.replay(["a.test/1", "a.test/2", "a.test/heals"])
    rows = records(found.new, File.REQUESTS)
    claims = [row["claimed_ns"] for row in rows if row["event"] == "claim"]
    ends = [row["ended_ns"] for row in rows if row["event"] == "settle"]
    assert len(claims) == 5
    assert [claim - end for claim, end in zip(claims[1:], ends, strict=False)] == [300_000_000] * 4


def test_a_hop_to_a_host_that_is_not_in_the_queue(crawled: Crawled) -> None:
    found = crawled.replay(["c.test/hop"])
    assert (found.done.exit, crawled.endings(found)) == (0, {"c.test/hop": "stored"})
    assert found.found["requests"] == 4


def test_urls_that_were_not_recorded_are_left_unfinished(crawled: Crawled) -> None:
    found = crawled.replay(["a.test/1", "# nothing", "a.test/never", "nowhere.test/", "c.test/1"])
    missing = [(3, crawled.url("a.test/never")), (4, crawled.url("nowhere.test/"))]
    assert (found.done.exit, unknown(found)) == (3, missing)
    assert crawled.endings(found) == {"a.test/1": "stored", "c.test/1": "stored"}
    end = records(found.new, File.MANIFEST)[-1]
    assert (end["counts"]["queue"]["unfinished"], end["counts"]["unfinished"]) == (2, 2)


def test_what_was_blocked_then_is_not_known_now(crawled: Crawled) -> None:
    """Its host's robots.txt was asked, itself never."""
    found = crawled.replay(["b.test/2", "c.test/1"])
    assert (found.done.exit, unknown(found)) == (3, [(None, crawled.url("b.test/2"))])
    assert crawled.endings(found) == {"c.test/1": "stored"}


def test_a_robots_txt_that_was_not_recorded_decides_nothing(crawled: Crawled) -> None:
    found = crawled.replay([TLS, "a.test/1", "c.test/1"])
    assert (found.done.exit, unknown(found)) == (3, [(None, "https://b.test/robots.txt")])
    assert crawled.endings(found) == {"c.test/1": "stored", "a.test/1": "stored"}
    assert [row["origin"] for row in records(found.new, File.ROBOTS)] == [
        crawled.url("a.test/")[:-1], crawled.url("c.test/")[:-1]
    ]  # fmt: skip
    end = records(found.new, File.MANIFEST)[-1]
    assert (end["reason"], end["exit"], end["counts"]["unfinished"]) == ("not-recorded", 3, 1)


def test_nothing_but_what_was_not_recorded(crawled: Crawled) -> None:
    found = crawled.replay(["nowhere.test/"])
    assert (found.done.exit, found.found["requests"], records(found.new, File.PAGES)) == (3, 0, [])


def test_a_missing_body_is_an_error(crawled: Crawled, ground: Ground, tmp_path: Path) -> None:
    page = next(page for page in records(crawled.store, File.PAGES) if page["url"] == crawled.url("c.test/1"))
    body = crawled.store / "bodies" / page["sha256"][:2] / page["sha256"]
    hidden = body.rename(tmp_path / "hidden")
    try:
        found = crawled.replay(["c.test/1"])
    finally:
        hidden.rename(body)
    said = f"scrapy replay: {crawled.store}: bodies/{page['sha256'][:2]}/{page['sha256']} is missing or changed\n"
    assert (found.done.exit, found.done.text) == (2, said)


def test_what_it_says(crawled: Crawled, tmp_path: Path) -> None:
    queue = tmp_path / "queue.txt"
    queue.write_text("".join(f"{crawled.url(f'a.test/never/{n}')}\n" for n in range(25)))
    new = tmp_path / "new"
    line = ["replay", str(crawled.store), "-a", f"store={new}", "--queue", str(queue)]
    ended = scrapy(line, tmp_path)
    head, other, count, *listed, more = ended.out.splitlines()
    assert (ended.exit, ended.log) == (3, "")
    assert head == f"Replayed {crawled.store} into {new}: 0 requests, none of them sent."
    assert other.startswith(f"The queue {queue} is another than the store's, so the digest is another: ")
    assert count == "Not recorded, so left unfinished: 25"
    assert listed == [f"  line {n + 1}: {crawled.url(f'a.test/never/{n}')}" for n in range(20)]
    assert more == "  ... and 5 more"
