"""requests.jsonl: two lines a request, `claim` before its first byte and `settle` when it is over.

The lines are those of records.to_line, written out: four a page, and to_line takes five times as long for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from seaspider.clock import Clock, Moment
from seaspider.core.credentials import without_userinfo_each
from seaspider.core.politeness import Pause
from seaspider.core.records import FORMAT, File, quoted
from seaspider.core.times import rfc3339_ms
from seaspider.http1 import Headers
from seaspider.permits import Asked, Permit
from seaspider.store import Store
from seaspider.tally import Tally


class RequestLog:
    """Numbers the requests of a run from 1. Raises StoreError; a request whose claim cannot be written is not sent."""

    def __init__(self, store: Store, clock: Clock, run: int, tally: Tally) -> None:
        self._store = store
        self._clock = clock
        self._run = run
        self._tally = tally
        self.requests = 0

    def claim(self, permit: Permit, ip: str, addresses: Sequence[str], claimed_ns: int) -> int:
        """Writes the claim line and returns the request's number."""
        self.requests += 1
        url, now_ms = permit.hop.url, self._clock.wall_ms()
        judged_ms = now_ms if permit.hop.judged_ms is None else permit.hop.judged_ms
        line = (
            f'{{"v":{FORMAT},"run":{self._run},"event":"claim","n":{self.requests},"visit":{_number(permit.visit)},'
            f'"kind":{quoted(permit.kind)},"url":{quoted(url.text)},"host":{quoted(url.host)},"ip":{quoted(ip)},'
            f'"addresses":[{",".join(map(quoted, addresses))}],"judged_at":{quoted(rfc3339_ms(judged_ms))},'
            f'"claimed_at":{quoted(rfc3339_ms(now_ms))},"claimed_ns":{claimed_ns}}}\n'
        )
        self._store.write(File.REQUESTS, line.encode("ascii"))
        if permit.visit is not None:
            self._tally.begun.add(permit.visit)
        return self.requests

    def sync(self) -> None:
        """All evidence so far outlives a power cut when this returns. Raises StoreError."""
        self._store.sync()

    def settle(self, number: int, asked: Asked, pause: Pause, sent_ns: int | None, ended: Moment) -> None:
        error = "null" if asked.error is None else quoted(asked.error)
        line = (
            f'{{"v":{FORMAT},"run":{self._run},"event":"settle","n":{number},"sent_ns":{_number(sent_ns)},'
            f'"ended_at":{quoted(rfc3339_ms(ended.wall_ms))},"ended_ns":{ended.boot_ns},"pause_s":{pause.seconds!r},'
            f'"pause_basis":{quoted(pause.basis)},"status":{_number(asked.status)},"error":{error},'
            f'"headers":[{",".join(_headers(asked.headers))}],"bytes":{asked.wire_bytes}}}\n'
        )
        self._store.write(File.REQUESTS, line.encode("ascii"))


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _headers(headers: Headers) -> list[str]:
    """As they came, but for user information in a Location."""
    texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    if any(name.lower() == "location" for name, _ in texts):
        texts = _without_userinfo(texts)
    return [f"[{quoted(name)},{quoted(value)}]" for name, value in texts]


def _without_userinfo(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    locations = [value for name, value in texts if name.lower() == "location"]
    hidden = iter(without_userinfo_each(locations))
    return [(name, next(hidden) if name.lower() == "location" else value) for name, value in texts]
