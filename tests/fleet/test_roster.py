"""What the end of a shard's crawl means, and which shard comes next."""

import pytest

from seaspider.fleet.roster import HELD_S, MOST_DEATHS, MOST_HELD, Roster, Shard, State

ENDS = {
    0: (State.DONE, 0),
    1: (State.FAILED, 1),
    2: (State.FAILED, 2),
    3: (State.UNFINISHED, 3),
    4: (State.GATE, 4),
    74: (State.FAILED, 74),
    75: (State.WAITING, 130),
    130: (State.WAITING, 130),
    -9: (State.WAITING, 130),
    None: (State.WAITING, 130),
    77: (State.FAILED, 1),
}
STOPPED_ENDS = {
    0: (State.DONE, 0),
    3: (State.UNFINISHED, 3),
    75: (State.HELD, 75),
    **dict.fromkeys((130, -2, -9, None), (State.STOPPED, 130)),
}


def begun(*lines: int) -> tuple[Roster, Shard]:
    roster = Roster(Shard(number, each, 1) for number, each in enumerate(lines))
    shard = roster.next(5.0)
    assert shard is not None
    return roster, shard


def test_the_largest_is_first_and_none_twice() -> None:
    roster = Roster(Shard(number, lines, 1) for number, lines in enumerate([3, 9, 0, 9, 4]))
    order = [shard.number for shard in iter(lambda: roster.next(0.0), None)]
    assert order == [1, 3, 4, 0, 2]
    assert roster.counted(State.RUNNING) == 5


@pytest.mark.parametrize(("code", "expected"), ENDS.items(), ids=map(str, ENDS))
def test_an_end(code: int | None, expected: tuple[State, int]) -> None:
    roster, shard = begun(5)
    roster.ended(shard, code, 7.0)
    # The exit code is that of a fleet which is stopped now.
    assert (shard.state, roster.exit_code) == expected
    assert shard.code == code
    assert roster.stopped is (code == 2)


@pytest.mark.parametrize(("code", "expected"), STOPPED_ENDS.items(), ids=map(str, STOPPED_ENDS))
def test_an_end_after_a_stop(code: int | None, expected: tuple[State, int]) -> None:
    roster, shard = begun(5)
    roster.stopped = True
    roster.ended(shard, code, 7.0)
    assert (shard.state, roster.exit_code) == expected
    assert roster.over
    assert roster.next(8.0) is None


def test_what_died_is_begun_again_a_number_of_times() -> None:
    roster, shard = begun(5)
    for _ in range(MOST_DEATHS):
        roster.ended(shard, None, 7.0)
        assert not roster.over
        assert roster.next(7.0) is shard
    roster.ended(shard, -9, 7.0)
    assert (shard.state, shard.starts, roster.over, roster.exit_code) == (State.FAILED, MOST_DEATHS + 1, True, 1)


def test_what_another_holds_is_begun_again_later() -> None:
    roster, shard = begun(5)
    for number in range(1, MOST_HELD + 1):
        roster.ended(shard, 75, 100.0 * number)
        assert roster.next(100.0 * number + HELD_S - 0.1) is None
        assert roster.next(100.0 * number + HELD_S) is shard
    roster.ended(shard, 75, 1000.0)
    assert (shard.state, roster.over, roster.exit_code) == (State.HELD, True, 75)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((0, 0, 0), 0),
        ((0, 3, 0), 3),
        ((3, 4, 0), 4),
        ((3, 74, 1), 74),
        ((1, 3, 4), 1),
        ((74, 2, 1), 2),
        ((0, 9, 3), 1),
    ],
)
def test_a_fleet_ends_with_the_worst(codes: tuple[int, ...], expected: int) -> None:
    roster = Roster(Shard(number, 1, 1) for number in range(3))
    for shard, code in zip(roster.shards, codes, strict=True):
        assert roster.next(0.0) is shard or roster.stopped
        roster.ended(shard, code, 0.0)
    assert roster.exit_code == expected
