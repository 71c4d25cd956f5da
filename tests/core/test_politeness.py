"""Claim and settle: what they answer, and that no use of a key is ever too near the one before."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count, pairwise

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from seaspider.core.politeness import (
    Busy,
    Claimed,
    ClaimTable,
    KeyState,
    Lost,
    Pause,
    PauseBasis,
    Settled,
    Token,
    Wait,
    pause,
)

T0 = 123_456_789_012_345
S = 1_000_000_000
HOLD = 30 * S
IP, A, B = "ip:127.0.0.1", "host:a.test", "host:b.test"

# No examples on disk, no random seed: the same examples every time.
QUICK = settings(database=None, derandomize=True, deadline=None, max_examples=300)


def granted(answer: object) -> Claimed:
    assert isinstance(answer, Claimed), answer
    return answer


def claim(table: ClaimTable, now_ns: int, **pauses_s: int) -> Claimed | Wait | Busy:
    keys = {"ip": IP, "a": A, "b": B}
    return table.claim({keys[key]: seconds * S for key, seconds in pauses_s.items()}, "h", now_ns, HOLD)


# Claim


def test_a_fresh_key_is_free() -> None:
    assert claim(ClaimTable(), T0, ip=2, a=5) == Claimed(Token("h:1"), T0, T0 + HOLD)


def test_a_held_key_is_busy_until_hold_and_the_pause_of_its_claim_are_over() -> None:
    table = ClaimTable()
    claim(table, T0, ip=2, a=5)
    assert claim(table, T0, ip=1) == Busy(T0 + HOLD + 2 * S, IP)
    assert claim(table, T0 + 1, a=1) == Busy(T0 + HOLD + 5 * S, A)
    assert claim(table, T0 + 1, ip=1, a=1) == Busy(T0 + HOLD + 5 * S, A)


def test_a_dead_holders_keys_free_themselves_each_after_its_own_pause() -> None:
    table = ClaimTable()
    claim(table, T0, ip=2, a=5)
    assert claim(table, T0 + HOLD + 2 * S - 1, ip=1) == Busy(T0 + HOLD + 2 * S, IP)
    granted(claim(table, T0 + HOLD + 2 * S, ip=1))
    assert claim(table, T0 + HOLD + 5 * S - 1, a=1) == Busy(T0 + HOLD + 5 * S, A)
    granted(claim(table, T0 + HOLD + 5 * S, a=1))


def test_after_a_dead_holder_the_longer_of_its_pause_and_the_next_ones_is_kept() -> None:
    """It may have died with a crawl-delay just learned: the next one, who knows it, does not profit from that."""
    table = ClaimTable()
    claim(table, T0, a=2)
    assert claim(table, T0 + 1, a=60) == Busy(T0 + HOLD + 60 * S, A)
    assert claim(table, T0 + HOLD + 2 * S, a=60) == Wait(T0 + HOLD + 60 * S, A)
    granted(claim(table, T0 + HOLD + 60 * S, a=60))


def test_after_a_settle_its_pause_is_kept_and_no_other() -> None:
    table = ClaimTable()
    table.settle(granted(claim(table, T0, a=2)).token, T0, {A: 2 * S})
    granted(claim(table, T0 + 2 * S, a=60))


def test_a_claim_takes_all_keys_or_none() -> None:
    table = ClaimTable()
    claim(table, T0, ip=2)
    assert claim(table, T0, a=2, ip=2) == Busy(T0 + HOLD + 2 * S, IP)
    granted(claim(table, T0, a=2))


def test_a_held_key_is_reported_before_a_resting_one_and_then_the_latest() -> None:
    table = ClaimTable()
    table.settle(granted(claim(table, T0, a=1)).token, T0, {A: 900 * S})
    table.settle(granted(claim(table, T0, b=1)).token, T0, {B: 800 * S})
    assert claim(table, T0, b=1, a=1) == Wait(T0 + 900 * S, A)
    claim(table, T0, ip=1)
    assert claim(table, T0, ip=1, b=1, a=1) == Busy(T0 + HOLD + S, IP)


def test_a_hold_or_pause_of_zero_is_one() -> None:
    table = ClaimTable()
    first = granted(table.claim({A: 0}, "h", T0, 0))
    assert first.hold_until_ns == T0
    granted(table.claim({A: 0}, "h", T0, 0))
    assert table.settle(first.token, T0, {A: 0}) == Lost((A,))


@pytest.mark.parametrize(("pauses_ns", "hold_ns"), [({}, 1), ({A: -1}, 1), ({A: 1, B: -1}, 1), ({A: 1}, -1)])
def test_a_claim_that_makes_no_sense_is_an_error(pauses_ns: dict[str, int], hold_ns: int) -> None:
    table = ClaimTable()
    with pytest.raises(ValueError, match="a claim needs"):
        table.claim(pauses_ns, "h", T0, hold_ns)
    assert len(table) == 0


# Settle


def test_a_settled_key_rests_from_the_settle() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, ip=2, a=2)).token
    assert table.settle(token, T0 + 3 * S, {IP: 2 * S, A: 60 * S}) == Settled()
    assert claim(table, T0 + 5 * S - 1, ip=1) == Wait(T0 + 5 * S, IP)
    assert claim(table, T0 + 5 * S, ip=1, a=1) == Wait(T0 + 63 * S, A)
    granted(claim(table, T0 + 5 * S, ip=1))
    granted(claim(table, T0 + 63 * S, a=1))


def test_a_key_left_out_stays_held() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, ip=2, a=2)).token
    assert table.settle(token, T0, {IP: 0}) == Settled()
    assert claim(table, T0, a=1) == Busy(T0 + HOLD + 2 * S, A)
    assert table.settle(token, T0, {A: 0}) == Settled()
    granted(claim(table, T0, ip=1, a=1))


def test_a_second_settle_is_lost_and_only_lengthens() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, a=2)).token
    table.settle(token, T0, {A: 9 * S})
    assert table.settle(token, T0 + S, {A: 2 * S}) == Lost((A,))
    assert claim(table, T0 + S, a=2) == Wait(T0 + 9 * S, A)
    assert table.settle(token, T0 + S, {A: 20 * S}) == Lost((A,))
    assert claim(table, T0 + S, a=2) == Wait(T0 + 21 * S, A)


def test_a_settle_inside_the_claims_own_pause_is_in_time() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, a=5)).token
    late_ns = T0 + HOLD + 5 * S - 1
    assert table.settle(token, late_ns, {A: 2 * S}) == Settled()
    assert claim(table, late_ns + 1, a=5) == Wait(late_ns + 2 * S, A)


def test_a_settle_after_it_is_lost_even_if_nobody_took_the_key() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, a=5)).token
    late_ns = T0 + HOLD + 5 * S
    assert table.settle(token, late_ns, {A: 2 * S}) == Lost((A,))
    assert claim(table, late_ns, a=5) == Wait(late_ns + 2 * S, A)
    granted(claim(table, late_ns + 2 * S, a=5))


def test_a_late_settle_takes_nothing_from_the_present_holder() -> None:
    table = ClaimTable()
    late = granted(claim(table, T0, a=5)).token
    now_ns = T0 + HOLD + 5 * S
    present = granted(claim(table, now_ns, a=5)).token
    assert table.settle(late, now_ns + S, {A: 7 * S}) == Lost((A,))
    assert claim(table, now_ns + S, a=5) == Busy(now_ns + HOLD + 5 * S, A)
    # The request of the late one may have gone out just now, so the rest it asks for holds beside the present one's.
    assert table.settle(present, now_ns + 2 * S, {A: 2 * S}) == Settled()
    assert claim(table, now_ns + 4 * S, a=5) == Wait(now_ns + 8 * S, A)


def test_an_unknown_token_frees_nothing() -> None:
    table = ClaimTable()
    claim(table, T0, a=2)
    assert table.settle(Token("x:1"), T0, {A: 0, B: 3 * S}) == Lost((A, B))
    assert claim(table, T0, a=2) == Busy(T0 + HOLD + 2 * S, A)
    assert claim(table, T0, b=2) == Wait(T0 + 3 * S, B)


def test_a_negative_pause_changes_nothing() -> None:
    table = ClaimTable()
    token = granted(claim(table, T0, ip=2, a=2)).token
    with pytest.raises(ValueError, match="a settle needs"):
        table.settle(token, T0, {IP: 1, A: -1})
    assert claim(table, T0, ip=2) == Busy(T0 + HOLD + 2 * S, IP)


def test_free_keys_are_forgotten_and_others_kept() -> None:
    table, now_ns = ClaimTable(), T0
    held = granted(claim(table, T0, a=10**6))
    table.settle(granted(claim(table, T0, b=2)).token, T0, {B: 10**6 * S})
    for number in range(10_000):
        key = f"host:{number}.test"
        answer = granted(table.claim({key: 2 * S}, "h", now_ns, HOLD))
        table.settle(answer.token, now_ns + S, {key: 2 * S})
        now_ns += S
        assert len(table) < 150
    assert claim(table, now_ns, a=2) == Busy(held.hold_until_ns + 10**6 * S, A)
    assert claim(table, now_ns, b=2) == Wait(T0 + 10**6 * S, B)


# Two accounts of one key

JOINED = {
    "a rest and a longer one": (KeyState(5, pause_ns=2), KeyState(9, pause_ns=3), KeyState(9, pause_ns=3)),
    "a rest and a later holder": (
        KeyState(5, pause_ns=2),
        KeyState(5, 9, Token("t"), 3),
        KeyState(5, 9, Token("t"), 3),
    ),
    "a holder within a rest": (KeyState(9, pause_ns=2), KeyState(1, 8, Token("t"), 3), KeyState(9, pause_ns=2)),
    "a holder beyond a rest": (KeyState(7, pause_ns=2), KeyState(1, 8, Token("t"), 3), KeyState(7, 8, Token("t"), 3)),
}


@pytest.mark.parametrize(("one", "other", "both"), JOINED.values(), ids=JOINED)
def test_two_accounts_of_one_key_are_both_kept(one: KeyState, other: KeyState, both: KeyState) -> None:
    assert one.joined(other) == other.joined(one) == both
    assert both.free_ns() >= max(one.free_ns(), other.free_ns())


# Any interleaving


@dataclass
class Use:
    """One use of a key as the test keeps it: from its claim to its settle, or to the end of its hold."""

    claimed_ns: int
    hold_ns: int
    pause_ns: int
    settled_ns: int | None = None

    @property
    def over_ns(self) -> int:
        return self.claimed_ns + self.hold_ns if self.settled_ns is None else self.settled_ns


class AnyInterleaving(RuleBasedStateMachine):
    """Claims, settles (late, repeated and foreign ones too) and deaths at increasing times, beside a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.table = ClaimTable()
        self.now_ns = T0
        self.open: list[tuple[Token, dict[str, Use]]] = []
        self.closed: list[tuple[Token, dict[str, Use]]] = []
        self.uses: dict[str, list[Use]] = {key: [] for key in (IP, A, B)}
        self.floors: dict[str, int] = dict.fromkeys((IP, A, B), 0)

    def free_ns(self, key: str, pause_ns: int) -> int:
        """A use that is over without a settle is followed by its own pause or the next one's, whichever is longer."""
        last = self.uses[key][-1:]
        pauses = (use.pause_ns if use.settled_ns is not None else max(use.pause_ns, pause_ns) for use in last)
        return max([self.floors[key]] + [use.over_ns + pause for use, pause in zip(last, pauses, strict=True)])

    @rule(step=st.integers(1, 12))
    def time_passes(self, step: int) -> None:
        self.now_ns += step

    @rule(pauses=st.dictionaries(st.sampled_from((IP, A, B)), st.integers(0, 9), min_size=1), hold=st.integers(0, 9))
    def claims(self, pauses: dict[str, int], hold: int) -> None:
        answer = self.table.claim(pauses, "h", self.now_ns, hold)
        blocked = {key: free for key, ns in pauses.items() if (free := self.free_ns(key, ns)) > self.now_ns}
        if blocked:
            assert isinstance(answer, Wait | Busy)
            assert answer.until_ns == blocked[answer.key]
            held = {key for key in blocked if any(self.owner(key))}
            assert isinstance(answer, Busy) == bool(held)
            assert answer.until_ns == max(blocked[key] for key in (held or blocked))
            return
        uses = {key: Use(self.now_ns, hold, pause_ns) for key, pause_ns in pauses.items()}
        self.open.append((granted(answer).token, uses))
        for key, use in uses.items():
            self.uses[key].append(use)

    def owner(self, key: str) -> list[Token]:
        return [
            token
            for token, uses in self.open
            if key in uses
            and uses[key].settled_ns is None
            and self.now_ns < uses[key].claimed_ns + uses[key].hold_ns + uses[key].pause_ns
        ]

    @precondition(lambda self: self.open)
    @rule(data=st.data(), pause_ns=st.integers(0, 9))
    def settles(self, data: st.DataObject, pause_ns: int) -> None:
        index = data.draw(st.integers(0, len(self.open) - 1))
        token, uses = self.open[index]
        lost = tuple(sorted(key for key in uses if token not in self.owner(key)))
        self.open.pop(index)
        self.closed.append((token, uses))
        answer = self.table.settle(token, self.now_ns, dict.fromkeys(uses, pause_ns))
        assert answer == (Lost(lost) if lost else Settled())
        for key, use in uses.items():
            if key in lost:
                self.floors[key] = max(self.floors[key], self.now_ns + pause_ns)
            else:
                use.settled_ns, use.pause_ns = self.now_ns, pause_ns

    @precondition(lambda self: self.closed)
    @rule(data=st.data(), pause_ns=st.integers(0, 9))
    def settles_again(self, data: st.DataObject, pause_ns: int) -> None:
        token, uses = data.draw(st.sampled_from(self.closed))
        assert self.table.settle(token, self.now_ns, dict.fromkeys(uses, pause_ns)) == Lost(tuple(sorted(uses)))
        for key in uses:
            self.floors[key] = max(self.floors[key], self.now_ns + pause_ns)

    @precondition(lambda self: self.open)
    @rule()
    def dies(self) -> None:
        """The oldest holder is never heard of again; its keys go by hold and pause."""
        token, uses = self.open[0]
        if not any(token in self.owner(key) for key in uses):
            self.open.pop(0)

    @invariant()
    def one_holder_and_a_pause_between_uses(self) -> None:
        for key, uses in self.uses.items():
            assert len(self.owner(key)) <= 1
            for before, after in pairwise(uses):
                assert after.claimed_ns >= before.over_ns + before.pause_ns


