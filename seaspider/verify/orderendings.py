"""What follows from an answer, and what a page record has to say of a visit that ended so.

Decides by the crawl's own pure rules (redirects, answers) over the recorded answers; a visit that ended without a
request of its turn is judged by what stood against its host and by the robots.txt decision in its chain, which another
promise derives. Raises Refuted at the page line.
"""

from __future__ import annotations

from dataclasses import dataclass

from seaspider.core.answers import Again, after_answer, after_failure
from seaspider.core.httpfields import texts_of, values_of
from seaspider.core.records import PAGE_FLAGS, Ending, Outcome, Reason
from seaspider.core.redirects import RefusedHop, next_hop
from seaspider.core.robotsentry import CLOCK_TOLERANCE_MS
from seaspider.core.urls import Url
from seaspider.journal import Row
from seaspider.verify.evidence import Settle
from seaspider.verify.orderfacts import Policy, fingerprint, parsed
from seaspider.verify.orderhosts import Standing
from seaspider.verify.orderpast import Past
from seaspider.verify.ordertasks import NO_LINE, UNKNOWN, Tasks
from seaspider.verify.proof import Refuted

_ERRORS = frozenset(map(str, Reason))
_OF_A_BODY = ("content_type", "charset", "sha256", "links", "nofollow")
_NO_ADDRESS = ((Outcome.FAILED, Reason.DNS), (Outcome.REFUSED, Reason.SPECIAL_ADDRESS))


@dataclass(slots=True)
class Fetch:
    """A robots.txt on its way. `queued`: its last URL waits for a turn."""

    origin: str
    chain: list[str]
    queued: bool = False


@dataclass(slots=True)
class Open:
    """A visit that had its first turn and has not ended."""

    task: int
    number: int
    chain: list[str]
    """The URLs of its hops; empty if its URL is not known."""
    origin: int
    """Of the last hop."""
    fetch: Fetch | None = None
    intended: bool = False
    attempts: int = 0
    tries: int = 0
    """Of the last hop."""
    status: int | None = None
    error: str | None = None
    bytes: int | None = None
    content_type: str | None = None
    ended_ms: int | None = None
    """When its last answer, or failure, was in."""

    def asked(self) -> None:
        self.attempts += 1
        self.tries += 1

    def answered(self, settle: Settle) -> None:
        types = texts_of(settle.headers, b"content-type")
        self.status, self.error, self.bytes = settle.status, settle.error, settle.bytes
        self.content_type = (types or [""])[-1] or None
        self.ended_ms = settle.ended_ms

    def goes_to(self, url: str, origin: int) -> None:
        self.chain.append(url)
        self.origin = origin
        self.tries, self.status, self.error, self.bytes, self.content_type = 0, None, None, None, None


def after(visit: Open, host: str, settle: Settle, policy: Policy, standing: Standing) -> Url | Again | Ending:
    """What became of a visit by the answer to its page request."""
    deferred = standing.deferral(host, settle.ended_ms)
    if settle.error is not None:
        if settle.error not in _ERRORS:
            raise Refuted(settle.place, f"there is no error {settle.error!r}")
        return after_failure(visit.tries, policy.max_attempts, Reason(settle.error), deferred)
    assert settle.status is not None
    budget = policy.max_redirects - (len(visit.chain) - 1)
    target = target_of(visit.chain, settle, budget)
    if isinstance(target, RefusedHop):
        return Ending(Outcome.REFUSED, Reason(target.reason))
    return target or after_answer(settle.status, visit.tries, policy.max_attempts, deferred)


