"""The shape of each line: what the README shows is one, and any key that is gone, moved or of another kind is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.verify import shape
from tests.crawling import ROOT

T = "2026-01-02T03:04:05.678Z"
PAGE: dict[str, Any] = {
    "v": 1, "run": 1, "visit": 1, "url": "u", "line": 1, "depth": 0, "via": None, "outcome": "stored", "reason": None,
    "status": 200, "final_url": "u",
    "chain": [{
        "url": "u", "ip": "127.0.0.1", "decision": "allow", "robots_id": 1, "group": "*", "rule": None,
        "rule_line": None, "witness": "allow", "crawl_delay_s": None, "status": 200, "location": None, "error": None,
        "judged_at": T,
    }],
    "content_type": None, "charset": None, "bytes": 1, "sha256": "s", "links": None, "nofollow": None, "flags": [],
    "attempts": 1, "not_before": None, "started_at": T, "ended_at": T,
}  # fmt: skip
SETTLE: dict[str, Any] = {
    "v": 1, "run": 1, "event": "settle", "n": 1, "sent_ns": None, "ended_at": T, "ended_ns": 1, "pause_s": 0.2,
    "pause_basis": "interval", "status": None, "error": None, "headers": [], "bytes": 0,
}  # fmt: skip


def check(file: File, record: dict[str, Any]) -> None:
    shape.check(file, Row(f"{file}:7", record))


def test_each_file_has_its_shapes() -> None:
    assert {file for file, _ in shape.SHAPES} == set(File)


def test_the_lines_of_the_readme_have_them() -> None:
    readme = Path(ROOT, "README.md").read_text("utf-8")
    lines = re.findall(r"^`(\w+\.jsonl)`\n\n    (\{.*\})$", readme, re.MULTILINE)
    assert len(lines) == len(File)
    for file, line in lines:
        check(File(file), json.loads(line))


def test_what_a_crawl_writes_has_them() -> None:
    check(File.PAGES, PAGE)
    check(File.REQUESTS, SETTLE)


def without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {name: value for name, value in record.items() if name != key}


def in_hop(**values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {**record, "chain": [{**record["chain"][0], **values}]}


BAD: dict[str, tuple[File, dict[str, Any], str]] = {
    "gone": (File.PAGES, without("flags")(PAGE), "has the keys v, run, visit"),
    "more": (File.PAGES, {**PAGE, "more": 1}, "has the keys v, run, visit"),
    "moved": (File.PAGES, {**without("url")(PAGE), "url": "u"}, "has the keys v, run, visit"),
    "null": (File.PAGES, {**PAGE, "url": None}, "'url' is None, not of kind text"),
    "a flag for a number": (File.PAGES, {**PAGE, "visit": True}, "'visit' is True, not of kind int"),
    "whole for a number": (File.REQUESTS, {**SETTLE, "pause_s": 1}, "'pause_s' is 1, not of kind number"),
    "no time": (File.PAGES, {**PAGE, "ended_at": "now"}, "'ended_at': not a time of the store"),
    "no time in a hop": (File.PAGES, in_hop(judged_at="x")(PAGE), "'judged_at': not a time of the store"),
    "in a hop": (File.PAGES, in_hop(status="200")(PAGE), "'status' is '200', not of kind int?"),
    "no hop": (File.PAGES, {**PAGE, "chain": [1]}, "'chain' has 1 in it"),
    "event": (File.REQUESTS, {**SETTLE, "event": "x"}, "'event' is 'x'"),
    "no event": (File.REQUESTS, {**SETTLE, "event": None}, "'event' is None"),
}


@pytest.mark.parametrize(("file", "record", "why"), BAD.values(), ids=BAD)
def test_what_is_none_is_named(file: File, record: dict[str, Any], why: str) -> None:
    with pytest.raises(StoreError) as raised:
        check(file, record)
    assert str(raised.value).startswith(f"{file}:7: {why}")
