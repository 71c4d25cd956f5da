"""`scrapy verify` of a fleet's folder: what holds is proven, and each thing that was changed is found and named."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seaspider.fleet.folder import Fleet
from seaspider.fleet.proof import spacing
from seaspider.fleet.proof.spacing import Spacing, measure
from seaspider.verify.evidence import Evidence
from tests.fleet.conftest import Crawled
from tests.fleet.smallfleets import DIES, SHARDS, merge, planned, records, verify
from tests.fleet.test_merge import MERGED, change, drop, without_last_line

Harm = Callable[[Path], Any]


@pytest.fixture
def fleet(crawled: Crawled, tmp_path: Path) -> Path:
    """A merged copy that may be changed."""
    shutil.copytree(crawled.fleet, tmp_path / "fleet/store")
    return tmp_path / "fleet/store"


def proven(store: Path, *options: str) -> dict[str, Any]:
    ended = verify(store, "--json", *options)
    assert ended.exit == 0, ended.out + ended.log
    found: dict[str, Any] = json.loads(ended.out)
    assert found["proven"] is True
    return found


def refuted(store: Path, *options: str) -> dict[str, str]:
    """What is refuted -> `place: why`."""
    ended = verify(store, "--json", *options)
    assert (ended.exit, ended.log) == (1, "")
    found = json.loads(ended.out)
    assert found["proven"] is False
    counterexamples = {name: each["counterexample"] for name, each in found["promises"].items()}
    return {name: f"{each['place']}: {each['why']}" for name, each in counterexamples.items() if each}


def test_a_good_fleet_is_proven(crawled: Crawled) -> None:
    for store in (crawled.fleet, crawled.other):
        found = proven(store, "--queue", str(crawled.queue))
        assert found["too_near"] == {"within": 0, "across": 0}
        assert found["promises"]["plan"]["checked"] == {
            "lines": 36,
            "shards": 4,
            "lines of the queue file": 38,
        }
        assert found["promises"]["merged"]["checked"]["pages.jsonl"] == 56
        assert found["promises"]["P3"]["checked"]["pairs across shards"] > 0
        assert found["fleet"] == {"shards": 4, "with_lines": 4, "begun": 4}
        assert list(found["promises"]) == ["plan", "P1", "P2", "P3", "P4", "P5", "P6", "merged"]
    assert proven(crawled.fleet)["unproven"] == {}
    unproven = proven(crawled.other)["unproven"]
    assert list(unproven) == ["P6"]
    assert [note.partition(": ")[0] for note in unproven["P6"]] == ["shard 0001, 0002"] * 2


def test_it_is_said_in_words(crawled: Crawled) -> None:
    ended = verify(crawled.fleet)
    lines = ended.out.splitlines()
    assert lines[0] == f"Fleet {crawled.fleet}: 4 of 4 shards with lines begun, 4 in all"
    assert "plan    proven   each line of the queue in one shard (36 lines, 4 shards)" in lines
    requests = proven(crawled.fleet)["requests"]
    assert f"{requests} requests; pairs too near: 0 within shards, 0 across shards" in lines
    assert lines[-1] == "result  proven"


def test_what_is_not_merged_or_not_complete_is_said(fleet: Path) -> None:
    for file in MERGED:
        (fleet / file).unlink()
    shutil.rmtree(fleet / "shards/0001")
    found = proven(fleet)
    lines = len((fleet / "plan/0001.lines").read_text().split())
    assert found["unproven"] == {
        "P6": [f"shard 0001 (not begun, {lines} lines without a record)"],
        "merged": [f"it was not merged yet: scrapy merge {fleet}"],
    }
    assert "merged" not in found["promises"]


@pytest.mark.parametrize("left", [*MERGED[:-1], "all"])
def test_merged_files_without_their_manifest_are_refuted(fleet: Path, left: str) -> None:
    """Nothing looks at them then, whoever changed them."""
    for file in MERGED:
        if file == "manifest.jsonl" or left not in (file, "all"):
            (fleet / file).unlink()
    first = MERGED[0] if left == "all" else left
    why = f"{first}: is there without manifest.jsonl, so no merge tells of it; merge again"
    assert refuted(fleet) == {"merged": why}
    assert merge(fleet).exit == 0
    proven(fleet)


KILLED = {
    "the first name": ("before rename skipped.jsonl", "it was not merged yet: "),
    "a later name": (
        "before rename pages.jsonl",
        "a merge was cut short; what is there (skipped.jsonl, robots.jsonl) proves nothing: ",
    ),
    "the manifest": (
        "before rename manifest.jsonl",
        "a merge was cut short; what is there (skipped.jsonl, robots.jsonl, pages.jsonl, links.jsonl) proves nothing: ",
    ),
}


@pytest.mark.parametrize(("point", "note"), KILLED.values(), ids=KILLED)
@pytest.mark.parametrize("how", ["killed", "an error"])
def test_what_a_merge_left_that_was_cut_short_is_a_note(fleet: Path, point: str, note: str, how: str) -> None:
    for file in MERGED:
        (fleet / file).unlink()
    fails = DIES.format(point=point, nth=1)
    if how == "an error":
        fails = fails.replace("os.kill(os.getpid(), signal.SIGKILL)", "raise OSError(28, 'No space left on device')")
    ended = merge(fleet, sabotage=fails)
    assert ended.exit == (-9 if how == "killed" else 74), ended.log
    assert proven(fleet)["unproven"] == {"merged": [f"{note}scrapy merge {fleet}"]}
    assert merge(fleet).exit == 0
    assert proven(fleet)["unproven"] == {}


def test_a_merge_that_is_cut_short_again_stays_a_note(fleet: Path) -> None:
    """Also if the second one fails before it names anything."""
    for point in ("before rename pages.jsonl", "before sync pages.jsonl"):
        fails = DIES.format(point=point, nth=1).replace(
            "os.kill(os.getpid(), signal.SIGKILL)", "raise OSError(28, 'full')"
        )
        assert merge(fleet, sabotage=fails).exit == 74
        (note,) = proven(fleet)["unproven"]["merged"]
        assert note.startswith("a merge was cut short; what is there (")


# The plan


def replan(store: Path, shard: int, *, text: bytes | None = None, numbers: bytes | None = None) -> None:
    """Changes a shard's files, and plan.json so that it tells of them."""
    plan = json.loads((store / "plan/plan.json").read_text())
    part = plan["parts"][shard]
    if text is not None:
        (store / f"plan/000{shard}.txt").write_bytes(text)
        part["sha256"] = hashlib.sha256(text).hexdigest()
    if numbers is not None:
        (store / f"plan/000{shard}.lines").write_bytes(numbers)
        part["lines_sha256"] = hashlib.sha256(numbers).hexdigest()
        part["lines"] = numbers.count(b"\n")
    (store / "plan/plan.json").write_text(json.dumps(plan, separators=(",", ":")) + "\n")


