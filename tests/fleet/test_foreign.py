"""A folder that has other records than a merge's, or a crawl at work in it, is no fleet's: it stays as it is."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.errors import StoreInUse, UsageFault
from seaspider.fleet import foreign, locks, planning
from tests.crawling import Ended, scrapy
from tests.fleet.conftest import Crawled
from tests.fleet.smallfleets import merge

OF_A_CRAWL = "manifest.jsonl, skipped.jsonl, robots.jsonl, intents.jsonl, requests.jsonl, pages.jsonl, links.jsonl"
OTHERS = {
    "no line": ("pages.jsonl", "a list of pages\n"),
    "a line without an end": ("pages.jsonl", "a list of pages"),
    "a row of a crawl": ("pages.jsonl", '{"v":1,"run":1}\n'),
    "a row of another format": ("robots.jsonl", '{"v":2,"shard":1}\n'),
    "the start of a run": ("manifest.jsonl", '{"v":1,"event":"start"}\n'),
    "requests": ("requests.jsonl", '{"v":1,"shard":1}\n'),
    "intents without a line": ("intents.jsonl", ""),
}


def fleet(store: Path, queue: Path) -> Ended:
    return scrapy(["fleet", str(queue), "--store", str(store), "--plan-only"], store.parent)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def said(store: Path, command: str, files: str) -> str:
    return f"scrapy {command}: store '{store}': has {files}, which no merge made; name another store\n"


def test_a_crawls_store_is_no_fleets(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.whole, store)
    before = bytes_of(store)
    ended = fleet(store, crawled.queue)
    assert (ended.exit, ended.out, ended.log) == (2, "", said(store, "fleet", OF_A_CRAWL))
    assert bytes_of(store) == before


def test_a_crawls_records_in_a_fleets_folder_are_not_merged_over(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    shutil.copytree(crawled.whole, store, dirs_exist_ok=True)
    before = bytes_of(store)
    for options in ((), ("--partial",)):
        ended = merge(store, *options)
        assert (ended.exit, ended.out, ended.log) == (2, "", said(store, "merge", OF_A_CRAWL))
    ended = fleet(store, crawled.queue)
    assert (ended.exit, ended.log) == (2, said(store, "fleet", OF_A_CRAWL))
    assert bytes_of(store) == before


@pytest.mark.parametrize(("file", "text"), OTHERS.values(), ids=OTHERS)
def test_what_no_merge_made_is_not_written_over(crawled: Crawled, tmp_path: Path, file: str, text: str) -> None:
    """Beside a merged store, and where there is nothing else."""
    store, empty = tmp_path / "store", tmp_path / "empty"
    shutil.copytree(crawled.fleet, store)
    empty.mkdir()
    for folder in (store, empty):
        (folder / file).write_text(text)
    ended = merge(store)
    assert (ended.exit, ended.log) == (2, said(store, "merge", file))
    ended = fleet(empty, crawled.queue)
    assert (ended.exit, ended.log) == (2, said(empty, "fleet", file))
    assert (store / file).read_text() == text
    assert bytes_of(empty) == {file: text.encode()}


def test_the_twin_that_does_not_look_writes_over_a_crawls_pages(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    (store / "pages.jsonl").write_bytes((crawled.whole / "pages.jsonl").read_bytes())
    blind = "from seaspider.fleet import merge\nmerge.refuse_foreign = lambda folder: None"
    assert merge(store, sabotage=blind).exit == 0
    assert (store / "pages.jsonl").read_bytes() == (crawled.fleet / "pages.jsonl").read_bytes()


@pytest.mark.parametrize("gone", [[], *([file] for file in File), list(File)], ids="+".join)
def test_what_a_merge_made_may_be_merged_over(crawled: Crawled, tmp_path: Path, gone: list[str]) -> None:
    """Also where a merge was killed, or one of its files is empty."""
    for file in ("manifest.jsonl", "skipped.jsonl", "robots.jsonl", "pages.jsonl", "links.jsonl"):
        if file not in gone:
            shutil.copyfile(crawled.fleet / file, tmp_path / file)
    (tmp_path / "links.jsonl").write_bytes(b"")
    foreign.refuse_foreign(tmp_path)


def lock_of(store: Path) -> Path:
    return store / "lock"


@pytest.mark.parametrize("command", ["fleet", "merge"])
def test_a_crawl_at_work_is_left_alone(crawled: Crawled, tmp_path: Path, command: str) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet if command == "merge" else crawled.whole, store)
    run: Callable[[], Ended] = lambda: merge(store) if command == "merge" else fleet(store, crawled.queue)  # noqa: E731
    with lock_of(store).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = bytes_of(store)
        ended = run()
        assert (ended.exit, ended.out) == (75, "")
        assert ended.log == f"scrapy {command}: store '{store}' is in use by a crawl\n"
        assert bytes_of(store) == before
    # A lock that nobody holds is none.
    assert run().exit == (0 if command == "merge" else 2)


def test_a_crawl_that_begins_while_the_plan_is_made_keeps_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q").write_text("http://h0.test/\n")
    store, write = tmp_path / "store", planning._write

    def begins(*given: object) -> object:
        (store / "intents.jsonl").write_text("")
        return write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "_write", begins)
    with pytest.raises(UsageFault, match=r"store': has intents\.jsonl, which no merge made; name another store$"):
        planning.make(str(tmp_path / "q"), store, 2)
    assert [path.name for path in store.iterdir()] == ["intents.jsonl"]


# What stays of a fleet that got no plan


def test_a_lock_that_was_taken_away_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened before a fleet without a plan removed it, locked afterwards: another may have made a new one by then."""
    opened = locks._opened

    def late(path: Path) -> int:
        descriptor = opened(path)
        path.unlink()
        return descriptor

    monkeypatch.setattr(locks, "_opened", late)
    with pytest.raises(StoreInUse, match=r"is in use by another fleet$"), locks.fleet_held(tmp_path, "another fleet"):
        pytest.fail("held")


def test_a_fleet_without_a_plan_leaves_no_folder(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "new/deep/store"
    queue.write_text("# x\n")
    for _ in range(2):
        ended = fleet(store, queue)
        assert (ended.exit, ended.log) == (2, f"scrapy fleet: queue '{queue}': no line is a URL (1 comment)\n")
        assert not (tmp_path / "new").exists()
    store.mkdir(parents=True)
    assert fleet(store, queue).exit == 2
    assert list(store.iterdir()) == []
    queue.write_text("http://h0.test/\n")
    assert fleet(store, queue).exit == 0
    assert sorted(path.name for path in store.iterdir()) == ["fleet.lock", "plan"]
