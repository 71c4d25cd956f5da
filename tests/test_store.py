"""The store folder: bodies by digest, one process at a time, and nothing more after the first failed write."""

import errno
import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.errors import ExitCode, StoreError, StoreInUse
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.store import FolderStore, NoStore
from tests.crawling import crawl
from tests.test_journal import LINE, files_end_at

BODY = b"what a page says"
SHA256 = hashlib.sha256(BODY).hexdigest()
FILES = [
    "intents.jsonl",
    "links.jsonl",
    "manifest.jsonl",
    "pages.jsonl",
    "requests.jsonl",
    "robots.jsonl",
    "skipped.jsonl",
]


@pytest.fixture
def store(tmp_path):
    opened = FolderStore(tmp_path / "store")
    yield opened
    opened.close()


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- the folder ---


def test_a_new_store_has_all_files_and_is_made_with_its_parents(tmp_path):
    FolderStore(tmp_path / "new" / "deep" / "store").close()
    assert files_below(tmp_path / "new" / "deep" / "store") == sorted([*FILES, "lock"])


def test_records_go_to_their_files_and_come_back(store):
    store.write(File.LINKS, {"run": 1, "n": 1})
    store.write(File.LINKS, {"run": 1, "n": 2})
    store.write(File.PAGES, {"run": 1})
    assert (store.folder / "links.jsonl").read_bytes() == b'{"v":1,"run":1,"n":1}\n{"v":1,"run":1,"n":2}\n'
    assert (store.folder / "pages.jsonl").read_bytes() == LINE
    assert [row.record for row in store.read(File.LINKS)] == [{"v": 1, "run": 1, "n": n} for n in (1, 2)]
    assert store.last(File.PAGES).record == {"v": 1, "run": 1}
    assert store.last(File.ROBOTS) is None


def test_torn_ends_are_cut_and_told(tmp_path):
    FolderStore(tmp_path).close()
    (tmp_path / "pages.jsonl").write_bytes(LINE + b'{"v":1,"ru')
    (tmp_path / "links.jsonl").write_bytes(LINE)
    store = FolderStore(tmp_path)
    store.close()
    assert store.torn == {"pages.jsonl": 10}
    assert (tmp_path / "pages.jsonl").read_bytes() == LINE


def test_a_folder_with_somebody_elses_files_is_left_as_it_is(tmp_path):
    (tmp_path / "manifest.jsonl").write_bytes(LINE + b'{"v":1')
    (tmp_path / "links.jsonl").write_bytes(b"my own links")
    with pytest.raises(StoreError, match=r"links\.jsonl: ends in what is no line of a store: b'my own links'"):
        FolderStore(tmp_path)
    assert (tmp_path / "links.jsonl").read_bytes() == b"my own links"


@pytest.mark.parametrize("below", ["/dev/null/store", "/proc/no/store"])
def test_a_folder_that_cannot_be(below):
    with pytest.raises(StoreError, match=f"^store '{below}' cannot be written: ") as caught:
        FolderStore(Path(below))
    assert caught.value.exit_code is ExitCode.STORE


