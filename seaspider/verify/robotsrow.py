"""Whether a row of robots.jsonl is what its last answer, and the rows before it, make of that robots.txt.

Re-derives state, reason, validators, life and cause with the crawl's pure functions. Raises Refuted (P1).
RFC 9309 2.3.1 (status) and 2.4 (caching).
"""

from __future__ import annotations

from typing import Final

from seaspider.core.httpfields import max_age_s, retry_after_s, texts_of, values_of
from seaspider.core.redirects import HopReason, RefusedHop, next_hop
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsfile import LIMIT_BYTES, parse
from seaspider.core.robotsstate import RobotsCause, RobotsReason, RobotsState, classify, expires_at_ms
from seaspider.core.times import MS_PER_S
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.verify.evidence import Evidence, Request, Settle
from seaspider.verify.facts import RobotsLine, contradiction
from seaspider.verify.proof import Refuted
from seaspider.verify.robots import Body, Entry
from seaspider.verify.terms import Terms

_NOT_ASKED: Final = frozenset(
    {
        RobotsReason.DNS,
        RobotsReason.SPECIAL_ADDRESS,
        RobotsReason.HOP_BLOCKED,
        RobotsReason.HOP_DEFERRED,
        RobotsReason.HOP_BUDGET,
    }
)
_REFUSED: Final = {
    HopReason.SCHEME: RobotsReason.REFUSED_TARGET,
    HopReason.USERINFO: RobotsReason.REFUSED_TARGET,
    HopReason.BAD_LOCATION: RobotsReason.BAD_LOCATION,
    HopReason.REDIRECT_LOOP: RobotsReason.REDIRECT_LOOP,
    HopReason.REDIRECT_LIMIT: RobotsReason.REDIRECT_LIMIT,
}


def check_row(line: RobotsLine, before: Entry | None, terms: Terms) -> None:
    """What a row says whatever was answered."""
    row = line.entry
    contradiction(bool(row.chain), line.place, "has no request in its chain")
    first = f"{row.origin}/robots.txt"
    contradiction(row.chain[0].url == first, line.place, f"its chain begins at {row.chain[0].url}, not at {first}")
    cause = RobotsCause.FIRST
    if before is not None:
        cause = RobotsCause.RETRY if before.state is RobotsState.UNREACHABLE else RobotsCause.EXPIRED
    contradiction(row.cause is cause, line.place, f"cause is {row.cause}, but the rows before it make it {cause}")
    if not line.answered or row.reason is RobotsReason.ABORTED:
        _check_unasked(line, terms)


def _check_unasked(line: RobotsLine, terms: Terms) -> None:
    """Nothing was answered in the end: unreachable, for the retry period."""
    row, error = line.entry, line.entry.chain[-1].error
    known = row.reason is RobotsReason.ABORTED or (row.reason in _NOT_ASKED if error is None else row.reason == error)
    contradiction(known, line.place, f"is {row.state}/{row.reason}, but its last hop was not asked for")
    _check_life(line, None, None, None, terms)
    _check_no_answer(line, "nobody answered")


def _check_no_answer(line: RobotsLine, why: str) -> None:
    row = line.entry
    nothing = (row.status, row.etag, row.last_modified) == (None, None, None)
    contradiction(nothing, line.place, f"has a status, an etag or a last_modified, but {why}")


def check_answer(line: RobotsLine, request: Request, before: Entry | None, terms: Terms) -> None:
    """What the last request of the fetch makes of it."""
    row, settle = line.entry, request.settle
    if settle is None:
        raise Refuted(line.place, f"speaks of an answer, but the request at {request.place} has none")
    if row.reason is RobotsReason.ABORTED:
        return
    same = row.fetched_at_ms == settle.ended_ms
    contradiction(same, line.place, f"fetched_at is not when the answer at {settle.place} was in")
    if settle.error is not None or settle.status is None:
        _check_state(line, RobotsState.UNREACHABLE, settle.error, settle)
        _check_no_answer(line, "the request failed")
        _check_life(line, None, None, None, terms)
        return
    contradiction(row.status == settle.status, line.place, f"status is {row.status}, the answer's is {settle.status}")
    body = before.body if before is not None else None
    reason = _refused(line, settle, terms)
    if reason is not None:
        _check_state(line, RobotsState.UNREACHABLE, reason, settle)
    else:
        renews = settle.status == 304 and row.state is RobotsState.PARSED
        verdict = classify(settle.status, renews)
        _check_state(line, verdict.state, verdict.reason, settle)
        if renews and body is not None:
            _check_renewal(line, body)
        contradiction(not renews or body is not None, line.place, "304 renews a robots.txt that was never had")
    _check_fields(line, settle, body)
    _check_life(line, settle, body, _retry_after(line, settle), terms)


