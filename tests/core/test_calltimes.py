"""How long calls took."""

from seaspider.core.calltimes import BOUNDS_MS, CallTimes

US = 1000


def test_no_call() -> None:
    assert CallTimes().to_record() == {
        "calls": 0,
        "seconds": 0.0,
        "longest_seconds": 0.0,
        "within_ms": dict.fromkeys(map("{:g}".format, BOUNDS_MS), 0),
    }


def test_each_call_is_within_its_bound_and_all_that_are_longer() -> None:
    times = CallTimes()
    for us in (0, 200, 201, 1_000, 1_001, 20_000, 1_000_000, 1_000_001):
        times.took(us * US)
    assert times.to_record() == {
        "calls": 8,
        "seconds": 2.022403,
        "longest_seconds": 1.000001,
        "within_ms": {
            **{"0.2": 2, "0.5": 3, "1": 4, "2": 5, "5": 5, "10": 5},
            **{"20": 6, "50": 6, "100": 6, "200": 6, "500": 6, "1000": 7},
        },
    }
