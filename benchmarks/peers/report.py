"""The table of a benchmark, and the same as JSON. Judges nothing."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import seaspider
from benchmarks.peers.rows import Row
from benchmarks.peers.runs import Run

PACKAGES = ("scrapy", "twisted", "aiohttp", "pycurl", "uvloop")


def versions() -> dict[str, str]:
    """Of what was compared, as far as it is there."""
    found = {"seaspider": seaspider.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row.row[1:]))


def table(rows: Iterable[Row], runs: Sequence[Run]) -> str:
    """With what was compared, and how much else the machine had to do."""
    words = ", ".join(f"{name} {number}" for name, number in versions().items())
    load = f"; load average before a crawl: {median(run.load for run in runs):.1f} (median)" if runs else ""
    head = [field.name for field in fields(Row)]
    cells = [" | ".join(str(getattr(row, name)) or " " for name in head) for row in in_order(rows)]
    lines = [f"{words}; {os.cpu_count()} cores{load}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {row} |" for row in cells)])


def line(run: Run) -> str:
    """What is said of a run when it is over."""
    busy = " busy" if run.busy else ""
    asked = f"{run.seen.requests} requests in {run.seen.window_s:.2f} s, " if run.seen else ""
    used = f"{run.cpu_s:.2f} s of processor, {run.peak_mib:.0f} MiB"
    return f"{run.workload} {run.round}{busy} {run.crawler}: {run.fault or asked + used}"


def to_json(rows: Iterable[Row], runs: Sequence[Run]) -> str:
    found: dict[str, Any] = {"versions": versions(), "rows": [asdict(row) for row in in_order(rows)]}
    return json.dumps({**found, "runs": [asdict(run) for run in runs]})
