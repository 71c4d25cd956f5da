"""The single edits that break P1 to P3: decisions, the door, pauses.

One that rightly breaks several stands with the one that it is about.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from seaspider.core.records import File
from tests.verify.tamper import (
    BodyEdit,
    Edit,
    NotThere,
    Row,
    Rows,
    double,
    drop,
    first,
    inside,
    pairs,
    put,
    put_in,
    request,
    swap,
)
from tests.verify.tamperlines import (
    HOUR_MS,
    NO_DIGEST,
    S_NS,
    AnEdit,
    answer_of,
    answered,
    by_rules,
    claim,
    count,
    end,
    ended,
    fetched,
    last_hop,
    later,
    other,
    paused,
    plus,
    redirected_hop,
    request_line,
    rested,
    robots_row,
    ruled,
    setting,
    state,
    stored,
)

# --- P1 ---


def _other_rules(rows: Rows) -> Rows:
    """The digest of other rules that are in the store, too."""
    row = first(rows, fetched)
    row["sha256"] = first(rows, lambda each: fetched(each) and each["sha256"] != row["sha256"])["sha256"]
    return rows


NOTHING_IS_ALLOWED = {"state": "unreachable", "reason": "http-5xx", "sha256": None, "bytes": None, "truncated": False}
ALL_IS_ALLOWED = {**NOTHING_IS_ALLOWED, "state": "absent", "reason": None, "sitemaps": []}

P1: dict[str, AnEdit] = {
    "decision-forbids": last_hop(by_rules, decision="disallow"),
    "decision-allows": last_hop(ended("disallowed"), decision="allow"),
    "decision-gone": last_hop(by_rules, decision=None),
    "decision-unreachable": last_hop(by_rules, decision="unreachable"),
    "robots-of-another-origin": last_hop(by_rules, robots_id=lambda value: value - 1 if value > 1 else value + 1),
    "robots-unknown": last_hop(by_rules, robots_id=99_999),
    "robots-gone": last_hop(by_rules, robots_id=None),
    "group": last_hop(by_rules, group=lambda text: "other" if text == "*" else "*"),
    "group-gone": last_hop(by_rules, group=None),
    "rule": last_hop(ruled, rule=other),
    "rule-line": last_hop(ruled, rule_line=plus(1)),
    "rule-gone": last_hop(ended("disallowed"), rule=None),
    "witness": last_hop(by_rules, witness="disallow"),
    "crawl-delay": last_hop(by_rules, crawl_delay_s=99.0),
    "judged-before-robots": last_hop(by_rules, judged_at=later(-HOUR_MS)),
    "judged-after-expiry": last_hop(by_rules, judged_at=later(48 * HOUR_MS)),
    "judged-never": last_hop(by_rules, judged_at=None),
    "claim-judged-elsewhen": Edit(File.REQUESTS, put(claim(), judged_at=later(-HOUR_MS))),
    "body-forbids": BodyEdit(File.ROBOTS, fetched, lambda body: b"User-agent: *\nDisallow: /\n"),
    "body-a-letter": BodyEdit(File.ROBOTS, fetched, lambda body: body.replace(b"e", b"E", 1)),
    "body-longer": BodyEdit(File.ROBOTS, fetched, lambda body: body + b"\n"),
    "body-gone": BodyEdit(File.ROBOTS, fetched, lambda body: None),
    "robots-row-gone": Edit(File.ROBOTS, drop(fetched)),
    "robots-row-twice": Edit(File.ROBOTS, double(fetched)),
    "robots-rows-swapped": Edit(File.ROBOTS, swap(lambda row: row["id"] == 2, lambda row: row["id"] == 3)),
    "robots-id": robots_row(fetched, id=plus(1)),
    "robots-origin": robots_row(fetched, origin=other),
    "robots-cause": robots_row(fetched, cause="retry"),
    "parsed-now-absent": robots_row(fetched, **ALL_IS_ALLOWED),
    "parsed-now-unreachable": robots_row(fetched, **NOTHING_IS_ALLOWED, sitemaps=[]),
    "absent-now-unreachable": robots_row(state("absent"), state="unreachable", reason="http-other"),
    "unreachable-now-absent": robots_row(state("unreachable"), state="absent", reason=None),
    "unreachable-reason": robots_row(state("unreachable"), reason=lambda text: "tls" if text == "cut" else "cut"),
    "status-of-parsed": robots_row(fetched, status=404),
    "status-of-absent": robots_row(state("absent"), status=418),
    "rules-of-another": Edit(File.ROBOTS, _other_rules),
    "digest-of-nothing": robots_row(fetched, sha256=NO_DIGEST),
    "bytes": robots_row(fetched, bytes=plus(1)),
    "truncated": robots_row(fetched, truncated=True),
    "etag": robots_row(fetched, etag='"no"'),
    "last-modified": robots_row(fetched, last_modified="Sat, 01 Jan 2022 00:00:01 GMT"),
    "retry-after": robots_row(state("unreachable"), retry_after_s=77),
    "sitemaps": robots_row(fetched, sitemaps=["http://a.test/no"]),
    "expires-before-use": robots_row(fetched, expires_at=later(-200)),
    "expires-later": robots_row(fetched, expires_at=later(HOUR_MS)),
    "unreachable-for-longer": robots_row(state("unreachable"), expires_at=later(1)),
    "fetched-after-use": robots_row(fetched, fetched_at=later(HOUR_MS), expires_at=later(HOUR_MS)),
    "fetched-before": robots_row(fetched, fetched_at=later(-1)),
    "ttl": setting(robots_ttl_s=1.0),
    "token": setting(token="other"),
}


# --- P2 ---


def _without(rows: Rows, *gone: Row) -> Rows:
    return [row for row in rows if not any(row is each for each in gone)]


def _page_answer(claim: Row, settle: Row) -> bool:
    return (
        claim["kind"] == "page"
        and settle["status"] == 200
        and not settle["error"]
        and claim["visit"] is not None
        and claim["n"] > 3
    )


def _robots_answer(claim: Row, settle: Row) -> bool:
    return (
        claim["kind"] == "robots"
        and settle["status"] == 200
        and not settle["error"]
        and claim["visit"] is not None
        and claim["n"] > 3
    )


def _asked_twice(rows: Rows, claim: Row, settle: Row) -> Rows:
    at = rows.index(settle) + 1
    return [*rows[:at], dict(claim), dict(settle), *rows[at:]]


def _asked_at_the_end(rows: Rows) -> Rows:
    """A request more behind the last one, with the next number and a time of its own."""
    *_, (claim, settle) = pairs(rows)
    shift = 100 * S_NS
    more = {
        "n": claim["n"] + 1,
        "claimed_ns": claim["claimed_ns"] + shift,
        "claimed_at": later(100_000)(claim["claimed_at"]),
    }
    gone = {"n": more["n"], "ended_ns": settle["ended_ns"] + shift, "ended_at": later(100_000)(settle["ended_at"])}
    return [*rows, claim | more, settle | gone]


P2: dict[str, AnEdit] = {
    "claim-gone": Edit(File.REQUESTS, drop(claim())),
    "settle-gone": Edit(File.REQUESTS, drop(answered)),
    "page-request-gone": Edit(File.REQUESTS, request(_page_answer, _without)),
    "robots-request-gone": Edit(File.REQUESTS, request(_robots_answer, _without)),
    "request-twice": Edit(File.REQUESTS, request(_page_answer, _asked_twice)),
    "request-more": Edit(File.REQUESTS, _asked_at_the_end),
    "claim-twice": Edit(File.REQUESTS, double(claim())),
    "settle-twice": Edit(File.REQUESTS, double(answered)),
    "ip": request_line(claim(), ip="127.0.0.99"),
    "ip-special": request_line(claim(), ip="10.0.0.1", addresses=["10.0.0.1"]),
    "addresses-other": request_line(claim(), addresses=["127.0.0.99"]),
    "addresses-one-special": request_line(claim(), addresses=lambda texts: [*texts, "10.0.0.1"]),
    "addresses-none": request_line(claim(), addresses=[]),
    "url": request_line(claim(), url=other),
    "host": request_line(claim(), host=other),
    "robots-url": request_line(claim("robots"), url=other),
    "number": request_line(claim(), n=plus(1)),
    "kind-of-page": request_line(claim(), kind="robots"),
    "kind-of-robots": request_line(claim("robots"), kind="page"),
    "visit": request_line(claim(), visit=plus(1)),
    "visit-gone": request_line(claim(), visit=None),
    "status": answer_of(_page_answer, status=201),
    "error": answer_of(_page_answer, error="cut"),
    "robots-status": answer_of(_robots_answer, status=201),
    "bytes": answer_of(_page_answer, bytes=plus(1)),
    "sent-before-claim": answer_of(_page_answer, sent_ns=plus(-10 * S_NS)),
    "sent-after-hold": answer_of(_page_answer, sent_ns=plus(100 * S_NS), ended_ns=plus(101 * S_NS)),
    "never-sent": answer_of(_page_answer, sent_ns=None),
    "count-requests": count(requests=plus(1)),
    "chain-ip": last_hop(stored, ip="127.0.0.99"),
    "chain-status": last_hop(stored, status=plus(1)),
    "chain-error": last_hop(stored, error="cut"),
    "chain-status-of-a-redirect": redirected_hop(0, status=200),
    "chain-location": redirected_hop(0, location=lambda text: text + "x"),
    "chain-location-gone": redirected_hop(0, location=None),
    "robots-chain-status": Edit(File.ROBOTS, put_in("chain", 0, fetched, status=404)),
    "robots-chain-location": Edit(File.ROBOTS, put_in("chain", 0, lambda row: len(row["chain"]) > 1, location=other)),
    "ended-before-sent": request_line(answered, ended_ns=plus(-60 * S_NS)),
    "page-bytes": Edit(File.PAGES, put(stored, bytes=plus(1))),
    "attempts-more": Edit(File.PAGES, put(stored, attempts=plus(1))),
    "attempts-none": Edit(File.PAGES, put(stored, attempts=0)),
    "robots-chain-ip": Edit(File.ROBOTS, put_in("chain", 0, fetched, ip="127.0.0.99")),
    "networks": setting(allowed_networks=[]),
}


# --- P3 ---


def _moved_earlier(rows: Rows) -> Rows:
    """Of two requests in a row to one address, the second right behind the first."""
    for (one, last), (two, settle) in pairwise(pairs(rows)):
        if one["ip"] == two["ip"] and last["pause_s"] and last["run"] == two["run"]:
            shift = two["claimed_ns"] - last["ended_ns"] - 1
            two["claimed_ns"] -= shift
            settle["ended_ns"] -= shift
            settle["sent_ns"] = None if settle["sent_ns"] is None else settle["sent_ns"] - shift
            return rows
    raise NotThere


def _too_soon(rows: Rows) -> Rows:
    """A claim made right before the pause of its host was over."""
    free_ns: dict[str, int] = {}
    for asked, settle in pairs(rows):
        if asked["host"] in free_ns:
            asked["claimed_ns"] = free_ns[asked["host"]] - 1
            return rows
        free_ns[asked["host"]] = settle["ended_ns"] + round(settle["pause_s"] * S_NS)
    raise NotThere


def _verdict(**values: Any) -> Edit:
    return Edit(File.MANIFEST, inside(end, "verdict", **values))


P3: dict[str, AnEdit] = {
    "request-moved-earlier": Edit(File.REQUESTS, _moved_earlier),
    "claimed-too-soon": Edit(File.REQUESTS, _too_soon),
    "claimed-before-the-last-ended": request_line(claim(), claimed_ns=plus(-60 * S_NS)),
    "ended-later": request_line(answered, ended_ns=plus(60 * S_NS)),
    "pause-lowered": request_line(rested, pause_s=0.0),
    "pause-raised": request_line(rested, pause_s=lambda value: value * 2),
    "pause-of-backoff-lowered": request_line(paused("backoff"), pause_s=lambda value: value / 2),
    "pause-of-crawl-delay-lowered": request_line(paused("crawl-delay"), pause_s=lambda value: value / 2),
    "basis": request_line(paused("interval"), pause_basis="backoff"),
    "basis-of-backoff": request_line(paused("backoff"), pause_basis="interval"),
    "basis-of-crawl-delay": request_line(paused("crawl-delay"), pause_basis="interval"),
    "retry-after-gone": request_line(paused("retry-after"), headers=[]),
    "interval-was-longer": setting(interval_s=9.0),
    "ip-interval-was-longer": setting(ip_interval_s=60.0),
    "backoff-was-longer": setting(backoff_base_s=1.0, backoff_cap_s=60.0),
    "verdict-hosts": _verdict(hosts=plus(1)),
    "verdict-requests": _verdict(requests=plus(-1)),
    "verdict-breadth": _verdict(breadth_per_mil=plus(1)),
    "verdict-most": _verdict(most_per_host=plus(-1)),
    "verdict-too-near": _verdict(too_near=1),
    "verdict-polite": _verdict(polite=lambda value: not value),
    "verdict-broad": _verdict(broad=lambda value: not value),
    "verdict-gate": _verdict(gate=lambda value: not value),
}
