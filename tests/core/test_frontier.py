"""What happens next: every judgement, every way a robots.txt fetch goes, and what stops a host."""

from dataclasses import replace
from typing import Any

import pytest

from seaspider.core.frontier import (
    Frontier,
    FrontierPolicy,
    NeedsRobots,
    PageTurn,
    RobotsStop,
    RobotsTurn,
    StopTurn,
    Turn,
    fetch_stopped,
)
from seaspider.core.order import RoundRobin
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsanswer import RobotsAnswer, RobotsContext, conclude, unreachable
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsfile import RobotsFile, parse
from seaspider.core.robotsstate import RobotsCause, RobotsPolicy, RobotsReason
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Decision, Hop, Visit

T0 = 1_796_015_856_123
S = 1_000
DAY, HOUR = 86_400 * S, 3_600 * S
BLOCK_MS = 1_000_000 * S
NS = 1_000_000_000
DNS = Ending(Outcome.FAILED, Reason.DNS)
SPECIAL = Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)
ALL = b""
POLICY = FrontierPolicy(
    token="seaspider", crawl_delay_cap_s=60, stop_on_403=True, block_ms=BLOCK_MS, host_budget=0
)  # fmt: skip


class World:
    """A frontier with a real book and real rules, and a clock that is moved by hand."""

    def __init__(self, *, robots: RobotsPolicy | None = None, **policy: Any) -> None:
        self.robots = robots or RobotsPolicy()
        self.book = RobotsBook(self.robots)
        self.files: dict[str, RobotsFile] = {}
        self.frontier = Frontier(replace(POLICY, **policy), self.book, self.rules, RoundRobin())
        self.now_ms = T0
        self.entries = 0

    def rules(self, entry: RobotsEntry) -> RobotsFile:
        assert entry.sha256 is not None
        return self.files[entry.sha256]

    def add(self, *texts: str, **fields: Any) -> list[Visit]:
        visits = [Visit(normalise(text), **fields) for text in texts]
        for visit in visits:
            self.frontier.add(visit)
        return visits

    def turn(self) -> Turn | None:
        return self.frontier.next_turn(self.now_ms)

    def entry(
        self, origin: str, answer: bytes | int | RobotsReason, cause: RobotsCause, chain: list[Hop]
    ) -> RobotsEntry:
        """The entry that an answer to /robots.txt makes: a body, a status or a failure."""
        self.entries += 1
        context = RobotsContext(self.robots, self.book, 5, run=1, id=self.entries, now_ms=self.now_ms)
        if isinstance(answer, RobotsReason):
            return unreachable(origin, cause, chain, answer, context)
        status, body = (200, answer) if isinstance(answer, bytes) else (answer, b"")
        entry = conclude(origin, cause, chain, RobotsAnswer(status, (), body), context)
        assert isinstance(entry, RobotsEntry)
        if entry.sha256 is not None:
            self.files[entry.sha256] = parse(body)
        return entry

    def know(self, origin: str, answer: bytes | int | RobotsReason = ALL) -> RobotsEntry:
        """Puts an entry in force, as if fetched in an earlier run."""
        return self.book.put(self.entry(origin, answer, RobotsCause.FIRST, [Hop(normalise(origin + "/robots.txt"))]))

    def asked(self, url: Url, *, ip: str | None = None, pause_s: int = 2) -> None:
        """A request that was given by next_turn() is over."""
        self.frontier.sent(url.host, in_turn=True)
        self.frontier.settled(url.host, ip or url.host, pause_s * NS, 0)

    def answer_robots(self, turn: Turn | None, answer: bytes | int | RobotsReason = ALL) -> RobotsEntry:
        assert isinstance(turn, RobotsTurn)
        self.asked(turn.hop.url)
        entry = self.book.put(self.entry(turn.fetch.origin, answer, turn.fetch.cause, turn.fetch.chain))
        self.frontier.robots_known(turn.fetch, entry)
        return entry

    def page(self) -> str:
        """The next turn, which must be a page's; it is asked."""
        turn = self.turn()
        assert isinstance(turn, PageTurn), turn
        self.asked(turn.hop.url)
        return turn.hop.url.text

    def stop(self) -> tuple[str, Ending]:
        """The next turn, which must end a visit."""
        turn = self.turn()
        assert isinstance(turn, StopTurn), turn
        return turn.visit.url.text, turn.ending


def robots_turn(turn: Turn | None) -> tuple[str, str]:
    """(origin, URL asked)"""
    assert isinstance(turn, RobotsTurn), turn
    return turn.fetch.origin, turn.hop.url.text


