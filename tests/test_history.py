"""What a store tells the next run; and rows that are not as a store has them."""

import json

import pytest

from seaspider import history
from seaspider.core.records import File
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.core.urls import normalise
from seaspider.errors import StoreError
from seaspider.history import Followed
from seaspider.store import FolderStore

T = "2026-01-02T03:04:05.678Z"
T_MS = 1_767_323_045_678
A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"


def page(url, outcome="stored", reason=None, *, run=1, visit=1, **changes):
    return {
        "v": 1,
        "run": run,
        "visit": visit,
        "url": url,
        "line": 1,
        "depth": 0,
        "via": None,
        "outcome": outcome,
        "reason": reason,
        "status": 200 if outcome == "stored" else None,
        "final_url": url,
        "chain": [],
        "content_type": None,
        "charset": None,
        "bytes": None,
        "sha256": None,
        "links": None,
        "nofollow": None,
        "flags": [],
        "attempts": 0,
        "not_before": T if outcome in ("deferred", "blocked") else None,
        "started_at": T,
        "ended_at": T,
        **changes,
    }


def link(url, page=A, *, followed=True, run=1, visit=1):
    reason = None if followed else "off"
    return {"run": run, "visit": visit, "page": page, "n": 1, "url": url, "followed": followed, "reason": reason}


def intent(url, *, run=1, visit=1):
    return {"run": run, "visit": visit, "url": url, "line": 1, "intended_at": T}


def robots(id=1, **changes):
    return {
        "run": 1,
        "id": id,
        "origin": "http://a.test",
        "cause": "first",
        "chain": [],
        "state": "absent",
        "reason": None,
        "status": 404,
        "sha256": None,
        "bytes": None,
        "truncated": False,
        "etag": None,
        "last_modified": None,
        "retry_after_s": None,
        "fetched_at": T,
        "expires_at": "2026-01-03T03:04:05.678Z",
        "sitemaps": [],
        **changes,
    }


def read(folder, *, retry_failed=False, book=None, **rows):
    """The history of a store with these rows, file by file."""
    store = FolderStore(folder)
    for file, records in rows.items():
        for record in records:
            store.write(File(f"{file}.jsonl"), record)
    try:
        return history.read(store, book or RobotsBook(POLICY), retry_failed=retry_failed)
    finally:
        store.close()


POLICY = RobotsPolicy(ttl_s=86400, retry_s=3600, give_up=3)


def test_nothing(tmp_path):
    assert read(tmp_path) == history.History()


def test_the_latest_record_of_a_url_counts(tmp_path):
    past = read(
        tmp_path,
        pages=[
            page(A, "deferred", "backoff"),
            page(B, visit=2),
            page(C, "blocked", "forbidden", visit=3),
            page(A, run=2),
            page(C, "deferred", "budget", run=2, visit=2, not_before=None),
        ],
    )
    assert past.done == {A, B}
    assert past.unfinished == {C: page(C, "deferred", "budget", run=2, visit=2, not_before=None)}
    assert list(past.unfinished[C]) == list(page(C))


FINAL = [
    ("stored", None), ("disallowed", "robots-rule"), ("refused", "special-address"), ("failed", "dns"),
]  # fmt: skip
NOT_FINAL = [("deferred", "crawl-delay"), ("deferred", "robots-unreachable"), ("blocked", "forbidden")]


@pytest.mark.parametrize(("outcome", "reason"), FINAL + NOT_FINAL)
def test_final_outcomes_are_done(tmp_path, outcome, reason):
    past = read(tmp_path, pages=[page(A, outcome, reason)])
    assert (past.done == {A}) == ((outcome, reason) in FINAL)
    assert (set(past.unfinished) == {A}) == ((outcome, reason) in NOT_FINAL)


def test_what_failed_is_not_done_if_it_is_to_be_taken_up_again(tmp_path):
    rows = [page(A, "failed", "dns"), page(B, "refused", "scheme", visit=2), page(C, "failed", "dns", visit=3)]
    past = read(tmp_path, pages=[*rows, page(C, run=2)], retry_failed=True)
    assert (past.done, past.unfinished) == ({B, C}, {})


def test_what_failed_and_was_taken_up_again_waits_if_it_did_not_end(tmp_path):
    past = read(tmp_path, pages=[page(A, "failed", "dns"), page(A, "deferred", "backoff", run=2)])
    assert (past.done, set(past.unfinished)) == (set(), {A})


def test_hosts_that_answered_403(tmp_path):
    past = read(
        tmp_path,
        pages=[
            page(A, status=403, final_url="http://deep.b.test:8080/x"),
            page(B, status=404, visit=2),
            page(C, "deferred", "backoff", visit=3, status=429),
        ],
    )
    assert past.forbidden == [("deep.b.test", T_MS)]


@pytest.mark.parametrize("file", ["manifest", "skipped", "robots", "intents", "requests", "pages", "links"])
def test_runs_go_on_from_the_highest_number_whatever_file_it_is_in(tmp_path, file):
    rows = {
        "manifest": {"run": 7},
        "skipped": {"run": 7},
        "robots": robots(run=7),
        "intents": intent(A, run=7),
        "requests": {"run": 7},
        "pages": page(A, run=7),
        "links": link(B, run=7),
    }
    assert read(tmp_path, **{"manifest": [{"run": 3}], file: [rows[file]]}).runs == 7


