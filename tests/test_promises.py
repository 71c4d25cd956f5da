"""P1, P4 and P7 at the servers' own logs of what arrived.

Each with its twin, a crawl with one guard taken out: there the wrong thing does happen, so the guard is what keeps it
from happening and the test can see it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.loopback import Arrival
from seaspider.loopback.judge import max_in_flight, order, pages_before_robots
from tests.crawling import Ended, crawl
from tests.extras import judgedweb
from tests.extras.judgedweb import OTHER_LINES, PLAIN, REDIRECTED, UNREADABLE, UNREADABLE_LINES, Line
from tests.extras.sabotages import DOOR_ASKS_NO_PERMIT

LINES = PLAIN + REDIRECTED + UNREADABLE_LINES


@dataclass(frozen=True)
class Judged:
    """A crawl of the judged web, and what arrived at its two ports."""

    ended: Ended
    port: int
    other_port: int
    arrivals: list[Arrival]
    at_other: list[Arrival]
    connected_to_special: int

    def ending(self, line: Line) -> str | None:
        return self.ended.endings().get(f"http://{_on(self.port, line.place)}")


def _on(port: int, place: str) -> str:
    """The URL's authority and path as the records have them."""
    host, _, path = place.partition("/")
    path = path.replace("x/../", "").replace("%70", "p")
    return f"{host}:{port}/{path}" if host != "ghost.test" else f"{host}/{path}"


def judged(folder: Path, lines: Sequence[Line], others: Sequence[Line] = (), sabotage: str = "") -> Judged:
    with judgedweb.serving() as (web, other):
        queue = [f"http://{line.host}:{web.port}/{line.place.partition('/')[2]}" for line in lines]
        queue = [line.replace(f"ghost.test:{web.port}", "ghost.test") for line in queue]
        queue += [f"http://{line.host}:{other.port}/{line.place.partition('/')[2]}" for line in others]
        ended = crawl(
            queue,
            folder,
            names=judgedweb.NAMES,
            settings={
                "SEASPIDER_ALLOWED_NETWORKS": judgedweb.ALLOWED_NETWORKS,
                "DOWNLOAD_TIMEOUT": judgedweb.TIMEOUT_S,
                "REDIRECT_MAX_TIMES": judgedweb.MOST_HOPS,
            },
            sabotage=judgedweb.STORM + sabotage,
        )
        special = web.connections_to(judgedweb.SPECIAL)
        return Judged(ended, web.port, other.port, web.arrivals, other.arrivals, special)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The crawl with every guard in place."""
    return judged(tmp_path_factory.mktemp("kept"), LINES, OTHER_LINES)


ROBOTS_HOPS = {("open.test", "/elsewhere.txt"), *(("longway.test", f"/r/{n}") for n in range(1, 7))}


def pages(arrivals: Sequence[Arrival]) -> list[tuple[str, str]]:
    return [one for one in order(arrivals) if one[1] != "/robots.txt" and one not in ROBOTS_HOPS]


def early(arrivals: Sequence[Arrival]) -> set[tuple[str, str]]:
    return {(one.name, one.target) for one in pages_before_robots(arrivals, ROBOTS_HOPS)}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.place)
def test_each_line_ends_as_its_robots_and_its_redirects_say(kept: Judged, line: Line) -> None:
    assert kept.ending(line) == line.ending, kept.ended.log


def test_the_other_port_is_an_origin_of_its_own(kept: Judged) -> None:
    endings = kept.ended.endings()
    assert [endings[f"http://{_on(kept.other_port, line.place)}"] for line in OTHER_LINES] == [
        line.ending for line in OTHER_LINES
    ]
    assert order(kept.at_other).count(("open.test", "/robots.txt")) == 1
    assert pages(kept.at_other) == [("none.test", "/other")]


def test_p1_no_page_is_asked_before_its_origins_robots_txt_is_answered(kept: Judged) -> None:
    assert early(kept.arrivals) == early(kept.at_other) == set()


def test_p1_p4_p7_exactly_what_is_allowed_is_asked(kept: Judged) -> None:
    assert Counter(pages(kept.arrivals)) == Counter(one for line in LINES for one in line.asked)


def test_p4_no_hop_connects_to_a_special_address(kept: Judged) -> None:
    assert kept.connected_to_special == 0


def test_p7_every_origin_is_asked_for_its_robots_txt_once(kept: Judged) -> None:
    asked = Counter(one.name for one in kept.arrivals if one.target == "/robots.txt")
    hosts = {line.host for line in LINES} - {"ghost.test", "stormy.test"}
    assert asked == Counter(hosts)
    assert {one for one in order(kept.arrivals) if one in ROBOTS_HOPS} == ROBOTS_HOPS - {("longway.test", "/r/6")}


def test_p7_the_reason_is_recorded(kept: Judged) -> None:
    origins = {row["origin"]: row["reason"] for row in kept.ended.records("robots")}
    reasons = {origin.removeprefix("http://").partition(".")[0]: reason for origin, reason in origins.items()}
    assert {name: reasons[name] for name in (*UNREADABLE, "stormy")} == {
        "busy": "http-5xx",
        "broken": "http-5xx",
        "later": "http-429",
        "part": "http-other",
        "unchanged": "http-other",
        "nowhere": "http-other",
        "circle": "redirect-loop",
        "longway": "redirect-limit",
        "inward": "special-address",
        "lost": "dns",
        "mail": "refused-target",
        "reset": "reset",
        "shut": "cut",
        "short": "cut",
        "bogus": "decode",
        "rot": "decode",
        "babble": "protocol",
        "silent": "timeout",
        "stormy": "dns",
    }


def test_p3_one_request_is_in_flight(kept: Judged) -> None:
    assert max_in_flight(kept.arrivals) == 1


def test_what_arrived_is_what_the_store_says_was_claimed(kept: Judged) -> None:
    at = {(one.host, one.target): one.arrived_ns for one in [*kept.arrivals, *kept.at_other]}
    claims = [row for row in kept.ended.records("requests") if row["event"] == "claim"]
    claimed = Counter(tuple(row["url"].removeprefix("http://").partition("/")[::2]) for row in claims)
    assert claimed == Counter((one.host, one.target[1:]) for one in [*kept.arrivals, *kept.at_other])
    assert len(at) == len(claims)


# Twins.

NEVER_JUDGED = """
from seaspider.core.frontier import Frontier
Frontier.judge = lambda self, hop, now_ms, awaited=None: None
"""
HOPS_NOT_JUDGED = """
from seaspider.core.frontier import Frontier
_hop, _judge, hops = Frontier.hop, Frontier.judge, []
def hop(self, visit, url):
    _hop(self, visit, url)
    hops.append(visit.chain[-1])
