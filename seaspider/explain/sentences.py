"""The answer in a sentence or two: fetched or not, and why. Says what the evidence says, and decides nothing."""

from __future__ import annotations

from typing import Final

from seaspider.commands.words import ending_in_words, moment, rule_in_words
from seaspider.core.links import LinkReason
from seaspider.core.queue import Fate
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsstate import RobotsState
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.visits import Hop
from seaspider.explain.evidence import ALWAYS
from seaspider.explain.explanation import Explanation, Kind, hop_of, limits_of
from seaspider.explain.judgement import Judgement, Undecided
from seaspider.explain.rows import Attempt, VisitRow
from seaspider.fleet.plan import name_of

NEVER_SEEN: Final = "Never seen in this store."


def summary(found: Explanation) -> str:
    """Why the URL was fetched or not."""
    match found.kind:
        case Kind.VISITED:
            return _visited(found, found.evidence.visits[-1])
        case Kind.REDIRECT:
            return _redirect(found, found.evidence.led_here[-1])
        case Kind.UNDER_WAY:
            return _under_way(found)
        case Kind.REQUESTED:
            return _requested(found.evidence.others[-1])
        case Kind.FOLLOWED:
            return f"Not fetched yet: a link on {found.evidence.followed[-1].page} is followed; its turn had not come."
        case Kind.QUEUED:
            return _queued(found)
        case Kind.WAITING:
            assert found.waits is not None
            line, shard = found.waits.line, name_of(found.waits.shard)
            return f"Not fetched yet: line {line} of the queue waits in shard {shard}. {judged(found, found.judgement)}"
        case Kind.LINKED:
            link = next(iter(found.evidence.unfollowed.values()))
            return f"Not fetched: no visit of it is recorded; a link on {link.page} was not followed ({link.reason})."
    return f"{NEVER_SEEN} {judged(found, found.judgement)}"


def judged(found: Explanation, judgement: Judgement) -> str:
    """What a run would do with the URL, by what is known; or that it is not decided."""
    if judgement.undecided is not None:
        return f"Not decided: {_undecided(judgement, judgement.undecided)}."
    ending, hop, entry = judgement.ending, judgement.hop, judgement.entry
    if hop.robots_id is None or entry is None:
        assert ending is not None
        return f"It would end as {ending.outcome}: {_why(found, ending, hop, judgement.run_number)}."
    by = f"By the robots.txt of {hop.url.origin} (record {entry.id}) it would be"
    if entry.state is RobotsState.ABSENT and ending is None:
        return f"{by} allowed: there is none (status {entry.status})."
    if ending is None:
        return f"{by} allowed: {rule_in_words(hop)}."
    if ending.outcome is Outcome.DISALLOWED:
        return f"{by} disallowed: {rule_in_words(hop)}."
    word = f"{ending.outcome}, not allowed" if ending.reason is Reason.ROBOTS_UNREACHABLE else ending.outcome
    return f"{by} {word}: {_why(found, ending, hop, judgement.run_number)}."


def _undecided(judgement: Judgement, why: Undecided) -> str:
    origin, entry = judgement.hop.url.origin, judgement.entry
    if why is Undecided.NO_RUN:
        return "no run had begun"
    if entry is None:
        return f"there is no record of the robots.txt of {origin}"
    record = f"the robots.txt of {origin} (record {entry.id})"
    if why is Undecided.EXPIRED:
        return f"{record} was in force until {moment(entry.expires_at_ms)}"
    if why is Undecided.NOT_YET:
        return f"{record} is dated later, {moment(entry.fetched_at_ms)}"
    return f"{record} is in force, but its bytes are missing or changed (body {entry.sha256})"


def _visited(found: Explanation, visit: VisitRow) -> str:
    ending, last = visit.ending, visit.chain[-1] if visit.chain else Hop(found.url)
    led = f"it redirected to {visit.final_url}, which" if len(visit.chain) > 1 else "it"
    if ending.outcome is Outcome.STORED:
        return f"Fetched: {led} answered {visit.status}."
    why = _why(found, ending, last, visit.run, (found.detailed or visit).ended_at)
    if len(visit.chain) == 1:
        return f"{_way(last, visit)}: {why}."
    fate = "was asked for as well" if last.status is not None or last.error is not None else "was not fetched"
    return f"Asked for: {led} {fate}: {why}."


def _way(hop: Hop, visit: VisitRow) -> str:
    if hop.status is None and hop.error is None:
        return "Not fetched"
    times = "" if visit.attempts == 1 else f" {visit.attempts} times"
    return f"Asked for{times}, and not stored"


def _redirect(found: Explanation, visit: VisitRow) -> str:
    hop = hop_of(found.evidence, visit)
    led = f"{visit.url} redirected to it"
    if hop.status is not None:
        return f"Fetched: {led}, and it answered {hop.status}."
    why = _why(found, visit.ending, hop, visit.run, visit.ended_at)
    if hop.error is not None:
        return f"Asked for, as {led}: {why}."
    return f"Not fetched: {led}, but {why}."


def _under_way(found: Explanation) -> str:
    begun = found.evidence.begun[-1]
    run = found.evidence.run(begun.run)
    over = (run is not None and run.ended_at is not None) or any(
        other.number > begun.run for other in found.evidence.runs
    )
    if over:
        return f"Begun in run {begun.run} and interrupted: the next run that has it in its queue begins it again."
    return f"Begun in run {begun.run} and not ended: the run is still at it, or was killed."


def _queued(found: Explanation) -> str:
    if not found.evidence.queue:
        page = found.evidence.unfollowed[LinkReason.DUPLICATE].page
        return f"Not fetched yet: it was known already when a link on {page} led to it; its turn had not come."
    line = found.evidence.queue[-1]
    if line.fate == Fate.DONE:
        return f"It had a final record before run {line.run}, which is not in the store."
    return f"Not fetched yet: line {line.of} of the queue of run {line.run}; its turn had not come."


def _requested(request: Attempt) -> str:
    what = "as a robots.txt, or on the way to one" if request.kind == "robots" else "by another part of a crawl"
    if request.error is None and request.status is not None:
        return f"Fetched {what}: it answered {request.status}."
    return f"Asked for {what}: {request.error or 'no answer is recorded'}."


def _why(found: Explanation, ending: Ending, hop: Hop, run: int, when: str = ALWAYS) -> str:
    """As ending_in_words(), with the page whose 403 stopped the host, if that is the latest of the host then."""
    limits = limits_of(found.evidence.run(run))
    if ending.reason is Reason.CRAWL_DELAY and limits is None:
        return f"robots.txt asks for {hop.crawl_delay_s} s between requests, which was over the cap"
    words = ending_in_words(ending, hop, limits.crawl_delay_cap_s if limits else 0)
    forbidden = found.evidence.forbidden.get(hop.url.host)
    if ending.outcome is Outcome.BLOCKED and forbidden is not None and forbidden.at <= when:
        return words.replace("another page", f"{forbidden.url} ({moment(parse_rfc3339_ms(forbidden.at))})")
    return words
