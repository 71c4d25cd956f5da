"""P6 and P3 at any instant of death: the real crawl is killed with SIGKILL, started anew, and nothing is lost.

An undisturbed run tells which fault points there are and how often each is reached. Then crawls die there: as they
are, with half a line written, by a power cut, twice, or again and again. verdict.py judges what they leave and ask for.
`make test` runs some deaths of each kind; `make soak` runs every occurrence of every point, and prints the matrix.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.crash import site
from tests.crash.cases import everything, representative
from tests.crash.matrix import Matrix, run
from tests.crash.verdict import wrong

FEW, MANY = 8, 14
"""Crawls side by side: more than there are processors, since a crawl mostly waits."""

JOURNAL = ("manifest", "skipped", "robots", "intents", "requests", "pages", "links")
POINTS = {
    *(f"{when} write {file}.jsonl" for when in ("before", "after") for file in JOURNAL),
    *(f"after sync {file}.jsonl" for file in JOURNAL),
    *("before write writeahead", "after write writeahead", "after sync writeahead", "before remove writeahead"),
    *(f"{when} commit {verb}" for when in ("before", "after") for verb in ("claim", "settle")),
    *("before sync file system", "after sync file system"),
    *("before sync body", "before rename body", "after rename body", "before send"),
}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return run(tmp_path_factory.mktemp("matrix"), representative, FEW)


def test_one_death_of_each_kind_leaves_nothing_wrong(matrix: Matrix) -> None:
    assert matrix.red == [], matrix.table()


def test_the_undisturbed_run_is_as_it_is_to_be(matrix: Matrix) -> None:
    seen = matrix.undisturbed.last
    endings = {
        site.place(page["url"]): f"{page['outcome']}/{page['reason']}" if page["reason"] else page["outcome"]
        for page in seen.store.records["pages"]
    }
    assert endings == site.ENDINGS
    assert Counter(f"{arrival.name}{arrival.target}" for arrival in seen.arrivals) == Counter(site.OWNERS.keys())
    assert seen.exit == site.EXIT
    assert wrong(matrix.undisturbed, matrix.undisturbed) == []


def test_every_step_that_must_survive_is_a_fault_point(matrix: Matrix) -> None:
    assert set(matrix.undisturbed.last.reached) == POINTS
    assert {row for row, column in matrix.cells if column == "killed"} >= POINTS


@pytest.mark.soak
def test_any_instant_of_death_leaves_nothing_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = run(tmp_path / "matrix", everything, MANY)
    with capsys.disabled():
        print(f"\n{matrix.table()}")
    assert matrix.red == []
