"""The folder of a fleet as the evidence of one host: of all shards the rows that may concern it, in order of time.

Runs are numbered anew over all shards, by when they started; `of_shards` says which they are. Requests to the host and
to its addresses are in the order of CLOCK_BOOTTIME, boot by boot. What a receipt makes of it is receipt.receipt's to
decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from struct import Struct, error
from tempfile import gettempdir
from typing import Any, Final

from seaspider.bigsort import BigSort
from seaspider.core.records import File
from seaspider.core.urls import host_of
from seaspider.errors import StoreError
from seaspider.fleet.folder import Fleet
from seaspider.fleet.proof.spacing import in_shard
from seaspider.journal import Row
from seaspider.receipt.robots import hops_of
from seaspider.verify.evidence import Evidence, RunInfo

_TIME: Final = Struct(">HQ")
_OF_THE_FLEET: Final = ("plan", "shard")


@dataclass(frozen=True, slots=True)
class OfShard:
    """Run `run` is run `run_of_shard` of shard `shard`."""

    run: int
    shard: int
    run_of_shard: int


class FleetEvidence:
    """A receipt.source.Source. Raises StoreError."""

    def __init__(self, fleet: Fleet, host: str) -> None:
        self._host = host
        begun = [shard for shard in range(fleet.plan.shards) if fleet.is_begun(shard)]
        self._stores = {shard: Evidence(fleet.store(shard)) for shard in begun}
        started = [
            (info.start.milliseconds("started_at"), shard, info.number, info)
            for shard, store in self._stores.items()
            for info in store.runs
        ]
        started.sort(key=lambda each: each[:3])
        self.of_shards = tuple(OfShard(new, shard, old) for new, (_, shard, old, _) in enumerate(started, 1))
        self._numbers = {(each.shard, each.run_of_shard): each.run for each in self.of_shards}
        self._last = {
            shard: max((info.number for info in store.runs), default=0) for shard, store in self._stores.items()
        }
        self._runs = tuple(self._anew(shard, info) for _, shard, _, info in started)
        self._boots = {boot: number for number, boot in enumerate(dict.fromkeys(run.boot_id for run in self._runs))}
        self._asked: BigSort | None = None

    @property
    def runs(self) -> tuple[RunInfo, ...]:
        return self._runs

    def _anew(self, shard: int, info: RunInfo) -> RunInfo:
        """Of all shards a program is the same, whatever they are called in its versions."""
        named = info.start.get("versions", dict)
        versions = {name: value for name, value in named.items() if name not in _OF_THE_FLEET}
        start = self._renumbered(shard, info.start)
        end = None if info.end is None else self._renumbered(shard, info.end)
        assert start is not None
        return RunInfo(Row(start.place, {**start.record, "versions": versions}), end)

    def _renumbered(self, shard: int, row: Row) -> Row | None:
        """None: of a run that had not begun when this was made."""
        run = row.get("run", int)
        if run > self._last[shard]:
            return None
        if (shard, run) not in self._numbers:
            raise row.error(f"run {run} is not in {File.MANIFEST}")
        return Row(in_shard(shard, row.place), {**row.record, "run": self._numbers[shard, run]})

    # --- rows ---

    def rows(self, file: File) -> Iterator[Row]:
        if file is File.REQUESTS:
            return self._requests()
        if file is File.ROBOTS:
            found = filter(self._concerns, self._all(file))
            return iter(sorted(found, key=lambda row: row.milliseconds("fetched_at")))
        return self._all(file)

    def _all(self, file: File) -> Iterator[Row]:
        return (row for _, row in self._all_with_shard(file))

    def _all_with_shard(self, file: File) -> Iterator[tuple[int, Row]]:
        for shard, store in self._stores.items():
            for row in store.rows(file):
                found = self._renumbered(shard, row)
                if found is not None:
                    yield shard, found

    def _concerns(self, robots: Row) -> bool:
        """Whether a robots.txt is of the host, or was on another host's on the way to its own."""
        urls = chain([robots.get("origin", str)], (hop.get("url", str) for hop in hops_of(robots)))
        return any(host_of(url) == self._host for url in urls)

    # --- requests ---

    def _requests(self) -> Iterator[Row]:
        if self._asked is None:
            try:
                self._asked = self._sorted()
            except OSError as fault:
                raise StoreError(f"no room in {gettempdir()} for the requests: {fault.strerror or fault}") from fault
        for _, value in self._asked:
            yield from (Row(place, record) for place, record in json.loads(value))

    def _sorted(self) -> BigSort:
        """Both lines of each request to the host or to an address of it; and the ends that have no beginning."""
        claims = (row for row in self._all(File.REQUESTS) if row.get("event", str) == "claim")
        addresses = {row.get("ip", str) for row in claims if row.get("host", str) == self._host} | {self._host}
        found = BigSort()
        claim: Row | None = None
        for _, row in self._all_with_shard(File.REQUESTS):
            if row.get("event", str) == "claim":
                self._add(found, claim, None, addresses)
                claim = row
            elif claim is not None and _key(claim) == _key(row):
                self._add(found, claim, row, addresses)
                claim = None
            else:
                found.add(_TIME.pack(len(self._boots), 0), _value(row))
        self._add(found, claim, None, addresses)
        return found

    def _add(self, found: BigSort, claim: Row | None, settle: Row | None, addresses: set[str]) -> None:
        if claim is None or (claim.get("host", str) != self._host and claim.get("ip", str) not in addresses):
            return
        boot = self._boots[self._runs[claim.get("run", int) - 1].boot_id]
        try:
            key = _TIME.pack(boot, claim.get("claimed_ns", int))
        except error as fault:
            raise claim.error("'claimed_ns' is no time") from fault
        found.add(key, _value(claim) if settle is None else _value(claim, settle))

    # --- bodies ---

    def true_body(self, sha256: str) -> bytes | None:
        bodies = (store.true_body(sha256) for store in self._stores.values())
        return next((body for body in bodies if body is not None), None)

    def has_body(self, sha256: str) -> bool:
        return any(store.has_body(sha256) for store in self._stores.values())

    def record(self) -> list[Mapping[str, Any]]:
        """What the numbers of runs stand for."""
        return [{"run": each.run, "shard": each.shard, "run_of_shard": each.run_of_shard} for each in self.of_shards]


def _key(row: Row) -> tuple[int, int]:
    return row.get("run", int), row.get("n", int)


def _value(*rows: Row) -> bytes:
    return json.dumps([(row.place, row.record) for row in rows]).encode()
