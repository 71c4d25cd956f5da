"""What happens next: from waiting URLs, robots.txt states and stopped hosts to one turn at a time.

Decides, for the URL whose turn it is, whether it is asked for, its robots.txt is fetched first, or its visit stops
here; and what an answer means for the other URLs of its host (seed rules: a 403 stops the host, an unknown name or a special
address ends all its URLs). Never sends, sleeps, writes or reads a clock: `now_ms` (wall clock) comes in, is judged once
per turn, and what was judged goes into the records. RFC 9309 2.3.1 (which robots.txt states allow what).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from seaspider.core.order import RoundRobin
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook, RobotsEntry
from seaspider.core.robotsfile import RobotsFile
from seaspider.core.robotsstate import RobotsCause, RobotsReason, RobotsState
from seaspider.core.robotswitness import witness
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.urls import Url, normalise
from seaspider.core.visits import Decision, Hop, Visit

# The lane of robots.txt fetches on their way to another host: no origin is called so, and none can hold it up.
_ROBOTS_LANE = ""


@dataclass(frozen=True, slots=True)
class FrontierPolicy:
    token: str
    """Our product token."""
    crawl_delay_cap_s: float
    stop_on_403: bool
    block_ms: int
    host_budget: int
    """Requests per host in a run; 0 = no budget."""


@dataclass(slots=True, eq=False)
class RobotsFetch:
    """One robots.txt on its way, with its own chain of hops. `visit`: the number of the visit it is fetched for."""

    origin: str
    host: str
    cause: RobotsCause
    visit: int | None = None
    chain: list[Hop] = field(default_factory=list)
    outcome: Url | RobotsEntry | None = None
    """What the last answer led to: the next URL to ask, or the origin's entry."""


@dataclass(frozen=True, slots=True)
class PageTurn:
    """The hop is allowed: ask for it."""

    visit: Visit
    hop: Hop


@dataclass(frozen=True, slots=True)
class RobotsTurn:
    """Ask for this hop of a robots.txt fetch."""

    fetch: RobotsFetch
    hop: Hop


@dataclass(frozen=True, slots=True)
class StopTurn:
    """The visit ends here, without a request."""

    visit: Visit
    ending: Ending


@dataclass(frozen=True, slots=True)
class RobotsStop:
    """The fetch may not go where it was sent: the origin is unreachable, for this reason."""

    fetch: RobotsFetch
    reason: RobotsReason


Turn = PageTurn | RobotsTurn | StopTurn | RobotsStop


@dataclass(frozen=True, slots=True)
class NeedsRobots:
    """No robots.txt answer is in force for the origin."""


_FETCH_STOPPED = {
    Outcome.BLOCKED: RobotsReason.HOP_BLOCKED,
    Outcome.DEFERRED: RobotsReason.HOP_BUDGET,
    Outcome.FAILED: RobotsReason.DNS,
    Outcome.REFUSED: RobotsReason.SPECIAL_ADDRESS,
}


def fetch_stopped(obstacle: Ending) -> RobotsReason:
    """Why an origin is unreachable if a hop of its robots.txt fetch meets what stops every request to a host."""
    return _FETCH_STOPPED[obstacle.outcome]


