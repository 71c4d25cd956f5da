"""Every recorded answer to /robots.txt through a real crawl: what is asked, how often, and what it allows.

The cases are tests/cases/robots_fetch.jsonl, none is left out: each has a host name and an address of its own. Here are
the ones that one answer decides. Those that get no answer at all, or need https or two ports (FAULTS, t-port) are in
test_robots_hosts.py; those that need time to pass are in test_robots_cache.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.loopback import Answer, Arrival, LoopbackWeb, from_wire, judge
from tests.crawling import ROOT, Ended, crawl

CASES = [json.loads(line) for line in (ROOT / "tests/cases/robots_fetch.jsonl").read_text("utf-8").splitlines()]
ELSEWHERE = {"t-retry", "t-stale-ok", "t-30-days", "t-port", "s304-conditional"}
FAULTS = {"f-hang", "f-dns", "f-tls-selfsigned", "rscheme-https"}
"""Cases in a crawl of their own: one waits for a time-out, the others need a server of their own."""

STATES = {"parse": "parsed", "allow_all": "absent", "unreachable": "unreachable"}
RULES = "User-agent: *\nDisallow: /page\n"
PAGES = ("/page", "/page2", "/open")

# Statuses that the recorded cases leave out; the states are design.md's.
EXTRA = [
    {"id": "x-s204", "wire": {"routes": {"/robots.txt": {"status": 204}}}, "expect": "parse", "page": "allow"},
    {"id": "x-s206", "wire": {"routes": {"/robots.txt": {"status": 206, "body": RULES}}}, "expect": "unreachable"},
    {"id": "x-s403", "wire": {"routes": {"/robots.txt": {"status": 403, "body": RULES}}}, "expect": "allow_all"},
    {"id": "x-s404", "wire": {"routes": {"/robots.txt": {"status": 404, "body": RULES}}}, "expect": "allow_all"},
    {"id": "x-s451", "wire": {"routes": {"/robots.txt": {"status": 451, "body": RULES}}}, "expect": "allow_all"},
]

# What a fetch asks beyond /robots.txt: the redirects it follows, at most five.
HOPS = {
    **dict.fromkeys(("r301", "r302", "r308", "rloop-two", "rhost", "rhost-404", "rthen-404", "rthen-429"), ("/r1",)),
    "rchain-2": ("/r1", "/r2"),
    **dict.fromkeys(("rchain-5", "rchain-7", "rchain-21"), ("/r1", "/r2", "/r3", "/r4", "/r5")),
    "rlogin": ("/login",),
    "rrelative": ("/txt/r?x=1",),
    "rscheme-https": ("/robots.txt",),
}

REASONS = {
    **dict.fromkeys(("s429", "s429-retry-after", "rthen-429"), "http-429"),
    **dict.fromkeys(("s700", "s999", "x-s206", "s300-noloc", "s304-noloc", "s305-noloc", "s306-noloc"), "http-other"),
    **dict.fromkeys(("rchain-7", "rchain-21"), "redirect-limit"),
    "rloop-two": "redirect-loop",
    "rbadloc": "bad-location",
    **dict.fromkeys(("rscheme-ftp", "rscheme-gopher", "rscheme-about"), "refused-target"),
    "rprivate": "special-address",
    **dict.fromkeys(("s100-only", "b-short", "b-chunked-cut", "f-close"), "cut"),
    **dict.fromkeys(("b-gzip-corrupt", "b-gzip-cut", "b-plain-as-gzip", "b-enc-unknown"), "decode"),
    "f-reset": "reset",
    "f-hang": "timeout",
    **dict.fromkeys(("f-http09", "f-badstatus"), "protocol"),
    "f-tls-selfsigned": "tls",
    "dns-temporary": "dns",
    "connect-refused": "connect",
}


@dataclass(frozen=True, slots=True)
class Site:
    """One case as a host with an address of its own, and a second address that it may redirect to."""

    id: str
    wire: dict[str, Any]
    state: str
    reason: str | None
    number: int

    @classmethod
    def of(cls, case: dict[str, Any], number: int) -> Site:
        state = STATES[case["expect"]]
        reason = REASONS.get(case["id"], "http-5xx") if state == "unreachable" else None
        wire = json.dumps(case["wire"]).replace("127.0.0.2", f"127.1.{number}.2")
        return cls(case["id"], json.loads(wire), state, reason, number)

    @property
    def host(self) -> str:
        return f"{self.id}.test"

    @property
    def other(self) -> str:
        return f"127.1.{self.number}.2"

    @property
    def names(self) -> dict[str, str]:
        return {self.host: f"127.1.{self.number}.1"}

    def routes(self) -> dict[str, Any]:
        own = {path: Answer(body=f"{self.id} {path}") for path in PAGES} | from_wire(self.wire)
        return {(self.host + key if key.startswith("/") else key): route for key, route in own.items()}

    def allowed(self, allows: bool) -> set[str]:
        """The pages that are fetched; `allows`: whether /page is."""
        if allows:
            return set(PAGES)
        return {"/open"} if self.state == "parsed" else set()

    def robots_requests(self) -> Counter[str]:
        return Counter(["/robots.txt", *HOPS.get(self.id, ())])


BY_ID = {case["id"]: case for case in [*CASES, *EXTRA]}
SITES = {
    case["id"]: Site.of(case, number) for number, case in enumerate([*CASES, *EXTRA], 1) if case["expect"] in STATES
}
ANSWERED = [site for id, site in SITES.items() if id not in ELSEWHERE | FAULTS]


@dataclass(frozen=True, slots=True)
class Crawled:
    ended: Ended
    arrivals: list[Arrival]
    port: int

    def asked(self, site: Site) -> Counter[str]:
        return Counter(a.target for a in self.arrivals if a.name in (site.host, site.other))

    def entries(self, site: Site, scheme: str = "http") -> list[dict[str, Any]]:
        origin = f"{scheme}://{site.host}:{self.port}"
        return [row for row in self.ended.records("robots") if row["origin"] == origin]


def run(sites: Sequence[Site], folder: Path, sabotage: str = "") -> Crawled:
    routes = {key: route for site in sites for key, route in site.routes().items()}
    names = {name: address for site in sites for name, address in site.names.items()}
    with LoopbackWeb(routes, names=names) as web:
        queue = [web.url(site.host, path) for path in PAGES for site in sites]
        ended = crawl(queue, folder, names=names, settings={"DOWNLOAD_TIMEOUT": 30}, sabotage=sabotage)
        return Crawled(ended, web.arrivals, web.port)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return run(ANSWERED, tmp_path_factory.mktemp("robots"))


def allows_page(site: Site) -> bool:
    return BY_ID[site.id].get("page", "allow" if site.state == "absent" else "disallow") == "allow"


def test_every_recorded_case_has_its_place() -> None:
    assert len(CASES) == 112
    assert {case["id"] for case in CASES} == {site.id for site in ANSWERED} - {
        x["id"] for x in EXTRA
    } | FAULTS | ELSEWHERE


@pytest.mark.parametrize("site", ANSWERED, ids=lambda site: site.id)
def test_the_answer_decides_what_is_asked(crawled: Crawled, site: Site) -> None:
    pages = site.allowed(allows_page(site))
    assert crawled.asked(site) == site.robots_requests() + Counter(pages)
    entries = crawled.entries(site)
    assert [(entry["state"], entry["reason"], entry["cause"]) for entry in entries] == [
        (site.state, site.reason, "first")
    ]
    refused = {"parsed": "disallowed/robots-rule", "unreachable": "deferred/robots-unreachable"}.get(site.state)
    endings = crawled.ended.endings()
    assert {path: endings[f"http://{site.host}:{crawled.port}{path}"] for path in PAGES} == {
        path: "stored" if path in pages else refused for path in PAGES
    }


def test_no_page_was_asked_for_before_its_robots_txt_was_answered(crawled: Crawled) -> None:
    hops = {(name, hop) for site in ANSWERED for hop in HOPS.get(site.id, ()) for name in (site.host, site.other)}
    endless = SITES["b-endless"].host  # its answer never ends, so there is no time to compare with
    assert judge.pages_before_robots([a for a in crawled.arrivals if a.name != endless], hops) == []
    assert crawled.ended.exit == 3, crawled.ended.log


# --- twins: a guard taken out, and the same assertions see it ---

NO_STATUS_TABLE = """
import seaspider.core.robotsanswer as answers
real = answers.classify
answers.classify = lambda status, conditional: real(404 if status >= 500 else status, conditional)
"""
NO_DECISION = """
from seaspider.core.frontier import Frontier
Frontier.judge = lambda self, hop, now_ms, awaited=None: None
"""
BODY_NOT_WHOLE = """
from seaspider.http1.framing import Length
Length.complete_at_close = lambda self, orderly: True
"""


@pytest.mark.parametrize(
    ("sabotage", "id", "asked"),
    [
        (NO_STATUS_TABLE, "s503", ["/robots.txt", "/page", "/page2", "/open"]),
        (NO_DECISION, "s201", ["/page", "/page2", "/open"]),
        (BODY_NOT_WHOLE, "b-short", ["/robots.txt", "/open"]),
    ],
    ids=["5xx-as-absent", "no-decision", "cut-body-as-whole"],
)
def test_without_the_guard_pages_are_fetched(tmp_path: Path, sabotage: str, id: str, asked: list[str]) -> None:
    site = SITES[id]
    crawled = run([site], tmp_path, sabotage)
    assert [a.target for a in crawled.arrivals] == asked, crawled.ended.log
    with pytest.raises(AssertionError):
        test_the_answer_decides_what_is_asked(crawled, site)
