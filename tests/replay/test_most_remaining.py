"""most-remaining in a crawl that is killed and goes on: equal stores, each proven and replayed from what it holds."""

from __future__ import annotations

import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File, without_times
from seaspider.loopback import Answer, LoopbackWeb
from tests.replay.replaying import MAIN, NO_SOCKET, Ground, records
from tests.replay.sites import AT_POINT, FREE, HTML, OK, Plan, lines_of, links, moved, names_of

HOSTS = ("long.test", "short.test", "slow.test", "twin.test", "other.test")
NAMES = names_of(36, HOSTS) | {"twin.test": "127.0.36.1"}
ROUTES: dict[str, Any] = {
    "/*": OK,
    "/robots.txt": FREE,
    "slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.1\nDisallow: /2\n"),
    "other.test/robots.txt": moved("http://short.test:{port}/their-robots", 301),
    "long.test/1": Answer(headers=HTML, body=links("/x", "/y", "/7")),
    "twin.test/1": moved("http://other.test:{port}/from-twin"),
    "short.test/2": moved("/late"),
}
MANY = {"long.test": 9, "short.test": 3, "slow.test": 6, "twin.test": 4, "other.test": 3}
PLAN = Plan([f"{host}/{n}" for n in range(1, 10) for host in HOSTS if n <= MANY[host]])
ARGUMENTS = {"order": "most-remaining", "follow": "host"}
SETTINGS = {"SEASPIDER_INTERVAL": 0.02, "SEASPIDER_EXPECTED_ANSWER": 0.004}
KILLS = (("before send", 3), ("before send", 9), ("after write requests.jsonl", 21), ("after write pages.jsonl", 5),
         ("before rename body", 3), ("after write pages.jsonl", 20))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stores:
    """A store as its run left it when it was killed, and after the run that went on."""

    killed: Path
    whole: Path


@pytest.fixture(scope="module")
def made(ground: Ground) -> tuple[Path, list[Stores]]:
    """The store of a run that nothing happened to, and those of the others. Their queues are gone."""
    with LoopbackWeb(ROUTES, names=NAMES) as web, ThreadPoolExecutor(len(KILLS)) as pool:
        queue = ground.queue(lines_of(PLAN, web.port))

        def crawl(store: Path, sabotage: str = "") -> int:
            return ground.crawl(
                queue, store, names=NAMES, arguments=ARGUMENTS, settings=SETTINGS, sabotage=sabotage
            ).exit

        def killed(number: int) -> Stores:
            (point, nth), store = KILLS[number], ground.folder / f"killed-{number}"
            sabotage = AT_POINT.format(point=point, nth=nth, signal=signal.SIGKILL.name)
            assert crawl(store, sabotage) == -signal.SIGKILL
            as_left = shutil.copytree(store, ground.folder / f"left-{number}")
            assert crawl(store) == 0
            return Stores(as_left, store)

        assert crawl(ground.folder / "undisturbed") == 0
        stores = list(pool.map(killed, range(len(KILLS))))
    queue.unlink()
    return ground.folder / "undisturbed", stores


def pages(store: Path) -> list[dict[str, Any]]:
    """The final page records as equal stores have them."""
    kept = []
    for page in records(store, File.PAGES):
        record = {key: value for key, value in page.items() if key not in ("run", "visit", "attempts")}
        record["chain"] = [{**hop, "robots_id": None} for hop in page["chain"]]
        kept.append(without_times(record))
    return sorted(kept, key=lambda page: page["url"])


def proven(ground: Ground, store: Path) -> dict[str, Any]:
    done = ground.run([sys.executable, "-c", MAIN, "", "verify", str(store), "--json"])
    assert done.exit == 0, done.text
    return done.found


def test_killed_or_not_the_records_are_equal(made: tuple[Path, list[Stores]]) -> None:
    undisturbed, stores = made
    expected = pages(undisturbed)
    assert len(expected) == sum(MANY.values()) + 2
    assert [pages(each.whole) == expected for each in stores] == [True] * len(KILLS)


def test_the_one_with_the_most_to_do_is_asked_first_and_most(made: tuple[Path, list[Stores]]) -> None:
    claims = [row for row in records(made[0], File.REQUESTS) if row["event"] == "claim"]
    first = list(dict.fromkeys(row["host"] for row in claims))
    assert first == ["long.test", "slow.test", "twin.test", "other.test", "short.test"]
    [start] = [row for row in records(made[0], File.MANIFEST) if row["event"] == "start"]
    assert start["waiting"] == dict(sorted(MANY.items()))
    assert start["settings"]["expected_answer_s"] == 0.004


@pytest.mark.parametrize("number", range(len(KILLS)), ids=map(str, KILLS))
def test_each_is_proven(ground: Ground, made: tuple[Path, list[Stores]], number: int) -> None:
    for store in (made[1][number].killed, made[1][number].whole):
        proven(ground, store)


@pytest.mark.parametrize("number", range(len(KILLS)), ids=map(str, KILLS))
def test_each_is_replayed_though_the_queue_is_gone(
    ground: Ground, made: tuple[Path, list[Stores]], number: int
) -> None:
    for store in (made[1][number].killed, made[1][number].whole):
        found = ground.replay(store)
        found.check(taken_over=found.found["taken_over"])


def test_twin_without_what_waited_besides_none_is(ground: Ground, made: tuple[Path, list[Stores]]) -> None:
    without = f"{NO_SOCKET}\nfrom seaspider.replay import replayer\nreplayer.fill_up = lambda run, info: None\n"
    found = [ground.replay(each.killed, sabotage=without).found["same"] for each in made[1][:2]]
    assert found == [False, False]


def test_another_order_is_found(ground: Ground, made: tuple[Path, list[Stores]]) -> None:
    """Two turns of different hosts, one in the place of the other; and a setting that makes another order."""
    undisturbed, store = made[0], ground.folder / "tampered"
    shutil.copytree(undisturbed, store)
    manifest = (store / File.MANIFEST).read_text()
    for old, new in (('"expected_answer_s":0.004', '"expected_answer_s":0.04'), ('"most-remaining"', '"longest-idle"')):
        assert old in manifest
        (store / File.MANIFEST).write_text(manifest.replace(old, new))
        done = ground.run([sys.executable, "-c", MAIN, "", "verify", str(store), "--json"])
        assert done.exit == 1
        assert [name for name, found in done.found["promises"].items() if found["standing"] != "proven"] == ["P5"]


def test_explain_names_it(ground: Ground, made: tuple[Path, list[Stores]]) -> None:
    url = next(page["url"] for page in records(made[0], File.PAGES)).rpartition("/")[0] + "/never"
    done = ground.run([sys.executable, "-c", MAIN, "", "explain", url, "--store", str(made[0])])
    assert "order most-remaining" in done.text
