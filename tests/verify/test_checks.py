"""Each check by itself, on the demo's store and small changes of it: what it counts, and where it finds the fault.

A store of several runs, of one that was killed, and what is open then. Every single edit: test_tamper.py.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File, to_line
from seaspider.errors import QueueFileError, StoreError
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.verify import allowed, hops, nothinglost, onedoor, pauses, walk
from seaspider.verify.evidence import Evidence
from seaspider.verify.nothinglost import NothingLost
from seaspider.verify.pauses import Pauses
from seaspider.verify.proof import Proof
from seaspider.verify.queuefate import Queue
from seaspider.verify.verdicts import Verdicts
from tests.crawling import Ended, crawl
from tests.test_crawl import demo

Rows = list[dict[str, Any]]
PROVE: dict[str, Callable[[Evidence], Proof]] = {
    "P1": allowed.prove,
    "P2": onedoor.prove,
    "P3": pauses.prove,
    "P4": hops.prove,
    "P6": nothinglost.prove,
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    webs: list[LoopbackWeb] = []

    def web(*routes: object, **options: object) -> LoopbackWeb:
        webs.append(LoopbackWeb(*routes, **options))  # type: ignore[arg-type]
        return webs[-1].__enter__()

    try:
        ended, _ = demo(folder, web)
    finally:
        for each in webs:
            each.__exit__(None, None, None)
    assert ended.exit == 3, ended.log
    return ended.store


def rows(store: Path, file: File) -> Rows:
    return [json.loads(line) for line in (store / file).read_bytes().splitlines()]


def changed(store: Path, folder: Path, file: File, change: Callable[[Rows], Rows | None]) -> Evidence:
    """A copy of the store in which a file has other rows: those returned, or the same ones, changed."""
    shutil.copytree(store, folder / "store")
    found = rows(store, file)
    (folder / "store" / file).write_bytes(b"".join(map(to_line, change(found) or found)))
    return Evidence(folder / "store")


# --- the demo ---

COUNTS = {
    "P1": {"robots.txt rows": 9, "page requests": 16, "decisions": 20},
    "P2": {"requests": 25, "hops": 25},
    "P3": {"requests": 25, "pauses": 25, "gaps of one host": 16, "gaps of one address": 16},
    "P4": {"page hops": 2},
    "P6": {"queue lines skipped": 2, "page lines": 20, "intents": 14, "bodies": 13},
}


@pytest.mark.parametrize("promise", PROVE)
def test_the_demo_is_proven(good: Path, promise: str) -> None:
    found = PROVE[promise](Evidence(good))
    assert found == Proof(promise, COUNTS[promise])
    assert found.holds


def test_the_verdict_is_that_of_the_manifest(good: Path) -> None:
    verdicts = Verdicts()
    walk.prove(Evidence(good), [verdicts])
    [run] = verdicts.runs
    assert (run.run, run.reason) == (1, "finished")
    assert run.verdict.to_record() == rows(good, File.MANIFEST)[-1]["verdict"]


# --- small changes ---


def stored(row: dict[str, Any]) -> bool:
    return row["outcome"] == "stored" and row["attempts"] > 0


def first(found: Rows, **wanted: Any) -> dict[str, Any]:
    return next(row for row in found if all(row[key] == value for key, value in wanted.items()))


def claims(found: Rows) -> Rows:
    return [row for row in found if row["event"] == "claim"]


def flip(found: Rows) -> None:
    next(filter(stored, found))["chain"][0]["decision"] = "disallow"


def absent(found: Rows) -> None:
    nothing = {"state": "absent", "sha256": None, "bytes": None, "sitemaps": []}
    first(found, state="parsed").update(nothing)


def no_claim(found: Rows) -> Rows:
    return [row for row in found if row is not claims(found)[4]]


def earlier(found: Rows) -> None:
    last = claims(found)[-1]
    before = [row for row in claims(found) if row["host"] == last["host"]][-2]
    settle = next(row for row in found if row["event"] == "settle" and row["n"] == before["n"])
    last["claimed_ns"] = settle["ended_ns"] + round(settle["pause_s"] * 1e9) - 1


def longer(found: Rows) -> None:
    next(row for row in found if row["event"] == "settle")["pause_s"] += 1


def not_polite(found: Rows) -> None:
    found[-1]["verdict"]["polite"] = False


def elsewhere(found: Rows) -> None:
    hop = next(row for row in found if len(row["chain"]) > 2)["chain"][1]
    hop["url"] += "/x"


def unannounced(found: Rows) -> Rows:
    return found[1:]


def no_page(found: Rows) -> Rows:
    return [row for row in found if row["outcome"] != "blocked"]


def other_exit(found: Rows) -> None:
    found[-1]["exit"] = 0


FAULTS: dict[str, tuple[str, File, Callable[[Rows], Rows | None], str, str]] = {
    "decision": ("P1", File.PAGES, flip, "pages.jsonl:", "decision is disallow, but robots.txt"),
    "state": ("P1", File.ROBOTS, absent, "robots.jsonl:1", "state is absent, but the answer at requests.jsonl:2"),
    "claim": ("P2", File.REQUESTS, no_claim, "requests.jsonl:9", "request 5 ends here without a claim"),
    "gap": ("P3", File.REQUESTS, earlier, "requests.jsonl:", "is asked 0.000000001 s too soon after request"),
    "pause": (
        "P3",
        File.REQUESTS,
        longer,
        "requests.jsonl:2",
        "the pause is 1.0 (interval), what was answered makes it 0.0",
    ),
    "verdict": ("P3", File.MANIFEST, not_polite, "manifest.jsonl:2", "polite is False, the requests give True"),
    "hop": ("P4", File.PAGES, elsewhere, "pages.jsonl:", "its chain is not that of the URLs asked for"),
    "intent": ("P6", File.INTENTS, unannounced, "requests.jsonl:", "whose intent was not written right before"),
    "page": ("P6", File.PAGES, no_page, "manifest.jsonl:2", "20 queue lines that are recorded are counted, 19 are"),
    "exit": ("P6", File.MANIFEST, other_exit, "manifest.jsonl:2", "exit is 0, the records make it 3"),
}


@pytest.mark.parametrize(("promise", "file", "change", "place", "why"), FAULTS.values(), ids=FAULTS)
def test_the_first_contradiction_is_named(
    good: Path,
    tmp_path: Path,
    promise: str,
    file: File,
    change: Callable[[Rows], Rows | None],
    place: str,
    why: str,
) -> None:
    found = PROVE[promise](changed(good, tmp_path, file, change))
    assert not found.holds
    assert str(found.counterexample).startswith(place)
    assert why in str(found.counterexample)


def test_a_check_that_is_refuted_does_not_stop_the_others(good: Path, tmp_path: Path) -> None:
    evidence = changed(good, tmp_path, File.MANIFEST, other_exit)
    assert [prove(evidence).holds for prove in PROVE.values()] == [True, True, True, True, False]


@pytest.mark.parametrize("file", [File.ROBOTS, File.PAGES], ids=["robots", "pages"])
def test_a_body_that_is_gone_or_changed_is_named(good: Path, tmp_path: Path, file: File) -> None:
    promise = "P1" if file is File.ROBOTS else "P6"
    sha256 = next(row["sha256"] for row in rows(good, file) if row["sha256"])
    shutil.copytree(good, tmp_path / "store")
    path = tmp_path / "store" / "bodies" / sha256[:2] / sha256
    path.write_bytes(path.read_bytes() + b" ")
    why = f"bodies/{sha256[:2]}/{sha256}, is missing or changed"
    assert why in str(PROVE[promise](Evidence(tmp_path / "store")).counterexample)
    path.unlink()
    assert why in str(PROVE[promise](Evidence(tmp_path / "store")).counterexample)


# --- what is no store ---

UNREADABLE: dict[str, tuple[File, Callable[[Rows], Rows | None], str]] = {
    "no-key": (File.REQUESTS, lambda found: found[0].pop("judged_at"), "requests.jsonl:1: no 'judged_at'"),
    "kind": (File.PAGES, lambda found: found[2].update(attempts="1"), "pages.jsonl:3: 'attempts' is '1'"),
    "time": (File.PAGES, lambda found: found[0].update(ended_at="now"), "pages.jsonl:1: 'ended_at': not a time"),
    "pause": (File.REQUESTS, lambda found: found[1].update(pause_s=math.inf), "requests.jsonl:2: 'pause_s' is inf"),
    "addresses": (File.REQUESTS, lambda found: found[0].update(addresses=[[]]), "requests.jsonl:1: 'addresses' is"),
    "headers": (File.REQUESTS, lambda found: found[1].update(headers=[1]), "requests.jsonl:2: 'headers' is not"),
    "format": (File.ROBOTS, lambda found: [{**found[0], "v": 2}], "robots.jsonl:1: format 2"),
    "settings": (File.MANIFEST, lambda found: found[0].update(settings={}), "manifest.jsonl:1: no 'token'"),
}


@pytest.mark.parametrize(("file", "change", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_store_is_no_counterexample(
    good: Path, tmp_path: Path, file: File, change: Callable[[Rows], Any], why: str
) -> None:
    def done(found: Rows) -> Rows | None:
        new = change(found)
        return new if isinstance(new, list) else None

    shutil.copytree(good, tmp_path / "store")
    found = rows(good, file)
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in done(found) or found)
    (tmp_path / "store" / file).write_bytes(lines)
    evidence = Evidence(tmp_path / "store")
    with pytest.raises(StoreError) as raised:
        walk.prove(evidence, [NothingLost(evidence)])
    assert why in str(raised.value)


def test_a_line_without_its_end_is_not_there_yet(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "store")
    with (tmp_path / "store" / File.PAGES).open("ab") as file:
        file.write(b'{"v":1,"run":1')
    evidence = Evidence(tmp_path / "store")
    assert all(prove(evidence).holds for prove in PROVE.values())


# --- several runs, killed ones ---

NAMES = {"one.test": "127.0.31.1", "two.test": "127.0.31.2"}
SITE = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n"), "/*": Answer(body="a page\n")}
DIES = """
import os, signal
from seaspider import faultpoints
left = [{nth}]
def reached(point):
    left[0] -= point == {point!r}
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
faultpoints.reached = reached
"""
UNDER_WAY = "1 visits were under way when their run ended, and "
ENDS = {
    "a claim without a settle": ("before send", 4, f"{UNDER_WAY}are open (the first: intents.jsonl:2)"),
    "an answer without a page": ("before write pages.jsonl", 2, f"{UNDER_WAY}are open (the first: intents.jsonl:2)"),
    "a robots.txt without a row": ("before write robots.jsonl", 2, None),
    "nothing at all": ("after write manifest.jsonl", 1, None),
}


def killed(folder: Path, point: str, nth: int) -> tuple[Ended, Path]:
    """A run that dies and one after it; the store as it was in between."""
    with LoopbackWeb(SITE, names=NAMES) as web:
        queue = [web.url(host, path) for path in ("/1", "/2", "/no") for host in NAMES]
        died = crawl(queue, folder, names=NAMES, sabotage=DIES.format(point=point, nth=nth))
        assert died.exit == -9, died.log
        shutil.copytree(died.store, folder / "between")
        return crawl(queue, folder, names=NAMES), folder / "between"


@pytest.mark.parametrize(("point", "nth", "note"), ENDS.values(), ids=ENDS)
def test_a_killed_run_is_proven_and_what_is_open_is_said(
    tmp_path: Path, point: str, nth: int, note: str | None
) -> None:
    ended, between = killed(tmp_path, point, nth)
    assert ended.exit == 0, ended.log
    queue = Queue(str(tmp_path / "queue.txt"))
    for store, said in ((between, note), (ended.store, note and f"{UNDER_WAY}were taken up by a later one")):
        for prove in PROVE.values():
            assert prove(Evidence(store)).counterexample is None
        check = NothingLost(Evidence(store), queue)
        [proof] = walk.prove(Evidence(store), [check])
        assert proof.holds
        no_end, *others = check.notes
        assert no_end.startswith("run 1 has no last line: ")
        assert others == ([said] if said else [])


# --- the queue ---


def test_the_queue_of_the_run_is_compared_line_by_line(good: Path) -> None:
    found = nothinglost.prove(Evidence(good), Queue(str(good.parent / "queue.txt")))
    assert found == Proof("P6", {**COUNTS["P6"], "lines of the queue file": 28})


def test_another_queue_is_a_counterexample(good: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("http://a.test/\n")
    found = nothinglost.prove(Evidence(good), Queue(str(tmp_path / "other.txt")))
    assert "manifest.jsonl:1: no run had the queue" in str(found.counterexample)


@pytest.mark.parametrize(
    ("name", "why"), [("none.txt", "No such file"), ("-", "must be a file")], ids=["none", "stdin"]
)
def test_a_queue_that_cannot_be_read_is_an_error(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(QueueFileError, match=why):
        Queue(name if name == "-" else str(tmp_path / name))


# --- pauses across runs ---


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One host, asked by two runs that share a ledger."""
    folder = tmp_path_factory.mktemp("two")
    with LoopbackWeb(SITE, names=NAMES) as web:
        for path in ("/1", "/2"):
            ended = crawl([web.url("one.test", path)], folder, names=NAMES, settings={"SEASPIDER_INTERVAL": 0.5})
            assert ended.exit == 0, ended.log
    return ended.store


