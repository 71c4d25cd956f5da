"""Queue files as people make them: the cases of the theme `queue`, and others of their kinds.

Real files, real crawls. One file holds all that is about a line; a file that is unusable has a run of its own. Which
bytes are which lines is in tests/core/test_queue.py, more unusable files are in tests/test_bad_input.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seaspider.core.queue import Entry, QueueError
from seaspider.core.urls import normalise
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.queuefile import QueueFile
from tests.accounts import check_accounts
from tests.crawling import Ended, crawl

NAMES = {"h.test": "127.70.200.1"}
ROUTES = {"/robots.txt": Answer(404), "/*": Answer(body="a page")}


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a queue, as bytes; `H` stands for http://h.test:PORT. What becomes of them: `asked`, the targets;
    `skipped`, (line from 1, fate or reason, text or URL) of those that are not visited; how many are neither."""

    content: bytes
    asked: tuple[str, ...]
    outcome: str = ""
    skipped: tuple[tuple[int, str, str], ...] = ()
    passed_over: dict[str, int] = field(default_factory=dict)


def fails(content: bytes, reason: str, outcome: str = "") -> Lines:
    shown = content.removesuffix(b"\n").decode(errors="backslashreplace")
    return Lines(content, (), outcome, ((1, reason, shown),))


CASES: dict[str, Lines] = {
    "QUE-04": fails(b'"H/a"\n', "missing-scheme", "rejected/missing-scheme with its number: no quotes are taken off"),
    "QUE-04/single": fails(b"'H/a'\n", "missing-scheme"),
    "QUE-04/angle-brackets": fails(b"<H/a>\n", "missing-scheme"),
    "QUE-04/markdown": fails(b"[a](H/a)\n", "missing-scheme"),
    "QUE-04/typographic": fails("\u201cH/a\u201d\n".encode(), "missing-scheme"),
    "QUE-04/behind-only": Lines(b'H/04"\n', ("/04%22",)),
    "QUE-04/list-item": fails(b"- H/a\n", "missing-scheme"),
    "QUE-04/json": fails(b'{"url":"H/a"}\n', "missing-scheme"),
    "QUE-08": Lines(
        b"\n   # note\nH/a#b\n",
        ("/a",),
        "/a stored; blank lines and comments are counted in the manifest",
        passed_over={"blank": 1, "comment": 1},
    ),
    "QUE-08/blank": Lines(b" \t \n\x0c\nH/08\n", ("/08",), passed_over={"blank": 2}),
    "QUE-08/not-utf-8": Lines(b"# caf\xe9\nH/08b\n", ("/08b",), passed_over={"comment": 1}),
    "QUE-08/behind-a-url": Lines(b"H/08c # note\n", ("/08c%20",)),
    "QUE-08/slashes": fails(b"// note\n", "missing-scheme"),
    "QUE-08/semicolon": fails(b"; note\n", "missing-scheme"),
    "QUE-08/commented-url": Lines(b"#H/08d\n", (), passed_over={"comment": 1}),
    "QUE-10": Lines(
        "H/10\u2028H/b\n".encode(), ("/10%E2%80%A8H/b",), "one URL: only LF, CR and CRLF end a line"
    ),
    "QUE-10/next-line": Lines("H/10\x85b\n".encode(), ("/10%C2%85b",)),
    "QUE-10/vertical-tab": Lines(b"H/10\x0bb\n", ("/10%0Bb",)),
    "QUE-10/form-feed": Lines(b"H/10\x0cb\n", ("/10%0Cb",)),
    "QUE-10/separators": Lines(b"H/10\x1cb\x1db\x1eb\n", ("/10%1Cb%1Db%1Eb",)),
    "QUE-10/paragraph": Lines("H/10\u2029b\n".encode(), ("/10%E2%80%A9b",)),
    "QUE-10/carriage-returns": Lines(b"H/10-1\rH/10-2\r\nH/10-3\n", ("/10-1", "/10-2", "/10-3")),
    "QUE-10/late-mark": fails(b"\xef\xbb\xbfH/a\n", "missing-scheme"),
    "QUE-10/nul-far-behind": Lines(b"H/10\x00b\n", ("/10%00b",)),
    "QUE-12": Lines(
        b"H/12,label one\n", ("/12,label%20one",), "stored: the whole line is the URL; asked for and recorded so"
    ),
    "QUE-12/two-urls": Lines(b"H/12 H/b\n", ("/12%20H/b",)),
    "QUE-12/tab": Lines(b"H/12-\tlabel\n", ("/12-label",)),
    "QUE-12/number-before": fails(b"1,H/a\n", "missing-scheme"),
    "QUE-12/head-line": fails(b"url,label\n", "missing-scheme"),
    "QUE-12/quoted-cells": fails(b'"H/a","label"\n', "missing-scheme"),
    "QUE-06/one": fails(b"H/caf\xe9\n", "encoding"),
    "QUE-06/utf-8": Lines("H/06é\n".encode(), ("/06%C3%A9",)),
    "QUE-06/surrogate": fails(b"H/\xed\xa0\x80\n", "encoding"),
    "QUE-06/too-long-a-form": fails(b"H/\xc0\xaf\n", "encoding"),
    "QUE-06/in-the-name": fails(b"http://caf\xe9.test/\n", "encoding"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Crawled:
    ended: Ended
    port: int
    asked: list[str]
    first: dict[str, int]
    """Id -> the number of its first line."""

    @classmethod
    def of(cls, content: bytes, folder: Path, web: LoopbackWeb, first: dict[str, int] | None = None) -> Crawled:
        queue = folder / "queue.txt"
        queue.write_bytes(content.replace(b"H/", web.url("h.test").encode()))
        web.clear()
        settings = {"SEASPIDER_ALLOWED_NETWORKS": "127.70.0.0/16"}
        ended = crawl(queue, folder, names=NAMES, settings=settings)
        return cls(ended, web.port, [one.target for one in web.arrivals], first or {})

    def short(self, text: str) -> str:
        return text.replace(f"http://h.test:{self.port}/", "H/")

    def skipped(self) -> dict[int, tuple[str, str]]:
        """Line -> (fate or reason, text or URL)."""
        return {
            row["line"]: (row["reason"] or row["fate"], self.short(row["text"] or row["url"]))
            for row in self.ended.records("skipped")
        }

    def pages(self) -> dict[int, str]:
        """Line -> target of the stored page."""
        assert {page["outcome"] for page in self.ended.records("pages")} == {"stored"}
        return {page["line"]: self.short(page["url"])[1:] for page in self.ended.records("pages")}


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(ROUTES, names=NAMES) as running:
        yield running


def lines_of(content: bytes) -> int:
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, web: LoopbackWeb) -> Crawled:
    # A NUL is in the first 8 KiB of no queue: this comment stands before it.
    content, first, number = b"# " + b"x" * 8192 + b"\n", {}, 2
    for id, case in CASES.items():
        first[id] = number
        content += case.content
        number += lines_of(case.content)
    return Crawled.of(content, tmp_path_factory.mktemp("queue"), web, first)


def in_url(target: str, crawled: Crawled) -> str:
    """`H/` inside a target, as the server got it."""
    return target.replace("H/", f"http://h.test:{crawled.port}/")


@pytest.mark.parametrize("id", CASES)
def test_queues(crawled: Crawled, id: str) -> None:
    case, start = CASES[id], crawled.first[id]
    own = range(start, start + lines_of(case.content))
    skipped = {line - start + 1: fate for line, fate in crawled.skipped().items() if line in own}
    assert skipped == {line: (reason, text) for line, reason, text in case.skipped}
    assert [target for line, target in crawled.pages().items() if line in own] == list(case.asked)
    assert len(case.asked) + len(skipped) + sum(case.passed_over.values()) == len(own)
    for target in case.asked:
        assert crawled.asked.count(in_url(target, crawled)) == 1


def test_every_line_of_the_file_is_accounted_for(crawled: Crawled) -> None:
    """QUE-08: the counts of lines that are passed over."""
    assert crawled.ended.exit == 0, crawled.ended.log
    counts = check_accounts(crawled.ended, 1)["queue"]
    over: Counter[str] = Counter({"comment": 1})
    for case in CASES.values():
        over.update(case.passed_over)
    assert {kind: counts[kind] for kind in ("blank", "comment")} == over
    assert counts["lines"] == 1 + sum(lines_of(case.content) for case in CASES.values())
    assert len(crawled.asked) == 1 + sum(len(case.asked) for case in CASES.values())
    assert f"{over['blank']} blank" in crawled.ended.log


def test_one_bad_line_of_many(tmp_path: Path, web: LoopbackWeb) -> None:
    """QUE-06; a thousand lines are read in tests/core/test_queue.py."""
    lines = [b"H/%d\n" % number for number in range(1, 101)]
    lines[49] = b"H/caf\xe9\n"
    crawled = Crawled.of(b"".join(lines), tmp_path, web)
    assert crawled.ended.exit == 0, crawled.ended.log
    assert crawled.skipped() == {50: ("encoding", "H/caf\\xe9")}
    targets = [f"/{number}" for number in range(1, 101) if number != 50]
    assert crawled.asked == ["/robots.txt", *targets]
    assert list(crawled.pages().values()) == targets


ENDS = {
    "QUE-11": b"H/a\nH/b",
    "QUE-11/carriage-return": b"H/a\rH/b",
    "QUE-11/crlf": b"H/a\r\nH/b\r\n",
    "QUE-11/blank-lines": b"H/a\nH/b\n\n\n",
    "QUE-11/mark-at-the-start": b"\xef\xbb\xbfH/a\nH/b",
    "QUE-11/blank-without-end": b"H/a\nH/b\n  ",
}


def test_the_last_line_counts_once(tmp_path: Path, web: LoopbackWeb) -> None:
    crawled = Crawled.of(ENDS["QUE-11"], tmp_path, web)
    assert crawled.asked == ["/robots.txt", "/a", "/b"]
    assert crawled.pages() == {1: "/a", 2: "/b"}
    assert crawled.skipped() == {}


@pytest.mark.parametrize("content", ENDS.values(), ids=ENDS)
def test_however_a_file_ends_its_lines_are_read_once(tmp_path: Path, content: bytes) -> None:
    queue = tmp_path / "queue.txt"
    queue.write_bytes(content.replace(b"H/", b"http://h.test/"))
    expected = [Entry(1, normalise("http://h.test/a")), Entry(2, normalise("http://h.test/b"))]
    assert list(QueueFile(str(queue))) == expected


# --- files that are no queue ---

TEXT = "http://h.test/a\n"


UNUSABLE: dict[str, tuple[bytes | None, str]] = {
    "QUE-05": ("\ufeff".encode("utf-16-le") + TEXT.encode("utf-16-le"), "is UTF-16LE text, not UTF-8"),
    "QUE-05/big-endian": (("\ufeff" + TEXT).encode("utf-16-be"), "is UTF-16BE text, not UTF-8"),
    "QUE-05/utf-32": (("\ufeff" + TEXT).encode("utf-32-le"), "is UTF-32LE text, not UTF-8"),
    "QUE-05/without-mark": (TEXT.encode("utf-16-le"), "is not UTF-8 text: NUL at byte 1"),
    "QUE-14": (None, "No such file or directory"),
}


@pytest.mark.parametrize("id", UNUSABLE)
def test_what_is_said_of_a_file_that_is_no_queue(tmp_path: Path, id: str) -> None:
    content, why = UNUSABLE[id]
    queue = tmp_path / "urls.txt"
    if content is not None:
        queue.write_bytes(content)
    with pytest.raises(QueueError) as caught:
        list(QueueFile(str(queue)))
    assert str(caught.value) == f"queue {str(queue)!a}: {why}"


@pytest.mark.parametrize("id", ["QUE-05", "QUE-14"])
def test_a_file_that_is_no_queue_ends_the_command_in_one_line(tmp_path: Path, web: LoopbackWeb, id: str) -> None:
    content, why = UNUSABLE[id]
    queue = tmp_path / "urls.txt"
    if content is not None:
        queue.write_bytes(content)
    web.clear()
    ended = crawl(queue, tmp_path, names=NAMES)
    assert (ended.exit, ended.log) == (2, f"scrapy crawl: queue {str(queue)!a}: {why}\n")
    assert web.connections == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"urls.txt"}


