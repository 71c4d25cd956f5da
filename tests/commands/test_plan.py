"""`scrapy plan`: what it says is what the crawl does; nobody is asked, nothing is written, bad input is one line."""

import fcntl
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seaspider.config import ORDERS
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.planreport import duration
from tests.commands.many import Case, Result, run
from tests.crawling import crawl

NAMES = {
    "a.test": "127.0.8.1",
    "b.test": "127.0.8.2",
    "bee.test": "127.0.8.2",
    "slow.test": "127.0.8.3",
    "shut.test": "127.0.8.4",
    "cold.test": "127.0.8.5",
    "siren.test": "169.254.169.254",
    "gone.test": [],
}
SITES = {
    "slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.3\nDisallow: /no\n"),
    "shut.test/robots.txt": Answer(404),
    "shut.test/": Answer(403),
    "cold.test/robots.txt": Answer(503),
    "/robots.txt": Answer(404),
    "/*": Answer(headers=(("Content-Type", "text/html"),), body="<p>hello</p>"),
}
BEFORE = ["slow.test/0", "shut.test/", "cold.test/0", "a.test/0"]
QUEUE = [
    *BEFORE,
    *(f"{host}.test/{n}" for n in range(1, 5) for host in ("slow", "b", "a") if host != "b" or n < 3),
    "bee.test/1",
    "bee.test/2",
    "shut.test/1",
    "slow.test/no",
    "siren.test/",
    "gone.test/",
]
KEYS = [
    "queue", "store", "runs", "lines", "rejects", "followed", "without_request", "hosts", "requests", "busiest",
    "breadth_per_mil", "gate", "order", "turns", "lower_bound_s", "lower_bound", "eta_s", "assumed",
]  # fmt: skip


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(SITES, names=NAMES) as running:
        yield running


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def plan(*args: str, **settings: Any) -> Result:
    return run({"plan": Case(["plan", *args], settings)}, NAMES)["plan"]


# --- the crawl does what was planned ---


def urls(web: LoopbackWeb, places: list[str]) -> list[str]:
    return [web.url(host, f"/{path}") for host, _, path in (place.partition("/") for place in places)]


@pytest.mark.parametrize("order", ORDERS)
def test_the_crawl_makes_these_turns_in_this_order(order: str, tmp_path: Path, web: LoopbackWeb) -> None:
    settings = {"SEASPIDER_INTERVAL": 0.1, "SEASPIDER_ORDER": order, "SEASPIDER_LEDGER": tmp_path / "ledger"}
    crawl(urls(web, BEFORE), tmp_path, names=NAMES, settings={**settings, "SEASPIDER_INTERVAL": 0})
    before = snapshot(tmp_path / "store")
    web.clear()
    (tmp_path / "queue.txt").write_text("".join(f"{url}\n" for url in urls(web, QUEUE)))

    result = plan(f"{tmp_path}/queue.txt", "--store", f"{tmp_path}/store", "--turns", "99", "--json", **settings)
    assert (result.exit, result.err) == (0, "")
    assert (snapshot(tmp_path / "store"), web.connections) == (before, 0)

    found = json.loads(result.out)
    ended = crawl(tmp_path / "queue.txt", tmp_path, names=NAMES, settings=settings)
    claims = [row for row in ended.records("requests") if row["event"] == "claim" and row["run"] == 2]
    assert [(turn["kind"], turn["url"]) for turn in found["turns"]] == [(row["kind"], row["url"]) for row in claims]
    says = "in the turns below, each answer takes SEASPIDER_EXPECTED_ANSWER"
    assert (says in found["assumed"]) == (order == "most-remaining")
    end = ended.records("manifest")[-1]
    assert found["requests"] == {"robots": 2, "page": 12, "total": end["verdict"]["requests"]}
    assert (found["hosts"], found["breadth_per_mil"], found["busiest"]["requests"]) == (
        end["verdict"]["hosts"],
        end["verdict"]["breadth_per_mil"],
        end["verdict"]["most_per_host"],
    )
    asked = {"stored": 12}
    assert {**found["without_request"], **asked} == end["counts"]["pages"]
    assert {name: end["counts"]["queue"][name] for name in ("lines", "done", "duplicate", "rejected")} == {
        name: found["lines"][name] for name in ("lines", "done", "duplicate", "rejected")
    }
    took_s = (claims[-1]["claimed_ns"] - claims[0]["claimed_ns"]) / 1e9
    assert 0.9 == found["lower_bound_s"] <= took_s
    assert found["lower_bound"] == {"host": "slow.test", "formula": "(4 requests to slow.test - 1) x 0.3 s"}


