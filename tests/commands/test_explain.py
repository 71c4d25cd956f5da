"""`scrapy explain`: why a URL was fetched or not, from the store alone; nobody is asked and nothing is changed."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seaspider.commands.explain import _moment
from seaspider.commands.words import ending_in_words
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms
from seaspider.core.urls import normalise
from seaspider.core.visits import Hop
from seaspider.errors import StoreError, UsageFault
from seaspider.explain import evidence, judgement
from seaspider.explain.explanation import explain
from seaspider.explain.report import as_object, as_text
from seaspider.loopback import Answer, LoopbackWeb, demosite
from seaspider.storereader import StoreReader
from tests.commands.many import Case, run
from tests.crawling import Ended, crawl

Record = dict[str, Any]
DAY_MS = 86_400_000


class Crawled(NamedTuple):
    store: Path
    port: int
    ended: Ended

    def url(self, place: str) -> str:
        """`harbour.test/charts` with scheme and port; a text that has a scheme stays, `{port}` filled in."""
        if ":" in place:
            return place.replace("{port}", str(self.port))
        host, slash, path = place.partition("/")
        return f"http://{host}:{self.port}{slash}{path}"

    def plain(self, text: str) -> str:
        return text.replace(f":{self.port}", "")

    def explain(self, place: str, at: str | None = None, *, store: Path | None = None) -> Record:
        return as_object(self._explain(place, at, store))

    def text(self, place: str, at: str | None = None, *, store: Path | None = None) -> str:
        return self.plain(as_text(self._explain(place, at, store)))

    def _explain(self, place: str, at: str | None, store: Path | None) -> Any:
        at_ms = parse_rfc3339_ms(at) if at else parse_rfc3339_ms(self.now)
        return explain(StoreReader(store or self.store), self.url(place), at, at_ms)

    @property
    def now(self) -> str:
        """A moment after the last run."""
        return self.ended.records("manifest")[-1]["ended_at"]

    def edited(self, folder: Path, file: str, edit: Callable[[Record], Record | None]) -> Path:
        """A copy of the store with each line of a file as `edit` gives it back; None: without it."""
        store = folder / "edited"
        if not store.exists():
            shutil.copytree(self.store, store)
        path = store / f"{file}.jsonl"
        rows = [edit(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows if row is not None))
        return store


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """The demo web, crawled twice with the same queue."""
    folder, names = tmp_path_factory.mktemp("demo"), demosite.resolve()
    settings = {"SEASPIDER_ALLOWED_NETWORKS": ",".join(demosite.ALLOWED_NETWORKS)}
    with LoopbackWeb(demosite.sites(), names=names) as web:
        queue = folder / "queue.txt"
        queue.write_text(demosite.queue_text(web.port))
        for _ in range(2):
            ended = crawl(queue, folder, names=names, settings=settings)
        yield Crawled(folder / "store", web.port, ended)


NAMES = {name: f"127.0.9.{number}" for number, name in enumerate(
    ("walk.test", "busy.test", "sick.test", "loop.test", "fog.test", "wit.test", "gone.test", "cut.test"), 1
)}  # fmt: skip
HTML = (("Content-Type", "text/html"),)
SITES = {
    "walk.test/": Answer(
        headers=HTML,
        body='<a href="/a">a</a> <a href="/b" rel=nofollow>b</a> <a href="/a#x">a</a> <a href="http://fog.test/">f</a>',
    ),
    "walk.test/a": Answer(headers=HTML, body='<a href="/deep">d</a> <a href="/b">b</a>'),
    "busy.test/": Answer(429, (("Retry-After", "9000"),)),
    "sick.test/": Answer(500),
    "loop.test/": Answer(302, (("Location", "/"),)),
    "fog.test/robots.txt": Answer(503),
    "wit.test/robots.txt": Answer(body="User-agent: *\nDisallow: /x$\n"),
    "/robots.txt": Answer(404),
    "/*": Answer(),
}
SEA = ["walk.test/", "busy.test/", "busy.test/2", "sick.test/", "loop.test/", "fog.test/", "wit.test/x$"]


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Hosts in all kinds of trouble, one of them followed."""
    folder = tmp_path_factory.mktemp("sea")
    settings = {"SEASPIDER_GIVE_UP": 1, "SEASPIDER_FOLLOW": "host", "SEASPIDER_BACKOFF_BASE": 0.001}
    with LoopbackWeb(SITES, names=NAMES) as web:
        crawled = Crawled(folder / "store", web.port, Ended(0, "", "", folder / "store"))
        ended = crawl([crawled.url(place) for place in SEA], folder, names=NAMES, settings=settings)
        assert ended.exit == 3, ended.log
        yield crawled._replace(ended=ended)


# --- each line of the demo queue ---

FORBIDDEN = 'robots.txt forbids it (line 2 "Disallow: /{}/", in the group for everyone).'
# Of lines that do not just say that they were fetched: what follows in the same words.
SUMMARIES = {
    "iceberg.test/": "Not fetched: robots.txt asks for 600 s between requests, and the cap is 60 s: a crawl defers it "
    "(SEASPIDER_CRAWL_DELAY_CAP).",
    "fog.test/": "Not fetched: its robots.txt could not be had, so nothing is allowed; not before {not_before}.",
    "ferry.test/to-lagoon": "Fetched: it redirected to http://lagoon.test/beach, which answered 200.",
    "ferry.test/to-treasure": "Asked for: it redirected to http://reef.test/treasure/map, which was not fetched: "
    + FORBIDDEN.format("treasure"),
    "customs.test/declare": "Not fetched: the host answered 403 to http://customs.test/ ({forbidden}); "
    "not before {not_before}.",
    "harbour.test/private/log-book": "Not fetched: " + FORBIDDEN.format("private"),
    "atlantis.test/": "Not fetched: there is no such host.",
    "siren.test/": "Not fetched: its host has a special address, which is not asked (SEASPIDER_ALLOWED_NETWORKS).",
}
FINAL = "this record is final: only a crawl into another store asks again"
CHANGES = {
    "deferred/crawl-delay": [
        "only a higher SEASPIDER_CRAWL_DELAY_CAP of 600 or more (it was 60), or a shorter crawl-delay of the site"
    ],
    "deferred/robots-unreachable": ["run again after {iso}"],
    "blocked/forbidden": ["run again after {iso}"],
    "disallowed/robots-rule": ["the rule in line 2 of {origin}/robots.txt", FINAL],
    "failed/dns": ["the name of its host has to have an address", "run again with -a retry=failed"],
    "refused/special-address": ["SEASPIDER_ALLOWED_NETWORKS, to allow 169.254.169.254", FINAL],
    "stored/None": ["nothing: it is final"],
}


