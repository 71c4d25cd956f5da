"""P3 at the servers' own log with a Redis ledger: real crawls, a real server that is stopped, killed and started again.

And what a user sees: one line for what cannot be used, a password nowhere, exit code 75 for a shard that is another's.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.door import HOLD_SLACK_S
from seaspider.errors import ExitCode
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.loopback.judge import Key, pairs
from tests.crawling import Ended, crawl, scrapy
from tests.redisservers import PASSWORD, RedisProcess, free_port
from tests.running import Running
from tests.test_ledger_processes import (
    CLAIMS_NEVER_LAPSE,
    HOLD_AND_PAUSE_NS,
    KILLED_PAUSE_S,
    LATE_S,
    SMALL,
    STOPPED_PAUSE_S,
    Fleet,
    crawling,
    killed_in_a_request,
    requests_of,
    shown,
    stopped_and_continued,
    too_near,
    wait_until,
)

NAMES = {"one.test": "127.0.42.1"}
ROUTES = {"/robots.txt": Answer(404), "/*": Answer(body="a page\n")}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as running:
        running.began(ago_s=3600)
        yield running


# --- many processes ---


def test_p3_three_processes_with_one_server_on_busy_cpus_are_never_too_near(
    tmp_path: Path, server: RedisProcess
) -> None:
    found = SMALL.arrivals(tmp_path, lambda n: server.url)
    print(shown(found, SMALL.pause_s))
    assert len(found) == 3 * 8 * (1 + 3)
    assert too_near(found, SMALL.pause_s) == []


@pytest.mark.soak
def test_p3_eight_processes_one_killed_over_fifty_addresses(
    tmp_path: Path, server: RedisProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(processes=8, hosts=50, pages=3, pause_s=0.5, kill_one=True)
    found = fleet.arrivals(tmp_path, lambda n: server.url)
    with capsys.disabled():
        print(f"\neight processes, one Redis server, CPUs busy: {shown(found, fleet.pause_s)}")
    assert len(pairs(found, Key.IP)) >= 1000
    assert len(pairs(found, Key.HOST)) >= 1000
    assert too_near(found, fleet.pause_s) == []


def test_p3_a_process_stopped_for_longer_than_its_hold_claims_anew(tmp_path: Path, server: RedisProcess) -> None:
    stopped = stopped_and_continued(tmp_path, ledger=server.url)
    assert too_near(stopped.arrivals, STOPPED_PAUSE_S) == []
    assert stopped.sent == [True, False, True]


def test_p3_twin_without_the_look_at_the_claim_it_sends_too_soon(tmp_path: Path, server: RedisProcess) -> None:
    stopped = stopped_and_continued(tmp_path, CLAIMS_NEVER_LAPSE, server.url)
    assert too_near(stopped.arrivals, STOPPED_PAUSE_S) != []


def test_a_process_killed_in_a_request_holds_up_its_address(tmp_path: Path, server: RedisProcess) -> None:
    """From its claim for hold and pause. By its own clock that began no later than its answer came."""
    killed = killed_in_a_request(tmp_path, "second", server.url)
    free_ns = killed.claimed_ns + HOLD_AND_PAUSE_NS
    assert free_ns - ns_from_s(KILLED_PAUSE_S) <= killed.next_ns
    assert killed.arrivals[1].arrived_ns <= max(free_ns, killed.asked_ns) + ns_from_s(LATE_S)
    assert too_near(killed.arrivals, KILLED_PAUSE_S) == []


# --- a server that is away for a while ---

AWAY_S = 10
AWAY_PAUSE_S = 0.3
AWAY_TIMEOUT_S = 1
AWAY_HOSTS = {f"host{number}.test": f"127.0.42.{number + 1}" for number in range(4)}


def _stopped(server: RedisProcess) -> None:
    server.signal(signal.SIGSTOP)
    time.sleep(AWAY_S)
    server.signal(signal.SIGCONT)


def _killed(server: RedisProcess) -> None:
    server.kill()
    time.sleep(AWAY_S)
    server.start()


@pytest.mark.soak
@pytest.mark.parametrize(("away", "hold_s"), [(_stopped, 0), (_killed, AWAY_TIMEOUT_S + HOLD_SLACK_S)])
def test_while_the_server_is_away_nobody_sends_and_everybody_goes_on_after(
    tmp_path: Path, server: RedisProcess, away: Callable[[RedisProcess], None], hold_s: float
) -> None:
    settings = {"SEASPIDER_INTERVAL": AWAY_PAUSE_S, "DOWNLOAD_TIMEOUT": AWAY_TIMEOUT_S}
    with LoopbackWeb(ROUTES, names=AWAY_HOSTS) as web, ExitStack() as stack:
        crawls = []
        for name in ("0", "1", "2"):
            queue = [web.url(host, f"/{name}/{page}") for page in range(6) for host in AWAY_HOSTS]
            how = {"name": name, "ledger": server.url, "settings": settings}
            crawls.append(stack.enter_context(crawling(web, tmp_path, queue, **how)))
        wait_until(lambda: all(requests_of(tmp_path, name, "claim") for name in ("0", "1", "2")), 60)
        left_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        waiting = [name for name, process in zip(("0", "1", "2"), crawls, strict=True) if process.poll() is None]
        away(server)
        back_ns = left_ns + ns_from_s(AWAY_S + hold_s)
        assert [process.wait(90) for process in crawls] == [0, 0, 0]
        found = web.arrivals
    assert len(found) == 3 * 4 * (1 + 6)
    # A claim that was given before may still be sent: one for each process.
    meanwhile = [arrival for arrival in found if left_ns < arrival.arrived_ns < back_ns]
    assert len(meanwhile) <= 3
    assert [arrival for arrival in meanwhile if arrival.arrived_ns > left_ns + NS_PER_S] == []
    assert len([arrival for arrival in found if arrival.arrived_ns >= back_ns]) >= len(waiting)
    assert too_near(found, AWAY_PAUSE_S) == []
    # On a busy machine one may be done before another has begun.
    assert waiting
    for name in waiting:
        assert (tmp_path / f"{name}.log").read_text().count("Waiting for the ledger") == 1


def test_a_crawl_waits_for_a_server_that_is_not_there_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    with LoopbackWeb(ROUTES, names=NAMES) as web:
        settings = {"SEASPIDER_LEDGER": f"redis://127.0.0.1:{free_port()}", "SEASPIDER_INTERVAL": 0}
        with Running(tmp_path, [web.url("one.test")], names=NAMES, settings=settings) as running:
            running.wait_for("Waiting for the ledger redis://127.0.0.1:")
            running.signal(signal.SIGINT)
            ended = running.end(15)
    assert ended.exit == ExitCode.INTERRUPTED
    assert web.arrivals == []
    assert ended.log.count("Waiting for the ledger") == 1


def test_a_settle_that_waits_for_its_server_ends_with_the_crawl(tmp_path: Path, server: RedisProcess) -> None:
    def dies(request: object) -> Answer:
        server.kill()
        return Answer(404)

    with LoopbackWeb({"/*": dies}, names=NAMES) as web:
        settings = {"SEASPIDER_LEDGER": server.url, "SEASPIDER_INTERVAL": 0}
        with Running(tmp_path, [web.url("one.test")], names=NAMES, settings=settings) as running:
            running.wait_for("Waiting for the ledger redis://127.0.0.1:")
            running.signal(signal.SIGINT)
            ended = running.end(15)
    assert ended.exit == ExitCode.INTERRUPTED
    assert [arrival.target for arrival in web.arrivals] == ["/robots.txt"]
    assert [record["event"] for record in ended.records("requests")] == ["claim", "settle"]


# --- what a user sees ---


def one_line(ended: Ended, *parts: str) -> None:
    assert ended.exit == ExitCode.USAGE, ended.log
    assert ended.log.count("\n") == 1, ended.log
    for part in parts:
        assert part in ended.log
    assert not ended.store.exists() or not ended.records("manifest")


def asked(folder: Path, ledger: str, sabotage: str = "") -> Ended:
    with LoopbackWeb(ROUTES, names=NAMES) as web:
        how = {"names": NAMES, "settings": {"SEASPIDER_LEDGER": ledger}, "sabotage": sabotage}
        ended = crawl([web.url("one.test")], folder, cold=bool(sabotage), **how)
        assert ended.exit == 0 or web.arrivals == []
        return ended


def test_a_server_without_persistence_is_one_line(tmp_path: Path) -> None:
    with RedisProcess(tmp_path, appendonly="no") as server:
        ended = asked(tmp_path, server.url)
    one_line(ended, f"setting SEASPIDER_LEDGER = '{server.place}': cannot be used: it keeps nothing over a restart")


def test_a_failed_tls_check_is_one_line(tmp_path: Path) -> None:
    with RedisProcess(tmp_path, tls=True) as server:
        ended = asked(tmp_path, f"rediss://127.0.0.1:{server.port}/0")
        why = "cannot be used: it fails the TLS check: self-signed certificate in certificate chain"
        one_line(ended, f"setting SEASPIDER_LEDGER = 'rediss://127.0.0.1:{server.port}/0': {why}")
        none = f"rediss://127.0.0.1:{server.port}/0?ssl_ca_certs=none.pem"
        why = "cannot be used: it needs the file of ssl_ca_certs, which cannot be read: [Errno 2]"
        one_line(asked(tmp_path, none), f"setting SEASPIDER_LEDGER = '{none}': {why}")


def test_a_wrong_password_is_one_line_without_it(tmp_path: Path) -> None:
    with RedisProcess(tmp_path, password=PASSWORD) as server:
        ended = asked(tmp_path, f"redis://somebody:s3cret@127.0.0.1:{server.port}/0")
    shown_url = f"redis://somebody:***@127.0.0.1:{server.port}/0"
    one_line(ended, f"setting SEASPIDER_LEDGER = '{shown_url}': cannot be used: it refuses user or password")
    assert "s3cret" not in ended.log


def test_a_url_that_cannot_be_meant_is_one_line_without_its_password(tmp_path: Path) -> None:
    ended = asked(tmp_path, "redis://somebody:s3cret@127.0.0.1/pauses")
    one_line(ended, "'redis://***@127.0.0.1/pauses': its path must be the number of a database")
    assert "s3cret" not in ended.log


NO_REDIS = "import sys; sys.modules['redis'] = None"
TELLS_WHAT_IS_LOADED = "import atexit, sys; atexit.register(lambda: print('redis' in sys.modules))"


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    ended = asked(tmp_path, "redis://u:s3cret@127.0.0.1", NO_REDIS)
    one_line(ended, "needs the package redis: pip install -r requirements-fleet.txt")
    assert "s3cret" not in ended.log


def test_a_plain_crawl_does_without_the_package(tmp_path: Path) -> None:
    ended = asked(tmp_path, str(tmp_path / "ledger"), TELLS_WHAT_IS_LOADED)
    assert (ended.exit, ended.out) == (0, "False\n")


def test_twin_a_crawl_with_a_redis_ledger_loads_it(tmp_path: Path, server: RedisProcess) -> None:
    ended = asked(tmp_path, server.url, TELLS_WHAT_IS_LOADED)
    assert (ended.exit, ended.out) == (0, "True\n")


def test_a_crawl_with_tls_and_a_password_that_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis", password=PASSWORD, tls=True) as server:
        server.began(ago_s=3600)
        ended = asked(tmp_path, server.url)
    assert ended.exit == 0
    assert ended.records("manifest")[0]["settings"]["ledger"] == str(server.place)
    assert ":***@127.0.0.1" in str(server.place)
    texts = [ended.log, ended.out, *(path.read_text() for path in ended.store.rglob("*.jsonl"))]
    secret = server.url.split("@")[0].rpartition(":")[2]
    assert [text for text in texts if PASSWORD in text or secret in text] == []


# --- a shard that another runner took over ---

WORKS_UNDER_A_LEASE = """
import seaspider.spiders.seaspider as spiders
from seaspider.clock import SystemClock
from seaspider.config import Config
from seaspider.leasekeeper import kept
from seaspider.outside import shared_ledger
with_queue = spiders.with_queue
def under_a_lease(settings, arguments):
    clock = SystemClock()
    leases = shared_ledger(Config.from_settings(settings).ledger, clock)
    keeper = kept(leases, "plan/7", clock, 60_000_000_000)
    run = with_queue(settings, arguments, clock, keeper.__enter__())
    close = run.close
    async def closed():
        await close()
        keeper.__exit__(None, None, None)
        await leases.close()
    run.close = closed
    return run