def read(store: Path, name: str) -> bytes:
    return (store / "plan" / name).read_bytes()


def line_in_two_shards(store: Path) -> None:
    """Line 3 is shard 1's; it takes the place of shard 2's first."""
    replan(store, 2, numbers=read(store, "0002.lines").replace(b"2\n", b"3\n", 1))


def line_of_none(store: Path) -> None:
    replan(store, 2, numbers=read(store, "0002.lines").replace(b"38\n", b"39\n", 1))


def misplaced(store: Path) -> None:
    """The first lines of two shards change places."""
    first, second = (read(store, f"000{shard}.txt").splitlines(keepends=True) for shard in (1, 2))
    first[0], second[0] = second[0], first[0]
    replan(store, 1, text=b"".join(first))
    replan(store, 2, text=b"".join(second))


PLANS: dict[str, tuple[Harm, str]] = {
    "a line in two shards": (
        line_in_two_shards,
        "plan/0002.lines:1: line 3 of the queue is in shard 0001 as well",
    ),
    "a line that is none": (line_of_none, "plan/0002.lines:"),
    "lines changed": (
        lambda store: (store / "plan/0002.lines").write_text("1\n"),
        "plan/0002.lines: was changed: its sha256 is ",
    ),
    "text changed": (
        lambda store: (store / "plan/0002.txt").write_bytes(read(store, "0002.txt") + b"http://h0.test/more\n"),
        "plan/0002.txt: sha256 ",
    ),
    "a line lost": (
        lambda store: replan(store, 2, numbers=read(store, "0002.lines").replace(b"2\n", b"", 1)),
        "plan/plan.json: the shards have 35 lines, the queue has 36",
    ),
    "in another shard than the rule says": (misplaced, "plan/0001.txt: host h0.test belongs to shard 0002"),
    "a comment": (lambda store: replan(store, 2, text=b"# " + read(store, "0002.txt")), "plan/0002.txt: "),
}


