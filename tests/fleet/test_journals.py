"""What the journals of the shards say, also while somebody writes them."""

import json
from pathlib import Path

import pytest

from seaspider.fleet.journals import Watched, is_finished, judged, last_line
from seaspider.fleet.plan import Part

PART = Part(3, 1, "a" * 64, "b" * 64)
CLAIM, SETTLE = b'{"v":1,"run":1,"event":"claim","n":1}\n', b'{"v":1,"run":1,"event":"settle","n":1}\n'


def start(sha256: str = "a" * 64) -> dict[str, object]:
    return {"v": 1, "event": "start", "queue_sha256": sha256}


def end(code: int, too_near: int = 0) -> dict[str, object]:
    return {"v": 1, "event": "end", "exit": code, "verdict": {"too_near": too_near}}


def manifest(store: Path, *rows: dict[str, object]) -> None:
    store.mkdir(exist_ok=True)
    with (store / "manifest.jsonl").open("a") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


MANIFESTS = {
    "nothing": ([], False),
    "begun": ([start()], False),
    "all final": ([start(), end(0)], True),
    "not final": ([start(), end(3)], False),
    "gate": ([start(), end(4)], False),
    "begun again": ([start(), end(0), start()], False),
    "killed, then final": ([start(), start(), end(0)], True),
    "another queue": ([start("c" * 64), end(0)], False),
}


@pytest.mark.parametrize(("rows", "expected"), MANIFESTS.values(), ids=MANIFESTS)
def test_finished_is_what_a_last_line_says(tmp_path: Path, rows: list[dict[str, object]], expected: bool) -> None:
    manifest(tmp_path, *rows)
    assert is_finished(tmp_path, PART) is expected
    assert is_finished(tmp_path / "none", Part(0, 0, "a" * 64, "b" * 64)) is True


JUDGED = {
    "well": (0, [start(), end(0)], 0),
    "without a last line": (0, [start()], None),
    "another code": (0, [start(), end(3)], None),
    "no store": (3, [], None),
    "left over": (3, [start(), end(3)], 3),
    "not begun": (2, [], 2),
    "killed": (-9, [start()], -9),
    "full": (74, [start()], 74),
}


@pytest.mark.parametrize(("code", "rows", "expected"), JUDGED.values(), ids=JUDGED)
def test_an_exit_code_alone_is_not_believed(
    tmp_path: Path, code: int, rows: list[dict[str, object]], expected: int | None
) -> None:
    manifest(tmp_path, *rows)
    assert judged(code, tmp_path) == expected


def test_requests_are_counted_from_now_on_by_whole_lines(tmp_path: Path) -> None:
    manifest(tmp_path, start(), end(0, too_near=5))
    path = tmp_path / "requests.jsonl"
    path.write_bytes(CLAIM + SETTLE)
    watched = Watched(tmp_path)
    assert watched.look() == 0
    with path.open("ab") as file:
        file.write(CLAIM + SETTLE + CLAIM[:-5])
    assert watched.look() == 1
    # A torn line is cut by the next run.
    path.write_bytes(path.read_bytes()[: -len(CLAIM) + 5] + CLAIM + SETTLE + CLAIM)
    assert watched.look() == 3
    manifest(tmp_path, start(), end(0, too_near=1), start(), end(3, too_near=2))
    assert watched.too_near() == 3


def test_a_store_that_is_not_there_yet_has_none(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "none")
    assert (watched.look(), watched.too_near()) == (0, 0)
    manifest(tmp_path / "none", start())
    (tmp_path / "none/requests.jsonl").write_bytes(CLAIM)
    assert watched.look() == 1


BREAKS_OFF = "its log breaks off in a line: the disk is full, or it was killed"
LOGS = {
    "none": (None, ""),
    "empty": (b"", ""),
    "lines": (b"one\ntwo \x1b[1m\n", "two \\x1b[1m"),
    "blank lines": (b"one\n\n", "one"),
    "a line that was cut": (b"one\n2026-11-30 [scrapy.utils.lo", BREAKS_OFF),
    "a long one": (b"x" * 600 + b"\nend\n", "end"),
}


@pytest.mark.parametrize(("octets", "expected"), LOGS.values(), ids=LOGS)
def test_the_last_line_of_a_log_is_told_if_it_is_whole(tmp_path: Path, octets: bytes | None, expected: str) -> None:
    if octets is not None:
        (tmp_path / "log").write_bytes(octets)
    assert last_line(tmp_path / "log") == expected
