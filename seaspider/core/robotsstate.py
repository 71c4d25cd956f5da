"""What an answer to /robots.txt means, and how long it holds.

Decides parsed, absent or unreachable, and when that is over. Never parses a file (robotsfile), follows a redirect
(redirects), remembers an origin (robotsbook) or reads a clock. What is not understood is unreachable, and unreachable
allows nothing.
RFC 9309 sections 2.3.1 (status), 2.3.1.4 (unreachable) and 2.4 (at most 24 hours). Stricter than it: 429 is
unreachable, and unreachable never turns into absent, however long it lasts.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seaspider.core.times import ms_from_s

MAX_TTL_S: Final = 86_400


class RobotsState(StrEnum):
    PARSED = "parsed"
    ABSENT = "absent"
    UNREACHABLE = "unreachable"


class RobotsReason(StrEnum):
    """Why an origin is unreachable. Where pages.jsonl has a word for the same thing, it is this word."""

    HTTP_429 = "http-429"
    HTTP_5XX = "http-5xx"
    HTTP_OTHER = "http-other"  # 1xx, 206, 304 unasked, 3xx that redirects nowhere, 6xx and up
    REDIRECT_LIMIT = "redirect-limit"
    REDIRECT_LOOP = "redirect-loop"
    BAD_LOCATION = "bad-location"
    REFUSED_TARGET = "refused-target"  # a hop to another scheme, or with user information
    SPECIAL_ADDRESS = "special-address"
    HOP_BLOCKED = "hop-blocked"  # a hop to a host that is blocked, deferred or over its budget
    HOP_DEFERRED = "hop-deferred"
    HOP_BUDGET = "hop-budget"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    CUT = "cut"
    DECODE = "decode"
    PROTOCOL = "protocol"
    ABORTED = "aborted"  # another part of the crawl took the request back
    TOO_LARGE = "too-large"  # what we will not even read the beginning of, e.g. its header


class RobotsCause(StrEnum):
    """Why an origin was asked for its robots.txt."""

    FIRST = "first"
    EXPIRED = "expired"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a final status means. `reason` iff unreachable; `renewed`: a 304, so the earlier body is the file."""

    state: RobotsState
    reason: RobotsReason | None = None
    renewed: bool = False


def classify(status: int, conditional: bool) -> Verdict:
    """The state a final answer's status stands for, its body being whole; a followed redirect is not final.

    `conditional`: this very request carried a validator of the book, so a 304 speaks of a body we have.
    """
    if status == 304 and conditional:
        return Verdict(RobotsState.PARSED, renewed=True)
    if status == 429:
        return Verdict(RobotsState.UNREACHABLE, RobotsReason.HTTP_429)
    if 200 <= status <= 299 and status != 206:  # a part nobody asked for may lack the lines that forbid
        return Verdict(RobotsState.PARSED)
    if 400 <= status <= 499:
        return Verdict(RobotsState.ABSENT)
    if 500 <= status <= 599:
        return Verdict(RobotsState.UNREACHABLE, RobotsReason.HTTP_5XX)
    return Verdict(RobotsState.UNREACHABLE, RobotsReason.HTTP_OTHER)


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    """The settings of this part, in seconds. Raises ValueError naming the first that is out of range.

    `retry_after_cap_s`: a week. A server that asks for more is asked again after a week, which is one request; without
    a cap, one wrong year in a Retry-After would shut an origin out for good.
    """

    ttl_s: float = MAX_TTL_S
    ttl_floor_s: float = 600
    retry_s: float = 3600
    retry_after_cap_s: float = 604_800
    give_up: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.ttl_s <= MAX_TTL_S:
            raise ValueError(f"ttl_s = {self.ttl_s}: must be above 0 and at most {MAX_TTL_S} (RFC 9309 section 2.4)")
        for name in ("ttl_floor_s", "retry_after_cap_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} = {getattr(self, name)}: must be a duration from 0")
        if not 0 < self.retry_s < float("inf"):
            raise ValueError(f"retry_s = {self.retry_s}: must be above 0")
        if self.give_up < 1:
            raise ValueError(f"give_up = {self.give_up}: must be at least 1")


def expires_at_ms(
    state: RobotsState,
    fetched_at_ms: int,
    max_age_s: float | None,
    retry_after_s: float | None,
    policy: RobotsPolicy,
) -> int:
    """When an entry is over, ms since the epoch. `fetched_at_ms`: when its answer, or its failure, was in.

    Rules and absence live for the TTL, or for a shorter max-age, which counts as the floor at least; a TTL below the
    floor stands. Unreachable lives for the retry period, or for a longer Retry-After up to the cap.
    """
    if state is RobotsState.UNREACHABLE:
        life_s = max(policy.retry_s, min(retry_after_s or 0, policy.retry_after_cap_s))
    elif max_age_s is None:
        life_s = policy.ttl_s
    else:
        life_s = min(policy.ttl_s, max(max_age_s, policy.ttl_floor_s))
    return fetched_at_ms + ms_from_s(life_s)