@pytest.mark.parametrize("number", [90, pytest.param(900, marks=pytest.mark.soak)])
def test_any_interleaving(number: int) -> None:
    run_state_machine_as_test(AnyInterleaving, settings=settings(QUICK, max_examples=number, stateful_step_count=40))


# On the wire, and the twin without settle

PAUSE = 20


class StartSlots:
    """The twin: a start is reserved a pause after the start before, and nobody says when a request ended."""

    def __init__(self) -> None:
        self.free: dict[str, int] = {}

    def claim(self, pauses_ns: Mapping[str, int], holder: str, now_ns: int, hold_ns: int) -> Claimed | Wait | Busy:
        key, pause_ns = next(iter(pauses_ns.items()))
        start = self.free.get(key, 0)
        if start > now_ns:
            return Wait(start, key)
        self.free[key] = now_ns + pause_ns
        return Claimed(Token(holder), now_ns, now_ns + hold_ns)

    def settle(self, token: Token, now_ns: int, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        return Settled()


Process = tuple[int, int, int]
"""When a process asks, how long it then takes until its request arrives, and how long the answer takes."""


def arrivals(table: ClaimTable | StartSlots, processes: list[Process]) -> list[int]:
    """When the server sees the requests. One event at a time, in order of time and then of asking."""
    seen: list[int] = []
    numbers = count()
    events: list[tuple[int, int, Callable[[int], None]]] = []

    def at(time: int, event: Callable[[int], None]) -> None:
        heapq.heappush(events, (time, next(numbers), event))

    def start(asked: int, delay: int, service: int) -> None:
        def ask(now: int) -> None:
            answer = table.claim({A: PAUSE}, "h", now, delay + service + 1)
            if isinstance(answer, Claimed):
                at(now + delay, seen.append)
                at(now + delay + service, lambda end: settle(answer.token, end))
            else:
                at(answer.until_ns if isinstance(answer, Wait) else now + 1, ask)

        at(asked, ask)

    def settle(token: Token, now: int) -> None:
        table.settle(token, now, {A: PAUSE})

    for process in processes:
        start(*process)
    while events:
        now, _, event = heapq.heappop(events)
        event(now)
    return seen


def too_near(table: ClaimTable | StartSlots, processes: list[Process]) -> int:
    return sum(later - earlier < PAUSE for earlier, later in pairwise(sorted(arrivals(table, processes))))


PROCESSES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15), st.integers(0, 15)), min_size=2, max_size=6)


