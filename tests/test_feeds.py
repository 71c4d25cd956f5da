"""Feeds: Page records one row each, Links beside them if asked for, and never a hand on the store."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from seaspider import feeds
from seaspider.errors import SettingError
from seaspider.items import Link, Page
from seaspider.loopback import Answer, LoopbackWeb
from tests.commands.many import Case, Result, run
from tests.crawling import ROOT, environment

NAMES = {"a.test": "127.0.10.1"}
HTML = (("Content-Type", "text/html; charset=utf-8"),)
SITES = {
    "a.test/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n"),
    "a.test/": Answer(headers=HTML, body='<a href="/x">x</a> <a href="/y">é, "quoted"</a>'),
    "a.test/x": Answer(headers=HTML, body="nothing"),
    "a.test/more": Answer(headers=HTML, body='<a href="/z">z</a>'),
}
COLUMNS = [field.name for field in fields(Page)]
PAGE, LINK = (f"{kind.__module__}.{kind.__qualname__}" for kind in (Page, Link))


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(SITES, names=NAMES) as running:
        yield running


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, web: LoopbackWeb) -> Path:
    folder = tmp_path_factory.mktemp("feeds")
    first = ["/", "/x", "/no"]
    for name, paths in {"first": first, "more": [*first, "/more"], "last": [*first, "/more", "/last"]}.items():
        (folder / f"{name}.txt").write_text("".join(web.url("a.test", path) + "\n" for path in paths))
    return folder


SCRIPT = """
import json, sys
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
settings = get_project_settings()
settings.update(json.loads(sys.argv[1]))
process = AsyncCrawlerProcess(settings)
process.crawl("seaspider", queue=sys.argv[2], store=sys.argv[3])
process.start()
"""


@pytest.fixture(scope="module")
def results(here: Path) -> dict[str, Result]:
    """Four runs on one store with -O or -o, and one on another with FEEDS."""

    def crawl(queue: str, store: str, *options: str, **settings: object) -> Case:
        return Case(
            ["crawl", "seaspider", "-a", f"queue={here}/{queue}", "-a", f"store={here}/{store}", *options], settings
        )

    both = {
        f"file://{here}/pages.json": {"format": "json", "item_classes": [PAGE]},
        f"{here}/links.jsonl": {"format": "jsonl", "item_classes": [LINK]},
        f"{here}/links.csv": {"format": "csv", "item_classes": [LINK]},
        f"{here}/all.jsonl": {"format": "jsonl"},
    }
    return run(
        {
            "first": crawl("first.txt", "store", "-O", f"{here}/1.csv", "-O", f"{here}/1.jsonl"),
            "more": crawl("more.txt", "store", "-o", f"{here}/all.csv", "-o", f"{here}/2.jsonl"),
            "last": crawl("last.txt", "store", "-o", f"{here}/all.csv"),
            "done": crawl("last.txt", "store", "-O", f"{here}/1.jsonl"),
            "both": crawl("first.txt", "other", FEEDS=json.dumps(both)),
        },
        NAMES,
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def as_cell(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def as_cells(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{name: as_cell(value) for name, value in record.items()} for record in records]


def test_csv_has_a_row_for_each_page_record_with_its_fields_in_order(results: dict[str, Result], here: Path) -> None:
    assert results["first"].exit == 0, results["first"].err
    pages = [page for page in lines(here / "store" / "pages.jsonl") if page["run"] == 1]
    assert (here / "1.csv").read_text("utf-8").splitlines()[0] == ",".join(COLUMNS) == ",".join(pages[0])
    assert rows(here / "1.csv") == as_cells(pages)
    stored, forbidden = json.loads(rows(here / "1.csv")[0]["chain"]), json.loads(rows(here / "1.csv")[2]["chain"])
    assert (stored[0]["status"], forbidden[0]["rule"]) == (200, "Disallow: /no")


def test_json_lines_are_the_page_records(results: dict[str, Result], here: Path) -> None:
    pages = lines(here / "store" / "pages.jsonl")
    # 1.jsonl was written by the first run and overwritten by the last, which had nothing left to do.
    assert results["done"].exit == 0
    assert (here / "1.jsonl").read_bytes() == b""
    assert lines(here / "2.jsonl") == [page for page in pages if page["run"] == 2]
    assert [list(page) for page in lines(here / "2.jsonl")] == [COLUMNS]


def test_an_appended_csv_has_one_header(results: dict[str, Result], here: Path) -> None:
    assert (results["more"].exit, results["last"].exit) == (0, 0)
    assert (here / "all.csv").read_text("utf-8").count("final_url,chain") == 1
    later = [page for page in lines(here / "store" / "pages.jsonl") if page["run"] > 1]
    assert rows(here / "all.csv") == as_cells(later)
    assert [row["run"] for row in rows(here / "all.csv")] == ["2", "3"]


def test_pages_and_links_go_to_the_feeds_that_name_them(results: dict[str, Result], here: Path) -> None:
    assert results["both"].exit == 0, results["both"].err
    pages, links = (lines(here / "other" / f"{name}.jsonl") for name in ("pages", "links"))
    assert json.loads((here / "pages.json").read_text("utf-8")) == pages
    assert lines(here / "links.jsonl") == links
    assert rows(here / "links.csv") == as_cells(links)
    assert [link["text"] for link in links] == ["x", 'é, "quoted"']
    assert lines(here / "all.jsonl") == pages  # names no class: Pages


def test_feeds_do_not_touch_the_store(results: dict[str, Result], here: Path) -> None:
    assert [page["run"] for page in lines(here / "store" / "pages.jsonl")] == [1, 1, 1, 2, 3]
    assert {path.name for path in (here / "store").iterdir()} == {path.name for path in (here / "other").iterdir()}


def test_a_script_with_a_crawler_process_gets_the_same_feeds(here: Path, web: LoopbackWeb) -> None:
    settings = {
        "SEASPIDER_INTERVAL": 0,
        "SEASPIDER_RESOLVE": NAMES,
        "FEEDS": {f"{here}/script.csv": {"format": "csv"}},
    }
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(settings), here / "first.txt", here / "script"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert rows(here / "script.csv") == as_cells(lines(here / "script" / "pages.jsonl"))
    assert len(rows(here / "script.csv")) == 3


# --- without a crawl ---


def completed(**settings: object) -> Settings:
    given = Settings(settings, priority="project")
    feeds.complete(given)
    return given


def test_what_a_feed_says_itself_stands() -> None:
    given = completed(
        FEEDS={"a": {"format": "csv", "item_classes": [LINK]}, "b": {"format": "csv"}},
        FEED_EXPORTERS={"csv": "my.Exporter"},
    )
    assert {uri: feed["item_classes"] for uri, feed in given.getdict("FEEDS").items()} == {"a": [LINK], "b": [PAGE]}
    assert given.getdict("FEED_EXPORTERS") == {"csv": "my.Exporter"}
    assert completed().getpriority("FEEDS") == 0


@pytest.mark.parametrize("feed", ["csv", ["csv"], None], ids=repr)
def test_a_feed_without_options_is_a_setting_error(feed: object) -> None:
    with pytest.raises(SettingError, match=r"^setting FEEDS = \{'a.csv': .*\}: must map each feed to its options"):
        completed(FEEDS={"a.csv": feed})


@pytest.mark.parametrize(
    "uri",
    ["{here}/store/pages.jsonl", "file://{here}/store/x.csv", "{here}/other/../store/a/b.csv", "{here}/link/x.csv"],
    ids=["path", "uri", "dots", "symlink"],
)
def test_a_feed_in_the_store_is_refused_and_nothing_is_written(uri: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to("store")
    (tmp_path / "store" / "pages.jsonl").write_text("kept")
    with pytest.raises(SettingError, match="must not lie in the store"):
        feeds.check(completed(FEEDS={uri.format(here=tmp_path): {"format": "csv"}}), tmp_path / "store")
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["pages.jsonl"]
    assert (tmp_path / "store" / "pages.jsonl").read_text() == "kept"


@pytest.mark.parametrize(("uri", "why"), [("file/x.csv", "Not a directory"), (".", "Is a directory")])
def test_a_feed_that_cannot_be_written_is_refused(uri: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(SettingError, match=f"cannot be written: {why}"):
        feeds.check(completed(FEEDS={str(tmp_path / uri): {"format": "csv"}}), tmp_path / "store")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("uri", ["-", "stdout:", "s3://bucket/x.csv", "/dev/full", "/proc/%(time)s.csv"])
def test_a_feed_that_is_no_file_here_is_not_looked_at(uri: str, tmp_path: Path) -> None:
    feeds.check(completed(FEEDS={uri: {"format": "csv"}}), tmp_path / "store")


def test_checking_leaves_the_contents_of_a_feed(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("kept")
    feeds.check(completed(FEEDS={str(tmp_path / "old.csv"): {"format": "csv"}}), tmp_path / "store")
    assert (tmp_path / "old.csv").read_text() == "kept"


def exported(before: bytes, item: Any, **options: Any) -> str:
    file = BytesIO(before)
    file.seek(0, 2)
    exporter = feeds.RecordCsvExporter(file, **options)
    exporter.start_exporting()
    exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue().decode()


def test_several_values_in_a_cell_are_json() -> None:
    item = {"flags": ["a,b", "c"], "chain": [{"é": None}], "none": None, "text": "t"}
    assert exported(b"", item) == 'flags,chain,none,text\r\n"[""a,b"", ""c""]","[{""é"": null}]",,t\r\n'


def test_a_header_comes_first_or_not_at_all() -> None:
    assert exported(b"a\r\n1\r\n", {"a": 2}) == "a\r\n1\r\n2\r\n"
    assert exported(b"", {"a": 2}, include_headers_line=False) == "2\r\n"
