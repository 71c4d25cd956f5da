"""Edits by chance, of any field of any line: the store is refuted, or unreadable, but for what tamperlist.py names."""

from __future__ import annotations

import shutil
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from seaspider.core.records import File
from seaspider.errors import StoreError
from tests.verify.stores import stores
from tests.verify.tamper import BodyEdit, Edit, Rows, read, refuted
from tests.verify.tamperchance import Altered, altered_fields, altered_lines, fields, kind_of, name
from tests.verify.tamperlist import is_listed

pytestmark = pytest.mark.soak

SEEDS = (5, 10)
EXAMPLES = 200

by_chance = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [ended.store for ended in stores(tmp_path_factory.mktemp("good"), SEEDS).values()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited")


def found_out(store: Path, edit: Edit | BodyEdit, folder: Path) -> bool:
    """Whether the edited store is refuted, or said not to be one."""
    copy = edit.made_in(store, folder / "store")
    try:
        return bool(refuted(copy))
    except StoreError:
        return True
    finally:
        shutil.rmtree(copy)


def draw_edit(data: st.DataObject, file: File, rows: Rows) -> tuple[str, Altered]:
    """The kind of line, and an edit of one."""
    line = data.draw(st.integers(0, len(rows) - 1))
    edits = altered_lines(rows, line)
    if data.draw(st.integers(0, 9)):
        # By name first: else most edits would be of headers.
        paths = sorted(fields(rows[line]), key=name)
        named = {each: list(those) for each, those in groupby(paths, key=name)}
        path = data.draw(st.sampled_from(named[data.draw(st.sampled_from(list(named)))]))
        edits = altered_fields(rows, line, path)
    return kind_of(file, rows[line]), data.draw(st.sampled_from(edits))


@by_chance
@given(data=st.data())
def test_any_edit_is_found_out(data: st.DataObject, good: list[Path], folder: Path) -> None:
    store = data.draw(st.sampled_from(good))
    file = data.draw(st.sampled_from(list(File)))
    rows = read(store, file)
    kind, edit = draw_edit(data, file, rows)
    assume(edit.change(read(store, file)) != rows)
    found = found_out(store, Edit(file, edit.change), folder)
    assert found or is_listed(kind, edit), f"{kind}: {edit.where}: {edit.what}"


@settings(by_chance, max_examples=30)
@given(data=st.data())
def test_any_changed_body_is_found_out(data: st.DataObject, good: list[Path], folder: Path) -> None:
    store = data.draw(st.sampled_from(good))
    file = data.draw(st.sampled_from([File.PAGES, File.ROBOTS]))
    digests = sorted({row["sha256"] for row in read(store, file)} - {None})
    digest = data.draw(st.sampled_from(digests))
    at, octet = data.draw(st.integers(0, 1 << 16)), data.draw(st.sampled_from([None, b"", b" ", b"x"]))

    def change(body: bytes) -> bytes | None:
        return None if octet is None else body[: at % (len(body) + 1)] + octet + body[at % (len(body) + 1) + 1 :]

    edit = BodyEdit(file, lambda row: row["sha256"] == digest, change)
    body = (store / "bodies" / digest[:2] / digest).read_bytes()
    assume(change(body) != body)
    assert found_out(store, edit, folder)
