"""P2 at the servers' own logs: no second way out, whatever an extension or a middleware tries beside a crawl.

Each guard with its twin, a crawl that lacks it: there the foreign request does get out.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.errors import ExitCode
from seaspider.loopback import Arrival, LoopbackWeb
from seaspider.loopback.judge import Key, max_in_flight, order, pages_before_robots, pairs_nearer
from tests.crawling import Ended, crawl
from tests.extras import added, rogueweb
from tests.extras.sabotages import DOOR_ASKS_NO_PERMIT


@dataclass(frozen=True)
class Escapes:
    """A crawl beside which foreign parts wanted out, what they were told, and what arrived."""

    ended: Ended
    told: dict[str, str]
    arrivals: list[Arrival]
    connected_to_proxy: int

    def robots_asked(self) -> Counter[str]:
        return Counter(one.name for one in self.arrivals if one.target == "/robots.txt")


def escapes(folder: Path, sabotage: str = "", *, interval_s: float = rogueweb.INTERVAL_S) -> Escapes:
    with LoopbackWeb(rogueweb.ROUTES, names=rogueweb.NAMES, addresses=[rogueweb.PROXY]) as web:
        report = folder / "report.json"
        ended = crawl(
            [rogueweb.url(place, web) for place in rogueweb.QUEUE],
            folder,
            names=rogueweb.NAMES,
            settings={
                "SEASPIDER_INTERVAL": interval_s,
                "ROGUE_PLAN": json.dumps(rogueweb.plan(web)),
                "ROGUE_REPORT": report,
                **added("EXTENSIONS", rogue__Rogue=500),
                **added("DOWNLOADER_MIDDLEWARES", swap__Swap=150),
            },
            sabotage=sabotage,
        )
        return Escapes(ended, json.loads(report.read_text("utf-8")), web.arrivals, web.connections_to(rogueweb.PROXY))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Escapes:
    return escapes(tmp_path_factory.mktemp("held"))


@pytest.mark.parametrize(("place", "told"), rogueweb.WANTED.items(), ids=rogueweb.WANTED)
def test_p2_a_foreign_request_obeys_or_is_refused(held: Escapes, place: str, told: str) -> None:
    assert held.told[place][: len(told)] == told


def test_p2_no_foreign_request_is_lost(held: Escapes) -> None:
    assert held.told.keys() == rogueweb.WANTED.keys()


def test_p2_exactly_what_is_allowed_is_asked(held: Escapes) -> None:
    assert Counter(one for one in order(held.arrivals) if one[1] != "/robots.txt") == Counter(rogueweb.ASKED)
    assert pages_before_robots(held.arrivals) == []
    assert {one.method for one in held.arrivals} == {"GET"}
    assert held.connected_to_proxy == 0


def test_p2_robots_txt_is_asked_once_though_many_want_it_at_once(held: Escapes) -> None:
    assert held.robots_asked() == Counter(rogueweb.NAMES.keys())


def test_p2_one_request_is_in_flight_and_pauses_are_kept(held: Escapes) -> None:
    assert max_in_flight(held.arrivals) == 1
    for key in Key:
        assert pairs_nearer(held.arrivals, key, int(rogueweb.INTERVAL_S * 1e9)) == []


def test_p2_a_visit_whose_request_was_taken_away_is_no_success(held: Escapes) -> None:
    assert held.ended.exit == ExitCode.INTERNAL


# Twins.

FOREIGN_NOT_JUDGED = """
from seaspider.extension import Seaspider
from seaspider.middlewares.robots import RobotsMiddleware
_process = RobotsMiddleware.process_request
async def process_request(self, request):
    return await _process(self, request) if Seaspider.of(self._crawler).ours(request) else None
RobotsMiddleware.process_request = process_request
"""
NOT_ONE_AT_A_TIME = """
import contextlib
from seaspider.door import Door
_init = Door.__init__
def init(self, *parts, **named):
    _init(self, *parts, **named)
    self._one_at_a_time = contextlib.nullcontext()
Door.__init__ = init
"""
FETCHES_NOT_SHARED = """
from seaspider.core.frontier import Frontier
Frontier.under_way = lambda self, origin: None
"""


def test_p2_twin_a_door_that_asks_for_no_permit_lets_foreign_requests_out(tmp_path: Path) -> None:
    twin = escapes(tmp_path, FOREIGN_NOT_JUDGED + DOOR_ASKS_NO_PERMIT, interval_s=0)
    assert {("a.test", "/private/x"), ("a.test", "/private/y"), ("fog.test", "/1")} <= set(order(twin.arrivals))


def test_p2_twin_without_the_queue_at_the_door_several_are_in_flight(tmp_path: Path) -> None:
    assert max_in_flight(escapes(tmp_path, NOT_ONE_AT_A_TIME, interval_s=0).arrivals) > 1


def test_p2_twin_without_sharing_robots_txt_is_asked_twice(tmp_path: Path) -> None:
    assert escapes(tmp_path, FETCHES_NOT_SHARED, interval_s=0).robots_asked()["c.test"] == 2
