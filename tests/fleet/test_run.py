"""Real fleets on a real Dask cluster: what came of them does not depend on who worked."""

import json
import os
import signal
from pathlib import Path

import pytest

from seaspider.fleet import plan as plans
from seaspider.loopback import Answer, LoopbackWeb
from tests.fleet.fleets import (
    MOST_S,
    descendants,
    is_alive,
    run_fleet,
    running,
    until,
)
from tests.fleet.hello import HOSTS, NAMES, PAGES, ROUTES, SETTINGS, check_whole, queue, too_near


@pytest.fixture
def web(loopback) -> LoopbackWeb:  # type: ignore[no-untyped-def]
    return loopback(ROUTES, names=NAMES)


def test_a_fleet_crawls_each_url_once_and_the_same_command_again_none(tmp_path: Path, web: LoopbackWeb) -> None:
    urls = queue(tmp_path, web)
    given = {"names": NAMES, "settings": SETTINGS}
    code, out, log = run_fleet(tmp_path, "--shards", "3", "--workers", "2", "--json", **given)
    assert code == 0, log
    found = json.loads(out)
    asked = len(web.arrivals)
    assert asked == HOSTS * (PAGES + 1)
    assert (found["requests"], found["too_near"], found["states"]) == (asked, 0, {"done": 3})
    assert [shard["starts"] for shard in found["shards"]] == [1, 1, 1]
    assert found["plan"] == plans.read(tmp_path / "store/plan").digest
    assert log.splitlines()[-1].endswith("requests)")
    assert too_near(web) == []
    check_whole(tmp_path / "store", urls)
    code, out, log = run_fleet(tmp_path, "--shards", "3", "--workers", "2", **given)
    assert (code, log) == (0, "")
    assert out.splitlines()[-2:] == ["3 done; 0 requests, 0 pairs too near", "All 50 lines of the queue are final."]
    assert len(web.arrivals) == asked


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_lets_the_crawls_come_to_their_end(tmp_path: Path, web: LoopbackWeb, number: signal.Signals) -> None:
    urls = queue(tmp_path, web)
    given = {"names": NAMES, "settings": SETTINGS}
    with running(tmp_path, "--shards", "4", "--workers", "2", "--json", **given) as fleet:
        until(lambda: len(web.arrivals) >= 10)
        family = descendants(fleet.pid)
        # A Ctrl-C is for all that the terminal shows, `kill` for one process.
        (os.killpg if number == signal.SIGINT else os.kill)(fleet.pid, number)
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 130, out
    until(lambda: not any(map(is_alive, family)))
    states = json.loads(out.splitlines()[-1])["states"]
    assert states["stopped"] >= 1
    assert states["waiting"] >= 1
    for path in (tmp_path / "store/shards").glob("*/manifest.jsonl"):
        assert json.loads(path.read_text().splitlines()[-1])["event"] == "end"
    code, out, log = run_fleet(tmp_path, "--shards", "4", "--workers", "2", **given)
    assert code == 0, out + log
    assert len(web.arrivals) == HOSTS * (PAGES + 1)
    check_whole(tmp_path / "store", urls)


@pytest.mark.soak
def test_a_second_signal_ends_it_at_once(tmp_path: Path, loopback) -> None:  # type: ignore[no-untyped-def]
    routes = {"/robots.txt": Answer(404), "/*": Answer(body="late", delay_s=50)}
    slow = loopback(routes, names=NAMES)
    queue(tmp_path, slow)
    given = {"names": NAMES, "settings": {**SETTINGS, "DOWNLOAD_TIMEOUT": 60}}
    with running(tmp_path, "--shards", "2", "--workers", "2", **given) as fleet:
        until(lambda: len([each for each in slow.arrivals if each.target != "/robots.txt"]) >= 2)
        family = descendants(fleet.pid)
        fleet.send_signal(signal.SIGINT)
        # Two of one kind that come together are one.
        fleet.send_signal(signal.SIGTERM)
        out, _ = fleet.communicate(timeout=20)
    assert (fleet.returncode, out.splitlines()[-1]) == (130, "scrapy fleet: interrupted")
    until(lambda: not any(map(is_alive, family)))


@pytest.mark.soak
def test_what_no_crawl_can_use_ends_the_fleet(tmp_path: Path, web: LoopbackWeb) -> None:
    """Not known before: the ledger is no ledger."""
    queue(tmp_path, web)
    (tmp_path / "ledger.sqlite3").write_text("something else\n" * 100)
    code, out, log = run_fleet(tmp_path, "--shards", "4", "--workers", "1", "--json", names=NAMES)
    assert code == 2, out + log
    found = json.loads(out)
    assert found["states"] == {"waiting": 3, "failed": 1}
    (failed,) = [shard for shard in found["shards"] if shard["state"] == "failed"]
    assert failed["said"].startswith("scrapy crawl: setting SEASPIDER_LEDGER = ")
    assert web.arrivals == []
