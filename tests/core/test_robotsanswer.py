"""What one answer on the way to a robots.txt leads to: the next URL, or the entry of the origin."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from seaspider.core.robotsanswer import (
    RobotsAnswer,
    RobotsContext,
    conclude,
    is_redirect,
    unreachable,
    wants_body,
)
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry, RobotsHop
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsReason, RobotsState
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Hop

T0 = 1_796_015_856_123  # 2026-11-30T05:17:36.123Z
S = 1_000
MINUTES_10, HOUR, DAY, WEEK = 600 * S, 3_600 * S, 86_400 * S, 604_800 * S
ORIGIN = "http://a.test"
ROBOTS = f"{ORIGIN}/robots.txt"
BODY = b"Sitemap: /s.xml\nUser-agent: *\nDisallow: /p\nSitemap: http://b.test/s2.xml\n"
Fields = Sequence[tuple[bytes, bytes]]


def context(book: RobotsBook | None = None, **values: Any) -> RobotsContext:
    policy = RobotsPolicy()
    known: dict[str, Any] = {"max_redirects": 5, "run": 2, "id": 9, "now_ms": T0}
    return RobotsContext(policy, book or RobotsBook(policy), **known | values)


def chain_of(*urls: str) -> list[Hop]:
    return [Hop(normalise(url)) for url in urls]


def concluded(
    status: int,
    headers: Fields = (),
    body: bytes = b"",
    *,
    chain: Sequence[str] = (ROBOTS,),
    book: RobotsBook | None = None,
    clipped: bool = False,
    conditional: bool = False,
) -> Url | RobotsEntry:
    answer = RobotsAnswer(status, headers, body, clipped, conditional)
    return conclude(ORIGIN, RobotsCause.EXPIRED, chain_of(*chain), answer, context(book))


def entry_of(status: int, headers: Fields = (), body: bytes = b"", **values: Any) -> RobotsEntry:
    entry = concluded(status, headers, body, **values)
    assert isinstance(entry, RobotsEntry)
    return entry


def state_of(status: int, headers: Fields = (), **values: Any) -> tuple[str, str | None]:
    entry = entry_of(status, headers, **values)
    return entry.state, entry.reason


# The state table


def expected_state(status: int) -> tuple[str, str | None]:
    if status == 429:
        return "unreachable", "http-429"
    if 500 <= status <= 599:
        return "unreachable", "http-5xx"
    if 200 <= status <= 299 and status != 206:
        return "parsed", None
    if 400 <= status <= 499:
        return "absent", None
    return "unreachable", "http-other"


def test_every_status_has_its_state() -> None:
    statuses = range(100, 1_000)
    assert {status: state_of(status) for status in statuses} == {status: expected_state(status) for status in statuses}


def test_a_parsed_answer_in_full() -> None:
    headers = [
        (b"ETag", b'"v1"'),
        (b"Last-Modified", b"Sun, 06 Nov 1994 08:49:37 GMT"),
        (b"Retry-After", b"9"),
        (b"Cache-Control", b"max-age=7200"),
    ]
    hop = Hop(normalise(ROBOTS), ip="192.0.2.7", status=200, group="x", crawl_delay_s=1)
    answer = RobotsAnswer(200, headers, BODY)
    entry = conclude(ORIGIN, RobotsCause.FIRST, [hop], answer, context())
    assert entry == RobotsEntry(
        run=2,
        id=9,
        origin=ORIGIN,
        cause=RobotsCause.FIRST,
        chain=(RobotsHop(ROBOTS, "192.0.2.7", 200),),
        state=RobotsState.PARSED,
        reason=None,
        status=200,
        sha256=hashlib.sha256(BODY).hexdigest(),
        bytes=len(BODY),
        truncated=False,
        etag='"v1"',
        last_modified="Sun, 06 Nov 1994 08:49:37 GMT",
        retry_after_s=None,
        fetched_at_ms=T0,
        expires_at_ms=T0 + 2 * HOUR,
        sitemaps=("/s.xml", "http://b.test/s2.xml"),
    )


@pytest.mark.parametrize("status", [204, 404, 503], ids=["parsed-empty", "absent", "unreachable"])
def test_only_a_parsed_answer_keeps_body_and_validators(status: int) -> None:
    entry = entry_of(status, [(b"ETag", b'"v1"'), (b"Last-Modified", b"x")], b"" if status == 204 else BODY)
    parsed = status == 204
    empty = hashlib.sha256(b"").hexdigest()
    assert (entry.sha256, entry.bytes, entry.etag, entry.last_modified, entry.sitemaps) == (
        (empty, 0, '"v1"', "x", ()) if parsed else (None, None, None, None, ())
    )
    assert (entry.status, entry.truncated, entry.fetched_at_ms) == (status, False, T0)


@pytest.mark.parametrize(("status", "wanted"), [(199, False), (200, True), (206, True), (299, True), (300, False)])
def test_which_bodies_are_read(status: int, wanted: bool) -> None:
    assert wants_body(status) is wanted


def test_a_body_that_is_only_a_beginning() -> None:
    """The line cut by the limit is dropped, and the entry says so."""
    whole, clipped = entry_of(200, body=BODY[:-5]), entry_of(200, body=BODY[:-5], clipped=True)
    assert (whole.truncated, whole.sitemaps) == (False, ("/s.xml", "http://b.test/s2"))
    assert (clipped.truncated, clipped.sitemaps) == (True, ("/s.xml",))
    assert clipped.sha256 == whole.sha256
    assert clipped.bytes == len(BODY) - 5


def test_of_a_body_over_the_limit_only_the_beginning_counts() -> None:
    entry = entry_of(200, body=b"Sitemap: /s.xml\n" + b"#" * 512_000 + b"\nSitemap: /late.xml\n")
    assert (entry.truncated, entry.sitemaps) == (True, ("/s.xml",))


# How long it holds

LIVES: dict[str, tuple[int, Fields, int, int | None]] = {
    "parsed": (200, [], DAY, None),
    "parsed-max-age": (200, [(b"cache-control", b"public, max-age=7200")], 2 * HOUR, None),
    "parsed-max-age-floor": (200, [(b"Cache-Control", b"max-age=1")], MINUTES_10, None),
    "parsed-max-age-ceiling": (200, [(b"Cache-Control", b"max-age=864000")], DAY, None),
    "parsed-two-max-ages": (
        200,
        [(b"CACHE-CONTROL", b"max-age=9000"), (b"cache-control", b"max-age=8000")],
        8_000 * S,
        None,
    ),
    "parsed-no-cache": (200, [(b"Cache-Control", b"no-cache")], MINUTES_10, None),
    "parsed-retry-after": (200, [(b"Retry-After", b"7200")], DAY, None),
    "absent": (404, [], DAY, None),
    "absent-max-age": (404, [(b"Cache-Control", b"max-age=7200")], 2 * HOUR, None),
    "unreachable": (503, [], HOUR, None),
    "unreachable-max-age": (503, [(b"Cache-Control", b"max-age=86400")], HOUR, None),
    "unreachable-retry-after": (503, [(b"Retry-After", b"7200")], 2 * HOUR, 7200),
    "unreachable-retry-after-shorter": (429, [(b"retry-after", b"10")], HOUR, 10),
    "unreachable-retry-after-date": (
        503,
        [(b"Date", b"Mon, 30 Nov 2026 05:00:00 GMT"), (b"Retry-After", b"Mon, 30 Nov 2026 07:00:00 GMT")],
        2 * HOUR,
        7200,
    ),
    "unreachable-retry-after-cap": (503, [(b"Retry-After", b"31536000")], WEEK, 31_536_000),
    "unreachable-retry-after-unreadable": (503, [(b"Retry-After", b"\xff")], HOUR, None),
}


@pytest.mark.parametrize(("status", "headers", "life_ms", "retry_after_s"), LIVES.values(), ids=LIVES)
def test_how_long_an_answer_holds(status: int, headers: Fields, life_ms: int, retry_after_s: int | None) -> None:
    entry = entry_of(status, headers)
    assert (entry.expires_at_ms - T0, entry.retry_after_s) == (life_ms, retry_after_s)


# Redirects


def location(target: str) -> Fields:
    return [(b"Location", target.encode())]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/r.txt", "http://a.test/r.txt"),
        ("https://a.test/robots.txt", "https://a.test/robots.txt"),
        ("//b.test:81/any/path?q#f", "http://b.test:81/any/path?q"),
    ],
    ids=["path", "scheme", "host"],
)
def test_a_redirect_goes_on_at_any_path_and_host(status: int, target: str, expected: str) -> None:
    assert concluded(status, location(target), BODY) == normalise(expected)


@pytest.mark.parametrize("status", [300, 304, 305, 306, 399])
def test_what_is_no_redirect_goes_nowhere(status: int) -> None:
    assert state_of(status, location("/r.txt")) == ("unreachable", "http-other")


@pytest.mark.parametrize("hops", range(7))
def test_five_redirects_are_followed_and_not_six(hops: int) -> None:
    chain = [ROBOTS, *(f"{ORIGIN}/{number}" for number in range(1, hops + 1))]
    outcome = concluded(302, location("/next"), chain=chain)
    if hops < 5:
        assert outcome == normalise(f"{ORIGIN}/next")
    else:
        assert isinstance(outcome, RobotsEntry)
        assert (outcome.state, outcome.reason) == ("unreachable", "redirect-limit")
        assert [hop.url for hop in outcome.chain] == chain
    assert state_of(200, chain=chain) == ("parsed", None)


def test_without_a_budget_no_redirect_is_followed() -> None:
    answer = RobotsAnswer(301, location("/r.txt"))
    entry = conclude(ORIGIN, RobotsCause.FIRST, chain_of(ROBOTS), answer, context(max_redirects=0))
    assert isinstance(entry, RobotsEntry)
    assert entry.reason == "redirect-limit"


REFUSED: dict[str, tuple[list[str], Fields, str]] = {
    "to-itself": ([ROBOTS], location("/robots.txt"), "redirect-loop"),
    "to-itself-by-a-fragment": ([ROBOTS], location("#x"), "redirect-loop"),
    "to-itself-by-nothing": ([ROBOTS], location(""), "redirect-loop"),
    "back": ([ROBOTS, f"{ORIGIN}/r.txt"], location(ROBOTS), "redirect-loop"),
    "back-in-another-spelling": (
        [ROBOTS, "http://b.test/"],
        location("HTTP://A.TEST:80/%72obots.txt"),
        "redirect-loop",
    ),
    "a-loop-even-without-budget": ([ROBOTS, *(f"{ORIGIN}/{n}" for n in range(1, 6))], location("/3"), "redirect-loop"),
    "scheme": ([ROBOTS], location("ftp://a.test/robots.txt"), "refused-target"),
    "userinfo": ([ROBOTS], location("http://me@b.test/robots.txt"), "refused-target"),
    "two-locations": ([ROBOTS], [*location("/1"), *location("/2")], "bad-location"),
    "no-host": ([ROBOTS], location("http:///"), "bad-location"),
}


@pytest.mark.parametrize(("chain", "headers", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_redirect_that_is_not_followed_makes_the_origin_unreachable(
    chain: list[str], headers: Fields, reason: str
) -> None:
    entry = entry_of(302, [*headers, (b"Retry-After", b"7200")], BODY, chain=chain)
    assert (entry.state, entry.reason, entry.status, entry.sha256) == ("unreachable", reason, 302, None)
    assert (entry.retry_after_s, entry.expires_at_ms) == (7200, T0 + 2 * HOUR)


@pytest.mark.parametrize(
    ("status", "locations", "expected"),
    [(301, [b"/x"], True), (308, [b""], True), (301, [], False), (200, [b"/x"], False), (304, [b"/x"], False)],
)
def test_an_answer_that_sends_elsewhere(status: int, locations: list[bytes], expected: bool) -> None:
    assert is_redirect(status, locations) is expected


def test_the_entry_keeps_what_each_hop_answered() -> None:
    chain = chain_of(ROBOTS, "http://b.test/r.txt")
    chain[0].ip, chain[0].status, chain[0].location = "192.0.2.7", 301, "//b.test/r.txt"
    chain[1].ip, chain[1].status = "192.0.2.8", 200
    entry = conclude(ORIGIN, RobotsCause.FIRST, chain, RobotsAnswer(200, (), BODY), context())
    assert isinstance(entry, RobotsEntry)
    assert entry.origin == ORIGIN
    assert entry.chain == (
        RobotsHop(ROBOTS, "192.0.2.7", 301, "//b.test/r.txt"),
        RobotsHop("http://b.test/r.txt", "192.0.2.8", 200),
    )


# Conditional requests


def known_book() -> tuple[RobotsBook, RobotsEntry]:
    book = RobotsBook(RobotsPolicy())
    entry = replace(entry_of(200, [(b"ETag", b'"v1"')], BODY), id=3, fetched_at_ms=T0 - DAY, expires_at_ms=T0 - HOUR)
    return book, book.put(entry)


def test_a_304_to_our_condition_renews_what_we_have() -> None:
    book, before = known_book()
    headers = [(b"ETag", b'"v2"'), (b"Last-Modified", b"x"), (b"Cache-Control", b"max-age=7200")]
    entry = entry_of(304, headers, book=book, conditional=True)
    assert entry == replace(
        before,
        id=9,
        status=304,
        etag='"v2"',
        last_modified="x",
        fetched_at_ms=T0,
        expires_at_ms=T0 + 2 * HOUR,
    )
    assert (entry.sha256, entry.sitemaps) == (hashlib.sha256(BODY).hexdigest(), ("/s.xml", "http://b.test/s2.xml"))


def test_a_304_without_a_max_age_keeps_the_earlier_life() -> None:
    book, _ = known_book()
    assert entry_of(304, book=book, conditional=True).expires_at_ms == T0 + DAY - HOUR


def test_a_304_that_nobody_asked_for_is_not_understood() -> None:
    book, _ = known_book()
    assert state_of(304, book=book) == ("unreachable", "http-other")


@pytest.mark.parametrize(("status", "state"), [(200, "parsed"), (404, "absent"), (503, "unreachable")])
def test_another_answer_to_a_conditional_request_counts_as_such(status: int, state: str) -> None:
    book, _ = known_book()
    entry = entry_of(status, body=b"", book=book, conditional=True)
    assert (entry.state, entry.sha256) == (state, hashlib.sha256(b"").hexdigest() if status == 200 else None)


# No answer


@pytest.mark.parametrize("reason", [reason for reason in RobotsReason if not reason.startswith("http-")], ids=str)
def test_a_failure_is_unreachable_for_a_retry_period(reason: RobotsReason) -> None:
    chain = chain_of(ROBOTS)
    chain[0].error = "reset"
    assert unreachable(ORIGIN, RobotsCause.RETRY, chain, reason, context()) == RobotsEntry(
        run=2,
        id=9,
        origin=ORIGIN,
        cause=RobotsCause.RETRY,
        chain=(RobotsHop(ROBOTS, error="reset"),),
        state=RobotsState.UNREACHABLE,
        reason=reason,
        status=None,
        sha256=None,
        bytes=None,
        truncated=False,
        etag=None,
        last_modified=None,
        retry_after_s=None,
        fetched_at_ms=T0,
        expires_at_ms=T0 + HOUR,
    )


# Header fields


def test_header_values_are_found_in_any_case_and_in_order() -> None:
    answer = RobotsAnswer(200, [(b"ETag", b"\xe9"), (b"X", b"1"), (b"etag", b"b")])
    assert answer.values(b"etag") == [b"\xe9", b"b"]
    assert answer.texts(b"etag") == ["é", "b"]
    assert answer.values(b"date") == []


def test_of_several_validators_the_last_counts() -> None:
    entry = entry_of(200, [(b"ETag", b'"1"'), (b"Last-Modified", b"x"), (b"etag", b'"2"')])
    assert (entry.etag, entry.last_modified) == ('"2"', "x")
