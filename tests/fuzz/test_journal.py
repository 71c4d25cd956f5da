"""Journal files and what is read of them: any bytes give rows or a StoreError that names file and line.

Held against `seaspider.journal` and `seaspider.history`: a file cut at any byte loses its last line at most, bytes
changed anywhere give rows or one line of complaint, a store whose records are changed at any place is read or refused,
never half believed. Seeds: those of `budgets`; cuts are tried at every byte.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider import history, journal
from seaspider.core.records import File, to_line
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.errors import StoreError
from seaspider.journal import Row
from tests.fuzz.budgets import examples
from tests.test_history import intent, link, page, robots

A, B, C = (f"http://{name}.test/x" for name in "abc")
LINES = [
    to_line(record) for record in (page(A), {}, {"text": 'é"\n\u2028\ud800', "deep": [[{"a": [1.5, None]}]]}, link(B))
]
WHOLE = b"".join(LINES)
LONGEST_MESSAGE = 1_000

PIECES = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"', b'"v"', b'"v":1', b'{"v":1', b'{"v":1}', b":", b",", b"1", b"true", b"NaN", b"-",
     b"1e999", b"\\u", b"\\ud800", b"\n", b"\r", b"\0", b"\x00\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b" ", b"a",
     b"9" * 5_000, b"[" * 2_000, b'{"v":' * 400, b'{"v":1,"x":"y"}\n']
)  # fmt: skip
SOUP = st.lists(PIECES | st.binary(max_size=3), max_size=12).map(b"".join)
EDITS = st.lists(
    st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 3), st.binary(max_size=2) | PIECES), min_size=1, max_size=3
)


def complaint(error: StoreError, path: Path, *, line: bool = True) -> None:
    """One line of bounded length that names the file, and the line where there is one."""
    message = str(error)
    assert re.match(re.escape(str(path)) + (r"(?::[0-9]+|, last line): " if line else ": "), message), message
    assert len(message) - len(str(path)) <= LONGEST_MESSAGE
    assert "\n" not in message
    assert "\r" not in message


def rows(path: Path) -> list[dict[str, Any]] | None:
    """All records; None if the file is refused."""
    found = []
    try:
        for number, row in enumerate(journal.read(path), 1):
            assert row.place == f"{path}:{number}"
            assert row.get("v", int) == 1
            found.append(row.record)
    except StoreError as error:
        complaint(error, path)
        return None
    return found


def last(path: Path) -> dict[str, Any] | None:
    try:
        row = journal.last(path)
    except StoreError as error:
        complaint(error, path)
        return None
    return None if row is None else row.record


def test_a_file_cut_at_any_byte_loses_its_last_line_at_most(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [json.loads(line) for line in LINES]
    for size in range(len(WHOLE) + 1):
        path.write_bytes(WHOLE[:size])
        whole = WHOLE[:size].count(b"\n")
        assert rows(path) == records[:whole]
        assert last(path) == (records[whole - 1] if whole else None)
        assert journal.cut_torn_end(path) == size - sum(map(len, LINES[:whole]))
        assert path.read_bytes() == b"".join(LINES[:whole])
        assert rows(path) == records[:whole]


@examples(200, 1_200)
def test_any_bytes(budget, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    @budget
    @given(SOUP, st.booleans())
    def hold(content: bytes, after_good_lines: bool) -> None:
        content = WHOLE * after_good_lines + content
        path.write_bytes(content)
        found = rows(path)
        if found is not None:
            assert len(found) == content.count(b"\n")
            assert found == [json.loads(line) for line in content.decode(errors="ignore").split("\n")[:-1]]
            assert last(path) == (found[-1] if found else None)
        last(path)
        check_cut(path, content)

    hold()


def check_cut(path: Path, content: bytes) -> None:
    """The torn end goes, or is somebody else's and stays; what ends in a line feed is never touched."""
    whole, torn = content[: content.rfind(b"\n") + 1], content[content.rfind(b"\n") + 1 :]
    try:
        assert journal.cut_torn_end(path) == len(torn)
        assert path.read_bytes() == whole
    except StoreError as error:
        complaint(error, path, line=False)
        assert path.read_bytes() == content
        assert torn.strip(b"\0")
        assert not torn.startswith(b'{"v":1')