@pytest.mark.parametrize(("harm", "why"), PLANS.values(), ids=PLANS)
def test_a_plan_that_is_not_that_of_a_queue_is_refuted(fleet: Path, harm: Harm, why: str) -> None:
    harm(fleet)
    assert refuted(fleet)["plan"].startswith(why)


def test_a_misplaced_line_is_named_without_its_user_information(tmp_path: Path) -> None:
    store = planned(tmp_path, ["http://h0.test/", "http://somebody:s3cret@h0.test/"], 2)
    # Two plans in one: the second line is in the other shard.
    texts = [read(store, f"000{shard}.txt") for shard in range(2)]
    here = next(shard for shard in range(2) if b"s3cret" in texts[shard])
    line = b"http://somebody:s3cret@h0.test/\n"
    replan(
        store, here, text=texts[here].replace(line, b""), numbers=read(store, f"000{here}.lines").replace(b"2\n", b"")
    )
    numbers = read(store, f"000{1 - here}.lines") + b"2\n"
    replan(store, 1 - here, text=texts[1 - here] + line, numbers=numbers)
    found = refuted(store)
    assert found["plan"] == f"plan/000{1 - here}.txt: the line 'http://***@h0.test/' belongs to shard 000{here}"


def test_the_queue_at_hand_must_be_that_of_the_plan(crawled: Crawled, fleet: Path) -> None:
    other = fleet.parent / "other.txt"
    other.write_text(crawled.queue.read_text() + "http://h0.test/more\n")
    found = refuted(fleet, "--queue", str(other))
    assert found["plan"].startswith("plan/plan.json: is of a queue with sha256 ")
    # Two lines of one shard that changed places have the same numbers and hosts.
    text = read(fleet, "0002.txt").splitlines(keepends=True)
    text[0], text[1] = text[1], text[0]
    replan(fleet, 2, text=b"".join(text))
    found = refuted(fleet, "--queue", str(crawled.queue))
    assert found["plan"] == f"plan/0002.txt: is not what a plan of {crawled.queue} gives"
    for name in ("-", str(fleet.parent / "none")):
        ended = verify(fleet, "--queue", name)
        assert (ended.exit, ended.out) == (2, "")
        assert ended.log.startswith(f"scrapy verify: queue '{name}': ")


# The shards


def test_what_is_wrong_in_a_shard_is_named_with_it(fleet: Path) -> None:
    change(fleet / "shards/0001/pages.jsonl", '"decision":"allow"', '"decision":"disallow"')
    found = refuted(fleet)
    assert found["P1"].startswith("shards/0001/pages.jsonl:")
    assert found["merged"].startswith("pages.jsonl:")


def test_a_shard_of_another_plan_is_refuted(fleet: Path) -> None:
    change(fleet / "shards/0001/manifest.jsonl", '"plan":"', '"plan":"0')
    assert refuted(fleet)["plan"].startswith("shards/0001/manifest.jsonl:1: is of another plan or shard: plan is 0")


def test_a_shard_that_cannot_be_read_is_named(fleet: Path) -> None:
    with (fleet / "shards/0001/requests.jsonl").open("ab") as file:
        file.write(b"no line\n")
    ended = verify(fleet)
    assert (ended.exit, ended.out) == (2, "")
    assert ended.log.startswith(f"scrapy verify: {fleet}/shards/0001/requests.jsonl:")


# The pauses across shards


