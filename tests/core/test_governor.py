"""The governor's rules, each as a table."""

import pytest

from seaspider.core.governor import (
    BackoffPolicy,
    Backoffs,
    HostState,
    asked,
    backoff_ns,
    breadth_per_mil,
    is_broad,
    is_failure,
    is_polite,
    longest_idle,
    may_fetch,
    on_answer,
    passes_gate,
    pushes_back,
)
from seaspider.core.records import Reason

POLICY = BackoffPolicy(base_ns=5, cap_ns=300)
NOW = 1_000_003
BLOCK = 70_000


# Back-off


@pytest.mark.parametrize(
    ("failures", "base_ns", "cap_ns", "expected"),
    [
        (1, 5, 300, 10),
        (2, 5, 300, 20),
        (3, 5, 300, 40),
        (5, 5, 300, 160),
        (6, 5, 300, 300),
        (7, 5, 300, 300),
        (10**9, 5, 300, 300),
        (8, 1, 256, 256),
        (8, 1, 257, 256),
        (9, 1, 257, 257),
        (9, 1, 511, 511),
        (9, 1, 512, 512),
        (1, 5, 10, 10),
        (1, 5, 9, 9),
        (0, 5, 300, 5),
        (0, 5, 3, 3),
        (3, 0, 300, 0),
        (10**9, 0, 300, 0),
        (3, 5, 0, 0),
    ],
)
def test_base_times_two_to_the_n_capped(failures: int, base_ns: int, cap_ns: int, expected: int) -> None:
    assert backoff_ns(failures, BackoffPolicy(base_ns, cap_ns)) == expected


# May fetch

FETCHABLE: dict[str, tuple[HostState, bool]] = {
    "never-asked": (HostState(), True),
    "never-asked-crawl-delay": (HostState(crawl_delay_ns=NOW), True),
    "pause-over": (HostState(NOW - 20), True),
    "pause-one-short": (HostState(NOW - 19), False),
    "asked-now": (HostState(NOW), False),
    "crawl-delay-longer-over": (HostState(NOW - 50, 50), True),
    "crawl-delay-longer-one-short": (HostState(NOW - 49, 50), False),
    "crawl-delay-shorter-changes-nothing": (HostState(NOW - 19, 3), False),
    "back-off-over": (HostState(NOW - 20, 0, NOW), True),
    "back-off-one-short": (HostState(NOW - 20, 0, NOW + 1), False),
    "back-off-over-pause-not": (HostState(NOW - 19, 0, NOW), False),
    "never-asked-but-stopped": (HostState(None, 0, NOW + 1), False),
}


@pytest.mark.parametrize(("host", "expected"), FETCHABLE.values(), ids=FETCHABLE)
def test_a_host_may_be_asked_if_pause_and_backoff_are_over(host: HostState, expected: bool) -> None:
    assert may_fetch(host, 20, NOW) is expected


def test_without_an_interval_only_backoff_counts() -> None:
    assert may_fetch(HostState(NOW), 0, NOW)
    assert not may_fetch(HostState(NOW, backoff_until_ns=NOW + 1), 0, NOW)


def test_a_request_is_remembered_and_nothing_else_changes() -> None:
    assert asked(HostState(3, 5, 7, 2), NOW) == HostState(NOW, 5, 7, 2)


# Answers


def test_429_and_5xx_push_back_and_nothing_else_does() -> None:
    assert {status for status in range(100, 1_000) if pushes_back(status)} == {429, *range(500, 600)}


AFTER: dict[str, tuple[int | None, int, HostState]] = {
    "429-first": (429, 0, HostState(3, 5, NOW + 10, 1)),
    "503-second": (503, 1, HostState(3, 5, NOW + 20, 2)),
    "500": (500, 0, HostState(3, 5, NOW + 10, 1)),
    "failure-third": (None, 2, HostState(3, 5, NOW + 40, 3)),
    "capped": (429, 30, HostState(3, 5, NOW + 300, 31)),
    "200-resets": (200, 4, HostState(3, 5, 0, 0)),
    "404-resets": (404, 4, HostState(3, 5, 0, 0)),
    "301-resets": (301, 4, HostState(3, 5, 0, 0)),
    "402-resets": (402, 4, HostState(3, 5, 0, 0)),
    "451-resets": (451, 4, HostState(3, 5, 0, 0)),
    "403-stops": (403, 4, HostState(3, 5, NOW + BLOCK, 0)),
}


@pytest.mark.parametrize(("status", "failures", "expected"), AFTER.values(), ids=AFTER)
def test_what_an_answer_changes(status: int | None, failures: int, expected: HostState) -> None:
    assert on_answer(HostState(3, 5, 7, failures), status, NOW, POLICY, BLOCK) == expected


