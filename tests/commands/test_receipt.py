"""`scrapy receipt`: what the servers saw is what the site owner is told; nobody is asked, nothing is written.

Two runs into one store, hosts with a trouble each, a crawl that is killed in a request, and stores with single edits
that a receipt has to tell, or to refuse.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.commands.receipt import make_receipt
from seaspider.core.times import NS_PER_S, parse_rfc3339_ms, rfc3339_ms
from seaspider.errors import UsageFault
from seaspider.loopback import Answer, Arrival, Fault, LoopbackWeb, demosite
from seaspider.loopback.judge import Key, min_gaps_ns
from seaspider.receipt.receipt import host_named
from seaspider.receipt.report import as_object
from seaspider.receipt.text import as_text
from tests.commands.many import Case, Result, run
from tests.crawling import crawl

LINES, COLUMNS = 60, 100
KEYS = [
    "given", "host", "known", "names_at", "runs", "requests", "asked", "pages", "not_asked", "urls", "robots", "gaps",
    "longest_pause", "slowed", "forbidden", "skipped_lines", "visits_begun", "ends_without_beginning", "leave_alone",
]  # fmt: skip

OK = Answer(headers=(("Content-Type", "text/plain"),), body="a page\n")
NAMES = {
    "push.test": "127.0.31.1",
    "after.test": "127.0.31.2",
    "later.test": "127.0.31.3",
    "shut.test": "127.0.31.4",
    "cold.test": "127.0.31.5",
    "change.test": "127.0.31.6",
    "way.test": "127.0.31.7",
    "goal.test": "127.0.31.8",
    "one.test": "127.0.31.9",
    "two.test": "127.0.31.9",
    "lost.test": "127.0.31.10",
    "xn--bcher-kva.test": "127.0.31.11",
}
SITES = {
    "push.test/1": (Answer(503), Answer(fault=Fault.RESET), OK),
    "after.test/1": (Answer(429, (("Retry-After", "1"),)), OK),
    "later.test/1": Answer(503, (("Retry-After", "86400"),)),
    "shut.test/1": Answer(403),
    "cold.test/robots.txt": Answer(fault=Fault.HANG),
    "change.test/robots.txt": (
        Answer(body="User-agent: *\nCrawl-delay: 0.2\nDisallow: /no\n"),
        Answer(body="User-agent: seaspider\nUser-agent: herring\nDisallow: /1\nAllow: /*/y\u00fc$\n"),
    ),
    "way.test/robots.txt": Answer(301, (("Location", "http://goal.test:{port}/robots.txt"),)),
    "way.test/1": Answer(302, (("Location", "http://goal.test:{port}/landing"),)),
    "way.test/2": Answer(302, (("Location", "http://goal.test:{port}/hidden"),)),
    "goal.test/robots.txt": Answer(body="User-agent: *\nDisallow: /hidden\n"),
    "lost.test/robots.txt": Answer(404),
    "/robots.txt": Answer(404),
    "/*": OK,
}
FIRST = [
    "push.test/1", "after.test/1", "later.test/1", "later.test/2", "shut.test/1", "shut.test/2", "cold.test/1",
    "change.test/1", "change.test/2", "change.test/no", "way.test/1", "way.test/2", "one.test/1", "two.test/1",
    "xn--bcher-kva.test/1",
]  # fmt: skip
SECOND = [*FIRST, "change.test/3", "change.test/x/y", "shut.test/3"]
SETTINGS = {
    "SEASPIDER_BACKOFF_BASE": 0.1,
    "SEASPIDER_BACKOFF_CAP": 5,
    "SEASPIDER_INTERVAL": 0.05,
    "DOWNLOAD_TIMEOUT": 0.6,
}


@dataclass(frozen=True)
class Seen:
    """Two crawls into one store, and what arrived at the servers."""

    store: Path
    arrivals: list[Arrival]
    port: int

    def url(self, place: str) -> str:
        host, _, path = place.partition("/")
        return f"http://{host}:{self.port}/{path}"

    def of(self, host: str) -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.name == host]

    def found(self, host: str) -> dict[str, Any]:
        return as_object(make_receipt(host, str(self.store)))

    def text(self, host: str) -> str:
        return as_text(make_receipt(host, str(self.store)))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("two-runs")
    with LoopbackWeb(SITES, names=NAMES) as web:
        for places, contact in ((FIRST, "https://old.example/"), (SECOND, "mail@new.example")):
            urls = [web.url(host, f"/{path}") for host, _, path in (place.partition("/") for place in places)]
            ended = crawl(urls, folder, names=NAMES, settings={**SETTINGS, "SEASPIDER_CONTACT": contact})
            assert ended.exit == 3, ended.log
            edit(ended.store, "robots", robots_are_over)
        yield Seen(folder / "store", web.arrivals, web.port)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    names = demosite.resolve()
    with LoopbackWeb(demosite.sites(), names=names) as web:
        (folder / "queue.txt").write_text(demosite.queue_text(web.port))
        networks = ",".join(demosite.ALLOWED_NETWORKS)
        crawl(folder / "queue.txt", folder, names=names, settings={"SEASPIDER_ALLOWED_NETWORKS": networks})
    return folder / "store"


def edit(store: Path, file: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Changes the lines of a file, as records, in place."""
    path = store / f"{file}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def robots_are_over(rows: list[dict[str, Any]]) -> None:
    """As if a day had passed: the next run looks at every robots.txt again."""
    for row in rows:
        row["expires_at"] = rfc3339_ms(parse_rfc3339_ms(row["fetched_at"]) + 1)


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def receipts(store: Path, *args: list[str]) -> list[Result]:
    cases = {str(number): Case(["receipt", "--store", str(store), *each]) for number, each in enumerate(args)}
    return list(run(cases).values())