def minute(text: str) -> str:
    return text[:19].replace("T", " ") + " UTC"


@pytest.mark.parametrize("line", demosite.EXPECTED, ids=lambda line: f"{line.line}")
def test_each_line_of_the_demo_queue(line: demosite.Expected, demo: Crawled) -> None:
    found = demo.explain(line.text)
    if line.outcome == "rejected":
        assert (found["known"], found["url"]) == ("rejected", None)
        assert [(row["run"], row["line"], row["reason"]) for row in found["queue"]] == [
            (1, 28, "scheme"),
            (2, 28, "scheme"),
        ]
        return
    first = 3 if line.outcome == "duplicate" else line.line
    latest = found["visits"][-1]
    outcome, reason = ("stored", None) if line.outcome == "duplicate" else (line.outcome, line.reason)
    assert (found["known"], latest["line"]) == ("visited", first)
    assert (latest["outcome"], latest["reason"]) == (outcome, reason)
    final = outcome not in ("deferred", "blocked")
    # A final record is there once, and its line is done in the second run; the others have a record of each run.
    assert [visit["run"] for visit in found["visits"]] == ([1] if final else [1, 2])
    fates = [(row["run"], row["line"], row["fate"]) for row in found["queue"] if row["fate"] == "done"]
    assert fates == ([(2, first, "done")] if final else [])
    assert found["fetched"] == (latest["chain"][0]["status"] is not None)
    place = line.text.removeprefix("http://").replace(":{port}", "")
    values = {"origin": "http://reef.test" if "treasure" in place else f"http://{place.partition('/')[0]}"}
    if latest["not_before"]:
        values |= {"not_before": minute(latest["not_before"]), "iso": latest["not_before"]}
    if line.outcome == "blocked":
        values["forbidden"] = minute(demo.ended.page(demo.url("customs.test/"))["ended_at"])
    expected = SUMMARIES.get(place, f"Fetched: it answered {line.status or 200}.").format(**values)
    assert demo.plain(found["summary"]) == expected
    assert [demo.plain(each) for each in found["changes"]] == [
        each.format(**values) for each in CHANGES[f"{outcome}/{reason}"]
    ]


def test_another_spelling_is_said_to_be_one(demo: Crawled) -> None:
    given = demo.url("HTTP://Harbour.test:{port}/./#quay")
    found = demo.explain(given)
    assert (found["given"], found["url"]) == (given, demo.url("harbour.test/"))
    assert [(row["run"], row["line"], row["fate"], row["of"]) for row in found["queue"]] == [
        (1, 27, "duplicate", 3), (2, 3, "done", None), (2, 27, "duplicate", 3),
    ]  # fmt: skip
    assert "\ngiven as     HTTP://Harbour.test/./#quay\n" in demo.text(given)
    assert "given as" not in demo.text("harbour.test/")


def test_it_is_told_to_people(demo: Crawled) -> None:
    url = demo.url("lighthouse.test/keeper")
    page, (robots,) = (
        demo.ended.page(url),
        [row for row in demo.ended.records("robots") if "lighthouse" in row["origin"]],
    )
    claim = next(row for row in demo.ended.records("requests") if row.get("url") == url)
    assert (
        demo.text(url)
        == f"""\
http://lighthouse.test/keeper
Fetched: it answered 200.

queue        line 17, in run 1
queue        line 17, in run 2: it had a final record already, so it was not asked for
link         on http://lighthouse.test/ (link 1), in run 1: not followed (off)
run 1        visit 20: stored, {minute(page["ended_at"])}
hop 1        http://lighthouse.test/keeper at 127.0.0.12: 200
             allowed by robots.txt record {robots["id"]}, judged {minute(page["chain"][0]["judged_at"])}: \
no rule of the group for everyone speaks of it; crawl-delay 1 s
robots.txt   record {robots["id"]} of http://lighthouse.test: parsed (status 200)
             fetched {minute(robots["fetched_at"])}, in force until {minute(robots["expires_at"])}
             sha256 {robots["sha256"]}
request {claim["n"]:<4} http://lighthouse.test/keeper at 127.0.0.12, {minute(claim["claimed_at"])}: 200; \
then a pause of 1 s (crawl-delay)
to change    nothing: it is final"""
    )


KEYS = [
    "given", "store", "at", "known", "url", "summary", "fetched", "changes", "queue", "begun", "visits", "led_here",
    "links", "requests", "robots", "judgement", "unlisted",
]  # fmt: skip