def _refused(line: RobotsLine, settle: Settle, terms: Terms) -> RobotsReason | None:
    """Why the answer's redirect is not followed; None if it is none."""
    chain, status = line.entry.chain, settle.status or 0
    try:
        current = normalise(chain[-1].url)
    except UrlError as error:
        raise Refuted(line.place, str(error)) from error
    seen = [hop.url for hop in chain]
    target = next_hop(
        current, status, values_of(settle.headers, b"location"), seen, terms.robots_max_redirects - len(chain) + 1
    )
    if isinstance(target, Url):
        raise Refuted(line.place, f"ends at an answer that sends on to {target.text}, see {settle.place}")
    return _REFUSED[target.reason] if isinstance(target, RefusedHop) else None


def _check_state(line: RobotsLine, state: RobotsState, reason: str | None, settle: Settle) -> None:
    row = line.entry
    same = row.state is state and row.reason == reason
    found, derived = (_words(row.state, row.reason), _words(state, reason))
    contradiction(same, line.place, f"state is {found}, but the answer at {settle.place} makes it {derived}")


def _words(state: RobotsState, reason: str | None) -> str:
    return f"{state}/{reason}" if reason else str(state)


def _check_renewal(line: RobotsLine, body: Body) -> None:
    row = line.entry
    same = (row.sha256, row.truncated) == (body.sha256, body.truncated)
    contradiction(same, line.place, "304 renews the robots.txt before, but this is another one")
    contradiction(row.chain[-1].url == body.url, line.place, f"304 of another URL than {body.url}, which gave the file")


def _check_fields(line: RobotsLine, settle: Settle, body: Body | None) -> None:
    row = line.entry
    etag, last_modified = None, None
    if row.state is RobotsState.PARSED:
        etag, last_modified = _last(settle, b"etag"), _last(settle, b"last-modified")
        if settle.status == 304 and body is not None:
            etag, last_modified = etag or body.etag, last_modified or body.last_modified
    found = (row.etag, row.last_modified)
    contradiction(found == (etag, last_modified), line.place, f"etag or last_modified is not that of {settle.place}")


def _retry_after(line: RobotsLine, settle: Settle) -> int | None:
    if line.entry.state is not RobotsState.UNREACHABLE:
        return None
    return retry_after_s(
        texts_of(settle.headers, b"retry-after"), texts_of(settle.headers, b"date"), line.entry.fetched_at_ms
    )


def _check_life(
    line: RobotsLine, settle: Settle | None, body: Body | None, retry_after: int | None, terms: Terms
) -> None:
    """`settle`: the answer, if there was one."""
    row = line.entry
    contradiction(
        row.retry_after_s == retry_after, line.place, f"retry_after_s is {row.retry_after_s}, not {retry_after}"
    )
    life_s: float | None = None
    if settle is not None and row.state is not RobotsState.UNREACHABLE:
        life_s = max_age_s(texts_of(settle.headers, b"cache-control"))
        if life_s is None and settle.status == 304 and body is not None:
            life_s = body.life_ms / MS_PER_S
    expires_ms = expires_at_ms(row.state, row.fetched_at_ms, life_s, retry_after, terms.robots)
    right = row.expires_at_ms == expires_ms
    contradiction(right, line.place, "expires_at does not follow from the answer and the settings")


def check_body(row: RobotsEntry, place: str, evidence: Evidence, codings: bool) -> None:
    """The stored file is there, is what was parsed, and says what the row says of it. `codings`: it came encoded, so
    how much of it was cut off cannot be told."""
    if row.sha256 is None:
        return
    body = evidence.true_body(row.sha256)
    if body is None:
        raise Refuted(place, f"its file, bodies/{row.sha256[:2]}/{row.sha256}, is missing or changed")
    contradiction(len(body) == row.bytes, place, f"bytes is {row.bytes}, the file has {len(body)}")
    cut = row.truncated and (codings or len(body) >= LIMIT_BYTES)
    file = parse(body, cut=cut)
    contradiction(file.truncated == row.truncated, place, f"truncated is {row.truncated}, the file says otherwise")
    contradiction(file.sitemaps == row.sitemaps, place, "sitemaps are not those of the file")


def _last(settle: Settle, name: bytes) -> str | None:
    return next(reversed(texts_of(settle.headers, name)), None)
