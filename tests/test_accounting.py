"""Nothing of a queue gets lost in the books: each line once a run, each URL final once in a store, whatever happens.

The accounts are kept here once more, from the queue's text, the journal files and the last line of the log, and
compared: a queue that is edited between runs, runs that are stopped and runs that are killed; first by plan, then by
chance (seeded).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.accounts import check_accounts, of_run
from tests.crash.warm import MOST_S, Warm, shared
from tests.crawling import Ended, command

NAMES: dict[str, Any] = {
    "alder.test": "127.0.8.1",
    "birch.test": "127.0.8.2",
    "cedar.test": "127.0.8.3",
    "dead.test": [],
    "elm.test": "127.0.8.4",
}
HTML = (("Content-Type", "text/html"),)
ROUTES = {
    "/robots.txt": Answer(404),
    "/*": Answer(200, HTML, "<p>A tree"),
    "alder.test/1": Answer(200, HTML, '<a href="/leaf">A leaf</a> <a href="/2">Another tree</a>'),
    "birch.test/robots.txt": Answer(200, (("Content-Type", "text/plain"),), "User-agent: *\nDisallow: /no\n"),
    "cedar.test/robots.txt": Answer(503),
    "elm.test/1": Answer(403, HTML, "<p>No"),
}
NOT_FINAL = {"cedar.test/1": "deferred/robots-unreachable", "elm.test/2": "blocked/forbidden"}

_KILLED = """
import os, signal
from itertools import count
from seaspider import faultpoints
_points = count(1)
def reached(point):
    if next(_points) == NTH:
        os.kill(os.getpid(), signal.SIGKILL)
faultpoints.reached = reached
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a store: the queue's lines as they were, and what it left."""

    number: int
    lines: Sequence[str]
    ended: Ended

    @property
    def killed(self) -> bool:
        return self.ended.exit == -SIGKILL


class Books:
    """One store and its runs."""

    def __init__(self, folder: Path, web: LoopbackWeb, warm: Warm) -> None:
        self._folder = folder
        self._web = web
        self._warm = warm
        self.runs: list[Run] = []

    def run(self, lines: Sequence[str], *, kill_at: int = 0, sabotage: str = "", **settings: object) -> Run:
        """Crawls `lines` (`host/path` is a URL); `kill_at`: the fault point, counted from 1, at which it is killed."""
        if kill_at:
            sabotage = _KILLED.replace("NTH", str(kill_at))
        number = len(self.runs) + 1
        queue, log = self._folder / f"queue-{number}.txt", self._folder / f"log-{number}"
        texts = [self.url(line) for line in lines]
        queue.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        given = {"queue": queue, "store": self._folder / "store", "follow": "host"}
        crawl = command(
            ["crawl", "seaspider", *(part for key, value in given.items() for part in ("-a", f"{key}={value}"))],
            names=NAMES,
            settings={"SEASPIDER_LEDGER": ":memory:", **settings},
            sabotage=sabotage,
        )
        code = self._warm.start(crawl, log).wait(MOST_S)
        self.runs.append(Run(number, texts, Ended(code, "", log.read_text(), self._folder / "store")))
        return self.runs[-1]

    def url(self, line: str) -> str:
        return f"http://{line.replace('/', f':{self._web.port}/', 1)}" if re.match(r"\w+\.test/", line) else line

    def places(self, outcomes: Mapping[str, str]) -> dict[str, str]:
        """`host/path` for URL."""
        return {url.removeprefix("http://").replace(f":{self._web.port}", ""): how for url, how in outcomes.items()}

    def finals(self) -> Counter[str]:
        """How many final records each URL has."""
        return Counter(page["url"] for page in self.runs[-1].ended.records("pages") if final(page))


def final(page: Mapping[str, Any]) -> bool:
    return page["outcome"] not in ("deferred", "blocked")


def fates(run: Run) -> dict[int, list[str]]:
    """What a run says became of each line that is neither blank nor a comment: the lines of its journal files."""
    found: dict[int, list[str]] = {
        number: [] for number, line in enumerate(run.lines, 1) if line.strip() and not line.lstrip().startswith("#")
    }
    for row in of_run(run.ended, "skipped", run.number):
        found[row["line"]].append(row["fate"])
    for page in of_run(run.ended, "pages", run.number):
        if page["line"] is not None:
            found[page["line"]].append("recorded")
    return found


