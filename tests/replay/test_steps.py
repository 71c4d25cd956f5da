"""Wall-clock times in the order they came, with a clock that was set in between."""

from __future__ import annotations

import pytest

from seaspider.replay.steps import Seen, Steps

WALL_MS, BOOT_MS, HOUR_MS = 1_796_015_856_123, 123_456_789, 3_600_000


def seen(after_ms: int, set_by_ms: int = 0) -> Seen:
    """So long after the beginning, the clock having been set by so much."""
    return Seen(WALL_MS + after_ms + set_by_ms, (BOOT_MS + after_ms) * 1_000_000)


# Steps; moments as (ms after the beginning, by how much the clock had been set), in the order they came.
CASES: dict[str, tuple[Steps, list[tuple[int, int]]]] = {
    "never": (Steps(seen(100), seen(300), WALL_MS + 80), [(80, 0), (120, 0), (250, 0), (400, 0)]),
    "a-little": (Steps(seen(100), seen(300, 400), WALL_MS + 80), [(120, 0), (250, 400), (400, 400)]),
    "back": (
        Steps(seen(100), seen(300, -HOUR_MS), WALL_MS + 80),
        [(80, 0), (120, 0), (200, -HOUR_MS), (400, -HOUR_MS)],
    ),
    "forward": (
        Steps(seen(100), seen(300, HOUR_MS), WALL_MS + 80),
        [(80, 0), (120, 0), (200, HOUR_MS), (400, HOUR_MS)],
    ),
    "back-later-on": (
        Steps(seen(100), seen(300), WALL_MS + 80),
        [(120, 0), (200, 0), (400, -HOUR_MS), (500, -HOUR_MS)],
    ),
    "forward-later-on": (Steps(seen(100), seen(300), WALL_MS + 80), [(120, 0), (200, 0), (400, HOUR_MS)]),
    "the-last-request": (Steps(seen(100), seen(100), WALL_MS + 80), [(80, 0), (120, 0), (5000, 0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_in_order(name: str) -> None:
    steps, moments = CASES[name]
    times = [WALL_MS + after_ms + set_by_ms for after_ms, set_by_ms in moments]
    assert [steps.in_order(time) for time in times] == sorted({steps.in_order(time) for time in times})