# --- the page ---

GOLDEN = """\
Receipt for harbour.test

This is all that a program called Seaspider asked of harbour.test, by the records of this crawl.
Seaspider downloads a list of pages: one request at a time, with a pause after each, and only what a
site's robots.txt allows. Times are UTC. Whether the records hold together: scrapy verify.
(Looked up was the host of 'HTTP://Harbour.test.:80/x'.)

Asked        4 requests in 1 run of the program: 1 for robots.txt, 3 pages
             the first at TIME, the last at TIME
             answers: 200 (4); 1,816 bytes in all
By           User-Agent: seaspider/0.1.0 (+https://seaspider.invalid/loopback)
             name in robots.txt: seaspider; contact: https://seaspider.invalid/loopback
             Seaspider VERSION, Scrapy VERSION, Python VERSION
Address      127.0.0.11 (4 requests)
Requests     TIME  200  http://harbour.test:PORT/robots.txt
             TIME  200  http://harbour.test:PORT/
             TIME  200  http://harbour.test:PORT/charts
             TIME  200  http://harbour.test:PORT/private/tides
Pages        3 answered and kept, 1 forbidden by robots.txt
robots.txt   http://harbour.test:PORT/robots.txt, looked at once:
             TIME, used until TIME: status 200, 56 bytes
                sha256 dafe66e91f449589635d3452e331b8a8e4e239efccf3c33ae709bef89bf557fa
                rules for seaspider: those for everyone (*); no crawl-delay
                line 2: Disallow: /private/
                line 3: Allow: /private/tides
Not asked    1 page: robots.txt forbids it
                this is http://harbour.test:PORT/private/log-book (Disallow: /private/)
Pauses       shortest gap between requests to this site and its address: GAP, due 0 s (of 3)
             no two requests were nearer than the pause that was due after the first of them
             longest pause due after a request: 0 s (the usual pause of this program)

To be left alone, put these two lines into http://harbour.test:PORT/robots.txt:
    User-agent: seaspider
    Disallow: /
They concern this program only. It uses a robots.txt for 24 h at most; then it looks again, and asks
for no page any more. To be asked more slowly instead, add a line such as "Crawl-delay: 30"
(seconds) to the rules that apply to it. Or write to https://seaspider.invalid/loopback.
"""