# judge(): every branch, and what it writes into the hop

URL = "http://a.test/x"
GROUPS = (
    b"User-agent: *\nDisallow: /\n\nUser-agent: seaspider\nCrawl-delay: 7.5\nAllow: /x\nDisallow: /x$\nDisallow: /p\n"
)
SLOW = b"User-agent: *\nCrawl-delay: %s\nDisallow: /p\n"
JUDGED: dict[str, tuple[bytes | int | RobotsReason, str, Any, dict[str, Any]]] = {
    "no-rule-for-us": (b"User-agent: other\nDisallow: /\n", URL, None, {"decision": "allow", "witness": "allow"}),
    "empty-file": (ALL, URL, None, {"decision": "allow", "witness": "allow"}),
    "allow-rule": (
        GROUPS,
        "http://a.test/xy",
        None,
        {
            "decision": "allow",
            "witness": "allow",
            "group": "seaspider",
            "rule": "Allow: /x",
            "rule_line": 6,
            "crawl_delay_s": 7.5,
        },
    ),
    "no-rule-of-the-group": (
        GROUPS,
        "http://a.test/",
        None,
        {"decision": "allow", "witness": "allow", "group": "seaspider", "crawl_delay_s": 7.5},
    ),
    "disallow-rule": (
        GROUPS,
        URL,
        Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE),
        {
            "decision": "disallow",
            "witness": "disallow",
            "group": "seaspider",
            "rule": "Disallow: /x$",
            "rule_line": 7,
            "crawl_delay_s": 7.5,
        },
    ),
    "the-witness-differs-and-we-decide": (
        b"User-agent: *\nDisallow: /x$\n",
        "http://a.test/x$",
        None,
        {"decision": "allow", "witness": "disallow", "group": "*"},
    ),
    "the-witness-is-not-asked-about-very-long-rules": (
        b"User-agent: *\n" + b"Disallow: /%s\n" % (b"y" * 2_000) * 101,
        URL,
        None,
        {"decision": "allow", "group": "*"},
    ),
    "robots.txt-itself-as-a-page": (
        GROUPS,
        "http://a.test/robots.txt",
        None,
        {"decision": "allow", "witness": "allow", "crawl_delay_s": 7.5},
    ),
    "crawl-delay-at-the-cap": (
        SLOW % b"60",
        URL,
        None,
        {"decision": "allow", "witness": "allow", "group": "*", "crawl_delay_s": 60},
    ),
    "crawl-delay-over-the-cap": (
        SLOW % b"60.5",
        URL,
        Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY, None),
        {"decision": "allow", "witness": "allow", "group": "*", "crawl_delay_s": 60.5},
    ),
    "a-rule-is-stronger-than-the-cap": (
        SLOW % b"61",
        "http://a.test/p",
        Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE),
        {
            "decision": "disallow",
            "witness": "disallow",
            "group": "*",
            "rule": "Disallow: /p",
            "rule_line": 3,
            "crawl_delay_s": 61,
        },
    ),
    "absent": (404, URL, None, {"decision": "allow"}),
    "absent-403": (403, URL, None, {"decision": "allow"}),
    "unreachable-503": (
        503,
        URL,
        Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, T0 + HOUR),
        {"decision": "unreachable"},
    ),
    "unreachable-connect": (
        RobotsReason.CONNECT,
        URL,
        Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, T0 + HOUR),
        {"decision": "unreachable"},
    ),
}


@pytest.mark.parametrize(("answer", "url", "judgement", "written"), JUDGED.values(), ids=JUDGED)
def test_judged_by_the_entry_in_force(
    answer: bytes | int | RobotsReason, url: str, judgement: Ending | None, written: dict[str, Any]
) -> None:
    world, hop = World(), Hop(normalise(url))
    world.know("http://a.test", answer)
    assert world.frontier.judge(hop, T0) == judgement
    assert hop == Hop(normalise(url), robots_id=1, judged_ms=T0, **written)


def test_without_an_entry_in_force_robots_comes_first() -> None:
    world, hop = World(), Hop(normalise(URL))
    for origin in ("https://a.test", "http://a.test:8080", "http://b.test"):
        world.know(origin)
    assert world.frontier.judge(hop, T0) == NeedsRobots()
    world.know("http://a.test")
    assert world.frontier.judge(hop, T0 + DAY - 1) is None
    assert world.frontier.judge(hop, T0 + DAY) == NeedsRobots()


