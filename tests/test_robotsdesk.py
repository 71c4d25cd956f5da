"""The desk: numbers, records and remembers what came of robots.txt fetches."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from seaspider import robotsdesk
from seaspider.clock import FakeClock
from seaspider.core.frontier import RobotsFetch
from seaspider.core.robotsanswer import RobotsAnswer
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsReason, RobotsState
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Hop
from seaspider.errors import StoreError
from seaspider.robotsdesk import RobotsDesk
from seaspider.store import FolderStore

BODY = b"User-agent: *\nDisallow: /page\nSitemap: http://a.test/map.xml\n"
ETAG = (b"ETag", b'"v1"')


class Office:
    """A desk with a store, a book and a clock of its own."""

    def __init__(self, folder: Path, last_id: int = 0) -> None:
        self.store = FolderStore(folder)
        self.clock = FakeClock()
        self.policy = RobotsPolicy()
        self.book = RobotsBook(self.policy)
        self.desk = RobotsDesk(self.policy, self.book, self.store, run=3, last_id=last_id, max_redirects=5)

    def fetch(self, host: str = "a.test", cause: RobotsCause = RobotsCause.FIRST) -> RobotsFetch:
        url = normalise(f"http://{host}/robots.txt")
        return RobotsFetch(url.origin, url.host, cause, 1, [Hop(url, ip="192.0.2.7")])

    def known(self, body: bytes = BODY, host: str = "a.test") -> RobotsEntry:
        answer = self.desk.answered(self.fetch(host), RobotsAnswer(200, [ETAG], body), self.clock.wall_ms())
        assert isinstance(answer, RobotsEntry)
        return self.desk.record(answer)

    def path(self, entry: RobotsEntry) -> Path:
        assert entry.sha256 is not None
        return self.store.folder / "bodies" / entry.sha256[:2] / entry.sha256

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.store.folder / "robots.jsonl").read_text().splitlines()]

    def reopened(self) -> Office:
        """The same store, read by another process."""
        self.store.close()
        office = Office(self.store.folder, len(self.rows()))
        for row in self.rows():
            office.book.load(row)
        return office

    def in_force(self, host: str = "a.test") -> RobotsEntry | None:
        return self.book.in_force(f"http://{host}", self.clock.wall_ms())


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "store")


def test_an_answer_is_in_force_only_when_it_is_recorded(office: Office) -> None:
    entry = office.desk.answered(office.fetch(), RobotsAnswer(200, [ETAG], BODY), office.clock.wall_ms())
    assert isinstance(entry, RobotsEntry)
    assert office.in_force() is None
    assert office.path(entry).read_bytes() == BODY
    recorded = office.desk.record(entry)
    assert office.in_force() == recorded
    assert [(row["run"], row["id"], row["sha256"]) for row in office.rows()] == [(3, 1, entry.sha256)]
    assert office.desk.rules(recorded).sitemaps == ("http://a.test/map.xml",)


def test_an_entry_that_cannot_be_recorded_is_not_in_force(office: Office) -> None:
    entry = office.desk.answered(office.fetch(), RobotsAnswer(200, [], BODY), office.clock.wall_ms())
    assert isinstance(entry, RobotsEntry)
    office.store.failed = StoreError("full")
    with pytest.raises(StoreError, match="full"):
        office.desk.record(entry)
    assert office.in_force() is None
    assert office.rows() == []


def test_numbers_go_on_from_the_last_run_and_in_the_order_of_recording(tmp_path: Path) -> None:
    """Two fetches may both be answered before either is recorded."""
    office = Office(tmp_path / "store", last_id=41)
    first = office.desk.failed(office.fetch("a.test"), RobotsReason.TIMEOUT, office.clock.wall_ms())
    second = office.desk.failed(office.fetch("b.test"), RobotsReason.CONNECT, office.clock.wall_ms())
    assert [office.desk.record(second).id, office.desk.record(first).id] == [42, 43]
    assert [(row["id"], row["origin"]) for row in office.rows()] == [(42, "http://b.test"), (43, "http://a.test")]


def test_a_redirect_is_no_entry(office: Office) -> None:
    target = office.desk.answered(office.fetch(), RobotsAnswer(301, [(b"Location", b"/r")]), office.clock.wall_ms())
    assert isinstance(target, Url)
    assert target.text == "http://a.test/r"


@pytest.mark.parametrize(
    "answer",
    [RobotsAnswer(404, [], BODY), RobotsAnswer(503, [], BODY), RobotsAnswer(206, [], BODY)],
    ids=lambda answer: str(answer.status),
)
def test_only_what_is_parsed_is_kept(office: Office, answer: RobotsAnswer) -> None:
    entry = office.desk.answered(office.fetch(), answer, office.clock.wall_ms())
    assert isinstance(entry, RobotsEntry)
    assert list(office.store.folder.glob("bodies/*/*")) == []
    with pytest.raises(ValueError, match="has no rules"):
        office.desk.rules(entry)


def test_rules_are_read_from_the_store_of_an_earlier_run(office: Office) -> None:
    entry = office.known()
    later = office.reopened()
    assert later.in_force() == entry
    assert not later.desk.rules(entry).decide("seaspider", "http://a.test/page").allowed


def test_a_truncated_file_is_read_again_as_it_was(office: Office) -> None:
    """Its last line, cut by the limit, is no rule; the next reader must not take it for one."""
    answer = RobotsAnswer(200, [], b"User-agent: *\nDisallow: /a\nAllow: /a", clipped=True)
    entry = office.desk.answered(office.fetch(), answer, office.clock.wall_ms())
    assert isinstance(entry, RobotsEntry)
    assert entry.truncated
    later_entry = office.desk.record(entry)
    for desk in (office.desk, office.reopened().desk):
        assert not desk.rules(later_entry).decide("seaspider", "http://a.test/a").allowed


# --- lost bytes ---

LOSSES = pytest.mark.parametrize("loss", ["missing", "changed", "shorter", "folder"])


def lose(path: Path, loss: str) -> None:
    path.unlink()
    if loss == "folder":
        path.mkdir()
    elif loss != "missing":
        path.write_bytes(
            b"User-agent: *\nAllow: /page\nSitemap: http://a.test/map.xml \n" if loss == "changed" else b""
        )


@LOSSES
def test_rules_whose_bytes_are_lost_are_not_in_force(
    office: Office, loss: str, caplog: pytest.LogCaptureFixture
) -> None:
    lose(office.path(office.known()), loss)
    later = office.reopened()
    with caplog.at_level(logging.WARNING):
        assert later.in_force() is None
    assert "is missing or changed" in caplog.text
    assert later.book.cause("http://a.test", later.clock.wall_ms()) is RobotsCause.EXPIRED
    assert later.store.failed is None


@LOSSES
def test_lost_bytes_are_not_asked_after(office: Office, loss: str) -> None:
    lose(office.path(office.known()), loss)
    fetch = office.fetch()
    assert office.desk.conditional_headers(fetch, fetch.chain[0].url) == (("If-None-Match", '"v1"'),)  # still in memory
    later = office.reopened()
    assert later.desk.conditional_headers(fetch, fetch.chain[0].url) == ()


@pytest.mark.parametrize("loss", ["missing", "changed", "shorter"])
def test_a_new_answer_puts_lost_bytes_back(office: Office, loss: str) -> None:
    path = office.path(office.known())
    lose(path, loss)
    later = office.reopened()
    assert later.in_force() is None
    entry = later.known()
    assert path.read_bytes() == BODY
    assert later.reopened().in_force() == entry


def test_lost_rules_of_one_origin_do_not_touch_another(office: Office) -> None:
    lose(office.path(office.known()), "missing")
    other = office.known(b"User-agent: *\nDisallow: /\n", "b.test")
    later = office.reopened()
    assert (later.in_force(), later.in_force("b.test")) == (None, other)


def test_states_without_rules_need_no_bytes(office: Office) -> None:
    office.known()
    failed = office.desk.record(
        office.desk.failed(office.fetch(cause=RobotsCause.EXPIRED), RobotsReason.TIMEOUT, office.clock.wall_ms())
    )
    for path in office.store.folder.glob("bodies/*/*"):
        path.unlink()
    later = office.reopened()
    assert later.in_force() == failed
    assert failed.state is RobotsState.UNREACHABLE


def test_a_store_that_loses_bytes_while_they_are_waited_for_is_closed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robotsdesk, "RULES_KEPT", 1)
    entry = office.known()
    office.known(b"", "b.test")  # takes the place of a.test's in memory
    lose(office.path(entry), "missing")
    with pytest.raises(StoreError, match=f"the robots.txt of http://a.test, bodies/{entry.sha256}, is gone"):
        office.desk.rules(entry)
    with pytest.raises(StoreError, match="is gone"):
        office.known()
