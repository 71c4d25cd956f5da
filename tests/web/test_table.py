"""The table of web cases is whole, true to the tests there are, and what the document says."""

import subprocess
import sys

import pytest

from tests.web import table


def strangers(named: set[str], collected: set[str]) -> list[str]:
    """The named tests that are not there. One without brackets stands for all its parameters."""
    functions = {test.partition("[")[0] for test in collected}
    return sorted(test for test in named if test not in collected and test not in functions)


def collected(files: list[str]) -> set[str]:
    """The node ids of all tests in some files, as pytest finds them."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=table.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return {line for line in ended.stdout.splitlines() if "::" in line}


def test_every_case_has_its_place_in_its_theme():
    expected = {
        theme: sorted(case["id"] for case in table.cases() if case["theme"] == theme) for theme in table.MODULES
    }
    assert sum(map(len, expected.values())) == len(table.cases()) == 129
    found = {theme: sorted(module.WHERE) for theme, module in table.modules().items()}
    assert found == {theme: ids for theme, ids in expected.items() if theme not in table.STILL_TO_COME}


def test_what_is_still_to_come_has_not_come():
    assert table.MODULES.keys() >= table.STILL_TO_COME
    assert table.come_after_all() == []


def test_every_entry_names_tests_that_are_there_and_an_outcome():
    entries = [table.parts(entry) for module in table.modules().values() for entry in module.WHERE.values()]
    assert all(outcome for _, outcome in entries)
    named = {test for tests, _ in entries for test in tests}
    files = sorted({test.partition("::")[0] for test in named})
    there = collected(files)
    assert strangers(named, there) == []
    # Twins: a parameter, a function and a file that are not there.
    bogus = {
        "tests/web/test_robots.py::test_robots[ROB-99]",
        "tests/web/test_robots.py::test_x",
        "tests/web/x.py::test_y",
    }
    assert strangers(named | bogus, there) == sorted(bogus)


def test_more_cases_of_a_kind_belong_to_a_case():
    for theme, module in table.modules().items():
        ids = {case["id"] for case in table.cases() if case["theme"] == theme}
        assert {id.partition("/")[0] for id in table.siblings(module)} <= ids


def test_the_document_is_up_to_date():
    assert table.DOCUMENT.read_text("utf-8") == table.document(), "run: python -m tests.web.table"


def test_a_case_without_a_place_leaves_no_document(monkeypatch):
    """Twin of completeness."""
    monkeypatch.delitem(table.modules()["robots"].WHERE, "ROB-01")
    with pytest.raises(KeyError, match="ROB-01"):
        table.document()
