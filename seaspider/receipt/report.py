"""What `scrapy receipt` found out, as an object for programs: nothing left out, its keys and their order fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from seaspider.core.times import NS_PER_S, rfc3339_ms
from seaspider.receipt.pages import PageFact
from seaspider.receipt.receipt import Forbidden, Receipt, RunFact, Slowed
from seaspider.receipt.requests import ROBOTS, Asked, Gaps
from seaspider.receipt.robots import RobotsFact


def as_object(receipt: Receipt) -> dict[str, Any]:
    """The receipt for programs; what there is not is null. Times are UTC, durations s, sizes bytes."""
    asked, pages = receipt.asked, receipt.pages
    return {
        "given": receipt.given,
        "host": receipt.host,
        "known": receipt.known,
        "names_at": list(receipt.names_at),
        "runs": [_run(run, receipt) for run in receipt.runs],
        "requests": _requests(receipt),
        "asked": [
            _asked(each, receipt.came_from.get((each.run, each.n)), gap_ns)
            for each, gap_ns in zip(asked, receipt.gaps_ns, strict=True)
        ],
        "pages": _count(page.ending for page in pages if page.own),
        "not_asked": _count(page.ending for page in pages if page.not_asked),
        "urls": [_page(page) for page in pages],
        "robots": [
            {"origin": origin.origin, "records": [_robots(record) for record in origin.records]}
            for origin in receipt.origins
        ],
        "gaps": {
            "host": _gaps(receipt.gaps),
            "addresses": {ip: _gaps(gaps) for ip, gaps in receipt.ip_gaps.items()},
        },
        "longest_pause": _pause(receipt.longest_pause),
        "slowed": [_slowed(each) for each in receipt.slowed],
        "forbidden": [_forbidden(each) for each in receipt.forbidden],
        "skipped_lines": receipt.skipped,
        "visits_begun": receipt.begun,
        "ends_without_beginning": receipt.strays,
        "leave_alone": leave_alone(receipt),
    }


def leave_alone(receipt: Receipt) -> dict[str, Any] | None:
    """The robots.txt lines that keep the crawler away, where they go, and who else can be asked; None: never ran."""
    run = (receipt.runs or (receipt.latest,))[-1]
    if run is None:
        return None
    return {
        "lines": [f"User-agent: {run.token}", "Disallow: /"],
        "at": [f"{origin.origin}/robots.txt" for origin in receipt.origins],
        "read_again_after_s": run.robots_ttl_s,
        "contact": run.contact,
    }


def _count(words: Iterable[str | int]) -> dict[str, int]:
    counted = Counter(words)
    return {str(word): counted[word] for word in sorted(counted)}


def _time(wall_ms: int | None) -> str | None:
    return None if wall_ms is None else rfc3339_ms(wall_ms)


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_S


def _run(run: RunFact, receipt: Receipt) -> dict[str, Any]:
    return {
        "run": run.run,
        "started_at": _time(run.started_ms),
        "ended_at": _time(run.ended_ms),
        "reason": run.reason,
        "requests": sum(each.run == run.run for each in receipt.asked),
        "boot_id": run.boot_id,
        "versions": dict(run.versions),
        "user_agent": run.user_agent,
        "contact": run.contact,
        "token": run.token,
        "interval_s": run.interval_s,
        "ip_interval_s": run.ip_interval_s,
        "crawl_delay_cap_s": run.crawl_delay_cap_s,
        "robots_ttl_s": run.robots_ttl_s,
        "stop_on_403": run.stop_on_403,
    }


def _requests(receipt: Receipt) -> dict[str, Any]:
    asked = receipt.asked
    robots = sum(each.kind == ROBOTS for each in asked)
    return {
        "total": len(asked),
        "robots": robots,
        "page": len(asked) - robots,
        "redirected_here": receipt.redirected,
        "not_sent": sum(not each.sent for each in asked),
        "no_end": sum(each.ended_ms is None for each in asked),
        "first_at": _time(asked[0].at_ms) if asked else None,
        "last_at": _time(asked[-1].at_ms) if asked else None,
        "bytes": sum(each.bytes or 0 for each in asked),
        "statuses": _count(each.status for each in asked if each.status is not None),
        "errors": _count(each.error for each in asked if each.error is not None),
        "addresses": _count(each.ip for each in asked),
    }


def _asked(each: Asked, came_from: str | None, gap_ns: int | None) -> dict[str, Any]:
    return {
        "run": each.run,
        "n": each.n,
        "visit": each.visit,
        "kind": each.kind,
        "url": each.url,
        "ip": each.ip,
        "claimed_at": _time(each.at_ms),
        "ended_at": _time(each.ended_ms),
        "sent": each.sent,
        "status": each.status,
        "error": each.error,
        "bytes": each.bytes,
        "pause_s": each.pause_s,
        "pause_basis": each.pause_basis,
        "gap_s": _seconds(gap_ns),
        "came_from": came_from,
    }


def _page(page: PageFact) -> dict[str, Any]:
    return {
        "url": page.url,
        "own": page.own,
        "followed": page.followed,
        "run": page.run,
        "ended_at": _time(page.ended_ms),
        "outcome": page.outcome,
        "reason": page.reason,
        "status": page.status,
        "not_before": _time(page.not_before_ms),
        "not_asked": page.not_asked,
        "group": page.group,
        "rule": page.rule,
        "rule_line": page.rule_line,
        "crawl_delay_s": page.crawl_delay_s,
    }


def _robots(record: RobotsFact) -> dict[str, Any]:
    entry, rules = record.entry, record.rules
    quoted = rules and [{"line": rule.line, "text": rule.text} for rule in rules.rules]
    return {
        "run": entry.run,
        "id": entry.id,
        "cause": entry.cause,
        "fetched_at": _time(entry.fetched_at_ms),
        "expires_at": _time(entry.expires_at_ms),
        "chain": entry.to_row()["chain"],
        "state": entry.state,
        "reason": entry.reason,
        "status": entry.status,
        "sha256": entry.sha256,
        "bytes": entry.bytes,
        "truncated": entry.truncated,
        "body": rules.body if rules else None,
        "token": rules.token if rules else None,
        "group": rules.group if rules else None,
        "crawl_delay_s": rules.crawl_delay_s if rules else None,
        "rules": quoted,
    }


def _gaps(gaps: Gaps) -> dict[str, Any]:
    shortest = gaps.shortest
    return {
        "measured": gaps.pairs,
        "below_pause": gaps.below,
        "other_boot": gaps.other_boot,
        "no_end": gaps.no_end,
        "shortest_s": _seconds(shortest.ns) if shortest else None,
        "due_s": _seconds(shortest.due_ns) if shortest else None,
        "run": shortest.run if shortest else None,
        "n": shortest.n if shortest else None,
        "claimed_at": _time(shortest.at_ms) if shortest else None,
    }


def _pause(each: Asked | None) -> dict[str, Any] | None:
    if each is None:
        return None
    return {"pause_s": each.pause_s, "pause_basis": each.pause_basis, "run": each.run, "n": each.n, "url": each.url}


def _slowed(found: Slowed) -> dict[str, Any]:
    each, following = found.asked, found.following
    return {
        "run": each.run,
        "n": each.n,
        "url": each.url,
        "ended_at": _time(each.ended_ms),
        "status": each.status,
        "error": each.error,
        "retry_after": each.retry_after,
        "pause_s": each.pause_s,
        "pause_basis": each.pause_basis,
        "next_at": _time(following.at_ms) if following else None,
        "next_gap_s": _seconds(found.gap_ns),
    }


def _forbidden(found: Forbidden) -> dict[str, Any]:
    each, following = found.asked, found.next_page
    return {
        "run": each.run,
        "n": each.n,
        "url": each.url,
        "ended_at": _time(each.ended_ms),
        "stops": found.stops,
        "next_page_at": _time(following.at_ms) if following else None,
    }
