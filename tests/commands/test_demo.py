"""`scrapy demo`: works from anywhere in the project, tells what came of it, and empties nothing but its own."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from seaspider.demo import report as demoreport
from seaspider.demo.crawl import scrapy_as_typed
from seaspider.demo.folder import DemoFolder
from seaspider.errors import StoreError, StoreInUse, UsageFault
from seaspider.loopback.arrivals import Arrival
from seaspider.loopback.demosite import EXPECTED, NEVER_ASKED
from tests.crawling import ROOT

# --- the real thing ---

TIMEOUT_S = 60


def demo(cwd: Path, *options: str) -> subprocess.Popen[str]:
    """`scrapy demo` as a user starts it: no PYTHONPATH, no profile."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SCRAPY_PROJECT")}
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("scrapy")), "demo", *options],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


Ended = tuple[int, str, str, Path]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ended]]:
    """Two demos side by side: one as it comes, with the web kept up, and one whose crawl is told to be ruder."""
    stores = {name: tmp_path_factory.mktemp("demo") / name for name in ("plain", "rude")}
    plain = demo(ROOT / "tests" / "commands", "--store", str(stores["plain"]), "--keep")
    rude = demo(ROOT, "--store", str(stores["rude"]), "-s", "SEASPIDER_STOP_ON_403=False")
    try:
        assert plain.stdout
        kept = []
        for line in plain.stdout:
            kept.append(line)
            if line.startswith("SCRAPY_PROJECT=loopback ") and "scrapy robots " in line:
                break
        ended = {"rude": (rude, *rude.communicate(timeout=TIMEOUT_S))}
        plain.send_signal(signal.SIGINT)
        out, err = plain.communicate(timeout=TIMEOUT_S)
        ended["plain"] = (plain, "".join(kept) + out, err)
        yield {name: (process.returncode, out, err, stores[name]) for name, (process, out, err) in ended.items()}
    finally:
        for process in (plain, rude):
            process.kill()
            process.wait(10)


def test_it_ends_well_and_every_line_of_the_queue_is_in_the_table(runs: dict[str, Ended]) -> None:
    code, out, err, _ = runs["plain"]
    assert (code, err) == (0, ""), out
    rows = [line for line in out.splitlines() if line.endswith("  yes")]
    assert [int(row.split()[0]) for row in rows] == [row.line for row in EXPECTED]
    assert all(row.shows in line for row, line in zip(EXPECTED, rows, strict=True))
    assert f"Everything is as expected: {len(EXPECTED)} queue lines, 25 requests to 9 hosts, one at a time." in out
    assert "The crawl ended with exit code 3, as it should" in out
    assert max(map(len, out.partition("\nRecords:")[0].splitlines())) <= 120


def test_gaps_at_the_servers_are_no_shorter_than_the_pauses(runs: dict[str, Ended]) -> None:
    out = runs["plain"][1]
    gaps = re.findall(r"^(\S+\.test) +(\d+) +1 +([\d.]+) s +(-|[\d.]+ s)$", out, re.MULTILINE)
    assert len(gaps) == 9
    assert all(gap == "-" or float(gap.split()[0]) >= float(pause) for _, _, pause, gap in gaps)
    assert {host: pause for host, _, pause, _ in gaps}["lighthouse.test"] == "1"


def test_the_records_lie_where_it_says_and_can_be_looked_at(runs: dict[str, Ended]) -> None:
    _, out, _, store = runs["plain"]
    assert f"Records:  {store} " in out
    command = out.partition("Look:     ")[2].splitlines()[0]
    shown = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=20, check=True)
    assert shown.stdout.count('"outcome": ') == len((store / "pages.jsonl").read_text().splitlines()) == 20
    assert "Spider closed (finished)" in (store / "crawl.log").read_text()


def test_a_crawl_that_asks_what_it_must_not_is_told_and_fails(runs: dict[str, Ended]) -> None:
    code, out, err, _ = runs["rude"]
    assert (code, err) == (1, "")
    assert "NOT as expected: line 11 (customs.test/declare) should be blocked/forbidden with 0 links, " in out
    assert "NOT as expected: customs.test/declare was asked for" in out
    assert "Everything is as expected" not in out


def test_it_can_be_run_again_on_its_folder(runs: dict[str, Ended]) -> None:
    folder = DemoFolder(runs["rude"][3])
    folder.prepare("# The queue of the demo\n")
    assert sorted(path.name for path in folder.path.iterdir()) == ["demo-queue.txt", "lock"]


# --- its folder ---


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left_by_a_demo(folder: Path) -> Path:
    for name in ("pages.jsonl", "lock", "demo-queue.txt", "crawl.log"):
        (folder / name).write_text("x")
    (folder / "manifest.jsonl").write_text(json.dumps({"v": 1, "event": "start", "queue": "/a/demo-queue.txt"}) + "\n")
    (folder / "bodies" / "ab").mkdir(parents=True)
    (folder / "bodies" / "ab" / "abcd").write_bytes(b"body")
    return folder


