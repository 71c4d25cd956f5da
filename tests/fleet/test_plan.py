"""The plan: each line of the queue in one shard, as it is there; written whole, and believed only whole."""

import hashlib
import itertools
import json
import re
import threading
from pathlib import Path

import pytest

from seaspider.clock import SystemClock
from seaspider.core.leases import Lease
from seaspider.core.queue import MAX_LINE_BYTES
from seaspider.core.times import NS_PER_S
from seaspider.errors import QueueFileError, UsageFault
from seaspider.fleet import plan as plans
from seaspider.fleet import planning
from seaspider.fleet.plan import PlanError
from seaspider.outside import shared_ledger
from seaspider.queuefile import QueueFile
from tests import eventloop
from tests.crawling import scrapy

LINES = [
    b"\xef\xbb\xbfhttp://a.test/1",
    b"  HTTP://WWW.A.test/2#x  ",
    b"",
    b"# http://no.test/",
    b"http://b.test/%zz",
    b"no URL",
    b"http://a.test/1",
    b"http://caf\xe9.test/",
    b"https://c.test:8443/",
    b"http://127.0.0.1/",
    b"x" * (MAX_LINE_BYTES + 40),
    b" " * (MAX_LINE_BYTES + 40) + b"http://a.test/blanks",
    *(b"http://h%d.test/" % number for number in range(200)),
    b"\xef\xbb\xbfhttp://mark.test/",
    b"http://nul.test/\0",
    b"\x1f\x8bgzip",
    b"\xff\xfeh\0",
]


def write(path: Path, lines: list[bytes], end: bytes = b"\n") -> str:
    path.write_bytes(end.join(lines) + end)
    return str(path)


def planned(store: Path) -> dict[int, tuple[int, bytes]]:
    """Line of the whole queue -> shard and bytes, each once."""
    plan = plans.read(plans.plan_folder(store))
    found: dict[int, tuple[int, bytes]] = {}
    for shard, part in enumerate(plan.parts):
        octets = plans.queue_path(store / "plan", shard).read_bytes()
        numbers = plans.lines_path(store / "plan", shard).read_bytes()
        assert hashlib.sha256(octets).hexdigest() == part.sha256
        assert hashlib.sha256(numbers).hexdigest() == part.lines_sha256
        lines = list(map(int, numbers.split()))
        texts = octets.split(b"\n")[:-1]
        assert len(lines) == len(texts) == part.lines
        assert lines == sorted(lines)
        for line, text in zip(lines, texts, strict=True):
            assert line not in found
            found[line] = shard, text
    return found


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_each_line_is_in_one_shard_as_it_is(tmp_path: Path, end: bytes) -> None:
    plan = planning.make(write(tmp_path / "q", LINES, end), tmp_path / "store", 16)
    found = planned(tmp_path / "store")
    kept = {number: line for number, line in enumerate(LINES, 1) if number not in (3, 4)}
    kept[1] = kept[1][3:]
    kept[11], kept[12] = kept[11][: MAX_LINE_BYTES + 1], b" " * (MAX_LINE_BYTES + 1) + b"h"
    assert {number: text for number, (_, text) in found.items()} == kept
    assert plan.lines == {"lines": len(LINES), "blank": 1, "comment": 1, "rejected": 7, "urls": len(LINES) - 9}
    assert found[1][0] == found[2][0] == found[7][0]
    assert sum(part.hosts for part in plan.parts) == 206
    assert plan.queue_sha256 == hashlib.sha256((tmp_path / "q").read_bytes()).hexdigest()


def test_a_shard_rejects_what_the_whole_queue_does(tmp_path: Path) -> None:
    """Also where a line that is no beginning of a queue has become the first."""
    queue = write(tmp_path / "q", LINES)
    planning.make(queue, tmp_path / "store", 64)

    def kinds(path: str, *, part: bool = False) -> list[tuple[str, str]]:
        items = [item for item in QueueFile(path, part=part) if getattr(item, "fate", None) != "duplicate"]
        return sorted((str(getattr(i, "reason", "")), i.url.text if hasattr(i.url, "text") else i.text) for i in items)

    parts = (kinds(str(path), part=True) for path in sorted((tmp_path / "store/plan").glob("*.txt")))
    whole = kinds(queue)
    # Of a line that is cut its record shows as much as of the whole.
    assert sorted(itertools.chain(*parts)) == whole


