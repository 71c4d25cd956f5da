"""What a ledger that processes share does, each case with a file and with a Redis server, by the real clocks.

No tolerance where a pause must be kept.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seaspider.clock import SystemClock
from seaspider.core.leases import LOST, Lease, Taken
from seaspider.core.politeness import Claimed, Lost, Settled, Token
from seaspider.ledger import LeaseTaken
from seaspider.redisledger import RedisLedger
from seaspider.sharedledger import SharedLedger
from seaspider.sqliteledger import SqliteLedger
from tests import eventloop
from tests.ledgers import IP, A, B
from tests.redisservers import RedisProcess

MS = 1_000_000
HOLD = 200 * MS
PAUSE = 100 * MS
LATE = 1000 * MS
"""How late a free key may be had on a busy machine."""

CLOCK = SystemClock()
Make = Callable[..., SharedLedger]


@pytest.fixture(params=["file", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """`make(lease=...)` is another process's view of one ledger that knows no key."""
    with ExitStack() as stack:
        if request.param == "redis":
            server = stack.enter_context(RedisProcess(tmp_path))
            server.began(ago_s=3600)

        def one(**options: Any) -> SharedLedger:
            if request.param == "file":
                ledger: SharedLedger = SqliteLedger(tmp_path / "ledger", CLOCK, **options)
            else:
                ledger = RedisLedger(server.place, CLOCK, **options)
            stack.callback(lambda: eventloop.run(ledger.close()))
            return ledger

        yield one


def claim(ledger: SharedLedger, *keys: str, pause_ns: int = PAUSE, hold_ns: int = HOLD) -> Claimed:
    return eventloop.run(ledger.claim(dict.fromkeys(keys, pause_ns), hold_ns))


def settle(ledger: SharedLedger, token: Token, *keys: str, pause_ns: int = PAUSE) -> Settled | Lost:
    return eventloop.run(ledger.settle(token, dict.fromkeys(keys, pause_ns)))


# --- claim and settle: what one did, and what another one's claim gets then ---


def _nothing(one: SharedLedger) -> None:
    pass


def _settled(one: SharedLedger) -> None:
    settle(one, claim(one, A, IP).token, A, IP, pause_ns=300 * MS)


def _dead(one: SharedLedger) -> None:
    claim(one, A, IP)


def _half_settled(one: SharedLedger) -> None:
    settle(one, claim(one, A, IP).token, IP, pause_ns=0)


def _settled_twice(one: SharedLedger) -> None:
    token = claim(one, A).token
    settle(one, token, A, pause_ns=0)
    assert settle(one, token, A, pause_ns=300 * MS) == Lost((A,))


def _settled_by_nobody(one: SharedLedger) -> None:
    claim(one, A)
    assert settle(one, Token("nobody:1"), A, B, pause_ns=250 * MS) == Lost((A, B))


def _settled_late(one: SharedLedger) -> None:
    token = claim(one, A, hold_ns=0, pause_ns=0).token
    assert settle(one, token, A, pause_ns=300 * MS) == Lost((A,))


def _with_a_long_hold(one: SharedLedger) -> None:
    claim(one, A, hold_ns=400 * MS)


def _with_a_pause_beyond_all_numbers(one: SharedLedger) -> None:
    settle(one, claim(one, B).token, B, pause_ns=10**30)


# What happened; the keys then asked for, with the claimer's pause; from when it must wait, and how long.
CASES: dict[str, tuple[Callable[[SharedLedger], None], tuple[str, ...], int, str, int]] = {
    "free": (_nothing, (A, IP), PAUSE, "after", 0),
    "settled": (_settled, (A,), PAUSE, "before", 300 * MS),
    "settled, asked for with another": (_settled, (A, B), PAUSE, "before", 300 * MS),
    "settled, another key": (_settled, (B,), PAUSE, "after", 0),
    "a dead holder": (_dead, (IP,), PAUSE, "before", HOLD + PAUSE),
    "a dead holder, a short pause": (_dead, (IP,), 0, "before", HOLD + PAUSE),
    "a dead holder, a longer pause": (_dead, (IP,), 400 * MS, "before", HOLD + 400 * MS),
    "a dead holder's long hold": (_with_a_long_hold, (A,), PAUSE, "before", 400 * MS + PAUSE),
    "half settled, that half": (_half_settled, (IP,), PAUSE, "after", 0),
    "half settled, the other": (_half_settled, (A,), PAUSE, "before", HOLD + PAUSE),
    "settled twice": (_settled_twice, (A,), PAUSE, "before", 300 * MS),
    "settled by nobody, held": (_settled_by_nobody, (A,), PAUSE, "before", HOLD + PAUSE),
    "settled by nobody, free": (_settled_by_nobody, (B,), PAUSE, "before", 250 * MS),
    "settled late": (_settled_late, (A,), PAUSE, "before", 300 * MS),
    "a pause beyond all numbers, another key": (_with_a_pause_beyond_all_numbers, (A,), PAUSE, "after", 0),
}


@pytest.mark.parametrize(("happened", "keys", "pause_ns", "since", "wait_ns"), CASES.values(), ids=CASES)
def test_when_another_has_the_keys(
    make: Make, happened: Callable[[SharedLedger], None], keys: tuple[str, ...], pause_ns: int, since: str, wait_ns: int
) -> None:
    one, other = make(), make()
    before_ns = CLOCK.boot_ns()
    happened(one)
    after_ns = CLOCK.boot_ns()
    claimed = claim(other, *keys, pause_ns=pause_ns)
    assert claimed.claimed_ns >= (before_ns if since == "before" else after_ns) + wait_ns
    assert claimed.claimed_ns <= after_ns + wait_ns + LATE
    assert claimed.hold_until_ns <= claimed.claimed_ns + HOLD


