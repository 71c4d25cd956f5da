"""What would have to change for a URL to be fetched, or for its record to become another: the rules, in words.

Decides from how the visit ended, at which hop, and from the settings of its run: a final record is never taken up again
in its store, unless it failed, with `-a retry=failed`; the others are, when their time has come. Never promises that a
site will allow or answer anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seaspider.core.links import LinkReason
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.times import rfc3339_ms
from seaspider.core.visits import Hop

IN_THE_QUEUE: Final = "it has to be in the queue of a crawl"
FINAL: Final = "this record is final: only a crawl into another store asks again"
NOTHING: Final = "nothing: it is final"
ASK_ROBOTS: Final = "its robots.txt has to be asked: a crawl does that first, and so does `scrapy robots`"
RUN_AGAIN: Final = "run again"
_RETRY: Final = "run again with -a retry=failed"

_LINK_LIMITS: Final[dict[str, str]] = {
    LinkReason.OFF: "SEASPIDER_FOLLOW was off",
    LinkReason.DEPTH: "SEASPIDER_MAX_DEPTH was reached",
    LinkReason.MAX_PAGES: "SEASPIDER_MAX_PAGES was reached",
    LinkReason.OTHER_HOST: "links to another host are never followed",
    LinkReason.NOFOLLOW: "the page says nofollow",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings of a run that a visit can be stopped by."""

    crawl_delay_cap_s: float
    host_budget: int
    max_redirects: int
    max_body_bytes: int


def for_visit(ending: Ending, hop: Hop, limits: Limits | None) -> tuple[str, ...]:
    """For a visit that ended so at this hop. `limits`: of its run, None if its start line is lost."""
    match ending.outcome:
        case Outcome.STORED:
            return (NOTHING,)
        case Outcome.DISALLOWED:
            return rule(hop), FINAL
        case Outcome.REFUSED:
            return _of_refused(ending, hop, limits), FINAL
        case Outcome.FAILED:
            return (*_of_failed(ending, limits), _RETRY)
    return not_final(ending, hop, limits)


def rule(hop: Hop) -> str:
    """The rule that forbids a hop."""
    return f"the rule in line {hop.rule_line} of {hop.url.origin}/robots.txt"


def not_final(ending: Ending, hop: Hop, limits: Limits | None) -> tuple[str, ...]:
    """For a visit that is put off, or would be."""
    match ending.reason:
        case Reason.CRAWL_DELAY:
            asked = "" if hop.crawl_delay_s is None else f" of {hop.crawl_delay_s:g} or more"
            capped = "" if limits is None else f" (it was {limits.crawl_delay_cap_s:g})"
            return (f"only a higher SEASPIDER_CRAWL_DELAY_CAP{asked}{capped}, or a shorter crawl-delay of the site",)
        case Reason.BUDGET:
            budget = "" if limits is None else f" of {limits.host_budget} requests"
            return (f"{RUN_AGAIN}: SEASPIDER_HOST_BUDGET{budget} counts anew in each run",)
    if ending.not_before_ms is None:
        return (RUN_AGAIN,)
    return (f"{RUN_AGAIN} after {rfc3339_ms(ending.not_before_ms)}",)


def for_link(reason: str | None) -> tuple[str, ...]:
    """For a link that was not followed; a page that is on record is not read for links again."""
    limit = _LINK_LIMITS.get(reason or "")
    return (f"{IN_THE_QUEUE} ({limit})" if limit else IN_THE_QUEUE,)


def _of_refused(ending: Ending, hop: Hop, limits: Limits | None) -> str:
    match ending.reason:
        case Reason.SPECIAL_ADDRESS:
            return f"SEASPIDER_ALLOWED_NETWORKS, to allow {hop.ip or 'its address'}"
        case Reason.REDIRECT_LIMIT:
            most = "" if limits is None else f" (it was {limits.max_redirects})"
            return f"a higher REDIRECT_MAX_TIMES{most}, or fewer redirects of the site"
    return f"where {hop.url.text} redirects to"


def _of_failed(ending: Ending, limits: Limits | None) -> tuple[str, ...]:
    match ending.reason:
        case Reason.DNS:
            return ("the name of its host has to have an address",)
        case Reason.TOO_LARGE:
            most = "" if limits is None else f" (it was {limits.max_body_bytes} bytes)"
            return (f"a higher DOWNLOAD_MAXSIZE{most}",)
        case Reason.ROBOTS_UNREACHABLE:
            return ("its robots.txt has to be reachable",)
    return ()
