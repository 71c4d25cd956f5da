"""requests.jsonl: what is written out by hand is what records.to_line makes of the same record, octet for octet."""

import json
from pathlib import Path

import pytest

from seaspider.clock import FakeClock, Moment
from seaspider.core.politeness import Pause, PauseBasis
from seaspider.core.records import Reason, to_line
from seaspider.core.urls import normalise
from seaspider.core.visits import Hop, Visit
from seaspider.permits import Asked, Clearance
from seaspider.requestlog import RequestLog
from seaspider.store import FolderStore
from seaspider.tally import Tally

URL = normalise("http://a.test/\u00fc?q=%22#f")
ODD = ((b"X-\xff", b'"\\\x7f\x1b\xe9'), (b"Location", b"http://u:p@b.test/"), (b"location", b"/next"), (b"Date", b""))


def written(folder: Path, visit: int | None, asked: Asked, pause: Pause, sent_ns: int | None) -> list[bytes]:
    store, clock = FolderStore(folder, durable=False), FakeClock()
    log = RequestLog(store, clock, 3, Tally())
    hop = Hop(URL)
    of = None if visit is None else Visit(URL, number=visit)
    number = log.claim(Clearance(hop, 10, of), "127.0.0.1", ["127.0.0.1", "::1"], 17)
    log.settle(number, asked, pause, sent_ns, Moment.of(clock))
    store.close()
    return (folder / "requests.jsonl").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("visit", "asked", "pause", "sent_ns"),
    [
        pytest.param(7, Asked(200, ODD, wire_bytes=9), Pause(1, PauseBasis.INTERVAL), 18, id="an answer"),
        pytest.param(None, Asked(error=Reason.TIMEOUT), Pause(2 * 10**20, PauseBasis.BACKOFF), None, id="none"),
    ],
)
def test_the_lines_are_those_of_to_line(
    tmp_path: Path, visit: int | None, asked: Asked, pause: Pause, sent_ns: int | None
) -> None:
    lines = written(tmp_path / "store", visit, asked, pause, sent_ns)
    records = [json.loads(line) for line in lines]
    assert [to_line({key: value for key, value in each.items() if key != "v"}) for each in records] == lines
    assert [(each["v"], each["event"], each["run"], each["n"]) for each in records] == [
        (1, "claim", 3, 1),
        (1, "settle", 3, 1),
    ]
    assert (records[0]["visit"], records[0]["addresses"]) == (visit, ["127.0.0.1", "::1"])
    assert (records[1]["status"], records[1]["error"], records[1]["sent_ns"]) == (asked.status, asked.error, sent_ns)


def test_user_information_is_hidden_in_a_location_and_nothing_else_changes(tmp_path: Path) -> None:
    _, settle = written(tmp_path / "store", 1, Asked(302, ODD), Pause(0, PauseBasis.INTERVAL), 1)
    assert json.loads(settle)["headers"] == [
        ["X-\xff", '"\\\x7f\x1b\xe9'],
        ["Location", "http://***@b.test/"],
        ["location", "/next"],
        ["Date", ""],
    ]