def steady(text: str) -> str:
    """The text without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"(Seaspider|Scrapy|Python) \d[\w.]*", r"\1 VERSION", text)
    return re.sub(r"\d+\.\d{3} s", "GAP", re.sub(r"\.test:\d{4,5}\b", ".test:PORT", text))


def test_it_is_one_page_for_people(demo: Path) -> None:
    before = snapshot(demo)
    [result] = receipts(demo, ["HTTP://Harbour.test.:80/x"])
    assert (result.exit, result.err, steady(result.out)) == (0, "", GOLDEN)
    assert snapshot(demo) == before


DEMO = {
    "customs.test": ("1 page: the site had answered 403 (forbidden) to a page, not before TIME", "403"),
    "fog.test": ("TIME, used until TIME: status 503 (http-5xx): not to be had, nothing allowed", "503"),
    "iceberg.test": ("robots.txt asks for a longer pause than this program was told to wait: 600 s", "200"),
    "lagoon.test": ("1 of them came by redirect from another site, as from http://ferry.test:PORT/boarding", "200"),
    "lighthouse.test": ("rules for seaspider: those for everyone (*); crawl-delay 1 s; nothing forbidden", "200"),
    "reef.test": ("this is http://reef.test:PORT/treasure/map (Disallow: /treasure/)", "200"),
}


@pytest.mark.parametrize(("host", "said"), DEMO.items(), ids=DEMO)
def test_each_host_of_the_demo_is_told_its_own_story(host: str, said: tuple[str, str], demo: Path) -> None:
    receipt = make_receipt(host, str(demo))
    text = as_text(receipt)
    sentence, status = said
    assert sentence in re.sub(r"\s+", " ", steady(text))
    assert status in as_object(receipt)["requests"]["statuses"]
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS


def test_of_a_host_that_was_not_asked_it_says_so(demo: Path) -> None:
    known, unknown = receipts(demo, ["siren.test"], ["open.test"])
    assert (known.exit, unknown.exit, known.err, unknown.err) == (0, 3, "", "")
    assert "Nothing was asked of siren.test" in known.out
    assert "1 page: its address is not a public one" in known.out
    assert "Nothing was asked of open.test by a program called Seaspider: the records of this crawl do not" in (
        unknown.out
    )
    assert "    User-agent: seaspider\n    Disallow: /\n" in unknown.out


# --- what the servers saw ---


@pytest.mark.parametrize("host", NAMES)
def test_the_requests_are_those_that_arrived(host: str, seen: Seen) -> None:
    found = seen.found(host)
    assert list(found) == KEYS
    asked = [each["url"] for each in found["asked"]]
    assert asked == [seen.url(f"{host}{arrival.target}") for arrival in seen.of(host)]
    requests = found["requests"]
    assert (requests["total"], requests["robots"], requests["page"]) == (
        len(asked),
        sum(url.endswith("/robots.txt") for url in asked),
        sum(not url.endswith("/robots.txt") for url in asked),
    )
    assert requests["addresses"] == ({NAMES[host]: len(asked)} if asked else {})
    shortest_s = found["gaps"]["host"]["shortest_s"]
    server_ns = min_gaps_ns(seen.of(host), Key.HOST).get(host)
    assert (shortest_s is None) == (server_ns is None)
    assert server_ns is None or server_ns >= shortest_s * NS_PER_S >= found["gaps"]["host"]["due_s"] * NS_PER_S
    text = seen.text(host)
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert text.isascii()
    assert str(seen.store.parent) not in text + json.dumps(found)  # what the crawl's owner keeps where


def test_two_runs_and_who_they_were(seen: Seen) -> None:
    found = seen.found("change.test")
    assert [(each["run"], each["contact"], each["reason"]) for each in found["runs"]] == [
        (1, "https://old.example/", "finished"),
        (2, "mail@new.example", "finished"),
    ]
    assert {each["run"] for each in found["asked"]} == {1, 2}
    assert found["leave_alone"]["contact"] == "mail@new.example"
    text = seen.text("change.test")
    assert "requests in 2 runs of the program" in text
    assert text.index("(+mail@new.example)") < text.index("(+https://old.example/)")
    assert text.endswith("Or write to mail@new.example.")


def test_each_robots_txt_is_quoted_with_its_group(seen: Seen) -> None:
    found = seen.found("change.test")
    [origin] = found["robots"]
    assert origin["origin"] == seen.url("change.test/").rstrip("/")
    old, new = origin["records"][0], origin["records"][-1]
    assert (old["group"], old["crawl_delay_s"], old["rules"]) == ("*", 0.2, [{"line": 3, "text": "Disallow: /no"}])
    assert (new["group"], new["crawl_delay_s"], new["body"]) == ("seaspider", None, "kept")
    assert [rule["text"] for rule in new["rules"]] == ["Disallow: /1", "Allow: /*/y\u00fc$"]
    text = seen.text("change.test")
    assert f"sha256 {old['sha256']}" in text
    assert f"sha256 {new['sha256']}" in text
    assert "rules for seaspider: those for seaspider; no crawl-delay\n" in text
    assert "   line 4: Allow: /*/y\\xfc$\n" in text
    assert found["longest_pause"]["pause_s"] == 0.2
    assert found["longest_pause"]["pause_basis"] == "crawl-delay"
    assert found["not_asked"] == {"disallowed/robots-rule": 1}


def test_back_offs_are_told_with_what_came_next(seen: Seen) -> None:
    found = seen.found("push.test")
    assert [(each["status"], each["error"], each["pause_s"], each["pause_basis"]) for each in found["slowed"]] == [
        (503, None, 0.2, "backoff"),
        (None, "reset", 0.4, "backoff"),
    ]
    assert all(each["next_gap_s"] >= each["pause_s"] for each in found["slowed"])
    assert found["requests"]["errors"] == {"reset": 1}
    text = steady(seen.text("push.test"))
    assert "Slowed down  TIME  503: pause 0.2 s, next request GAP later\n" in text
    assert "             TIME  connection reset: pause 0.4 s, next request GAP later\n" in text
    assert "longest pause due after a request: 0.4 s (the site had trouble or pushed back)" in text


def test_a_retry_after_is_told_with_what_came_next(seen: Seen) -> None:
    [waited] = seen.found("after.test")["slowed"]
    assert (waited["retry_after"], waited["pause_s"], waited["pause_basis"]) == ("1", 1.0, "retry-after")
    assert waited["next_gap_s"] >= 1
    later = seen.found("later.test")
    assert (later["pages"], later["not_asked"]) == ({"deferred/retry-after": 2}, {"deferred/retry-after": 1})
    assert "503, Retry-After: 86400: pause 0.2 s, not asked again since" in seen.text("later.test")


def test_a_403_and_that_nothing_followed(seen: Seen) -> None:
    found = seen.found("shut.test")
    [forbidden] = found["forbidden"]
    assert (forbidden["url"], forbidden["stops"], forbidden["next_page_at"]) == (seen.url("shut.test/1"), True, None)
    assert found["pages"] == {"blocked/forbidden": 2, "stored": 1}
    assert found["not_asked"] == {"blocked/forbidden": 2}
    assert "After a 403  TIME: no page was asked for since\n" in steady(seen.text("shut.test"))


def test_an_unreachable_robots_txt_of_two_runs(seen: Seen) -> None:
    records = seen.found("cold.test")["robots"][0]["records"]
    assert {(each["state"], each["reason"], each["rules"]) for each in records} == {("unreachable", "timeout", None)}
    assert len(records) == len(seen.of("cold.test"))
    assert "no answer (no answer in time): not to be had, nothing allowed" in re.sub(
        r"\s+", " ", seen.text("cold.test")
    )


def test_what_came_by_redirect(seen: Seen) -> None:
    found = seen.found("goal.test")
    landing = [each for each in found["asked"] if each["url"].endswith("/landing")]
    assert [each["came_from"] for each in landing] == [seen.url("way.test/1")]
    robots_for_way = len([arrival for arrival in seen.of("way.test") if arrival.target == "/robots.txt"])
    assert found["requests"]["redirected_here"] == 1 + robots_for_way
    assert found["not_asked"] == {"disallowed/robots-rule": 1}
    assert [(page["url"], page["own"]) for page in found["urls"]] == [
        (seen.url("way.test/1"), False),
        (seen.url("way.test/2"), False),
    ]
    assert seen.found("way.test")["requests"]["redirected_here"] == 0


def test_the_address_is_shared(seen: Seen) -> None:
    found = seen.found("one.test")
    shared = found["gaps"]["addresses"]["127.0.31.9"]
    assert shared["measured"] == len(seen.of("one.test")) + len(seen.of("two.test")) - 1
    assert shared["measured"] > found["gaps"]["host"]["measured"]
    assert shared["below_pause"] == 0
    assert "shortest gap between requests to 127.0.31.9, with all sites there: " in seen.text("one.test")


# --- edited stores ---


@pytest.fixture
def copy(seen: Seen, tmp_path: Path) -> Path:
    shutil.copytree(seen.store, tmp_path / "copy")
    return tmp_path / "copy"


def lines_of(store: Path, host: str) -> list[int]:
    """The places of a host's claims in requests.jsonl, from 0."""
    rows = map(json.loads, (store / "requests.jsonl").read_text().splitlines())
    return [place for place, row in enumerate(rows) if row["event"] == "claim" and row["host"] == host]


