"""What would have to change, for each way a visit can end."""

import pytest

from seaspider.core.explainchange import FINAL, IN_THE_QUEUE, Limits, for_link, for_visit
from seaspider.core.links import LinkReason
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.urls import normalise
from seaspider.core.visits import Decision, Hop

T_MS = 1_796_015_856_123
T = "2026-11-30T05:17:36.123Z"
LIMITS = Limits(crawl_delay_cap_s=60.0, host_budget=7, max_redirects=10, max_body_bytes=1000)
RETRY = "run again with -a retry=failed"

CASES: dict[str, tuple[Ending, list[str]]] = {
    "stored": (Ending(Outcome.STORED), ["nothing: it is final"]),
    "disallowed": (
        Ending(Outcome.DISALLOWED, Reason.ROBOTS_RULE), ["the rule in line 2 of http://a.test/robots.txt", FINAL],
    ),
    "special-address": (
        Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS), ["SEASPIDER_ALLOWED_NETWORKS, to allow 10.0.0.1", FINAL],
    ),
    "redirect-limit": (
        Ending(Outcome.REFUSED, Reason.REDIRECT_LIMIT),
        ["a higher REDIRECT_MAX_TIMES (it was 10), or fewer redirects of the site", FINAL],
    ),
    **{
        reason: (Ending(Outcome.REFUSED, reason), ["where http://a.test/x redirects to", FINAL])
        for reason in (Reason.REDIRECT_LOOP, Reason.BAD_LOCATION, Reason.SCHEME, Reason.USERINFO)
    },
    "dns": (Ending(Outcome.FAILED, Reason.DNS), ["the name of its host has to have an address", RETRY]),
    "too-large": (
        Ending(Outcome.FAILED, Reason.TOO_LARGE), ["a higher DOWNLOAD_MAXSIZE (it was 1000 bytes)", RETRY],
    ),
    "given up": (Ending(Outcome.FAILED, Reason.ROBOTS_UNREACHABLE), ["its robots.txt has to be reachable", RETRY]),
    **{
        reason: (Ending(Outcome.FAILED, reason), [RETRY])
        for reason in (Reason.CONNECT, Reason.TLS, Reason.TIMEOUT, Reason.RESET, Reason.CUT, Reason.DECODE,
                       Reason.PROTOCOL, Reason.HTTP_429, Reason.HTTP_5XX)
    },
    "crawl-delay": (
        Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY),
        ["only a higher SEASPIDER_CRAWL_DELAY_CAP of 90.5 or more (it was 60), or a shorter crawl-delay of the site"],
    ),
    "budget": (
        Ending(Outcome.DEFERRED, Reason.BUDGET),
        ["run again: SEASPIDER_HOST_BUDGET of 7 requests counts anew in each run"],
    ),
    **{
        f"deferred {reason}": (Ending(Outcome.DEFERRED, reason, T_MS), [f"run again after {T}"])
        for reason in (Reason.ROBOTS_UNREACHABLE, Reason.RETRY_AFTER, Reason.BACKOFF)
    },
    "blocked": (Ending(Outcome.BLOCKED, Reason.FORBIDDEN, T_MS), [f"run again after {T}"]),
    "no time": (Ending(Outcome.BLOCKED, Reason.FORBIDDEN), ["run again"]),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "changes"), CASES.values(), ids=CASES)
def test_what_would_have_to_change(ending: Ending, changes: list[str]) -> None:
    hop = Hop(normalise("http://a.test/x"), "10.0.0.1", Decision.DISALLOW, rule_line=2, crawl_delay_s=90.5)
    assert list(for_visit(ending, hop, LIMITS)) == changes
    without = [
        change.replace(" (it was 60)", "").replace(" (it was 10)", "").replace(" (it was 1000 bytes)", "")
        for change in changes
    ]
    assert list(for_visit(ending, hop, None)) == [change.replace(" of 7 requests", "") for change in without]


def test_every_ending_there_is_has_its_case() -> None:
    seen = {(ending.outcome, ending.reason) for ending, _ in CASES.values()}
    there_are = set()
    for outcome in Outcome:
        for reason in (None, *Reason):
            try:
                there_are.add((outcome, Ending(outcome, reason).reason))
            except ValueError:
                continue
    assert seen == there_are


LINKS = {
    LinkReason.OFF: " (SEASPIDER_FOLLOW was off)",
    LinkReason.DEPTH: " (SEASPIDER_MAX_DEPTH was reached)",
    LinkReason.MAX_PAGES: " (SEASPIDER_MAX_PAGES was reached)",
    LinkReason.OTHER_HOST: " (links to another host are never followed)",
    LinkReason.NOFOLLOW: " (the page says nofollow)",
    LinkReason.SCHEME: "",
    None: "",
}


@pytest.mark.parametrize(("reason", "why"), LINKS.items(), ids=map(str, LINKS))
def test_a_link_that_was_not_followed(reason: LinkReason | None, why: str) -> None:
    assert for_link(reason) == (IN_THE_QUEUE + why,)
