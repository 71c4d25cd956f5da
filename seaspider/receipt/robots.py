"""Which robots.txt a host had, as the records and the stored bodies tell: its states, and the rules that applied.

A body that is missing or is not what its name says is said to be so; its rules are not guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from seaspider.core.records import File
from seaspider.core.robotsentry import RobotsEntry, RobotsRowError
from seaspider.core.robotsfile import Rule, parse
from seaspider.core.robotsstate import RobotsState
from seaspider.core.urls import host_of
from seaspider.journal import Row
from seaspider.receipt.source import Source

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Body(StrEnum):
    """What is left of the bytes that were read."""

    KEPT = "kept"
    MISSING = "missing"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Rules:
    """The group of a robots.txt for `token`; `group` is None if none applies, and if the body is not kept."""

    token: str
    body: Body
    group: str | None = None
    crawl_delay_s: float | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class RobotsFact:
    """One line of robots.jsonl. `rules`: None unless it is in state `parsed`."""

    entry: RobotsEntry
    rules: Rules | None


@dataclass(frozen=True, slots=True)
class OriginFact:
    """The records of one origin, in file order."""

    origin: str
    records: tuple[RobotsFact, ...]


class RobotsFiles:
    """Reads stored robots.txt bodies, each once. `tokens`: run -> the name its groups were looked up by."""

    def __init__(self, source: Source, tokens: Mapping[int, str]) -> None:
        self._source = source
        self._tokens = tokens
        self._read: dict[tuple[str, bool, str], Rules] = {}

    def fact(self, row: Row) -> RobotsFact:
        """Raises StoreError."""
        try:
            entry = RobotsEntry.from_row(row.record)
        except RobotsRowError as error:
            raise row.error(str(error).removeprefix(f"{File.ROBOTS}: ")) from error
        if entry.state is not RobotsState.PARSED:
            return RobotsFact(entry, None)
        if entry.sha256 is None or not _DIGEST.fullmatch(entry.sha256):
            raise row.error(f"'sha256' is {entry.sha256!r}, no digest")
        key = (entry.sha256, entry.truncated, self._tokens[entry.run])
        if key not in self._read:
            self._read[key] = self._rules(*key)
        return RobotsFact(entry, self._read[key])

    def _rules(self, sha256: str, truncated: bool, token: str) -> Rules:
        body = self._source.true_body(sha256)
        if body is None:
            return Rules(token, Body.CHANGED if self._source.has_body(sha256) else Body.MISSING)
        group = parse(body, cut=truncated).group(token)
        if group is None:
            return Rules(token, Body.KEPT)
        rules = tuple(sorted(group.rules, key=lambda rule: rule.line))
        return Rules(token, Body.KEPT, group.name, group.crawl_delay_s, rules)


def robots_of(
    rows: Iterable[Row], host: str, files: RobotsFiles, asked: Counter[tuple[int, str]]
) -> tuple[tuple[OriginFact, ...], int]:
    """The robots.txt of the host's origins, and how many requests to the host were for another host's robots.txt.

    `asked`: (run, URL) of the requests to the host for a robots.txt. Raises StoreError.
    """
    origins: dict[str, list[RobotsFact]] = {}
    for_others = 0
    for row in rows:
        origin = row.get("origin", str)
        if host_of(origin) == host:
            origins.setdefault(origin, []).append(files.fact(row))
            continue
        for hop in hops_of(row):
            key = (row.get("run", int), hop.get("url", str))
            if host_of(key[1]) == host and asked[key] > 0:
                asked[key] -= 1
                for_others += 1
    return tuple(OriginFact(origin, tuple(origins[origin])) for origin in sorted(origins)), for_others


def hops_of(row: Row) -> list[Row]:
    """The hops of a record's chain. Raises StoreError."""
    hops = row.get("chain", list)
    if not all(isinstance(hop, dict) for hop in hops):
        raise row.error("'chain' has what is no object")
    return [Row(row.place, hop) for hop in hops]