def test_an_existing_store_is_not_touched_by_a_queue_that_is_not_there(tmp_path: Path, web: LoopbackWeb) -> None:
    """QUE-14."""
    done = Crawled.of(b"H/a\n", tmp_path, web).ended
    before = files(done.store)
    ended = crawl(tmp_path / "none.txt", tmp_path, names=NAMES)
    assert ended.exit == 2
    assert files(done.store) == before


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- QUE-15: a queue that is edited between runs ---

RUNS: list[tuple[bytes, list[str], dict[int, str]]] = [
    (b"H/a\nH/b\n", ["/robots.txt", "/a", "/b"], {}),
    (b"H/c\nH/b\nH/a\n", ["/c"], {2: "done", 3: "done"}),
    # The same pages in other spellings, twice, and among comments.
    (b"# x\nH/./%61#top\nH/x/../b\nH/b\nH/f\nH/d\n", ["/f", "/d"], {2: "done", 3: "done", 4: "duplicate"}),
]


def test_an_edited_queue_asks_only_what_is_new_in_its_own_order(tmp_path: Path, web: LoopbackWeb) -> None:
    for run, (content, asked, fates) in enumerate(RUNS, 1):
        crawled = Crawled.of(content, tmp_path, web)
        assert crawled.ended.exit == 0, crawled.ended.log
        assert crawled.asked == asked
        skipped = [row for row in crawled.ended.records("skipped") if row["run"] == run]
        assert {row["line"]: row["fate"] for row in skipped} == fates
    assert len(crawled.ended.records("pages")) == 5


