"""Every single edit of a good store is refuted, and the promise that it breaks is named; an unedited one is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.crawling import Ended, scrapy
from tests.verify.stores import last_queue, stores
from tests.verify.tamper import NotThere, refuted
from tests.verify.tamperedits import EDITS, AnEdit

SEEDS = (4, 5, 10)
PROMISES = {"P1", "P2", "P3", "P4", "P5", "P6"}

CASES = {f"{promise}-{name}": (promise, edit) for promise, edits in EDITS.items() for name, edit in edits.items()}

# Shown by the command as well.
BY_COMMAND = frozenset(
    f"{promise}-{name}"
    for promise, name in {
        "P1": "body-gone",
        "P2": "claim-gone",
        "P3": "claimed-too-soon",
        "P4": "location-received",
        "P5": "pages-swapped",
        "P6": "page-gone",
    }.items()
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return stores(tmp_path_factory.mktemp("good"), SEEDS)


def tampered(edit: AnEdit, good: dict[str, Ended], folder: Path, turn: int = 0) -> Iterator[tuple[str, Path]]:
    """Each store that the edit can be made in. `turn`: how many of them come last instead of first."""
    names = list(good)
    turn %= len(names)
    for name in names[turn:] + names[:turn]:
        try:
            yield name, edit.made_in(good[name].store, folder / name)
        except NotThere:
            continue


def test_each_promise_has_its_edits() -> None:
    assert set(EDITS) == PROMISES
    assert min(len(edits) for edits in EDITS.values()) > 10
    assert set(CASES) > BY_COMMAND


def test_a_good_store_is_not_refuted(good: dict[str, Ended]) -> None:
    assert {name: refuted(ended.store) for name, ended in good.items()} == {name: {} for name in good}


def test_its_queue_is_the_one_it_had(good: dict[str, Ended]) -> None:
    assert {name: refuted(ended.store, last_queue(ended)) for name, ended in good.items()} == {
        name: {} for name in good
    }


# Each in the long runs, every sixth always.
ALL_CASES = [pytest.param(case, marks=() if at % 6 == 0 else pytest.mark.soak) for at, case in enumerate(CASES)]


@pytest.mark.parametrize("case", ALL_CASES)
def test_an_edit_is_refuted(case: str, good: dict[str, Ended], tmp_path: Path) -> None:
    promise, edit = CASES[case]
    made = tampered(edit, good, tmp_path, turn=len(case))
    # Two stores do for an edit that any store refutes; the cases take turns with them.
    found = {name: refuted(store) for name, store in (islice(made, 2) if edit.everywhere else made)}
    missed = {name: promises for name, promises in found.items() if promise not in promises}
    assert len(missed) < len(found), missed
    assert not (missed and edit.everywhere), missed


@pytest.mark.parametrize("case", sorted(BY_COMMAND))
def test_the_command_says_so(case: str, good: dict[str, Ended], tmp_path: Path) -> None:
    promise, edit = CASES[case]
    _, store = next(tampered(edit, good, tmp_path))
    ended = scrapy(["verify", str(store), "--json"], tmp_path)
    assert ended.exit == 1, ended.log
    assert promise in ended.out
    assert json.loads(ended.out)


def test_the_command_says_that_a_good_store_holds(good: dict[str, Ended], tmp_path: Path) -> None:
    ended = scrapy(["verify", str(good["demo"].store), "--queue", str(last_queue(good["demo"]))], tmp_path)
    assert ended.exit == 0, ended.out


# --- the queue ---

QUEUE_EDITS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "line-changed": lambda lines: [lines[0] + b"x", *lines[1:]],
    "line-gone": lambda lines: lines[:-1],
    "line-more": lambda lines: [*lines, b"http://h1.test/more"],
    "lines-swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "comment-changed": lambda lines: [line + b" " if line.startswith(b"#") else line for line in lines],
    "line-blanked": lambda lines: [*lines[:-1], b""],
}


@pytest.mark.parametrize("edit", QUEUE_EDITS.values(), ids=QUEUE_EDITS)
def test_another_queue_is_refuted(
    edit: Callable[[list[bytes]], list[bytes]], good: dict[str, Ended], tmp_path: Path
) -> None:
    queue = tmp_path / "queue.txt"
    queue.write_bytes(b"\n".join([*edit(last_queue(good["demo"]).read_bytes().splitlines()), b""]))
    assert "P6" in refuted(good["demo"].store, queue)