def test_it_is_one_object_for_programs(demo: Crawled) -> None:
    found = demo.explain("ferry.test/to-treasure")
    assert list(found) == list(demo.explain("ftp://harbour.test/charts.zip")) == KEYS
    (visit,) = found["visits"]
    (page,) = [page for page in demo.ended.records("pages") if page["url"] == demo.url("ferry.test/to-treasure")]
    assert visit["chain"] == page["chain"]
    records = {row["id"]: row for row in demo.ended.records("robots")}
    ids = sorted(hop["robots_id"] for hop in page["chain"])
    for robots, number in zip(found["robots"], ids, strict=True):
        assert robots["body"] is True
        assert {key: records[number][key] for key in robots if key != "body"} == {
            key: value for key, value in robots.items() if key != "body"
        }
    rows = [row for row in demo.ended.records("requests") if row["run"] == 1]
    claims = [row for row in rows if row["event"] == "claim" and row["visit"] == visit["visit"]]
    settles = {row["n"]: row for row in rows if row["event"] == "settle"}
    assert [(each["n"], each["kind"], each["url"], each["judged_at"]) for each in found["requests"]] == [
        (claim["n"], claim["kind"], claim["url"], claim["judged_at"]) for claim in claims
    ]
    assert [(each["pause_s"], each["pause_basis"], each["status"], each["ended_at"]) for each in found["requests"]] == [
        (row["pause_s"], row["pause_basis"], row["status"], row["ended_at"])
        for row in (settles[c["n"]] for c in claims)
    ]


def test_a_record_that_was_kept_says_so(demo: Crawled) -> None:
    found = demo.explain("customs.test/declare")
    assert [visit["kept"] for visit in found["visits"]] == [False, True]
    assert "\nrun 2        visit 1: blocked/forbidden, " in demo.text("customs.test/declare")
    assert demo.text("customs.test/declare").count(": the same record again, without a request\n") == 1
    # A deferral that was decided anew, without a not_before, is not kept.
    assert [visit["kept"] for visit in demo.explain("iceberg.test/")["visits"]] == [False, False]


# --- what is no visit of its own ---

OTHERS = {
    "lagoon.test/beach": (
        "redirect",
        True,
        "Fetched: http://ferry.test/to-lagoon redirected to it, and it answered 200.",
    ),
    "reef.test/treasure/map": (
        "redirect",
        False,
        "Not fetched: http://ferry.test/to-treasure redirected to it, but " + FORBIDDEN.format("treasure"),
    ),
    "harbour.test/robots.txt": ("requested", True, "Fetched as a robots.txt, or on the way to one: it answered 200."),
    "fog.test/robots.txt": ("requested", True, "Fetched as a robots.txt, or on the way to one: it answered 503."),
    "harbour.test/fleet?sort=name&size=all": (
        "linked",
        False,
        "Not fetched: no visit of it is recorded; a link on http://harbour.test/ was not followed (off).",
    ),
}


@pytest.mark.parametrize(("place", "known"), OTHERS.items(), ids=OTHERS)
def test_urls_without_a_visit_of_their_own(place: str, known: tuple[str, bool, str], demo: Crawled) -> None:
    found = demo.explain(place)
    assert (found["known"], found["fetched"], demo.plain(found["summary"])) == known
    assert found["visits"] == []


def test_a_robots_txt_is_told_with_its_record(demo: Crawled) -> None:
    (robots,) = [row for row in demo.ended.records("robots") if "harbour" in row["origin"]]
    text = demo.text("harbour.test/robots.txt")
    assert f"\nrobots.txt   record {robots['id']} of http://harbour.test: parsed (status 200)\n" in text
    assert (
        f" at 127.0.0.11, {minute(demo.explain('harbour.test/robots.txt')['requests'][0]['claimed_at'])}: 200; " in text
    )


def test_a_redirect_target_names_the_visit(demo: Crawled) -> None:
    found = demo.explain("reef.test/treasure/map")
    (visit,) = found["led_here"]["latest"]
    assert (found["led_here"]["count"], visit["url"], visit["line"], visit["hop"]) == (
        1, demo.url("ferry.test/to-treasure"), 9, 2,
    )  # fmt: skip
    assert found["changes"] == [
        "it has to be in the queue of a crawl",
        f"the rule in line 2 of {demo.url('reef.test/robots.txt')}",
    ]
    assert "visit 15 of http://ferry.test/to-treasure (line 9) was redirected to it: " in demo.text(
        "reef.test/treasure/map"
    )


SEA_SUMMARIES = {
    "busy.test/": (
        "Asked for, and not stored: the host asked for a longer pause than is waited for; not before {not_before}.",
        ["run again after {iso}"],
    ),
    "busy.test/2": (
        "Not fetched: the host asked for a longer pause than is waited for; not before {not_before}.",
        ["run again after {iso}"],
    ),
    "sick.test/": (
        "Asked for 3 times, and not stored: the host could not answer (5xx).",
        ["run again with -a retry=failed"],
    ),
    "loop.test/": (
        "Asked for, and not stored: it redirects to where it came from.",
        ["where http://loop.test/ redirects to", FINAL],
    ),
    "fog.test/": (
        "Not fetched: its robots.txt could not be had, so nothing is allowed.",
        ["its robots.txt has to be reachable", "run again with -a retry=failed"],
    ),
    "wit.test/x$": ("Fetched: it answered 200.", ["nothing: it is final"]),
    "walk.test/a": ("Fetched: it answered 200.", ["nothing: it is final"]),
}


@pytest.mark.parametrize(("place", "said"), SEA_SUMMARIES.items(), ids=SEA_SUMMARIES)
def test_hosts_in_trouble(place: str, said: tuple[str, list[str]], sea: Crawled) -> None:
    found = sea.explain(place)
    until = found["visits"][-1]["not_before"] or "T"
    values = {"not_before": minute(until), "iso": until}
    assert sea.plain(found["summary"]) == said[0].format(**values)
    assert [sea.plain(change) for change in found["changes"]] == [change.format(**values) for change in said[1]]


