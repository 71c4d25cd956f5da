"""What `scrapy explain` found out, as text for people: the answer, then what it stands on. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator

from seaspider.commands.words import moment, rule_in_words
from seaspider.core.queue import Fate
from seaspider.core.robotsstate import RobotsState
from seaspider.core.times import parse_rfc3339_ms
from seaspider.core.visits import Decision, Hop
from seaspider.explain.explanation import Explanation, Kind, Rejection
from seaspider.explain.record import as_object
from seaspider.explain.rows import Attempt, QueueLine, RunInfo
from seaspider.explain.sentences import judged, summary
from seaspider.fleet.plan import name_of

__all__ = ["as_object", "as_text"]

Rows = Iterator[tuple[str, str]]

_DECISIONS = {
    Decision.ALLOW: "allowed",
    Decision.DISALLOW: "disallowed",
    Decision.UNREACHABLE: "not allowed",
}
_UNVISITED = (Kind.NEVER_SEEN, Kind.WAITING, Kind.LINKED)


def as_text(found: Explanation | Rejection) -> str:
    """The explanation for people."""
    if isinstance(found, Rejection):
        return "\n".join(
            [_one_line(found.given), found.summary, ""] + [_shown(*_queue_row(line)) for line in found.lines]
        )
    rows = [*_known(found), *_visits(found), *_details(found), *_outlook(found)]
    return "\n".join([found.url.text, _one_line(summary(found)), "", *(_shown(*row) for row in rows)])


def _known(found: Explanation) -> Rows:
    evidence = found.evidence
    if found.given != found.url.text:
        yield "given as", found.given
    if found.at is not None:
        yield "as known", f"on {_moment(found.at)}; what was recorded later is left out"
    lines = {(visit.run, visit.line): visit.line for visit in evidence.visits if visit.line is not None}
    lines |= {(begun.run, begun.line): begun.line for begun in evidence.begun if begun.line is not None}
    for (run, _), line in lines.items():
        yield "queue", f"line {line}, in run {run}"
    for skipped in evidence.queue:
        yield _queue_row(skipped)
    if found.waits is not None:
        yield "queue", f"line {found.waits.line}, waits in shard {name_of(found.waits.shard)}"
    for link in evidence.followed:
        yield "link", f"followed from {link.page} (link {link.n}), in run {link.run}, to depth {link.depth}"
    for link in evidence.unfollowed.values():
        yield "link", f"on {link.page} (link {link.n}), in run {link.run}: not followed ({link.reason})"
    hidden = evidence.links - len(evidence.followed) - len(evidence.unfollowed)
    if hidden:
        yield "", f"and {hidden} more that were not followed"


def _queue_row(line: QueueLine) -> tuple[str, str]:
    words = {
        Fate.DUPLICATE: f"the same URL as line {line.of}",
        Fate.DONE: "it had a final record already, so it was not asked for",
        Fate.REJECTED: f"rejected ({line.reason})",
    }
    return "queue", f"line {line.line}, in run {line.run}: {words[Fate(line.fate)]}"


def _visits(found: Explanation) -> Rows:
    """What became of it in each run; and visits of other URLs, if there is none of its own."""
    for visit in found.evidence.visits:
        kept = ": the same record again, without a request" if visit.kept else ""
        yield f"run {visit.run}", f"visit {visit.visit}: {visit.ending}, {_moment(visit.ended_at)}{kept}"
    ended = {visit.key for visit in found.evidence.visits}
    for begun in found.evidence.begun:
        if begun.key not in ended:
            yield f"run {begun.run}", f"visit {begun.visit}: begun {_moment(begun.intended_at)}, not ended"
    for visit in found.evidence.led_here:
        line = f"line {visit.line}" if visit.line else f"a link on {visit.via}"
        yield f"run {visit.run}", f"visit {visit.visit} of {visit.url} ({line}) was redirected to it: {visit.ending}"
    if hidden := found.evidence.led_here_count - len(found.evidence.led_here):
        yield "", f"and {hidden} earlier ones"


def _details(found: Explanation) -> Rows:
    """Hops, robots.txt records and requests of the visit that is the answer."""
    hops = found.detailed.chain if found.detailed else ()
    for number, hop in enumerate(hops, 1):
        yield from _hop(number, hop)
    shown = dict.fromkeys(hop.robots_id for hop in hops if hop.robots_id is not None)
    if found.kind in (*_UNVISITED, Kind.REQUESTED) and found.judgement.entry:
        shown[found.judgement.entry.id] = None
    if found.kind in _UNVISITED:
        yield from _but(found.judgement.hop)
    for number in shown:
        yield from _robots(number, found)
    for request in found.requests_shown:
        yield f"request {request.n}", _request(request)


def _hop(number: int, hop: Hop) -> Rows:
    at = f" at {hop.ip}" if hop.ip else ""
    fate = hop.error or (str(hop.status) if hop.status is not None else "not asked")
    yield f"hop {number}", f"{hop.url.text}{at}: {fate}"
    judged = f", judged {moment(hop.judged_ms)}" if hop.judged_ms is not None else ""
    if hop.decision is None:
        yield "", f"its robots.txt was not consulted{judged}"
        return
    rule = f": {rule_in_words(hop)}" if hop.group else ""
    delay = f"; crawl-delay {hop.crawl_delay_s:g} s" if hop.crawl_delay_s is not None else ""
    yield "", f"{_DECISIONS[hop.decision]} by robots.txt record {hop.robots_id}{judged}{rule}{delay}"
    yield from _but(hop)


def _but(hop: Hop) -> Rows:
    if hop.witness not in (None, hop.decision):
        yield "but", f"Protego, the second witness, says {hop.witness}; what is above decides"


def _robots(number: int, found: Explanation) -> Rows:
    entry = found.entries.get(number)
    if entry is None:
        yield "robots.txt", f"record {number}: not in robots.jsonl"
        return
    status = "no answer" if entry.status is None else f"status {entry.status}"
    why = f"{entry.reason}, {status}" if entry.reason else status
    yield "robots.txt", f"record {entry.id} of {entry.origin}: {entry.state} ({why})"
    yield "", f"fetched {moment(entry.fetched_at_ms)}, in force until {moment(entry.expires_at_ms)}"
    if entry.state is RobotsState.PARSED:
        lost = "" if found.bodies.get(entry.id) else ", whose bytes are missing from the store, or changed"
        yield "", f"sha256 {entry.sha256}{lost}"


def _request(request: Attempt) -> str:
    """One request, and the pause that followed it."""
    where = f"{request.url} at {request.ip}, {_moment(request.claimed_at)}"
    if request.ended_at is None:
        return f"{where}: no end is recorded, so it counts as sent"
    said = request.error or str(request.status)
    unsent = "" if request.sent else " (nothing was sent)"
    return f"{where}: {said}{unsent}; then a pause of {request.pause_s:g} s ({request.pause_basis})"


def _outlook(found: Explanation) -> Rows:
    if found.kind is Kind.LINKED:
        yield "if asked", judged(found, found.judgement)
    if found.kind in _UNVISITED and found.judgement.run:
        yield "settings", _settings(found.judgement.run)
    for number, change in enumerate(found.changes):
        yield "" if number else "to change", change
    if found.unlisted and found.kind in (Kind.NEVER_SEEN, Kind.LINKED):
        run = found.unlisted
        left = "has no end yet, or was killed" if run.ended_at is None else f"left {run.unfinished} visits unfinished"
        yield (
            "note",
            f"run {run.number} {left}; a store does not name URLs that were not begun, so it may be among them",
        )


def _settings(run: RunInfo) -> str:
    token, cap_s = run.settings.get("token", str), run.settings.get("crawl_delay_cap_s", float)
    order = run.settings.get("order", str)
    return f"those of run {run.number}: product token {token}, crawl-delay up to {cap_s:g} s, order {order}"


def _shown(name: str, text: str) -> str:
    return f"{name:<12} {_one_line(text)}".rstrip()


def _moment(text: str) -> str:
    return moment(parse_rfc3339_ms(text))


def _one_line(text: str) -> str:
    """What a site wrote, a rule or a URL, cannot steer a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
