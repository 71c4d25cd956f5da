"""Real fleets of which a worker, a crawl or all of it is killed: what came of them is the same."""

import json
import os
import signal
from pathlib import Path

import pytest

from seaspider.loopback import LoopbackWeb
from tests.fleet.fleets import (
    MOST_S,
    crawls,
    descendants,
    is_alive,
    listens_on,
    run_fleet,
    running,
    until,
)
from tests.fleet.hello import NAMES, ROUTES, SETTINGS, check_whole, queue, too_near


@pytest.fixture
def web(loopback) -> LoopbackWeb:  # type: ignore[no-untyped-def]
    return loopback(ROUTES, names=NAMES)


@pytest.mark.soak
def test_a_killed_worker_costs_nothing(tmp_path: Path, web: LoopbackWeb) -> None:
    urls = queue(tmp_path, web)
    with running(tmp_path, "--shards", "4", "--workers", "2", "--json", names=NAMES, settings=SETTINGS) as fleet:
        for killed in range(2):
            until(lambda so_far=10 * (killed + 1): len(web.arrivals) >= so_far)
            child, worker = until(lambda: sorted(crawls(fleet.pid).items()))[-1]
            os.kill(worker, signal.SIGKILL)
            until(lambda child=child: not is_alive(child))
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 0, out
    found = json.loads(out.splitlines()[-1])
    assert sum(shard["deaths"] for shard in found["shards"]) == 2
    assert sum(shard["starts"] for shard in found["shards"]) == 6
    assert too_near(web) == []
    check_whole(tmp_path / "store", urls)


@pytest.mark.soak
def test_a_killed_crawl_is_begun_again(tmp_path: Path, web: LoopbackWeb) -> None:
    urls = queue(tmp_path, web)
    with running(tmp_path, "--shards", "2", "--workers", "1", "--json", names=NAMES, settings=SETTINGS) as fleet:
        until(lambda: len(web.arrivals) >= 10)
        family = [fleet.pid, *descendants(fleet.pid)]
        # 127.0.0.1
        assert set().union(*map(listens_on, family)) == {"0100007F"}
        (child,) = crawls(fleet.pid)
        os.kill(child, signal.SIGKILL)
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 0, out
    assert sum(shard["deaths"] for shard in json.loads(out.splitlines()[-1])["shards"]) == 1
    check_whole(tmp_path / "store", urls)


@pytest.mark.soak
def test_a_killed_fleet_leaves_nobody_behind(tmp_path: Path, web: LoopbackWeb) -> None:
    urls = queue(tmp_path, web)
    given = {"names": NAMES, "settings": SETTINGS}
    with running(tmp_path, "--shards", "4", "--workers", "2", **given) as fleet:
        until(lambda: len(web.arrivals) >= 10)
        family = descendants(fleet.pid)
        fleet.kill()
        until(lambda: not any(map(is_alive, family)))
    code, out, log = run_fleet(tmp_path, "--shards", "4", "--workers", "2", **given)
    assert code == 0, out + log
    assert too_near(web) == []
    check_whole(tmp_path / "store", urls)
