"""What an answer to /robots.txt means, and how long that holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.robotsstate import (
    RobotsPolicy,
    RobotsReason,
    RobotsState,
    Verdict,
    classify,
    expires_at_ms,
)

PARSED, ABSENT, UNREACHABLE = RobotsState.PARSED, RobotsState.ABSENT, RobotsState.UNREACHABLE

# (first, last, state, reason) of final answers; together every status from 100 to 999 once.
STATUSES = [
    (100, 199, UNREACHABLE, "http-other"),
    (200, 205, PARSED, None),
    (206, 206, UNREACHABLE, "http-other"),
    (207, 299, PARSED, None),
    (300, 399, UNREACHABLE, "http-other"),
    (400, 428, ABSENT, None),
    (429, 429, UNREACHABLE, "http-429"),
    (430, 499, ABSENT, None),
    (500, 599, UNREACHABLE, "http-5xx"),
    (600, 999, UNREACHABLE, "http-other"),
]


def test_the_table_has_every_status_once() -> None:
    assert [status for first, last, *_ in STATUSES for status in range(first, last + 1)] == list(range(100, 1000))


@pytest.mark.parametrize(("first", "last", "state", "reason"), STATUSES, ids=[f"{row[0]}-{row[1]}" for row in STATUSES])
@pytest.mark.parametrize("conditional", [False, True], ids=["plain", "conditional"])
def test_status(first: int, last: int, state: RobotsState, reason: str | None, conditional: bool) -> None:
    for status in range(first, last + 1):
        if (status, conditional) != (304, True):
            assert classify(status, conditional) == Verdict(state, RobotsReason(reason) if reason else None), status


def test_304_is_good_only_for_a_conditional_request() -> None:
    assert classify(304, conditional=True) == Verdict(PARSED, renewed=True)
    assert classify(304, conditional=False) == Verdict(UNREACHABLE, RobotsReason.HTTP_OTHER)


@pytest.mark.parametrize("status", [-200, 0, 20, 99, 1000, 1200, 20000])
def test_a_number_that_is_no_status_allows_nothing(status: int) -> None:
    assert classify(status, conditional=True) == Verdict(UNREACHABLE, RobotsReason.HTTP_OTHER)


def test_the_reasons_are_closed() -> None:
    http = {"http-429", "http-5xx", "http-other"}
    redirects = {"redirect-limit", "redirect-loop", "bad-location", "refused-target"}
    hops = {"special-address", "hop-blocked", "hop-deferred", "hop-budget"}
    wire = {"dns", "connect", "tls", "timeout", "reset", "cut", "decode", "protocol", "too-large"}
    assert {str(reason) for reason in RobotsReason} == http | redirects | hops | wire | {"aborted"}


def recorded_statuses() -> dict[str, tuple[int, str]]:
    """Recorded cases whose answer is one status: id -> (status, expected reading)."""
    path = Path(__file__).parents[1] / "cases" / "robots_fetch.jsonl"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        answer = case["wire"].get("routes", {}).get("/robots.txt", {})
        located = any(name == "Location" for name, _ in answer.get("headers", []))
        if case["kind"] in {"status", "cache"} and "status" in answer and not located:
            found[case["id"]] = (answer["status"], case["expect"])
    return found


RECORDED = recorded_statuses()


@pytest.mark.parametrize(("status", "expect"), RECORDED.values(), ids=RECORDED)
def test_recorded_case(status: int, expect: str) -> None:
    states = {"parse": PARSED, "allow_all": ABSENT, "unreachable": UNREACHABLE, "cached": PARSED}
    assert classify(status, conditional=expect == "cached").state is states[expect]


def test_there_are_recorded_cases_of_every_kind() -> None:
    assert {expect for _, expect in RECORDED.values()} == {"parse", "allow_all", "unreachable", "cached"}
    assert len(RECORDED) > 50


STOCK = RobotsPolicy()
HOUR_TTL = RobotsPolicy(ttl_s=3600)
TINY_TTL = RobotsPolicy(ttl_s=1.5)
SHORT_RETRY = RobotsPolicy(retry_s=60, retry_after_cap_s=120)
LOW_CAP = RobotsPolicy(retry_s=60, retry_after_cap_s=30)

# policy, max-age, expected life in ms of rules and of absence
LIVES = {
    "no-max-age": (STOCK, None, 86_400_000),
    "max-age-shortens": (STOCK, 7200, 7_200_000),
    "max-age-never-lengthens": (STOCK, 86_401, 86_400_000),
    "max-age-at-the-floor": (STOCK, 600, 600_000),
    "max-age-below-the-floor": (STOCK, 599, 600_000),
    "max-age-0": (STOCK, 0, 600_000),
    "shorter-ttl": (HOUR_TTL, None, 3_600_000),
    "shorter-ttl-longer-max-age": (HOUR_TTL, 7200, 3_600_000),
    "shorter-ttl-shorter-max-age": (HOUR_TTL, 1800, 1_800_000),
    "ttl-below-the-floor": (TINY_TTL, None, 1_500),
    "ttl-below-the-floor-max-age": (TINY_TTL, 900, 1_500),
    "ttl-below-the-floor-max-age-0": (TINY_TTL, 0, 1_500),
}
# policy, Retry-After, expected life in ms of unreachable
RETRIES = {
    "no-retry-after": (STOCK, None, 3_600_000),
    "shorter-retry-after": (STOCK, 30, 3_600_000),
    "longer-retry-after": (STOCK, 7200, 7_200_000),
    "retry-after-of-a-week": (STOCK, 604_800, 604_800_000),
    "retry-after-above-the-cap": (STOCK, 604_801, 604_800_000),
    "retry-after-huge": (STOCK, 2_147_483_648, 604_800_000),
    "short-retry": (SHORT_RETRY, 90, 90_000),
    "short-retry-cap": (SHORT_RETRY, 121, 120_000),
    "cap-below-the-retry": (LOW_CAP, 3600, 60_000),
}
FETCHED_MS = 1_796_015_856_123


@pytest.mark.parametrize(("policy", "max_age_s", "life_ms"), LIVES.values(), ids=LIVES)
@pytest.mark.parametrize("state", [PARSED, ABSENT])
def test_rules_and_absence_live(state: RobotsState, policy: RobotsPolicy, max_age_s: int | None, life_ms: int) -> None:
    for retry_after_s in (None, 10**9):  # Retry-After says nothing about a file that was given
        assert expires_at_ms(state, FETCHED_MS, max_age_s, retry_after_s, policy) == FETCHED_MS + life_ms


@pytest.mark.parametrize(("policy", "retry_after_s", "life_ms"), RETRIES.values(), ids=RETRIES)
def test_unreachable_lives(policy: RobotsPolicy, retry_after_s: int | None, life_ms: int) -> None:
    for max_age_s in (None, 0, 10**9):  # nor does max-age of an error about the file
        assert expires_at_ms(UNREACHABLE, FETCHED_MS, max_age_s, retry_after_s, policy) == FETCHED_MS + life_ms


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ttl_s", 86_401),
        ("ttl_s", 0),
        ("ttl_s", -1),
        ("ttl_s", float("nan")),
        ("ttl_floor_s", -1),
        ("ttl_floor_s", float("inf")),
        ("retry_s", 0),
        ("retry_s", float("nan")),
        ("retry_s", float("inf")),
        ("retry_after_cap_s", -0.5),
        ("give_up", 0),
    ],
)
def test_a_policy_out_of_range_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{field} = {value}: "):
        RobotsPolicy(**{field: value})  # type: ignore[arg-type]