def test_it_depends_on_bytes_shards_and_list_alone(tmp_path: Path) -> None:
    plan = planning.make(write(tmp_path / "q", LINES), tmp_path / "one", 16)
    again = planning.make(write(tmp_path / "elsewhere", LINES), tmp_path / "two", 16)
    assert again.digest == plan.digest
    assert {again.queue, plan.queue} == {str(tmp_path / "elsewhere"), str(tmp_path / "q")}
    other = planning.make(write(tmp_path / "q", LINES[:-1]), tmp_path / "three", 16)
    more = planning.make(write(tmp_path / "q", LINES), tmp_path / "four", 17)
    assert len({plan.digest, other.digest, more.digest}) == 3
    assert plans.read(tmp_path / "one/plan") == plan


def test_few_lines_are_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = write(tmp_path / "q", [b"http://h%d.test/%d" % (n % 97, n) for n in range(20_000)])
    one = planning.make(queue, tmp_path / "one", 8)
    monkeypatch.setattr(planning, "_HELD_BYTES", 10_000)
    assert planning.make(queue, tmp_path / "two", 8) == one


def test_a_plan_that_is_there_is_taken_up(tmp_path: Path) -> None:
    queue = write(tmp_path / "q", LINES)
    plan = planning.make(queue, tmp_path / "store", 16)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store/plan").iterdir()}
    assert planning.make(queue, tmp_path / "store", 16) == plan
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store/plan").iterdir()} == before
    with pytest.raises(UsageFault, match=r"plan: is a plan of 16 shards, not 8; name another store$"):
        planning.make(queue, tmp_path / "store", 8)
    # Of another queue the number of shards does not matter.
    for shards in (16, 8):
        with pytest.raises(
            UsageFault, match=r"plan: is the plan of another queue: its sha256 is [0-9a-f]{64}, that of "
        ):
            planning.make(write(tmp_path / "r", LINES[:3]), tmp_path / "store", shards)


def test_a_half_plan_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, store = write(tmp_path / "q", LINES), tmp_path / "store"
    half = store / planning.UNFINISHED
    half.mkdir(parents=True)
    (half / "0000.txt").write_bytes(b"http://left.test/\n")
    plan = planning.make(queue, store, 4)
    assert sorted(path.name for path in store.iterdir()) == ["plan"]
    assert b"left" not in plans.queue_path(store / "plan", 0).read_bytes()
    assert len(planned(store)) == len(LINES) - 2

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(Exception, match=r"plan: cannot be written: No space left on device$"):
        planning.make(queue, tmp_path / "other", 4)
    assert list((tmp_path / "other").iterdir()) == []
    assert plan.shards == 4


def test_shards_whose_plan_is_gone_are_not_taken_for_others(tmp_path: Path) -> None:
    (tmp_path / "store/shards/0000").mkdir(parents=True)
    with pytest.raises(UsageFault, match=r"has shards of a plan that is gone; name another store$"):
        planning.make(write(tmp_path / "q", LINES), tmp_path / "store", 4)


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "is empty"), (b"# x\n\n", "no line is a URL"), (b"x\0", "is not UTF-8 text")]
)
def test_a_queue_that_cannot_be_used_leaves_nothing(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "q").write_bytes(content)
    with pytest.raises(QueueFileError, match=why):
        planning.make(str(tmp_path / "q"), tmp_path / "store", 4)
    assert list(tmp_path.glob("store/*")) == []


