"""Breadth costs nothing: 300 hosts with a pause of 1 s between two requests to a host or an address take seconds.

Turn by turn, a host's page comes when its pause is over and the others have had their turn meanwhile; with one blocking
visit a host it would take 300 s and more.
"""

import logging
from pathlib import Path

import pytest

from seaspider.core.times import NS_PER_S
from seaspider.loopback import Answer, Arrival, LoopbackWeb
from seaspider.loopback.judge import Key, max_in_flight, min_gaps_ns, order
from tests.crawling import crawl

logger = logging.getLogger(__name__)

HOSTS = 300
INTERVAL_S = 1
NAMES = {f"h{number:03}.test": f"127.1.{number // 100}.{number % 100 + 1}" for number in range(HOSTS - 1)}
# One more name on an address that another host has.
MATE, SHARER = "h120.test", "h121-mate.test"
NAMES[SHARER] = NAMES[MATE]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Arrival]:
    routes = {"/robots.txt": Answer(404), "/page": Answer(body="a page\n")}
    folder: Path = tmp_path_factory.mktemp("breadth")
    with LoopbackWeb(routes, names=NAMES) as web:
        queue = [web.url(name, "/page") for name in sorted(NAMES, reverse=True)]
        ended = crawl(queue, folder, names=NAMES, settings={"SEASPIDER_INTERVAL": INTERVAL_S})
        assert ended.exit == 0, ended.log
        return web.arrivals


def test_two_rounds_over_the_sorted_hosts(found: list[Arrival]) -> None:
    """All robots.txt, then, 1 s on by the logical clock, all pages; 2 s on, that of an address asked at 1 s."""
    pages = [name for name in sorted(NAMES) if name != SHARER] + [SHARER]
    assert order(found) == [(name, "/robots.txt") for name in sorted(NAMES)] + [(name, "/page") for name in pages]


def test_p3_no_address_and_no_host_is_asked_within_its_pause(found: list[Arrival]) -> None:
    by_host, by_address = (min_gaps_ns(found, key) for key in (Key.HOST, Key.IP))
    assert (len(by_host), len(by_address)) == (HOSTS, HOSTS - 1)
    assert min(*by_host.values(), *by_address.values()) >= INTERVAL_S * NS_PER_S
    assert max_in_flight(found) == 1


def test_it_takes_seconds(found: list[Arrival]) -> None:
    """Seconds at the servers, from first to last arrival, far below the 300 of one visit after the other."""
    seconds = (found[-1].arrived_ns - found[0].arrived_ns) / NS_PER_S
    logger.info("%d hosts in %.2f s", HOSTS, seconds)
    assert seconds < HOSTS * INTERVAL_S / 5
