"""What a user sees of a fleet: a table that is painted over on a terminal, lines elsewhere, a table at the end."""

import io
import re

import pytest

from seaspider.fleet import report
from seaspider.fleet.plan import Part, Plan
from seaspider.fleet.roster import Roster, Shard, State
from seaspider.fleet.screen import Screen

TOKEN = re.compile(r"\x1b\[(\d*)([AKJ])|\n|[^\x1b\n]+")


class Terminal(io.StringIO):
    """Of 80 columns and 24 rows: its size cannot be asked for."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> list[str]:
        """The lines that stand there."""
        lines, row, column = [""], 0, 0
        for token in TOKEN.finditer(self.getvalue()):
            number, letter = token[1], token[2]
            if letter == "A":
                row, column = row - int(number), 0
                assert row >= 0
            elif letter == "K":
                lines[row] = lines[row][:column]
            elif letter == "J":
                lines[row:] = [lines[row][:column]]
            elif token[0] == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            else:
                lines[row] = lines[row][:column] + token[0] + lines[row][column + len(token[0]) :]
                column += len(token[0])
                assert column < 80
        assert lines[-1] == ""
        return lines[:-1]


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def roster() -> Roster:
    return Roster(Shard(number, 10 * (number + 1), number) for number in range(3))


def test_a_table_is_painted_over_on_a_terminal(roster: Roster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream, clock = Terminal(), Clock()
    screen = Screen(stream, roster, clock)
    first, second = roster.next(clock()), roster.next(clock())
    assert first is not None
    assert second is not None
    screen()
    assert stream.shown == [
        "1 waiting, 2 running; 0 requests, 0 pairs too near",
        "  0001         20 lines         0 requests       0 s",
        "  0002         30 lines         0 requests       0 s",
    ]
    clock.now_s += 0.4
    before = stream.getvalue()
    screen()
    assert stream.getvalue() == before
    clock.now_s += 4
    first.requests = 7
    roster.ended(first, -9, clock())
    roster.next(clock())
    screen()
    assert stream.shown == [
        "1 waiting, 2 running; 7 requests, 0 pairs too near",
        "  0001         20 lines         0 requests       4 s",
        "  0002         30 lines         7 requests       0 s  begun 2 times",
    ]
    roster.ended(first, 0, clock())
    screen()
    assert stream.shown == [
        "shard 0002: done (exit code 0, 7 requests)",
        "1 waiting, 1 running, 1 done; 7 requests, 0 pairs too near",
        "  0001         20 lines         0 requests       4 s",
    ]
    screen.clear()
    assert stream.shown == ["shard 0002: done (exit code 0, 7 requests)"]


def test_many_shards_leave_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    roster = Roster(Shard(number, 10, 1) for number in range(100))
    while roster.next(0.0) is not None:
        pass
    stream = Terminal()
    Screen(stream, roster, Clock())()
    assert len(stream.shown) == 23
    assert stream.shown[-1] == "  and 79 more"
    assert report.live(roster, 0.0, 1)[1:] == ["  and 100 more"]


def test_lines_elsewhere(roster: Roster) -> None:
    stream, clock = io.StringIO(), Clock()
    screen = Screen(stream, roster, clock)
    shard = roster.next(clock())
    assert shard is not None
    for _ in range(3):
        screen()
    roster.ended(shard, None, clock())
    screen()
    clock.now_s += 60
    screen()
    assert stream.getvalue().splitlines() == [
        "2 waiting, 1 running; 0 requests, 0 pairs too near",
        "shard 0002: waiting, is begun again (its worker died, 0 requests)",
        "3 waiting; 0 requests, 0 pairs too near",
    ]


def plan(shards: int) -> Plan:
    part = Part(10, 1, "a" * 64, "b" * 64)
    return Plan("urls.txt", "c" * 64, {"lines": 10 * shards}, shards, "rule", {}, None, (part,) * shards)


def test_the_table_at_the_end(roster: Roster) -> None:
    for code in (0, 3, 74):
        shard = roster.next(0.0)
        assert shard is not None
        shard.requests, shard.said = 12, "disk full" if code == 74 else ""
        roster.ended(shard, code, 0.0)
    assert report.as_text(roster, plan(3), "store/logs").splitlines() == [
        "shard state            lines    hosts  requests too near starts exit",
        "0000  failed              10        0        12        0      1   74",
        "0001  unfinished          20        1        12        0      1    3",
        "0002  done                30        2        12        0      1    0",
        "1 done, 1 unfinished, 1 failed; 36 requests, 0 pairs too near",
        "shard 0000: disk full",
        "What failed is told in store/logs.",
        "Not all is final: run it again to go on; what is done is not asked again.",
    ]


def test_of_many_shards_those_that_are_done_are_left_out() -> None:
    roster = Roster(Shard(number, 10, 1, State.DONE) for number in range(100))
    assert report.as_text(roster, plan(100), "x").splitlines() == [
        "100 done; 0 requests, 0 pairs too near",
        "All 1000 lines of the queue are final.",
    ]