def test_attempts_are_shown_with_their_pauses(sea: Crawled) -> None:
    requests = sea.explain("sick.test/")["requests"]
    assert [(each["kind"], each["status"], each["pause_s"], each["pause_basis"]) for each in requests] == [
        ("robots", 404, 0, "interval"),
        ("page", 500, 0.002, "backoff"),
        ("page", 500, 0.004, "backoff"),
        ("page", 500, 0.008, "backoff"),
    ]
    assert sea.text("sick.test/").count("then a pause of 0.004 s (backoff)") == 1


def test_the_witness_is_told_where_it_differs(sea: Crawled, demo: Crawled) -> None:
    assert "\nbut          Protego, the second witness, says disallow; what is above decides\n" in sea.text(
        "wit.test/x$"
    )
    assert "witness" not in demo.text("harbour.test/charts")


def test_a_followed_link_names_its_page(sea: Crawled) -> None:
    found = sea.explain("walk.test/a")
    (link,) = found["links"]["followed"]
    assert (link["page"], link["n"], link["run"], link["depth"]) == (sea.url("walk.test/"), 1, 1, 1)
    assert (found["links"]["count"], found["visits"][0]["via"]) == (2, sea.url("walk.test/"))
    text = sea.text("walk.test/a")
    assert "\nlink         followed from http://walk.test/ (link 1), in run 1, to depth 1\n" in text
    assert "\nlink         on http://walk.test/ (link 3), in run 1: not followed (duplicate)\n" in text


LINKS = {
    "walk.test/b": ["it has to be in the queue of a crawl (the page says nofollow)"],
    "walk.test/deep": ["it has to be in the queue of a crawl (SEASPIDER_MAX_DEPTH was reached)"],
    "http://fog.test/": [
        "it has to be in the queue of a crawl (links to another host are never followed)",
        "its robots.txt has to be asked: a crawl does that first, and so does `scrapy robots`",
    ],
}


@pytest.mark.parametrize(("place", "changes"), LINKS.items(), ids=LINKS)
def test_a_link_that_is_not_followed_says_why(place: str, changes: list[str], sea: Crawled) -> None:
    found = sea.explain(place)
    assert (found["known"], found["fetched"], found["changes"]) == ("linked", False, changes)


def test_links_of_a_page_that_has_no_record_do_not_count(sea: Crawled, tmp_path: Path) -> None:
    """Left by a run that was killed before the page line; the next run's links are found all the same."""
    killed = sea.ended.page(sea.url("walk.test/"))
    sea.edited(tmp_path, "pages", lambda row: None if row["url"] == killed["url"] else {**row, "run": 2})
    store = sea.edited(tmp_path, "links", lambda row: row if row["visit"] == killed["visit"] else {**row, "run": 2})
    found = sea.explain("walk.test/b", store=store)
    assert (found["links"]["count"], [link["reason"] for link in found["links"]["not_followed"]]) == (1, ["depth"])


# --- never seen ---

NEVER_SEEN = {
    "harbour.test/new": (True, None, "By the robots.txt of http://harbour.test (record {id}) it would be allowed: "
                         "no rule of the group for everyone speaks of it."),
    "harbour.test/private/tides/1": (True, None, "By the robots.txt of http://harbour.test (record {id}) it would be "
                                     'allowed: line 3 "Allow: /private/tides", in the group for everyone.'),
    "harbour.test/private/x": (False, "disallowed", "By the robots.txt of http://harbour.test (record {id}) it would "
                               'be disallowed: line 2 "Disallow: /private/", in the group for everyone.'),
    "lagoon.test/x": (True, None, "By the robots.txt of http://lagoon.test (record {id}) it would be allowed: there is "
                      "none (status 404)."),
    "fog.test/x": (False, "deferred", "By the robots.txt of http://fog.test (record {id}) it would be deferred, not "
                   "allowed: its robots.txt could not be had, so nothing is allowed; not before {until}."),
    "iceberg.test/x": (False, "deferred", "By the robots.txt of http://iceberg.test (record {id}) it would be "
                       "deferred: robots.txt asks for 600 s between requests, and the cap is 60 s: a crawl defers it "
                       "(SEASPIDER_CRAWL_DELAY_CAP)."),
    "customs.test/x": (False, "blocked", "It would end as blocked: the host answered 403 to http://customs.test/ "
                       "({forbidden}); not before {blocked}."),
    "siren.test/x": (False, "refused", "It would end as refused: its host has a special address, which is not asked "
                     "(SEASPIDER_ALLOWED_NETWORKS)."),
    "http://10.0.0.1/": (False, "refused", "It would end as refused: its host has a special address, which is not "
                         "asked (SEASPIDER_ALLOWED_NETWORKS)."),
    "atlantis.test/x": (False, "failed", "It would end as failed: there is no such host."),
}  # fmt: skip


@pytest.mark.parametrize(("place", "said"), NEVER_SEEN.items(), ids=NEVER_SEEN)
def test_a_url_never_seen_is_decided_by_what_is_in_force(
    place: str, said: tuple[bool, str | None, str], demo: Crawled
) -> None:
    found = demo.explain(place)
    judged = found["judgement"]
    allowed, outcome, text = said
    assert (found["known"], judged["decided"], judged["allowed"], judged["outcome"]) == (
        "never-seen", True, allowed, outcome,
    )  # fmt: skip
    origin = demo.url(place).rpartition("/x")[0]
    robots = [row for row in demo.ended.records("robots") if demo.url(place).startswith(row["origin"] + "/")]
    forbidden = demo.ended.page(demo.url("customs.test/"))["ended_at"]
    values = {
        "id": robots[0]["id"] if robots else None,
        "until": minute(robots[0]["expires_at"]) if robots else None,
        "forbidden": minute(forbidden),
        "blocked": minute(rfc3339_ms(parse_rfc3339_ms(forbidden) + 1_000_000_000)),
    }
    assert demo.plain(found["summary"]) == f"Never seen in this store. {text.format(**values)}", origin
    assert judged["settings_of_run"] == 2
    assert (judged["token"], judged["crawl_delay_cap_s"]) == ("seaspider", 60)
    settings = "product token seaspider, crawl-delay up to 60 s, order round-robin"
    assert f"\nsettings     those of run 2: {settings}\n" in demo.text(place)