def told(store: Path, host: str) -> tuple[dict[str, Any], str]:
    receipt = make_receipt(host, str(store))
    return as_object(receipt), as_text(receipt)


def test_a_gap_below_its_pause_is_not_hidden(copy: Path) -> None:
    first, second = lines_of(copy, "push.test")[1:3]

    def nearer(rows: list[dict[str, Any]]) -> None:
        rows[second]["claimed_ns"] = rows[first + 1]["ended_ns"] + NS_PER_S // 5 - 1

    assert told(copy, "push.test")[0]["gaps"]["host"]["below_pause"] == 0
    edit(copy, "requests", nearer)
    found, text = told(copy, "push.test")
    assert found["gaps"]["host"]["below_pause"] == 1
    assert "(of 3, 1 NEARER than due)" in re.sub(r"\s+", " ", text)
    assert "some requests were NEARER than the pause that was due: that must not be\n" in text
    assert "no two requests" not in text


def test_another_boot_is_not_measured_across(copy: Path) -> None:
    edit(copy, "manifest", lambda rows: rows[2].update(boot_id="another"))
    found, text = told(copy, "change.test")
    gaps = found["gaps"]["host"]
    assert (gaps["other_boot"], gaps["measured"]) == (1, found["requests"]["total"] - 2)
    assert "not measured: 1 gap across a restart of the machine, 0 after a request without" in text


