"""The digest of equal stores: what a crawl came to counts, when and how often it was begun again does not."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from seaspider.core.records import to_line
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.verify.equal import EqualDigest

PAGE: dict[str, Any] = {
    "v": 1,
    "run": 1,
    "visit": 2,
    "url": "http://b.test/",
    "line": 7,
    "outcome": "stored",
    "chain": [{"url": "http://b.test/", "robots_id": 3, "status": 200, "judged_at": "x"}],
    "attempts": 1,
    "not_before": None,
    "started_at": "x",
    "shard": 4,
}
OTHER = {**PAGE, "url": "http://a.test/", "line": 9}


def digest(*records: dict[str, Any]) -> str:
    found = EqualDigest()
    for record in records:
        found.add(Row("pages.jsonl:1", record))
    return found.hexdigest()


def test_it_is_what_it_says() -> None:
    chain = [{"url": "http://b.test/", "status": 200}]
    lines = [
        to_line({"url": url, "line": line, "outcome": "stored", "chain": chain})
        for url, line in (("http://a.test/", 9), ("http://b.test/", 7))
    ]
    expected = hashlib.sha256(b"".join(hashlib.sha256(line).digest() for line in lines)).hexdigest()
    assert digest(PAGE, OTHER) == digest(OTHER, PAGE) == expected
    assert digest() == hashlib.sha256(b"").hexdigest()


SAME: dict[str, dict[str, Any]] = {
    "run and visit": {"run": 9, "visit": 8},
    "attempts": {"attempts": 3},
    "times": {"started_at": "y"},
    "shard": {"shard": 1},
    "robots id": {"chain": [{"url": "http://b.test/", "robots_id": 5, "status": 200, "judged_at": "y"}]},
}
DIFFERENT: dict[str, dict[str, Any]] = {
    "url": {"url": "http://c.test/"},
    "line": {"line": 8},
    "outcome": {"outcome": "failed"},
    "status of a hop": {"chain": [{"url": "http://b.test/", "robots_id": 3, "status": 404, "judged_at": "x"}]},
}


@pytest.mark.parametrize("changed", SAME.values(), ids=SAME)
def test_what_is_of_one_run_does_not_count(changed: dict[str, Any]) -> None:
    assert digest({**PAGE, **changed}) == digest(PAGE)


@pytest.mark.parametrize("changed", DIFFERENT.values(), ids=DIFFERENT)
def test_what_came_of_it_counts(changed: dict[str, Any]) -> None:
    assert digest({**PAGE, **changed}) != digest(PAGE)


def test_the_latest_record_of_a_url_counts() -> None:
    failed = {**PAGE, "outcome": "failed"}
    assert digest(failed, OTHER, PAGE) == digest(PAGE, OTHER)
    assert digest(PAGE, OTHER, failed) != digest(PAGE, OTHER)


def test_what_no_store_holds_is_an_error() -> None:
    with pytest.raises(StoreError, match=r"^pages\.jsonl:1: cannot be written again"):
        digest({**PAGE, "bytes": float("nan")})
