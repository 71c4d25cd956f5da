"""Queues on a disk, in a pipe and on standard input: read once, or refused with one clear line."""

import errno
import gzip
import hashlib
import io
import os
import sys
import threading

import pytest

from seaspider.core.queue import Counts, Entry, QueueError, Skipped
from seaspider.queuefile import QueueFile

CONTENT = b"# queue\nhttp://h.test/a\nhttp://h.test/b\nhttp://h.test/a\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
COUNTS = Counts(lines=4, comment=1, entries=2, duplicate=1)


def check_whole(queue):
    assert [item.url.text for item in queue if isinstance(item, Entry)] == ["http://h.test/a", "http://h.test/b"]
    assert queue.counts == COUNTS
    assert queue.sha256 == SHA256


def problem(path, **options):
    with pytest.raises(QueueError) as caught:
        list(QueueFile(str(path), **options))
    message = str(caught.value)
    assert message.startswith(f"queue {str(path)!a}: ")
    assert "\n" not in message
    return message.split(": ", 1)[1]


def test_plain_file(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(CONTENT)
    check_whole(QueueFile(str(path)))


@pytest.mark.parametrize("name", ["urls.txt.gz", "URLS.GZ"])
def test_gzip_has_the_digest_of_its_content(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT[:20]) + gzip.compress(CONTENT[20:]))
    check_whole(QueueFile(str(path)))


def test_given_standard_input():
    check_whole(QueueFile("-", stdin=io.BytesIO(CONTENT)))


def test_standard_input_of_the_process(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENT)))
    check_whole(QueueFile("-"))


def test_fifo(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[CONTENT])
    writer.start()
    check_whole(QueueFile(str(path)))
    writer.join(timeout=5)
    assert not writer.is_alive()


def test_done_is_asked(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(CONTENT)
    items = list(QueueFile(str(path), done={"http://h.test/a"}.__contains__))
    assert [(item.line, isinstance(item, Skipped)) for item in items] == [(2, True), (3, False), (4, True)]


def test_a_large_file_is_read_in_pieces(tmp_path):
    content = b"".join(b"http://h%d.test/\n" % number for number in range(20_000))
    path = tmp_path / "urls.txt"
    path.write_bytes(content)
    queue = QueueFile(str(path))
    items = iter(queue)
    assert next(items).line == 1
    assert queue.sha256 != hashlib.sha256(content).hexdigest()
    assert sum(1 for _ in items) == 19_999
    assert queue.sha256 == hashlib.sha256(content).hexdigest()


def test_missing(tmp_path):
    assert problem(tmp_path / "none.txt") == "No such file or directory"
    assert problem(tmp_path / "none.txt.gz") == "No such file or directory"


def test_directory(tmp_path):
    assert problem(tmp_path) == "Is a directory"


def test_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    assert problem(tmp_path / "file" / "urls.txt") == "Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    path = tmp_path / "urls.txt"
    path.touch(mode=0)
    assert problem(path) == "Permission denied"


def test_read_error():
    class FailingDisk(io.BytesIO):
        def read(self, size=-1, /):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(QueueError, match=r"^queue standard input: Input/output error$"):
        list(QueueFile("-", stdin=FailingDisk()))


def test_names_that_cannot_be():
    assert problem("a\0b") == "embedded null byte"
    assert problem("a\nb") == "No such file or directory"


@pytest.mark.parametrize("name", ["urls.txt", "urls.gz"])
def test_empty(tmp_path, name):
    (tmp_path / name).touch()
    assert problem(tmp_path / name) == "is empty"


def test_no_url(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(b"h.test\n")
    assert problem(path) == "no line is a URL (1 rejected)"


GZIP = gzip.compress(b"".join(b"http://h%d.test/\n" % number for number in range(20_000)))

BROKEN = {
    "plain": CONTENT,
    "cut": GZIP[:-9],
    "cut-in-the-trailer": GZIP[:-1],
    "header-only": GZIP[:10],
    "checksum": GZIP[:-8] + b"\0\0\0\0" + GZIP[-4:],
    "damaged": GZIP[:1000] + b"\xff" * 64 + GZIP[1064:],
    "rubbish-behind": GZIP + b"rubbish",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_broken_gzip(tmp_path, content):
    path = tmp_path / "urls.gz"
    path.write_bytes(content)
    assert problem(path).startswith("broken gzip: ")


def test_gzip_by_another_name(tmp_path):
    path = tmp_path / "urls.txt"
    path.write_bytes(GZIP)
    assert problem(path) == "is gzip data, but its name does not end in .gz"


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(QueueError, match=r"^queue standard input: is closed$"):
        list(QueueFile("-"))


def test_empty_standard_input():
    with pytest.raises(QueueError, match=r"^queue standard input: is empty$"):
        list(QueueFile("-", stdin=io.BytesIO()))
