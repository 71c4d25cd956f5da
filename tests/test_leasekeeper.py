"""The lease of a shard, kept by a thread: renewed while its block goes on, waited for if its holder may be dead."""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from seaspider.clock import SystemClock
from seaspider.core.leases import Lease, Taken
from seaspider.errors import ExitCode, SettingError, StoreInUse
from seaspider.leasekeeper import kept
from seaspider.ledger import IN_MEMORY
from seaspider.outside import shared_ledger
from seaspider.redisledger import RedisLedger
from tests import eventloop
from tests.redisservers import RedisProcess
from tests.test_shared_ledgers import Make, make

__all__ = ["make"]

MS = 1_000_000
SHARD = "plan/7"
CLOCK = SystemClock()


def sleep(seconds: float) -> None:
    eventloop.run(CLOCK.sleep(seconds))


def test_it_is_renewed_until_the_block_ends_and_then_given_back(make: Make) -> None:
    one, other = make(), make()
    threads = threading.active_count()
    with kept(one, SHARD, CLOCK, 600 * MS) as lease:
        sleep(1.5)
        assert isinstance(other.acquire(SHARD, 600 * MS), Taken)
        assert other.renew(lease)
    assert threading.active_count() == threads
    assert isinstance(other.acquire(SHARD, 600 * MS), Lease)


def test_a_holder_that_may_be_dead_is_waited_for(make: Make) -> None:
    dead, one = make(), make()
    died_ns = CLOCK.boot_ns()
    assert isinstance(dead.acquire(SHARD, 900 * MS), Lease)
    with kept(one, SHARD, CLOCK, 600 * MS) as lease:
        assert CLOCK.boot_ns() >= died_ns + 900 * MS
        assert lease.token.startswith("2:")


def test_one_that_renews_it_is_alive(make: Make) -> None:
    one, other = make(), make()
    with kept(one, SHARD, CLOCK, 4000 * MS), pytest.raises(StoreInUse) as caught, kept(other, SHARD, CLOCK, 4000 * MS):
        pass
    assert str(caught.value) == "plan/7 is another runner's, which is at work on it"
    assert caught.value.exit_code is ExitCode.STORE_IN_USE


def test_that_it_was_taken_over_is_said_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    one, other = make(), make()
    with kept(one, SHARD, CLOCK, 400 * MS) as lease:
        assert other.release(lease)
        assert isinstance(other.acquire(SHARD, 60_000 * MS), Lease)
        sleep(0.6)
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warned == ["The lease of plan/7 is lost: another runner has taken it, or the ledger has forgotten it"]
    assert isinstance(make().acquire(SHARD, 60_000 * MS), Taken)


def test_it_is_given_back_when_another_process_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    one, other = (shared_ledger(str(path), CLOCK) for _ in range(2))
    with closing(sqlite3.connect(path, check_same_thread=False)) as busy:
        with kept(one, SHARD, CLOCK, 60_000 * MS):
            busy.execute("BEGIN IMMEDIATE")
            threading.Timer(0.4, busy.rollback).start()
        assert isinstance(other.acquire(SHARD, 600 * MS), Lease)


def test_a_ledger_in_memory_keeps_none() -> None:
    with pytest.raises(SettingError, match="':memory:': keeps no leases; name a file or a Redis server"):
        shared_ledger(IN_MEMORY, CLOCK)


# --- a server that is away ---


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as running:
        yield running


def test_a_server_that_is_away_is_asked_again(server: RedisProcess) -> None:
    one, other = RedisLedger(server.place, CLOCK), RedisLedger(server.place, CLOCK)
    server.kill()
    threading.Timer(0.5, server.start).start()
    with kept(one, SHARD, CLOCK, 900 * MS) as lease:
        server.kill()
        sleep(1.2)
        server.start()
        sleep(0.6)
        taken = other.acquire(SHARD, 900 * MS)
        assert isinstance(taken, Taken)
        assert other.renew(lease)
        server.kill()
    eventloop.run(one.close())
    eventloop.run(other.close())
