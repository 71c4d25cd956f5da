"""Cases of one theme, crawled together: each has a host of its own that answers with raw octets, and says how its URLs
end, what was asked of it, and that the visit after it is unaffected."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crawling import Ended, crawl
from tests.rawserver import Script, hang_after
from tests.web.rawweb import RawWeb, Tls, page

AFTER = "/after"
ROBOTS = "/robots.txt"


@dataclass(frozen=True, slots=True)
class End:
    """How a URL ends. `body`: what is stored, None for nothing. `asked`: how often; `error`: of its last hop."""

    ending: str = "stored"
    status: int | None = 200
    body: bytes | None = None
    flags: Sequence[str] = ()
    asked: int = 1
    error: str | None = None


def stored(body: bytes, *flags: str, status: int = 200, asked: int = 1) -> End:
    return End("stored", status, body, flags, asked)


def failed(reason: str, status: int | None = None) -> End:
    return End(f"failed/{reason}", status, error=reason)


NO_ROBOTS = End("deferred/robots-unreachable", None, asked=0)
"""A page whose robots.txt could not be had."""


@dataclass(frozen=True, slots=True)
class Case:
    """`answers`: target -> octets, after which the server waits for the close, or a script. `ends`: those of the queue,
    in its order. `robots`: state or `unreachable/reason` of the origin. `asked`: what is asked for, if that is not just
    `ends`."""

    answers: Mapping[str, bytes | Script]
    ends: Mapping[str, End]
    robots: str = "absent"
    asked: Sequence[str] | None = None

    @property
    def all_ends(self) -> Mapping[str, End]:
        if self.robots.startswith("unreachable"):
            return {**self.ends, AFTER: NO_ROBOTS}
        return {**self.ends, AFTER: stored(b"after")}


def one(answer: bytes | Script, end: End) -> Case:
    """A case of one page."""
    return Case({"/a": answer}, {"/a": end})


def robots(answer: bytes | Script, reason: str) -> Case:
    """A case whose robots.txt is no answer, so no page is asked for."""
    return Case({ROBOTS: answer}, {"/a": NO_ROBOTS}, f"unreachable/{reason}")


def host_of(case: str) -> str:
    return f"{case.lower().replace('/', '--')}.test"


@dataclass(frozen=True, slots=True)
class Shown:
    """What became of a case: how its URLs ended (one record each), what its host was asked for, and its robots.txt."""

    ends: Mapping[str, End]
    asked: Sequence[str]
    robots: str


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl of cases that is over."""

    cases: Mapping[str, Case]
    web: RawWeb
    ended: Ended
    scheme: str = "http"
    pages: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def promised(self, case: str) -> Shown:
        wanted = self.cases[case]
        ends = wanted.all_ends
        asked = [target for target, end in ends.items() for _ in range(end.asked)]
        return Shown(ends, [ROBOTS, *(asked if wanted.asked is None else [*wanted.asked, AFTER])], wanted.robots)

    def shown(self, case: str) -> Shown:
        host = host_of(case)
        ends = {target: self.end(host, target) for target in self.cases[case].all_ends}
        return Shown(ends, self.web.asked(host), self.robots_row(host))

    def end(self, host: str, target: str) -> End:
        """How a URL ended; the stored body is the file of its digest."""
        url = self.web.url(host, target, self.scheme)
        [record] = self.pages[url]
        ending = f"{record['outcome']}/{record['reason']}" if record["reason"] else record["outcome"]
        body, last = None, record["chain"][-1]
        if record["sha256"] is not None:
            body = (self.ended.store / "bodies" / record["sha256"][:2] / record["sha256"]).read_bytes()
            assert hashlib.sha256(body).hexdigest() == record["sha256"]
        return End(ending, record["status"], body, tuple(record["flags"]), record["attempts"], last["error"])

    def page(self, case: str, target: str = "/a") -> Mapping[str, Any]:
        [record] = self.pages[self.web.url(host_of(case), target, self.scheme)]
        return record

    def robots_row(self, host: str) -> str:
        origin = self.web.url(host, "", self.scheme)
        [row] = [row for row in self.ended.records("robots") if row["origin"] == origin]
        return f"{row['state']}/{row['reason']}" if row["reason"] else row["state"]

    def requests(self, case: str) -> list[dict[str, Any]]:
        """A case's page requests in order, each with the fields of its claim and of its settle."""
        rows = self.ended.records("requests")
        settles = {row["n"]: row for row in rows if row["event"] == "settle"}
        claims = [row for row in rows if row["event"] == "claim" and row["kind"] == "page"]
        return [claim | settles[claim["n"]] for claim in claims if claim["host"] == host_of(case)]


def crawled(
    cases: Mapping[str, Case],
    folder: Path,
    network: str,
    *,
    tls: Mapping[str, Tls] | None = None,
    at_once: Mapping[str, Script] | None = None,
    settings: Mapping[str, object] | None = None,
    **more: Any,
) -> Crawled:
    """Crawls all cases, each at an address of its own in `network` (like 127.0.40), once, and checks the exit code.

    tls: case -> context; if given, all cases are https. at_once: case -> script. Both as for RawWeb.
    Each request is made once, unless the settings say more.
    """
    names = {host_of(case): f"{network}.{number}" for number, case in enumerate(cases, 1)}
    routes = {
        host_of(case) + target: hang_after(answer) if isinstance(answer, bytes) else answer
        for case, wanted in cases.items()
        for target, answer in {AFTER: page(b"after"), **wanted.answers}.items()
    }
    contexts, deaf = ({host_of(case): it for case, it in (given or {}).items()} for given in (tls, at_once))
    scheme = "http" if tls is None else "https"
    once = {"SEASPIDER_MAX_ATTEMPTS": 1, "SEASPIDER_BACKOFF_BASE": 0, **(settings or {})}
    with RawWeb(routes, names, tls=contexts, at_once=deaf) as web:
        queue = [web.url(host_of(case), target, scheme) for case in cases for target in cases[case].all_ends]
        ended = crawl(queue, folder, names=names, settings=once, **more)
    pages: dict[str, list[dict[str, Any]]] = {}
    for record in ended.records("pages"):
        pages.setdefault(record["url"], []).append(record)
    left = any(end.ending.startswith(("deferred", "blocked")) for case in cases.values() for end in case.ends.values())
    assert ended.exit == (3 if left else 0), ended.log
    return Crawled(cases, web, ended, scheme, pages)
