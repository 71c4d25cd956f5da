"""A visit from its first turn to its page record, in the store's field order."""

import json
from dataclasses import fields
from typing import Any

import pytest

from seaspider.core.records import STORED, Ending, Outcome, Reason, to_line
from seaspider.core.urls import normalise
from seaspider.core.visits import Decision, Hop, Visit
from seaspider.items import Page

T0 = 1_796_015_856_123
URL = normalise("http://a.test/x")

# design.md, section 4, "Page record"
PAGE_KEYS = [
    "v", "run", "visit", "url", "line", "depth", "via", "outcome", "reason", "status", "final_url", "chain",
    "content_type", "charset", "bytes", "sha256", "links", "nofollow", "flags", "attempts", "not_before",
    "started_at", "ended_at",
]  # fmt: skip
HOP_KEYS = [
    "url", "ip", "decision", "robots_id", "group", "rule", "rule_line", "witness", "crawl_delay_s", "status",
    "location", "error", "judged_at",
]  # fmt: skip


def visit(**values: Any) -> Visit:
    known: dict[str, Any] = {"line": 2, "number": 1, "started_ms": T0, "chain": [Hop(URL)]}
    return Visit(URL, **known | values)


def test_keys_in_the_order_of_the_store() -> None:
    record = visit().record(1, STORED, T0)
    assert list(record) == PAGE_KEYS
    assert [list(hop) for hop in record["chain"]] == [HOP_KEYS]


def test_a_page_item_has_the_records_fields() -> None:
    assert [field.name for field in fields(Page)] == PAGE_KEYS
    assert Page(**visit().record(1, STORED, T0)).url == URL.text


def test_the_record_of_a_visit_with_two_hops() -> None:
    first = Hop(
        URL,
        ip="192.0.2.7",
        decision=Decision.ALLOW,
        robots_id=3,
        group="seaspider",
        rule="Allow: /x",
        rule_line=6,
        witness=Decision.DISALLOW,
        crawl_delay_s=7.5,
        status=301,
        location="https://a.test/",
        judged_ms=T0 - 1,
    )
    second = Hop(normalise("https://a.test/"), ip="192.0.2.7", decision=Decision.ALLOW, robots_id=4, status=404)
    walked = visit(
        line=None,
        depth=2,
        via="http://a.test/",
        number=5,
        chain=[first, second],
        attempts=2,
        wire_bytes=314,
        flags=("bare-cr", "folded-header"),
    )
    assert to_line(walked.record(3, STORED, T0 + 1_500)).decode() == (
        '{"v":1,"run":3,"visit":5,"url":"http://a.test/x","line":null,"depth":2,"via":"http://a.test/",'
        '"outcome":"stored","reason":null,"status":404,"final_url":"https://a.test/","chain":['
        '{"url":"http://a.test/x","ip":"192.0.2.7","decision":"allow","robots_id":3,"group":"seaspider",'
        '"rule":"Allow: /x","rule_line":6,"witness":"disallow","crawl_delay_s":7.5,"status":301,'
        '"location":"https://a.test/","error":null,"judged_at":"2026-11-30T05:17:36.122Z"},'
        '{"url":"https://a.test/","ip":"192.0.2.7","decision":"allow","robots_id":4,"group":null,"rule":null,'
        '"rule_line":null,"witness":null,"crawl_delay_s":null,"status":404,"location":null,"error":null,'
        '"judged_at":null}],'
        '"content_type":null,"charset":null,"bytes":314,"sha256":null,"links":null,"nofollow":null,'
        '"flags":["bare-cr","folded-header"],"attempts":2,"not_before":null,'
        '"started_at":"2026-11-30T05:17:36.123Z","ended_at":"2026-11-30T05:17:37.623Z"}\n'
    )


ENDINGS: dict[str, tuple[Ending, list[Any]]] = {
    "stored": (STORED, ["stored", None, None]),
    "disallowed": (Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE), ["disallowed", "robots-rule", None]),
    "deferred-until": (
        Ending(Outcome.DEFERRED, Reason.BACKOFF, T0 + 1),
        ["deferred", "backoff", "2026-11-30T05:17:36.124Z"],
    ),
    "deferred-without-a-time": (Ending(Outcome.DEFERRED, Reason.BUDGET), ["deferred", "budget", None]),
    "blocked": (
        Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0 + 1_000_000_000),
        ["blocked", "forbidden", "2026-12-11T19:04:16.123Z"],
    ),
    "at-the-epoch": (Ending(Outcome.DEFERRED, Reason.BACKOFF, 0), ["deferred", "backoff", "1970-01-01T00:00:00.000Z"]),
}


@pytest.mark.parametrize(("ending", "expected"), ENDINGS.values(), ids=ENDINGS)
def test_how_an_ending_is_recorded(ending: Ending, expected: list[Any]) -> None:
    record = json.loads(to_line(visit().record(1, ending, T0)))
    assert [record[key] for key in ("outcome", "reason", "not_before")] == expected


def test_a_visit_whose_last_hop_was_not_asked_has_no_status() -> None:
    hops = [Hop(URL, status=302, location="/y"), Hop(normalise("http://a.test/y"), decision=Decision.DISALLOW)]
    record = visit(chain=hops).record(1, Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE), T0)
    assert (record["status"], record["final_url"]) == (None, "http://a.test/y")


def test_the_final_url_before_the_first_turn_and_after_hops() -> None:
    fresh = Visit(URL)
    assert (fresh.final_url, fresh.chain, fresh.number) == (URL, [], None)
    target = normalise("http://b.test/")
    fresh.chain.extend([Hop(URL), Hop(target)])
    assert fresh.final_url is target


def test_a_kept_record_is_the_earlier_one_under_this_runs_numbers() -> None:
    ending = Ending(Outcome.DEFERRED, Reason.BACKOFF, T0 + 5_000)
    hops = [Hop(URL, ip="192.0.2.7", robots_id=3, status=503)]
    earlier = json.loads(to_line(visit(chain=hops, attempts=1, wire_bytes=9, flags=("bare-cr",)).record(1, ending, T0)))
    kept = visit(line=9, depth=1, via="http://a.test/", number=4, started_ms=T0 + 10, earlier=earlier, kept=True)
    record = kept.record(2, ending, T0 + 20)
    assert list(record) == PAGE_KEYS
    changed = {key: value for key, value in record.items() if value != earlier[key]}
    assert changed == {
        "run": 2,
        "visit": 4,
        "line": 9,
        "depth": 1,
        "via": "http://a.test/",
        "started_at": "2026-11-30T05:17:36.133Z",
        "ended_at": "2026-11-30T05:17:36.143Z",
    }
    assert earlier["run"] == 1


def test_visits_are_told_apart_by_identity() -> None:
    """They are keys of what waits: two visits of one URL are not one."""
    assert visit() != visit()
    assert len({visit(), visit()}) == 2
