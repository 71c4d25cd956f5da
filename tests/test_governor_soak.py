"""The governor at full size: forty hosts and a slow one, two thousand hosts, and Retry-After in whole seconds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import crawl

pytestmark = pytest.mark.soak

S = 1_000_000_000
SLOW = "m.slow.test"
ALLOWED = Answer(body="User-agent: *\nDisallow:\n")


def window_s(folder: Path, order: str, network: str) -> float:
    """Seconds from the first request to the last answer of 41 hosts x 11 turns, at a pause of 1 s and, for one, 5 s."""
    folder.mkdir()
    names = {f"h{n:02}.test": f"{network}.{n + 1}" for n in range(40)} | {SLOW: f"{network}.99"}
    slow_robots = Answer(body="User-agent: *\nCrawl-delay: 5\n")
    routes = {"/robots.txt": ALLOWED, "/*": Answer(body="x"), f"{SLOW}/robots.txt": slow_robots}
    with LoopbackWeb(routes, names=names) as web:
        queue = [web.url(host, f"/{n}") for n in range(10) for host in names]
        ended = crawl(
            queue, folder, names=names, settings={"SEASPIDER_INTERVAL": 1}, arguments={"order": order}, timeout_s=200
        )
        assert (ended.exit, len(web.arrivals)) == (0, 41 * 11), ended.log
        return (web.arrivals[-1].answered_ns - web.arrivals[0].arrived_ns) / S


def test_forty_hosts_and_one_five_times_slower_end_with_the_slow_one(tmp_path: Path) -> None:
    """The bound is the slow host's: ten pauses of 5 s. All orders are shown, longest-idle is held to it."""
    with ThreadPoolExecutor(3) as pool:
        idle = pool.submit(window_s, tmp_path / "idle", "longest-idle", "127.3.0")
        rounds = pool.submit(window_s, tmp_path / "rounds", "round-robin", "127.3.1")
        most = pool.submit(window_s, tmp_path / "most", "most-remaining", "127.3.2")
        took = f"longest-idle {idle.result():.2f} s, round-robin {rounds.result():.2f} s"
        print(f"\nbound 50 s: {took}, most-remaining {most.result():.2f} s")
        assert 50 <= idle.result() <= 50 * 1.05


def test_two_thousand_hosts_are_asked_in_two_rounds(tmp_path: Path) -> None:
    """No turn waits while another host is due: all robots.txt first, then all pages, each host once a round."""
    names = {f"h{n:04}.test": f"127.4.{n // 250}.{n % 250 + 1}" for n in range(2000)}
    with LoopbackWeb({"/*": Answer(404)}, addresses=sorted(set(names.values()))) as web:
        queue = [web.url(host, "/") for host in names]
        ended = crawl(queue, tmp_path, names=names, settings={"SEASPIDER_INTERVAL": 2}, timeout_s=250)
    assert ended.exit == 0, ended.log
    claims = [row["host"] for row in ended.records("requests") if row["event"] == "claim"]
    assert claims == sorted(names) * 2


def test_retry_after_three_seconds_is_asked_again_after_three_and_at_the_next_turn(tmp_path: Path) -> None:
    names = {"a.test": "127.5.0.1", "b.test": "127.5.0.2"}
    pushing = (Answer(429, (("Retry-After", "3"),)), Answer(body="x"))
    with LoopbackWeb({"/robots.txt": ALLOWED, "a.test/1": pushing, "/*": Answer(body="x")}, names=names) as web:
        queue = [web.url(host, f"/{n}") for n in (1, 2) for host in names]
        ended = crawl(queue, tmp_path, names=names, settings={"SEASPIDER_INTERVAL": 0.1})
        asked = [arrival for arrival in web.arrivals if arrival.name == "a.test"]
    assert ended.exit == 0, ended.log
    assert [arrival.target for arrival in asked] == ["/robots.txt", "/1", "/1", "/2"]
    assert asked[2].arrived_ns - asked[1].arrived_ns >= 3 * S