def shift(store: Path, shard: int, ns: int) -> None:
    """All times of a shard by CLOCK_BOOTTIME, so that it stays true to itself."""
    for file in ("requests.jsonl", "manifest.jsonl"):
        path = store / f"shards/000{shard}" / file
        rows = records(path)
        for row in rows:
            for name in [name for name in row if name.endswith("_ns") and row[name] is not None]:
                row[name] += ns
        path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def shared_pair(store: Path) -> tuple[int, dict[str, Any], int, dict[str, Any]]:
    """Two requests to one address, of different shards: the earlier one's end, the later one's claim."""
    events = []
    for shard in range(SHARDS):
        rows = records(store / f"shards/000{shard}/requests.jsonl")
        events += [
            (claim["claimed_ns"], shard, claim, settle) for claim, settle in zip(rows[::2], rows[1::2], strict=True)
        ]
    events.sort(key=lambda each: each[0])
    last: dict[str, tuple[int, dict[str, Any]]] = {}
    for _, shard, claim, settle in events:
        before = last.get(claim["ip"])
        if before is not None and before[0] != shard:
            return before[0], before[1], shard, claim
        last[claim["ip"]] = shard, settle
    raise AssertionError("no address is asked by two shards")


def test_a_pair_too_near_across_two_shards_is_named(fleet: Path) -> None:
    """Each shard alone stays proven: only together they contradict."""
    before, settle, shard, claim = shared_pair(fleet)
    free_ns = settle["ended_ns"] + round(settle["pause_s"] * 1e9)
    shift(fleet, shard, free_ns - claim["claimed_ns"] - 1)
    found = refuted(fleet)
    assert set(found) == {"P3"}
    place, _, why = found["P3"].partition(": ")
    assert place.startswith(f"shards/000{shard}/requests.jsonl:")
    assert f" s too soon after that of shards/000{before}/requests.jsonl:" in why
    across = json.loads(verify(fleet, "--json").out)["too_near"]
    assert across["within"] == 0
    assert across["across"] >= 1
    # A ns later none is.
    shift(fleet, shard, 1)
    assert measured(fleet).by_boot.too_near == across["across"] - 1