def test_a_request_without_an_end_counts(copy: Path) -> None:
    before, _ = told(copy, "push.test")
    place = lines_of(copy, "push.test")[1]
    edit(copy, "requests", lambda rows: rows.pop(place + 1))
    found, text = told(copy, "push.test")
    assert (found["requests"]["total"], found["requests"]["no_end"]) == (before["requests"]["total"], 1)
    assert (found["gaps"]["host"]["no_end"], found["asked"][1]["status"], found["asked"][1]["sent"]) == (1, None, True)
    assert "1 of them without a recorded end: the program was stopped in it, or is still at it" in text
    assert "  end not recorded  " in text


def test_an_end_without_a_beginning_is_told(copy: Path) -> None:
    place = lines_of(copy, "push.test")[1]
    edit(copy, "requests", lambda rows: rows.pop(place))
    found, text = told(copy, "change.test")
    assert found["ends_without_beginning"] == 1
    assert "1 record of requests cannot be assigned: see scrapy verify" in text


@pytest.mark.parametrize("lost", ["missing", "changed"])
def test_rules_that_are_lost_are_not_guessed(lost: str, copy: Path) -> None:
    sha256 = told(copy, "change.test")[0]["robots"][0]["records"][0]["sha256"]
    body = copy / "bodies" / sha256[:2] / sha256
    body.unlink()
    if lost == "changed":
        body.write_text("User-agent: *\nDisallow:\n")
    found, text = told(copy, "change.test")
    record = found["robots"][0]["records"][0]
    assert (record["body"], record["group"], record["rules"], record["sha256"]) == (lost, None, [], sha256)
    words = {"missing": "is missing", "changed": "was changed"}[lost]
    assert f"its copy {words} in the records, so its rules cannot be quoted" in text