def target_of(chain: list[str], settle: Settle, budget: int) -> Url | RefusedHop | None:
    """Where an answer sent the request for the last URL of a chain."""
    locations = values_of(settle.headers, b"location")
    if not locations or settle.status is None:
        return None
    return next_hop(parsed(settle.place, chain[-1]), settle.status, locations, chain, budget)


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares page records with what had to be recorded."""

    policy: Policy
    tasks: Tasks
    standing: Standing
    past: Past

    def stopped(self, row: Row, visit: Open, host: str) -> None:
        """The visit's turn came, and no request was made."""
        hop, ending = _last_hop(row), _ending(row)
        judged_ms = hop.milliseconds("judged_at")
        said = (ending.outcome, ending.reason)
        obstacle = self.standing.obstacle(host, judged_ms)
        if obstacle is not None:
            if (obstacle.outcome, obstacle.reason) != said:
                raise _wrong(row, f"{ending}, but what stood against {host} then was {obstacle}")
            return
        by_robots = self._by_robots(hop, visit)
        if by_robots is not None:
            if (by_robots.outcome, by_robots.reason) != said:
                raise _wrong(row, f"{ending}, but by the decision for its last hop it is {by_robots}")
        elif said in _NO_ADDRESS and (hop.optional("ip", str) is not None) >= (ending.reason is Reason.SPECIAL_ADDRESS):
            self.standing.end(host, ending)
        elif said == (Outcome.DEFERRED, Reason.BACKOFF) and hop.optional("error", str) == Reason.DNS:
            visit.error = Reason.DNS
            self.standing.defer(host, Ending(ending.outcome, ending.reason, row.milliseconds("not_before")))
        else:
            raise _wrong(
                row, f"{ending}, but nothing that is recorded ends visit {visit.number} here without a request"
            )

    def _by_robots(self, hop: Row, visit: Open) -> Ending | None:
        decision = hop.optional("decision", str)
        if decision == "disallow":
            return Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE)
        if decision == "unreachable":
            known = self.past.robots.get(parsed(hop.place, visit.chain[-1]).origin)
            given_up = known is not None and known.failures >= self.policy.give_up
            return Ending(Outcome.FAILED if given_up else Outcome.DEFERRED, Reason.ROBOTS_UNREACHABLE)
        delay_s = hop.record.get("crawl_delay_s")
        if decision == "allow" and isinstance(delay_s, int | float) and delay_s > self.policy.crawl_delay_cap_s:
            return Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY)
        return None

    def identity(self, row: Row, visit: Open) -> None:
        """Which URL the record is of, and how the crawl came to it."""
        task, tasks = visit.task, self.tasks
        line, via = row.optional("line", int), row.optional("via", str)
        if tasks.urls[task] not in (UNKNOWN, fingerprint(row.get("url", str))):
            raise _wrong(row, f"visit {visit.number} was of another URL")
        if tasks.urls[task] == UNKNOWN:
            return
        said = (NO_LINE if line is None else line, row.get("depth", int), UNKNOWN if via is None else fingerprint(via))
        if said != (tasks.lines[task], tasks.depths[task], tasks.vias[task]):
            raise _wrong(row, "'line', 'depth' and 'via' are not those of the queue or of the link that was followed")

    def record(self, row: Row, visit: Open) -> None:
        """What the record says of the visit's last hop and of its requests."""
        chain = [hop.get("url", str) for hop in _hops(row)]
        expected = {
            "status": visit.status,
            "final_url": visit.chain[-1],
            "bytes": visit.bytes,
            "attempts": visit.attempts,
        }
        began_ms, ended_ms = row.milliseconds("started_at"), row.milliseconds("ended_at")
        # The wall clock may have been set back in between, but not far.
        if ended_ms + CLOCK_TOLERANCE_MS < max(began_ms, visit.ended_ms or 0):
            raise _wrong(row, "'ended_at' is before it began, or before its last answer was in")
        unknown = [flag for flag in row.get("flags", list) if flag not in PAGE_FLAGS]
        if unknown:
            raise _wrong(row, f"there is no flag {unknown[0]!r}")
        if chain != visit.chain:
            raise _wrong(row, f"its chain is {chain}, its requests went to {visit.chain}")
        if _ending(row).outcome is Outcome.STORED:
            expected["content_type"] = visit.content_type
            row.get("sha256", str)
        else:
            expected |= dict.fromkeys(_OF_A_BODY)
        for key, value in expected.items():
            if row.record.get(key) != value:
                raise _wrong(row, f"{key!r} is {row.record.get(key)!r}, by its requests it is {value!r}")

    def ending(self, row: Row, visit: Open, ending: Ending) -> None:
        """The visit ended by the answer to its request."""
        said = _ending(row)
        if (said.outcome, said.reason) != (ending.outcome, ending.reason):
            raise _wrong(row, f"{said}, but by the answers to visit {visit.number} it is {ending}")


def last_judged_ms(page: Row) -> int:
    """When the last hop of a visit was judged last."""
    return _last_hop(page).milliseconds("judged_at")


def _wrong(row: Row, why: str) -> Refuted:
    return Refuted(row.place, why)


def _ending(row: Row) -> Ending:
    try:
        reason = row.optional("reason", str)
        return Ending(Outcome(row.get("outcome", str)), None if reason is None else Reason(reason))
    except ValueError as error:
        raise _wrong(row, str(error)) from error


def _hops(row: Row) -> list[Row]:
    return [Row(row.place, hop) for hop in row.get("chain", list) if isinstance(hop, dict)]


def _last_hop(row: Row) -> Row:
    hops = _hops(row)
    if not hops:
        raise _wrong(row, "a visit without a hop")
    return hops[-1]