def test_the_twin_that_looks_at_each_shard_alone_finds_nothing(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, settle, shard, claim = shared_pair(fleet)
    free_ns = settle["ended_ns"] + round(settle["pause_s"] * 1e9)
    shift(fleet, shard, free_ns - claim["claimed_ns"] - 1)
    assert measured(fleet).by_boot.too_near >= 1
    monkeypatch.setattr(spacing._Keys, "meet", lambda self, *event: None)
    assert measured(fleet).by_boot.too_near == 0


def measured(store: Path) -> Spacing:
    fleet = Fleet.of(store)
    return measure([(shard, Evidence(fleet.store(shard))) for shard in range(SHARDS)])


def test_between_boots_only_wall_clocks_can_be_asked(fleet: Path) -> None:
    _, settle, shard, claim = shared_pair(fleet)
    free_ns = settle["ended_ns"] + round(settle["pause_s"] * 1e9)
    shift(fleet, shard, free_ns - claim["claimed_ns"] - 1)
    path = fleet / f"shards/000{shard}/manifest.jsonl"
    boot_id = records(path)[0]["boot_id"]
    path.write_text(path.read_text().replace(boot_id, "another"))
    found = proven(fleet)
    (note,) = found["unproven"]["P3"]
    assert note.startswith("the shards ran under 2 boot ids: ")
    assert note.endswith(" pairs across shards, 0 of them too near")
    told = measured(fleet)
    assert told.between is not None
    assert told.between.pairs > told.by_boot.pairs


def test_no_shorter_rest_hides_a_longer_one(tmp_path: Path) -> None:
    """What three shards left of one host: the longest rest counts, whoever asked last."""
    found = spacing.Found()
    keys = spacing._Keys(found)
    for now, shard, free in ((0, 1, 100), (10, 2, 30), (40, 3, 50), (60, 1, 70), (99, 2, 99), (100, 3, 200)):
        keys.meet(now, shard, f"requests.jsonl:{now}", "a.test", f"127.0.0.{now}", free, 0)
    # Shard 1's own rest is its own matter; by 60 nobody else's is left.
    assert (found.requests, found.pairs, found.too_near) == (6, 5, 3)
    assert str(found.first) == (
        "shards/0002/requests.jsonl:10: host a.test is asked 0.000000090 s too soon after that of "
        "shards/0001/requests.jsonl:0"
    )


@pytest.mark.parametrize("seed", range(20))
def test_each_request_is_held_against_all_rests_of_other_shards(seed: int) -> None:
    """Against one that looks at every pair."""
    chance = random.Random(seed)
    found = spacing.Found()
    keys = spacing._Keys(found)
    asked: list[tuple[int, str, str, int, int]] = []
    near = 0
    for now in range(300):
        shard, host, address = chance.randrange(5), f"h{chance.randrange(6)}", f"a{chance.randrange(3)}"
        frees = tuple(now + chance.choice((0, 1, 3, 40)) for _ in range(2))
        near += any(
            other != shard and ((h == host and now < of_host) or (a == address and now < of_address))
            for other, h, a, of_host, of_address in asked
        )
        keys.meet(now, shard, f"requests.jsonl:{now}", host, address, *frees)
        asked.append((shard, host, address, *frees))
    assert (found.requests, found.too_near) == (300, near)
    assert near > 100


# The merged files


def reordered(store: Path) -> None:
    path = store / "pages.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))


def extra_body(store: Path) -> None:
    (next((store / "bodies").glob("*")) / "abcd").write_text("x")


def extra_folder(store: Path) -> None:
    (store / "bodies/xy").mkdir()


def other_body(store: Path) -> None:
    path = next((store / "bodies").glob("*/*"))
    path.unlink()
    path.write_text("x")


MERGES: dict[str, tuple[Harm, str]] = {
    "a row changed": (
        lambda store: change(store / "pages.jsonl", '"status":404', '"status":410'),
        "pages.jsonl:33: is not the line that the shards give here, of shard 000",
    ),
    "a row lost": (
        lambda store: without_last_line(store / "pages.jsonl"),
        "pages.jsonl:56: is missing: a line that the shards give here, of shard 000",
    ),
    "a file lost": (
        lambda store: (store / "skipped.jsonl").unlink(),
        "skipped.jsonl:1: is missing: a line that the shards give here, of shard 0003",
    ),
    "a row more": (
        lambda store: (store / "links.jsonl").write_text((store / "links.jsonl").read_text() * 2),
        "links.jsonl:41: is a line more than the shards give",
    ),
    "another order": (reordered, "pages.jsonl:3: is not the line"),
    "another count": (
        lambda store: change(store / "manifest.jsonl", '"pages":56', '"pages":55'),
        "manifest.jsonl:1: is not the line that the shards give here",
    ),
    "a body more": (extra_body, "bodies/"),
    "a folder more": (extra_folder, "bodies/xy: is of no record of the shards"),
    "a body changed": (other_body, "bodies/"),
    "a body lost": (lambda store: next((store / "bodies").glob("*/*")).unlink(), "bodies/"),
}


@pytest.mark.parametrize(("harm", "why"), MERGES.values(), ids=MERGES)
def test_merged_files_are_what_the_shards_give(fleet: Path, harm: Harm, why: str) -> None:
    harm(fleet)
    found = refuted(fleet)
    assert set(found) == {"merged"}
    assert found["merged"].startswith(why)


MANIFEST_FIRST = """
from seaspider import faultpoints
from seaspider.fleet import merge
def name(unfinished, folder):
    for file in ("manifest.jsonl", *merge.FILES):
        faultpoints.reached(f"before rename {file}")
        (unfinished / file).rename(folder / file)
merge._name = name
"""


def test_the_twin_that_names_the_manifest_first_leaves_half_a_store(fleet: Path) -> None:
    (fleet / "manifest.jsonl").unlink()
    (fleet / "pages.jsonl").unlink()
    died = merge(fleet, sabotage=MANIFEST_FIRST + DIES.format(point="before rename pages.jsonl", nth=1))
    assert died.exit == -9, died.log
    assert refuted(fleet)["merged"].startswith("pages.jsonl:1: is missing")


def test_a_partial_merge_is_proven_and_out_of_date_when_a_shard_went_on(fleet: Path) -> None:
    (fleet / "shards/0001").rename(fleet / "away")
    shutil.rmtree(fleet / "bodies")
    assert merge(fleet, "--partial").exit == 0
    found = proven(fleet)
    assert found["promises"]["merged"]["standing"] == "proven"
    (fleet / "away").rename(fleet / "shards/0001")
    assert refuted(fleet)["merged"].endswith("if a shard was crawled on since, merge again")


def test_a_lost_record_of_a_shard_is_found_by_the_merged_files(fleet: Path) -> None:
    drop(fleet / "shards/0000/robots.jsonl", b'"id":1,')
    assert set(refuted(fleet)) >= {"merged"}
