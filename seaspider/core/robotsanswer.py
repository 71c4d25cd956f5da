"""What one answer, or failure, on the way to a robots.txt leads to: the next hop, or the entry of the origin.

Decides over the whole fetch: redirects with their own budget, the status table (robotsstate), the body's digest and
sitemaps, Retry-After and max-age. Never asks, writes or reads a clock. RFC 9309 2.3.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from seaspider.core.httpfields import max_age_s, retry_after_s, texts_of, values_of
from seaspider.core.redirects import REDIRECT_STATUSES, HopReason, RefusedHop, next_hop
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry, RobotsHop
from seaspider.core.robotsfile import parse
from seaspider.core.robotsstate import (
    RobotsCause,
    RobotsPolicy,
    RobotsReason,
    RobotsState,
    classify,
    expires_at_ms,
)
from seaspider.core.urls import Url
from seaspider.core.visits import Hop

_REFUSED = {
    HopReason.SCHEME: RobotsReason.REFUSED_TARGET,
    HopReason.USERINFO: RobotsReason.REFUSED_TARGET,
    HopReason.BAD_LOCATION: RobotsReason.BAD_LOCATION,
    HopReason.REDIRECT_LOOP: RobotsReason.REDIRECT_LOOP,
    HopReason.REDIRECT_LIMIT: RobotsReason.REDIRECT_LIMIT,
}


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """The answer to one request. `body`: decoded, empty if it was not read; `clipped`: it is only a beginning."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""
    clipped: bool = False
    conditional: bool = False
    """The request carried a validator."""

    def values(self, name: bytes) -> list[bytes]:
        """The values of a header in the order received; `name` in lower case."""
        return values_of(self.headers, name)

    def texts(self, name: bytes) -> list[str]:
        return texts_of(self.headers, name)


@dataclass(frozen=True, slots=True)
class RobotsContext:
    """What every entry of a run has in common, and its own number."""

    policy: RobotsPolicy
    book: RobotsBook
    max_redirects: int
    run: int
    id: int
    now_ms: int
    """When the answer or the failure was in."""


def wants_body(status: int) -> bool:
    """Whether the body of an answer to /robots.txt is read at all: only that of a 2xx."""
    return 200 <= status <= 299


def conclude(
    origin: str, cause: RobotsCause, chain: Sequence[Hop], answer: RobotsAnswer, context: RobotsContext
) -> Url | RobotsEntry:
    """The next URL to ask, or the entry that the origin gets. `chain`: the hops so far, the last is answered."""
    target = next_hop(
        chain[-1].url,
        answer.status,
        answer.values(b"location"),
        [hop.url.text for hop in chain],
        context.max_redirects - (len(chain) - 1),
    )
    if isinstance(target, Url):
        return target
    if isinstance(target, RefusedHop):
        return unreachable(origin, cause, chain, _REFUSED[target.reason], context, answer)
    verdict = classify(answer.status, answer.conditional)
    if verdict.reason is not None:
        return unreachable(origin, cause, chain, verdict.reason, context, answer)
    if verdict.renewed:
        return context.book.renew(
            origin,
            run=context.run,
            id=context.id,
            cause=cause,
            chain=_record(chain),
            fetched_at_ms=context.now_ms,
            max_age_s=max_age_s(answer.texts(b"cache-control")),
            etag=_last(answer.texts(b"etag")),
            last_modified=_last(answer.texts(b"last-modified")),
        )
    return _known(origin, cause, chain, verdict.state, context, answer)


def _known(
    origin: str,
    cause: RobotsCause,
    chain: Sequence[Hop],
    state: RobotsState,
    context: RobotsContext,
    answer: RobotsAnswer,
) -> RobotsEntry:
    parsed = state is RobotsState.PARSED
    file = parse(answer.body, cut=answer.clipped) if parsed else None
    return RobotsEntry(
        run=context.run,
        id=context.id,
        origin=origin,
        cause=cause,
        chain=_record(chain),
        state=state,
        reason=None,
        status=answer.status,
        sha256=hashlib.sha256(answer.body).hexdigest() if parsed else None,
        bytes=len(answer.body) if parsed else None,
        truncated=file.truncated if file else False,
        etag=_last(answer.texts(b"etag")) if parsed else None,
        last_modified=_last(answer.texts(b"last-modified")) if parsed else None,
        retry_after_s=None,
        fetched_at_ms=context.now_ms,
        expires_at_ms=expires_at_ms(
            state, context.now_ms, max_age_s(answer.texts(b"cache-control")), None, context.policy
        ),
        sitemaps=file.sitemaps if file else (),
    )


def unreachable(
    origin: str,
    cause: RobotsCause,
    chain: Sequence[Hop],
    reason: RobotsReason,
    context: RobotsContext,
    answer: RobotsAnswer | None = None,
) -> RobotsEntry:
    """The entry of an origin whose robots.txt could not be had; `answer`: the last one, if there was one."""
    retry_after = retry_after_s(answer.texts(b"retry-after"), answer.texts(b"date"), context.now_ms) if answer else None
    return RobotsEntry(
        run=context.run,
        id=context.id,
        origin=origin,
        cause=cause,
        chain=_record(chain),
        state=RobotsState.UNREACHABLE,
        reason=reason,
        status=answer.status if answer else None,
        sha256=None,
        bytes=None,
        truncated=False,
        etag=None,
        last_modified=None,
        retry_after_s=retry_after,
        fetched_at_ms=context.now_ms,
        expires_at_ms=expires_at_ms(RobotsState.UNREACHABLE, context.now_ms, None, retry_after, context.policy),
    )


def is_redirect(status: int, locations: Sequence[bytes]) -> bool:
    """Whether the body of an answer does not matter, because it sends elsewhere."""
    return status in REDIRECT_STATUSES and bool(locations)


def _record(chain: Sequence[Hop]) -> tuple[RobotsHop, ...]:
    return tuple(RobotsHop(hop.url.text, hop.ip, hop.status, hop.location, hop.error) for hop in chain)


def _last(values: Sequence[str]) -> str | None:
    return values[-1] if values else None
