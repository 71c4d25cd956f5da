"""A store that was changed is not replayed to the same records: the first line that differs is shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File, to_line
from seaspider.loopback import LoopbackWeb
from tests.crawling import scrapy
from tests.extras import added
from tests.replay import sites
from tests.replay.replaying import Ground, bodies, records

Row = dict[str, Any]
Rows = list[Row]
PLAN = sites.small().runs[0]


@pytest.fixture(scope="module")
def store(ground: Ground) -> Path:
    web, store = sites.small(), ground.folder / "store"
    with LoopbackWeb(web.routes, names=web.names) as servers:
        lines = sites.lines_of(PLAN, servers.port)
        for _ in range(2):
            assert ground.crawl(lines, store, names=web.names, arguments=PLAN.arguments).exit == 3
    return store


def copy(store: Path, folder: Path) -> Path:
    return shutil.copytree(store, folder / "changed", ignore=shutil.ignore_patterns("lock"))


def first(rows: Rows, **wanted: object) -> Row:
    return next(row for row in rows if all(row.get(key) == value for key, value in wanted.items()))


def put(**values: object) -> Callable[[Row], None]:
    return lambda row: row.update(values)


def header(name: str, value: str) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        row["headers"] = [[key, value if key == name else old] for key, old in row["headers"]]

    return change


def hop(**values: object) -> Callable[[Row], None]:
    return lambda row: row["chain"][0].update(values)


# file, a row of it, what is done to it -> what is said.
CHANGES: dict[str, tuple[File, Row, Callable[[Row], None], str]] = {
    "status": (File.REQUESTS, {"status": 200}, put(status=500), "requests.jsonl:"),
    "page-status": (File.PAGES, {"status": 200}, put(status=201), "pages.jsonl:"),
    "header": (File.REQUESTS, {"status": 302}, header("Location", "/elsewhere"), "pages.jsonl:3: visit was 4, and is"),
    "pause": (File.REQUESTS, {"pause_basis": "crawl-delay"}, put(pause_s=0.02), "pause_s was 0.02, and is 0.03 now"),
    "decision": (File.PAGES, {"status": 200}, hop(decision="disallow"), "chain[0].decision was 'disallow', and is"),
    "rule": (File.PAGES, {"outcome": "disallowed"}, hop(rule_line=1), "chain[0].rule_line was 1, and is 3 now"),
    "outcome": (File.PAGES, {"outcome": "blocked"}, put(outcome="failed"), "outcome was 'failed', and is 'blocked'"),
    "robots-state": (File.ROBOTS, {"state": "absent"}, put(state="parsed"), "state was 'parsed', and is 'absent' now"),
    "link": (File.LINKS, {"followed": True}, put(followed=False), "followed was False, and is True now"),
    "intent": (File.INTENTS, {"line": 2}, put(url="http://a.test/"), "intents.jsonl:1: url was 'http://a.test/'"),
    "host": (File.REQUESTS, {"kind": "page"}, put(host="z.test"), "a request to z.test was next, and one to a.test"),
    "visit": (File.REQUESTS, {"visit": 2}, put(visit=7), "visit was 7, and is 2 now"),
    "other-part": (File.REQUESTS, {"kind": "page"}, put(visit=None), "another part of the crawl asked for http://a.test"),
    "verdict": (File.MANIFEST, {"event": "end"}, put(exit=0), "manifest.jsonl:2: exit was 0, and is 3 now"),
}  # fmt: skip
# file, a row of it that is left out -> what is said.
LOST: dict[str, tuple[File, Row, str]] = {
    "page": (File.PAGES, {"visit": 2}, "pages.jsonl:"),
    "last-page": (File.PAGES, {"run": 2, "outcome": "blocked"}, "pages.jsonl:"),
    "robots": (File.ROBOTS, {"id": 2}, "requests.jsonl:4: pause_s was 0.03, and is 0.0 now"),
    "intent": (File.INTENTS, {"visit": 3}, "intents.jsonl:2: "),
    "link": (File.LINKS, {"n": 2}, "links.jsonl:2: n was 3, and is 2 now"),
    "end": (File.MANIFEST, {"event": "start", "run": 2}, "manifest.jsonl:3: a run ends here that did not start"),
    "settle": (File.REQUESTS, {"event": "settle", "n": 3}, "requests.jsonl:"),
}


def changed(store: Path, folder: Path, file: File, change: Callable[[Rows], None]) -> Path:
    new = copy(store, folder)
    rows = records(new, file)
    change(rows)
    (new / file).write_bytes(b"".join(map(to_line, rows)))
    return new


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_line_is_shown(ground: Ground, store: Path, tmp_path: Path, name: str) -> None:
    file, row, change, said = CHANGES[name]
    found = ground.replay(changed(store, tmp_path, file, lambda rows: change(first(rows, **row))))
    found.differs(said, ".jsonl:")


@pytest.mark.parametrize("name", LOST)
def test_a_lost_line_is_shown(ground: Ground, store: Path, tmp_path: Path, name: str) -> None:
    file, row, said = LOST[name]
    found = ground.replay(changed(store, tmp_path, file, lambda rows: rows.remove(first(rows, **row))))
    if found.done.exit == 2:
        assert (said in found.done.text, found.done.text.count("\n")) == (True, 1)
    else:
        found.differs(said)


def test_a_line_that_is_none_of_a_store_is_shown(ground: Ground, store: Path, tmp_path: Path) -> None:
    new = changed(store, tmp_path, File.REQUESTS, lambda rows: first(rows, n=4).pop("judged_at"))
    found = ground.replay(new)
    said = f"scrapy replay: {new}/requests.jsonl:7: no 'judged_at'\n"
    assert (found.done.exit, found.done.text) == (2, said)


@pytest.mark.parametrize("file", [File.PAGES, File.ROBOTS])
@pytest.mark.parametrize("content", [None, b"another"], ids=["gone", "another"])
def test_a_changed_body_is_shown(
    ground: Ground, store: Path, tmp_path: Path, file: File, content: bytes | None
) -> None:
    new = copy(store, tmp_path)
    rows = records(new, file)
    place, sha256 = next((place, row["sha256"]) for place, row in enumerate(rows, 1) if row["sha256"])
    body = new / "bodies" / sha256[:2] / sha256
    body.unlink() if content is None else body.write_bytes(content)
    ground.replay(new).differs(f"{file}:{place}: bodies/{sha256[:2]}/{sha256} is missing or changed")


def test_what_was_replayed_is_kept_and_said_to_be_no_crawl(store: Path, tmp_path: Path) -> None:
    edited = changed(store, tmp_path, File.PAGES, lambda rows: first(rows, visit=3).update(status=599))
    new = tmp_path / "new"
    ended = scrapy(["replay", str(edited), "-a", f"store={new}"], tmp_path)
    assert (ended.exit, ended.log) == (1, "")
    [head, difference, kept] = ended.out.splitlines()
    assert head.startswith(f"Replayed {edited} into {new}: ")
    assert difference.startswith("NOT the same: pages.jsonl:")
    assert kept == f"What was replayed up to there is kept in {new}, to be looked at; it is no crawl to go on with."
    pages = records(new, File.PAGES)
    assert pages == records(store, File.PAGES)[: len(pages)]
    assert [row["event"] for row in records(new, File.MANIFEST)] == ["start"]
    assert bodies(new).items() <= bodies(store).items()


def test_a_crawl_with_requests_of_another_part(ground: Ground, tmp_path: Path) -> None:
    web, store = sites.small(), tmp_path / "store"
    with LoopbackWeb(web.routes, names=web.names) as servers:
        aside = {"name": "aside", "url": servers.url("c.test", "/aside")}
        plan = {"before": [], "beside": [[aside]], "queued": []}
        settings = {
            "ROGUE_PLAN": json.dumps(plan),
            "ROGUE_REPORT": tmp_path / "report",
            **added("EXTENSIONS", rogue__Rogue=1),
        }
        ground.crawl(sites.lines_of(PLAN, servers.port), store, names=web.names, settings=settings)
    assert None in [row["visit"] for row in records(store, File.REQUESTS) if row["event"] == "claim"]
    ground.replay(store).differs("another part of the crawl asked for http://c.test:")