def test_a_host_that_asked_for_a_long_pause_is_deferred(sea: Crawled) -> None:
    found = sea.explain("busy.test/x")
    until = sea.ended.page(sea.url("busy.test/"))["not_before"]
    assert (found["judgement"]["outcome"], found["judgement"]["reason"]) == ("deferred", "retry-after")
    assert found["judgement"]["not_before"] == until
    assert sea.explain("busy.test/x", until)["judgement"]["outcome"] is None  # robots.txt is in force still


def test_an_origin_that_was_given_up_fails(sea: Crawled) -> None:
    judged = sea.explain("fog.test/x")["judgement"]
    assert (judged["decision"], judged["outcome"], judged["reason"]) == ("unreachable", "failed", "robots-unreachable")


def later(text: str, ms: int) -> str:
    return rfc3339_ms(parse_rfc3339_ms(text) + ms)


def drop_body(demo: Crawled, folder: Path, robots: Record) -> tuple[Path, str]:
    store = demo.edited(folder, "robots", lambda row: row)
    (store / "bodies" / robots["sha256"][:2] / robots["sha256"]).unlink()
    return store, demo.now


def change_body(demo: Crawled, folder: Path, robots: Record) -> tuple[Path, str]:
    store = demo.edited(folder, "robots", lambda row: row)
    (store / "bodies" / robots["sha256"][:2] / robots["sha256"]).write_bytes(b"User-agent: *\nDisallow:\n")
    return store, demo.now


def expire(demo: Crawled, folder: Path, robots: Record) -> tuple[Path, str]:
    return demo.store, robots["expires_at"]


def lose_record(demo: Crawled, folder: Path, robots: Record) -> tuple[Path, str]:
    return demo.edited(folder, "robots", lambda row: None if row["id"] == robots["id"] else row), demo.now


def date_later(demo: Crawled, folder: Path, robots: Record) -> tuple[Path, str]:
    moved = {name: later(robots[name], DAY_MS) for name in ("fetched_at", "expires_at")}
    return demo.edited(folder, "robots", lambda row: {**row, **moved} if row["id"] == robots["id"] else row), demo.now


UNDECIDED: dict[str, tuple[Callable[[Crawled, Path, Record], tuple[Path, str]], str, str]] = {
    "body-missing": (drop_body, "body-missing", "is in force, but its bytes are missing or changed"),
    "body-changed": (change_body, "body-missing", "is in force, but its bytes are missing or changed"),
    "expired": (expire, "expired", "was in force until"),
    "no-record": (lose_record, "no-record", "there is no record of the robots.txt of http://harbour.test."),
    "not-yet": (date_later, "not-yet", "is dated later"),
}


@pytest.mark.parametrize(("make", "why", "words"), UNDECIDED.values(), ids=UNDECIDED)
@pytest.mark.parametrize("place", ["harbour.test/new", "harbour.test/private/x"])
def test_what_nothing_in_force_decides_is_not_allowed(
    place: str, make: Callable[..., tuple[Path, str]], why: str, words: str, demo: Crawled, tmp_path: Path
) -> None:
    (robots,) = [row for row in demo.ended.records("robots") if "harbour" in row["origin"]]
    store, now = make(demo, tmp_path, robots)
    found = explain(StoreReader(store), demo.url(place), None, parse_rfc3339_ms(now))
    assert (found.exit_code, found.judgement.undecided, found.judgement.ending) == (3, why, None)
    assert as_object(found)["judgement"]["allowed"] is None
    summary = demo.plain(as_object(found)["summary"])
    assert summary.startswith("Never seen in this store. Not decided: ")
    assert words in summary
    assert "allow" not in summary


class NeverOver(RobotsBook):
    def in_force(self, origin: str, now_ms: int) -> RobotsEntry | None:
        return super().in_force(origin, now_ms - DAY_MS)


def test_twin_with_a_book_whose_rules_are_never_over(demo: Crawled, monkeypatch: pytest.MonkeyPatch) -> None:
    (robots,) = [row for row in demo.ended.records("robots") if "harbour" in row["origin"]]
    monkeypatch.setattr(judgement, "RobotsBook", NeverOver)
    assert demo.explain("harbour.test/new", robots["expires_at"])["judgement"]["allowed"] is True


def test_another_port_is_another_origin(demo: Crawled) -> None:
    found = explain(StoreReader(demo.store), "http://harbour.test/new", None, parse_rfc3339_ms(demo.now))
    assert (found.exit_code, found.judgement.undecided) == (3, "no-record")


def test_a_lost_body_does_not_hide_what_was_decided_by_it(demo: Crawled, tmp_path: Path) -> None:
    (robots,) = [row for row in demo.ended.records("robots") if "harbour" in row["origin"]]
    store, _ = drop_body(demo, tmp_path, robots)
    text = demo.text("harbour.test/private/log-book", store=store)
    assert "Not fetched: " + FORBIDDEN.format("private") in text
    assert f"\n             sha256 {robots['sha256']}, whose bytes are missing from the store, or changed\n" in text
    store, _ = lose_record(demo, tmp_path, robots)
    text = demo.text("harbour.test/private/log-book", store=store)
    assert f"\nrobots.txt   record {robots['id']}: not in robots.jsonl\n" in text


# --- at a moment ---


