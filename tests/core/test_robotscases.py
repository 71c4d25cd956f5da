"""All cases of tests/cases/robots_parse.jsonl: the answer, the crawl-delay, and what the second witness says."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.robotsagents import product_token
from seaspider.core.robotsfile import parse
from seaspider.core.robotswitness import witness

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "robots_parse.jsonl").read_text("utf-8").split("\n")
    if line
]

DOLLAR = "to Protego a final $ also stands for a literal dollar"
NO_UTF8 = "to Protego all octets that are no UTF-8 are one and the same"
DELIMITER = "to Protego the escape of a delimiter is the delimiter"
WITNESS_DIFFERS = {
    "pat-dollar-literal-2": DOLLAR,
    "pat-dollar-literal-3": DOLLAR,
    "enc-badbyte-5": NO_UTF8,
    "enc-sjis": NO_UTF8,
    "enc-question": DELIMITER,
    "enc-semicolon": DELIMITER,
    "enc-fig4-query-2": "to Protego / and %2F differ in a query too",
    "enc-priority-2": "Protego counts a raw reserved octet as its escape",
    "url-robots-query": "to Protego /robots.txt?x=1 is robots.txt",
}
WITNESS_SILENT = {"size-over-16k-line", "size-over-16k-line-2"}  # their URL is 17 kB long


def body_of(case: dict[str, Any]) -> bytes:
    """The robots.txt of a case in any of its three forms."""
    if "robots_b64" in case:
        return base64.b64decode(case["robots_b64"])
    if "robots_parts" in case:
        return "".join(text * times for text, times in case["robots_parts"]).encode()
    return str(case["robots"]).encode()


def is_right(case: dict[str, Any]) -> bool:
    file, token = parse(body_of(case)), product_token(case["agent"])
    answer = "allow" if file.decide(token, case["url"]).allowed else "disallow"
    return answer == case["expect"] and file.crawl_delay_s(token) == case["crawl_delay"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    file, token = parse(body_of(case)), product_token(case["agent"])
    assert file.decide(token, case["url"]).allowed is (case["expect"] == "allow")
    assert file.crawl_delay_s(token) == case["crawl_delay"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_witness_differs_only_where_it_is_known_to(case: dict[str, Any]) -> None:
    says = witness(parse(body_of(case)), product_token(case["agent"]), case["url"])
    if case["id"] in WITNESS_SILENT:
        assert says is None
    else:
        assert says is ((case["expect"] == "allow") ^ (case["id"] in WITNESS_DIFFERS))


def test_counts() -> None:
    tiers = Counter(case["tier"] for case in CASES)
    assert tiers == {"must": 232, "should": 8, "lenient": 39, "policy": 32, "disputed": 14}
    right = Counter(case["tier"] for case in CASES if is_right(case))
    assert right["must"] + right["should"] == 240
    assert right.total() == len(CASES) == len({case["id"] for case in CASES}) == 325
