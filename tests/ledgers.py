"""What the tests of both ledgers share: keys, and a clock that writes down its sleeps."""

from typing import Any

from seaspider.clock import FakeClock

S = 1_000_000_000
HOLD = 30 * S
IP, A, B = "ip:127.0.0.1", "host:a.test", "host:b.test"


class RecordingClock(FakeClock):
    """A fake clock that writes down every sleep asked of it, in s."""

    def __init__(self, **start: Any) -> None:
        super().__init__(**start)
        self.start_ns = self.boot_ns()
        self.naps: list[float] = []

    @property
    def passed_ns(self) -> int:
        return self.boot_ns() - self.start_ns

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await super().sleep(seconds)