def test_what_was_known_at_a_moment(demo: Crawled) -> None:
    """Along the way of harbour.test/: before the run, queued, asked for, stored, done."""
    url = demo.url("harbour.test/")
    runs = demo.ended.records("manifest")
    claim, settle = demo.ended.records("requests"), demo.ended.records("requests")
    claim = next(row for row in claim if row.get("url") == url)
    settle = next(row for row in settle if row["event"] == "settle" and (row["run"], row["n"]) == (1, claim["n"]))
    page = demo.ended.page(url)
    known = {
        later(runs[0]["started_at"], -1): ("never-seen", "Never seen in this store. Not decided: no run had begun."),
        runs[0]["started_at"]: ("queued", "Not fetched yet: line 3 of the queue of run 1; its turn had not come."),
        claim["claimed_at"]: ("under-way", "Begun in run 1 and not ended: the run is still at it, or was killed."),
        page["ended_at"]: ("visited", "Fetched: it answered 200."),
        demo.now: ("visited", "Fetched: it answered 200."),
    }
    assert list(known) == sorted(known)
    assert settle["ended_at"] <= page["ended_at"]
    for at, said in known.items():
        found = demo.explain(url, at)
        assert (found["at"], found["known"], found["summary"]) == (at, *said)
    assert [row["run"] for row in demo.explain(url, page["ended_at"])["queue"]] == [1]
    assert f"as known     on {minute(demo.now)}; what was recorded later is left out\n" in demo.text(url, demo.now)


def test_the_end_of_a_request_is_not_known_before_it(demo: Crawled, tmp_path: Path) -> None:
    url = demo.url("harbour.test/charts")
    claim = next(row for row in demo.ended.records("requests") if row.get("url") == url)
    key = (1, claim["n"])
    end = later(claim["claimed_at"], 5000)
    store = demo.edited(
        tmp_path,
        "requests",
        lambda row: {**row, "ended_at": end} if row["event"] == "settle" and (row["run"], row["n"]) == key else row,
    )
    store = demo.edited(tmp_path, "pages", lambda row: {**row, "ended_at": end} if row["url"] == url else row)
    (request,) = demo.explain(url, later(end, -1), store=store)["requests"]
    assert (request["n"], request["ended_at"], request["status"]) == (claim["n"], None, None)
    assert ": no end is recorded, so it counts as sent\n" in demo.text(url, later(end, -1), store=store)
    (request,) = demo.explain(url, end, store=store)["requests"]
    assert (request["ended_at"], request["status"]) == (end, 200)


def test_rules_are_judged_as_they_were_in_force_then(demo: Crawled, tmp_path: Path) -> None:
    """A second robots.txt, a day later, allows all; a third, when that is over, cannot be had."""
    (first,) = [row for row in demo.ended.records("robots") if "reef" in row["origin"]]
    empty = next(row for row in demo.ended.records("robots") if "ferry" in row["origin"])
    second = {**first, "id": 90, "cause": "expired", "sha256": empty["sha256"], "bytes": empty["bytes"]}
    second |= {"fetched_at": first["expires_at"], "expires_at": later(first["expires_at"], DAY_MS)}
    third = {
        **second,
        "id": 91,
        "state": "unreachable",
        "reason": "timeout",
        "status": None,
        "sha256": None,
        "bytes": None,
    }
    third |= {"fetched_at": second["expires_at"], "expires_at": later(second["expires_at"], 3_600_000)}
    store = demo.edited(tmp_path, "robots", lambda row: row)
    with (store / "robots.jsonl").open("a") as file:
        file.write("".join(json.dumps(row) + "\n" for row in (second, third)))
    outcomes = {
        later(first["fetched_at"], -1): (False, None, None),
        first["fetched_at"]: (True, "disallowed", first["id"]),
        later(first["expires_at"], -1): (True, "disallowed", first["id"]),
        second["fetched_at"]: (True, None, 90),
        third["fetched_at"]: (True, "deferred", 91),
        third["expires_at"]: (False, None, None),
    }
    for at, said in outcomes.items():
        judged = demo.explain("reef.test/treasure/new", at, store=store)["judgement"]
        assert (judged["decided"], judged["outcome"], judged["robots_id"]) == said, at


def test_a_403_counts_until_the_block_is_over(demo: Crawled) -> None:
    answered = demo.ended.page(demo.url("customs.test/"))["ended_at"]
    outcomes = {
        later(answered, -1): None,
        answered: "blocked",
        later(answered, 1_000_000_000 - 1): "blocked",
        later(answered, 1_000_000_000): None,
    }
    assert {at: demo.explain("customs.test/x", at)["judgement"]["outcome"] for at in outcomes} == outcomes


# --- runs that ended in the middle ---


def killed_store(sea: Crawled, folder: Path) -> tuple[Path, Record]:
    """As if the run had been killed right before the page line of walk.test/a."""
    page = sea.ended.page(sea.url("walk.test/a"))
    sea.edited(folder, "pages", lambda row: row if row["ended_at"] < page["ended_at"] else None)
    return sea.edited(folder, "manifest", lambda row: row if row["event"] == "start" else None), page


def test_a_visit_that_was_begun_and_not_ended(sea: Crawled, tmp_path: Path) -> None:
    store, page = killed_store(sea, tmp_path)
    found = sea.explain("walk.test/a", store=store)
    assert (found["known"], found["begun"]["visit"], found["visits"]) == ("under-way", page["visit"], [])
    assert found["summary"] == "Begun in run 1 and not ended: the run is still at it, or was killed."
    assert (found["fetched"], [each["status"] for each in found["requests"]]) == (True, [200])
    assert found["changes"] == ["run again"]
    with (store / "manifest.jsonl").open("a") as manifest:
        manifest.write(json.dumps({**sea.ended.records("manifest")[0], "run": 2}) + "\n")
    found = sea.explain("walk.test/a", store=store)
    assert found["summary"] == (
        "Begun in run 1 and interrupted: the next run that has it in its queue begins it again."
    )