@pytest.mark.parametrize("answer", [ALL, 404, 503], ids=["parsed", "absent", "unreachable"])
def test_an_entry_that_is_over_decides_nothing(answer: bytes | int) -> None:
    world, hop = World(), Hop(normalise(URL))
    entry = world.know("http://a.test", answer)
    assert world.frontier.judge(hop, entry.expires_at_ms) == NeedsRobots()
    assert hop == Hop(normalise(URL), judged_ms=entry.expires_at_ms)


def test_given_up_after_as_many_periods_as_the_policy_bears() -> None:
    world, seen = World(robots=RobotsPolicy(give_up=3)), []
    for _ in range(4):
        entry = world.know("http://a.test", 503)
        seen.append(world.frontier.judge(Hop(normalise(URL)), world.now_ms))
        world.now_ms = entry.expires_at_ms
    deferred = [Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, T0 + n * HOUR) for n in (1, 2)]
    assert seen == [*deferred, *2 * [Ending(Outcome.FAILED, Reason.ROBOTS_UNREACHABLE)]]


def test_what_stops_a_host_comes_before_its_robots() -> None:
    world = World(host_budget=1)
    world.know("http://a.test", b"User-agent: *\nDisallow: /\n")
    world.frontier.sent("a.test", in_turn=False)
    hop = Hop(normalise(URL))
    assert world.frontier.judge(hop, T0) == Ending(Outcome.DEFERRED, Reason.BUDGET)
    world.frontier.forbidden("a.test", T0)
    assert world.frontier.judge(hop, T0) == Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0 + BLOCK_MS)
    world.frontier.host_ended("a.test", DNS)
    assert world.frontier.judge(hop, T0) == DNS
    assert hop == Hop(normalise(URL), judged_ms=T0)
    special = Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)
    world.frontier.host_ended("a.test", special, "10.0.0.7")
    assert world.frontier.judge(hop, T0 + 1) == special
    assert hop == Hop(normalise(URL), ip="10.0.0.7", judged_ms=T0 + 1)


# Robots.txt first


def test_robots_comes_first_and_takes_a_turn_of_its_own() -> None:
    world = World()
    visits = world.add("http://b.test/1", "http://a.test/1", "http://a.test/2", "https://a.test/3")
    first = world.turn()
    assert robots_turn(first) == ("http://a.test", "http://a.test/robots.txt")
    assert isinstance(first, RobotsTurn)
    assert (first.fetch.host, first.fetch.cause, first.fetch.visit) == ("a.test", RobotsCause.FIRST, 1)
    assert first.fetch.chain == [Hop(normalise("http://a.test/robots.txt"), judged_ms=T0)]
    assert world.frontier.waits_for(first.fetch)
    assert world.frontier.under_way("http://a.test") is first.fetch
    world.asked(first.hop.url)
    second = world.turn()
    assert robots_turn(second) == ("http://b.test", "http://b.test/robots.txt")
    world.answer_robots(second)
    # http://a.test waits for its answer; the other origin of its host is next, after b's page at the same moment.
    third = world.turn()
    assert robots_turn(third) == ("https://a.test", "https://a.test/robots.txt")
    world.answer_robots(third, 404)
    assert [world.page(), world.page()] == ["http://b.test/1", "https://a.test/3"]
    assert world.turn() is None
    assert (world.frontier.pending, list(world.frontier.unfinished())) == (2, visits[1:3])
    entry = world.book.put(world.entry("http://a.test", ALL, RobotsCause.FIRST, first.fetch.chain))
    world.frontier.robots_known(first.fetch, entry)
    assert not world.frontier.waits_for(first.fetch)
    assert world.frontier.under_way("http://a.test") is None
    assert [world.page(), world.page(), world.turn()] == ["http://a.test/1", "http://a.test/2", None]
    assert [visit.number for visit in visits] == [2, 1, 4, 3]
    assert world.frontier.requests == {"a.test": 5, "b.test": 2}


def test_one_fetch_serves_all_urls_of_its_origin() -> None:
    world = World()
    world.add("http://a.test/p/1", "http://a.test/2", "http://a.test/p/3", "http://a.test/4")
    world.answer_robots(world.turn(), b"User-agent: *\nDisallow: /p\n")
    no = Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE)
    assert world.stop() == ("http://a.test/p/1", no)
    assert world.page() == "http://a.test/2"
    assert world.stop() == ("http://a.test/p/3", no)
    assert [world.page(), world.turn()] == ["http://a.test/4", None]


