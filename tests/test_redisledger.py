"""The Redis ledger and its server: restarts, lost data, clocks that jump, servers away, servers that must not be used.

What it has in common with the file is in test_shared_ledgers.py. Guards with their twins.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seaspider import redisserver
from seaspider.clock import SystemClock
from seaspider.core.leases import Lease
from seaspider.core.politeness import Claimed, Lost, Settled
from seaspider.core.redisurl import redis_place
from seaspider.ledger import LeaseTaken, LedgerAway, LedgerStopped
from seaspider.redisledger import RedisLedger, UnfitServer
from tests import eventloop
from tests.ledgers import IP, A, B
from tests.redisservers import PASSWORD, RedisProcess, free_port, program

MS = 1_000_000
HOLD = 600 * MS
PAUSE = 100 * MS
TOO_LONG_S = 30

CLOCK = SystemClock()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    """One that has run for an hour."""
    with RedisProcess(tmp_path) as running:
        running.began(ago_s=3600)
        yield running


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seaspider.redisserver.TIMEOUT_S", 0.3)


@contextmanager
def opened(server: RedisProcess, clock: Any = CLOCK, **options: Any) -> Iterator[RedisLedger]:
    ledger = RedisLedger(server.place, clock, **options)
    try:
        yield ledger
    finally:
        eventloop.run(ledger.close())


def claim(ledger: RedisLedger, *keys: str, pause_ns: int = PAUSE, hold_ns: int = HOLD) -> Claimed:
    return eventloop.run(ledger.claim(dict.fromkeys(keys, pause_ns), hold_ns), TOO_LONG_S)


def settle(ledger: RedisLedger, claimed: Claimed, *keys: str, pause_ns: int = PAUSE) -> Settled | Lost:
    return eventloop.run(ledger.settle(claimed.token, dict.fromkeys(keys, pause_ns)), TOO_LONG_S)


def use(ledger: RedisLedger, *keys: str, pause_ns: int = PAUSE) -> None:
    assert settle(ledger, claim(ledger, *keys), *keys, pause_ns=pause_ns) == Settled()


def waited_ns(ledger: RedisLedger, *keys: str, since_ns: int, hold_ns: int = HOLD) -> int:
    return claim(ledger, *keys, hold_ns=hold_ns).claimed_ns - since_ns


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def without(monkeypatch: pytest.MonkeyPatch, script: str, guard: str, instead: str) -> None:
    """The scripts of a twin, which lack one of common.lua's guards."""
    source = redisserver.SCRIPTS.joinpath(script).read_text("ascii")
    assert guard in source
    folder = redisserver.SCRIPTS
    replaced = source.replace(guard, instead)

    def read(name: str) -> str:
        return replaced if f"{name}.lua" == script else (folder / f"{name}.lua").read_text("ascii")

    monkeypatch.setattr("seaspider.redisserver.source", read)


# --- a restart ---


