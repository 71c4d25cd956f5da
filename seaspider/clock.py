"""The clocks a crawl runs by, passed in wherever time matters.

`boot_ns` (CLOCK_BOOTTIME) measures pauses: it does not step, counts on while the machine sleeps, and means nothing
under another boot id. `wall_ms` dates records and expiries and may step. No other module asks the system for the time.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from seaspider.core.times import MS_PER_S, NS_PER_S, ns_from_s

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class UnsupportedPlatform(RuntimeError):
    """This system has no clock that pauses could be kept by: Seaspider needs Linux."""


class Clock(Protocol):
    """What may be asked about time."""

    @property
    def boot_id(self) -> str:
        """Which start of the machine `boot_ns` counts from (a UUID)."""

    def boot_ns(self) -> int:
        """CLOCK_BOOTTIME in nanoseconds."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Let at least that much time pass, about; other tasks run meanwhile."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of both clocks: everything that follows from one answer goes by the same."""

    wall_ms: int
    boot_ns: int

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        return cls(clock.wall_ms(), clock.boot_ns())


class SystemClock:
    """The machine's own clocks. Raises UnsupportedPlatform where there is no CLOCK_BOOTTIME or no boot id."""

    def __init__(self, *, platform: str = sys.platform, boot_id_path: Path = BOOT_ID) -> None:
        if platform != "linux":
            raise UnsupportedPlatform(f"Seaspider runs on Linux only (CLOCK_BOOTTIME), not on {platform}")
        try:
            self._boot_id = str(uuid.UUID(boot_id_path.read_text(encoding="ascii").strip()))
            self.boot_ns()
        except (OSError, ValueError) as error:
            raise UnsupportedPlatform(f"no boot clock: {boot_id_path}: {error}") from error

    @property
    def boot_id(self) -> str:
        return self._boot_id

    def boot_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def wall_ms(self) -> int:
        return time.time_ns() * MS_PER_S // NS_PER_S

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class FakeClock:
    """Virtual time for tests: it stands still, and jumps to the earliest wake-up once every task that could run has.

    Deterministic: sleepers wake in order of their time, then of their asking. Real I/O does not hold it back.
    """

    ROUNDS = 8
    """Turns of the event loop other tasks get before time jumps, for wake-ups that take several."""

    def __init__(
        self,
        *,
        boot_ns: int = 123_456_789_012_345,
        wall_ms: int = 1_796_015_856_123,
        boot_id: str = "3b1f0d52-6f0e-4b0a-9a51-7d6c2f8e9041",
    ) -> None:
        self._boot_ns = boot_ns
        self._wall_offset_ns = wall_ms * (NS_PER_S // MS_PER_S) - boot_ns
        self._boot_id = boot_id
        self._sleepers: set[tuple[int, int]] = set()
        self._numbers = count()

    @property
    def boot_id(self) -> str:
        return self._boot_id

    def boot_ns(self) -> int:
        return self._boot_ns

    def wall_ms(self) -> int:
        return (self._boot_ns + self._wall_offset_ns) * MS_PER_S // NS_PER_S

    def advance(self, seconds: float) -> None:
        """Let time pass without anybody sleeping for it."""
        self._boot_ns += ns_from_s(seconds)

    def step_wall(self, by_ms: int) -> None:
        """Set the wall clock forward or back; the boot clock does not notice."""
        self._wall_offset_ns += by_ms * (NS_PER_S // MS_PER_S)

    async def sleep(self, seconds: float) -> None:
        me = (self._boot_ns + ns_from_s(max(0.0, seconds)), next(self._numbers))
        self._sleepers.add(me)
        try:
            while not await self._idle_and_first(me):
                pass
            self._boot_ns = max(self._boot_ns, me[0])
        finally:
            self._sleepers.remove(me)

    async def _idle_and_first(self, me: tuple[int, int]) -> bool:
        """Whether, over ROUNDS turns of the loop, nobody came or went and `me` is the next to wake."""
        before = set(self._sleepers)
        for _ in range(self.ROUNDS):
            await asyncio.sleep(0)
            if self._sleepers != before:
                return False
        return me == min(self._sleepers)
