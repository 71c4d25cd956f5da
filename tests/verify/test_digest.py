"""The digest: the same for the same records, whenever and wherever they were made, and another for any other."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File, to_line, without_times
from seaspider.errors import StoreError
from seaspider.verify.digest import FILES, digest
from seaspider.verify.evidence import Evidence

START: dict[str, Any] = {
    "run": 1,
    "event": "start",
    "started_at": "2026-01-02T03:04:05.678Z",
    "started_ns": 1,
    "boot_id": "b",
    "versions": {"python": "3"},
    "queue": "urls.txt",
    "queue_sha256": "q",
    "settings": {"token": "seaspider", "ledger": "file", "interval_s": 1.0},
}
END: dict[str, Any] = {"run": 1, "event": "end", "ended_at": "x", "counts": {"queue": {"lines": 1}}}
PAGE: dict[str, Any] = {"run": 1, "url": "u", "chain": [{"url": "u", "judged_at": "x"}], "not_before": None}


def store(folder: Path, **files: list[dict[str, Any]]) -> Evidence:
    folder.mkdir(exist_ok=True)
    for file in File:
        records = files.get(file.removesuffix(".jsonl"), [{"run": 1, "file": file}])
        (folder / file).write_bytes(b"".join(map(to_line, records)))
    return Evidence(folder)


@pytest.fixture
def base(tmp_path: Path) -> str:
    return digest(store(tmp_path / "base", manifest=[START, END], pages=[PAGE]))


def test_it_is_what_it_says(tmp_path: Path, base: str) -> None:
    texts = [line for file in FILES for line in (tmp_path / "base" / file).read_text().splitlines()]
    lines = [to_line(without_times(json.loads(line))) for line in texts]
    manifest = {"run": 1, "event": "start", "queue_sha256": "q", "settings": {"token": "seaspider", "interval_s": 1.0}}
    lines += [to_line(manifest), to_line({"run": 1, "event": "end", "counts": {"queue": {"lines": 1}}})]
    assert base == hashlib.sha256(b"".join(lines)).hexdigest()


SAME: dict[str, dict[str, list[dict[str, Any]]]] = {
    "times": {"manifest": [{**START, "started_at": "y", "started_ns": 2, "boot_id": "c"}, END], "pages": [PAGE]},
    "times inside": {"manifest": [START, END], "pages": [{**PAGE, "chain": [{"url": "u", "judged_at": "y"}]}]},
    "versions": {"manifest": [{**START, "versions": {"python": "4"}}, END], "pages": [PAGE]},
    "path of the queue": {"manifest": [{**START, "queue": "other.txt"}, END], "pages": [PAGE]},
    "ledger": {"manifest": [{**START, "settings": {**START["settings"], "ledger": "x"}}, END], "pages": [PAGE]},
}
OTHER: dict[str, dict[str, list[dict[str, Any]]]] = {
    "url": {"manifest": [START, END], "pages": [{**PAGE, "url": "v"}]},
    "a line more": {"manifest": [START, END], "pages": [PAGE, PAGE]},
    "queue": {"manifest": [{**START, "queue_sha256": "r"}, END], "pages": [PAGE]},
    "setting": {"manifest": [{**START, "settings": {**START["settings"], "interval_s": 2.0}}, END], "pages": [PAGE]},
    "counts": {"manifest": [START, {**END, "counts": {"queue": {"lines": 2}}}], "pages": [PAGE]},
}


@pytest.mark.parametrize("files", SAME.values(), ids=SAME)
def test_what_is_of_one_moment_or_machine_does_not_count(tmp_path: Path, base: str, files: dict[str, Any]) -> None:
    assert digest(store(tmp_path / "store", **files)) == base


@pytest.mark.parametrize("files", OTHER.values(), ids=OTHER)
def test_what_was_done_counts(tmp_path: Path, base: str, files: dict[str, Any]) -> None:
    assert digest(store(tmp_path / "store", **files)) != base


def test_what_no_store_holds_is_an_error(tmp_path: Path) -> None:
    evidence = store(tmp_path / "store", manifest=[START, END])
    (tmp_path / "store" / File.PAGES).write_text('{"v":1,"run":1,"bytes":NaN}\n')
    with pytest.raises(StoreError, match=r"pages\.jsonl:1: cannot be written again"):
        digest(evidence)
