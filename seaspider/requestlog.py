"""requests.jsonl: two lines a request, `claim` before its first byte and `settle` when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from seaspider.clock import Clock
from seaspider.core.politeness import Pause
from seaspider.core.times import rfc3339_ms
from seaspider.permits import Asked, Permit
from seaspider.store import File, Store


class RequestLog:
    """Numbers the requests of a run from 1. Raises StoreError; a request whose claim cannot be written is not sent."""

    def __init__(self, store: Store, clock: Clock, run: int) -> None:
        self._store = store
        self._clock = clock
        self._run = run
        self.requests = 0

    def claim(self, permit: Permit, ip: str, addresses: Sequence[str], claimed_ns: int) -> int:
        """Writes the claim line and returns the request's number."""
        self.requests += 1
        url = permit.hop.url
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
                "claimed_at": rfc3339_ms(self._clock.wall_ms()),
                "claimed_ns": claimed_ns,
            },
        )
        return self.requests

    def settle(self, number: int, asked: Asked, pause: Pause, sent_ns: int | None, ended_ns: int) -> None:
        self._store.write(
            File.REQUESTS,
            {
                "run": self._run,
                "event": "settle",
                "n": number,
                "sent_ns": sent_ns,
                "ended_at": rfc3339_ms(self._clock.wall_ms()),
                "ended_ns": ended_ns,
                "pause_s": pause.seconds,
                "pause_basis": pause.basis,
                "status": asked.status,
                "error": asked.error,
                "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in asked.headers],
                "bytes": asked.wire_bytes,
            },
        )