@pytest.mark.parametrize(
    ("url", "robots"),
    [
        ("https://a.test/x?y", "https://a.test/robots.txt"),
        ("http://a.test:8080/x", "http://a.test:8080/robots.txt"),
        ("https://a.test:80/x", "https://a.test:80/robots.txt"),
        ("http://[2001:db8::1]:8080/x", "http://[2001:db8::1]:8080/robots.txt"),
        ("http://a.test/robots.txt", "http://a.test/robots.txt"),
    ],
)
def test_which_robots_txt_speaks_for_a_url(url: str, robots: str) -> None:
    world = World()
    world.add(url)
    assert robots_turn(world.turn()) == (robots.removesuffix("/robots.txt"), robots)


def test_the_cause_of_a_fetch() -> None:
    world = World()
    causes = []
    for answer, later_ms in ((503, HOUR), (ALL, DAY), (404, DAY), (ALL, 0)):
        world.add("http://a.test/x")
        turn = world.turn()
        assert isinstance(turn, RobotsTurn)
        causes.append(turn.fetch.cause)
        world.answer_robots(turn, answer)
        world.turn()
        world.frontier.sent("a.test", in_turn=True)
        world.now_ms += later_ms
    assert causes == ["first", "retry", "expired", "expired"]


def test_unreachable_ends_all_urls_of_the_origin_without_another_request() -> None:
    world = World()
    world.add("http://a.test/1", "http://a.test/2", "https://a.test/3")
    world.answer_robots(world.turn(), RobotsReason.TIMEOUT)
    later = Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, T0 + HOUR)
    assert [world.stop(), world.stop()] == [("http://a.test/1", later), ("http://a.test/2", later)]
    assert robots_turn(world.turn()) == ("https://a.test", "https://a.test/robots.txt")
    assert world.frontier.requests == {"a.test": 1}


@pytest.mark.parametrize("ending", [DNS, SPECIAL], ids=str)
def test_a_host_without_a_usable_address_ends_all_its_urls(ending: Ending) -> None:
    world = World()
    urls = ["http://a.test/1", "http://a.test/2", "https://a.test/3", "http://a.test:81/4"]
    world.add(*urls, "http://b.test/5")
    turn = world.turn()
    assert isinstance(turn, RobotsTurn)
    world.frontier.host_ended("a.test", ending)
    world.frontier.robots_abandoned(turn.fetch)
    assert not world.frontier.waits_for(turn.fetch)
    assert [world.stop() for _ in urls] == [(url, ending) for url in urls]
    assert robots_turn(world.turn())[0] == "http://b.test"
    world.add("http://a.test/6")
    world.frontier.sent("b.test", in_turn=True)
    assert world.stop() == ("http://a.test/6", ending)


def test_a_fetch_that_no_visit_waits_for_changes_nothing() -> None:
    world = World()
    (visit,) = world.add("http://a.test/1")
    turn = world.frontier.new_fetch(normalise("http://a.test/y"), T0, None)
    assert (turn.fetch.visit, world.frontier.waits_for(turn.fetch)) == (None, False)
    world.frontier.robots_known(turn.fetch, world.know("http://a.test"))
    world.frontier.robots_abandoned(turn.fetch)
    assert (visit.awaited, world.page()) == (None, "http://a.test/1")


# A fetched entry brings a visit on, even if it is over by then

SHORT = RobotsPolicy(ttl_s=1, retry_s=1)


@pytest.mark.parametrize("answer", [ALL, 404], ids=["parsed", "absent"])
def test_an_awaited_entry_decides_although_it_is_over(answer: bytes | int) -> None:
    world = World(robots=SHORT)
    world.add("http://a.test/1", "http://a.test/2")
    seen = []
    for page in ("http://a.test/1", "http://a.test/2"):
        entry = world.answer_robots(world.turn(), answer)
        world.now_ms += 2 * S
        assert world.book.in_force("http://a.test", world.now_ms) is None
        turn = world.turn()
        assert isinstance(turn, PageTurn)
        assert (turn.hop.url.text, turn.hop.robots_id, turn.visit.awaited) == (page, entry.id, None)
        world.asked(turn.hop.url)
        world.now_ms += 2 * S
        seen.append(entry.cause)
    assert seen == ["first", "expired"]


def test_without_the_awaited_entry_the_visit_would_never_come_on() -> None:
    """Twin: with a life shorter than the pause each fetch would lead to the next."""
    world = World(robots=SHORT)
    (visit,) = world.add("http://a.test/1")
    for _ in range(5):
        world.answer_robots(world.turn())
        visit.awaited = None
        world.now_ms += 2 * S
    assert world.frontier.requests == {"a.test": 5}
    assert robots_turn(world.turn())[0] == "http://a.test"