def test_a_file_that_is_a_folder(tmp_path):
    (tmp_path / "pages.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"pages\.jsonl: is no regular file$"):
        FolderStore(tmp_path)


def test_one_process_at_a_time(tmp_path):
    first = FolderStore(tmp_path)
    with pytest.raises(StoreInUse, match=f"^store '{tmp_path}' is in use by another process$") as caught:
        FolderStore(tmp_path)
    assert caught.value.exit_code is ExitCode.STORE_IN_USE
    first.close()
    FolderStore(tmp_path).close()


def test_a_refused_folder_is_not_kept_locked(tmp_path):
    (tmp_path / "pages.jsonl").mkdir()
    for _ in range(2):
        with pytest.raises(StoreError):
            FolderStore(tmp_path)


# --- bodies ---


def test_a_body_is_named_by_its_digest_and_written_once(store):
    assert store.put_body(BODY) == SHA256
    path = store.folder / "bodies" / SHA256[:2] / SHA256
    assert path.read_bytes() == BODY
    before = path.stat()
    assert store.put_body(BODY) == SHA256
    assert path.stat() == before
    assert store.body(SHA256) == BODY


def test_an_empty_body_is_kept(store):
    sha256 = store.put_body(b"")
    assert sha256 == hashlib.sha256(b"").hexdigest()
    assert store.body(sha256) == b""


def test_what_a_crash_left_of_a_body_is_written_over(store):
    folder = store.folder / "bodies" / SHA256[:2]
    folder.mkdir()
    (folder / f"{SHA256}.part").write_bytes(b"half of it, or something else that is longer than the body")
    assert store.body(SHA256) is None
    store.put_body(BODY)
    assert files_below(folder) == [SHA256]
    assert store.body(SHA256) == BODY


def test_a_body_that_was_changed_is_none(store):
    store.put_body(BODY)
    (store.folder / "bodies" / SHA256[:2] / SHA256).write_bytes(b"changed")
    assert store.body(SHA256) is None


def test_without_a_store_bodies_are_kept_in_memory():
    store = NoStore()
    store.write(File.PAGES, {"run": 1})
    assert store.put_body(BODY) == SHA256
    assert (store.body(SHA256), store.body("0" * 64)) == (BODY, None)


# --- the latch ---


def check_latched(store, path):
    """Nothing goes on after the first failed write, though there is room again."""
    assert str(store.failed) == f"{path} cannot be written: {os.strerror(errno.EFBIG)}"
    for write in (
        lambda: store.write(File.LINKS, {"run": 1}),
        lambda: store.put_body(b""),
        lambda: store.put_body(BODY),
    ):
        with pytest.raises(StoreError, match=re.escape(str(store.failed))):
            write()
    assert (store.folder / "links.jsonl").read_bytes() == b""


def test_the_first_failed_line_latches_the_store(store):
    store.write(File.PAGES, {"run": 1})
    with files_end_at(len(LINE) + 5), pytest.raises(StoreError):
        store.write(File.PAGES, {"run": 1})
    check_latched(store, store.folder / "pages.jsonl")
    assert (store.folder / "pages.jsonl").read_bytes() == LINE


def test_the_first_failed_body_latches_the_store(store):
    with files_end_at(5), pytest.raises(StoreError):
        store.put_body(BODY)
    check_latched(store, store.folder / "bodies" / SHA256[:2] / SHA256)
    assert store.body(SHA256) is None


# --- a crawl whose disk is full ---

NAMES = {"a.test": "127.0.0.2", "b.test": "127.0.0.3"}
HTML = (("Content-Type", "text/html"),)


@pytest.fixture(scope="module")
def web():
    routes = {f"/{n}": Answer(200, HTML, f"<p>{n}" + "." * 3000) for n in range(3)}
    with LoopbackWeb({"/robots.txt": Answer(404), **routes}, names=NAMES) as running:
        yield running


def no_file_beyond(size):
    return f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size}, r.getrlimit(r.RLIMIT_FSIZE)[1])); "


# what may be written, and the file that is then the first to be full
FULL = [(0, "manifest.jsonl"), (2500, "bodies/"), (3100, ".jsonl")]


@pytest.mark.parametrize(("size", "first"), FULL, ids=["nothing", "no-body", "some-lines"])
def test_a_full_disk_ends_the_crawl_and_what_is_recorded_stays(tmp_path, web, size, first):
    web.clear()
    queue = [web.url(name, f"/{n}") for name in NAMES for n in range(3)]
    ended = crawl(
        queue,
        tmp_path,
        names=NAMES,
        sabotage=no_file_beyond(size),
        settings={"SEASPIDER_LEDGER": ":memory:"},
        cold=True,  # its log is no file
    )
    assert ended.exit == 74
    last_line = ended.log.splitlines()[-1]
    assert re.fullmatch(rf"scrapy crawl: {tmp_path}/store/\S*{first}\S* cannot be written: File too large", last_line)
    assert "Traceback" not in ended.log
    asked = len(web.arrivals)
    assert (asked == 0) == (size == 0)
    assert asked < 8  # two robots.txt and six pages
    for file in FILES:
        for line in (ended.store / file).read_text().splitlines():
            json.loads(line)
    recorded = [page["url"] for page in ended.records("pages")]
    assert [row["event"] for row in ended.records("manifest")] == ["start"] * (size > 0)

    again = crawl(queue, tmp_path, names=NAMES)
    assert again.exit == 0
    assert sorted(page["url"] for page in again.records("pages")) == sorted(queue)
    assert [page["url"] for page in again.records("pages")][: len(recorded)] == recorded


def test_a_store_in_use_ends_the_second_process(tmp_path, web):
    web.clear()
    store = FolderStore(tmp_path / "store")
    ended = crawl([web.url("a.test", "/0")], tmp_path, names=NAMES)
    store.close()
    assert ended.exit == 75
    assert ended.log == f"scrapy crawl: store '{tmp_path}/store' is in use by another process\n"
    assert web.connections == 0
    assert all((tmp_path / "store" / file).read_bytes() == b"" for file in FILES)


def test_a_store_of_another_format_ends_the_process(tmp_path, web):
    web.clear()
    FolderStore(tmp_path / "store").close()
    (tmp_path / "store" / "pages.jsonl").write_text('{"v":9,"run":1}\n')
    ended = crawl([web.url("a.test", "/0")], tmp_path, names=NAMES)
    assert ended.exit == 74
    assert (
        ended.log
        == f"scrapy crawl: {tmp_path}/store/pages.jsonl:1: format 9; this version of Seaspider reads format 1\n"
    )
    assert web.connections == 0
