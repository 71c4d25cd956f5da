"""How long the calls of a ledger took: how many, how long in all, and how many within each of a few bounds.

Counts that can be added up over many crawls, in the same room for ten calls as for a billion. Never reads a clock.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Final

from seaspider.core.times import NS_PER_S

BOUNDS_MS: Final = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_BOUNDS_NS: Final = tuple(int(bound * NS_PER_S / 1000) for bound in BOUNDS_MS)


@dataclass(slots=True)
class CallTimes:
    calls: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    _counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_MS) + 1))
    """Of each bound, the calls that were within it and not within the one before; and those beyond all."""

    def took(self, ns: int) -> None:
        self.calls += 1
        self.total_ns += ns
        self.longest_ns = max(self.longest_ns, ns)
        self._counts[bisect_left(_BOUNDS_NS, ns)] += 1

    def to_record(self) -> dict[str, Any]:
        """`within_ms`: bound -> all calls that took no longer."""
        within, so_far = {}, 0
        for bound, count in zip(BOUNDS_MS, self._counts, strict=False):
            so_far += count
            within[f"{bound:g}"] = so_far
        return {
            "calls": self.calls,
            "seconds": round(self.total_ns / NS_PER_S, 6),
            "longest_seconds": round(self.longest_ns / NS_PER_S, 6),
            "within_ms": within,
        }