def test_an_awaited_failure_that_is_over_still_ends_its_visit() -> None:
    world = World(robots=SHORT)
    world.add("http://a.test/1", "http://a.test/2")
    world.answer_robots(world.turn(), 503)
    world.now_ms += 2 * S
    assert world.stop() == ("http://a.test/1", Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, T0 + S))
    assert robots_turn(world.turn())[0] == "http://a.test"


def test_a_newer_entry_in_force_is_stronger_than_the_awaited_one() -> None:
    world = World(robots=SHORT)
    world.add("http://a.test/1")
    world.answer_robots(world.turn())
    world.now_ms += 2 * S
    world.know("http://a.test", b"User-agent: *\nDisallow: /\n")
    assert world.stop() == ("http://a.test/1", Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE))


# Hops


def test_a_hop_is_judged_by_the_robots_of_its_own_origin() -> None:
    world = World()
    world.know("http://a.test")
    (visit,) = world.add("http://a.test/1")
    assert world.page() == "http://a.test/1"
    world.frontier.hop(visit, normalise("http://b.test/p"))
    assert visit.number == 1
    world.answer_robots(world.turn(), b"User-agent: *\nDisallow: /p\n")
    assert world.stop() == ("http://a.test/1", Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE))
    assert [(hop.url.text, hop.decision, hop.robots_id) for hop in visit.chain] == [
        ("http://a.test/1", Decision.ALLOW, 1),
        ("http://b.test/p", Decision.DISALLOW, 2),
    ]


def test_a_hop_waits_before_the_new_urls_of_its_host() -> None:
    world = World()
    for origin in ("http://a.test", "http://b.test"):
        world.know(origin)
    visit = world.add("http://a.test/1", "http://b.test/1", "http://b.test/2")[0]
    assert world.page() == "http://a.test/1"
    world.frontier.hop(visit, normalise("http://b.test/hop"))
    assert [world.page() for _ in range(3)] == ["http://b.test/hop", "http://b.test/1", "http://b.test/2"]


def test_a_visit_under_way_keeps_its_number_and_start() -> None:
    world = World()
    (visit,) = world.add("http://a.test/1")
    world.answer_robots(world.turn())
    world.now_ms += 5 * S
    assert world.page() == "http://a.test/1"
    assert (visit.number, visit.started_ms, len(visit.chain)) == (1, T0, 1)


# A hop of a robots.txt fetch

HOP = normalise("http://b.test/r.txt")
STOPPED: dict[str, tuple[Any, RobotsReason | None]] = {
    "blocked": (lambda world: world.frontier.forbidden("b.test", T0), RobotsReason.HOP_BLOCKED),
    "over-budget": (lambda world: world.frontier.sent("b.test", in_turn=False), RobotsReason.HOP_BUDGET),
    "no-such-name": (lambda world: world.frontier.host_ended("b.test", DNS), RobotsReason.DNS),
    "special": (lambda world: world.frontier.host_ended("b.test", SPECIAL), RobotsReason.SPECIAL_ADDRESS),
    "deferred": (lambda world: world.know("http://b.test", SLOW % b"61"), RobotsReason.HOP_DEFERRED),
    "crawl-delay-at-the-cap": (lambda world: world.know("http://b.test", SLOW % b"60"), None),
    "deferred-elsewhere": (lambda world: world.know("https://b.test", SLOW % b"61"), None),
    "everything-forbidden": (lambda world: world.know("http://b.test", b"User-agent: *\nDisallow: /"), None),
    "unreachable": (lambda world: world.know("http://b.test", 503), None),
    "absent": (lambda world: world.know("http://b.test", 404), None),
    "nothing-known": (lambda world: None, None),
}


@pytest.mark.parametrize(("before", "reason"), STOPPED.values(), ids=STOPPED)
def test_where_a_robots_hop_may_go(before: Any, reason: RobotsReason | None) -> None:
    world = World(host_budget=1)
    before(world)
    world.add("http://a.test/1")
    turn = world.turn()
    assert isinstance(turn, RobotsTurn)
    world.asked(turn.hop.url)
    hop = world.frontier.fetch_hop(turn.fetch, HOP)
    assert turn.fetch.chain == [turn.hop, Hop(HOP)]
    world.frontier.robots_hop(hop)
    assert (turn.fetch.queued, world.frontier.pending) == (True, 2)
    assert world.turn() == (RobotsStop(turn.fetch, reason) if reason else hop)
    assert (turn.fetch.queued, world.frontier.waits_for(turn.fetch)) == (False, True)


