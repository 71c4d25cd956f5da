"""A queue that another process reads gives what it gives when it is read here."""

import os
import signal
from pathlib import Path

import pytest

from seaspider import queueworker, readahead
from seaspider.core.plainurls import Origins
from seaspider.core.queue import QueueError
from seaspider.queuefile import QueueFile

QUEUE = b"""# a queue
http://b.test/2

no url
HTTP://B.test/2#again
http://a.test/x/../1
http://a.test:81/\xc3\x9f
\xff
"""
FAULTS = {
    "no-url": b"# nothing\n\nno url\n",
    "empty": b"",
    "nul": b"http://a.test/\n\0",
    "utf-16": "http://a.test/\n".encode("utf-16"),
}


@pytest.fixture(autouse=True)
def it_pays(monkeypatch):
    monkeypatch.setattr(readahead, "PAYS_FROM_BYTES", 0)


def read(path, by, part=False):
    queue, origins, found = QueueFile(str(path), part=part), Origins(), []
    for block in by(queue, origins):
        found.append((list(block.lines), list(block.origins), block.urls, block.rejected, block.rejected_raws))
    return found, queue.counts, queue.sha256, origins.texts, origins.hosts


@pytest.mark.parametrize("times", [1, 20_000], ids=["one-block", "many-blocks"])
@pytest.mark.parametrize("part", [False, True], ids=["whole", "part"])
def test_the_same_as_here(tmp_path, times, part):
    (path := tmp_path / "queue.txt").write_bytes(QUEUE * times)
    assert read(path, queueworker.blocks, part) == read(path, QueueFile.blocks, part)


def test_modules_of_the_folder_we_are_in_do_not_get_in_the_way(tmp_path, monkeypatch):
    (path := tmp_path / "queue.txt").write_bytes(QUEUE)
    for name in ("gzip.py", "seaspider.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    assert read(path, queueworker.blocks) == read(path, QueueFile.blocks)


@pytest.mark.parametrize("content", FAULTS.values(), ids=FAULTS.keys())
def test_the_same_complaint_as_here(tmp_path, content):
    (path := tmp_path / "queue.txt").write_bytes(content)
    said = []
    for by in (queueworker.blocks, QueueFile.blocks):
        with pytest.raises(QueueError) as caught:
            read(path, by)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_an_origin_that_is_met_here_is_known(tmp_path):
    (path := tmp_path / "queue.txt").write_bytes(QUEUE)
    _, _, _, texts, _ = read(path, queueworker.blocks)
    queue, origins = QueueFile(str(path)), Origins()
    list(queueworker.blocks(queue, origins))
    assert origins.written([f"{text}/".encode() for text in texts]) == [0, 1, 2]


def children() -> list[int]:
    return list(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def test_a_process_that_is_killed_is_told(tmp_path):
    (path := tmp_path / "queue.txt").write_bytes(QUEUE * 100_000)
    before = children()
    found = queueworker.blocks(QueueFile(str(path)), Origins())
    next(found)
    (reader,) = set(children()) - set(before)
    os.kill(reader, signal.SIGKILL)
    with pytest.raises(QueueError, match="the process that reads it ended early"):
        list(found)


def test_nobody_is_left_when_the_rest_is_not_wanted(tmp_path):
    (path := tmp_path / "queue.txt").write_bytes(QUEUE * 100_000)
    before = children()
    found = queueworker.blocks(QueueFile(str(path)), Origins())
    next(found)
    found.close()
    assert children() == before


@pytest.mark.parametrize("name", ["queue.txt.gz", "-", "missing", "nul\0"])
def test_what_is_no_plain_file_is_read_here(tmp_path, name):
    assert QueueFile(name if name == "-" else f"{tmp_path}/{name}").plain_bytes is None
