"""Which robots.txt entry of an origin is in force, across runs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import CLOCK_TOLERANCE_MS, RobotsEntry, RobotsHop, RobotsRowError
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsReason, RobotsState

ORIGIN = "https://a.test"
T0 = 1_796_015_856_123
HOUR = 3_600_000
DAY = 24 * HOUR
ETAG, MODIFIED = '"v1"', "Sun, 06 Nov 1994 08:49:37 GMT"

PARSED = RobotsEntry(
    run=1,
    id=1,
    origin=ORIGIN,
    cause=RobotsCause.FIRST,
    chain=(RobotsHop("https://a.test/robots.txt", "192.0.2.7", 200),),
    state=RobotsState.PARSED,
    reason=None,
    status=200,
    sha256="ab" * 32,
    bytes=512_000,
    truncated=True,
    etag=ETAG,
    last_modified=MODIFIED,
    retry_after_s=None,
    fetched_at_ms=T0,
    expires_at_ms=T0 + DAY,
    sitemaps=("https://a.test/sitemap.xml",),
)
NO_BODY: dict[str, Any] = {
    "sha256": None, "bytes": None, "truncated": False, "etag": None, "last_modified": None, "sitemaps": ()
}  # fmt: skip
ABSENT = replace(PARSED, state=RobotsState.ABSENT, status=404, **NO_BODY)
UNREACHABLE = replace(
    PARSED,
    state=RobotsState.UNREACHABLE,
    reason=RobotsReason.HTTP_5XX,
    status=503,
    retry_after_s=120,
    expires_at_ms=T0 + HOUR,
    **NO_BODY,
)
STATES = pytest.mark.parametrize("entry", [PARSED, ABSENT, UNREACHABLE], ids=lambda entry: str(entry.state))


def at(entry: RobotsEntry, fetched_at_ms: int) -> RobotsEntry:
    life_ms = entry.expires_at_ms - entry.fetched_at_ms
    return replace(entry, fetched_at_ms=fetched_at_ms, expires_at_ms=fetched_at_ms + life_ms)


def book_of(*entries: RobotsEntry, give_up: int = 3) -> RobotsBook:
    book = RobotsBook(RobotsPolicy(give_up=give_up))
    for entry in entries:
        book.put(entry)
    return book


# Rows


def test_the_row_is_the_stores() -> None:
    hop = RobotsHop("https://a.test/robots.txt", "192.0.2.7", 301, "/r.txt")
    entry = replace(PARSED, chain=(hop, RobotsHop("https://a.test/r.txt", error="reset")))
    assert json.dumps(entry.to_row()) == json.dumps(
        {
            "run": 1,
            "id": 1,
            "origin": "https://a.test",
            "cause": "first",
            "chain": [
                {
                    "url": "https://a.test/robots.txt",
                    "ip": "192.0.2.7",
                    "status": 301,
                    "location": "/r.txt",
                    "error": None,
                },
                {"url": "https://a.test/r.txt", "ip": None, "status": None, "location": None, "error": "reset"},
            ],
            "state": "parsed",
            "reason": None,
            "status": 200,
            "sha256": "ab" * 32,
            "bytes": 512_000,
            "truncated": True,
            "etag": '"v1"',
            "last_modified": "Sun, 06 Nov 1994 08:49:37 GMT",
            "retry_after_s": None,
            "fetched_at": "2026-11-30T05:17:36.123Z",
            "expires_at": "2026-12-01T05:17:36.123Z",
            "sitemaps": ["https://a.test/sitemap.xml"],
        }
    )


@STATES
def test_a_row_comes_back_as_it_went(entry: RobotsEntry) -> None:
    row = json.loads(json.dumps({"v": 1, **entry.to_row(), "later": "key"}))
    assert RobotsEntry.from_row(row) == entry


BAD_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "run-is-text": ({"run": "1"}, "'run' is '1', not of type int"),
    "run-is-true": ({"run": True}, "'run' is True, not of type int"),
    "truncated-is-1": ({"truncated": 1}, "'truncated' is 1, not of type bool"),
    "origin-is-null": ({"origin": None}, "'origin' is None"),
    "unknown-cause": ({"cause": "whim"}, "whim"),
    "unknown-state": ({"state": "fine"}, "fine"),
    "unknown-reason": ({"state": "unreachable", "reason": "whim"}, "whim"),
    "status-is-text": ({"status": "200"}, "'status' is '200'"),
    "time-of-another-form": ({"fetched_at": "2026-11-30T05:17:36Z"}, "not a time of the store"),
    "chain-is-null": ({"chain": None}, "'chain' is None"),
    "hop-is-text": ({"chain": ["https://a.test/robots.txt"]}, "'chain' is 'https"),
    "hop-without-ip": ({"chain": [{"url": "https://a.test/robots.txt"}]}, "no 'ip'"),
    "sitemap-is-a-number": ({"sitemaps": [1]}, "'sitemaps' is 1"),
    "parsed-without-body": ({"sha256": None}, "parsed with body None"),
    "parsed-without-length": ({"bytes": None}, "parsed with body"),
    "parsed-with-reason": ({"reason": "dns"}, "parsed with reason dns"),
    "unreachable-without-reason": ({"state": "unreachable"}, "unreachable with reason None"),
    "absent-with-body": ({"state": "absent"}, "absent with body"),
    "absent-with-rules": ({"state": "absent", "sha256": None, "bytes": None}, "absent with rules"),
    "over-before-it-begins": ({"expires_at": "2026-11-30T05:17:36.123Z"}, "before it begins"),
}


@pytest.mark.parametrize(("change", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    book = book_of(at(PARSED, T0 - DAY))
    before = book.in_force(ORIGIN, T0 - 1)
    with pytest.raises(RobotsRowError, match=message):
        book.load(PARSED.to_row() | change)
    assert book.in_force(ORIGIN, T0 - 1) is before is not None


@pytest.mark.parametrize("key", PARSED.to_row())
def test_a_row_without_a_key_is_refused(key: str) -> None:
    row = PARSED.to_row()
    del row[key]
    with pytest.raises(RobotsRowError, match=f"no '{key}'"):
        RobotsEntry.from_row(row)


# In force


@STATES
def test_in_force_from_fetch_to_expiry(entry: RobotsEntry) -> None:
    book = book_of(entry)
    assert book.in_force(ORIGIN, T0) == replace(entry, failures=entry.state == RobotsState.UNREACHABLE)
    assert book.in_force(ORIGIN, entry.expires_at_ms - 1) is not None
    assert book.in_force(ORIGIN, entry.expires_at_ms) is None


@STATES
def test_an_entry_from_the_future_is_not_in_force(entry: RobotsEntry) -> None:
    book = book_of(entry)
    assert book.in_force(ORIGIN, T0 - CLOCK_TOLERANCE_MS) is not None
    assert book.in_force(ORIGIN, T0 - CLOCK_TOLERANCE_MS - 1) is None


def test_origins_are_apart() -> None:
    book = book_of(PARSED)
    for other in ("http://a.test", "https://a.test:8443", "https://b.test"):
        assert book.in_force(other, T0) is None
        assert book.cause(other, T0) is RobotsCause.FIRST
        assert book.conditional_headers(other) == ()


def test_the_latest_entry_counts() -> None:
    assert book_of(UNREACHABLE, at(ABSENT, T0 + HOUR)).in_force(ORIGIN, T0 + HOUR) == at(ABSENT, T0 + HOUR)


def test_rows_load_as_entries_are_put() -> None:
    book = RobotsBook(RobotsPolicy())
    for entry in (at(PARSED, T0 - DAY), UNREACHABLE):
        book.load({"v": 1, **entry.to_row()})
    assert book.in_force(ORIGIN, T0) == replace(UNREACHABLE, failures=1)


# Cause


@pytest.mark.parametrize(
    ("entry", "cause"),
    [(PARSED, RobotsCause.EXPIRED), (ABSENT, RobotsCause.EXPIRED), (UNREACHABLE, RobotsCause.RETRY)],
    ids=["parsed", "absent", "unreachable"],
)
def test_cause(entry: RobotsEntry, cause: RobotsCause) -> None:
    book = book_of(entry)
    assert book.cause(ORIGIN, entry.expires_at_ms) is cause
    assert book.cause(ORIGIN, T0 - CLOCK_TOLERANCE_MS - 1) is cause
    with pytest.raises(ValueError, match="while an entry is in force"):
        book.cause(ORIGIN, entry.expires_at_ms - 1)


def test_cause_of_an_unknown_origin() -> None:
    assert book_of().cause(ORIGIN, T0) is RobotsCause.FIRST


# Failures


def test_failures_are_counted_by_period_and_reset_by_any_good_answer() -> None:
    book = book_of()
    steps = [
        (UNREACHABLE, 1),
        (UNREACHABLE, 2),
        (PARSED, 0),
        (UNREACHABLE, 1),
        (ABSENT, 0),
        (UNREACHABLE, 1),
        (UNREACHABLE, 2),
        (UNREACHABLE, 3),
        (UNREACHABLE, 4),
    ]
    now_ms, seen = T0, []
    for entry, _ in steps:
        counted = book.put(at(entry, now_ms))
        seen.append((counted.failures, book.given_up(ORIGIN)))
        now_ms = counted.expires_at_ms
    assert seen == [(failures, failures >= 3) for _, failures in steps]


def test_failures_of_one_period_are_one() -> None:
    book = book_of(UNREACHABLE)
    assert book.put(at(UNREACHABLE, T0 + HOUR - 1)).failures == 1
    assert book.put(at(UNREACHABLE, T0 + 2 * HOUR - 1)).failures == 2
    # The clock went back: another period, as the earlier one is not in force any more.
    assert book.put(at(UNREACHABLE, T0)).failures == 3


def test_failures_are_not_taken_from_the_entry() -> None:
    assert book_of().put(replace(UNREACHABLE, failures=7)).failures == 1
    assert book_of().put(replace(PARSED, failures=7)).failures == 0


@pytest.mark.parametrize("give_up", [1, 2])
def test_given_up(give_up: int) -> None:
    book = book_of(give_up=give_up)
    assert not book.given_up(ORIGIN)
    for count in range(1, 4):
        book.put(at(UNREACHABLE, T0 + count * HOUR))
        assert book.given_up(ORIGIN) == (count >= give_up)


# Conditional requests

BOTH = (("If-None-Match", ETAG), ("If-Modified-Since", MODIFIED))
VALIDATORS: dict[str, tuple[dict[str, Any], tuple[tuple[str, str], ...]]] = {
    "both": ({}, BOTH),
    "etag-only": ({"last_modified": None}, BOTH[:1]),
    "date-only": ({"etag": None}, BOTH[1:]),
    "none": ({"etag": None, "last_modified": None}, ()),
    "weak": ({"etag": 'W/"v1"'}, (("If-None-Match", 'W/"v1"'), BOTH[1])),
    "empty-tag": ({"etag": '""'}, (("If-None-Match", '""'), BOTH[1])),
    "unquoted": ({"etag": "v1"}, BOTH[1:]),
    "star": ({"etag": "*"}, BOTH[1:]),
    "two-tags": ({"etag": '"a", "b"'}, BOTH[1:]),
    "control-character": ({"etag": '"a\r\nX: b"'}, BOTH[1:]),
    "no-date": ({"last_modified": "yesterday"}, BOTH[:1]),
    "date-with-a-second-line": ({"last_modified": MODIFIED + "\r\nX: b"}, BOTH[:1]),
    "no-chain": ({"chain": ()}, BOTH),
}


@pytest.mark.parametrize(("change", "headers"), VALIDATORS.values(), ids=VALIDATORS)
def test_conditional_headers(change: dict[str, Any], headers: tuple[tuple[str, str], ...]) -> None:
    assert book_of(replace(PARSED, **change)).conditional_headers(ORIGIN) == headers


def test_only_the_url_that_gave_the_body_gets_its_validators() -> None:
    first, last = RobotsHop("https://a.test/robots.txt", status=301, location="/r.txt"), "https://a.test/r.txt"
    book = book_of(replace(PARSED, chain=(first, RobotsHop(last, status=200))))
    assert book.conditional_headers(ORIGIN) == ()
    assert book.conditional_headers(ORIGIN, first.url) == ()
    assert book.conditional_headers(ORIGIN, last) == BOTH


@pytest.mark.parametrize(
    ("entries", "headers"),
    [
        ([], ()),
        ([ABSENT], ()),
        ([UNREACHABLE], ()),
        ([PARSED, ABSENT], ()),
        ([PARSED, UNREACHABLE], BOTH),
        ([PARSED, UNREACHABLE, UNREACHABLE], BOTH),
        ([PARSED, ABSENT, UNREACHABLE], ()),
        ([PARSED, replace(PARSED, etag=None, last_modified=None)], ()),
    ],
    ids=["nothing", "a", "u", "p-a", "p-u", "p-u-u", "p-a-u", "p-p"],
)
def test_validators_outlive_failures_only(entries: list[RobotsEntry], headers: tuple[tuple[str, str], ...]) -> None:
    book, now_ms = book_of(), T0
    for entry in entries:
        now_ms = book.put(at(entry, now_ms)).expires_at_ms
    assert book.conditional_headers(ORIGIN) == headers
    assert book.in_force(ORIGIN, now_ms) is None


def test_old_rules_are_not_used_while_a_refetch_fails() -> None:
    book = book_of(PARSED, at(UNREACHABLE, T0 + DAY))
    entry = book.in_force(ORIGIN, T0 + DAY)
    assert entry is not None
    assert (entry.state, entry.sha256, entry.sitemaps) == (RobotsState.UNREACHABLE, None, ())


# Renewal


def renewed(book: RobotsBook, **change: Any) -> RobotsEntry:
    values: dict[str, Any] = {
        "run": 2,
        "id": 9,
        "cause": RobotsCause.EXPIRED,
        "chain": (RobotsHop("https://a.test/robots.txt", "192.0.2.8", 304),),
        "fetched_at_ms": T0 + 2 * DAY,
        "max_age_s": None,
    }
    return book.renew(ORIGIN, **(values | change))


def test_a_304_keeps_the_body_and_gives_new_times() -> None:
    book = book_of(PARSED)
    entry = renewed(book, max_age_s=7200)
    assert entry == replace(
        PARSED,
        run=2,
        id=9,
        cause=RobotsCause.EXPIRED,
        chain=(RobotsHop("https://a.test/robots.txt", "192.0.2.8", 304),),
        status=304,
        fetched_at_ms=T0 + 2 * DAY,
        expires_at_ms=T0 + 2 * DAY + 2 * HOUR,
    )
    assert book.in_force(ORIGIN, T0 + 2 * DAY) is None, "renewing puts nothing: the line is written first"
    book.put(entry)
    assert book.in_force(ORIGIN, T0 + 2 * DAY) == entry
    assert book.conditional_headers(ORIGIN) == BOTH


@pytest.mark.parametrize(
    ("life_ms", "max_age_s", "renewed_ms"),
    [(DAY, None, DAY), (HOUR, None, HOUR), (HOUR, 7200, 2 * HOUR), (HOUR, 0, 600_000), (1, None, 600_000)],
)
def test_without_a_max_age_the_earlier_life_holds(life_ms: int, max_age_s: int | None, renewed_ms: int) -> None:
    entry = renewed(book_of(replace(PARSED, expires_at_ms=T0 + life_ms)), max_age_s=max_age_s)
    assert entry.expires_at_ms - entry.fetched_at_ms == renewed_ms


def test_a_304_may_bring_validators() -> None:
    entry = renewed(book_of(PARSED), etag='"v2"')
    assert (entry.etag, entry.last_modified) == ('"v2"', MODIFIED)
    entry = renewed(book_of(PARSED), last_modified="Mon, 07 Nov 1994 08:49:37 GMT")
    assert (entry.etag, entry.last_modified) == (ETAG, "Mon, 07 Nov 1994 08:49:37 GMT")


def test_a_304_after_failures_renews_the_last_parsed_entry_and_ends_them() -> None:
    book = book_of(PARSED, at(UNREACHABLE, T0 + DAY), at(UNREACHABLE, T0 + DAY + HOUR))
    entry = book.put(renewed(book, cause=RobotsCause.RETRY))
    assert (entry.state, entry.reason, entry.sha256, entry.failures) == (RobotsState.PARSED, None, "ab" * 32, 0)


@pytest.mark.parametrize("entries", [[], [ABSENT], [UNREACHABLE], [PARSED, ABSENT]], ids=["nothing", "a", "u", "p-a"])
def test_a_304_without_a_body_to_renew_is_an_error(entries: list[RobotsEntry]) -> None:
    with pytest.raises(ValueError, match="without an earlier"):
        renewed(book_of(*entries))


def test_a_lost_body_takes_its_rules_out_of_force() -> None:
    book = book_of(PARSED)
    book.lose_body(ORIGIN)
    assert book.in_force(ORIGIN, T0) is None
    assert book.cause(ORIGIN, T0) is RobotsCause.EXPIRED
    assert book.conditional_headers(ORIGIN) == ()
    with pytest.raises(ValueError, match="without an earlier"):
        renewed(book)
    book.put(PARSED)
    assert book.in_force(ORIGIN, T0) == PARSED


@pytest.mark.parametrize("entry", [ABSENT, UNREACHABLE], ids=["absent", "unreachable"])
def test_losing_a_body_leaves_entries_without_rules_alone(entry: RobotsEntry) -> None:
    book = book_of(PARSED, entry)
    book.lose_body(ORIGIN)
    assert book.in_force(ORIGIN, T0) is not None
    assert book.conditional_headers(ORIGIN) == ()