@QUICK
@given(PROCESSES)
def test_the_server_never_sees_two_requests_too_near(processes: list[Process]) -> None:
    table = ClaimTable()
    assert too_near(table, processes) == 0


@QUICK
@given(PROCESSES)
def test_every_claimer_gets_its_turn(processes: list[Process]) -> None:
    assert len(arrivals(ClaimTable(), processes)) == len(processes)


def test_without_settle_a_process_that_is_late_to_send_brings_two_too_near() -> None:
    processes = [(0, 15, 1), (5, 0, 1)]
    assert arrivals(StartSlots(), processes) == [15, 20]
    assert arrivals(ClaimTable(), processes) == [15, 36]
    assert find(PROCESSES, lambda found: too_near(StartSlots(), found) > 0, settings=QUICK)
    with pytest.raises(NoSuchExample):
        find(PROCESSES, lambda found: too_near(ClaimTable(), found) > 0, settings=QUICK)


# The pause in force

PAUSES: dict[str, tuple[tuple[int, int | None, int | None, int | None], int, str]] = {
    "interval-alone": ((2 * S, None, None, None), 2 * S, "interval"),
    "zero": ((0, 0, 0, 0), 0, "interval"),
    "crawl-delay": ((2 * S, 5 * S, None, None), 5 * S, "crawl-delay"),
    "backoff": ((2 * S, None, 5 * S, None), 5 * S, "backoff"),
    "retry-after": ((2 * S, None, None, 5 * S), 5 * S, "retry-after"),
    "interval-longest": ((9 * S, 5 * S, 6 * S, 7 * S), 9 * S, "interval"),
    "crawl-delay-longest": ((2 * S, 9 * S, 6 * S, 7 * S), 9 * S, "crawl-delay"),
    "backoff-longest": ((2 * S, 5 * S, 9 * S, 7 * S), 9 * S, "backoff"),
    "retry-after-longest": ((2 * S, 5 * S, 6 * S, 9 * S), 9 * S, "retry-after"),
    "by-a-nanosecond": ((2 * S, 2 * S + 1, 2 * S, 2 * S), 2 * S + 1, "crawl-delay"),
    "tie-of-all": ((2 * S, 2 * S, 2 * S, 2 * S), 2 * S, "interval"),
    "tie-crawl-delay-backoff": ((1 * S, 2 * S, 2 * S, 2 * S), 2 * S, "crawl-delay"),
    "tie-backoff-retry-after": ((1 * S, None, 2 * S, 2 * S), 2 * S, "backoff"),
}


@pytest.mark.parametrize(("candidates", "ns", "basis"), PAUSES.values(), ids=PAUSES)
def test_pause(candidates: tuple[int, int | None, int | None, int | None], ns: int, basis: str) -> None:
    assert pause(*candidates) == Pause(ns, PauseBasis(basis))


def test_a_pause_is_recorded_in_seconds() -> None:
    assert Pause(2_500_000_000, PauseBasis.BACKOFF).seconds == 2.5
    assert [str(basis) for basis in PauseBasis] == ["interval", "crawl-delay", "backoff", "retry-after"]
