"""A queue that is loaded by the block gives the visits and the rows that it gives line by line."""

import json

import pytest

from seaspider import queueworker, readahead, spool
from seaspider.core.queue import Entry, Fate, QueueReader, Skipped
from seaspider.core.records import to_line
from seaspider.core.urls import normalise
from seaspider.core.visits import Visit
from seaspider.knownurls import KnownUrls, Mark
from seaspider.loading import Loading, done_line, duplicate_line, skipped_record
from seaspider.queuefile import QueueFile

DONE = "http://b.test/done"
QUEUE = b"""# a queue
http://b.test/2
http://a.test/1
no url
HTTP://B.test/2#again
http://b.test/done
http://b.test/done
http://b.test:81/3
http://b.test/failed

http://a.test/x/../1
http://b.test/?"
http://b.test/?\\
http://b.test/?\\
http://b.test/4"""


def loaded(path, urls, number=3):
    loading = Loading(number, urls, lambda number: Visit(normalise(urls.text(number)), urls.lines[number]))
    queue = QueueFile(str(path))
    with queueworker.started(queue) as reader:
        rows = [json.loads(line) for lines in loading.read(queue, reader) for line in lines.splitlines()]
    return {origin: visits for _, origin, visits in loading.waiting()}, rows, queue.counts


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("block", [1, 1 << 20], ids=["in-the-file", "in-memory"])
@pytest.mark.parametrize("digest", [hash, lambda text: 7], ids=["hash", "all-one"])
def test_as_line_by_line(tmp_path, monkeypatch, chunk, block, digest):
    monkeypatch.setattr("seaspider.queuefile._CHUNK_BYTES", chunk)
    check(tmp_path, monkeypatch, block, digest)


@pytest.mark.parametrize("digest", [hash, lambda text: 7], ids=["hash", "all-one"])
def test_many_that_another_process_reads(tmp_path, monkeypatch, digest):
    monkeypatch.setattr(readahead, "PAYS_FROM_BYTES", 0)
    monkeypatch.setattr(spool, "_AT_ONCE", 1)
    monkeypatch.setattr("seaspider.loading._MANY", 0)
    check(tmp_path, monkeypatch, 1, digest)


def check(tmp_path, monkeypatch, block, digest):
    monkeypatch.setattr(spool, "_BLOCK_BYTES", block)
    (path := tmp_path / "queue.txt").write_bytes(QUEUE)
    urls = KnownUrls(digest)
    urls.mark("http://b.test/failed", Mark.FAILED)
    urls.mark(DONE, Mark.DONE)
    waiting, rows, counts = loaded(path, urls)
    reader = QueueReader({DONE}.__contains__)
    items = list(reader.read([QUEUE]))
    assert rows == [json.loads(to_line(skipped_record(3, item))) for item in items if isinstance(item, Skipped)]
    assert counts == reader.counts
    expected: dict[str, list[tuple[int, str]]] = {}
    for item in items:
        if isinstance(item, Entry):
            expected.setdefault(item.url.origin, []).append((item.line, item.url.text))
    assert {
        origin: [(visit.line, visit.url.text) for visit in visits] for origin, visits in waiting.items()
    } == expected
    for origin, visits in waiting.items():
        assert (visits.last, len(visits)) == (15, len(expected[origin]))
        for line, text in expected[origin]:
            assert visits.first == line
            visit = visits.take()
            assert (visit.line, visit.url.text) == (line, text)
        assert len(visits) == 0


@pytest.mark.parametrize(
    "url", ["http://h.test/", 'http://h.test/?"', "http://h.test/?\\"], ids=["plain", "quote", "slash"]
)
def test_rows_are_as_records_are(url):
    assert duplicate_line((2, 5, url.encode(), 1)) == to_line(
        skipped_record(2, Skipped(5, Fate.DUPLICATE, url=url, of=1))
    )
    assert done_line((2, 5, url.encode())) == to_line(skipped_record(2, Skipped(5, Fate.DONE, url=url)))
