"""How a replay reads a store and compares lines, without a crawl."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File, to_line
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.loopback import LoopbackWeb
from seaspider.replay import made
from seaspider.replay.differences import Differs, compare
from seaspider.replay.recordedqueue import recorded_queue
from seaspider.replay.reel import LINES, Reel
from seaspider.verify.evidence import Evidence
from tests.test_crawl import demo

SAME = {"n": 1, "at": [{"b": 2, "fetched_at": "then"}], "not_before": "then"}
# was, is now -> what is said
DIFFERENCES: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "times": (SAME, {"n": 1, "at": [{"b": 2, "fetched_at": "now"}], "not_before": None}, None),
    "value": ({"n": 1}, {"n": 2}, "n was 1, and is 2 now"),
    "type": ({"n": 1}, {"n": 1.0}, "n was 1, and is 1.0 now"),
    "bool": ({"n": 1}, {"n": True}, "n was 1, and is True now"),
    "inside": ({"at": [{"b": 2}]}, {"at": [{"b": 3}]}, "at[0].b was 2, and is 3 now"),
    "length": ({"at": [1]}, {"at": [1, 2]}, "at was [1], and is [1, 2] now"),
    "more": ({"n": 1}, {"n": 1, "m": 2}, "m was None, and is 2 now"),
    "less": ({"n": 1, "m": None}, {"n": 1}, "m was None, and is None now"),
    "order": ({"n": 1, "m": 2}, {"m": 2, "n": 1}, "the fields of the line are in another order"),
    "order-inside": (
        {"at": [{"a": 1, "b": 2}]},
        {"at": [{"b": 2, "a": 1}]},
        "the fields of at[0] are in another order",
    ),
}


@pytest.mark.parametrize(("was", "now", "said"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_first_difference_is_named(was: dict[str, Any], now: dict[str, Any], said: str | None) -> None:
    row = Row("pages.jsonl:3", {"v": 1, **was})
    if said is None:
        compare(row, now)
        return
    with pytest.raises(Differs) as caught:
        compare(row, now)
    assert str(caught.value) == f"pages.jsonl:3: {said}"


def put(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda row: row.update(values)


def last(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["chain"][-1].update(values)


# file, number of a line, what is done to it -> what is said
UNREADABLE: dict[str, tuple[File, int, Callable[[dict[str, Any]], object], str]] = {
    "no-time": (File.REQUESTS, 5, lambda row: row.pop("judged_at"), "requests.jsonl:5: no 'judged_at'"),
    "no-hop": (File.PAGES, 3, put(chain=[]), "pages.jsonl:3: 'chain' is [], without a last hop"),
    "hop-is-no-object": (File.ROBOTS, 3, put(chain=[7]), "robots.jsonl:3: 'chain' is [7], without a last hop"),
    "url": (File.PAGES, 3, last(url="x"), "pages.jsonl:3: 'url': not a usable URL (missing-scheme): 'x'"),
    "judged": (File.PAGES, 3, last(judged_at="soon"), "pages.jsonl:3: 'judged_at': not a time of the store"),
    "fetched": (File.ROBOTS, 1, put(fetched_at="soon"), "robots.jsonl:1: 'fetched_at': not a time of the store"),
    "format": (File.LINKS, 2, put(v=2), "links.jsonl:2: format 2; this version of Seaspider reads format 1"),
    "run": (File.INTENTS, 2, put(run="1"), "intents.jsonl:2: 'run' is '1', not of type int"),
    "address": (File.REQUESTS, 3, put(addresses=["nowhere"]), "requests.jsonl:3: 'nowhere' does not appear to be"),
    "error": (File.REQUESTS, 4, put(error="bored"), "requests.jsonl:3: 'bored' is not a valid Reason"),
    "stray": (File.REQUESTS, 4, put(n=9), "requests.jsonl:4: ends request 9, which did not begin right before"),
    "fate": (File.SKIPPED, 1, put(fate="lost"), "skipped.jsonl:1: 'lost' is not a valid Fate"),
    "of": (File.SKIPPED, 1, put(of=1.5), "skipped.jsonl:1: 'of' is 1.5, not of type int"),
    "line": (File.INTENTS, 1, lambda row: row.pop("line"), "intents.jsonl:1: no 'line'"),
    "settings": (File.MANIFEST, 1, lambda row: row["settings"].pop("gate"), "manifest.jsonl:1: settings are not whole"),
    "counts": (File.MANIFEST, 2, put(counts={}), "manifest.jsonl:2: the counts of the queue are not whole: 'queue'"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    with ExitStack() as running:
        found, _ = demo(folder, lambda *routes, **options: running.enter_context(LoopbackWeb(*routes, **options)))
    return found.store


def read_all(store: Path) -> None:
    """All that a replay reads of a store."""
    evidence = Evidence(store)
    reel = Reel(evidence)
    for file in LINES:
        while reel.lines[file].at is not None:
            reel.take(reel.lines[file])
    while reel.requests.at is not None:
        reel.take(reel.requests)
    for run in evidence.runs:
        made.config(run)
        recorded_queue(evidence, run)


def test_a_good_store_is_read(store: Path) -> None:
    read_all(store)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_line_that_is_none_of_a_store_is_named(store: Path, tmp_path: Path, name: str) -> None:
    file, number, change, said = UNREADABLE[name]
    new = shutil.copytree(store, tmp_path / "changed")
    lines = (new / file).read_bytes().splitlines(keepends=True)
    row = json.loads(lines[number - 1])
    change(row)
    lines[number - 1] = to_line(row)
    (new / file).write_bytes(b"".join(lines))
    with pytest.raises(StoreError) as caught:
        read_all(new)
    assert said in str(caught.value)


def test_the_first_error_is_kept(store: Path) -> None:
    reel = Reel(Evidence(store))
    first, second = StoreError("one"), StoreError("two")
    assert (reel.fail(first), reel.fail(second), reel.error) == (first, second, first)