def test_a_claim_that_waits_takes_nothing(make: Make) -> None:
    one, other, third = make(), make(), make()
    settle(one, claim(one, A).token, A, pause_ns=600 * MS)

    async def main() -> list[str]:
        order = []

        async def ask(ledger: SharedLedger, name: str, *keys: str) -> None:
            await ledger.claim(dict.fromkeys(keys, 0), 0)
            order.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(ask(other, "both", A, IP))
            await CLOCK.sleep(0.1)
            group.create_task(ask(third, "one", IP))
        return order

    assert eventloop.run(main()) == ["one", "both"]


@pytest.mark.parametrize(
    ("pauses_ns", "hold_ns"), [({}, HOLD), ({A: -1}, HOLD), ({A: 0}, -1)], ids=["no key", "pause", "hold"]
)
def test_a_claim_that_makes_no_sense_is_an_error_and_leaves_nothing(
    make: Make, pauses_ns: dict[str, int], hold_ns: int
) -> None:
    one, other = make(), make()
    with pytest.raises(ValueError, match="a claim needs"):
        eventloop.run(one.claim(pauses_ns, hold_ns))
    with pytest.raises(ValueError, match="a settle needs"):
        eventloop.run(one.settle(Token("x"), {A: -1}))
    assert claim(other, A).claimed_ns <= CLOCK.boot_ns()


# --- leases ---

SHORT = 300 * MS
SHARD = "plan/7"


def test_a_lease_is_one_holders_until_it_is_given_back(make: Make) -> None:
    one, other = make(), make()
    asked_ns = CLOCK.boot_ns()
    lease = one.acquire(SHARD, 60_000 * MS)
    assert isinstance(lease, Lease)
    assert lease.token.startswith("1:")
    assert one.acquire(SHARD, 60_000 * MS) == lease
    taken = other.acquire(SHARD, 60_000 * MS)
    assert isinstance(taken, Taken)
    assert taken.until_ns >= asked_ns + 60_000 * MS
    assert isinstance(other.acquire("plan/8", SHORT), Lease)
    assert one.release(lease)
    second = other.acquire(SHARD, SHORT)
    assert isinstance(second, Lease)
    assert second.token.startswith("2:")


def test_a_lease_runs_out_if_it_is_not_renewed(make: Make) -> None:
    one, other = make(), make()
    lease = one.acquire(SHARD, SHORT)
    assert isinstance(lease, Lease)
    eventloop.run(CLOCK.sleep(0.2))
    renewed_ns = CLOCK.boot_ns()
    assert one.renew(lease)
    taken = other.acquire(SHARD, SHORT)
    assert isinstance(taken, Taken)
    assert taken.until_ns >= renewed_ns + SHORT
    eventloop.run(CLOCK.sleep(0.4))
    assert isinstance(other.acquire(SHARD, SHORT), Lease)


def test_a_lease_that_ran_out_is_still_its_holders_while_nobody_takes_it(make: Make) -> None:
    one, other = make(), make()
    lease = one.acquire(SHARD, 0)
    assert isinstance(lease, Lease)
    holder = make(lease=lease)
    eventloop.run(CLOCK.sleep(0.01))
    assert claim(holder, A)
    assert one.renew(Lease(SHARD, lease.token, 60_000 * MS))
    assert isinstance(other.acquire(SHARD, SHORT), Taken)


def test_a_late_holder_is_fenced_off(make: Make) -> None:
    """It was held up for longer than its lease. What it does with its token from now on has no effect."""
    one, other = make(), make()
    late = one.acquire(SHARD, 0)
    assert isinstance(late, Lease)
    late_holder = make(lease=late)
    held = claim(late_holder, A)
    eventloop.run(CLOCK.sleep(0.01))
    present = other.acquire(SHARD, 60_000 * MS)
    assert isinstance(present, Lease)
    with pytest.raises(LeaseTaken, match=rf"^the lease of plan/7 {LOST}$"):
        claim(late_holder, B)
    assert settle(late_holder, held.token, A) == Settled()
    assert (one.renew(late), one.release(late)) == (False, False)
    assert claim(make(lease=present), B)
    assert other.renew(present)


def test_twin_without_its_lease_it_is_not(make: Make) -> None:
    one, other = make(), make()
    assert isinstance(one.acquire(SHARD, 0), Lease)
    late_holder = make()
    eventloop.run(CLOCK.sleep(0.01))
    assert isinstance(other.acquire(SHARD, 60_000 * MS), Lease)
    assert claim(late_holder, B)


def test_a_lease_nobody_knows_of_is_not_held(make: Make) -> None:
    one = make()
    lease = one.acquire(SHARD, 60_000 * MS)
    assert isinstance(lease, Lease)
    unknown = Lease("plan/9", lease.token, SHORT)
    assert (one.renew(unknown), one.release(unknown)) == (False, False)
    with pytest.raises(LeaseTaken):
        claim(make(lease=unknown), A)


def test_claims_and_settles_are_timed_and_leases_are_not(make: Make) -> None:
    ledger = make()
    claimed = claim(ledger, A)
    settle(ledger, claimed.token, A, pause_ns=0)
    assert isinstance(ledger.acquire("plan/1", HOLD), Lease)
    assert ledger.times.calls == 2
    assert ledger.times.total_ns >= ledger.times.longest_ns > 0