class Frontier:
    """The URLs that wait and the turns they get. One turn is under way at a time."""

    def __init__(
        self,
        policy: FrontierPolicy,
        book: RobotsBook,
        rules: Callable[[RobotsEntry], RobotsFile],
        order: RoundRobin[Visit | RobotsTurn],
    ) -> None:
        self._policy = policy
        self._book = book
        self._rules = rules
        self._order = order
        self._waiting_for: dict[RobotsFetch, Visit] = {}
        self._ended_hosts: dict[str, Ending] = {}
        self._forbidden_until_ms: dict[str, int] = {}
        self._crawl_delays_s: dict[str, dict[str, float]] = {}
        self._requests: dict[str, int] = {}
        self._visits = 0

    # --- what waits ---

    def add(self, visit: Visit) -> None:
        """A URL of the queue, or a followed one."""
        self._order.push(visit.url.host, visit.url.origin, visit)

    def hop(self, visit: Visit, url: Url) -> None:
        """The next hop of a visit under way; it waits before the new URLs of its host."""
        visit.chain.append(Hop(url))
        self._order.push(url.host, url.origin, visit, goes_on=True)

    def robots_hop(self, turn: RobotsTurn) -> None:
        """The next hop of a robots.txt fetch. It waits like a visit's hop."""
        self._order.push(turn.hop.url.host, _ROBOTS_LANE, turn, goes_on=True)

    @property
    def pending(self) -> int:
        """How many tasks wait for a turn."""
        return self._order.pending

    def unfinished(self) -> Iterator[Visit]:
        """The visits that still wait, by host."""
        return (task for task in self._order if isinstance(task, Visit))

    # --- what happens next ---

    def next_turn(self, now_ms: int) -> Turn | None:
        """The next turn; None if no URL waits whose origin is not waiting for its robots.txt."""
        task = self._order.next()
        if task is None:
            return None
        if isinstance(task, Visit):
            return self._turn_of(task, now_ms)
        obstacle = self.obstacle(task.hop.url.host, now_ms)
        return RobotsStop(task.fetch, fetch_stopped(obstacle)) if obstacle else task

    def _turn_of(self, visit: Visit, now_ms: int) -> Turn:
        if visit.number is None:
            self._visits += 1
            visit.number, visit.started_ms = self._visits, now_ms
            visit.chain.append(Hop(visit.url))
        hop = visit.chain[-1]
        awaited, visit.awaited = visit.awaited, None
        judgement = _not_yet(visit, now_ms) or self.judge(hop, now_ms, awaited)
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
        to judge by, expired or not; else the one in force.
        """
        obstacle = self.obstacle(hop.url.host, now_ms)
        if obstacle:
            return obstacle
        entry = awaited or self._book.in_force(hop.url.origin, now_ms)
        if entry is None:
            return NeedsRobots()
        hop.robots_id = entry.id
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
        said = rules.decide(token, hop.url.text)
        seconded = witness(rules, token, hop.url.text)
        hop.decision = Decision.ALLOW if said.allowed else Decision.DISALLOW
        hop.group, hop.rule, hop.rule_line = said.group, said.rule, said.rule_line
        hop.witness = None if seconded is None else Decision.ALLOW if seconded else Decision.DISALLOW
        hop.crawl_delay_s = rules.crawl_delay_s(token)
        if not said.allowed:
            return Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE)
        if (hop.crawl_delay_s or 0) > self._policy.crawl_delay_cap_s:
            return Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY)
        self.learn_rules(hop.url, rules)
        return None

    def obstacle(self, host: str, now_ms: int) -> Ending | None:
        """What stops every request to a host, whatever its robots.txt says."""
        ended = self._ended_hosts.get(host)
        if ended:
            return ended
        until_ms = self._forbidden_until_ms.get(host, 0)
        if until_ms > now_ms:
            return Ending(Outcome.BLOCKED, Reason.FORBIDDEN, until_ms)
        if 0 < self._policy.host_budget <= self._requests.get(host, 0):
            return Ending(Outcome.DEFERRED, Reason.BUDGET)
        return None

    # --- what the answers mean ---

    def new_fetch(self, url: Url, now_ms: int, visit: int | None) -> RobotsTurn:
        """The fetch of the robots.txt that speaks for a URL's origin, and its first request."""
        fetch = RobotsFetch(url.origin, url.host, self._book.cause(url.origin, now_ms), visit)
        return self.fetch_hop(fetch, normalise("/robots.txt", url))

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

    def waits_for(self, fetch: RobotsFetch) -> bool:
        """Whether URLs of its origin still wait for the fetch to end."""
        return fetch in self._waiting_for

    def robots_abandoned(self, fetch: RobotsFetch) -> None:
        """The fetch ended without an entry, because its host has no usable address: its URLs are judged by that."""
        if self._waiting_for.pop(fetch, None) is not None:
            self._order.release(fetch.host, fetch.origin)

    def forbidden(self, host: str, answered_ms: int) -> None:
        """A page of the host answered 403, now or in an earlier run: seed rule, its other URLs are blocked."""
        if self._policy.stop_on_403:
            until_ms = answered_ms + self._policy.block_ms
            self._forbidden_until_ms[host] = max(until_ms, self._forbidden_until_ms.get(host, 0))

    def host_ended(self, host: str, ending: Ending) -> None:
        """The host has no usable address: every URL of it ends so in this run."""
        self._ended_hosts[host] = ending

    def learn_rules(self, url: Url, rules: RobotsFile) -> None:
        """The crawl-delay in the rules of a URL's origin. One over the cap is not waited for: it defers its URLs."""
        delay_s = rules.crawl_delay_s(self._policy.token) or 0
        self._crawl_delays_s.setdefault(url.host, {})[url.origin] = (
            delay_s if delay_s <= self._policy.crawl_delay_cap_s else 0
        )

    def crawl_delay_s(self, host: str) -> float:
        """The longest crawl-delay known of the host's origins, 0 if none."""
        return max(self._crawl_delays_s.get(host, {}).values(), default=0)

    def sent(self, host: str, *, in_turn: bool) -> None:
        """A request to the host is about to go out; `in_turn`: it was given by next_turn()."""
        self._requests[host] = self._requests.get(host, 0) + 1
        if in_turn:
            self._order.took_turn()

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        """A request is over and these pauses follow it."""
        self._order.settled(host, address, host_pause_ns, address_pause_ns)

    @property
    def requests(self) -> dict[str, int]:
        """Requests of this run per host, robots.txt included."""
        return dict(self._requests)


def _not_yet(visit: Visit, now_ms: int) -> Ending | None:
    """A pause recorded in an earlier run that is not over yet ends the visit as it did then.

    The other reasons that are not final follow from robots.jsonl, from earlier 403 answers and from the settings.
    """
    earlier = visit.earlier
    if earlier is None or len(visit.chain) > 1 or earlier["reason"] not in (Reason.BACKOFF, Reason.RETRY_AFTER):
        return None
    until_ms = parse_rfc3339_ms(earlier["not_before"])
    if until_ms <= now_ms:
        return None
    visit.kept = True
    return Ending(Outcome(earlier["outcome"]), Reason(earlier["reason"]), until_ms)