def test_a_crawl_is_at_work_in_it(copy: Path) -> None:
    """Locked, its last lines half written, and a run begun that the manifest did not tell of when it was read."""
    before = told(copy, "push.test")
    place = lines_of(copy, "push.test")[1]
    claim = json.loads((copy / "requests.jsonl").read_text().splitlines()[place])
    with (copy / "requests.jsonl").open("a") as requests:
        requests.write(json.dumps({**claim, "run": 3, "n": 1}) + "\n" + json.dumps(claim)[:-5])
    with (copy / "pages.jsonl").open("a") as pages:
        pages.write('{"v":1,')
    lock = os.open(copy / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    files = snapshot(copy)
    try:
        assert told(copy, "push.test") == before
    finally:
        os.close(lock)
    assert snapshot(copy) == files


def test_much_of_everything_still_is_one_page(copy: Path) -> None:
    """More origins, rules, addresses, identities and refusals than a page holds: summed up, and all in the object."""
    port, host = 8000, "change.test"
    body = "User-agent: *\n" + "".join(f"Disallow: /{'long' * 40}{n}\n" for n in range(40))
    place = lines_of(copy, host)[1]
    pages = [json.loads(line) for line in (copy / "pages.jsonl").read_text().splitlines()]
    refused = next(page for page in pages if page["outcome"] == "disallowed" and host in page["url"])
    reasons = [
        ("deferred", "budget"), ("deferred", "backoff"), ("deferred", "crawl-delay"),
        ("deferred", "robots-unreachable"),
        ("blocked", "forbidden"), ("failed", "dns"), ("refused", "special-address"), ("refused", "redirect-loop"),
    ]  # fmt: skip

    def more_requests(rows: list[dict[str, Any]]) -> None:
        claim, settle = rows[place : place + 2]
        for n in range(1, 101):
            ip, url = f"192.0.2.{n % 30}", f"http://{host}:{port + n}/{'x' * 200}{n}"
            clock = {"claimed_ns": rows[-1]["ended_ns"] + n}
            rows.append({**claim, **clock, "run": 2, "n": 1000 + n, "url": url, "ip": ip, "visit": None})
            answer = {"status": (403, 429, None)[n % 3], "error": None if n % 3 < 2 else "reset"}
            clock = {"ended_ns": clock["claimed_ns"] + 5, "sent_ns": None}
            slow = {"headers": [["Retry-After", "\u00fc" * 200]], "pause_basis": "backoff", "pause_s": 0.5}
            rows.append({**settle, **answer, **clock, **slow, "run": 2, "n": 1000 + n})

    def more_robots(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["origin"].startswith(f"http://{host}"))
        rows += [{**row, "run": 2, "origin": f"http://{host}:{port + n}"} for n in range(50) for _ in range(9)]
        (copy / "bodies" / row["sha256"][:2] / row["sha256"]).write_text(body)

    def more_pages(rows: list[dict[str, Any]]) -> None:
        for n, (outcome, reason) in enumerate(reasons * 5):
            url = f"http://{host}/{'y' * 200}/{n}"
            hop = {**refused["chain"][0], "url": url}
            rows.append({**refused, "url": url, "chain": [hop], "outcome": outcome, "reason": reason})

    edit(copy, "requests", more_requests)
    edit(copy, "robots", more_robots)
    edit(copy, "pages", more_pages)
    edit(copy, "manifest", lambda rows: rows[2]["settings"].update(user_agent="a" * 300, contact="b" * 300))
    found, text = told(copy, host)
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert text.isascii()
    assert len(found["asked"]) > 100
    assert len(found["robots"]) == 51
    assert len(found["forbidden"]) == 33
    assert " more: see --json; the last is\n" in text


def test_a_host_that_was_only_named(copy: Path) -> None:
    """A visit of it began, and nothing was asked yet."""

    def without_it(rows: list[dict[str, Any]]) -> None:
        gone = {(row["run"], row["n"]) for row in rows if row.get("host") == "push.test"}
        rows[:] = [row for row in rows if "push.test" not in json.dumps(row) and (row["run"], row.get("n")) not in gone]

    for file in ("requests", "pages", "robots", "skipped"):
        edit(copy, file, without_it)
    found, text = told(copy, "push.test")
    assert (found["known"], found["visits_begun"], found["requests"]["total"], found["urls"]) == (True, 1, 0, [])
    assert "Pages        the list names pages of it, but none had its turn yet\n" in text
    edit(copy, "intents", without_it)
    assert told(copy, "push.test")[0]["known"] is False


# --- told to go on after a 403; killed in a request ---


def test_a_run_that_was_told_to_go_on_after_a_403(tmp_path: Path, web_factory: Callable[..., LoopbackWeb]) -> None:
    sites = {"a.test/robots.txt": Answer(404), "a.test/1": Answer(403), "a.test/2": OK}
    web = web_factory(sites, names={"a.test": "127.0.31.21"})
    urls = [web.url("a.test", "/1"), web.url("a.test", "/2")]
    assert crawl(urls, tmp_path, names=web.names, settings={"SEASPIDER_STOP_ON_403": False}).exit == 0
    found, text = told(tmp_path / "store", "a.test")
    [forbidden] = found["forbidden"]
    assert (forbidden["stops"], forbidden["next_page_at"]) == (False, found["asked"][2]["claimed_at"])
    assert "After a 403  TIME: next page asked for at TIME, as the program was told to go on\n" in steady(text)


KILLED = """
import os
from seaspider import faultpoints
_times = []
def reached(point):
    if point == "before send":
        _times.append(point)
        if len(_times) == 2:
            os._exit(9)
faultpoints.reached = reached
"""


def test_a_run_that_was_killed_in_a_request(tmp_path: Path, web_factory: Callable[..., LoopbackWeb]) -> None:
    web = web_factory({"a.test/robots.txt": Answer(404), "a.test/*": OK}, names={"a.test": "127.0.31.20"})
    urls = [web.url("a.test", "/1")]
    assert crawl(urls, tmp_path, names=web.names, sabotage=KILLED).exit == 9
    store = tmp_path / "store"
    found, text = told(store, "a.test")
    assert [(each["kind"], each["ended_at"] is None) for each in found["asked"]] == [("robots", False), ("page", True)]
    assert (found["runs"][0]["ended_at"], found["runs"][0]["reason"], found["pages"]) == (None, None, {})
    assert "1 of them without a recorded end: the program was stopped in it" in text
    # A ledger of its own: no need to wait until what the killed process held is free.
    again = crawl(urls, tmp_path, names=web.names, settings={"SEASPIDER_LEDGER": tmp_path / "other.sqlite3"})
    assert again.exit == 0, again.log
    found, text = told(store, "a.test")
    assert (found["requests"]["total"], found["requests"]["no_end"], found["pages"]) == (3, 1, {"stored": 1})
    assert (found["gaps"]["host"]["measured"], found["gaps"]["host"]["no_end"]) == (1, 1)
    assert "not measured: 0 gaps across a restart of the machine, 1 after a request without" in text


# --- HOST, and what cannot be read ---

HOSTS = {
    "a.test": "a.test",
    " A.Test. ": "a.test",
    "a.test:8080": "a.test",
    "http://a.test/x?y#z": "a.test",
    "https://A.test:8443": "a.test",
    "a.test/x": "a.test",
    "b\u00fccher.test": "xn--bcher-kva.test",
    "B\u00dcCHER.test": "xn--bcher-kva.test",
    "xn--bcher-kva.test": "xn--bcher-kva.test",
    "fa\u00df.test": "xn--fa-hia.test",
    "127.0.0.1": "127.0.0.1",
    "127.0.0.1:80": "127.0.0.1",
    "0x7f.1": "127.0.0.1",
    "::1": "::1",
    "[::1]": "::1",
    "[::1]:8080": "::1",
    "http://[2001:DB8:0::1]:8/": "2001:db8::1",
    "2001:DB8:0:0:0:0:0:1": "2001:db8::1",
}
NO_HOSTS = {
    "": "syntax",
    "a b": "host",
    "*": "host",
    "ftp://a.test/": "scheme",
    "me@a.test": "userinfo",
    "a.test:99999": "port",
    "a..test": "host",
    "fe80::1%eth0": "host",
    "http:///": "syntax",
    "\udcff.test": "encoding",
}


@pytest.mark.parametrize(("given", "host"), HOSTS.items(), ids=map(ascii, HOSTS))
def test_a_host_is_read_in_any_spelling(given: str, host: str) -> None:
    assert host_named(given) == host


@pytest.mark.parametrize(("given", "reason"), NO_HOSTS.items(), ids=map(ascii, NO_HOSTS))
def test_what_is_no_host_is_refused(given: str, reason: str) -> None:
    with pytest.raises(UsageFault, match="is no host name, address or URL") as error:
        host_named(given)
    assert str(error.value) == f"HOST {given!r}: is no host name, address or URL ({reason})"


def test_another_spelling_finds_the_same(seen: Seen) -> None:
    found = {**seen.found("xn--bcher-kva.test"), "given": "B\u00fccher.test:99"}
    assert seen.found("B\u00fccher.test:99") == found
    assert found["requests"]["total"] == len(seen.of("xn--bcher-kva.test")) > 0
    assert "(Looked up was the host of 'B\\xfccher.test:99'.)" in seen.text("B\u00fccher.test:99")


EDITS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], object], str]] = {
    "format": ("requests", lambda rows: rows[0].update(v=2), "1: format 2; this version of Seaspider reads format 1"),
    "no host": ("requests", lambda rows: rows[2].pop("host"), "3: no 'host'"),
    "pause": (
        "requests",
        lambda rows: [row.update(pause_s=float("nan")) for row in rows if "pause_s" in row],
        ": 'pause_s' is nan, no duration",
    ),
    "unknown run": ("requests", lambda rows: rows[0].update(run=0), "1: run 0 is not in manifest.jsonl"),
    "outcome": (
        "pages",
        lambda rows: [row.update(outcome="eaten") for row in rows],
        ": 'eaten' is not a valid Outcome",
    ),
    "no chain": ("pages", lambda rows: [row.update(chain=[]) for row in rows], ": an empty 'chain'"),
    "chain": ("pages", lambda rows: rows[3].update(chain=["x"]), "4: 'chain' has what is no object"),
    "state": ("robots", lambda rows: [row.update(state="so") for row in rows], "'so' is not a valid RobotsState"),
    "digest": (
        "robots",
        lambda rows: [row.update(sha256="/dev/zero") for row in rows if row["sha256"]],
        ": 'sha256' is '/dev/zero', no digest",
    ),
    "settings": ("manifest", lambda rows: rows[0]["settings"].pop("token"), "1: no 'token'"),
}


