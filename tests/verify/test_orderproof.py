"""P5 from the store: good stores of every kind hold, whatever moment a run was killed at, and no edit goes unseen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.config import ORDERS
from seaspider.core.links import LinkReason
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.loopback.answers import Headers
from seaspider.verify.evidence import Evidence
from seaspider.verify.orderproof import prove
from seaspider.verify.orderwaiting import Waiting
from tests.crawling import crawl

HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)
NAMES = {
    name: f"127.0.29.{number}" for number, name in enumerate(("a.test", "b.test", "c.test", "d.test", "e.test"), 1)
}
# Two hosts at one address, twice.
NAMES |= {"b-too.test": NAMES["b.test"], "f.test": NAMES["e.test"], "g.test": "127.0.29.9"}


def links(*targets: str) -> str:
    return "".join(f'<a href="{target}">{target}</a>\n' for target in targets)


def to(location: str, status: int = 302) -> Answer:
    return Answer(status, (("Location", location),))


SITE: dict[str, Answer | tuple[Answer, ...]] = {
    "/*": Answer(404, (), "nothing here"),
    "/robots.txt": Answer(200, (), "User-agent: *\nDisallow: /private\n"),
    "a.test/": Answer(200, HTML, links("/1", "/2", "/private/1", "/hop", "http://b.test/x", "mailto:me", "/3", "/1")),
    "a.test/1": Answer(200, HTML, '<a href="/7" rel="nofollow">7</a>' + links("/", "/2", "/4", "/5")),
    "a.test/2": Answer(200, HTML, links("/6", "/private/2")),
    "a.test/hop": to("http://c.test:{port}/from-a"),
    "b.test/robots.txt": to("http://c.test:{port}/b-robots", 301),
    "c.test/b-robots": Answer(200, (), "User-agent: *\nCrawl-delay: 0.03\nDisallow: /x\n"),
    "b.test/": Answer(200, HTML, links("/1", "/x", "/2")),
    "b.test/1": to("/2", 307),
    "b.test/2": Answer(200, HTML, links("/3", "/4")),
    "b-too.test/": Answer(200, HTML, links("/1", "/2", "/3")),
    "c.test/": Answer(200, HTML, links("/1", "/2", "/away", "/loop")),
    "c.test/loop": to("/loop"),
    "c.test/away": to("http://e.test:{port}/from-c"),
    "c.test/busy": (Answer(503), Answer(429, (("Retry-After", "0"),)), Answer(200)),
    "c.test/broken": Answer(503),
    "c.test/cut": Answer(fault=Fault.CLOSE),
    "d.test/robots.txt": Answer(503),
    "e.test/robots.txt": Answer(404),
    "e.test/2": Answer(403, (), "no more"),
    "f.test/robots.txt": to("http://d.test:{port}/f-robots"),
    "d.test/f-robots": Answer(200, (), "User-agent: *\nCrawl-delay: 600\nAllow: /\n"),
    "g.test/robots.txt": to("/moved"),
    "b-too.test/later": Answer(503, (("Retry-After", "3600"),)),
}
QUEUE = (
    *(
        "a.test/",
        "b.test/",
        "b-too.test/",
        "c.test/",
        "d.test/",
        "e.test/1",
        "e.test/2",
        "e.test/3",
        "a.test/private/9",
    ),
    *("a.test/7", "b.test/x", "c.test/away", "nowhere.test/", "d.test/2", "ftp://a.test/", "c.test/busy", "c.test/cut"),
    *("c.test/broken", "a.test/7", "f.test/1", "b-too.test/later", "b-too.test/9"),
)
SETTINGS = {"SEASPIDER_INTERVAL": 0.01, "SEASPIDER_BACKOFF_BASE": 0.01, "SEASPIDER_BACKOFF_CAP": 1}

# Writes down to which file each line went.
WRITING_ORDER = """
from seaspider import journal
append = journal.JournalFile.append
def noting(self, lines):
    append(self, lines)
    with open(self.path.parent / "written", "a") as file:
        file.write((self.path.name + "\\n") * lines.count(b"\\n"))