def test_a_robots_hop_within_its_own_host_may_go_on_though_the_host_defers_its_urls() -> None:
    """Else a crawl-delay that is over the cap could never be seen to become shorter."""
    world = World()
    world.know("https://a.test", SLOW % b"61")
    world.add("http://a.test/1")
    turn = world.turn()
    assert isinstance(turn, RobotsTurn)
    world.asked(turn.hop.url)
    hop = world.frontier.fetch_hop(turn.fetch, normalise("https://a.test/robots.txt"))
    world.frontier.robots_hop(hop)
    assert world.turn() == hop


def test_a_robots_hop_waits_before_new_urls_and_takes_a_turn() -> None:
    world = World()
    world.know("http://b.test")
    world.add("http://a.test/1", "http://b.test/1", "http://b.test/2")
    turn = world.turn()
    assert isinstance(turn, RobotsTurn)
    world.asked(turn.hop.url)
    world.frontier.robots_hop(world.frontier.fetch_hop(turn.fetch, HOP))
    assert [visit.url.text for visit in world.frontier.unfinished()] == [
        "http://a.test/1", "http://b.test/1", "http://b.test/2"
    ]  # fmt: skip
    assert world.frontier.pending == 4
    assert robots_turn(world.turn()) == ("http://a.test", "http://b.test/r.txt")
    world.asked(HOP)
    entry = world.book.put(world.entry("http://a.test", 404, RobotsCause.FIRST, turn.fetch.chain))
    world.frontier.robots_known(turn.fetch, entry)
    assert [world.page(), world.page(), world.page()] == ["http://a.test/1", "http://b.test/1", "http://b.test/2"]


def test_a_robots_hop_that_another_part_took_over_gets_no_turn() -> None:
    world = World()
    world.know("http://b.test")
    world.add("http://a.test/1", "http://b.test/1")
    turn = world.turn()
    assert isinstance(turn, RobotsTurn)
    world.asked(turn.hop.url)
    world.frontier.robots_hop(world.frontier.fetch_hop(turn.fetch, HOP))
    turn.fetch.queued = False
    assert [world.page(), world.turn()] == ["http://b.test/1", None]


def test_a_robots_hop_into_a_waiting_origin_does_not_wait_for_it() -> None:
    """a's robots.txt is at b, b's is at a: neither origin's wait holds up the other's fetch."""
    world = World()
    world.add("http://a.test/1", "http://b.test/1")
    turns = [world.turn()]
    world.asked(normalise("http://a.test/"))
    turns.append(world.turn())
    world.asked(normalise("http://b.test/"))
    for turn, target in zip(turns, ("http://b.test/robots.txt", "http://a.test/robots.txt"), strict=True):
        assert isinstance(turn, RobotsTurn)
        world.frontier.robots_hop(world.frontier.fetch_hop(turn.fetch, normalise(target)))
    assert robots_turn(world.turn()) == ("http://b.test", "http://a.test/robots.txt")
    world.asked(normalise("http://a.test/"))
    assert robots_turn(world.turn()) == ("http://a.test", "http://b.test/robots.txt")


def test_every_obstacle_has_its_reason() -> None:
    endings = [DNS, SPECIAL, Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0), Ending(Outcome.DEFERRED, Reason.BUDGET)]
    endings.append(Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY))
    assert [str(fetch_stopped(ending)) for ending in endings] == [
        "dns", "special-address", "hop-blocked", "hop-budget", "hop-deferred"
    ]  # fmt: skip


# A 403 stops its host


def test_a_403_blocks_what_waits_at_its_host_hops_and_other_origins_included() -> None:
    world = World()
    for origin in ("http://a.test", "http://b.test"):
        world.know(origin)
    visits = world.add("http://a.test/1", "http://a.test/2", "https://a.test/3", "http://b.test/1", "http://b.test/2")
    assert world.page() == "http://a.test/1"
    world.now_ms += 500
    world.frontier.forbidden("a.test", world.now_ms)
    assert world.page() == "http://b.test/1"
    world.frontier.hop(visits[3], normalise("http://a.test:8080/hop"))
    blocked = Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0 + 500 + BLOCK_MS)
    stopped = [world.stop(), world.stop(), world.stop()]
    assert stopped == [("http://b.test/1", blocked), ("http://a.test/2", blocked), ("https://a.test/3", blocked)]
    assert [world.page(), world.turn()] == ["http://b.test/2", None]
    assert world.frontier.requests == {"a.test": 1, "b.test": 2}


