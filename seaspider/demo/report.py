"""What came of the demo: its records beside what was expected, and what the servers saw beside the pauses.

Judges by the records and the servers' arrival log alone; knows nothing of how the crawl works.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seaspider.core.records import File
from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.loopback.arrivals import Arrival
from seaspider.loopback.demosite import EXPECTED, NEVER_ASKED, Expected
from seaspider.loopback.judge import Key, max_in_flight, min_gaps_ns, pages_before_robots

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[str]
    as_expected: bool


def report(store: Path, arrivals: Sequence[Arrival], port: int) -> Report:
    """The report of one crawl of the demo web at this port."""
    queue, wrong = _queue_table(_endings(store, port), port)
    hosts, near = _host_table(arrivals, _pauses(store))
    faults = [*wrong, *near, *_broken_promises(arrivals)]
    verdict = [f"NOT as expected: {fault}" for fault in faults] or [_all_well(arrivals)]
    return Report(["", *queue, "", *hosts, "", *verdict], not faults)


def _all_well(arrivals: Sequence[Arrival]) -> str:
    hosts = len({arrival.name for arrival in arrivals})
    return (
        f"Everything is as expected: {len(EXPECTED)} queue lines, {len(arrivals)} requests to {hosts} hosts, one at a "
        f"time.\nNone of the {len(NEVER_ASKED)} pages that must not be asked was, and no page before its robots.txt."
    )


# --- the queue ---


def _endings(store: Path, port: int) -> dict[int, Expected]:
    """Queue line -> what became of it, told as an expectation is."""
    found = {}
    for row in _rows(store, File.SKIPPED):
        found[row["line"]] = Expected(row["line"], "", row["fate"], "", row["reason"])
    for row in _rows(store, File.PAGES):
        if row["line"] is not None:
            found[row["line"]] = _ending(row, port)
    return found


def _ending(page: Row, port: int) -> Expected:
    host, slash, path = page["final_url"].removeprefix("http://").replace(f":{port}", "", 1).partition("/")
    final = (host, slash + path) if len(page["chain"]) > 1 else None
    return Expected(page["line"], "", page["outcome"], "", page["reason"], page["status"], page["links"] or 0, final)


def _queue_table(found: Mapping[int, Expected], port: int) -> tuple[list[str], list[str]]:
    """The table, and what is not as expected."""
    rows = [("line", "URL", "what it shows", "what became of it", "ok")]
    wrong = []
    for row in EXPECTED:
        got, url = found.get(row.line), row.text.replace(":{port}", "").removeprefix("http://")
        fine = got is not None and _facts(got) == _facts(row)
        rows.append((str(row.line), url, row.shows, _told(got), "yes" if fine else "NO"))
        if not fine:
            wrong.append(f"line {row.line} ({url}) should be {_full(row)}, and is {_full(got)}")
    return _table(rows, right={0}), wrong


def _facts(row: Expected) -> tuple[Any, ...]:
    return (row.outcome, row.reason, row.status, row.links, row.final)


def _told(row: Expected | None) -> str:
    if row is None:
        return "nothing"
    return f"{row.outcome}{f'/{row.reason}' if row.reason else ''}{f' {row.status}' if row.status else ''}"


def _full(row: Expected | None) -> str:
    if row is None:
        return "nothing"
    place = f" at {''.join(row.final)}" if row.final else ""
    return f"{_told(row)} with {row.links} links{place}"


# --- the servers ---


def _pauses(store: Path) -> dict[str, float]:
    """Host -> the shortest pause that the crawl says it kept after a request, s."""
    hosts = {(row["run"], row["n"]): row["host"] for row in _rows(store, File.REQUESTS) if row["event"] == "claim"}
    pauses: dict[str, float] = {}
    for row in _rows(store, File.REQUESTS):
        if row["event"] == "settle":
            host = hosts[row["run"], row["n"]]
            pauses[host] = min(row["pause_s"], pauses.get(host, row["pause_s"]))
    return pauses


def _host_table(arrivals: Sequence[Arrival], pauses: Mapping[str, float]) -> tuple[list[str], list[str]]:
    gaps = min_gaps_ns(arrivals, Key.HOST)
    rows = [("host", "requests", "robots.txt", "pause", "smallest gap at the server")]
    near = []
    for host in sorted({arrival.name for arrival in arrivals}):
        targets = [arrival.target for arrival in arrivals if arrival.name == host]
        pause_s, gap_ns = pauses.get(host, 0.0), gaps.get(host)
        gap = "-" if gap_ns is None else f"{gap_ns / NS_PER_S:.3f} s"
        rows.append((host, str(len(targets)), str(targets.count("/robots.txt")), f"{pause_s:g} s", gap))
        if gap_ns is not None and gap_ns < ns_from_s(pause_s):
            near.append(f"{host} was asked twice in {gap_ns / NS_PER_S} s, its pause is {pause_s:g} s")
    return _table(rows, right={1, 2, 3, 4}), near


def _broken_promises(arrivals: Sequence[Arrival]) -> Iterator[str]:
    asked = {(arrival.name, arrival.target) for arrival in arrivals}
    for host, target in NEVER_ASKED:
        if (host, target) in asked:
            yield f"{host}{target} was asked for"
    for arrival in pages_before_robots(arrivals):
        yield f"{arrival.name}{arrival.target} was asked for before the robots.txt of its origin"
    if max_in_flight(arrivals) > 1:
        yield f"{max_in_flight(arrivals)} requests were in flight at a time"


# --- text ---


def _table(rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    """Lines of columns as wide as their widest text, two blanks apart, and a rule under the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _rows(store: Path, file: File) -> list[Row]:
    return [json.loads(line) for line in (store / file).read_text("utf-8").splitlines()]