journal.JournalFile.append = noting
"""


Edit = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Good:
    """A web, the order of hosts, and the store of a whole run."""

    folder: Path
    web: LoopbackWeb
    order: str

    @property
    def store(self) -> Path:
        return self.folder / "good"

    def crawl(
        self, store: str, queue: Sequence[str] = QUEUE, *, sabotage: str = "", retry: str | None = None,
        follow: str = "host", **settings: Any,
    ) -> Path:  # fmt: skip
        lines = [
            place if "//" in place else self.web.url(host, f"/{path}")
            for place in queue
            for host, _, path in [place.partition("/")]
        ]
        asked = {"follow": follow, "max_depth": 3, "max_pages": 14, "order": self.order}
        return crawl(
            lines,
            self.folder,
            store=store,
            names={**NAMES, "nowhere.test": []},
            arguments={**asked, **({"retry": retry} if retry else {})},
            settings={**SETTINGS, **settings},
            sabotage=sabotage,
        ).store


@pytest.fixture(scope="module", params=ORDERS)
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Good]:
    with LoopbackWeb(SITE, names=NAMES) as web:
        made = Good(tmp_path_factory.mktemp("order"), web, request.param)
        made.crawl("good", sabotage=WRITING_ORDER)
        yield made


def rows(store: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / file).read_text().splitlines()]


def refuted(store: Path) -> str | None:
    """The counterexample, as it is printed."""
    found = prove(Evidence(store)).counterexample
    return None if found is None else str(found)


def test_a_good_store_holds_and_says_what_was_looked_at(good: Good) -> None:
    store, proof = good.store, prove(Evidence(good.store))
    assert proof.counterexample is None
    assert proof.promise == "P5"
    assert proof.checked == {
        "runs": 1,
        "turns": sum(row["event"] == "claim" for row in rows(store, File.REQUESTS)),
        "page records": len(rows(store, File.PAGES)),
        "links": len(rows(store, File.LINKS)),
    }


def cut(store: Path, target: Path, lines: int, *, bodies: bool = True) -> None:
    """A copy of the store as it was when so many lines were written."""
    written = (store / "written").read_text().splitlines()[:lines]
    target.mkdir()
    (target / "written").write_text("".join(f"{file}\n" for file in written))
    for file in File:
        whole = (store / file).read_bytes().splitlines(keepends=True)
        (target / file).write_bytes(b"".join(whole[: written.count(file)]))
    if bodies:
        shutil.copytree(store / "bodies", target / "bodies")


def written(store: Path) -> int:
    return len((store / "written").read_text().splitlines())


# Killed and gone on


def killed(store: Path, folder: Path, each: int) -> dict[int, str | None]:
    """How many lines were written -> what is said of the store that was left."""
    found = {}
    for lines in range(1, written(store), each):
        target = folder / str(lines)
        cut(store, target, lines, bodies=False)
        if (target / File.MANIFEST).stat().st_size:
            found[lines] = refuted(target)
    return found


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_a_run_killed_after_any_line_holds(good: Good, tmp_path: Path, each: int) -> None:
    found = killed(good.store, tmp_path, each)
    assert len(found) > 150 // each
    assert {lines: why for lines, why in found.items() if why} == {}


@pytest.mark.parametrize("each", [9, pytest.param(3, marks=pytest.mark.soak)])
def test_a_run_that_lost_power_holds(good: Good, tmp_path: Path, each: int) -> None:
    """What is not written through to the disk may be gone, in files that other lines speak of."""
    order = (good.store / "written").read_text().splitlines()
    found = {}
    for lines in range(10, len(order), each):
        target = tmp_path / str(lines)
        cut(good.store, target, lines, bodies=False)
        synced = max((at for at, file in enumerate(order[:lines]) if file == File.PAGES), default=0)
        for file in (File.REQUESTS, File.LINKS):
            whole = (good.store / file).read_bytes().splitlines(keepends=True)
            (target / file).write_bytes(b"".join(whole[: order[:synced].count(file)]))
        found[lines] = refuted(target)
    assert {lines: why for lines, why in found.items() if why} == {}


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_twin_without_doubt_a_killed_run_is_taken_for_another(
    good: Good, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    """A redirect to a host whose URLs never had a turn took the turn of one of them, in a round that had begun."""
    monkeypatch.setattr(Waiting, "doubt", lambda self, host: None)
    found = killed(good.store, tmp_path, each)
    assert any(found.values()) == (good.order == "round-robin")


@pytest.mark.soak
def test_runs_that_go_on_from_a_kill_hold(good: Good) -> None:
    found = {}
    for tenth in (2, 5, 8):
        once, twice = good.folder / f"once-{tenth}", good.folder / f"twice-{tenth}"
        cut(good.store, once, tenth * written(good.store) // 10)
        good.crawl(once.name, sabotage=WRITING_ORDER)
        found[once.name] = refuted(once)
        cut(once, twice, (written(good.store) + written(once)) // 2)
        found[f"{twice.name}, killed"] = refuted(twice)
        good.crawl(twice.name)
        found[twice.name] = refuted(twice)
    assert {name: why for name, why in found.items() if why} == {}


@pytest.mark.soak
def test_further_runs_of_other_queues_hold(good: Good) -> None:
    store = good.folder / "further"
    shutil.copytree(good.store, store)
    good.crawl("further")
    good.crawl("further", queue=("c.test/new", *QUEUE[:4], "e.test/9", "b-too.test/later"), retry="failed")
    good.crawl(
        "further",
        queue=("a.test/n", "a.test/m", *QUEUE[3:]),
        SEASPIDER_HOST_BUDGET=1,
        SEASPIDER_BLOCK=0,
        SEASPIDER_ROBOTS_RETRY=0.001,
    )
    assert len({row["run"] for row in rows(store, File.PAGES)}) == 4
    assert {row["reason"] for row in rows(store, File.PAGES)} >= {
        "budget",
        "forbidden",
        "dns",
        "retry-after",
        "crawl-delay",
    }
    assert refuted(store) is None


def test_a_robots_request_that_was_dropped_ends_its_fetch_last(good: Good) -> None:
    extensions = '{"tests.extras.dropping.DropsMoved": 1, "seaspider.extension.Seaspider": 0}'
    store = good.crawl("dropped", queue=("g.test/1", "a.test/1", "a.test/2"), EXTENSIONS=extensions, follow="off")
    assert [row["reason"] for row in rows(store, File.ROBOTS)] == [None, "aborted"]
    assert refuted(store) is None


# Tampered


@dataclass(frozen=True)
class Tampering:
    """A good store, one file of which is changed and put right again."""

    store: Path

    def with_(self, file: File, changed: Sequence[dict[str, Any]]) -> str | None:
        whole = (self.store / file).read_bytes()
        (self.store / file).write_text("".join(json.dumps(row) + "\n" for row in changed))
        found = refuted(self.store)
        (self.store / file).write_bytes(whole)
        return found

    def each(self, file: File, edit: Edit, step: int) -> list[str]:
        """Of every `step`th line that the edit changes, those where it was not seen."""
        lines, unseen = rows(self.store, file), []
        edits = [(at, edited) for at, line in enumerate(lines) if (edited := edit(dict(line))) != line]
        for at, edited in edits[::step]:
            if self.with_(file, [*lines[:at], edited, *lines[at + 1 :]]) is None:
                unseen.append(f"{file}:{at + 1}")
        return unseen


@pytest.fixture(scope="module")
def tampering(good: Good) -> Tampering:
    store = good.folder / "tampered"
    shutil.copytree(good.store, store)
    assert refuted(store) is None
    return Tampering(store)


LINED = (File.PAGES, File.INTENTS, File.LINKS, File.ROBOTS)


@pytest.mark.parametrize("file", LINED, ids=str)
def test_no_line_may_be_missing_or_elsewhere(tampering: Tampering, file: File) -> None:
    lines = rows(tampering.store, file)
    for at, line in enumerate(lines):
        assert tampering.with_(file, lines[:at] + lines[at + 1 :]), f"without {file}:{at + 1}"
        if at:
            swapped = [*lines[: at - 1], line, lines[at - 1], *lines[at + 1 :]]
            assert tampering.with_(file, swapped), f"{file}:{at} and {at + 1} swapped"


def test_no_turn_may_be_missing_or_elsewhere(tampering: Tampering) -> None:
    lines = rows(tampering.store, File.REQUESTS)
    turns = [(lines[at], lines[at + 1]) for at in range(0, len(lines), 2)]

    def renumbered(turns: Sequence[tuple[dict[str, Any], ...]]) -> list[dict[str, Any]]:
        return [{**line, "n": n} for n, turn in enumerate(turns, 1) for line in turn]

    assert renumbered(turns) == lines
    for at, turn in enumerate(turns):
        assert tampering.with_(File.REQUESTS, renumbered(turns[:at] + turns[at + 1 :])), f"without turn {at + 1}"
        if at and turn[0]["url"] != turns[at - 1][0]["url"]:
            swapped = [*turns[: at - 1], turn, turns[at - 1], *turns[at + 1 :]]
            assert tampering.with_(File.REQUESTS, renumbered(swapped)), f"turns {at} and {at + 1} swapped"


def put(**values: Any) -> Edit:
    return lambda row: {**row, **values}


def more(key: str, by: int = 1) -> Edit:
    return lambda row: {**row, key: (row[key] or 0) + by}


def longer(key: str) -> Edit:
    return lambda row: {**row, key: f"{row[key]}x"}


def of_claims(edit: Edit) -> Edit:
    return lambda row: edit(row) if row["event"] == "claim" else row


EDITS: dict[str, tuple[File, Edit]] = {
    "the next visit's request": (File.REQUESTS, of_claims(more("visit"))),
    "nobody's request": (File.REQUESTS, of_claims(put(visit=None))),
    "another URL asked": (File.REQUESTS, of_claims(longer("url"))),
    "another host asked": (File.REQUESTS, of_claims(put(host="z.test"))),
    "another kind": (File.REQUESTS, of_claims(lambda r: {**r, "kind": "page" if r["kind"] == "robots" else "robots"})),
    "a kind that there is not": (File.REQUESTS, of_claims(longer("kind"))),
    "another visit": (File.PAGES, more("visit")),
    "another URL": (File.PAGES, longer("url")),
    "another final URL": (File.PAGES, longer("final_url")),
    "another depth": (File.PAGES, more("depth")),
    "another page before": (File.PAGES, put(via="http://a.test/never")),
    "another status": (File.PAGES, put(status=418)),
    "more attempts": (File.PAGES, more("attempts")),
    "more bytes": (File.PAGES, more("bytes")),
    "more links": (File.PAGES, more("links")),
    "another type": (File.PAGES, put(content_type="text/x")),
    "another run": (File.PAGES, put(run=2)),
    "a number beyond counting": (File.PAGES, put(depth=2**70)),
    **{
        f"{outcome}/{reason}": (File.PAGES, put(outcome=outcome, reason=reason))
        for outcome, reason in (
            *(("stored", None), ("disallowed", "robots-rule"), ("refused", "redirect-loop"), ("refused", "scheme")),
            *(
                ("refused", "special-address"),
                ("failed", "http-5xx"),
                ("failed", "cut"),
                ("failed", "robots-unreachable"),
            ),
            *(
                ("deferred", "crawl-delay"),
                ("deferred", "retry-after"),
                ("deferred", "budget"),
                ("deferred", "backoff"),
            ),
            *(("deferred", "robots-unreachable"), ("blocked", "forbidden"), ("failed", "dns"), ("failed", "no-word")),
        )
    },
    "another intent": (File.INTENTS, more("visit")),
    "an intent of another URL": (File.INTENTS, longer("url")),
    "an intent of another line": (File.INTENTS, more("line")),
    "a link of another visit": (File.LINKS, more("visit")),
    "a link of another page": (File.LINKS, longer("page")),
    "another link": (File.LINKS, more("n")),
    "a link that is followed, or not": (File.LINKS, lambda row: {**row, "followed": not row["followed"]}),
    "a link without nofollow, or with it": (File.LINKS, lambda row: {**row, "nofollow": not row["nofollow"]}),
    **{
        f"a link: {reason}": (File.LINKS, put(followed=reason is None, reason=reason)) for reason in (None, *LinkReason)
    },
}


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("file", "edit"), EDITS.values(), ids=EDITS)
def test_no_field_may_be_another(tampering: Tampering, file: File, edit: Edit, step: int) -> None:
    assert tampering.each(file, edit, step) == []


def test_a_pause_may_not_be_another_where_it_decides_who_is_next(tampering: Tampering) -> None:
    lines = rows(tampering.store, File.REQUESTS)
    lines[1]["pause_s"] = 60.0
    found = tampering.with_(File.REQUESTS, lines)
    assert found is not None
    assert "it is the turn of" in found


def test_the_place_and_whose_turn_it_was_are_named(good: Good, tampering: Tampering) -> None:
    lines, pages = rows(tampering.store, File.REQUESTS), rows(tampering.store, File.PAGES)
    first, second, line = ("c.test", "a.test", 4) if good.order == "most-remaining" else ("a.test", "b-too.test", 1)
    assert [line["url"] for line in lines[:3:2]] == [good.web.url(host, "/robots.txt") for host in (first, second)]
    swapped = [{**lines[2], "n": 1}, {**lines[3], "n": 1}, {**lines[0], "n": 2}, {**lines[1], "n": 2}, *lines[4:]]
    assert tampering.with_(File.REQUESTS, swapped) == (
        f"requests.jsonl:1: it is the turn of a new visit, number 1, queue line {line} at {good.web.url(first, '')}; "
        f"recorded next: requests.jsonl:1 (visit 2), pages.jsonl:1 (visit {pages[0]['visit']})"
    )
    stored = next(at for at, page in enumerate(pages) if page["outcome"] == "stored")
    pages[stored] |= {"outcome": "failed", "reason": "http-5xx"}
    assert tampering.with_(File.PAGES, pages) == (
        f"pages.jsonl:{stored + 1}: failed/http-5xx, but by the answers to visit {pages[stored]['visit']} it is stored"
    )


def test_how_much_waited_at_the_start_may_not_be_another(good: Good, tampering: Tampering) -> None:
    """Only where the order depends on it is it there. Without it nothing would tell what a killed run left over."""
    manifest = rows(tampering.store, File.MANIFEST)
    waiting = manifest[0].get("waiting")
    assert (waiting is None) == (manifest[0]["settings"]["order"] != "most-remaining")
    if waiting is not None:
        assert waiting == {
            "a.test": 3, "b-too.test": 3, "b.test": 2, "c.test": 5, "d.test": 2, "e.test": 3, "f.test": 1,
            "nowhere.test": 1,
        }  # fmt: skip
        for host in waiting:
            for by in (-1, 1):
                changed = {**manifest[0], "waiting": {**waiting, host: waiting[host] + by}}
                assert tampering.with_(File.MANIFEST, [changed, *manifest[1:]]) == (
                    f"manifest.jsonl:1: {waiting[host] + by} URLs waited at {host}, but {waiting[host]} came"
                )
        for spoilt in ({}, {"waiting": None}, {"waiting": {"a.test": "3"}}):
            kept = {key: value for key, value in manifest[0].items() if key != "waiting"}
            with pytest.raises(StoreError, match=r"manifest\.jsonl:1: "):
                tampering.with_(File.MANIFEST, [{**kept, **spoilt}, *manifest[1:]])
            (tampering.store / File.MANIFEST).write_bytes((good.store / File.MANIFEST).read_bytes())


def test_twin_without_what_waited_a_killed_run_is_taken_for_another(
    good: Good, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Waiting, "fill_up", lambda self, run: None)
    found = killed(good.store, tmp_path, each=5)
    assert any(found.values()) == (good.order == "most-remaining")


def test_a_run_that_ended_has_to_have_all_its_records(tampering: Tampering) -> None:
    intents, requests, pages = (rows(tampering.store, file) for file in (File.INTENTS, File.REQUESTS, File.PAGES))
    last = pages[-1]["visit"]
    kept = [line for line in requests if line.get("visit") != last or line["event"] == "settle"]
    assert tampering.with_(File.PAGES, pages[:-1])
    assert tampering.with_(File.REQUESTS, kept)
    assert tampering.with_(File.INTENTS, [*intents, {**intents[-1], "visit": 99}])
    assert tampering.with_(File.PAGES, [*pages, {**pages[-1], "run": 2}]) is not None