@examples(250, 1_200)
def test_bytes_changed_anywhere(budget, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    @budget
    @given(EDITS)
    def hold(edits: list[tuple[int, int, bytes]]) -> None:
        content = WHOLE
        for at, gone, put in edits:
            content = content[:at] + put + content[at + gone :]
        path.write_bytes(content)
        found = rows(path)
        first = min(at for at, _, _ in edits)
        untouched = WHOLE[:first].count(b"\n")
        if found is not None:
            assert found[:untouched] == [json.loads(line) for line in LINES[:untouched]]
        last(path)
        check_cut(path, content)

    hold()


# --- history

GOOD: dict[File, list[dict[str, Any]]] = {
    File.MANIFEST: [{"run": 1, "event": "start"}, {"run": 2, "event": "start"}],
    File.SKIPPED: [{"run": 1, "line": 3}],
    File.ROBOTS: [robots(), robots(2, origin="https://b.test", state="parsed", status=200, sha256="0" * 64, bytes=9)],
    File.INTENTS: [intent(A), intent(C, visit=3)],
    File.REQUESTS: [{"run": 2, "n": 4}],
    File.PAGES: [
        page(A), page(B, "deferred", "backoff", visit=2), page(C, status=403, visit=3), page(A, "failed", "dns", run=2),
        page(C, "blocked", "forbidden", run=2, visit=2),
    ],
    File.LINKS: [link(B), link(C, followed=False)],
}  # fmt: skip
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10**30) | st.just(10**4_000),
    st.sampled_from([1.5, float("inf"), -0.0]),
    st.text(max_size=5),
    st.sampled_from([[], {}, [None], [{}], [[[]]], "\n\x1b[2J", "x" * 5_000, "a.test", "http://u:p@h.test/",
                     "0000-01-01T00:00:00.000Z"]),
    st.sampled_from([*"12", "stored", "deferred", "crawl-delay", "parsed", "absent", "9999-12-31T23:59:59.999Z",
                     "\ud800"]),
)  # fmt: skip
PLACES = [
    (file, number, key) for file, records in GOOD.items() for number, record in enumerate(records) for key in record
]
CHANGES = st.lists(
    st.tuples(st.sampled_from(PLACES), st.one_of(JUNK, JUNK, JUNK, st.just(...))), min_size=1, max_size=3
)


class Lines:
    """A store's journal files, given as records."""

    def __init__(self, files: dict[File, list[dict[str, Any]]]) -> None:
        self.files = files

    def read(self, file: File) -> Iterator[Row]:
        for number, record in enumerate(self.files[file], 1):
            yield Row(f"{file}:{number}", record)

    def blocks(self, file: File) -> Iterator[bytes]:
        # Such a value may be nothing that JSON can hold, so the lines only stand for their records.
        for _ in self.files[file]:
            yield b"{}\n"

    def row(self, file: File, number: int, line: bytes) -> Row:
        return Row(f"{file}:{number}", self.files[file][number - 1])

    def path(self, file: File) -> None:
        return None

    def last(self, file: File) -> Row | None:
        records = self.files[file]
        return Row(f"{file}, last line", records[-1]) if records else None


def changed(changes: Iterable[tuple[tuple[File, int, str], object]]) -> dict[File, list[dict[str, Any]]]:
    files = {file: [{"v": 1, **record} for record in records] for file, records in GOOD.items()}
    for (file, number, key), value in changes:
        if value is ...:
            files[file][number].pop(key, None)
        else:
            files[file][number][key] = value
    return files


def read_history(files: dict[File, list[dict[str, Any]]]) -> history.History | None:
    """The history, with all that a run asks of it; None if the store is refused.

    What would not print is escaped by the command that says it, in one place for all errors.
    """
    try:
        past = history.read(Lines(files), RobotsBook(RobotsPolicy(ttl_s=86400, retry_s=3600, give_up=3)))
    except StoreError as error:
        message = str(error)
        assert re.match(r"[a-z]+\.jsonl(:[0-9]+|, last line): ", message), message
        assert len(message) <= LONGEST_MESSAGE
        return None
    for host, ending in past.deferred.items():
        assert host
        assert ending.not_before_ms is not None
    assert past.final >= 0
    return past


def test_the_history_of_the_store_that_is_changed() -> None:
    past = read_history(changed([]))
    assert past is not None
    assert (past.runs, past.robots_ids, past.final, set(past.done)) == (2, 2, 1, {A})
    past.retry_failed()
    assert set(past.done) == set()
    assert set(past.unfinished) == {B, C}
    assert (list(past.deferred), past.forbidden[0][0]) == (["b.test"], "c.test")


@pytest.mark.parametrize("file", GOOD)
def test_each_key_left_out_or_changed(file: File) -> None:
    junk = [..., None, True, 1, -1, 1.5, "", "x", "\n", "x" * 5_000, [], {}, [[]], 10**4_000]
    for place in PLACES:
        if place[0] is file:
            for value in junk:
                read_history(changed([(place, value)]))


@examples(250, 2_000)
def test_records_changed_anywhere(budget) -> None:
    @budget
    @given(CHANGES)
    def hold(changes: list[tuple[tuple[File, int, str], object]]) -> None:
        read_history(changed(changes))

    hold()


@pytest.mark.parametrize("key", ["run", "depth", "final_url", "chain", "not_before"])
def test_a_value_as_deep_as_json_can_hold(key: str, tmp_path: Path) -> None:
    """The reader's own depth limit may come first; then it is no JSON line."""
    path = tmp_path / File.PAGES
    good = to_line(page(B, "deferred", "backoff"))
    value = json.dumps(page(B, "deferred", "backoff")[key], separators=(",", ":")).encode()
    for depth in (*range(2, 900, 100), *range(900, 1_000)):
        line = good.replace(
            b'"%s":%s' % (key.encode(), value), b'"%s":%s' % (key.encode(), b"[" * depth + b"]" * depth)
        )
        assert line != good
        path.write_bytes(line)
        try:
            records = {file: list(journal.read(tmp_path / file)) for file in File}
        except StoreError as error:
            complaint(error, path)
            continue
        read_history({file: [row.record for row in found] for file, found in records.items()})
