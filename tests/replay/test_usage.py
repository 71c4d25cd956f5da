"""`scrapy replay` used wrongly: one line, exit code 2, and nothing is made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.loopback import LoopbackWeb
from tests.replay.replaying import MAIN, Ground
from tests.replay.sites import FREE, OK


@pytest.fixture(scope="module")
def store(ground: Ground) -> Path:
    store, names = ground.folder / "store", {"a.test": "127.0.38.1"}
    with LoopbackWeb({"/robots.txt": FREE, "/1": OK}, names=names) as servers:
        assert ground.crawl([servers.url("a.test", "/1")], store, names=names).exit == 0
    return store


def full(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new" / "something").touch()


# arguments with {store}, {tmp} and {new} -> what is said; something done in {tmp} before.
WRONG: dict[str, tuple[str, str, Callable[[Path], object] | None]] = {
    "no-new": ("{store}", "argument -a store=NEW: is required: the folder of the new store", None),
    "no-name": ("{store} -a {new}", "option -a {new}: must be store=NEW", None),
    "no-folder": ("{store} -a store=", "argument -a store=NEW: is required: the folder of the new store", None),
    "unknown": (
        *(
            "{store} -a queue={new}",
            "argument -a queue={new}: is unknown here; known is store, the folder of the new store",
        ),
        None,
    ),
    "not-empty": ("{store} -a store={new}", "argument -a store={new}: must be a new folder, or an empty one", full),
    "a-file": (
        *("{store} -a store={new}", "argument -a store={new}: must be a new folder, or an empty one"),
        lambda folder: (folder / "new").touch(),
    ),
    "itself": ("{store} -a store={store}", "argument -a store={store}: must be a new folder, or an empty one", None),
    "below-a-file": (
        "{store} -a store={store}/lock/new",
        "argument -a store={store}/lock/new: must not lie in the store that is replayed",
        None,
    ),
    "no-store": ("{tmp}/nowhere -a store={new}", "{tmp}/nowhere: is no store: it has no manifest.jsonl", None),
    "nameless": (" -a store={new}", "the store: must name a folder", None),
    "no-run": (
        *("{tmp}/none -a store={new}", "store '{tmp}/none': no run has begun in it"),
        lambda folder: ((folder / "none").mkdir(), (folder / "none" / File.MANIFEST).touch()),
    ),
    "no-queue": ("{store} -a store={new} --queue {tmp}/q", "queue '{tmp}/q': No such file or directory", None),
    "empty-queue": (
        *("{store} -a store={new} --queue {tmp}/q", "queue '{tmp}/q': "),
        lambda folder: (folder / "q").touch(),
    ),
    "broken-queue": (
        *("{store} -a store={new} --queue {tmp}/q.gz", "queue '{tmp}/q.gz': broken gzip: "),
        lambda folder: (folder / "q.gz").write_bytes(b"no gzip"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_line_and_nothing_is_made(ground: Ground, store: Path, tmp_path: Path, name: str) -> None:
    line, said, before = WRONG[name]
    if before is not None:
        before(tmp_path)
    there = sorted(tmp_path.rglob("*"))
    places = {"store": store, "tmp": tmp_path, "new": tmp_path / "new"}
    done = ground.run([sys.executable, "-c", MAIN, "", "replay", *line.format(**places).split(" ")])
    assert done.exit == 2, done.text
    assert done.text.startswith(f"scrapy replay: {said.format(**places)}")
    assert done.text.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == there


def test_an_empty_folder_will_do(ground: Ground, store: Path, tmp_path: Path) -> None:
    ground.replay(store, new=tmp_path).check()


def test_it_is_in_the_help(ground: Ground) -> None:
    done = ground.run([sys.executable, "-c", MAIN, "", "replay", "--help"])
    assert (done.exit, "scrapy replay [options] <store> -a store=NEW" in done.text) == (0, True)
