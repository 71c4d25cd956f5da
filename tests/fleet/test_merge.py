"""`scrapy merge`: the shards as one store in the order of the queue, the same bytes each time, whole or not there."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File
from seaspider.fleet import merge as merging
from tests.crawling import scrapy
from tests.fleet.conftest import Crawled
from tests.fleet.smallfleets import (
    DIES,
    FOLLOW,
    HOSTS,
    NAMES,
    SHARDS,
    crawl_all,
    crawl_killed,
    crawl_shard,
    merge,
    planned,
    queue_of,
    records,
    site,
    verify,
)

MERGED = ("skipped.jsonl", "robots.jsonl", "pages.jsonl", "links.jsonl", "manifest.jsonl")


def bytes_of(store: Path) -> dict[str, bytes]:
    """All that a merge wrote."""
    files = [store / name for name in MERGED] + sorted((store / "bodies").glob("*/*"))
    return {str(path.relative_to(store)): path.read_bytes() for path in files if path.exists()}


@pytest.fixture
def fleet(crawled: Crawled, tmp_path: Path) -> Path:
    """A copy that may be changed, not merged."""
    store = tmp_path / "fleet/store"
    shutil.copytree(crawled.fleet, store)
    for path in (*(store / name for name in MERGED), store / "bodies"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return store


def test_pages_are_in_the_order_of_the_queue_each_before_those_found_on_it(crawled: Crawled) -> None:
    expected: list[tuple[int | None, int, str]] = []
    for line, text in enumerate(crawled.queue.read_text().splitlines(), 1):
        if text.startswith("http://"):
            expected.append((line, 0, text))
            if text.endswith(f":{crawled.port}/"):
                # `/` leads to /b, then /a; /a to /c; each is followed once.
                expected += [(None, depth, text + path) for depth, path in ((1, "b"), (1, "a"), (2, "c"))]
    seen: set[str] = set()
    once = [each for each in expected if each[2] not in seen and not seen.add(each[2])]  # type: ignore[func-returns-value]
    pages = records(crawled.fleet / "pages.jsonl")
    assert [(page["line"], page["depth"], page["url"]) for page in pages] == once
    assert len(pages) == 7 * HOSTS


def test_rows_are_those_of_the_shards_and_name_them(crawled: Crawled) -> None:
    for file in ("pages.jsonl", "links.jsonl", "robots.jsonl"):
        merged = records(crawled.fleet / file)
        for shard in range(SHARDS):
            ours = [row for row in merged if row["shard"] == shard]
            theirs = records(crawled.fleet / f"shards/000{shard}" / file)
            assert [list(row) for row in ours] == [[*row, "shard"] for row in theirs]
            ignored = ("shard", "line")
            key = json.dumps
            assert sorted(key({k: v for k, v in row.items() if k not in ignored}) for row in ours) == sorted(
                key({k: v for k, v in row.items() if k not in ignored}) for row in theirs
            )


def test_a_line_that_was_skipped_has_one_row_with_the_whole_queues_numbers(crawled: Crawled) -> None:
    for store in (crawled.fleet, crawled.other):
        skipped = records(store / "skipped.jsonl")
        assert [(row["line"], row["fate"], row["of"], row["text"]) for row in skipped] == [
            (12, "rejected", None, "no URL"),
            (14, "duplicate", 5, None),
            (37, "rejected", None, "nor this"),
            (38, "duplicate", 2, None),
        ]


def test_the_manifest_counts_and_knows_no_time(crawled: Crawled) -> None:
    (line,) = records(crawled.fleet / "manifest.jsonl")
    assert list(line) == [
        *("v", "event", "plan", "queue_sha256", "queue", "shards", "partial", "incomplete", "counts", "equal")
    ]
    assert (line["v"], line["event"], line["shards"], line["partial"], line["incomplete"]) == (1, "merge", 4, False, [])
    assert line["queue"] == {"lines": 38, "blank": 1, "comment": 1, "rejected": 2, "urls": 34}
    assert line["counts"] == {
        "pages": 56,
        "links": 40,
        "skipped": 4,
        "duplicate": 2,
        "rejected": 2,
        "robots": len(records(crawled.fleet / "robots.jsonl")),
        "bodies": 6,
        "final": {"disallowed/robots-rule": 8, "stored": 48},
    }


def test_a_body_is_one_file_with_the_shards(crawled: Crawled) -> None:
    bodies = sorted((crawled.fleet / "bodies").glob("*/*"))
    named = {page["sha256"] for page in records(crawled.fleet / "pages.jsonl")} - {None}
    named |= {row["sha256"] for row in records(crawled.fleet / "robots.jsonl")}
    assert {path.name for path in bodies} == named
    for path in bodies:
        shards = crawled.fleet.glob(f"shards/*/bodies/{path.parent.name}/{path.name}")
        assert any(path.samefile(each) for each in shards)


# One digest


def equal(ended_out: str) -> str:
    (line,) = [line for line in ended_out.splitlines() if line.startswith("equal ")]
    return line.split()[1]


def test_one_crawl_a_fleet_and_one_whose_crawls_were_killed_have_one_digest(crawled: Crawled) -> None:
    found = {equal(verify(store).out) for store in (crawled.whole, crawled.fleet, crawled.other)}
    assert found == {records(crawled.fleet / "manifest.jsonl")[0]["equal"]}
    assert equal(merge(crawled.fleet).out) in found
    assert [len(records(crawled.other / f"shards/000{shard}/manifest.jsonl")) for shard in range(SHARDS)] == [
        2,
        3,
        3,
        2,
    ]


def test_the_twin_has_another(crawled: Crawled, fleet: Path) -> None:
    """One page less is another digest: nothing is left out that counts."""
    crawl = fleet / "shards/0000/pages.jsonl"
    lines = crawl.read_bytes().splitlines(keepends=True)
    gone = next(n for n, line in enumerate(lines) if b"/gone" in line)
    crawl.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
    ended = merge(fleet, "--partial")
    assert ended.exit == 0, ended.log
    assert equal(ended.out) != records(crawled.fleet / "manifest.jsonl")[0]["equal"]


# The same bytes, whole or not there


def test_again_gives_the_same_bytes(crawled: Crawled, fleet: Path) -> None:
    expected = bytes_of(crawled.fleet)
    for _ in range(2):
        ended = merge(fleet)
        assert ended.exit == 0, ended.log
        assert bytes_of(fleet) == expected


POINTS = {
    "writing": ("before sync pages.jsonl", 1, "old"),
    "the first body": ("before rename body", 1, "old"),
    "a later body": ("before rename body", 4, "old"),
    "the first name": ("before rename skipped.jsonl", 1, "none"),
    "a later name": ("before rename links.jsonl", 1, "none"),
    "the manifest": ("before rename manifest.jsonl", 1, "none"),
    "all named": ("after rename manifest.jsonl", 1, "new"),
}


@pytest.mark.parametrize(("point", "nth", "left"), POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("again", [False, True], ids=["new", "over a partial one"])
def test_a_killed_merge_leaves_no_half_store(
    crawled: Crawled, fleet: Path, point: str, nth: int, left: str, again: bool
) -> None:
    before: dict[str, bytes] = {}
    if again:
        (fleet / "shards/0001").rename(fleet / "away")
        assert merge(fleet, "--partial").exit == 0
        before = bytes_of(fleet)
        (fleet / "away").rename(fleet / "shards/0001")
        # Then there are bodies to be put again.
        shutil.rmtree(fleet / "bodies")
    died = merge(fleet, sabotage=DIES.format(point=point, nth=nth))
    assert died.exit == -signal.SIGKILL, died.log
    after = bytes_of(fleet)
    if left == "none":
        assert "manifest.jsonl" not in after
    else:
        whole = before if left == "old" else bytes_of(crawled.fleet)
        assert [after.get(name) for name in MERGED] == [whole.get(name) for name in MERGED]
    assert merge(fleet).exit == 0
    assert bytes_of(fleet) == bytes_of(crawled.fleet)
    assert not (fleet / merging.UNFINISHED).exists()


def test_without_hard_links_bodies_are_copies(crawled: Crawled, fleet: Path) -> None:
    no_links = (
        "import os\nfrom pathlib import Path\ndef no(*a):\n    raise OSError(1, 'no links')\nPath.hardlink_to = no"
    )
    for _ in range(2):
        ended = merge(fleet, sabotage=no_links)
        assert ended.exit == 0, ended.log
        assert bytes_of(fleet) == bytes_of(crawled.fleet)
    assert all(path.stat().st_nlink == 1 for path in (fleet / "bodies").glob("*/*"))
    assert verify(fleet).exit == 0


# What is refused


def refused(store: Path, *options: str) -> tuple[int, str]:
    ended = merge(store, *options)
    assert ended.out == ""
    assert ended.log.count("\n") == 1, ended.log
    return ended.exit, ended.log.removeprefix("scrapy merge: ").rstrip("\n").replace(str(store), "STORE")


def drop(path: Path, *which: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not any(each in line for each in which)]
    assert len(kept) < len(lines)
    path.write_bytes(b"".join(kept))


def without_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


INCOMPLETE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "not begun": (
        lambda store: shutil.rmtree(store / "shards/0001"),
        "0001 (not begun, LINES lines without a record)",
    ),
    "killed": (lambda store: without_last_line(store / "shards/0001/manifest.jsonl"), "0001 (its last run has no end)"),
    "a line without a record": (
        lambda store: drop(store / "shards/0001/pages.jsonl", b"/no"),
        "0001 (NO lines without a record)",
    ),
    "a followed link without a record": (
        lambda store: drop_page_and_links(store / "shards/0001", "/c"),
        "0001 (1 links to follow)",
    ),
    "not final": (
        lambda store: change(
            store / "shards/0001/pages.jsonl",
            '"outcome":"disallowed","reason":"robots-rule"',
            '"outcome":"deferred","reason":"budget"',
        ),
        "0001 (1 not final)",
    ),
}


def test_the_twin_that_does_not_look_merges_half_a_queue(fleet: Path) -> None:
    shutil.rmtree(fleet / "shards/0001")
    assert merge(fleet).exit == 3
    no_look = "from seaspider.fleet import merge; merge._check = lambda merging, partial: None"
    assert merge(fleet, sabotage=no_look).exit == 0
    assert len(records(fleet / "pages.jsonl")) < 7 * HOSTS


def drop_page_and_links(store: Path, path: str) -> None:
    page = next(page for page in records(store / "pages.jsonl") if page["url"].endswith(path))
    drop(store / "pages.jsonl", f'"run":1,"visit":{page["visit"]},'.encode())
    drop(store / "links.jsonl", f'"run":1,"visit":{page["visit"]},'.encode())


@pytest.mark.parametrize(("harm", "why"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_what_is_not_complete_is_refused_and_named(fleet: Path, harm: Callable[[Path], Any], why: str) -> None:
    lines = len((fleet / "plan/0001.lines").read_text().split())
    no = (fleet / "plan/0001.txt").read_text().count("/no\n")
    harm(fleet)
    code, said = refused(fleet)
    why = why.replace("LINES", str(lines)).replace("NO ", f"{no} ")
    assert (code, said) == (
        3,
        f"1 of 4 shards are not complete: {why}; crawl on, or merge what there is: --partial",
    )
    assert bytes_of(fleet) == {}
    ended = merge(fleet, "--partial")
    assert ended.exit == 0, ended.log
    assert "PARTIAL: 1 shards are not complete; the manifest names them." in ended.out
    (line,) = records(fleet / "manifest.jsonl")
    assert line["partial"] is True
    assert [each["shard"] for each in line["incomplete"]] == [1]


def test_a_shard_that_was_killed_is_named_until_it_is_crawled_on(crawled: Crawled, tmp_path: Path, loopback) -> None:  # type: ignore[no-untyped-def]
    web = loopback(site(), names=NAMES)
    store = planned(tmp_path / "fleet", queue_of(web))
    crawl_killed(store, 1, "before write pages.jsonl", 3, *FOLLOW)
    crawl_all(store, [0, 2], *FOLLOW)
    code, said = refused(store)
    assert code == 3
    lines = len((store / "plan/0003.lines").read_text().split())
    assert said.startswith(
        "2 of 4 shards are not complete: 0001 (its last run has no end), "
        f"0003 (not begun, {lines} lines without a record); crawl on"
    )
    assert crawl_shard(store, 1, *FOLLOW).exit == 0
    assert crawl_shard(store, 3, *FOLLOW).exit == 0
    assert merge(store).exit == 0


def test_records_of_one_url_stay_in_order_and_the_last_one_counts(tmp_path: Path, loopback) -> None:  # type: ignore[no-untyped-def]
    """A first run that left URLs for later, and a second one that did not, come to the same as one run."""
    web = loopback(site(), names=NAMES)
    twice, once = (planned(tmp_path / name, queue_of(web)) for name in ("twice", "once"))
    codes = [crawl_shard(twice, shard, *FOLLOW, settings={"SEASPIDER_HOST_BUDGET": 4}).exit for shard in range(SHARDS)]
    assert codes == [3, 3, 3, 0]  # there is no URL in the last
    code, said = refused(twice)
    assert code == 3
    assert said.startswith("3 of 4 shards are not complete: 0000 (")
    assert merge(twice, "--partial").exit == 0
    left = {row["shard"]: row["not_final"] for row in records(twice / "manifest.jsonl")[0]["incomplete"]}
    pages = records(twice / "pages.jsonl")
    latest = {page["url"]: page for page in pages}
    assert sum(left.values()) == sum(page["outcome"] == "deferred" for page in latest.values()) > 0
    for store in (twice, once):
        crawl_all(store, range(SHARDS), *FOLLOW)
        assert merge(store).exit == 0
    pages = records(twice / "pages.jsonl")
    assert len(pages) > len(records(once / "pages.jsonl"))
    urls = list(dict.fromkeys(page["url"] for page in pages))
    assert urls == [page["url"] for page in records(once / "pages.jsonl")]
    runs = {url: [page["run"] for page in pages if page["url"] == url] for url in urls}
    assert set(map(tuple, runs.values())) == {(1,), (2,), (1, 2)}
    assert [page["url"] for page in pages] == [url for url in urls for _ in runs[url]]
    assert equal(verify(twice).out) == equal(verify(once).out)


def foreign(store: Path) -> None:
    shutil.rmtree(store / "shards/0001")
    shutil.copytree(store / "shards/0002", store / "shards/0001")


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "of another shard": (foreign, r"STORE/shards/0001/manifest.jsonl:1: is of another plan or shard: queue_sha256 is "),
    "of another plan": (
        lambda store: change(store / "shards/0001/manifest.jsonl", '"plan":"', '"plan":"0'),
        "STORE/shards/0001/manifest.jsonl:1: is of another plan or shard: plan is 0",
    ),
    "not in the plan": (
        lambda store: shutil.copytree(store / "shards/0001", store / "shards/0004"),
        "STORE/shards: has 0004, which the plan knows nothing of",
    ),
    "lines changed": (
        lambda store: (store / "plan/0001.lines").write_text("1\n"),
        "STORE/plan/0001.lines: was changed: its sha256 is ",
    ),
    "no fleet": (
        lambda store: (store / "plan/plan.json").unlink(),
        "store 'STORE': is no fleet's: it has no plan/plan.json",
    ),
}


@pytest.mark.parametrize(("harm", "why"), WRONG.values(), ids=WRONG)
def test_what_does_not_belong_is_refused(fleet: Path, harm: Callable[[Path], Any], why: str) -> None:
    harm(fleet)
    for options in ((), ("--partial",)):
        code, said = refused(fleet, *options)
        assert code == 2
        assert said.startswith(why)
    assert bytes_of(fleet) == {}


@pytest.mark.parametrize(
    ("lock", "why"),
    [
        ("shards/0002/lock", "shard 0002 (STORE/shards/0002) is being crawled"),
        ("fleet.lock", "store 'STORE' is in use by a fleet, or by another merge"),
    ],
)
def test_a_shard_at_work_is_left_alone(fleet: Path, lock: str, why: str) -> None:
    descriptor = os.open(fleet / lock, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert refused(fleet) == (75, why)
        ended = verify(fleet)
        assert (ended.exit, ended.out) == (2, "")
    finally:
        os.close(descriptor)
    assert merge(fleet).exit == 0


DAMAGED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no line": (
        lambda store: append(store / "shards/0001/pages.jsonl", b"x\n"),
        "STORE/shards/0001/pages.jsonl:",
    ),
    "a line that is none": (
        lambda store: change(store / "shards/0001/pages.jsonl", '"line":1,', '"line":99,'),
        "STORE/shards/0001/pages.jsonl:",
    ),
    "links lost": (
        lambda store: without_last_line(store / "shards/0001/links.jsonl"),
        "STORE/shards/0001/pages.jsonl:",
    ),
}


def append(path: Path, line: bytes) -> None:
    with path.open("ab") as file:
        file.write(line)


@pytest.mark.parametrize(("harm", "why"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_shard_is_one_line(fleet: Path, harm: Callable[[Path], Any], why: str) -> None:
    harm(fleet)
    code, said = refused(fleet)
    assert code == 74
    assert said.startswith(why)
    assert bytes_of(fleet) == {}


def test_a_body_that_no_shard_has_is_one_line(fleet: Path) -> None:
    (page, *_) = [page for page in records(fleet / "shards/0001/pages.jsonl") if page["status"] == 404]
    for path in fleet.glob(f"shards/*/bodies/*/{page['sha256']}"):
        path.unlink()
    code, said = refused(fleet)
    assert code == 74
    assert said == f"STORE/bodies/{page['sha256'][:2]}/{page['sha256']}: no shard has this body any more"
    assert not (fleet / File.MANIFEST).exists()


def test_no_record_leads_out_of_the_folder(fleet: Path) -> None:
    (page, *_) = [page for page in records(fleet / "shards/0001/pages.jsonl") if page["status"] == 404]
    change(fleet / "shards/0001/pages.jsonl", page["sha256"], "../../../../etc/passwd")
    code, said = refused(fleet)
    assert code == 74
    assert said.endswith(": 'sha256' is '../../../../etc/passwd', no digest")


def test_usage(tmp_path: Path) -> None:
    assert scrapy(["merge"], tmp_path).exit == 2
    ended = scrapy(["merge", str(tmp_path / "none")], tmp_path)
    assert (ended.exit, ended.log) == (
        2,
        f"scrapy merge: store '{tmp_path}/none': is no fleet's: it has no plan/plan.json\n",
    )
