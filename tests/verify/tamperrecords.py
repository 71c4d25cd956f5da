"""The single edits that break P4 to P6: hops, order and records, nothing lost.

One that rightly breaks several stands with the one that it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

from seaspider.core.records import File
from tests.verify.tamper import (
    BodyEdit,
    Change,
    Edit,
    NotThere,
    Row,
    Rows,
    double,
    drop,
    first,
    pairs,
    put,
    put_in,
    set_values,
    swap,
)
from tests.verify.tamperlines import (
    HOUR_MS,
    NO_DIGEST,
    AnEdit,
    any_row,
    count,
    end,
    ended,
    hopped,
    later,
    link_row,
    other,
    page_line,
    plus,
    redirected_hop,
    setting,
    stored,
)

# --- P4 ---


def _without_hop(n: int) -> Change:
    def change(rows: Rows) -> Rows:
        del first(rows, hopped)["chain"][n]
        return rows

    return change


def _without_robots_hop(rows: Rows) -> Rows:
    del first(rows, lambda row: len(row["chain"]) > 1)["chain"][0]
    return rows


def _sent_on(**values: Any) -> Change:
    """New values in the answer that sends a visit on to its next hop."""

    def change(rows: Rows) -> Rows:
        for (claim, settle), (after, _) in combinations(pairs(rows), 2):
            same = all(claim[key] == after[key] for key in ("run", "visit"))
            if same and claim["kind"] == after["kind"] == "page" and claim["url"] != after["url"]:
                set_values(settle, values)
                return rows
        raise NotThere

    return change


def _elsewhere(headers: list[list[str]]) -> list[list[str]]:
    return [[name, other(value) if name == "Location" else value] for name, value in headers]


P4: dict[str, AnEdit] = {
    "first-hop-gone": Edit(File.PAGES, _without_hop(0)),
    "next-hop-gone": Edit(File.PAGES, _without_hop(1)),
    "url-of-first-hop": redirected_hop(0, url=other),
    "url-of-next-hop": redirected_hop(1, url=other),
    "decision-of-next-hop-gone": redirected_hop(1, decision=None),
    "robots-of-next-hop-gone": redirected_hop(1, robots_id=None),
    "location-received": Edit(File.REQUESTS, _sent_on(headers=_elsewhere)),
    "redirect-status": Edit(File.REQUESTS, _sent_on(status=404)),
    "final-url": Edit(File.PAGES, put(hopped, final_url=other)),
    "robots-hop-gone": Edit(File.ROBOTS, _without_robots_hop),
    "robots-url-of-next-hop": Edit(File.ROBOTS, put_in("chain", 1, any_row, url=other)),
    "budget": setting(max_redirects=0),
    "robots-budget": setting(robots_max_redirects=0),
}


# --- P5 ---


def _swapped_requests(rows: Rows) -> Rows:
    """Who was asked by two requests in a row, swapped: times and numbers stay."""
    last = None
    for claim, settle in pairs(rows):
        if last is not None and last[0]["host"] != claim["host"] and last[0]["run"] == claim["run"]:
            stay = ("n", "claimed_at", "claimed_ns", "judged_at", "sent_ns", "ended_at", "ended_ns")
            for one, two in zip(last, (claim, settle), strict=True):
                for key in set(one) - set(stay):
                    one[key], two[key] = two[key], one[key]
            return rows
        last = (claim, settle)
    raise NotThere


def _swapped_pages(rows: Rows) -> Rows:
    for at, (one, two) in enumerate(pairwise(rows)):
        if stored(one) and stored(two) and one["run"] == two["run"]:
            rows[at], rows[at + 1] = two, one
            return rows
    raise NotThere


def followed(row: Row) -> bool:
    return bool(row["followed"])


def not_followed(reason: str) -> Callable[[Row], bool]:
    return lambda row: row["reason"] == reason


def timed(row: Row) -> bool:
    return row["not_before"] is not None


P5: dict[str, AnEdit] = {
    "requests-swapped": Edit(File.REQUESTS, _swapped_requests),
    "pages-swapped": Edit(File.PAGES, _swapped_pages),
    "visit": page_line(stored, visit=plus(1)),
    "visit-unknown": page_line(ended("failed", "dns"), visit=99_999),
    "outcome": page_line(stored, outcome="failed", reason="cut"),
    "outcome-of-disallowed": page_line(ended("disallowed"), outcome="refused", reason="special-address"),
    "reason": page_line(ended("failed", "http-429"), reason="http-5xx"),
    "reason-dns": page_line(ended("failed", "dns"), outcome="refused", reason="special-address"),
    "reason-budget": page_line(ended("deferred", "budget"), reason="crawl-delay"),
    "status": page_line(stored, status=plus(1)),
    "line": page_line(stored, line=plus(1)),
    "line-gone": page_line(stored, line=None),
    "depth": page_line(stored, depth=plus(1)),
    "via": page_line(stored, via="http://a.test/"),
    "url": page_line(stored, url=other),
    "flags": page_line(stored, flags=["no-such-flag"]),
    "links-count": page_line(lambda row: row["links"], links=plus(1)),
    "links-gone": page_line(lambda row: row["links"], links=None),
    "started-after-end": page_line(stored, started_at=later(HOUR_MS)),
    "ended-before-start": page_line(stored, ended_at=later(-HOUR_MS)),
    "link-gone": Edit(File.LINKS, drop(any_row)),
    "link-twice": Edit(File.LINKS, double(any_row)),
    "link-more": Edit(File.LINKS, double(any_row, n=plus(1))),
    "link-number": link_row(any_row, n=plus(1)),
    "link-page": link_row(any_row, page=other),
    "link-visit": link_row(any_row, visit=plus(1)),
    "links-swapped": Edit(File.LINKS, swap(lambda row: row["n"] == 1, lambda row: row["n"] == 2)),
    "link-now-followed": link_row(not_followed("other-host"), followed=True, reason=None),
    "link-now-off": link_row(followed, followed=False, reason="off"),
    "link-now-nofollow": link_row(followed, nofollow=True),
    "link-reason": link_row(not_followed("other-host"), reason="depth"),
    "link-followed-with-reason": link_row(followed, reason="depth"),
    "order": setting(order=lambda text: "round-robin" if text != "round-robin" else "longest-idle"),
    "max-attempts": setting(max_attempts=9),
    "follow-off": setting(follow="off"),
    "max-depth": setting(max_depth=0),
}


# --- P6 ---


def with_body(row: Row) -> bool:
    return row["outcome"] == "stored" and row["links"] is not None


def duplicate(row: Row) -> bool:
    return row["fate"] == "duplicate"


P6: dict[str, AnEdit] = {
    "not-before": page_line(timed, not_before=later(HOUR_MS)),
    "not-before-gone": page_line(ended("deferred", "robots-unreachable"), not_before=None),
    "not-before-new": page_line(ended("deferred", "crawl-delay"), not_before="2036-01-01T00:00:00.000Z"),
    "page-gone": Edit(File.PAGES, drop(stored)),
    "page-not-final-gone": Edit(File.PAGES, drop(ended("deferred"))),
    "page-twice": Edit(File.PAGES, double(stored)),
    "page-of-another-run": page_line(stored, run=plus(1)),
    "intent-gone": Edit(File.INTENTS, drop(any_row)),
    "intent-twice": Edit(File.INTENTS, double(any_row)),
    "intent-url": Edit(File.INTENTS, put(any_row, url=other)),
    "intent-visit": Edit(File.INTENTS, put(any_row, visit=plus(1))),
    "intent-line": Edit(File.INTENTS, put(any_row, line=plus(1))),
    "body-gone": BodyEdit(File.PAGES, with_body, lambda body: None),
    "body-longer": BodyEdit(File.PAGES, with_body, lambda body: body + b" "),
    "body-empty": BodyEdit(File.PAGES, with_body, lambda body: b""),
    "digest": page_line(with_body, sha256=NO_DIGEST),
    "digest-gone": page_line(with_body, sha256=None),
    "skipped-gone": Edit(File.SKIPPED, drop(any_row), everywhere=False),
    "skipped-twice": Edit(File.SKIPPED, double(any_row), everywhere=False),
    "skipped-fate": Edit(File.SKIPPED, put(duplicate, fate="done", of=None), everywhere=False),
    "skipped-line": Edit(File.SKIPPED, put(any_row, line=plus(1)), everywhere=False),
    "skipped-of": Edit(
        File.SKIPPED, put(duplicate, of=lambda line: line + 1 if line < 2 else line - 1), everywhere=False
    ),
    "skipped-url": Edit(File.SKIPPED, put(duplicate, url=other), everywhere=False),
    "count-lines": count("queue", lines=plus(1)),
    "count-recorded": count("queue", recorded=plus(-1), unfinished=plus(1)),
    "count-duplicate": count("queue", duplicate=plus(1), blank=plus(-1)),
    "count-pages": count("pages", stored=plus(-1)),
    "count-unfinished": count(unfinished=plus(1)),
    "count-interrupted": count(interrupted=plus(1)),
    "count-hosts": count(hosts=plus(1)),
    "exit": Edit(File.MANIFEST, put(end, exit=lambda code: 0 if code else 3)),
}