def listed(text: str) -> dict[str, int]:
    """`3 done, 1 blank` as numbers."""
    pairs = (item.split(" ", 1) for item in text.split(", ")) if text != "none" else ()
    return {name: int(number) for number, name in pairs}


CLOSING = re.compile(
    r"Queue: (?P<lines>\d+) lines \((?P<fates>[^)]*)\)\.(?: Followed links: (?P<followed>[^.]*)\.)? "
    r"Page records of this run: (?P<pages>[^.]*)\. \d+ requests to \d+ hosts\. "
    r"In the store: (?P<final>\d+) URLs final, (?P<waiting>\d+) not yet\."
)


def check(books: Books) -> None:
    """The books of the latest run, and of the store so far."""
    run = books.runs[-1]
    by_line = fates(run)
    assert all(len(found) <= 1 for found in by_line.values()), by_line
    assert set(books.finals().values()) <= {1}
    if run.killed:
        assert not [row for row in of_run(run.ended, "manifest", run.number) if row["event"] == "end"]
        return
    counts = check_accounts(run.ended, run.number)
    blank = sum(not line.strip() for line in run.lines)
    own = Counter(found[0] if found else "unfinished" for found in by_line.values())
    own.update({"blank": blank, "comment": len(run.lines) - blank - len(by_line)})
    assert {name: number for name, number in counts["queue"].items() if number} == {"lines": len(run.lines), **+own}
    said = CLOSING.search(run.ended.log)
    assert said is not None, run.ended.log
    assert int(said["lines"]) == len(run.lines)
    assert listed(said["fates"]) == +own
    assert listed(said["pages"]) == counts["pages"]
    assert sum(listed(said["followed"] or "none").values()) == sum(counts["followed"].values())
    latest = {page["url"]: page for page in run.ended.records("pages")}
    assert int(said["final"]) == sum(map(final, latest.values()))
    assert int(said["waiting"]) == len(latest) - int(said["final"])


@pytest.fixture(scope="module")
def warm() -> Warm:
    return shared()


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(ROUTES, names=NAMES) as running:
        yield running


# --- by plan ---

FIRST = ["# trees", "alder.test/1", "birch.test/1", "birch.test/no", "", "alder.test/1", "no tree", "cedar.test/1"]
EDITED = ["birch.test/2", "cedar.test/1", "birch.test/1", "alder.test/leaf", "alder.test/1", "# birch.test/no"]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, web: LoopbackWeb, warm: Warm) -> Books:
    web.clear()
    books = Books(tmp_path_factory.mktemp("story"), web, warm)
    runs: list[tuple[list[str], dict[str, Any]]] = [
        (FIRST, {"CLOSESPIDER_PAGECOUNT": 2}),
        (FIRST, {"kill_at": 40}),
        (FIRST, {}),
        (EDITED, {}),
        (["elm.test/1", "elm.test/2", "dead.test/", "alder.test/2"], {}),
        ([*FIRST, *EDITED, "elm.test/2"], {}),
    ]
    for lines, options in runs:
        books.run(lines, **options)
        check(books)
    return books


def skipped(run: Run) -> dict[int, str]:
    return {row["line"]: row["fate"] for row in of_run(run.ended, "skipped", run.number)}


def recorded(books: Books, run: Run) -> dict[str, str]:
    outcomes = {
        page["url"]: f"{page['outcome']}/{page['reason']}" if page["reason"] else page["outcome"]
        for page in of_run(run.ended, "pages", run.number)
    }
    return books.places(outcomes)


def test_a_run_that_is_stopped_counts_what_is_left(story: Books) -> None:
    first = story.runs[0]
    assert first.ended.exit == 3
    counts = check_accounts(first.ended, 1)
    assert counts["queue"]["unfinished"] > 0
    assert counts["queue"]["unfinished"] + counts["queue"]["recorded"] == 4


def test_a_run_that_is_killed_leaves_no_line_twice(story: Books) -> None:
    assert story.runs[1].killed
    assert story.runs[1].ended.log.count("Queue: ") == 0


def test_after_a_stop_and_a_kill_all_is_there_once(story: Books) -> None:
    done = {url for run in story.runs[:3] for url in recorded(story, run)}
    assert done == {"alder.test/1", "alder.test/leaf", "alder.test/2", "birch.test/1", "birch.test/no", "cedar.test/1"}
    assert story.runs[2].ended.exit == 3