def test_a_block_ends_when_it_is_over() -> None:
    world = World()
    world.frontier.forbidden("a.test", T0 - BLOCK_MS + 1)
    assert world.frontier.obstacle("a.test", T0) == Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0 + 1)
    assert world.frontier.obstacle("a.test", T0 + 1) is None


@pytest.mark.parametrize("answered_ms", [(T0, T0 - DAY), (T0 - DAY, T0)], ids=["older-later", "older-first"])
def test_the_latest_403_counts(answered_ms: tuple[int, int]) -> None:
    world = World()
    for ms in answered_ms:
        world.frontier.forbidden("a.test", ms)
    assert world.frontier.obstacle("a.test", T0) == Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T0 + BLOCK_MS)


def test_a_403_stops_nothing_if_the_setting_says_so() -> None:
    world = World(stop_on_403=False)
    world.frontier.forbidden("a.test", T0)
    assert world.frontier.obstacle("a.test", T0) is None


# Turns and requests that are none


def test_a_request_of_another_part_ends_no_turn() -> None:
    world = World()
    world.know("http://a.test")
    world.add("http://a.test/1", "http://a.test/2", "http://b.test/1")
    assert isinstance(world.turn(), PageTurn)
    world.frontier.sent("c.test", in_turn=False)
    world.frontier.settled("c.test", "c.test", 2 * NS, 0)
    assert world.page() == "http://a.test/2"
    assert robots_turn(world.turn())[0] == "http://b.test"


# Budget


def test_the_budget_counts_every_request_and_defers_the_rest() -> None:
    world = World(host_budget=3)
    world.add("http://a.test/1", "http://a.test/2", "http://a.test/3", "https://a.test/4", "http://b.test/1")
    world.answer_robots(world.turn())
    world.answer_robots(world.turn())
    assert [world.page(), world.page(), world.page()] == ["http://a.test/1", "http://b.test/1", "http://a.test/2"]
    over = Ending(Outcome.DEFERRED, Reason.BUDGET, None)
    assert [world.stop(), world.stop()] == [("http://a.test/3", over), ("https://a.test/4", over)]
    assert world.turn() is None
    requests = world.frontier.requests
    assert requests == {"a.test": 3, "b.test": 2}
    requests.clear()
    assert world.frontier.requests == {"a.test": 3, "b.test": 2}


# Crawl-delay as a pause


def delays(world: World, *bodies: tuple[str, bytes]) -> float:
    for origin, body in bodies:
        world.frontier.learn_rules(normalise(origin + "/"), parse(body))
    return world.frontier.crawl_delay_s("a.test")


A, A_TLS = "http://a.test", "https://a.test"
DELAYS: dict[str, tuple[list[tuple[str, bytes]], float]] = {
    "none": ([], 0),
    "none-asked-for": ([(A, ALL)], 0),
    "one": ([(A, SLOW % b"7.5")], 7.5),
    "the-longest-of-the-hosts-origins": ([(A, SLOW % b"7"), (A_TLS, SLOW % b"3")], 7),
    "other-hosts": ([("http://b.test", SLOW % b"7")], 0),
    "the-latest-of-an-origin": ([(A, SLOW % b"7"), (A, SLOW % b"3")], 3),
    "at-the-cap": ([(A, SLOW % b"60")], 60),
    "over-the-cap-is-no-pause": ([(A, SLOW % b"61")], 0),
    "over-the-cap-beside-another": ([(A, SLOW % b"61"), (A_TLS, SLOW % b"3")], 3),
}


@pytest.mark.parametrize(("bodies", "expected"), DELAYS.values(), ids=DELAYS)
def test_the_crawl_delay_of_a_host(bodies: list[tuple[str, bytes]], expected: float) -> None:
    assert delays(World(), *bodies) == expected


@pytest.mark.parametrize("url", [URL, "http://a.test/p"], ids=["allowed", "disallowed"])
def test_rules_of_an_earlier_run_are_learned_when_they_decide(url: str) -> None:
    world = World()
    world.know("http://a.test", SLOW % b"30")
    assert world.frontier.crawl_delay_s("a.test") == 0
    world.frontier.judge(Hop(normalise(url)), T0)
    assert world.frontier.crawl_delay_s("a.test") == 30