def test_a_followed_link_that_was_not_begun(sea: Crawled, tmp_path: Path) -> None:
    killed_store(sea, tmp_path)
    url = sea.url("walk.test/a")
    sea.edited(tmp_path, "intents", lambda row: None if row["url"] == url else row)
    store = sea.edited(tmp_path, "requests", lambda row: None if row.get("url") == url else row)
    found = sea.explain("walk.test/a", store=store)
    assert (found["known"], sea.plain(found["summary"]), found["changes"]) == (
        "followed",
        "Not fetched yet: a link on http://walk.test/ is followed; its turn had not come.",
        ["run again"],
    )


def test_a_request_of_another_part_of_a_crawl_is_one(sea: Crawled, tmp_path: Path) -> None:
    killed_store(sea, tmp_path)
    url = sea.url("walk.test/a")
    sea.edited(tmp_path, "intents", lambda row: None if row["url"] == url else row)
    store = sea.edited(tmp_path, "requests", lambda row: {**row, "visit": None} if row.get("url") == url else row)
    found = sea.explain("walk.test/a", store=store)
    assert (found["known"], found["fetched"], found["changes"]) == ("requested", True, [])
    assert found["summary"] == "Fetched by another part of a crawl: it answered 200."
    assert len(found["requests"]) == 1


def test_a_run_that_left_urls_is_named(sea: Crawled, tmp_path: Path) -> None:
    store, _ = killed_store(sea, tmp_path)
    assert sea.explain("walk.test/new", store=store)["unlisted"] == 1
    assert (
        "\nnote         run 1 has no end yet, or was killed; a store does not name URLs that were not begun, so it may "
        "be among them" in sea.text("walk.test/new", store=store)
    )
    end = sea.ended.records("manifest")[-1]
    end["counts"]["unfinished"] = 7
    with (store / "manifest.jsonl").open("a") as manifest:
        manifest.write(json.dumps(end) + "\n")
    assert "\nnote         run 1 left 7 visits unfinished;" in sea.text("walk.test/new", store=store)
    assert sea.explain("walk.test/new")["unlisted"] is None


# --- the command ---


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


WRITING = (
    "from seaspider.commands import explain; from seaspider.store import FolderStore; explain.StoreReader = FolderStore"
)


