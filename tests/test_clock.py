"""The clocks, and the one form of time the store has."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from seaspider.clock import BOOT_ID, Clock, FakeClock, SystemClock, UnsupportedPlatform
from seaspider.core.times import ms_from_s, ns_from_s, parse_rfc3339_ms, rfc3339_ms
from tests.eventloop import run

TIMES = {
    "odd": (1_796_015_856_123, "2026-11-30T05:17:36.123Z"),
    "epoch": (0, "1970-01-01T00:00:00.000Z"),
    "before-the-epoch": (-1, "1969-12-31T23:59:59.999Z"),
    "leap-day": (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
    "first": (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    "last": (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
}


@pytest.mark.parametrize(("wall_ms", "text"), TIMES.values(), ids=TIMES)
def test_rfc3339(wall_ms: int, text: str) -> None:
    assert rfc3339_ms(wall_ms) == text
    assert parse_rfc3339_ms(text) == wall_ms


@pytest.mark.parametrize("wall_ms", [-62_135_596_800_001, 253_402_300_800_000, 10**30])
def test_no_rfc3339_time(wall_ms: int) -> None:
    with pytest.raises(ValueError, match=f"{wall_ms} ms"):
        rfc3339_ms(wall_ms)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-30",
        "2026-11-30T05:17:36Z",
        "2026-11-30T05:17:36.123",
        "2026-11-30T05:17:36.123+00:00",
        "2026-11-30T05:17:36.1234Z",
        "2026-11-30 05:17:36.123Z",
        "2026-11-30t05:17:36.123z",
        "2026-11-30T05:17:36,123Z",
        "2026-13-30T05:17:36.123Z",
        "2026-02-29T05:17:36.123Z",
        "2026-11-30T24:00:00.000Z",
        "2026-11-30T05:17:60.000Z",
        "0000-01-01T00:00:00.000Z",
        "2026-11-30T05:17:36.123Z\n",
        "٢٠٢٦-11-30T05:17:36.123Z",
    ],
)
def test_only_the_stores_own_form_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rfc3339_ms(text)


@pytest.mark.parametrize(
    ("seconds", "ms", "ns"),
    [
        (0, 0, 0),
        (2.0, 2000, 2_000_000_000),
        (0.07, 70, 70_000_000),  # 0.07 * 1000 is 70.00000000000001
        (2.3, 2300, 2_300_000_000),  # 2.3 * 1000 is 2299.9999999999995
        (1e-9, 1, 1),
        (1e-10, 1, 1),  # never shorter than asked
        (0.0001, 1, 100_000),
        (10**6, 10**9, 10**15),
    ],
)
def test_seconds_become_integers_and_never_shorter(seconds: float, ms: int, ns: int) -> None:
    assert (ms_from_s(seconds), ns_from_s(seconds)) == (ms, ns)


@pytest.mark.parametrize("seconds", [-0.001, -1, float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("convert", [ms_from_s, ns_from_s])
def test_no_duration(convert: Callable[[float], int], seconds: float) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        convert(seconds)


def test_system_clock_is_the_machines() -> None:
    clock: Clock = SystemClock()
    before_ns, before_ms = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns() // 1_000_000
    boot_ns, wall_ms = clock.boot_ns(), clock.wall_ms()
    assert before_ns <= boot_ns <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert before_ms <= wall_ms <= time.time_ns() // 1_000_000
    assert clock.boot_id == BOOT_ID.read_text().strip()


def test_system_clock_lets_others_run_while_it_sleeps() -> None:
    order = []

    async def sleeper() -> None:
        order.append("asleep")
        await SystemClock().sleep(0)
        order.append("awake")

    async def both() -> None:
        task = asyncio.create_task(sleeper())
        await asyncio.sleep(0)
        order.append("other")
        await task

    run(both())
    assert order == ["asleep", "other", "awake"]


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_other_systems_are_refused(platform: str) -> None:
    with pytest.raises(UnsupportedPlatform, match=f"Linux only .* not on {platform}"):
        SystemClock(platform=platform)


@pytest.mark.parametrize("content", [None, "", "not a boot id", "ä"], ids=["missing", "empty", "garbage", "no-ascii"])
def test_no_boot_id_no_clock(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "boot_id"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UnsupportedPlatform, match="boot_id"):
        SystemClock(boot_id_path=path)


def test_fake_clock_stands_still_at_an_odd_time() -> None:
    clock: Clock = FakeClock()
    assert (clock.boot_ns(), clock.wall_ms()) == (clock.boot_ns(), clock.wall_ms())
    assert rfc3339_ms(clock.wall_ms()) == "2026-11-30T05:17:36.123Z"
    assert clock.boot_ns() == 123_456_789_012_345


def test_fake_clock_moves_both_times_and_steps_one() -> None:
    clock = FakeClock(boot_ns=7, wall_ms=5, boot_id="other")
    clock.advance(1.5)
    assert (clock.boot_ns(), clock.wall_ms(), clock.boot_id) == (1_500_000_007, 1505, "other")
    clock.step_wall(-2000)
    assert (clock.boot_ns(), clock.wall_ms()) == (1_500_000_007, -495)


def naps(clock: FakeClock, log: list[tuple[str, int]], plan: dict[str, list[float]]) -> list[Awaitable[None]]:
    async def napper(name: str, seconds: list[float]) -> None:
        for second in seconds:
            await clock.sleep(second)
            log.append((name, clock.boot_ns()))

    return [napper(name, seconds) for name, seconds in plan.items()]


def test_fake_sleepers_wake_in_order_of_time_then_of_asking() -> None:
    clock, log = FakeClock(boot_ns=1), list[tuple[str, int]]()

    async def main() -> None:
        await asyncio.gather(*naps(clock, log, {"a": [10, 1], "b": [3, 7, 0], "c": [3, 3, 3], "d": []}))

    run(main())
    s = 1_000_000_000
    assert log == [
        ("b", 3 * s + 1),
        ("c", 3 * s + 1),
        ("c", 6 * s + 1),
        ("c", 9 * s + 1),
        ("a", 10 * s + 1),
        ("b", 10 * s + 1),
        ("b", 10 * s + 1),
        ("a", 11 * s + 1),
    ]


def test_fake_time_waits_for_tasks_that_can_still_run() -> None:
    clock, log = FakeClock(boot_ns=1), list[tuple[str, int]]()

    async def main() -> None:
        event = asyncio.Event()

        async def woken() -> None:
            await event.wait()
            await asyncio.gather(*naps(clock, log, {"inner": [1]}))

        outer = asyncio.create_task(woken())
        await asyncio.sleep(0)
        event.set()
        await clock.sleep(5)
        log.append(("outer", clock.boot_ns()))
        await outer

    run(main())
    assert log == [("inner", 1_000_000_001), ("outer", 5_000_000_001)]


def test_a_cancelled_fake_sleeper_holds_nobody_up() -> None:
    clock = FakeClock(boot_ns=1)

    async def main() -> None:
        early = asyncio.create_task(clock.sleep(1))
        late = asyncio.create_task(clock.sleep(2))
        await asyncio.sleep(0)
        early.cancel()
        await late
        assert early.cancelled()

    run(main())
    assert clock.boot_ns() == 2_000_000_001


def test_fake_time_never_goes_back_to_a_sleeper_that_overslept() -> None:
    clock = FakeClock(boot_ns=1)

    async def main() -> None:
        sleeper = asyncio.create_task(clock.sleep(1))
        await asyncio.sleep(0)
        clock.advance(5)
        await sleeper

    run(main())
    assert clock.boot_ns() == 5_000_000_001
