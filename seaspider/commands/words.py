"""Decisions in plain English, for the commands. Says what others decided, and decides nothing."""

from __future__ import annotations

from typing import Final

from seaspider.core.frontier import NeedsRobots
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import UrlError, normalise
from seaspider.core.visits import Hop
from seaspider.run import Run


def why_not(run: Run, url: str, ending: Ending | None = None) -> str:
    """Why a URL was not asked for, as far as the run knows it now. `ending`: what it was stopped with, if known."""
    try:
        hop = Hop(normalise(url))
    except UrlError as error:
        return str(error)
    judged = run.frontier.judge(hop, run.clock.wall_ms())
    if isinstance(judged, Ending) and ending in (None, judged):
        return reason_in_words(judged, hop, run.config.crawl_delay_cap_s)
    if ending is not None:
        return reason_in_words(ending, hop, run.config.crawl_delay_cap_s)
    if isinstance(judged, NeedsRobots):
        return "nothing is known of its robots.txt"
    return "it is allowed itself, but led to what is not; the log says where"


def reason_in_words(ending: Ending, hop: Hop, cap_s: float) -> str:
    """Why a visit ends so; `hop` is the one it ends at."""
    until = "" if ending.not_before_ms is None else f"; not before {moment(ending.not_before_ms)}"
    match ending.outcome, ending.reason:
        case Outcome.DISALLOWED, _:
            return f"robots.txt forbids it ({rule_in_words(hop)})"
        case Outcome.DEFERRED, Reason.CRAWL_DELAY:
            return (
                f"robots.txt asks for {hop.crawl_delay_s:g} s between requests, and the cap is {cap_s:g} s: a crawl "
                "defers it (SEASPIDER_CRAWL_DELAY_CAP)"
            )
        case _, Reason.ROBOTS_UNREACHABLE:
            return f"its robots.txt could not be had, so nothing is allowed{until}"
        case Outcome.BLOCKED, _:
            return f"the host answered 403 to another page{until}"
        case Outcome.REFUSED, Reason.SPECIAL_ADDRESS:
            return "its host has a special address, which is not asked (SEASPIDER_ALLOWED_NETWORKS)"
        case Outcome.FAILED, Reason.DNS:
            return "there is no such host"
    return f"{ending}{until}"


_ENDINGS: Final = {
    Reason.SCHEME: "it redirects to what is neither http nor https",
    Reason.USERINFO: "it redirects to a URL with a user name in it",
    Reason.REDIRECT_LIMIT: "it redirects more often than is followed",
    Reason.REDIRECT_LOOP: "it redirects to where it came from",
    Reason.BAD_LOCATION: "it redirects to what is no usable URL",
    Reason.CONNECT: "no connection could be made",
    Reason.TLS: "no secure connection could be made",
    Reason.TIMEOUT: "no whole answer came in time",
    Reason.RESET: "the connection was broken off",
    Reason.CUT: "the answer was cut short",
    Reason.TOO_LARGE: "the answer was too large",
    Reason.DECODE: "the body could not be decoded",
    Reason.PROTOCOL: "the answer was no valid HTTP",
    Reason.HTTP_429: "the host asked for fewer requests each time (429)",
    Reason.HTTP_5XX: "the host could not answer (5xx)",
    Reason.RETRY_AFTER: "the host asked for a longer pause than is waited for",
    Reason.BACKOFF: "the host could not be looked up just then",
    Reason.BUDGET: "the run's requests to this host were used up (SEASPIDER_HOST_BUDGET)",
}


def ending_in_words(ending: Ending, hop: Hop, cap_s: float) -> str:
    """Why a visit ended so at `hop`, whole sentences where reason_in_words() has the words of the records."""
    words = _ENDINGS.get(ending.reason) if ending.reason else None
    if words is None:
        return reason_in_words(ending, hop, cap_s)
    until = "" if ending.not_before_ms is None else f"; not before {moment(ending.not_before_ms)}"
    return f"{words}{until}"


def rule_in_words(hop: Hop) -> str:
    """`line 2 "Disallow: /private/", in the group for everyone`."""
    group = "everyone" if hop.group == "*" else hop.group
    if hop.rule is not None:
        return f'line {hop.rule_line} "{hop.rule}", in the group for {group}'
    return f"no rule of the group for {group} speaks of it" if hop.group else "no group speaks of it"


def moment(wall_ms: int) -> str:
    """`2026-11-30 05:17:36 UTC`."""
    return rfc3339_ms(wall_ms)[:19].replace("T", " ") + " UTC"