def test_robots_ids_go_on_and_entries_go_into_the_book(tmp_path):
    book = RobotsBook(POLICY)
    assert read(tmp_path, book=book, robots=[robots(4), robots(9, origin="http://b.test")]).robots_ids == 9
    assert book.in_force("http://a.test", T_MS + 1).id == 4
    assert book.in_force("http://b.test", T_MS + 1).id == 9


def test_followed_links_of_recorded_pages_in_file_order(tmp_path):
    past = read(
        tmp_path,
        pages=[page(A, depth=2), page(B, run=2)],
        links=[
            link("http://a.test/2"),
            link("http://a.test/1"),
            link("http://a.test/off", followed=False),
            link("http://a.test/torn", visit=2),
            link("http://b.test/x", B, run=2),
        ],
    )
    assert past.followed == [
        Followed(normalise("http://a.test/2"), 3, A),
        Followed(normalise("http://a.test/1"), 3, A),
        Followed(normalise("http://b.test/x"), 1, B),
    ]


# intents, page records, URLs that were begun and not ended
BEGUN = [
    ([intent(A)], [], {A}),
    ([intent(A)], [page(A)], set()),
    ([intent(A), intent(B, visit=2)], [page(A)], {B}),
    ([intent(A), intent(A, run=2)], [page(A, run=2)], set()),
    ([intent(A)], [page(A, run=2, visit=5)], set()),
    ([intent(A)], [page(A, "blocked", "forbidden", run=2, visit=5)], set()),
    ([intent(A), intent(A, run=2)], [page(A, "deferred", "backoff")], {A}),
    ([intent(A), intent(A, run=2)], [], {A}),
]


@pytest.mark.parametrize(("intents", "pages", "begun"), BEGUN, ids=range(len(BEGUN)))
def test_visits_that_were_under_way(tmp_path, intents, pages, begun):
    assert read(tmp_path, intents=intents, pages=pages).begun == begun


def without(record, key):
    return {name: value for name, value in record.items() if name != key}


WAITING = page(A, "deferred", "backoff")
# file, row, what the message says after file and line
BAD = [
    ("manifest", {"event": "start"}, "no 'run'"),
    ("manifest", {"run": "1"}, "'run' is '1', not of type int"),
    ("skipped", {"line": 3}, "no 'run'"),
    ("requests", {"n": 3}, "no 'run'"),
    ("robots", without(robots(), "id"), "no 'id'"),
    ("robots", robots(state="fine"), "'fine' is not a valid RobotsState"),
    ("robots", without(robots(), "run"), "no 'run'"),
    ("intents", without(intent(A), "url"), "no 'url'"),
    ("links", without(link(A), "followed"), "no 'followed'"),
    ("links", link(A) | {"followed": 1}, "'followed' is 1, not of type bool"),
    *(("pages", without(page(A), key), f"no {key!r}") for key in ("url", "outcome", "visit", "depth", "status")),
    *(("pages", without(WAITING, key), f"no {key!r}") for key in ("chain", "not_before", "final_url", "attempts")),
    ("pages", page(A, "lost"), "'lost' is not a valid Outcome"),
    ("pages", page(A, "failed", "bored"), "'bored' is not a valid Reason"),
    ("pages", page(A, "stored", "dns"), "stored does not go with reason dns"),
    ("pages", page(A, "failed"), "failed does not go with reason None"),
    ("pages", WAITING | {"not_before": None}, "deferred/backoff without a 'not_before'"),
    ("pages", WAITING | {"not_before": "soon"}, "'not_before': not a time of the store"),
    ("pages", WAITING | {"final_url": None}, "'final_url' is None, not of type str"),
    ("pages", WAITING | {"final_url": "a.test"}, "'final_url': not a usable URL (missing-scheme): 'a.test'"),
    ("pages", page(A, status=403, ended_at="then"), "'ended_at': not a time of the store"),
    ("pages", page(A, status=403, final_url="a.test"), "'final_url': "),
]


@pytest.mark.parametrize(("file", "row", "why"), BAD, ids=[f"{file}: {why[:40]}" for file, _, why in BAD])
def test_a_row_that_is_not_as_a_store_has_it_is_refused_by_file_and_line(tmp_path, file, row, why):
    good = {"pages": page(C), "robots": robots(origin="http://z.test"), "intents": intent(C), "links": link(C, C)}
    with pytest.raises(StoreError) as caught:
        read(tmp_path, **{file: [good.get(file, {"run": 1}), row]})
    place = "last line" if file in ("skipped", "requests") else "2"
    separator = ", " if place == "last line" else ":"
    assert str(caught.value).startswith(f"{tmp_path}/{file}.jsonl{separator}{place}: {why}")
    assert "\n" not in str(caught.value)


def test_rows_may_have_keys_that_are_not_known(tmp_path):
    past = read(tmp_path, pages=[WAITING | {"later": 1}], manifest=[{"run": 1, "later": json.loads("[1]")}])
    assert past.unfinished == {A: WAITING}