BROKEN = {
    "gone": (None, "cannot be read: No such file or directory"),
    "no JSON": (lambda text: text[:-30], "is no plan of a fleet: "),
    "another format": (lambda text: text.replace('"v":1', '"v":2'), "is no plan of a fleet: format 2 is not 1"),
    "a field less": (lambda text: text.replace('"placement"', '"place"'), "is no plan of a fleet: no 'placement'"),
    "a part less": (lambda text: text.replace('"shards":4', '"shards":5'), "is no plan of a fleet: 4 parts, 5 shards"),
    "a list": (lambda text: "[1]", "is no plan of a fleet: "),
    "text for a number": (lambda text: text.replace('"shards":4', '"shards":"4"'), "is no plan of a fleet: "),
    "a number of another kind": (
        lambda text: re.sub('"hosts":[0-9]+', '"hosts":null', text),
        "is no plan of a fleet: a part has ",
    ),
    "a part that is none": (
        lambda text: json.dumps({**json.loads(text), "parts": [1, 2, 3, 4]}),
        "is no plan of a fleet: ",
    ),
}


@pytest.mark.parametrize(("change", "why"), BROKEN.values(), ids=BROKEN)
def test_a_plan_that_is_not_whole_is_refused(tmp_path: Path, change, why: str) -> None:  # type: ignore[no-untyped-def]
    planning.make(write(tmp_path / "q", LINES), tmp_path / "store", 4)
    path = tmp_path / "store/plan/plan.json"
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    with pytest.raises(PlanError) as caught:
        plans.read(tmp_path / "store/plan")
    assert str(caught.value).startswith(f"{path}: {why}")
    assert "\n" not in str(caught.value)


# The crawl of a shard


def test_a_shard_is_a_crawl_like_any_other(tmp_path: Path, loopback) -> None:  # type: ignore[no-untyped-def]
    names = {f"h{n}.test": f"127.0.9.{n + 1}" for n in range(6)}
    with_port = [b"http://h%d.test:PORT/%d" % (n, page) for page in range(2) for n in range(6)]
    web = loopback({"/robots.txt": {"status": 404}, "/*": {"body": "hello"}}, names=names)
    lines = [line.replace(b"PORT", str(web.port).encode()) for line in with_port] + [b"no URL", b"nor this"]
    plan = planning.make(write(tmp_path / "q", lines), tmp_path / "store", 3)
    for shard, part in enumerate(plan.parts):
        ended = crawl_shard(tmp_path, shard, names)
        assert ended.exit == 0, ended.log
        store = tmp_path / "store/shards" / plans.name_of(shard)
        start, end = (json.loads(line) for line in (store / "manifest.jsonl").read_text().splitlines())
        assert start["versions"]["plan"] == plan.digest
        assert start["versions"]["shard"] == str(shard)
        assert start["queue_sha256"] == part.sha256
        assert end["counts"]["queue"]["lines"] == part.lines
        proven = scrapy(["verify", str(store), "--queue", str(tmp_path / f"store/plan/000{shard}.txt")], tmp_path)
        assert proven.exit == 0, proven.out
    files = tmp_path.glob("store/shards/*/pages.jsonl")
    pages = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(page["url"].encode() for page in pages) == sorted(lines[:12])


def test_a_shard_without_a_url_or_a_line_ends_well(tmp_path: Path) -> None:
    plan = planning.make(
        write(tmp_path / "q", [b"http://a.test/", b"#" * 9_000, b"\0\0 no URL"]), tmp_path / "store", 64
    )
    of_lines = [shard for shard, part in enumerate(plan.parts) if part.lines]
    shard_of_url = next(s for s in of_lines if plan.parts[s].hosts)
    (other,) = set(of_lines) - {shard_of_url}
    empty = min(set(range(64)) - set(of_lines))
    for shard in (other, empty):
        assert crawl_shard(tmp_path, shard, {}).exit == 0
        queue = str(plans.queue_path(tmp_path / "store/plan", shard))
        store = str(tmp_path / "store/shards" / plans.name_of(shard))
        proven = scrapy(["verify", store, "--queue", queue], tmp_path)
        assert proven.exit == 0, proven.out + proven.log


BRIEF = "SEASPIDER_LEASE = 5: below 30 s a busy machine may lose it"