def test_a_folder_is_made(tmp_path: Path) -> None:
    DemoFolder(tmp_path / "a" / "b").prepare("http://a.test/\n")
    assert contents(tmp_path) == {"a/b/demo-queue.txt": b"http://a.test/\n"}


def test_what_an_earlier_demo_left_is_emptied(tmp_path: Path) -> None:
    DemoFolder(left_by_a_demo(tmp_path)).prepare("new\n")
    assert contents(tmp_path) == {"lock": b"x", "demo-queue.txt": b"new\n"}


def test_what_a_demo_left_that_was_stopped_before_its_first_record_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "demo-queue.txt").write_text("old\n")
    (tmp_path / "manifest.jsonl").touch()
    DemoFolder(tmp_path).prepare("new\n")
    assert contents(tmp_path) == {"lock": b"", "demo-queue.txt": b"new\n"}


def test_other_things_are_never_touched(tmp_path: Path) -> None:
    cases = {}
    for name in ("notes", "crawl", "no manifest", "no json", "link"):
        (tmp_path / name).mkdir()
        cases[name] = left_by_a_demo(tmp_path / name)
    (cases["notes"] / "notes.txt").write_text("mine")
    (cases["crawl"] / "manifest.jsonl").write_text(json.dumps({"v": 1, "queue": "urls.txt"}) + "\n")
    (cases["no manifest"] / "manifest.jsonl").unlink()
    (cases["no json"] / "manifest.jsonl").write_text("demo-queue.txt\n")
    (cases["link"] / "crawl.log").unlink()
    (cases["link"] / "crawl.log").symlink_to(tmp_path / "mine")
    before = contents(tmp_path)
    for folder in cases.values():
        with pytest.raises(UsageFault, match="is not emptied"):
            DemoFolder(folder).prepare("new\n")
    assert contents(tmp_path) == before


def test_what_lies_among_the_bodies_is_kept(tmp_path: Path) -> None:
    (left_by_a_demo(tmp_path) / "bodies" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="cannot be written: Directory not empty"):
        DemoFolder(tmp_path).prepare("new\n")
    assert (tmp_path / "bodies" / "thesis.txt").read_text() == "mine"


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    left_by_a_demo(tmp_path)
    before = contents(tmp_path)
    with (tmp_path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreInUse, match="in use by another process"):
            DemoFolder(tmp_path).prepare("new\n")
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory"):
        DemoFolder(tmp_path / "file" / "store").prepare("new\n")


# --- its judgement ---


def arrival(n: int, host: str, target: str, arrived_ms: int, **more: int) -> Arrival:
    times = {"arrived_ns": arrived_ms * 1_000_000, "answered_ns": (arrived_ms + 1) * 1_000_000, "open_at_arrival": 0}
    return Arrival(n, "127.0.0.11", f"{host}:80", "GET", target, (), **{**times, **more})


SEEN = [arrival(1, "harbour.test", "/robots.txt", 0), arrival(2, "harbour.test", "/", 200)]


@pytest.mark.parametrize(
    ("arrivals", "fault"),
    [
        ([SEEN[0], replace(SEEN[1], arrived_ns=199_999_999)], "harbour.test was asked twice in 0.199999999 s"),
        ([SEEN[1]], "harbour.test/ was asked for before the robots.txt of its origin"),
        ([SEEN[0], replace(SEEN[1], open_at_arrival=1)], "2 requests were in flight at a time"),
        ([SEEN[0], arrival(2, *NEVER_ASKED[0], 200)], "harbour.test/private/log-book was asked for"),
    ],
    ids=["too near", "no robots.txt", "two at a time", "forbidden"],
)
def test_a_broken_promise_is_named(arrivals: list[Arrival], fault: str, tmp_path: Path) -> None:
    requests = [{"event": "claim", "run": 1, "n": 1, "host": "harbour.test"}]
    requests += [{"event": "settle", "run": 1, "n": 1, "pause_s": 0.2}]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in requests))
    for name in ("pages", "skipped"):
        (tmp_path / f"{name}.jsonl").touch()

    def faults(seen: list[Arrival]) -> list[str]:
        report = demoreport.report(tmp_path, seen, 80)
        assert not report.as_expected  # the queue's lines have no records here
        return [line for line in report.lines if line.startswith("NOT as expected: ") and ": line " not in line]

    assert [line.startswith(f"NOT as expected: {fault}") for line in faults(arrivals)] == [True]
    assert faults(SEEN) == []


# --- what is told to type ---


def test_scrapy_is_told_as_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "en v/bin").mkdir(parents=True)
    for name in ("python", "scrapy"):
        (folder / name).touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert scrapy_as_typed() == "'en v/bin/scrapy'"
    monkeypatch.setenv("PATH", str(folder))
    assert scrapy_as_typed() == "scrapy"
    (folder / "scrapy").unlink()
    assert scrapy_as_typed() == "scrapy"