def test_urls_with_a_crawl_delay_over_the_cap_are_deferred_without_a_page_request_or_a_time() -> None:
    world = World()
    world.add("http://a.test/1", "http://a.test/2", "http://b.test/1")
    world.answer_robots(world.turn(), SLOW % b"61")
    world.answer_robots(world.turn())
    deferred = Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY, None)
    assert [world.stop(), world.stop()] == [("http://a.test/1", deferred), ("http://a.test/2", deferred)]
    assert world.page() == "http://b.test/1"
    assert world.frontier.crawl_delay_s("a.test") == 0
    higher = World(crawl_delay_cap_s=61)
    higher.know("http://a.test", SLOW % b"61")
    higher.add("http://a.test/1")
    assert higher.page() == "http://a.test/1"
    assert higher.frontier.crawl_delay_s("a.test") == 61


# Pauses of an earlier run


def earlier(outcome: Outcome, reason: Reason, not_before_ms: int | None, *urls: str) -> dict[str, Any]:
    visit = Visit(normalise(urls[0]), 7, number=9, started_ms=T0 - DAY, attempts=len(urls))
    visit.chain.extend(Hop(normalise(url), ip="192.0.2.1", robots_id=4) for url in urls)
    return visit.record(3, Ending(outcome, reason, not_before_ms), T0 - DAY)


NOT_FINAL = [
    (Outcome.DEFERRED, Reason.BACKOFF),
    (Outcome.DEFERRED, Reason.RETRY_AFTER),
    (Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE),
    (Outcome.BLOCKED, Reason.FORBIDDEN),
]


@pytest.mark.parametrize(("outcome", "reason"), NOT_FINAL, ids=str)
@pytest.mark.parametrize("urls", [(URL,), (URL, "http://b.test/hop")], ids=["itself", "at-a-hop"])
def test_before_its_time_a_url_gets_the_same_record_without_a_request(
    outcome: Outcome, reason: Reason, urls: tuple[str, ...]
) -> None:
    world = World()
    before = earlier(outcome, reason, T0 + 1, *urls)
    (visit,) = world.add(URL, line=2, earlier=before)
    world.add("http://a.test/2")
    turn = world.turn()
    assert turn == StopTurn(visit, Ending(outcome, reason, T0 + 1))
    assert visit.kept
    now = {"run": 4, "visit": 1, "line": 2, "started_at": rfc3339_ms(T0), "ended_at": rfc3339_ms(T0 + 5)}
    assert list(visit.record(4, turn.ending, T0 + 5).items()) == list((before | now).items())
    assert robots_turn(world.turn())[0] == "http://a.test"
    assert world.frontier.requests == {}


@pytest.mark.parametrize(("outcome", "reason"), NOT_FINAL, ids=str)
def test_at_its_time_a_url_is_taken_up_again(outcome: Outcome, reason: Reason) -> None:
    world = World()
    (visit,) = world.add(URL, earlier=earlier(outcome, reason, T0, URL))
    world.answer_robots(world.turn())
    assert (world.page(), visit.kept) == (URL, False)


@pytest.mark.parametrize("reason", [Reason.CRAWL_DELAY, Reason.BUDGET], ids=str)
def test_a_url_deferred_without_a_time_is_judged_anew(reason: Reason) -> None:
    world = World()
    (visit,) = world.add(URL, earlier=earlier(Outcome.DEFERRED, reason, None, URL))
    world.answer_robots(world.turn())
    assert (world.page(), visit.kept) == (URL, False)


def test_an_earlier_pause_is_looked_at_in_the_first_turn_only() -> None:
    """A visit that has begun goes on, even if the wall clock is set back meanwhile."""
    world = World()
    (visit,) = world.add(URL, earlier=earlier(Outcome.DEFERRED, Reason.BACKOFF, T0, URL))
    world.answer_robots(world.turn())
    world.now_ms -= 1
    assert (world.page(), visit.kept) == (URL, False)


def test_what_another_robots_txt_said_of_an_earlier_attempt_does_not_stay() -> None:
    world, hop = World(), Hop(normalise("http://a.test/1"))
    world.know("http://a.test", b"User-agent: *\nCrawl-delay: 3\nAllow: /1\n")
    assert world.frontier.judge(hop, T0) is None
    assert (hop.rule, hop.crawl_delay_s) == ("Allow: /1", 3.0)
    world.know("http://a.test", 404)
    assert world.frontier.judge(hop, T0 + 1) is None
    assert hop == Hop(hop.url, decision=Decision.ALLOW, robots_id=2, judged_ms=T0 + 1)
