"""requests.jsonl: two lines a request, `claim` before its first byte and `settle` when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from seaspider.clock import Clock, Moment
from seaspider.core.credentials import without_userinfo_each
from seaspider.core.politeness import Pause
from seaspider.core.records import File
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
        self._store.write(
            File.REQUESTS,
            {
                "run": self._run,
                "event": "claim",
                "n": self.requests,
                "visit": permit.visit,
                "kind": permit.kind,
                "url": url.text,
                "host": url.host,
                "ip": ip,
                "addresses": list(addresses),
                "judged_at": rfc3339_ms(judged_ms),
                "claimed_at": rfc3339_ms(now_ms),
                "claimed_ns": claimed_ns,
            },
        )
        if permit.visit is not None:
            self._tally.begun.add(permit.visit)
        return self.requests

    def settle(self, number: int, asked: Asked, pause: Pause, sent_ns: int | None, ended: Moment) -> None:
        self._store.write(
            File.REQUESTS,
            {
                "run": self._run,
                "event": "settle",
                "n": number,
                "sent_ns": sent_ns,
                "ended_at": rfc3339_ms(ended.wall_ms),
                "ended_ns": ended.boot_ns,
                "pause_s": pause.seconds,
                "pause_basis": pause.basis,
                "status": asked.status,
                "error": asked.error,
                "headers": _headers(asked.headers),
                "bytes": asked.wire_bytes,
            },
        )


def _headers(headers: Headers) -> list[list[str]]:
    """As they came, but for user information in a Location."""
    texts = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]
    locations = [text for text in texts if text[0].lower() == "location"]
    for text, hidden in zip(locations, without_userinfo_each(value for _, value in locations), strict=True):
        text[1] = hidden
    return texts
