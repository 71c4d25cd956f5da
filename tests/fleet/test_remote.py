"""Fleets whose workers are no children of the command, as on other machines: an existing scheduler, and jobs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seaspider.fleet import plan as plans
from seaspider.loopback import LoopbackWeb
from tests.crawling import environment
from tests.fleet.begunagain import asked, asked_wrongly, under_way
from tests.fleet.fleets import MOST_S, crawl_of, crawls, digests, final_pages, is_alive, run_fleet, running, until
from tests.fleet.hello import HOSTS, NAMES, PAGES, ROUTES, SETTINGS, Late, check_whole, queue, too_near
from tests.redisservers import RedisProcess

pytestmark = pytest.mark.soak


@pytest.fixture
def web(loopback) -> LoopbackWeb:  # type: ignore[no-untyped-def]
    return loopback(ROUTES, names=NAMES)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis", password="open sesame") as running_server:
        running_server.began(ago_s=60)
        yield running_server


@contextmanager
def dask(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """A scheduler and its workers, as somebody else has started them: its address, and the processes."""
    file = folder / "scheduler.json"
    one = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    given = {"cwd": folder, "env": environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*one, "--no-dashboard", "--scheduler-file", file], **given)]  # type: ignore[call-overload]
    try:
        until(lambda: file.exists() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        one = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        for _ in range(workers):
            started.append(subprocess.Popen([*one, "--no-dashboard"], **given))  # type: ignore[call-overload]
        yield address, [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_fleet_on_a_cluster_that_is_up(tmp_path: Path, web: LoopbackWeb, server: RedisProcess) -> None:
    urls = queue(tmp_path, web)
    given = {"names": NAMES, "settings": {**SETTINGS, "SEASPIDER_LEDGER": server.url}}
    with dask(tmp_path, 2) as (address, (_, *workers)):
        options = ("--shards", "4", "--scheduler", address, "--json")
        with running(tmp_path, *options, **given) as fleet:
            until(lambda: len(web.arrivals) >= 10)
            lists = [Path(f"/proc/{pid}/cmdline").read_bytes() for worker in workers for pid in crawls(worker)]
            assert lists
            assert [line for line in lists if b"sesame" in line] == []
            # One is lost for good; the other does all that is left.
            os.kill(workers[0], signal.SIGKILL)
            out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 0, out
    assert too_near(web) == []
    assert json.loads(out.splitlines()[-1])["requests"] == len(web.arrivals) >= HOSTS * (PAGES + 1)
    check_whole(tmp_path / "store", urls)


def test_a_scheduler_that_is_lost(tmp_path: Path, web: LoopbackWeb, server: RedisProcess) -> None:
    queue(tmp_path, web)
    # Dask looks for it for so long before it says so.
    soon = "import seaspider.fleet.cluster; seaspider.fleet.cluster.CONNECT_S = 5"
    given = {"names": NAMES, "settings": {**SETTINGS, "SEASPIDER_LEDGER": server.url}, "sabotage": soon}
    with (
        dask(tmp_path, 2) as (address, (scheduler, *_)),
        running(tmp_path, "--shards", "4", "--scheduler", address, **given) as fleet,
    ):
        until(lambda: len(web.arrivals) >= 10)
        os.kill(scheduler, signal.SIGKILL)
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 74, out
    assert "Traceback" not in out
    last = out.splitlines()[-1]
    assert last.startswith("scrapy fleet: Dask's scheduler is lost (")
    assert last.endswith("); run it again, when it is back, to go on")


def test_a_fleet_of_jobs(tmp_path: Path, web: LoopbackWeb, server: RedisProcess) -> None:
    """The queueing system is dask-jobqueue's own stand-in: each job is a process of this machine."""
    urls = queue(tmp_path, web)
    jobs = {"cluster": "local", "local_directory": str(tmp_path), "log_directory": str(tmp_path / "jobs")}
    (tmp_path / "jobs.yaml").write_text(json.dumps(jobs))
    settings = {**SETTINGS, "SEASPIDER_LEDGER": server.url}
    options = ("--shards", "4", "--workers", "2", "--jobqueue", str(tmp_path / "jobs.yaml"))
    code, out, log = run_fleet(tmp_path, *options, names=NAMES, settings=settings)
    assert code == 0, out + log
    assert too_near(web) == []
    check_whole(tmp_path / "store", urls)


def test_killed_workers_and_a_killed_ledger_change_nothing(  # type: ignore[no-untyped-def]
    tmp_path: Path, loopback, server: RedisProcess
) -> None:
    """16 shards: with 4 workers, two of them killed, and Redis once, each while a page is asked for; with 1 worker;
    with 8."""
    late = Late()
    web = loopback({**ROUTES, "/*": late}, names=NAMES)
    given = {"names": NAMES, "settings": {**SETTINGS, "SEASPIDER_LEDGER": server.url}}
    urls = queue(tmp_path / "killed", web)
    store = tmp_path / "killed/store"
    with running(tmp_path / "killed", "--shards", "16", "--workers", "4", "--json", **given) as fleet:
        cut = []
        for so_far in (8, 16):
            until(lambda so_far=so_far: len(web.arrivals) >= so_far)
            cut.append(late.next(delay_s=50))
            (shard,) = [path.stem for path in store.glob("plan/*.txt") if cut[-1] in path.read_text().splitlines()]
            child, worker = crawl_of(shard, fleet.pid)
            os.kill(worker, signal.SIGKILL)
            until(lambda child=child: not is_alive(child))
        until(lambda: len(web.arrivals) >= 24)
        late.next(delay_s=1)
        server.restart()
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 0, out
    assert sum(shard["deaths"] for shard in json.loads(out.splitlines()[-1])["shards"]) == 2
    assert too_near(web) == []
    # The visits that the two killed crawls had under way begin again, and nothing else.
    robots = [web.url(name, "/robots.txt") for name in NAMES]
    assert asked(web.arrivals) == {**dict.fromkeys([*urls, *robots], 1), **dict.fromkeys(cut, 2)}
    assert under_way(store) == dict.fromkeys(cut, 1)
    assert asked_wrongly(store, web.arrivals) == {}
    check_whole(store, urls)
    found = []
    for workers in ("1", "8"):
        queue(tmp_path / workers, web)
        code, out, log = run_fleet(tmp_path / workers, "--shards", "16", "--workers", workers, **given)
        assert code == 0, out + log
        check_whole(tmp_path / workers / "store", urls)
        plan = plans.read(tmp_path / workers / "store/plan")
        found.append(digests(tmp_path / workers / "store", [n for n, part in enumerate(plan.parts) if part.lines]))
        assert final_pages(tmp_path / workers / "store") == final_pages(store)
    assert found[0] == found[1]
    assert len(set(found[0])) >= 3
    assert too_near(web) == []