# --- what it says ---

LINES = """\ufeffhttp://a.test/1
http://a.test/2
# a comment

http://b.test/
http://A.test/1#again
ftp://a.test/
http://\x1b[31m.test/
http://169.254.169.254/
"""


@pytest.fixture
def queue(tmp_path: Path) -> str:
    path = tmp_path / "queue.txt"
    path.write_text(LINES, "utf-8")
    return str(path)


def test_it_is_told_to_people(queue: str, tmp_path: Path) -> None:
    gate = {"SEASPIDER_GATE_MIN_HOSTS": 2, "SEASPIDER_GATE_MAX_PER_HOST": 2, "SEASPIDER_GATE_MIN_BREADTH": 400}
    result = plan(queue, "--store", f"{tmp_path}/store", "--turns", "4", SEASPIDER_INTERVAL=2.5, **gate)
    assert (result.exit, result.err) == (0, "")
    assert (
        result.out
        == f"""\
queue      {queue}: 9 lines: 4 to visit, 1 blank, 1 comment, 1 duplicate, 0 done, 2 rejected
           line 7 is rejected (scheme): 'ftp://a.test/'
           line 8 is rejected (host): 'http://\\x1b[31m.test/'
store      {tmp_path}/store: new
not asked  1 refused/special-address
requests   5 to 2 hosts (2 robots.txt, 3 pages)
busiest    a.test with 3 requests
breadth    400 per mil (2 x 1000 / 5)
gate       WOULD FAIL: hosts 2 (at least 2), most per host 3 (at most 2), breadth 400 (at least 400)
time       at least 5 s = (3 requests to a.test - 1) x 2.5 s
           5 s to 10 s if an answer takes 0.1 to 1 s,
           from the larger of that bound and 5 x 0.1 s to the sum of that bound and 5 x 1 s
assumed    a robots.txt that is not known yet allows everything and asks for no crawl-delay
           each page is answered once, without redirect, error or back-off
           no two host names share an address, unless SEASPIDER_RESOLVE says so
           nothing else asks these hosts, or asked them just now

  turn       after  host    request (round-robin, the first 4 of 5)
     1       0.0 s  a.test  http://a.test/robots.txt
     2       0.0 s  b.test  http://b.test/robots.txt
     3       2.5 s  a.test  http://a.test/1
     4       2.5 s  b.test  http://b.test/
"""
    )
    assert [path.name for path in tmp_path.iterdir()] == ["queue.txt"]