@pytest.mark.parametrize(("file", "change", "why"), EDITS.values(), ids=EDITS)
def test_a_line_that_cannot_be_read_is_named(
    file: str, change: Callable[[list[dict[str, Any]]], object], why: str, copy: Path
) -> None:
    edit(copy, file, change)
    with pytest.raises(UsageFault) as error:
        make_receipt("change.test", str(copy))
    assert str(error.value).startswith(f"{copy}/{file}.jsonl:")
    assert why in str(error.value)


def test_bad_input_is_one_line(seen: Seen, copy: Path, tmp_path: Path) -> None:
    with (copy / "pages.jsonl").open("a") as pages:
        pages.write("what\n")
    number = len((copy / "pages.jsonl").read_text().splitlines())
    bad = {
        "no store": (
            ["a.test", "--store", f"{tmp_path}/none"],
            f"{tmp_path}/none: is no store: it has no manifest.jsonl",
        ),
        "no folder": (["a.test", "--store", ""], "option --store: must name a folder"),
        "host": (["a b", "--store", str(copy)], "HOST 'a b': is no host name, address or URL (host)"),
        "line": (["a.test", "--store", str(copy)], f"{copy}/pages.jsonl:{number}: not a JSON line: b'what\\n'"),
    }
    cases = {name: Case(["receipt", *args]) for name, (args, _) in bad.items()}
    results = run(
        {
            **cases,
            "no host": Case(["receipt"]),
            "json": Case(["receipt", "--json", "push.test", "--store", str(seen.store)]),
        }
    )
    usage, found = results.pop("no host"), results.pop("json")
    assert (usage.exit, "scrapy receipt [options] <host>" in usage.out) == (2, True)
    assert (found.exit, found.err, json.loads(found.out)) == (0, "", seen.found("push.test"))
    assert results == {name: Result(2, "", f"scrapy receipt: {text}\n") for name, (_, text) in bad.items()}


