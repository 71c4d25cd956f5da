"""JSON lines on a disk: exact bytes, ends torn by a crash, disks that are full, and files that are not ours."""

import errno
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seaspider import journal
from seaspider.core.records import to_line
from seaspider.errors import ExitCode, StoreError
from seaspider.journal import JournalFile, Row

LINE = b'{"v":1,"run":1}\n'


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes: a write reaches it in part, then fails (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# --- writing ---


def test_the_exact_bytes_of_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    file = JournalFile(path)
    file.append(to_line({"run": 1, "text": "é\u2028\n\ud800", "b": None, "a": [True, 1.5]}))
    file.append(to_line({}))
    file.close()
    assert path.read_bytes() == (
        b'{"v":1,"run":1,"text":"\\u00e9\\u2028\\n\\ud800","b":null,"a":[true,1.5]}\n{"v":1}\n'
    )


def test_a_file_is_gone_on_with(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE)
    file = JournalFile(path)
    file.append(to_line({"run": 2}))
    file.close()
    assert path.read_bytes() == LINE + b'{"v":1,"run":2}\n'


@pytest.mark.parametrize("room", range(1, len(LINE)))
def test_a_line_that_does_not_fit_is_not_there_at_all(tmp_path, room):
    path = tmp_path / "a.jsonl"
    file = JournalFile(path)
    file.append(to_line({"run": 1}))
    with files_end_at(len(LINE) + room), pytest.raises(OSError, match=re.escape(f"[Errno {errno.EFBIG}]")):
        file.append(to_line({"run": 2}))
    file.close()
    assert path.read_bytes() == LINE


def test_a_full_device_is_an_error():
    file = JournalFile(Path("/dev/full"))
    with pytest.raises(OSError, match=re.escape(f"[Errno {errno.ENOSPC}]")):
        file.append(to_line({"run": 1}))
    file.close()


# --- reading ---


def test_lines_come_back_with_their_places(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"v":1,"run":1}\n{"v":1,"run":2,"new key":0}\n')
    assert list(journal.read(path)) == [
        Row(f"{path}:1", {"v": 1, "run": 1}),
        Row(f"{path}:2", {"v": 1, "run": 2, "new key": 0}),
    ]
    assert journal.last(path) == Row(f"{path}, last line", {"v": 1, "run": 2, "new key": 0})


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_no_lines(tmp_path, content):
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert list(journal.read(path)) == []
    assert journal.last(path) is None
    assert journal.cut_torn_end(path) == 0


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(
    "content", [b"", b"a", b"a\n", b"a\nbc\n\ndefgh\ni\nj", b"abcdefghijklmnop\nq\n", b"\n\n\n", b"abcdefghijklmnop"]
)
def test_blocks_have_each_whole_line_once_whatever_their_size(tmp_path, monkeypatch, content, step, size):
    monkeypatch.setattr(journal, "_READ_BYTES", size)
    monkeypatch.setattr(journal, "_PROBE_BYTES", 1)
    (path := tmp_path / "a.jsonl").write_bytes(content)
    every = list(journal.blocks(path))
    assert len(every) == -(-len(content) // size)
    assert b"".join(every) == content[: content.rfind(b"\n") + 1]
    assert all(block.endswith(b"\n") for block in every if block)
    for first in range(step):
        assert list(journal.blocks(path, first, step)) == every[first::step]


def test_the_last_line_may_be_long_or_the_only_one(tmp_path):
    path = tmp_path / "a.jsonl"
    for text in ("x" * 200_000, "x"):
        JournalFile(path).append(to_line({"text": text}))
        assert journal.last(path) == Row(f"{path}, last line", {"v": 1, "text": text})
        assert journal.cut_torn_end(path) == 0


NOT_OURS = [
    (b"hello\n", "not a JSON line: b'hello\\n'"),
    (b"\n", "not a JSON line: b'\\n'"),
    (b'{"v":1,"run":1}{"v":1}\n', 'not a JSON line: b\'{"v":1,"run":1}{"v":1}\\n\''),
    (b'{"v":1,"text":"\xff"}\n', 'not a JSON line: b\'{"v":1,"text":"\\xff"}\\n\''),
    (b"[" * 100_000 + b"\n", "not a JSON line: b'" + "[" * 80 + "'"),
    (b"[1]\n", "not a JSON object: b'[1]\\n'"),
    (b"1\n", "not a JSON object: b'1\\n'"),
    (b'{"run":1}\n', "format not named; this version of Seaspider reads format 1"),
    (b'{"v":2,"run":1}\n', "format 2; this version of Seaspider reads format 1"),
    (b'{"v":"1"}\n', "format '1'; this version of Seaspider reads format 1"),
    (b'{"v":true}\n', "format True; this version of Seaspider reads format 1"),
    (b'{"v":1.0}\n', "format 1.0; this version of Seaspider reads format 1"),
    (b'\xef\xbb\xbf{"v":1}\n', "not a JSON line: b'\\xef\\xbb\\xbf{\"v\":1}\\n'"),
    ('{"v":1}\n'.encode("utf-16-be"), "not a JSON line: " + repr('{"v":1}\n'.encode("utf-16-be"))),
    (b'{"v":null}\n', "format None; this version of Seaspider reads format 1"),
]


@pytest.mark.parametrize(("line", "why"), NOT_OURS, ids=[str(line[:24]) for line, _ in NOT_OURS])
def test_a_line_that_is_not_ours_is_refused_by_file_and_line(tmp_path, line, why):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE + line)
    with pytest.raises(StoreError) as caught:
        list(journal.read(path))
    assert str(caught.value) == f"{path}:2: {why}"
    assert caught.value.exit_code is ExitCode.STORE
    with pytest.raises(StoreError, match=r"last line: "):
        journal.last(path)


def test_a_value_is_taken_by_key_and_type():
    row = Row("a.jsonl:7", {"v": 1, "n": 3, "text": "x", "none": None, "flag": True})
    assert (row.get("n", int), row.get("text", str), row.get("flag", bool)) == (3, "x", True)
    assert (row.optional("text", str), row.optional("none", str)) == ("x", None)
    for take, why in [
        (lambda: row.get("other", int), "no 'other'"),
        (lambda: row.optional("other", int), "no 'other'"),
        (lambda: row.get("none", str), "'none' is None, not of type str"),
        (lambda: row.get("text", int), "'text' is 'x', not of type int"),
        (lambda: row.get("flag", int), "'flag' is True, not of type int"),
        (lambda: row.optional("n", str), "'n' is 3, not of type str"),
    ]:
        with pytest.raises(StoreError) as caught:
            take()
        assert str(caught.value) == f"a.jsonl:7: {why}"


def test_a_complaint_is_short_whatever_the_row_holds(tmp_path):
    path = tmp_path / "a.jsonl"
    assert str(Row("a.jsonl:7", {"n": "x" * 10_000}).error("y" * 501)) == "a.jsonl:7: " + "y" * 500 + "..."
    with pytest.raises(StoreError) as caught:
        Row("a.jsonl:7", {"n": "x" * 10_000}).get("n", int)
    assert str(caught.value) == "a.jsonl:7: 'n' is '" + "x" * 492 + "..."
    path.write_bytes(b'{"v":"' + b"x" * 10_000 + b'"}\n')
    with pytest.raises(StoreError) as caught:
        list(journal.read(path))
    reads = "this version of Seaspider reads format 1"
    assert str(caught.value) == f"{path}:1: format '" + "x" * 79 + f"; {reads}"


# --- torn ends ---

TORN = [b"{", b'{"v"', b'{"v":1', b'{"v":1,"run":2', b'{"v":1,"run":2}', b'{"v":1,"x":"' + b"y" * 200_000, b"\0" * 4096]


@pytest.mark.parametrize("torn", TORN, ids=[str(torn[:20]) for torn in TORN])
@pytest.mark.parametrize("before", [b"", LINE, LINE * 3], ids=["no-line", "one-line", "three-lines"])
def test_a_torn_end_is_cut(tmp_path, before, torn):
    path = tmp_path / "a.jsonl"
    path.write_bytes(before + torn)
    assert journal.cut_torn_end(path) == len(torn)
    assert path.read_bytes() == before
    assert journal.cut_torn_end(path) == 0


@pytest.mark.parametrize("end", [b"hello", b'{"v":2,"run":1}', b'{"run":1', b" "], ids=str)
def test_an_end_that_is_not_ours_is_left_alone(tmp_path, end):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE + end)
    with pytest.raises(StoreError) as caught:
        journal.cut_torn_end(path)
    assert str(caught.value) == f"{path}: ends in what is no line of a store: {end!r}"
    assert path.read_bytes() == LINE + end


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", Path("/dev/zero")):
        with pytest.raises(StoreError, match=f"^{path}: is no regular file$"):
            journal.cut_torn_end(path)
