"""What a kill costs: the requests that were under way when a crawl was killed, and no other, are made again.

Reads the shards' stores and the servers' log. Of sites without redirects, where a visit is one page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seaspider.loopback import Arrival
from tests.fleet.smallfleets import records


def asked(arrivals: Iterable[Arrival]) -> Counter[str]:
    """URL -> how often the servers were asked for it."""
    return Counter(f"{each.scheme}://{each.host}{each.target}" for each in arrivals)


def under_way(store: Path) -> Counter[str]:
    """URL -> how many runs were killed while it was open: a page with an intent and no page record of that run, or a
    robots.txt that was claimed and is not recorded."""
    found: Counter[str] = Counter()
    for shard in store.glob("shards/*"):
        begun = {(row["run"], row["url"]) for row in _rows(shard, "intents")}
        begun |= {(row["run"], row["url"]) for row in _rows(shard, "requests") if row.get("kind") == "robots"}
        over = {(row["run"], row["url"]) for row in _rows(shard, "pages")}
        over |= {(row["run"], _robots(row["origin"])) for row in _rows(shard, "robots")}
        ended = {row["run"] for row in _rows(shard, "manifest") if row["event"] == "end"}
        found.update(url for run, url in begun - over if run not in ended)
    return found


def asked_wrongly(store: Path, arrivals: Iterable[Arrival]) -> dict[str, int]:
    """URL -> how often it was asked for, of those that were asked less often than is recorded, or more often than the
    kills explain."""
    recorded: Counter[str] = Counter()
    for shard in store.glob("shards/*"):
        recorded |= {row["url"]: row["attempts"] for row in _rows(shard, "pages")}
        recorded |= {_robots(row["origin"]): 1 for row in _rows(shard, "robots")}
    found, left = asked(arrivals), under_way(store)
    urls = sorted({*found, *recorded})
    return {url: found[url] for url in urls if not recorded[url] <= found[url] <= recorded[url] + left[url]}


def _robots(origin: str) -> str:
    return f"{origin}/robots.txt"


def _rows(shard: Path, file: str) -> list[dict[str, Any]]:
    path = shard / f"{file}.jsonl"
    return records(path) if path.exists() else []
