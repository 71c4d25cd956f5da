"""A store as evidence: its lines in file order with their places, runs told apart, requests joined of their two lines.

Judges nothing. Raises StoreError, with file and line, for what is no store of format 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seaspider import bodyfiles, journal
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.journal import Row


@dataclass(frozen=True, slots=True)
class Settle:
    """The second line of a request."""

    place: str
    sent_ns: int | None
    ended_ms: int
    ended_ns: int
    pause_s: float
    pause_basis: str
    status: int | None
    error: str | None
    headers: tuple[tuple[bytes, bytes], ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Request:
    """Both lines of a request. `place` is that of its claim; `settle` is None if it has no second line."""

    place: str
    run: int
    n: int
    visit: int | None
    kind: str
    url: str
    host: str
    ip: str
    addresses: tuple[str, ...]
    judged_ms: int
    claimed_ms: int
    claimed_ns: int
    settle: Settle | None

    @property
    def came_to_nothing(self) -> bool:
        """Its claim was over before its first byte, or it was cancelled: another claim follows, or nothing."""
        return self.settle is not None and self.settle.status is None and self.settle.error is None


@dataclass(frozen=True, slots=True)
class Stray:
    """A settle line that follows no claim of its number."""

    place: str
    run: int
    n: int


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as manifest.jsonl tells of it. `end`: its last line, None if it was killed."""

    start: Row
    end: Row | None

    @property
    def number(self) -> int:
        return self.start.get("run", int)

    @property
    def boot_id(self) -> str:
        return self.start.get("boot_id", str)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.start.get("settings", dict)


class Evidence:
    """The files of one store folder. Every iteration reads its file anew; nothing is kept but the manifest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / File.MANIFEST).is_file():
            raise StoreError(f"{folder}: is no store: it has no {File.MANIFEST}")
        self.runs: tuple[RunInfo, ...] = tuple(_runs(self.rows(File.MANIFEST)))

    def rows(self, file: File) -> Iterator[Row]:
        """The lines of a file, from the first. Their places are relative to the store: `requests.jsonl:12`."""
        for number, row in enumerate(journal.read(self.folder / file), 1):
            yield Row(f"{file}:{number}", row.record)

    def true_body(self, sha256: str) -> bytes | None:
        """The bytes whose digest is this; None if they are missing or changed."""
        return bodyfiles.read(self.folder, sha256)

    def has_body(self, sha256: str) -> bool:
        """Whether something lies there, true or changed."""
        return bodyfiles.path_of(self.folder, sha256).exists()

    def requests(self) -> Iterator[Request | Stray]:
        """The requests in file order. A settle belongs to the claim right before it: one request is under way."""
        claim: Row | None = None
        for row in self.rows(File.REQUESTS):
            if row.get("event", str) == "claim":
                if claim is not None:
                    yield _request(claim, None)
                claim = row
            elif claim is not None and _same(claim, row):
                yield _request(claim, row)
                claim = None
            else:
                yield Stray(row.place, row.get("run", int), row.get("n", int))
        if claim is not None:
            yield _request(claim, None)


def _runs(rows: Iterator[Row]) -> Iterator[RunInfo]:
    start: Row | None = None
    for row in rows:
        if row.get("event", str) == "start":
            if start is not None:
                yield RunInfo(start, None)
            start = row
        elif start is not None and start.get("run", int) == row.get("run", int):
            yield RunInfo(start, row)
            start = None
        else:
            raise row.error("a run ends here that did not start right before")
    if start is not None:
        yield RunInfo(start, None)


def _same(claim: Row, settle: Row) -> bool:
    return (claim.get("run", int), claim.get("n", int)) == (settle.get("run", int), settle.get("n", int))


def _request(claim: Row, settle: Row | None) -> Request:
    return Request(
        place=claim.place,
        run=claim.get("run", int),
        n=claim.get("n", int),
        visit=claim.optional("visit", int),
        kind=claim.get("kind", str),
        url=claim.get("url", str),
        host=claim.get("host", str),
        ip=claim.get("ip", str),
        addresses=_addresses(claim),
        judged_ms=claim.milliseconds("judged_at"),
        claimed_ms=claim.milliseconds("claimed_at"),
        claimed_ns=claim.get("claimed_ns", int),
        settle=None if settle is None else _settle(settle),
    )


def _settle(row: Row) -> Settle:
    return Settle(
        place=row.place,
        sent_ns=row.optional("sent_ns", int),
        ended_ms=row.milliseconds("ended_at"),
        ended_ns=row.get("ended_ns", int),
        pause_s=_pause_s(row),
        pause_basis=row.get("pause_basis", str),
        status=row.optional("status", int),
        error=row.optional("error", str),
        headers=_headers(row),
        bytes=row.get("bytes", int),
    )


def _addresses(claim: Row) -> tuple[str, ...]:
    addresses = claim.get("addresses", list)
    if not all(isinstance(address, str) for address in addresses):
        raise claim.error(f"'addresses' is {addresses!r}, not a list of texts")
    return tuple(addresses)


def _pause_s(settle: Row) -> float:
    pause_s = settle.get("pause_s", float)
    if not 0 <= pause_s < math.inf:
        raise settle.error(f"'pause_s' is {pause_s}, not a duration")
    return pause_s


def _headers(settle: Row) -> tuple[tuple[bytes, bytes], ...]:
    try:
        return tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in settle.get("headers", list))
    except (AttributeError, TypeError, ValueError):
        raise settle.error("'headers' is not a list of names and values") from None
