"""The vocabulary of the store, and how a record becomes a line."""

import json
from typing import Any

import pytest

from seaspider import http1
from seaspider.core.records import FORMAT, PAGE_FLAGS, STORED, Ending, Outcome, Reason, to_line, without_times
from seaspider.core.redirects import HopReason
from seaspider.core.robotsstate import RobotsReason
from seaspider.html import PageFlag
from seaspider.http1 import Reason as ExchangeReason

# design.md, section 4, "Outcomes"
VOCABULARY = {
    "stored": [],
    "disallowed": ["robots-rule"],
    "refused": ["special-address", "scheme", "userinfo", "redirect-limit", "redirect-loop", "bad-location"],
    "failed": [
        "dns", "connect", "tls", "timeout", "reset", "cut", "too-large", "decode", "protocol", "robots-unreachable",
        "http-429", "http-5xx",
    ],
    "deferred": ["crawl-delay", "robots-unreachable", "retry-after", "backoff", "budget"],
    "blocked": ["forbidden"],
}  # fmt: skip
PAIRS = [(outcome, reason) for outcome in Outcome for reason in (None, *Reason)]


def test_the_vocabulary_is_the_designs() -> None:
    assert list(Outcome) == list(VOCABULARY)
    assert set(Reason) == {reason for reasons in VOCABULARY.values() for reason in reasons}


@pytest.mark.parametrize("outcome", Outcome)
def test_which_outcomes_are_final(outcome: Outcome) -> None:
    assert outcome.final == (outcome not in {"deferred", "blocked"})


@pytest.mark.parametrize(("outcome", "reason"), PAIRS, ids=[f"{outcome}-{reason}" for outcome, reason in PAIRS])
def test_an_outcome_goes_with_its_reasons_only(outcome: Outcome, reason: Reason | None) -> None:
    allowed = VOCABULARY[outcome]
    if reason in allowed or (not allowed and reason is None):
        assert str(Ending(outcome, reason, 5)) == (f"{outcome}/{reason}" if reason else "stored")
    else:
        with pytest.raises(ValueError, match=f"^{outcome} does not go with reason {reason}$"):
            Ending(outcome, reason)


def test_stored_is_an_ending_without_reason_or_time() -> None:
    assert Ending(Outcome.STORED, None, None) == STORED


@pytest.mark.parametrize("word", [*ExchangeReason, *HopReason], ids=lambda word: f"{type(word).__module__}-{word}")
def test_words_of_the_other_parts_are_words_of_the_store(word: str) -> None:
    assert Reason(word) == word


@pytest.mark.parametrize("word", [*ExchangeReason, Reason.DNS, Reason.DECODE], ids=str)
def test_what_fails_a_page_makes_a_robots_txt_unreachable_by_the_same_word(word: str) -> None:
    assert RobotsReason(word) == word


# Lines

LINES: dict[str, tuple[dict[str, Any], bytes]] = {
    "empty": ({}, b'{"v":1}\n'),
    "keeps-the-order": ({"b": 1, "a": [None, True, 1.5]}, b'{"v":1,"b":1,"a":[null,true,1.5]}\n'),
    "v-first": ({"run": 3, "v": 1}, b'{"v":1,"run":3}\n'),
    "words": (
        {"outcome": Outcome.DEFERRED, "reason": Reason.CRAWL_DELAY},
        b'{"v":1,"outcome":"deferred","reason":"crawl-delay"}\n',
    ),
    "ascii": ({"text": "ß\u2028😀\x00\n\x7f"}, b'{"v":1,"text":"\\u00df\\u2028\\ud83d\\ude00\\u0000\\n\\u007f"}\n'),
    "lone-surrogate": ({"text": "\udc80"}, b'{"v":1,"text":"\\udc80"}\n'),
    "nested": ({"chain": [{"url": "http://a.test/"}]}, b'{"v":1,"chain":[{"url":"http://a.test/"}]}\n'),
}


@pytest.mark.parametrize(("record", "line"), LINES.values(), ids=LINES)
def test_a_record_becomes_a_line(record: dict[str, Any], line: bytes) -> None:
    assert FORMAT == 1
    assert to_line(record) == line
    assert json.loads(line) == {"v": 1, **record}


def test_whatever_a_server_sends_stays_within_its_line() -> None:
    line = to_line({"location": "".join(map(chr, range(0x3000)))})
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert len(line.decode().splitlines()) == 1
    # Twin: unescaped, readers that split as str.splitlines() does would see more.
    assert len(json.dumps("\u2028\x85", ensure_ascii=False).splitlines()) > 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_json_does_not_have_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        to_line({"crawl_delay_s": value})


# Comparing


def test_without_times() -> None:
    record = {
        "v": 1,
        "started_at": "x", "ended_at": "x", "intended_at": "x", "fetched_at": "x", "expires_at": "x", "claimed_at": "x",
        "claimed_ns": 1, "sent_ns": 1, "ended_ns": 1, "not_before": None, "boot_id": "x",
        "pause_s": 2, "retry_after_s": 3, "at": 1, "ns": 1, "format": "kept",
        "chain": [{"url": "u", "seen_at": 1, "deep": [[{"x_ns": 1, "y": 2}], "started_at"]}],
        "counts": {"done": 1, "done_at": 2},
    }  # fmt: skip
    before = json.dumps(record)
    assert json.dumps(without_times(record)) == json.dumps(
        {
            "v": 1,
            "pause_s": 2,
            "retry_after_s": 3,
            "at": 1,
            "ns": 1,
            "format": "kept",
            "chain": [{"url": "u", "deep": [[{"y": 2}], "started_at"]}],
            "counts": {"done": 1},
        }
    )
    assert json.dumps(record) == before


@pytest.mark.parametrize("value", [None, 1, "started_at", [1, "x_ns"], []])
def test_what_holds_no_times_stays(value: Any) -> None:
    assert without_times(value) == value


def test_the_flags_are_those_of_the_transport_and_of_the_page() -> None:
    assert {*map(str, http1.Flag), *map(str, PageFlag)} == PAGE_FLAGS