def nearer(found: Rows) -> None:
    """The last request of the first run ended so late that the second run came one nanosecond too soon."""
    claim = first(found, event="claim", run=2)
    settle = [row for row in found if row["event"] == "settle" and row["run"] == 1][-1]
    settle["ended_ns"] = claim["claimed_ns"] - 500_000_000 + 1


def other_boot(found: Rows) -> None:
    found[2]["boot_id"] = "3b1f0d52-6f0e-4b0a-9a51-7d6c2f8e9041"


def other_ledger(found: Rows) -> None:
    found[2]["settings"]["ledger"] = ":memory:"


APART = {
    "boot": (other_boot, "another boot of the machine"),
    "ledger": (other_ledger, "another ledger"),
}


def test_a_pause_holds_across_runs(two_runs: Path, tmp_path: Path) -> None:
    found = pauses.prove(Evidence(two_runs))
    assert (found.holds, found.checked["gaps of one host"]) == (True, 2)
    evidence = changed(two_runs, tmp_path, File.REQUESTS, nearer)
    why = "requests.jsonl:5: one.test is asked 0.000000001 s too soon after request 2"
    assert str(pauses.prove(evidence).counterexample) == why


@pytest.mark.parametrize(("change", "why"), APART.values(), ids=APART)
def test_what_two_runs_do_not_share_cannot_be_measured(
    two_runs: Path, tmp_path: Path, change: Callable[[Rows], None], why: str
) -> None:
    store = changed(two_runs, tmp_path / "a", File.REQUESTS, nearer).folder
    check = Pauses()
    [found] = walk.prove(changed(store, tmp_path / "b", File.MANIFEST, change), [check])
    assert found.holds
    assert check.notes == [f"run 2 had {why}: pauses between it and earlier runs cannot be measured"]
