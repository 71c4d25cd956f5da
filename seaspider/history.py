"""What earlier runs left in a store: which URLs are done, which wait, and what is known of robots.txt.

Reads the journal files once, in file order; the latest record of a URL counts. Never writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seaspider import journal
from seaspider.core.records import Outcome
from seaspider.core.robotsbook import RobotsBook, RobotsRowError
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import normalise
from seaspider.errors import StoreError
from seaspider.store import File


@dataclass(frozen=True, slots=True)
class Followed:
    """A link that an earlier run decided to follow."""

    url: str
    depth: int
    via: str


@dataclass(slots=True)
class History:
    runs: int = 0
    """How many runs the manifest knows."""
    robots_ids: int = 0
    final: set[str] = field(default_factory=set)
    """URLs whose record is final."""
    unfinished: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The latest record of the URLs that have one which is not final."""
    forbidden: list[tuple[str, int]] = field(default_factory=list)
    """Hosts that answered 403 to a page, and when (wall clock ms)."""
    followed: list[Followed] = field(default_factory=list)
    interrupted: int = 0
    """Visits under way when a run ended: an intent without a page record."""


def read(folder: Path, book: RobotsBook) -> History:
    """The history in a store folder; robots.txt entries go into `book`. Raises StoreError."""
    history = History()
    for _, row in journal.read(folder / File.MANIFEST):
        history.runs = max(history.runs, row["run"])
    for number, row in journal.read(folder / File.ROBOTS):
        try:
            history.robots_ids = max(history.robots_ids, book.load(row).id)
        except RobotsRowError as error:
            raise StoreError(f"{folder / File.ROBOTS}:{number}: {error}") from error
    depths = _read_pages(folder, history)
    for _, row in journal.read(folder / File.LINKS):
        depth = depths.get((row["run"], row["visit"]))
        if row["followed"] and depth is not None:
            history.followed.append(Followed(row["url"], depth + 1, row["page"]))
    for _, row in journal.read(folder / File.INTENTS):
        history.interrupted += (row["run"], row["visit"]) not in depths
    return history


def _read_pages(folder: Path, history: History) -> dict[tuple[int, int], int]:
    """Fills in what page records tell and returns the depth of each (run, visit) that has one."""
    depths: dict[tuple[int, int], int] = {}
    for _, row in journal.read(folder / File.PAGES):
        depths[row["run"], row["visit"]] = row["depth"]
        url, outcome = row["url"], Outcome(row["outcome"])
        if outcome.final:
            history.final.add(url)
            history.unfinished.pop(url, None)
        else:
            history.unfinished[url] = row
        if outcome is Outcome.STORED and row["status"] == 403:
            history.forbidden.append((normalise(row["final_url"]).host, parse_rfc3339_ms(row["ended_at"])))
    return depths