spiders.with_queue = under_a_lease
"""
IS_TAKEN_OVER = """
def taken_over(run):
    import sqlite3
    from urllib.parse import urlsplit
    place = run.config.ledger
    if "://" in place:
        import redis
        redis.Redis(port=urlsplit(place).port).hset("seaspider:lease:plan/7", "token", "2:another")
    else:
        with sqlite3.connect(place) as connection:
            connection.execute("UPDATE leases SET token = '2:another'")
import seaspider.run
claim = seaspider.run.RequestLog.claim
def claim_then_lose(self, permit, *args):
    number = claim(self, permit, *args)
    if permit.kind == "page":
        taken_over(spiders.the_run)
    return number
seaspider.run.RequestLog.claim = claim_then_lose
lease_under = spiders.with_queue
def remembered(settings, arguments):
    spiders.the_run = lease_under(settings, arguments)
    return spiders.the_run
spiders.with_queue = remembered
"""


@pytest.mark.parametrize("kind", ["file", "redis"])
@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_a_runner_that_lost_its_shard_asks_nothing_more_and_ends_with_75(
    tmp_path: Path, server: RedisProcess, kind: str, lost: bool
) -> None:
    ledger = server.url if kind == "redis" else str(tmp_path / "ledger")
    with LoopbackWeb(ROUTES, names=NAMES) as web:
        ended = crawl(
            [web.url("one.test", f"/{number}") for number in range(3)],
            tmp_path,
            names=NAMES,
            settings={"SEASPIDER_LEDGER": ledger},
            sabotage=WORKS_UNDER_A_LEASE + IS_TAKEN_OVER * lost,
        )
        targets = [arrival.target for arrival in web.arrivals]
    end = ended.records("manifest")[-1]
    if not lost:
        assert (ended.exit, end["reason"], targets) == (0, "finished", ["/robots.txt", "/0", "/1", "/2"])
        return
    assert (ended.exit, end["reason"], end["exit"]) == (ExitCode.STORE_IN_USE, "lease-lost", ExitCode.STORE_IN_USE)
    assert targets == ["/robots.txt", "/0"]
    why = "another runner has taken it, or the ledger has forgotten it"
    assert ended.log.splitlines()[-1].endswith(f"the lease of plan/7 is lost: {why}")
    assert list(ended.endings().values()) == ["stored"]
    assert scrapy(["verify", str(ended.store)], tmp_path).exit == 0
    assert scrapy(["replay", str(ended.store), "-a", f"store={tmp_path / 'again'}"], tmp_path).exit == 0