def test_a_403_is_an_answer_like_any_other_if_it_does_not_stop_the_host() -> None:
    assert on_answer(HostState(3, 5, 7, 4), 403, NOW, POLICY, None) == HostState(3, 5, 0, 0)


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        (200, None, False),
        (404, None, False),
        (403, None, False),
        (429, None, True),
        (503, None, True),
        (200, Reason.TOO_LARGE, False),
        (503, Reason.TOO_LARGE, True),
        (200, Reason.CUT, True),
        (200, Reason.DECODE, True),
        (404, Reason.DECODE, True),
        (None, Reason.TIMEOUT, True),
        (None, Reason.CONNECT, True),
        (None, Reason.TOO_LARGE, True),
        (None, None, True),
    ],
)
def test_which_exchanges_count_up(status: int | None, reason: Reason | None, expected: bool) -> None:
    assert is_failure(status, reason) is expected


def test_failures_in_a_row_are_counted_for_each_host() -> None:
    backoffs = Backoffs()
    seen = [backoffs.failures("a")]
    for status in (429, None, 503, 404, 500, 200, 403):
        backoffs.ended("a", status, None)
        backoffs.ended("b", None, Reason.RESET)
        seen.append(backoffs.failures("a"))
    assert seen == [0, 1, 2, 3, 0, 1, 0, 0]
    assert (backoffs.failures("b"), backoffs.failures("c")) == (7, 0)


def test_backoffs_are_those_of_the_rule() -> None:
    backoffs, host = Backoffs(), HostState()
    for status in (429, 503, 503, 200, 500, 429, 404, 502):
        backoffs.ended("a", status, None)
        host = on_answer(host, status, NOW, POLICY, None)
        failures = backoffs.failures("a")
        assert failures == host.failures
        assert (NOW + backoff_ns(failures, POLICY) if failures else 0) == host.backoff_until_ns


# Longest idle

STOPPED = NOW + 1
CHOICES: dict[str, tuple[list[HostState], int | None]] = {
    "no-host": ([], None),
    "one": ([HostState(NOW - 20)], 0),
    "the-one-asked-longest-ago": ([HostState(NOW - 30), HostState(NOW - 50), HostState(NOW - 40)], 1),
    "a-tie-goes-to-the-first": ([HostState(NOW - 30), HostState(NOW - 50), HostState(NOW - 50)], 1),
    "never-asked-is-longest": ([HostState(0), HostState(), HostState()], 1),
    "never-asked-also-against-a-time-before-zero": ([HostState(-5), HostState()], 1),
    "not-due-is-passed-over": ([HostState(NOW - 30), HostState(NOW - 50, 60), HostState(NOW - 40)], 2),
    "stopped-is-passed-over": ([HostState(None, 0, STOPPED), HostState(NOW - 20)], 1),
    "none-eligible-so-wait": ([HostState(NOW - 19), HostState(None, 0, STOPPED)], None),
}


@pytest.mark.parametrize(("hosts", "expected"), CHOICES.values(), ids=CHOICES)
def test_the_host_idle_longest_is_next(hosts: list[HostState], expected: int | None) -> None:
    assert longest_idle(hosts, 20, NOW) == expected


# Polite and broad


@pytest.mark.parametrize(
    ("hosts", "requests", "expected"),
    [(0, 0, 0), (1, 1, 1000), (1, 2, 500), (2, 3, 666), (40, 440, 90), (1, 1001, 0), (2_000, 4_000, 500), (3, -1, 0)],
)
def test_breadth_is_distinct_hosts_for_1000_requests(hosts: int, requests: int, expected: int) -> None:
    assert breadth_per_mil(hosts, requests) == expected


@pytest.mark.parametrize(
    ("requests", "max_per_host", "too_near", "expected"),
    [
        ([], 3, 0, True),
        ([3, 1, 3], 3, 0, True),
        ([3, 4, 3], 3, 0, False),
        ([1, 1], 3, 1, False),
        ([10**6], 0, 0, True),
        ([10**6], 0, 1, False),
        ([], 0, 2, False),
    ],
)
def test_polite_is_no_host_hammered_and_no_pause_cut(
    requests: list[int], max_per_host: int, too_near: int, expected: bool
) -> None:
    assert is_polite(requests, max_per_host, too_near) is expected


@pytest.mark.parametrize(("hosts", "least", "expected"), [(5, 5, True), (4, 5, False), (6, 5, True), (0, 0, True)])
def test_broad_is_enough_hosts(hosts: int, least: int, expected: bool) -> None:
    assert is_broad(hosts, least) is expected


@pytest.mark.parametrize("polite", [True, False])
@pytest.mark.parametrize("broad", [True, False])
@pytest.mark.parametrize("breadth", [299, 300, 301])
def test_the_gate_asks_for_all_three(polite: bool, broad: bool, breadth: int) -> None:
    passed = passes_gate(polite=polite, broad=broad, breadth=breadth, min_breadth=300)
    assert passed is (polite and broad and breadth != 299)
