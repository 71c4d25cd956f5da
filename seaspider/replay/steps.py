"""Wall-clock times in the order they came, also if somebody set the clock meanwhile.

Records of pages and robots.txt hold wall-clock times only; requests hold those of a clock that does not step, too, and
so tell between which two of them it was set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seaspider.core.times import MS_PER_S, NS_PER_S

STEP_MS: Final = 1000
"""What a clock is off by in the course of its run is less."""

_LATER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Seen:
    """Both clocks at one moment."""

    wall_ms: int
    boot_ns: int

    @property
    def boot_ms(self) -> int:
        return self.boot_ns * MS_PER_S // NS_PER_S

    @property
    def offset_ms(self) -> int:
        return self.wall_ms - self.boot_ms


@dataclass(frozen=True, slots=True)
class Steps:
    """`before` and `after`: the moments of the last request, and of the one that comes next. `since_ms`: when the last
    one was judged, wall clock; what is still to come was judged no sooner."""

    before: Seen
    after: Seen
    since_ms: int

    def in_order(self, wall_ms: int) -> int:
        """A number that grows from then on, whatever the clock said: by it times are compared."""
        least_ms = self.since_ms - self.before.offset_ms - STEP_MS
        is_set = abs(self.after.offset_ms - self.before.offset_ms) >= STEP_MS
        boot_ms, then_ms = wall_ms - self.before.offset_ms, wall_ms - self.after.offset_ms
        if boot_ms >= least_ms and (not is_set or boot_ms <= self.after.boot_ms):
            return boot_ms
        if is_set and then_ms >= least_ms:
            return then_ms
        # The clock is set back later on.
        return _LATER + wall_ms