@pytest.mark.parametrize(("lease", "warned"), [("5", [BRIEF]), ("30", []), (None, [])])
def test_a_lease_that_may_be_lost_is_warned_of(tmp_path: Path, lease: str | None, warned: list[str]) -> None:
    planning.make(write(tmp_path / "q", [b"http://a.test/"]), tmp_path / "store", 1)
    ended = crawl_shard(tmp_path, 0, {}, *([] if lease is None else ["-s", f"SEASPIDER_LEASE={lease}"]))
    assert ended.exit == 0
    assert [line.partition("WARNING: ")[2] for line in ended.log.splitlines() if "SEASPIDER_LEASE" in line] == warned
    settings = json.loads((tmp_path / "store/shards/0000/manifest.jsonl").read_text().splitlines()[0])["settings"]
    assert settings["lease_s"] == float(lease or 60)


def crawl_shard(folder: Path, shard: int, names: dict[str, str], *more: str):  # type: ignore[no-untyped-def]
    given = ["-a", f"plan={folder / 'store/plan'}", "-a", f"shard={shard}", *more]
    return scrapy(["crawl", "seaspider", *given], folder, names=names)


def test_a_shard_that_another_runner_holds_is_left_alone(tmp_path: Path) -> None:
    plan = planning.make(write(tmp_path / "q", LINES), tmp_path / "store", 4)
    clock = SystemClock()
    ledger = shared_ledger(str(tmp_path / "ledger.sqlite3"), clock)
    lease = ledger.acquire(f"{plan.digest}/1", 10 * NS_PER_S)
    assert isinstance(lease, Lease)
    over = threading.Event()

    def renew() -> None:
        while not over.wait(0.2):
            assert ledger.renew(lease)

    other = threading.Thread(target=renew)
    other.start()
    try:
        ended = crawl_shard(tmp_path, 1, {})
    finally:
        over.set()
        other.join()
        eventloop.run(ledger.close())
    assert ended.exit == 75
    assert ended.log.endswith(f"scrapy crawl: {plan.digest}/1 is another runner's, which is at work on it\n")
    assert not (tmp_path / "store/shards").exists()


REFUSED = {
    "no shard": (["-a", "plan=PLAN"], "argument -a plan=PLAN: says nothing without -a shard"),
    "no plan": (["-a", "shard=1"], "argument -a shard=1: says nothing without -a plan"),
    "not a number": (["-a", "plan=PLAN", "-a", "shard=x"], "argument -a shard=x: must be the number of a shard, "),
    "too large": (["-a", "plan=PLAN", "-a", "shard=9999"], "argument -a shard=9999: must be the number of a shard, "),
    "not in the plan": (["-a", "plan=PLAN", "-a", "shard=4"], "PLAN/plan.json: has no shard 4, only 0 to 3"),
    "no such plan": (["-a", "plan=nowhere", "-a", "shard=1"], "nowhere/plan.json: cannot be read: No such file"),
    "a queue, too": (["-a", "plan=PLAN", "-a", "shard=1", "-a", "queue=q"], "argument -a queue=q: a shard has the "),
    "changed": (["-a", "plan=PLAN", "-a", "shard=2"], "PLAN/0002.txt: was changed: its sha256 is "),
    "gone": (["-a", "plan=PLAN", "-a", "shard=3"], "queue 'PLAN/0003.txt': No such file or directory"),
}


@pytest.mark.parametrize(("arguments", "why"), REFUSED.values(), ids=REFUSED)
def test_refused_before_any_store_is_made(tmp_path: Path, arguments: list[str], why: str) -> None:
    planning.make(write(tmp_path / "q", LINES), tmp_path / "store", 4)
    plan = str(tmp_path / "store/plan")
    with Path(plan, "0002.txt").open("ab") as file:
        file.write(b"http://more.test/\n")
    Path(plan, "0003.txt").unlink()
    ended = scrapy(["crawl", "seaspider", *(part.replace("PLAN", plan) for part in arguments)], tmp_path)
    assert ended.exit == 2
    assert ended.log.startswith(f"scrapy crawl: {why.replace('PLAN', plan)}")
    assert ended.log.count("\n") == 1
    assert not (tmp_path / "store/shards").exists()