def test_lines_may_be_added_removed_and_put_into_another_order(story: Books) -> None:
    edited = story.runs[3]
    assert recorded(story, edited) == {"birch.test/2": "stored", "cedar.test/1": NOT_FINAL["cedar.test/1"]}
    assert skipped(edited) == {3: "done", 4: "done", 5: "done"}
    lines = {page["line"] for page in of_run(edited.ended, "pages", 4)}
    assert lines == {1, 2}


def test_a_new_queue_for_the_same_store_adds_to_it(story: Books) -> None:
    assert recorded(story, story.runs[4]) == {
        "elm.test/1": "stored",
        "elm.test/2": NOT_FINAL["elm.test/2"],
        "dead.test/": "failed/dns",
    }
    assert skipped(story.runs[4]) == {4: "done"}


def test_what_was_removed_stays_done_when_it_comes_back(story: Books) -> None:
    last = story.runs[5]
    assert recorded(story, last) == NOT_FINAL
    fates = Counter(skipped(last).values())
    assert fates == {"done": 5, "duplicate": 4, "rejected": 1}


def test_each_url_was_asked_for_as_often_as_it_was_begun(story: Books, web: LoopbackWeb) -> None:
    """Once; and once more if the kill came between."""
    asked = Counter(f"{arrival.name}{arrival.target}" for arrival in web.arrivals)
    assert sum(number - 1 for number in asked.values()) <= 1
    assert set(story.finals().values()) == {1}


# --- by chance ---

TREES = [f"{host}/{path}" for host in ("alder.test", "birch.test", "elm.test") for path in ("1", "2", "no")]
OTHERS = ["cedar.test/1", "dead.test/", "", "# a comment", "no tree", "https://", "birch.test/%31"]


def some_lines(random: Random) -> list[str]:
    """A queue somebody edited: some of the lines, in any order, some of them twice. Never without a URL."""
    pool = [*TREES, *OTHERS]
    return [*random.sample(pool, random.randint(4, len(pool))), *random.choices(pool, k=3), random.choice(TREES)]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2, 3))])
def test_books_are_right_whatever_is_done_to_a_queue(tmp_path: Path, web: LoopbackWeb, warm: Warm, seed: int) -> None:
    random = Random(seed)
    books = Books(tmp_path, web, warm)
    for _ in range(8):
        options: dict[str, Any] = {}
        match random.choice(("whole", "stopped", "killed", "killed")):
            case "stopped":
                options["CLOSESPIDER_PAGECOUNT"] = random.randint(1, 4)
            case "killed":
                options["kill_at"] = random.randint(30, 200)
        books.run(some_lines(random), **options)
        check(books)
    last = books.run([*TREES, *OTHERS])
    check(books)
    assert last.ended.exit == 3
    assert check_accounts(last.ended, last.number)["unfinished"] == 0
    web.clear()
    again = books.run([*TREES, *OTHERS])
    check(books)
    assert [f"{arrival.name}{arrival.target}" for arrival in web.arrivals] == []
    assert all(place == "cedar.test/1" or place.startswith("elm.test/") for place in recorded(books, again))


def test_twin_books_that_do_not_know_what_was_done_are_found_wrong(
    tmp_path: Path, web: LoopbackWeb, warm: Warm
) -> None:
    books = Books(tmp_path, web, warm)
    books.run(["birch.test/1"])
    check(books)
    books.run(["birch.test/1"], sabotage="import seaspider.history as h; h.read = lambda *_, **__: h.History(runs=1)\n")
    with pytest.raises(AssertionError):
        check(books)


def test_twin_a_line_that_is_dropped_without_a_word_is_counted_as_unfinished(
    tmp_path: Path, web: LoopbackWeb, warm: Warm
) -> None:
    drop = """
from seaspider.core.frontier import Frontier
add_all = Frontier.add_all
Frontier.add_all = lambda self, host, origin, visits: add_all(self, host, origin, visits if visits.take() else visits)
"""
    books = Books(tmp_path, web, warm)
    run = books.run(["birch.test/1", "birch.test/2"], sabotage=drop)
    check(books)
    assert run.ended.exit == 3
    assert check_accounts(run.ended, 1)["queue"]["unfinished"] == 1
