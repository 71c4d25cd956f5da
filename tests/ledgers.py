"""What the tests of both ledgers share: a clock that writes down its sleeps, and a loop in which files take no time."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from seaspider.clock import FakeClock

S = 1_000_000_000
HOLD = 30 * S
IP, A, B = "ip:127.0.0.1", "host:a.test", "host:b.test"

T = TypeVar("T")


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


class _NoTimeInThreads(asyncio.SelectorEventLoop):
    """Waits for the work of a thread on the spot, so that a fake clock cannot go on meanwhile."""

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        assert executor is not None
        future = self.create_future()
        try:
            future.set_result(executor.submit(func, *args).result())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the awaiter's
            future.set_exception(error)
        return future


def run(coroutine: Coroutine[Any, Any, T], within_s: float = 20) -> T:
    """Like eventloop.run, for tests in virtual time of what works in a thread too."""

    async def bounded() -> T:
        async with asyncio.timeout(within_s):
            return await coroutine

    def in_own_loop() -> T:
        with asyncio.Runner(loop_factory=_NoTimeInThreads) as runner:
            return runner.run(bounded())

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(in_own_loop).result()