# --- a large store ---


def grown(seen: Seen, folder: Path, times: int) -> Path:
    """The store with a host more, and with so many times the requests, pages and robots.txt of others."""
    folder.mkdir()
    for file in ("manifest", "skipped"):
        (folder / f"{file}.jsonl").write_text((seen.store / f"{file}.jsonl").read_text())
    for file in ("requests", "pages", "robots", "intents"):
        text = (seen.store / f"{file}.jsonl").read_text()
        with (folder / f"{file}.jsonl").open("w") as out:
            out.write(text)
            for number in range(times):
                out.write(text.replace(".test", f"-{number}.test").replace('"127.0.31.', f'"10.{number % 256}.1.'))
    return folder


def test_memory_does_not_grow_with_the_other_hosts(seen: Seen, tmp_path: Path) -> None:
    peaks = []
    for times in (20, 200):
        store = grown(seen, tmp_path / str(times), times)
        tracemalloc.start()
        found = as_object(make_receipt("push.test", str(store)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found == seen.found("push.test")
    assert peaks[1] < peaks[0] * 1.2


def test_of_an_address_it_says_which_names_were_asked_there(demo: Path) -> None:
    [text, found] = receipts(demo, ["127.0.0.11"], ["127.0.0.11", "--json"])
    assert (text.exit, json.loads(found.out)["names_at"]) == (0, ["harbour.test"])
    assert "But this address was asked for pages of harbour.test: ask for the receipt of each." in text.out