def judge(self, hop, now_ms, awaited=None):
    return None if any(hop is other for other in hops) else _judge(self, hop, now_ms, awaited)
Frontier.hop, Frontier.judge = hop, judge
"""
UNREADABLE_ALLOWS = """
from seaspider.core.frontier import Frontier
_judge = Frontier.judge
def judge(self, hop, now_ms, awaited=None):
    judgement = _judge(self, hop, now_ms, awaited)
    return None if getattr(judgement, "reason", None) == "robots-unreachable" else judgement
Frontier.judge = judge
"""
NO_ROBOTS_MIDDLEWARE = """
from seaspider.middlewares.robots import RobotsMiddleware
async def process_request(self, request):
    return None
RobotsMiddleware.process_request = process_request
"""


def test_p1_twin_without_the_judge_pages_come_first_and_forbidden_ones_too(tmp_path: Path) -> None:
    twin = judged(tmp_path, PLAIN, sabotage=NEVER_JUDGED)
    assert early(twin.arrivals) == set(pages(twin.arrivals)) > {("open.test", "/private/x"), ("cap.test", "/")}


def test_p4_twin_where_hops_are_not_judged_forbidden_targets_are_asked(tmp_path: Path) -> None:
    twin = judged(tmp_path, REDIRECTED, sabotage=HOPS_NOT_JUDGED)
    assert early(twin.arrivals) == {("busy.test", "/hop"), ("cap.test", "/hop"), ("slow.test", "/hop")} | {
        (host, target) for host, target in pages(twin.arrivals) if host in {"open.test", "none.test"}
    }
    assert {("hops.test", "/own/secret"), ("open.test", "/private/hop")} <= set(pages(twin.arrivals))


def test_p7_twin_where_unreadable_allows_their_pages_are_asked(tmp_path: Path) -> None:
    lines = [line for line in UNREADABLE_LINES if line.host not in {"silent.test", "stormy.test"}]
    twin = judged(tmp_path, lines, sabotage=UNREADABLE_ALLOWS)
    assert set(pages(twin.arrivals)) == {(line.host, "/page") for line in lines}


def test_p1_p7_the_door_sends_nothing_that_nobody_decided(tmp_path: Path) -> None:
    assert judged(tmp_path, PLAIN, sabotage=NO_ROBOTS_MIDDLEWARE).arrivals == []


def test_p1_p7_twin_a_door_that_asks_for_no_permit_sends_it(tmp_path: Path) -> None:
    twin = judged(tmp_path, PLAIN, sabotage=NO_ROBOTS_MIDDLEWARE + DOOR_ASKS_NO_PERMIT)
    assert ("open.test", "/robots.txt") in order(twin.arrivals)
