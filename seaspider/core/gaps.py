"""How near two requests to one key came, by our own clock: what the verdict counts, beside what the servers saw.

Decides nothing; a pair that is too near would be a fault of the ledger or the door.
"""

from __future__ import annotations

from collections.abc import Iterable


class Gaps:
    """`too_near`: how many requests were claimed before the pause after the one before, of the same key, was over."""

    def __init__(self) -> None:
        self.too_near = 0
        self._free_ns: dict[str, int] = {}

    def claimed(self, keys: Iterable[str], claimed_ns: int) -> None:
        """A request is about to be made under these keys. A request counts once, however many keys are too near."""
        self.too_near += any(claimed_ns < self._free_ns.get(key, 0) for key in keys)

    def settled(self, host: tuple[str, int], address: tuple[str, int], ended_ns: int) -> None:
        """It is over; each key rests for its pause (ns)."""
        for key, pause_ns in (host, address):
            self._free_ns[key] = ended_ns + pause_ns