def test_a_server_that_is_new_gives_nothing_for_one_hold(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It looks just like one that has lost what it knew."""
    with RedisProcess(tmp_path) as server, opened(server) as one, opened(server) as other:
        asked_ns = CLOCK.boot_ns()
        assert waited_ns(one, A, since_ns=asked_ns) >= HOLD
        assert waited_ns(other, B, since_ns=CLOCK.boot_ns()) < HOLD
        assert waited_ns(other, IP, since_ns=asked_ns, hold_ns=2 * HOLD) >= 2 * HOLD
    first = said(caplog)[0]
    assert first.startswith(
        f"Waiting for the ledger {server.place}: it is new or was restarted; nothing is sent for 0."
    )


def test_after_a_restart_everybody_waits_one_hold(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        use(one, A, pause_ns=0)
        use(other, B, pause_ns=0)
        killed_ns = CLOCK.boot_ns()
        server.restart()
        assert waited_ns(one, B, since_ns=killed_ns) >= HOLD
        with opened(server) as third:
            assert waited_ns(third, IP, since_ns=CLOCK.boot_ns()) < HOLD


def test_twin_a_server_whose_run_id_nobody_looks_at_gives_at_once(
    server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "common.lua", "found[1] == run_id and", "found[1] and")
    with opened(server) as one:
        use(one, A, pause_ns=0)
        server.restart()
        assert waited_ns(one, B, since_ns=CLOCK.boot_ns()) < HOLD


def test_after_a_restart_the_longest_hold_of_the_claims_before_is_over_first(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        claim(one, A, hold_ns=1500 * MS)
        killed_ns = CLOCK.boot_ns()
        server.restart()
        assert waited_ns(other, B, since_ns=killed_ns, hold_ns=0) >= 1500 * MS


def test_after_a_restart_the_full_pause_starts_again(server: RedisProcess) -> None:
    with opened(server) as one:
        use(one, A, pause_ns=1200 * MS)
        claim(one, B, pause_ns=900 * MS)
    eventloop.run(CLOCK.sleep(0.3))
    killed_ns = CLOCK.boot_ns()
    server.restart()
    with opened(server) as other:
        assert waited_ns(other, B, since_ns=killed_ns, hold_ns=0) >= 900 * MS  # its holder is forgotten
        assert waited_ns(other, A, since_ns=killed_ns) >= 1200 * MS


def test_a_settle_finds_its_way_over_a_restart(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        held = claim(one, A)
        server.restart()
        assert settle(one, held, A, pause_ns=1500 * MS) == Lost((A,))
        assert waited_ns(other, A, since_ns=CLOCK.boot_ns()) >= 1000 * MS


def test_a_lease_outlives_a_restart_and_runs_for_its_whole_time_again(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        lease = one.acquire("plan/7", 500 * MS)
        assert isinstance(lease, Lease)
        eventloop.run(CLOCK.sleep(0.4))
        server.restart()
        eventloop.run(CLOCK.sleep(0.2))
        assert not isinstance(other.acquire("plan/7", 500 * MS), Lease)
        assert one.renew(lease)


# --- lost data ---


@pytest.mark.parametrize("lose", ["flushall", "keys alone"])
def test_a_process_forgets_no_pause_it_caused_when_the_server_does(server: RedisProcess, lose: str) -> None:
    with opened(server) as one:
        held = claim(one, A)
        settles_ns = CLOCK.boot_ns()
        assert settle(one, held, A, pause_ns=2000 * MS) == Settled()
        with server.client as client:
            if lose == "flushall":
                client.flushall()
            else:
                client.delete(f"seaspider:key:{A}")
        assert waited_ns(one, A, since_ns=settles_ns) >= 2000 * MS


def test_a_process_tells_a_server_that_lost_its_data_what_it_knows(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        use(one, A, pause_ns=2500 * MS)
        settled_ns = CLOCK.boot_ns()
        with server.client as client:
            client.flushall()
        claim(one, B)
        assert waited_ns(other, A, since_ns=settled_ns) >= 2490 * MS


def test_a_lease_is_not_held_any_more(server: RedisProcess) -> None:
    with opened(server) as one:
        lease = one.acquire("plan/7", 60_000 * MS)
        assert isinstance(lease, Lease)
        with server.client as client:
            client.flushall()
        assert not one.renew(lease)
        with (
            opened(server, lease=lease) as runner,
            pytest.raises(
                LeaseTaken, match=r"^the lease of plan/7 is lost: another runner has taken it, or the ledger "
            ),
        ):
            claim(runner, A)


# --- clocks ---


class SlowClock(SystemClock):
    """Stays behind when told to: as seen from here, the server's clock goes ahead."""

    behind_ns = 0
    JUMP_NS = 60_000 * MS

    def boot_ns(self) -> int:
        return super().boot_ns() - self.behind_ns


def epoch(server: RedisProcess) -> str:
    with server.client as client:
        return str(client.hget("seaspider:epoch", "began"))


def test_a_server_whose_clock_went_ahead_begins_anew(server: RedisProcess, caplog: pytest.LogCaptureFixture) -> None:
    clock = SlowClock()
    with opened(server, clock) as one, opened(server) as other:
        use(one, A, pause_ns=1000 * MS)
        before = epoch(server)
        clock.behind_ns = clock.JUMP_NS
        jumped_ns = CLOCK.boot_ns()
        assert claim(one, B).claimed_ns + clock.JUMP_NS - jumped_ns >= HOLD
        assert epoch(server) != before
        assert waited_ns(other, A, since_ns=jumped_ns) >= 1000 * MS
    assert said(caplog)[0].endswith("the server's clock went ahead; every pause begins anew")


def test_twin_a_process_that_does_not_look_at_the_clock_claims_at_once(
    server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seaspider.redisledger._jumped", lambda latest, answer: False)
    clock = SlowClock()
    with opened(server, clock) as one:
        use(one, A)
        before = epoch(server)
        clock.behind_ns = clock.JUMP_NS
        assert claim(one, B).claimed_ns + clock.JUMP_NS - CLOCK.boot_ns() < HOLD
        assert epoch(server) == before


def test_a_server_whose_clock_went_back_begins_anew(server: RedisProcess) -> None:
    with opened(server) as one:
        use(one, A, pause_ns=0)
        with server.client as client:
            client.hincrby("seaspider:epoch", "latest", 3_600_000_000)
            client.hset(f"seaspider:key:{A}", "rest", str(2**52))
        asked_ns = CLOCK.boot_ns()
        assert waited_ns(one, A, since_ns=asked_ns) >= HOLD


# --- away ---


def test_nothing_is_given_while_the_server_is_stopped_and_it_goes_on_after(
    server: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(server) as one:
        use(one, B)
        server.signal(signal.SIGSTOP)
        stopped_ns = CLOCK.boot_ns()
        threading.Timer(1.5, server.signal, [signal.SIGCONT]).start()
        assert waited_ns(one, A, since_ns=stopped_ns) >= 1400 * MS
    assert said(caplog) == [f"Waiting for the ledger {server.place}: Timeout reading from socket"]


def test_a_claim_that_was_made_without_our_hearing_of_it_is_ours(server: RedisProcess) -> None:
    """Else it would hold up its keys for hold and pause."""
    with opened(server) as one:
        use(one, B)
        server.signal(signal.SIGSTOP)
        threading.Timer(0.8, server.signal, [signal.SIGCONT]).start()
        asked_ns = CLOCK.boot_ns()
        assert waited_ns(one, A, since_ns=asked_ns, hold_ns=25_000 * MS) < 20_000 * MS


def test_a_settle_is_tried_until_it_is_in(server: RedisProcess) -> None:
    with opened(server) as one, opened(server) as other:
        held = claim(one, A, hold_ns=20_000 * MS)
        server.signal(signal.SIGSTOP)
        threading.Timer(1, server.signal, [signal.SIGCONT]).start()
        settled_ns = CLOCK.boot_ns()
        settle(one, held, A, pause_ns=300 * MS)
        assert CLOCK.boot_ns() - settled_ns >= 900 * MS
        assert 300 * MS <= waited_ns(other, A, since_ns=settled_ns) < 15_000 * MS


@pytest.mark.parametrize("verb", ["claim", "settle"])
def test_a_stop_ends_the_wait_for_a_server(server: RedisProcess, verb: str) -> None:
    stopped: list[bool] = []
    with opened(server, stopped=lambda: bool(stopped)) as one:
        held = claim(one, A)
        server.kill()
        threading.Timer(0.7, stopped.append, [True]).start()
        began_ns = CLOCK.boot_ns()
        if verb == "settle":
            assert settle(one, held, A) == Lost((A,))
        else:
            with pytest.raises(LedgerStopped):
                claim(one, B)
        assert 600 * MS <= CLOCK.boot_ns() - began_ns <= 5000 * MS


def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = RedisProcess(tmp_path)
    with opened(server) as one:
        with pytest.raises(LedgerAway):
            one.acquire("plan/7", 60_000 * MS)
        starting = threading.Timer(0.6, server.start)
        starting.start()
        asked_ns = CLOCK.boot_ns()
        assert waited_ns(one, A, since_ns=asked_ns) >= HOLD + 600 * MS
        starting.join()
        server.kill()
    assert len(said(caplog)) == 1
    assert "Connection refused" in said(caplog)[0]


def test_a_stopped_server_holds_up_no_other_work(server: RedisProcess) -> None:
    async def main(ledger: RedisLedger) -> int:
        server.signal(signal.SIGSTOP)
        waiting = asyncio.create_task(ledger.claim({A: 0}, HOLD))
        ticks = 0
        for _ in range(100):
            await asyncio.sleep(0.001)
            ticks += not waiting.done()
        server.signal(signal.SIGCONT)
        await waiting
        return ticks

    with opened(server) as one:
        assert eventloop.run(main(one)) == 100


# --- servers that must not be used ---

UNFIT: dict[str, tuple[dict[str, Any], Callable[[RedisProcess], str], str]] = {
    "may evict": (
        {"maxmemory_policy": "allkeys-lru"},
        lambda server: server.url,
        "may forget pauses (maxmemory-policy allkeys-lru); set noeviction",
    ),
    "keeps nothing": (
        {"appendonly": "no"},
        lambda server: server.url,
        "keeps nothing over a restart (appendonly no); set appendonly yes",
    ),
    "a replica": (
        {"replicaof": "127.0.0.1 1"},
        lambda server: server.url,
        "is a replica, which cannot be written to",
    ),
    "a cluster": (
        {"cluster_enabled": "yes"},
        lambda server: server.url,
        "is a cluster; the ledger needs one instance that has all keys",
    ),
    "no password": (
        {"password": PASSWORD},
        lambda server: f"redis://127.0.0.1:{server.port}",
        "refuses user or password",
    ),
    "a wrong password": (
        {"password": PASSWORD},
        lambda server: f"redis://:wrong@127.0.0.1:{server.port}",
        "refuses user or password",
    ),
    "an unknown user": (
        {"password": PASSWORD},
        lambda server: f"redis://nobody:wrong@127.0.0.1:{server.port}",
        "refuses user or password",
    ),
    "no such database": (
        {},
        lambda server: f"redis://127.0.0.1:{server.port}/999",
        "answers: DB index is out of range",
    ),
    "an unknown authority": (
        {"tls": True},
        lambda server: f"rediss://127.0.0.1:{server.port}",
        "fails the TLS check: self-signed certificate in certificate chain",
    ),
    "another name": (
        {"tls": True},
        lambda server: server.url.replace("127.0.0.1", "localhost"),
        "fails the TLS check: Hostname mismatch, certificate is not valid for 'localhost'.",
    ),
    "no such authority": (
        {"tls": True},
        lambda server: server.url.replace("ca.pem", "none.pem"),
        "needs the file of ssl_ca_certs, which cannot be read: [Errno 2] No such file or directory: ",
    ),
    "an authority that is none": (
        {"tls": True},
        lambda server: server.url.replace("ca.pem", "redis.conf"),
        "fails the TLS check: [X509",
    ),
}


@pytest.mark.parametrize(("settings", "url", "why"), UNFIT.values(), ids=UNFIT)
def test_a_server_that_must_not_be_used_is_an_error_at_the_start(
    tmp_path: Path, settings: dict[str, Any], url: Callable[[RedisProcess], str], why: str
) -> None:
    threads = threading.active_count()
    with RedisProcess(tmp_path, **settings) as server:
        with pytest.raises(UnfitServer) as caught:
            RedisLedger(redis_place(url(server)), CLOCK)
        assert str(caught.value).startswith(why)
    assert threading.active_count() == threads


def test_one_that_became_so_is_waited_for(server: RedisProcess, caplog: pytest.LogCaptureFixture) -> None:
    with opened(server) as one:
        use(one, A)
        server.restart(maxmemory_policy="allkeys-lru")

        def mend() -> None:
            with server.client as client:
                client.config_set("maxmemory-policy", "noeviction")

        threading.Timer(1, mend).start()
        asked_ns = CLOCK.boot_ns()
        assert waited_ns(one, B, since_ns=asked_ns) >= 900 * MS
    assert [why in said(caplog)[0] for why in ("maxmemory-policy allkeys-lru", "set noeviction")] == [True, True]


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_password_and_tls(tmp_path: Path, tls: bool) -> None:
    with RedisProcess(tmp_path, password=PASSWORD, tls=tls) as server:
        server.began(ago_s=3600)
        with opened(server) as one, opened(server) as other:
            use(one, A, pause_ns=500 * MS)
            assert waited_ns(other, A, since_ns=CLOCK.boot_ns()) >= 400 * MS


RIGHTS = "on >s3cret ~seaspider:* +evalsha +script|load +select +info +time +hget +hmget +hset +pexpire"


def test_a_user_needs_no_more_rights_than_readme_names(server: RedisProcess, caplog: pytest.LogCaptureFixture) -> None:
    place = redis_place(f"redis://crawler:s3cret@127.0.0.1:{server.port}/0")
    with server.client as client:
        client.execute_command("ACL", "SETUSER", "crawler", *RIGHTS.split())
        ledger = RedisLedger(place, CLOCK)
        use(ledger, A)
        assert isinstance(ledger.acquire("plan/7", 60_000 * MS), Lease)
        eventloop.run(ledger.close())
        assert said(caplog) == []
        client.execute_command("ACL", "SETUSER", "crawler", "-info")
    with pytest.raises(UnfitServer, match=r"does not let this user do what the ledger needs: .*'info'"):
        RedisLedger(place, CLOCK)


LACKING = {
    "other keys": (
        "~other:* +@all",
        "this user has no permissions to access one of the keys used as arguments",
    ),
    "no keys": ("+@all", "this user has no permissions to access one of the keys used as arguments"),
    "no leases": (
        "~seaspider:epoch ~seaspider:key:* +@all",
        "this user has no permissions to access one of the keys used as arguments",
    ),
    "keys to read": (
        "%R~seaspider:* +@all",
        "this user has no permissions to access one of the keys used as arguments",
    ),
    "no scripts": ("~seaspider:* +@all -evalsha", "this user has no permissions to run the 'evalsha' command"),
    "no new scripts": ("~seaspider:* +@all -script", "this user has no permissions to run the 'script|load' command"),
    "no pexpire": (
        "~seaspider:* +@all -pexpire",
        "PEXPIRE seaspider:epoch, PEXPIRE seaspider:lease:, PEXPIRE seaspider:key:",
    ),
    "no time": ("~seaspider:* +@all -time", "TIME"),
}


@pytest.mark.parametrize(("rights", "why"), LACKING.values(), ids=LACKING)
def test_a_user_without_a_right_is_told_at_the_start(server: RedisProcess, rights: str, why: str) -> None:
    with server.client as client:
        before = client.keys()
        client.execute_command("ACL", "SETUSER", "crawler", "on", ">s3cret", *rights.split())
        with pytest.raises(UnfitServer) as caught:
            RedisLedger(redis_place(f"redis://crawler:s3cret@127.0.0.1:{server.port}/0"), CLOCK)
        assert str(caught.value) == f"does not let this user do what the ledger needs with keys seaspider:*: {why}"
        assert client.keys() == before


def test_a_server_that_cannot_be_asked_for_rights_is_not(server: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis 6 has no such function."""
    without(monkeypatch, "rights.lua", "redis.acl_check_cmd", "redis.no_such_function")
    with server.client as client:
        client.execute_command("ACL", "SETUSER", "crawler", *RIGHTS.split(), "-pexpire")
    eventloop.run(RedisLedger(redis_place(f"redis://crawler:s3cret@127.0.0.1:{server.port}/0"), CLOCK).close())


# --- what it keeps, and its end ---


def test_what_is_written_is_a_thousandth_longer_and_by_the_servers_clock(server: RedisProcess) -> None:
    def kept(*fields: str) -> list[int]:
        with server.client as client:
            latest = int(str(client.hget("seaspider:epoch", "latest")))
            read = dict(zip(fields, client.hmget(f"seaspider:key:{A}", *fields), strict=True))  # type: ignore[arg-type]
        return [int(str(read[field])) - (0 if field == "pause" else latest) for field in fields]

    with opened(server) as one:
        held = claim(one, A, pause_ns=1_000_001, hold_ns=10_000 * MS)
        assert kept("rest", "lapse", "pause") == [0, 10_010_000 + 1002, 1002]
        settle(one, held, A, pause_ns=10_000 * MS)
        assert kept("rest", "pause") == [10_010_000, 10_010_000]


def test_keys_are_forgotten_long_after_they_are_free(server: RedisProcess) -> None:
    with opened(server) as one:
        use(one, A, pause_ns=60_000 * MS)
        claim(one, B, hold_ns=60_000 * MS)
        with server.client as client:
            left_s = {key: client.ttl(f"seaspider:key:{key}") for key in (A, B)}
    assert 3600 + 50 <= left_s[A] <= 3600 + 61
    assert 86_400 + 50 <= left_s[B] <= 86_400 + 61


def test_a_process_keeps_no_pauses_in_mind_that_are_over(server: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seaspider.redisledger._OWN_BEFORE_SWEEP", 10)
    with opened(server) as one:
        use(one, A, pause_ns=60_000 * MS)
        for number in range(20):
            use(one, f"host:{number}.test", pause_ns=0)
        assert waited_ns(one, B, since_ns=CLOCK.boot_ns()) < HOLD
        with server.client as client:
            client.delete(f"seaspider:key:{A}")
        with pytest.raises(TimeoutError):
            eventloop.run(one.claim({A: 0}, HOLD), 0.3)


def test_closed_it_leaves_no_thread_and_no_connection(server: RedisProcess) -> None:
    threads = threading.active_count()
    with opened(server) as one:
        held = claim(one, A)
    eventloop.run(one.close())
    assert settle(one, held, A) == Lost((A,))
    assert threading.active_count() == threads
    with server.client as client:
        assert len(client.client_list()) == 1


def test_without_a_server_these_tests_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match="redis-server is missing: apt-get install redis-server"):
        program()


def test_a_port_nobody_listens_at_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    ledger = RedisLedger(redis_place(f"redis://:{'s3cret'}@127.0.0.1:{free_port()}"), CLOCK)
    eventloop.run(ledger.close())
    assert "s3cret" not in caplog.text
    assert "redis://:***@127.0.0.1" in caplog.text
