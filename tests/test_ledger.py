"""What every ledger does: parallel claimers, stops, cancelled waits. In memory and in a file, all in virtual time."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seaspider.clock import FakeClock
from seaspider.core.politeness import Claimed, Lost, Settled, Token
from seaspider.ledger import SLICE_NS, Ledger, LedgerError, LedgerStopped, MemoryLedger
from seaspider.sqliteledger import SqliteLedger
from tests.eventloop import run
from tests.ledgers import HOLD, IP, A, B, RecordingClock, S

Make = Callable[..., Ledger]


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """`make(clock, stopped=...)` is a new ledger that knows no key."""
    made: list[Ledger] = []

    def one(clock: FakeClock, **options: Any) -> Ledger:
        path = tmp_path / f"{len(made)}.sqlite3"
        made.append(
            MemoryLedger(clock, **options) if request.param == "memory" else SqliteLedger(path, clock, **options)
        )
        return made[-1]

    yield one
    for ledger in made:
        run(ledger.close())


def test_a_free_key_is_claimed_without_sleeping(make: Make) -> None:
    clock = RecordingClock()
    claimed = run(make(clock).claim({IP: 2 * S, A: 2 * S}, HOLD))
    assert claimed == Claimed(claimed.token, clock.start_ns, clock.start_ns + HOLD)
    assert clock.naps == []


def test_a_memory_ledgers_tokens_name_the_holder() -> None:
    claimed = run(MemoryLedger(FakeClock(), holder="run-7").claim({A: 0}, HOLD))
    assert claimed.token == Token("run-7:1")


def test_a_claim_waits_for_the_exact_end_of_the_rest_in_slices(make: Make) -> None:
    clock = RecordingClock()
    ledger = make(clock)

    async def main() -> tuple[Settled | Lost, Claimed]:
        first = await ledger.claim({A: 2 * S}, HOLD)
        settled = await ledger.settle(first.token, {A: 600_000_001})
        return settled, await ledger.claim({A: 2 * S}, HOLD)

    settled, second = run(main())
    assert settled == Settled()
    assert second.claimed_ns == clock.start_ns + 600_000_001
    assert clock.naps == [0.25, 0.25, 0.100000001]


def test_six_claimers_are_never_too_near_and_served_in_order_of_asking(make: Make) -> None:
    clock = RecordingClock()
    ledger = make(clock)
    uses: list[tuple[int, int, int]] = []

    async def one(number: int) -> None:
        for _ in range(3):
            claimed = await ledger.claim({IP: 2 * S, f"host:{number}.test": 2 * S}, HOLD)
            assert clock.boot_ns() == claimed.claimed_ns
            await clock.sleep(0.3 + number / 10)
            uses.append((number, claimed.claimed_ns, clock.boot_ns()))
            assert await ledger.settle(claimed.token, {IP: 2 * S, f"host:{number}.test": 2 * S}) == Settled()

    async def main() -> None:
        await asyncio.gather(*(one(number) for number in range(6)))

    run(main())
    assert [number for number, *_ in uses] == [*range(6)] * 3
    assert all(after[1] >= before[2] + 2 * S for before, after in pairwise(uses))


def test_a_claimer_overtakes_nobody_it_shares_a_key_with_and_everybody_else(make: Make) -> None:
    clock = RecordingClock()
    ledger = make(clock)
    log: list[str] = []

    async def one(name: str, *keys: str) -> None:
        claimed = await ledger.claim(dict.fromkeys(keys, 0), HOLD)
        log.append(name)
        await ledger.settle(claimed.token, dict.fromkeys(keys, 0))

    async def main() -> None:
        holding = await ledger.claim({A: 0}, HOLD)
        async with asyncio.TaskGroup() as group:
            group.create_task(one("a and ip", A, IP))
            await asyncio.sleep(0)
            group.create_task(one("ip, free but asked for earlier", IP))
            group.create_task(one("b", B))
            await clock.sleep(1)
            log.append("settle")
            await ledger.settle(holding.token, {A: 0})

    run(main())
    assert log == ["b", "settle", "a and ip", "ip, free but asked for earlier"]


def test_a_dead_holders_key_is_had_after_hold_and_pause(make: Make) -> None:
    clock = RecordingClock()
    ledger = make(clock)

    async def main() -> Claimed:
        dead = await ledger.claim({A: 5 * S}, HOLD)
        claimed = await ledger.claim({A: 5 * S}, HOLD)
        assert await ledger.settle(dead.token, {A: 0}) == Lost((A,))
        return claimed

    assert run(main()).claimed_ns == clock.start_ns + 35 * S
    assert max(clock.naps) == 0.25 == SLICE_NS / S


def test_a_stop_ends_a_wait_within_a_slice_and_leaves_nothing_behind(make: Make) -> None:
    clock = RecordingClock()
    stop_ns = clock.start_ns + 700_000_000
    ledger = make(clock, stopped=lambda: clock.boot_ns() >= stop_ns)

    async def main() -> None:
        first = await ledger.claim({A: 2 * S}, HOLD)
        await ledger.settle(first.token, {A: 100 * S})
        with pytest.raises(LedgerStopped, match=r"waiting for host:a.test, ip:127.0.0.1$"):
            await ledger.claim({IP: 2 * S, A: 2 * S}, HOLD)

    run(main())
    assert clock.passed_ns == 750_000_000


def test_nothing_is_given_to_a_claimer_that_is_told_to_stop(make: Make) -> None:
    clock = RecordingClock()
    with pytest.raises(LedgerStopped):
        run(make(clock, stopped=lambda: True).claim({A: 2 * S}, HOLD))
    assert clock.naps == []


class StoppedMeanwhile(FakeClock):
    """A stop comes in the middle of the first claim, as soon as it has read the clock."""

    stopped = False

    def boot_ns(self) -> int:
        self.stopped = self.claiming
        return super().boot_ns()

    claiming = False


def test_a_claim_made_while_a_stop_came_is_given_back_as_if_it_never_was(make: Make) -> None:
    clock = StoppedMeanwhile()
    ledger = make(clock, stopped=lambda: clock.stopped)

    async def main() -> Claimed:
        clock.claiming = True
        with pytest.raises(LedgerStopped):
            await ledger.claim({A: 2 * S, IP: 2 * S}, HOLD)
        clock.claiming = clock.stopped = False
        return await ledger.claim({A: 2 * S, IP: 2 * S}, HOLD)

    assert run(main()).claimed_ns == clock.boot_ns()
    assert clock.boot_ns() == FakeClock().boot_ns()


def test_a_settle_is_taken_after_a_stop(make: Make) -> None:
    stopped: list[bool] = []
    ledger = make(RecordingClock(), stopped=lambda: bool(stopped))

    async def main() -> Settled | Lost:
        claimed = await ledger.claim({A: 2 * S}, HOLD)
        stopped.append(True)
        return await ledger.settle(claimed.token, {A: 2 * S})

    assert run(main()) == Settled()


def test_a_cancelled_claimer_gives_its_place_up(make: Make) -> None:
    clock = RecordingClock()
    ledger = make(clock)

    async def main() -> Claimed:
        holding = await ledger.claim({A: 0}, HOLD)
        waiting = asyncio.create_task(ledger.claim({A: 0, IP: 0}, HOLD))
        await clock.sleep(1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        claimed = await ledger.claim({IP: 0}, HOLD)
        await ledger.settle(holding.token, {A: 0})
        return claimed

    assert run(main()).claimed_ns == clock.start_ns + S


def test_a_bad_claim_gives_its_place_up(make: Make) -> None:
    ledger = make(RecordingClock())

    async def main() -> None:
        with pytest.raises(ValueError, match="a claim needs"):
            await ledger.claim({A: -1}, HOLD)
        await ledger.claim({A: 0}, HOLD)

    run(main())


@pytest.mark.parametrize("waiting", [False, True], ids=["before", "while-waiting"])
def test_a_closed_ledger_gives_nothing(make: Make, waiting: bool) -> None:
    clock = RecordingClock()
    ledger = make(clock)

    async def main() -> None:
        if waiting:
            await ledger.claim({A: 0}, HOLD)
            claim = asyncio.create_task(ledger.claim({A: 0}, HOLD))
            await clock.sleep(1)
            await ledger.close()
        else:
            await ledger.close()
            claim = asyncio.create_task(ledger.claim({A: 0}, HOLD))
        with pytest.raises(LedgerError, match="closed"):
            await claim

    run(main())


def test_the_same_run_twice_is_the_same(make: Make) -> None:
    def once() -> list[Any]:
        clock = RecordingClock()
        ledger = make(clock)
        log: list[Any] = []

        async def one(number: int, keys: list[str]) -> None:
            for key in keys:
                claimed = await ledger.claim({key: S}, HOLD)
                log.append((number, key, claimed.claimed_ns))
                await clock.sleep(number / 7)
                await ledger.settle(claimed.token, {key: S})

        async def main() -> None:
            await asyncio.gather(*(one(number, [A, B, IP][number % 3 :] * 3) for number in range(6)))

        run(main())
        return [*log, clock.naps]

    first = once()
    assert first == once()
    assert len(first) == 37
