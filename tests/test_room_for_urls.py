"""The URLs that wait need room on a disk. Where there is none the run says so before any request, and loses nothing."""

from pathlib import Path

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import crawl

NAMES = {"a.test": "127.0.18.1"}
FULL = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (900_000, r.getrlimit(r.RLIMIT_FSIZE)[1]))"
# Only the temporary file is on a full disk here: what a link's row takes fits into the store.
STOP_LATE = """
from seaspider import spool
def full(**options):
    raise OSError(28, "No space left on device")
spool.TemporaryFile = full
"""
LONG = "x" * 7_000
PATHS = [f"/{LONG}{number}" for number in range(170)]


@pytest.fixture
def web():
    with LoopbackWeb({"/robots.txt": Answer(404), "/*": Answer()}, names=NAMES) as running:
        yield running


def temporary(folder: Path) -> Path:
    (folder / "tmp").mkdir(exist_ok=True)
    return folder / "tmp"


def test_no_room_for_a_queue(tmp_path: Path, web: LoopbackWeb) -> None:
    queue = [web.url("a.test", path) for path in PATHS]
    tmpdir = temporary(tmp_path)
    ended = crawl(queue, tmp_path, names=NAMES, sabotage=FULL, environment={"TMPDIR": str(tmpdir)})
    assert ended.exit == 2, ended.log
    assert ended.log.splitlines()[-1] == (
        f"scrapy crawl: queue '{tmp_path}/queue.txt': no room in {tmpdir} for the URLs that wait: File too large"
    )
    assert web.arrivals == []
    again = crawl(queue[:3], tmp_path, names=NAMES)
    assert (again.exit, len(again.records("pages"))) == (0, 3), again.log


def test_no_room_for_the_urls_of_a_store(tmp_path: Path, web: LoopbackWeb) -> None:
    queue = [web.url("a.test", path) for path in PATHS]
    assert crawl(queue, tmp_path, names=NAMES).exit == 0
    before, asked = (tmp_path / "store" / "pages.jsonl").read_bytes(), len(web.arrivals)
    tmpdir = temporary(tmp_path)
    ended = crawl(queue, tmp_path, names=NAMES, sabotage=FULL, environment={"TMPDIR": str(tmpdir)})
    assert ended.exit == 74, ended.log
    assert ended.log.splitlines()[-1] == (
        f"scrapy crawl: no room in {tmpdir} for the URLs of the store: File too large"
    )
    assert (len(web.arrivals), (tmp_path / "store" / "pages.jsonl").read_bytes()) == (asked, before)


def test_no_room_for_links_that_are_followed(tmp_path: Path) -> None:
    links = "".join(f"<a href='{path}'>x</a>" for path in PATHS)
    html = Answer(200, (("Content-Type", "text/html"),), links)
    tmpdir = temporary(tmp_path)
    with LoopbackWeb({"/robots.txt": Answer(404), "/": html, "/*": Answer()}, names=NAMES) as web:
        queue = [web.url("a.test", "/")]
        options = {"arguments": {"follow": "host"}, "names": NAMES}
        ended = crawl(queue, tmp_path, sabotage=STOP_LATE, environment={"TMPDIR": str(tmpdir)}, **options)
        assert ended.exit == 74, ended.log
        assert f"no room in {tmpdir} for the URLs that wait: No space left on device" in ended.log
        again = crawl(queue, tmp_path, **options)
        assert again.exit == 0, again.log
        assert len(web.arrivals) == 2 + len(PATHS)
        assert len(again.records("pages")) == 1 + len(PATHS)
