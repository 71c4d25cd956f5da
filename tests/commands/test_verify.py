"""`scrapy verify`: what it prints, its exit codes, and one line for whatever a user can get wrong."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.loopback import LoopbackWeb
from seaspider.writeahead import WriteAhead
from tests.crawling import ROOT, Ended, command, environment, scrapy
from tests.test_crawl import demo

PROMISES = ("P1", "P2", "P3", "P4", "P5", "P6")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    webs: list[LoopbackWeb] = []

    def web(*routes: object, **options: object) -> LoopbackWeb:
        webs.append(LoopbackWeb(*routes, **options))  # type: ignore[arg-type]
        return webs[-1].__enter__()

    try:
        ended, _ = demo(tmp_path_factory.mktemp("demo"), web)
    finally:
        for each in webs:
            each.__exit__(None, None, None)
    return ended.store


@pytest.fixture
def bad(good: Path, tmp_path: Path) -> Path:
    """With a decision flipped."""
    shutil.copytree(good, tmp_path / "bad")
    pages = tmp_path / "bad" / File.PAGES
    pages.write_bytes(pages.read_bytes().replace(b'"decision":"allow"', b'"decision":"disallow"', 1))
    return tmp_path / "bad"


def verify(folder: Path, *options: object) -> Ended:
    return scrapy(["verify", *map(str, options)], folder)


def every_byte(store: Path) -> str:
    names = ("skipped", "robots", "intents", "requests", "pages", "links", "manifest")
    return hashlib.sha256(b"".join((store / f"{name}.jsonl").read_bytes() for name in names)).hexdigest()


def test_a_good_store_is_proven_in_words(good: Path, tmp_path: Path) -> None:
    ended = verify(tmp_path, good, "--queue", good.parent / "queue.txt")
    assert (ended.exit, ended.log) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == f"Store {good}"
    assert [line.split()[:2] for line in lines if re.match(r"P\d  ", line)] == [[name, "proven"] for name in PROMISES]
    assert "P2  proven   every request through one door (25 requests, 25 hops)" in lines
    figures = "25 requests to 9 hosts, breadth 360 per mil, at most 5 a host, 0 too near"
    assert f"run 1 (finished): {figures}; polite, broad, no gate set" in lines
    assert re.fullmatch(r"digest  [0-9a-f]{64}  \(times aside\)", lines[-4])
    assert lines[-3] == f"exact   {every_byte(good)}  (every byte of the records)"
    assert re.fullmatch(r"equal   [0-9a-f]{64}  \(final pages, times and runs aside\)", lines[-2])
    assert lines[-1] == "result  proven"


def test_a_good_store_is_proven_as_an_object(good: Path, tmp_path: Path) -> None:
    ended = verify(tmp_path, good, "--json")
    assert ended.exit == 0, ended.log
    found = json.loads(ended.out)
    assert list(found) == ["store", "proven", "promises", "verdicts", "unproven", "digest", "exact", "equal"]
    assert (found["store"], found["proven"], found["unproven"]) == (str(good), True, {})
    assert {name: each["standing"] for name, each in found["promises"].items()} == dict.fromkeys(PROMISES, "proven")
    assert found["promises"]["P1"] == {
        "standing": "proven",
        "checked": {"robots.txt rows": 9, "page requests": 16, "decisions": 20},
        "counterexample": None,
    }
    assert [(run["run"], run["requests"]) for run in found["verdicts"]] == [(1, 25)]


def test_what_is_refuted_is_named_with_its_place(bad: Path, tmp_path: Path) -> None:
    ended = verify(tmp_path, bad)
    assert (ended.exit, ended.log) == (1, "")
    lines = ended.out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("P1  REFUTED"))
    assert lines[at + 1] == "    pages.jsonl:3: decision is disallow, but robots.txt 1 says allow"
    assert lines[-1] == "result  REFUTED"
    found = json.loads(verify(tmp_path, bad, "--json").out)
    assert found["proven"] is False
    assert found["promises"]["P1"]["counterexample"]["place"] == "pages.jsonl:3"


def broken(good: Path, folder: Path) -> Path:
    shutil.copytree(good, folder / "broken")
    with (folder / "broken" / File.REQUESTS).open("ab") as file:
        file.write(b"not a line\n")
    return folder / "broken"


def test_what_is_no_store_is_one_line(good: Path, tmp_path: Path) -> None:
    store = broken(good, tmp_path)
    (tmp_path / "empty").mkdir()
    lines = len((good / File.REQUESTS).read_bytes().splitlines())
    cases = {
        (tmp_path / "none",): f"{tmp_path}/none: is no store: it has no manifest.jsonl",
        (tmp_path / "empty",): f"{tmp_path}/empty: is no store: it has no manifest.jsonl",
        (store,): f"{store}/requests.jsonl:{lines + 1}: not a JSON line: b'not a line\\n'",
        (good, "--queue", tmp_path / "no.txt"): f"queue '{tmp_path}/no.txt': No such file or directory",
        (good, "--queue", "-"): "queue '-': must be a file, since it is read for each run",
        ("",): "the store: must name a folder",
    }
    for options, said in cases.items():
        ended = verify(tmp_path, *options)
        assert (ended.exit, ended.out, ended.log) == (2, "", f"scrapy verify: {said}\n")


def test_a_field_that_is_missing_is_named_in_its_folder(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "store")
    path = tmp_path / "store" / File.REQUESTS
    path.write_bytes(path.read_bytes().replace(b'"kind":"robots",', b"", 1))
    ended = verify(tmp_path, tmp_path / "store")
    assert (ended.exit, ended.log) == (2, f"scrapy verify: {path}:1: no 'kind'\n")


def test_it_changes_nothing(good: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in good.rglob("*")}
    assert verify(tmp_path, good).exit == 0
    assert {path: path.stat().st_mtime_ns for path in good.rglob("*")} == before


def test_a_store_that_is_still_written_is_not_judged(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "store")
    with (tmp_path / "store" / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = verify(tmp_path, tmp_path / "store")
    said = f"{tmp_path}/store: a crawl is at work in it; verify it when that has ended"
    assert (ended.exit, ended.out, ended.log) == (2, "", f"scrapy verify: {said}\n")
    assert verify(tmp_path, tmp_path / "store").exit == 0


def test_a_run_without_its_last_line_is_not_proven_to_be_whole(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "cut")
    manifest = tmp_path / "cut" / File.MANIFEST
    manifest.write_bytes(manifest.read_bytes().splitlines(keepends=True)[0])
    ended = verify(tmp_path, tmp_path / "cut")
    assert ended.exit == 0
    note = (
        "run 1 has no last line: it was killed, or its end was taken away; that these are all its records is not proven"
    )
    assert f"- P6: {note}" in ended.out.splitlines()
    assert ended.out.splitlines()[-1] == "result  proven, but for what could not be, see above"


def test_dates_that_do_not_go_with_the_boot_clock_are_told(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "dated")
    requests = tmp_path / "dated" / File.REQUESTS
    rows = [json.loads(line) for line in requests.read_text().splitlines()]
    rows[-1]["ended_at"] = f"2036{rows[-1]['ended_at'][4:]}"
    requests.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    told = [line for line in verify(tmp_path, tmp_path / "dated").out.splitlines() if "wall clock" in line]
    assert len(told) == 1
    assert told[0].startswith(f"- P2: requests.jsonl:{len(rows)}: the wall clock stands +")
    assert told[0].endswith(" s from where it was: it was set, or the dates are not true")


def test_a_replay_is_told_from_a_crawl(good: Path, tmp_path: Path) -> None:
    scrapy(["replay", str(good), "-a", f"store={tmp_path / 'again'}"], tmp_path)
    first, second = (json.loads(verify(tmp_path, store, "--json").out) for store in (good, tmp_path / "again"))
    assert first["digest"] == second["digest"]
    assert first["exact"] != second["exact"]
    replayed = f"run 1 is a replay (of the store with digest {first['digest']}): nothing was sent"
    assert (first["unproven"], second["unproven"]) == ({}, {"P2": [replayed]})
    receipt = scrapy(["receipt", "harbour.test", "--store", str(tmp_path / "again")], tmp_path)
    assert "This store is of a replay: none of these requests was sent to harbour.test." in receipt.out


@pytest.mark.parametrize("full", [True, False], ids=["a full disk", "a reader that left"])
def test_an_answer_that_nobody_takes_is_an_error(good: Path, tmp_path: Path, full: bool) -> None:
    where = "/dev/full" if full else "/dev/null"
    said = subprocess.run(
        ["sh", "-c", f'"$@" {f"> {where}" if full else "| true"}; echo $?', "sh", *command(["verify", str(good)])],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    if full:
        assert said.stdout.decode() == "74\n"
        assert said.stderr.decode() == "scrapy verify: standard output cannot be written: No space left on device\n"
    else:
        assert said.stderr == b""


READERS = {
    "verify": ["{store}"],
    "explain": ["http://harbour.test/", "--store", "{store}"],
    "receipt": ["harbour.test", "--store", "{store}"],
    "replay": ["{store}", "-a", "store={store}-again"],
}


@pytest.mark.parametrize("reader", READERS)
def test_a_store_that_lacks_what_its_log_has_is_refused(good: Path, tmp_path: Path, reader: str) -> None:
    store = Path(shutil.copytree(good, tmp_path / "store"))
    log = WriteAhead(store, "a boot before this one", {file: (store / file).stat().st_size for file in File})
    log.add(File.PAGES, (store / File.PAGES).stat().st_size, b'{"v":1}\n')
    log.sync()
    log.close()
    before = every_byte(store)
    args = [reader, *(arg.format(store=store) for arg in READERS[reader])]
    refused = scrapy(args, tmp_path)
    assert (refused.exit, refused.out) == (2, "")
    assert refused.log.startswith(f"scrapy {reader}: {store}: its files are not what its log, writeahead, says. ")
    assert every_byte(store) == before
    (store / "writeahead").unlink()
    assert scrapy(args, tmp_path).exit != 2
