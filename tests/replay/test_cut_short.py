"""A run that was stopped or killed is replayed up to the line it came to, and so is the run that went on."""

from __future__ import annotations

import gzip
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.loopback import LoopbackWeb
from tests.crawling import ROOT, command, environment
from tests.replay import sites
from tests.replay.replaying import Ground, records

PLAN = sites.small().runs[0]

# Where it is killed -> how many lines are taken as they are: what led to them, or their run, has no record.
DEATHS = {
    ("after write skipped.jsonl", 1): 1,
    ("before send", 5): 0,
    ("before commit settle", 4): 0,
    # The pause after robots.txt follows from rules that are in no record yet.
    ("after write requests.jsonl", 4): 1,
    ("before write robots.jsonl", 1): 0,
    ("after write intents.jsonl", 2): 0,
    ("before rename body", 4): 0,
    ("after write links.jsonl", 1): 3,
    ("after write pages.jsonl", 3): 0,
    ("before write manifest.jsonl", 2): 0,
}
STOPPED = ("before send", 6)


@dataclass(frozen=True, slots=True)
class Cut:
    """A store as its run left it when it was cut short, and after the run that went on."""

    cut: Path
    whole: Path


def cut(ground: Ground, death: tuple[str, int], how: signal.Signals, exits: tuple[int, int]) -> Cut:
    point, nth = death
    web, store = sites.small(), ground.folder / f"{point} {nth}"
    sabotage = sites.AT_POINT.format(point=point, nth=nth, signal=how.name)
    with LoopbackWeb(web.routes, names=web.names) as servers:
        queue = ground.queue(sites.lines_of(PLAN, servers.port))
        first = ground.crawl(queue, store, names=web.names, arguments=PLAN.arguments, sabotage=sabotage)
        assert first.exit == exits[0], first.text
        as_left = shutil.copytree(store, ground.folder / f"{point} {nth} left")
        after = ground.crawl(queue, store, names=web.names, arguments=PLAN.arguments)
        assert after.exit == exits[1], after.text
    return Cut(as_left, store)


@pytest.fixture(scope="module")
def deaths(ground: Ground) -> dict[tuple[str, int], Cut]:
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda death: cut(ground, death, signal.SIGKILL, (-signal.SIGKILL, 3)), DEATHS)
        return dict(zip(DEATHS, found, strict=True))


@pytest.fixture(scope="module")
def stopped(ground: Ground) -> Cut:
    return cut(ground, STOPPED, signal.SIGINT, (130, 3))


@pytest.mark.parametrize("death", DEATHS, ids=str)
def test_a_killed_run_and_the_one_that_goes_on(
    ground: Ground, deaths: dict[tuple[str, int], Cut], death: tuple[str, int]
) -> None:
    ground.replay(deaths[death].whole).check(taken_over=DEATHS[death])


@pytest.mark.parametrize("death", [*DEATHS][1::3], ids=str)
def test_a_killed_run_by_itself(ground: Ground, deaths: dict[tuple[str, int], Cut], death: tuple[str, int]) -> None:
    found = ground.replay(deaths[death].cut)
    found.check(taken_over=DEATHS[death])
    assert [row["event"] for row in records(found.new, File.MANIFEST)] == ["start"]


def test_a_store_in_which_no_run_began(ground: Ground, deaths: dict[tuple[str, int], Cut]) -> None:
    store = deaths["after write skipped.jsonl", 1].cut
    found = ground.replay(store)
    assert (found.done.exit, found.done.text) == (2, f"scrapy replay: store {str(store)!r}: no run has begun in it\n")
    assert not found.new.exists()


def test_a_run_that_was_stopped(ground: Ground, stopped: Cut) -> None:
    for store in (stopped.cut, stopped.whole):
        found = ground.replay(store)
        found.check()
        assert records(found.new, File.MANIFEST)[1]["reason"] == "shutdown"


def test_a_run_that_was_stopped_whose_queue_is_gone(ground: Ground, stopped: Cut, tmp_path: Path) -> None:
    """From the store alone. A link to a URL that never had its turn was no news to the crawl, so it is none now."""
    [end] = [row for row in records(stopped.cut, File.MANIFEST) if row["event"] == "end"]
    pages = {page["url"] for page in records(stopped.cut, File.PAGES)}
    duplicates = {link["url"] for link in records(stopped.cut, File.LINKS) if link["reason"] == "duplicate"}
    assert duplicates - pages
    [queue] = {Path(row["queue"]) for row in records(stopped.whole, File.MANIFEST) if row["event"] == "start"}
    hidden = queue.rename(tmp_path / "hidden.txt")
    try:
        alone, whole = ground.replay(stopped.cut), ground.replay(stopped.whole)
    finally:
        hidden.rename(queue)
    alone.check()
    whole.check()
    assert 0 < alone.found["unknown"] < end["counts"]["unfinished"]


def test_a_packed_queue(ground: Ground, tmp_path: Path) -> None:
    web, store, queue = sites.small(), tmp_path / "store", tmp_path / "queue.txt.gz"
    with LoopbackWeb(web.routes, names=web.names) as servers:
        queue.write_bytes(gzip.compress("\n".join(sites.lines_of(PLAN, servers.port)).encode()))
        assert ground.crawl(queue, store, names=web.names).exit == 3
    ground.replay(store, "--queue", str(queue)).check()
    queue.unlink()
    ground.replay(store).check()


def test_a_queue_from_standard_input(ground: Ground, stopped: Cut, tmp_path: Path) -> None:
    """Two runs read it."""
    queue, new = records(stopped.whole, File.MANIFEST)[0]["queue"], tmp_path / "new"
    ended = subprocess.run(
        command(["replay", str(stopped.whole), "-a", f"store={new}", "--queue", "-"]),
        cwd=ROOT,
        env=environment(),
        input=Path(queue).read_bytes(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert {row.get("queue", "-") for row in records(new, File.MANIFEST)} == {"-"}


STOPS_ITSELF = """
import os, signal
from seaspider.replay.world import TapeExchange
_ask, _asked = TapeExchange.ask, []
async def ask(self, permit, *rest):
    _asked.append(permit)
    if len(_asked) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return await _ask(self, permit, *rest)
TapeExchange.ask = ask
"""


def test_a_replay_can_be_stopped(ground: Ground, stopped: Cut) -> None:
    found = ground.replay(stopped.whole, sabotage=STOPS_ITSELF)
    assert (found.done.exit, found.done.text) == (130, "scrapy replay: interrupted\n")
