"""What became of the visits that concern one host: its own URLs, and those of others that redirects led to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from seaspider.core.records import Outcome, Reason
from seaspider.core.urls import host_of
from seaspider.journal import Row
from seaspider.receipt.requests import Asked
from seaspider.receipt.robots import hops_of


@dataclass(frozen=True, slots=True)
class PageFact:
    """The latest record of a URL. `own`: it is a URL of the host, not of one that redirected to it.

    `not_asked`: the URL of the host that the visit was about to ask when it was stopped; None if it ended otherwise.
    """

    run: int
    url: str
    own: bool
    followed: bool
    outcome: Outcome
    reason: Reason | None
    status: int | None
    ended_ms: int
    not_before_ms: int | None
    not_asked: str | None
    group: str | None
    rule: str | None
    rule_line: int | None
    crawl_delay_s: float | None

    @property
    def ending(self) -> str:
        return f"{self.outcome}/{self.reason}" if self.reason else str(self.outcome)


@dataclass(frozen=True, slots=True)
class Pages:
    """`latest`: by URL. `links`: (run, visit, url of the host) -> the URL of another host that led to it, if any.
    `begun`: (run, visit) of requests to the host -> the URL of another host that the visit began with."""

    latest: tuple[PageFact, ...]
    links: Mapping[tuple[int, int, str], str | None]
    begun: Mapping[tuple[int, int], str]

    def came_from(self, request: Asked) -> str | None:
        """The URL of another host that led to a page request of the host; of a visit that did not end, its first."""
        if request.visit is None or request.kind != "page":
            return None
        key = (request.run, request.visit, request.url)
        return self.links[key] if key in self.links else self.begun.get((request.run, request.visit))


def begun_of(
    rows: Iterable[Row], host: str, visits: Set[tuple[int, int | None]]
) -> tuple[int, dict[tuple[int, int], str]]:
    """From intents.jsonl: how many visits began at the host; and of `visits`, those that began at another, with the URL
    they began with."""
    own, elsewhere = 0, {}
    for row in rows:
        visit, url = (row.get("run", int), row.get("visit", int)), row.get("url", str)
        if host_of(url) == host:
            own += 1
        elif visit in visits:
            elsewhere[visit] = url
    return own, elsewhere


def pages_of(rows: Iterable[Row], host: str, begun: Mapping[tuple[int, int], str]) -> Pages:
    """The page records that concern the host. Raises StoreError."""
    latest: dict[str, PageFact] = {}
    links: dict[tuple[int, int, str], str | None] = {}
    for row in rows:
        hops = hops_of(row)
        urls = [hop.get("url", str) for hop in hops]
        url = row.get("url", str)
        if host not in (host_of(each) for each in (url, *urls)):
            continue
        latest[url] = _page(row, url, hops, host)
        visit = (row.get("run", int), row.get("visit", int))
        for before, after in zip((None, *urls), urls, strict=False):
            if host_of(after) == host:
                elsewhere = before is not None and host_of(before) != host
                if elsewhere or visit in begun:
                    links[(*visit, after)] = before if elsewhere else None
    return Pages(tuple(latest[url] for url in sorted(latest)), links, begun)


def _page(row: Row, url: str, hops: list[Row], host: str) -> PageFact:
    if not hops:
        raise row.error("an empty 'chain'")
    last = hops[-1]
    unanswered = last.optional("status", int) is None and last.optional("error", str) is None
    at_the_host = host_of(last.get("url", str)) == host
    try:
        outcome = Outcome(row.get("outcome", str))
        reason = None if (word := row.optional("reason", str)) is None else Reason(word)
    except ValueError as error:
        raise row.error(str(error)) from error
    return PageFact(
        run=row.get("run", int),
        url=url,
        own=host_of(url) == host,
        followed=row.optional("line", int) is None,
        outcome=outcome,
        reason=reason,
        status=row.optional("status", int),
        ended_ms=row.milliseconds("ended_at"),
        not_before_ms=None if row.optional("not_before", str) is None else row.milliseconds("not_before"),
        not_asked=last.get("url", str) if unanswered and at_the_host else None,
        group=last.optional("group", str),
        rule=last.optional("rule", str),
        rule_line=last.optional("rule_line", int),
        crawl_delay_s=last.optional("crawl_delay_s", float),
    )
