"""An explanation as an object for programs: always these keys, in this order; what there is not is null or empty."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.times import rfc3339_ms
from seaspider.explain.explanation import Explanation, Rejection, hop_of
from seaspider.explain.judgement import Judgement
from seaspider.explain.rows import VisitRow
from seaspider.explain.sentences import summary


def as_object(found: Explanation | Rejection) -> dict[str, Any]:
    if isinstance(found, Rejection):
        return _object(found, "rejected", url=None, summary=found.summary, queue=[asdict(line) for line in found.lines])
    evidence, under_way = found.evidence, found.under_way
    return _object(
        found,
        found.kind,
        url=found.url.text,
        summary=summary(found),
        fetched=found.fetched,
        changes=list(found.changes),
        queue=[asdict(line) for line in evidence.queue],
        begun=None if under_way is None else asdict(under_way),
        visits=[_visit(visit) for visit in evidence.visits],
        led_here={
            "count": evidence.led_here_count,
            "latest": [
                {**_visit(visit), "hop": visit.chain.index(hop_of(evidence, visit)) + 1} for visit in evidence.led_here
            ],
        },
        links={
            "count": evidence.links,
            "followed": [asdict(link) for link in evidence.followed],
            "not_followed": [asdict(link) for link in evidence.unfollowed.values()],
        },
        requests=[asdict(request) for request in (*evidence.requests, *evidence.others)],
        robots=[_robots(entry, found) for _, entry in sorted(found.entries.items())],
        judgement=_judgement(found.judgement),
        unlisted=found.unlisted.number if found.unlisted else None,
    )


def _object(found: Explanation | Rejection, known: str, **rest: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "url": None,
        "summary": None,
        "fetched": False,
        "changes": [],
        "queue": [],
        "begun": None,
        "visits": [],
        "led_here": {"count": 0, "latest": []},
        "links": {"count": 0, "followed": [], "not_followed": []},
        "requests": [],
        "robots": [],
        "judgement": None,
        "unlisted": None,
    }
    return {"given": found.given, "store": found.store, "at": found.at, "known": known, **empty, **rest}


def _visit(visit: VisitRow) -> dict[str, Any]:
    ending = visit.ending
    return {
        "run": visit.run,
        "visit": visit.visit,
        "url": visit.url,
        "line": visit.line,
        "depth": visit.depth,
        "via": visit.via,
        "outcome": ending.outcome,
        "reason": ending.reason,
        "status": visit.status,
        "final_url": visit.final_url,
        "chain": [hop.record() for hop in visit.chain],
        "attempts": visit.attempts,
        "sha256": visit.sha256,
        "not_before": None if ending.not_before_ms is None else rfc3339_ms(ending.not_before_ms),
        "kept": visit.kept,
        "started_at": visit.started_at,
        "ended_at": visit.ended_at,
    }


def _robots(entry: RobotsEntry, found: Explanation) -> dict[str, Any]:
    """`body`: whether the bytes that were parsed are in the store; null where there were none."""
    row = entry.to_row()
    keys = ("id", "run", "origin", "cause", "state", "reason", "status", "sha256", "bytes", "truncated")
    return {
        **{key: row[key] for key in keys},
        "body": found.bodies.get(entry.id),
        "fetched_at": row["fetched_at"],
        "expires_at": row["expires_at"],
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    ending, hop = judgement.ending, judgement.hop
    decided = judgement.undecided is None
    return {
        "at": rfc3339_ms(judgement.at_ms),
        "decided": decided,
        "undecided": judgement.undecided,
        "allowed": ending is None if decided else None,
        "outcome": ending.outcome if ending else None,
        "reason": ending.reason if ending else None,
        "not_before": rfc3339_ms(ending.not_before_ms) if ending and ending.not_before_ms is not None else None,
        "decision": hop.decision,
        "robots_id": hop.robots_id,
        "latest_robots_id": judgement.entry.id if judgement.entry else None,
        "group": hop.group,
        "rule": hop.rule,
        "rule_line": hop.rule_line,
        "witness": hop.witness,
        "crawl_delay_s": hop.crawl_delay_s,
        "settings_of_run": judgement.run.number if judgement.run else None,
        "token": judgement.run.settings.get("token", str) if judgement.run else None,
        "crawl_delay_cap_s": judgement.run.settings.get("crawl_delay_cap_s", float) if judgement.run else None,
    }