def test_it_is_one_object_for_programs(queue: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    result = plan(queue, "--store", f"{tmp_path}/store", "--json", "--turns=0", SEASPIDER_LEDGER=ledger)
    found = json.loads(result.out)
    assert list(found) == KEYS
    assert (found["lines"]["entries"], found["turns"], found["runs"]) == (4, [], 0)
    assert found["rejects"] == [
        {"line": 7, "reason": "scheme", "text": "ftp://a.test/"},
        {"line": 8, "reason": "host", "text": "http://\x1b[31m.test/"},
    ]
    assert found["gate"] == {
        "min_hosts": 0, "max_per_host": 0, "min_breadth": 0, "broad": True, "polite": True, "passes": None,
    }  # fmt: skip
    assert not ledger.exists()


def test_what_is_done_and_what_goes_on_is_read_from_the_store(tmp_path: Path, web: LoopbackWeb) -> None:
    """The store of a crawl that is at work: its lock is held, and its last line is on its way to the disk."""
    crawl(urls(web, ["a.test/1"]), tmp_path, names=NAMES)
    store = tmp_path / "store"
    page = json.loads((store / "pages.jsonl").read_text())
    link = {
        "v": 1, "run": 1, "visit": page["visit"], "page": page["url"], "n": 1, "url": web.url("a.test", "/followed"),
        "text": "", "rel": "", "nofollow": False, "followed": True, "reason": None,
    }  # fmt: skip
    with (store / "links.jsonl").open("a") as links:
        links.write(json.dumps(link) + "\n" + json.dumps({**link, "url": web.url("a.test", "/later")})[:-9])
    with (store / "requests.jsonl").open("a") as requests:
        requests.write('{"v":1,"run":7,')
    (tmp_path / "queue.txt").write_text("".join(f"{url}\n" for url in urls(web, ["a.test/1", "a.test/2"])))
    web.clear()
    lock = os.open(store / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = snapshot(store)
    try:
        result = plan(f"{tmp_path}/queue.txt", "--store", str(store), "--json")
    finally:
        os.close(lock)
    assert (result.exit, result.err) == (0, "")
    found = json.loads(result.out)
    assert (found["runs"], found["lines"]["done"], found["followed"]) == (1, 1, 1)
    assert [turn["url"] for turn in found["turns"]] == urls(web, ["a.test/2", "a.test/followed"])
    assert (snapshot(store), web.connections) == (before, 0)


def test_nothing_left_to_do(tmp_path: Path) -> None:
    (tmp_path / "queue.txt").write_text("http://gone.test/\n")
    result = plan(f"{tmp_path}/queue.txt", "--store", f"{tmp_path}/store")
    assert result.exit == 0
    assert "\nrequests   0 to 0 hosts (0 robots.txt, 0 pages)\n" in result.out
    assert "\ntime       none: there is nothing to ask for\n" in result.out


# --- bad input ---

QUEUES = {
    "none.txt": (None, "No such file or directory"),
    "empty.txt": (b"", "is empty"),
    "none-is-url.txt": (b"# c\na.test\nmailto:x\n", "no line is a URL (2 rejected, 1 comment)"),
    "nul.txt": (b"htt\0", "is not UTF-8 text: NUL at byte 3"),
    "broken.gz": (
        gzip.compress(b"http://a.test/\n" * 99)[:-9],
        "broken gzip: Compressed file ended before the end-of-stream marker was reached",
    ),
}
# options, settings, exit code, line
BAD: dict[str, tuple[list[str], dict[str, Any], int, str]] = {
    **{name: ([f"{{here}}/{name}"], {}, 2, f"queue '{{here}}/{name}': {text}") for name, (_, text) in QUEUES.items()},
    "standard input": (["-"], {}, 2, "queue standard input: is empty"),
    "turns": (
        ["{here}/good.txt", "--turns", "-1"],
        {},
        2,
        "option --turns '-1': must be a whole number, not negative, of at most 9 digits",
    ),
    "store": (["{here}/good.txt", "--store", ""], {}, 2, "option --store: must name a folder"),
    "a file as store": (
        ["{here}/good.txt", "--store", "{here}/good.txt"],
        {},
        74,
        "{here}/good.txt/skipped.jsonl: Not a directory",
    ),
    "setting": (
        ["{here}/good.txt"],
        {"SEASPIDER_GATE_MIN_BREADTH": 1001},
        2,
        "setting SEASPIDER_GATE_MIN_BREADTH = '1001': must be at most 1000",
    ),
    "promise": (
        ["{here}/good.txt"],
        {"CONCURRENT_REQUESTS": 2},
        2,
        "setting CONCURRENT_REQUESTS = '2': undoes a promise, it must be 1: one request is in flight at a time",
    ),
}


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("http://a.test/\n")
    for name, (content, _) in QUEUES.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
    cases = {
        name: Case(["plan", *(arg.format(here=tmp_path) for arg in args)], settings)
        for name, (args, settings, _, _) in BAD.items()
    }
    results = run({**cases, "no queue": Case(["plan"])}, NAMES)
    usage = results.pop("no queue")
    assert (usage.exit, "scrapy plan [options] <queue>" in usage.out) == (2, True)
    assert results == {
        name: Result(code, "", f"scrapy plan: {text.format(here=tmp_path)}\n")
        for name, (_, _, code, text) in BAD.items()
    }


def test_a_gz_queue_and_the_standard_names_work(tmp_path: Path) -> None:
    (tmp_path / "queue.gz").write_bytes(gzip.compress(b"http://a.test/\r\nhttp://b.test/\r\n"))
    result = plan(f"{tmp_path}/queue.gz", "--store", f"{tmp_path}/store", "--json")
    assert json.loads(result.out)["lines"]["entries"] == 2


DURATIONS = {
    0: "0 s", 0.04: "0 s", 1.25: "1.2 s", 119.94: "119.9 s", 120: "2 min", 125.4: "2 min 5 s", 7199: "119 min 59 s",
    7200: "2 h", 7260: "2 h 1 min", 172_799: "48 h", 172_800: "2 d", 180_000: "2 d 2 h",
}  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.items(), ids=map(str, DURATIONS))
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
