"""What happens next: from waiting URLs, robots.txt states and stopped hosts to one turn at a time.

Decides, for the URL whose turn it is, whether it is asked for, its robots.txt is fetched first, or its visit stops
here; and what an answer means for the other URLs of its host (seed rules: a 403 stops the host, an unknown name or a
special address ends all its URLs). Never sends, sleeps, writes or reads a clock: `now_ms` (wall clock) comes in, is
judged once per turn, and what was judged goes into the records. RFC 9309 2.3.1 (which robots.txt states allow what).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seaspider.core.hostqueue import HostOrder, Source
from seaspider.core.hosts import FrontierPolicy, Hosts
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsfile import RobotsFile
from seaspider.core.robotsstate import RobotsReason, RobotsState
from seaspider.core.robotswitness import witness
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.turns import NeedsRobots, PageTurn, RobotsFetch, RobotsStop, RobotsTurn, StopTurn, Turn
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Decision, Hop, Visit

__all__ = [
    "Frontier",
    "FrontierPolicy",
    "NeedsRobots",
    "PageTurn",
    "RobotsFetch",
    "RobotsStop",
    "RobotsTurn",
    "StopTurn",
    "Turn",
    "fetch_stopped",
]

# The lane of robots.txt fetches on their way to another host: no origin is called so, and none can hold it up.
_ROBOTS_LANE = ""


_FETCH_STOPPED: dict[Reason | None, RobotsReason] = {
    Reason.FORBIDDEN: RobotsReason.HOP_BLOCKED,
    Reason.BUDGET: RobotsReason.HOP_BUDGET,
    Reason.CRAWL_DELAY: RobotsReason.HOP_DEFERRED,
    Reason.RETRY_AFTER: RobotsReason.HOP_DEFERRED,
    Reason.BACKOFF: RobotsReason.HOP_DEFERRED,
    Reason.DNS: RobotsReason.DNS,
    Reason.SPECIAL_ADDRESS: RobotsReason.SPECIAL_ADDRESS,
}


def fetch_stopped(obstacle: Ending) -> RobotsReason:
    """Why an origin is unreachable if a hop of its robots.txt fetch meets a fetch_obstacle(), or has no address."""
    return _FETCH_STOPPED[obstacle.reason]


class Frontier(Hosts):
    """The URLs that wait and the turns they get. One turn is under way at a time."""

    def __init__(
        self,
        policy: FrontierPolicy,
        book: RobotsBook,
        rules: Callable[[RobotsEntry], RobotsFile],
        order: HostOrder[Visit | RobotsTurn],
    ) -> None:
        super().__init__(policy)
        self._book = book
        self._rules = rules
        self._order = order
        self._waiting_for: dict[RobotsFetch, Visit] = {}
        self._visits = 0

    # --- what waits ---

    def add(self, visit: Visit) -> None:
        """A URL of the queue, or a followed one."""
        self._order.push(visit.url.host, visit.url.origin, visit)

    def add_all(self, host: str, origin: str, visits: Source[Visit]) -> None:
        """URLs of the queue that are of one origin; before any turn."""
        self._order.push_all(host, origin, visits)

    def hop(self, visit: Visit, url: Url) -> None:
        """The next hop of a visit under way; it waits before the new URLs of its host."""
        visit.chain.append(Hop(url))
        visit.answer, visit.wire_bytes, visit.flags = None, None, ()
        self._order.push(url.host, url.origin, visit, goes_on=True)

    def again(self, visit: Visit) -> None:
        """Another attempt at the last hop of a visit under way."""
        visit.answer = None
        url = visit.final_url
        self._order.push(url.host, url.origin, visit, goes_on=True)

    def robots_hop(self, turn: RobotsTurn) -> None:
        """The next hop of a robots.txt fetch. It waits like a visit's hop."""
        turn.fetch.queued = True
        self._order.push(turn.hop.url.host, _ROBOTS_LANE, turn, goes_on=True)

    @property
    def pending(self) -> int:
        """How many tasks wait for a turn."""
        return self._order.pending

    def waiting(self) -> Iterator[tuple[str, int]]:
        """Each host at which tasks wait for a turn, and how many."""
        return self._order.waiting()

    def unfinished(self) -> Iterator[Visit]:
        """The visits that still wait, by host."""
        return (task for task in self._order if isinstance(task, Visit))

    # --- what happens next ---

    def next_turn(self, now_ms: int) -> Turn | None:
        """The next turn; None if no URL waits whose origin is not waiting for its robots.txt."""
        task = self._order.next()
        while isinstance(task, RobotsTurn) and not task.fetch.queued:  # taken over, see under_way()
            task = self._order.next()
        if task is None:
            return None
        if isinstance(task, Visit):
            return self._turn_of(task, now_ms)
        task.fetch.queued, task.hop.judged_ms = False, now_ms
        obstacle = self.fetch_obstacle(task, now_ms)
        return RobotsStop(task.fetch, fetch_stopped(obstacle)) if obstacle else task

    def _turn_of(self, visit: Visit, now_ms: int) -> Turn:
        kept = None
        if visit.number is None:
            self._visits += 1
            visit.number, visit.started_ms = self._visits, now_ms
            visit.chain.append(Hop(visit.url))
            kept = _not_yet(visit, now_ms)
        hop = visit.chain[-1]
        awaited, visit.awaited = visit.awaited, None
        judgement = kept or self.judge(hop, now_ms, awaited)
        if isinstance(judgement, Ending):
            return StopTurn(visit, judgement)
        if judgement is None:
            return PageTurn(visit, hop)
        turn = self.new_fetch(hop.url, now_ms, visit.number)
        # The visit waits at the head of its origin, which takes no other turn until robots_known().
        self._order.put_back(hop.url.host, hop.url.origin, visit)
        self._order.hold(hop.url.host, hop.url.origin)
        self._waiting_for[turn.fetch] = visit
        return turn

    def judge(self, hop: Hop, now_ms: int, awaited: RobotsEntry | None = None) -> Ending | NeedsRobots | None:
        """Whether a hop may be asked for: None if so, else how it ends its visit, or that robots.txt comes first.

        The robots.txt entry that decided, its rule and its crawl-delay are written into the hop. `awaited`: the entry
        to judge by, although it is over, if none is in force.
        """
        hop.judged_ms = now_ms
        obstacle = self.obstacle(hop.url.host, now_ms)
        if obstacle:
            hop.ip = hop.ip or self.special_address(hop.url.host)
            return obstacle
        entry = self._book.in_force(hop.url.origin, now_ms) or awaited
        if entry is None:
            return NeedsRobots()
        hop.judged_by(entry.id)
        if entry.state is RobotsState.UNREACHABLE:
            hop.decision = Decision.UNREACHABLE
            if self._book.given_up(hop.url.origin):
                return Ending(Outcome.FAILED, Reason.ROBOTS_UNREACHABLE)
            return Ending(Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE, entry.expires_at_ms)
        if entry.state is RobotsState.ABSENT:
            hop.decision = Decision.ALLOW
            return None
        return self._judge_by_rules(hop, self._rules(entry))

    def _judge_by_rules(self, hop: Hop, rules: RobotsFile) -> Ending | None:
        token = self._policy.token
        self.learn_rules(hop.url, rules)
        said = rules.decide(token, hop.url.text)
        seconded = witness(rules, token, hop.url.text)
        hop.decision = Decision.ALLOW if said.allowed else Decision.DISALLOW
        hop.group, hop.rule, hop.rule_line = said.group, said.rule, said.rule_line
        hop.witness = None if seconded is None else Decision.ALLOW if seconded else Decision.DISALLOW
        hop.crawl_delay_s = rules.crawl_delay_s(token)
        if not said.allowed:
            return Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE)
        return self._too_slow(hop.crawl_delay_s)

    def fetch_obstacle(self, turn: RobotsTurn, now_ms: int) -> Ending | None:
        """What stops a request of a robots.txt fetch: obstacle(), or a hop to another host that defers its URLs."""
        url = turn.hop.url
        obstacle = self.obstacle(url.host, now_ms)
        turn.hop.ip = turn.hop.ip or self.special_address(url.host)
        entry = self._book.in_force(url.origin, now_ms)
        if obstacle or url.host == turn.fetch.host or entry is None or entry.state is not RobotsState.PARSED:
            return obstacle
        return self._too_slow(self._rules(entry).crawl_delay_s(self._policy.token))

    # --- what the answers mean ---

    def new_fetch(self, url: Url, now_ms: int, visit: int | None) -> RobotsTurn:
        """The fetch of the robots.txt that speaks for a URL's origin, and its first request."""
        fetch = RobotsFetch(url.origin, url.host, self._book.cause(url.origin, now_ms), visit)
        turn = self.fetch_hop(fetch, normalise("/robots.txt", url))
        turn.hop.judged_ms = now_ms
        return turn

    def fetch_hop(self, fetch: RobotsFetch, url: Url) -> RobotsTurn:
        """The next request of a fetch."""
        fetch.chain.append(Hop(url))
        return RobotsTurn(fetch, fetch.chain[-1])

    def robots_known(self, fetch: RobotsFetch, entry: RobotsEntry) -> None:
        """The fetch is over and its entry is in the book: the origin's URLs may take turns again."""
        visit = self._waiting_for.pop(fetch, None)
        if visit is not None:
            visit.awaited = entry
            self._order.release(fetch.host, fetch.origin)

    def under_way(self, origin: str) -> RobotsFetch | None:
        """The fetch that the origin's URLs wait for. Who needs it before its next turn may take its last hop over, by
        clearing `queued`."""
        return next((fetch for fetch in self._waiting_for if fetch.origin == origin), None)

    @property
    def fetches_under_way(self) -> list[RobotsFetch]:
        """The fetches that URLs wait for."""
        return list(self._waiting_for)

    def waits_for(self, fetch: RobotsFetch) -> bool:
        """Whether URLs of its origin still wait for the fetch to end."""
        return fetch in self._waiting_for

    def robots_abandoned(self, fetch: RobotsFetch) -> None:
        """The fetch ended without an entry, because its host has no usable address: its URLs are judged by that."""
        if self._waiting_for.pop(fetch, None) is not None:
            self._order.release(fetch.host, fetch.origin)

    def sent(self, host: str, *, in_turn: bool) -> None:
        """A request to the host is about to go out; `in_turn`: it was given by next_turn()."""
        self.count(host)
        if in_turn:
            self._order.took_turn()

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        """A request is over and these pauses follow it."""
        self._order.settled(host, address, host_pause_ns, address_pause_ns)


def _not_yet(visit: Visit, now_ms: int) -> Ending | None:
    """A pause recorded in an earlier run that is not over yet ends the visit as it did then, without a request."""
    earlier = visit.earlier
    if earlier is None or earlier["not_before"] is None:
        return None
    until_ms = parse_rfc3339_ms(earlier["not_before"])
    if until_ms <= now_ms:
        return None
    visit.kept = True
    return Ending(Outcome(earlier["outcome"]), Reason(earlier["reason"]), until_ms)
