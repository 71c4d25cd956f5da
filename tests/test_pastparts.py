"""A store that another process reads ahead tells what it tells when it is read here."""

import os
import signal
from pathlib import Path

import pytest

from seaspider import history, readahead
from seaspider.core.records import File, to_line
from seaspider.core.robotsbook import RobotsBook
from seaspider.errors import StoreError
from seaspider.pastparts import Ahead
from seaspider.storereader import StoreReader
from tests.test_history import POLICY, A, intent, link, page

HOSTS = 20_000


def written(folder: Path, file: File, rows: list[dict[str, object]]) -> None:
    (folder / file).write_bytes(b"".join(to_line({key: row[key] for key in row if key != "v"}) for row in rows))


@pytest.fixture
def store(tmp_path: Path) -> StoreReader:
    """Of more than a block: final records, one of each other kind, and two visits that were under way."""
    urls = [f"http://h{number}.test/" for number in range(HOSTS)]
    pages = [page(url, visit=number) for number, url in enumerate(urls, 1)]
    pages[7] = page(urls[7], "failed", "dns", visit=8)
    pages[-1] = page(urls[-1], "deferred", "backoff", visit=HOSTS)
    pages.append(page(urls[3], status=403, run=2, visit=1))
    intents = [intent(url, visit=number) for number, url in enumerate(urls, 1)]
    intents += [intent(A, visit=HOSTS + 1), intent(urls[3], run=2), intent("http://late.test/", run=2, visit=2)]
    links = [link(url, url, followed=False, visit=number) for number, url in enumerate(urls, 1)]
    links += [link("http://h1.test/2", urls[1], visit=2), link("http://lost.test/", A, visit=HOSTS + 1)]
    for file, rows in ((File.PAGES, pages), (File.INTENTS, intents), (File.LINKS, links)):
        written(tmp_path, file, rows)
    return StoreReader(tmp_path)


@pytest.fixture
def it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readahead, "PAYS_FROM_BYTES", 0)


def read(store: StoreReader, **options: bool) -> history.History:
    return history.read(store, RobotsBook(POLICY), **options)


def children() -> set[int]:
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


@pytest.mark.parametrize("retry_failed", [False, True], ids=["once", "failed-again"])
def test_the_same_as_here(store: StoreReader, monkeypatch: pytest.MonkeyPatch, retry_failed: bool) -> None:
    here = read(store, retry_failed=retry_failed)
    assert (here.runs, here.final, here.begun) == (2, HOSTS - 1, {A, "http://late.test/"})
    assert [each.url.text for each in here.followed] == ["http://h1.test/2"]
    monkeypatch.setattr(readahead, "PAYS_FROM_BYTES", 0)
    before = children()
    there = read(store, retry_failed=retry_failed)
    assert (there, set(there.done), there.urls.marks) == (here, set(here.done), here.urls.marks)
    late = read(store, retry_failed=retry_failed, later=True)
    assert (late.followed, late.begun, len(children() - before)) == ([], set(), 2)
    late.complete()
    late.leave()
    assert (late, children()) == (here, before)


def test_what_is_not_wanted_any_more_is_left(store: StoreReader, it_pays: None) -> None:
    before = children()
    past = read(store, later=True)
    assert len(children() - before) == 2
    past.leave()
    assert children() == before


@pytest.mark.parametrize("file", [File.PAGES, File.INTENTS, File.LINKS])
def test_a_damaged_line_is_refused_by_file_and_line(store: StoreReader, it_pays: None, file: File) -> None:
    lines = (store.folder / file).read_bytes().split(b"\n")
    lines[16_000] = lines[16_000].replace(b'"v":1', b'"v":2')
    (store.folder / file).write_bytes(b"\n".join(lines))
    before = children()
    with pytest.raises(StoreError) as caught:
        read(store)
    assert str(caught.value).startswith(f"{store.folder}/{file}:16001: ")
    assert children() == before


def test_a_file_that_cannot_be_read_is_told_by_the_process(tmp_path: Path) -> None:
    (tmp_path / File.PAGES).mkdir()
    with pytest.raises(StoreError, match=r"pages\.jsonl: Is a directory"):
        list(Ahead(tmp_path / File.PAGES, File.PAGES).parts())


def test_a_process_that_is_killed_is_told(store: StoreReader) -> None:
    before = children()
    found = Ahead(store.folder / File.PAGES, File.PAGES).parts()
    (reader,) = children() - before
    os.kill(reader, signal.SIGKILL)
    with pytest.raises(StoreError, match=r"pages\.jsonl: the process that reads it ended early"):
        list(found)


def test_a_file_that_is_not_there_is_not_read_ahead(tmp_path: Path, it_pays: None) -> None:
    assert read(StoreReader(tmp_path)) == history.History()