HERE, BAD = "tests/web/test_queues.py", "tests/test_bad_input.py"
WHERE: dict[str, str] = {
    **{id: f"{HERE}::test_queues[{id}]: {case.outcome}" for id, case in CASES.items() if "/" not in id},
    "QUE-05": f"{HERE}::test_a_file_that_is_no_queue_ends_the_command_in_one_line[QUE-05]: "
    "exit 2, one line that names the encoding, no request, no store",
    "QUE-06": f"{HERE}::test_one_bad_line_of_many, tests/core/test_queue.py::test_one_bad_line_of_a_thousand: "
    "rejected/encoding for that line; all others are stored",
    "QUE-08": f"{HERE}::test_queues[QUE-08], {HERE}::test_every_line_of_the_file_is_accounted_for: "
    + CASES["QUE-08"].outcome,
    "QUE-11": f"{HERE}::test_the_last_line_counts_once: two page records, each once",
    "QUE-14": f"{HERE}::test_a_file_that_is_no_queue_ends_the_command_in_one_line[QUE-14], "
    f"{HERE}::test_an_existing_store_is_not_touched_by_a_queue_that_is_not_there, "
    f"{BAD}::test_a_folder_is_no_queue, "
    f"{BAD}::test_a_pipe_that_cannot_be_used_leaves_no_store, "
    f"{BAD}::test_a_pipe_can_be_used_although_it_is_read_once, "
    "tests/test_queuefile.py::test_unreadable: "
    "exit 2, one line, nothing written; a pipe is read like a file",
    "QUE-15": f"{HERE}::test_an_edited_queue_asks_only_what_is_new_in_its_own_order: "
    "only what is new is asked for, in the order of the new file; the rest is done",
}