def test_nobody_is_asked_and_nothing_is_changed(tmp_path: Path) -> None:
    """While a crawl is at work in the store: its lock is held, and its last lines are on their way to the disk."""
    names = {"a.test": "127.0.9.20"}
    with LoopbackWeb({"/robots.txt": Answer(404), "/*": Answer()}, names=names) as web:
        crawl([web.url("a.test", "/1")], tmp_path, names=names)
        store = tmp_path / "store"
        for file in ("pages", "requests", "links", "robots"):
            with (store / f"{file}.jsonl").open("a") as torn:
                torn.write('{"v":1,"run":7,')
        (tmp_path / "elsewhere").mkdir()
        web.clear()
        before = snapshot(tmp_path)
        lock = os.open(store / "lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        options = ["--store", str(store)]
        cases = {
            "seen": Case(["explain", web.url("a.test", "/1"), *options]),
            "never seen": Case(["explain", web.url("a.test", "/2"), *options, "--json"]),
            "not decided": Case(["explain", "http://b.test/", *options], {"SEASPIDER_LEDGER": tmp_path / "ledger"}),
        }
        results = run(cases, names)
        os.close(lock)
        assert {name: (result.exit, result.err) for name, result in results.items()} == {
            "seen": (0, ""), "never seen": (0, ""), "not decided": (3, ""),
        }  # fmt: skip
        assert json.loads(results["never seen"].out)["judgement"]["allowed"] is True
        assert (snapshot(tmp_path), web.connections) == (before, 0)
        # The twin: with a store that can be written in the reader's place, the same look at the files finds out.
        twin = run({"twin": Case(["explain", web.url("a.test", "/1"), *options], sabotage=WRITING)}, names)["twin"]
        assert twin.exit == 0
        assert snapshot(tmp_path) != before


MOMENTS = {
    "2026-11-30T06:17:00Z": "2026-11-30T06:17:00.000Z",
    "2026-11-30t06:17:00z": "2026-11-30T06:17:00.000Z",
    "2026-11-30 06:17:00Z": "2026-11-30T06:17:00.000Z",
    "2026-11-30T06:17:00.5Z": "2026-11-30T06:17:00.500Z",
    "2026-11-30T06:17:00.1239999Z": "2026-11-30T06:17:00.123Z",
    "2026-11-30T06:17:00+01:30": "2026-11-30T04:47:00.000Z",
    "2026-11-30T23:59:59.999-23:59": "2026-12-01T23:58:59.999Z",
    "2024-02-29T00:00:00Z": "2024-02-29T00:00:00.000Z",
}
NO_MOMENTS = [
    "", "now", "2026-11-30", "2026-11-30T06:17Z", "2026-11-30T06:17:00", "2026-11-30T24:00:00Z", "2026-11-30T06:17:60Z",
    "2026-02-29T00:00:00Z", "2026-11-30T06:17:00+0100", "2026-11-30T06:17:00.Z", "20261130T061700Z",
    "0001-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z", "2026-11-30T06:17:00Z ", "２026-11-30T06:17:00Z",
]  # fmt: skip


@pytest.mark.parametrize(("text", "moment"), MOMENTS.items(), ids=MOMENTS)
def test_moments(text: str, moment: str) -> None:
    assert _moment(text) == moment


@pytest.mark.parametrize("text", NO_MOMENTS, ids=map(repr, NO_MOMENTS))
def test_no_moments(text: str) -> None:
    with pytest.raises(UsageFault, match="option --at"):
        _moment(text)


URL = "http://harbour.test/"
BAD: dict[str, tuple[list[str], int, str]] = {
    "no store": (
        [URL, "--store", "{here}/none"], 2, "option --store '{here}/none': is no store: it has no manifest.jsonl",
    ),
    "a file as store": (
        [URL, "--store", "{here}/file"], 2, "option --store '{here}/file': is no store: it has no manifest.jsonl",
    ),
    "empty store": ([URL, "--store", ""], 2, "option --store '': is no store: it has no manifest.jsonl"),
    "time": (
        [URL, "--store", "{store}", "--at", "yesterday"],
        2,
        "option --at 'yesterday': must be a time of RFC 3339, like 2026-11-30T06:17:00Z",
    ),
    "no such time": (
        [URL, "--store", "{store}", "--at", "2026-02-30T00:00:00Z"],
        2,
        "option --at '2026-02-30T00:00:00Z': there is no such time",
    ),
    "no URL": (
        ["harbour.test", "--store", "{store}"],
        2,
        "URL 'harbour.test' cannot be asked for (missing-scheme), and no line of the queue has it",
    ),
    "rejected later": (
        ["ftp://harbour.test/charts.zip", "--store", "{store}", "--at", "2020-01-01T00:00:00Z"],
        2,
        "URL 'ftp://harbour.test/charts.zip' cannot be asked for (scheme), and no line of the queue has it",
    ),
    "steers a terminal": (
        ["x\x1b[2J\n", "--store", "{store}"],
        2,
        "URL 'x\\x1b[2J\\n' cannot be asked for (missing-scheme), and no line of the queue has it",
    ),
}  # fmt: skip


def test_bad_input_is_one_line(demo: Crawled, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = {"here": str(tmp_path), "store": str(demo.store)}
    cases = {name: Case(["explain", *(arg.format(**places) for arg in args)]) for name, (args, _, _) in BAD.items()}
    results = run({**cases, "no URL given": Case(["explain"])})
    usage = results.pop("no URL given")
    assert (usage.exit, "scrapy explain [options] <url>" in usage.out) == (2, True)
    assert {name: (result.exit, result.out, result.err) for name, result in results.items()} == {
        name: (code, "", f"scrapy explain: {text.format(**places)}\n") for name, (_, code, text) in BAD.items()
    }


def no_url(row: Record) -> Record:
    return {**row, "chain": [{**row["chain"][0], "url": "x"}]}


BROKEN: dict[str, tuple[str, str, Callable[[Record], Record], str]] = {
    "outcome": ("harbour.test/", "pages", lambda row: {**row, "outcome": "lost"}, "'lost' is not a valid Outcome"),
    "hop": ("harbour.test/", "pages", lambda row: {**row, "chain": [7]}, "a hop is 7, not an object"),
    "URL of a hop": ("harbour.test/", "pages", no_url, "a hop: not a usable URL"),
    "time": ("harbour.test/", "pages", lambda row: {**row, "not_before": "y"}, "not a time of the store"),
    "no time": ("harbour.test/new", "pages", lambda row: {**row, "ended_at": None}, "'ended_at' is None"),
    "robots.txt": ("harbour.test/new", "robots", lambda row: {**row, "state": "x"}, "'x' is not a valid RobotsState"),
    "settings": ("harbour.test/new", "manifest", lambda row: {**row, "settings": {}}, "settings: no 'robots_ttl_s'"),
}  # fmt: skip


@pytest.mark.parametrize(("place", "file", "edit", "why"), BROKEN.values(), ids=BROKEN)
def test_a_line_that_is_not_as_a_store_has_it_is_named(
    place: str, file: str, edit: Callable[[Record], Record], why: str, demo: Crawled, tmp_path: Path
) -> None:
    store = demo.edited(tmp_path, file, edit)
    with pytest.raises(StoreError, match=rf"{file}.jsonl:\d+: .*{re.escape(why)}"):
        demo.explain(place, store=store)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_words(reason: Reason) -> None:
    """But for a rule, a reason is not told by the word of the records."""
    hop = Hop(normalise("http://a.test/"), rule="Disallow: /", rule_line=1, group="*", crawl_delay_s=90.0)
    outcome = next(outcome for outcome in Outcome if is_ending(outcome, reason))
    assert not ending_in_words(Ending(outcome, reason), hop, 60).startswith(f"{outcome}/")


def is_ending(outcome: Outcome, reason: Reason) -> bool:
    try:
        return bool(Ending(outcome, reason))
    except ValueError:
        return False


def test_what_a_site_wrote_steers_no_terminal(sea: Crawled, tmp_path: Path) -> None:
    def edit(row: Record) -> Record:
        chain = [{**hop, "rule": "Allow: \x1b[2J", "rule_line": 1, "group": "*"} for hop in row["chain"]]
        return {**row, "chain": chain}

    store = sea.edited(tmp_path, "pages", edit)
    assert 'line 1 "Allow: \\x1b[2J"' in sea.text("wit.test/x$", store=store)


def test_memory_does_not_grow_with_visits_that_lead_here(demo: Crawled, tmp_path: Path) -> None:
    page = demo.ended.page(demo.url("ferry.test/to-lagoon"))
    store = demo.edited(tmp_path, "pages", lambda row: row)
    with (store / "pages.jsonl").open("w") as pages:
        for number in range(1, 31):
            pages.write(json.dumps({**page, "visit": number, "url": f"{page['url']}/{number}"}) + "\n")
    found = evidence.gather(StoreReader(store), normalise(demo.url("lagoon.test/beach")))
    assert (found.led_here_count, [visit.visit for visit in found.led_here]) == (30, list(range(21, 31)))
