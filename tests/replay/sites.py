"""Webs to be crawled and replayed: between them, all that a crawl can meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seaspider.loopback import Answer, Fault, demosite
from tests import test_order_runs
from tests.test_order_runs import HTML, SITE, links


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. The lines of its queue may leave out the scheme, and the port of an URL."""

    queue: Sequence[str]
    settings: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)
    sabotage: str = ""
    exit: int | None = 0
    """None: whatever the time it takes makes of it."""


@dataclass(frozen=True, slots=True)
class Web:
    """`shows`: outcomes, reasons, states and words that its records must have, or it is of no use."""

    routes: Mapping[str, Any]
    names: Mapping[str, Any]
    runs: tuple[Plan, ...]
    shows: frozenset[str] = frozenset()


FREE = Answer(404)
OK = Answer(headers=HTML, body="<p>a page")
OVER_CAP = Answer(429, (("Retry-After", "86400"),))


def names_of(third: int, hosts: Sequence[str]) -> dict[str, Any]:
    return {host: f"127.0.{third}.{number}" for number, host in enumerate(hosts, 1)}


def moved(target: str, status: int = 302) -> Answer:
    return Answer(status, (("Location", target),))


def rich() -> Web:
    """The site of tests/test_order_runs.py, twice: the second run takes up what was deferred."""
    routes = {
        key: Answer(status, (("Location", location),) if location else HTML, body)
        for key, (status, body, location) in SITE.items()
    }
    plan = Plan(test_order_runs.QUEUE, arguments={"follow": "host", "max_depth": 3}, exit=3)
    shows = {"disallowed", "deferred", "blocked", "forbidden", "dns", "parsed", "absent", "unreachable", "rejected"}
    names = {**test_order_runs.NAMES, "nowhere.test": []}
    return Web(routes, names, (plan, plan), frozenset({*shows, "followed", "kept"}))


ODD_HEADERS = (
    *(("Content-Type", "text/html"), ("Content-Type", "text/html; charset=latin-1"), ("X-Odd", "caf\xe9 \x80")),
    *(("x-empty", ""), ("X-Robots-Tag", "nofollow"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")),
)
TROUBLE: dict[str, Answer | tuple[Answer, ...]] = {
    "heals.test/1": (Answer(503), Answer(headers=HTML, body=links("/2"))),
    "later.test/1": (Answer(429, (("Retry-After", "1"),)), OK),
    "tomorrow.test/1": OVER_CAP,
    "never.test/1": Answer(503),
    "cut.test/1": Answer(body="half", fault=Fault.CLOSE_AFTER_BODY, content_length=9),
    "decode.test/1": (Answer(headers=(("Content-Encoding", "gzip"),), body="no gzip"), OK),
    "large.test/1": Answer(body="x" * 3000),
    "reset.test/1": Answer(fault=Fault.RESET),
    "odd.test/1": Answer(headers=ODD_HEADERS, body=b'<a href="/\xe9">\xe9</a>' + b"\x00<p>"),
    "odd.test/2": Answer(204),
    "odd.test/3": Answer(headers=HTML, body=""),
    "odd.test/4": moved("/5", 308),
    "odd.test/5": Answer(headers=HTML, body=links("/1"), content_length=None),
    "odd.test/6": moved("http://special.test:{port}/"),
    "odd.test/7": moved("http://nameless.test:{port}/"),
    "odd.test/8": moved("/8"),
    "odd.test/9": moved("ftp://odd.test/"),
    "odd.test/10": moved("http://me:secret@odd.test:{port}/1"),
    "odd.test/11": Answer(headers=(("Content-Encoding", "rot13"),), body="qba"),
    "lookup.test/*": OK,
    "hop-lookup.test/robots.txt": moved("http://lookup.test:{port}/their-robots", 301),
    "to-special.test/robots.txt": moved("http://special.test:{port}/robots.txt"),
    "to-nameless.test/robots.txt": moved("http://nameless.test:{port}/robots.txt"),
    "cut-robots.test/robots.txt": Answer(body="User-agent: *", fault=Fault.CLOSE_AFTER_BODY, content_length=99),
    "delay.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.04\nDisallow: /2\n"),
    "too-slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 600\n"),
}
LOST_LOOKUP = """
from seaspider.resolver import ResolveError, SystemResolver
_resolve, _asked = SystemResolver.resolve, []
async def resolve(self, host):
    _asked.append(host)
    if host == "lookup.test" and _asked.count(host) > 2:
        raise ResolveError(host, "cannot say just now", temporary=True)
    return await _resolve(self, host)
SystemResolver.resolve = resolve
"""


def trouble() -> Web:
    """Answers and names with which something is wrong, in two runs."""
    hosts = sorted({key.partition("/")[0] for key in TROUBLE} | {"special.test", "nameless.test"})
    names = {**names_of(31, hosts), "special.test": ["10.0.0.1", "127.0.31.99"], "nameless.test": []}
    queue = [f"{host}/{path}" for host in hosts for path in ((1, 2, 3) if host != "odd.test" else range(1, 12))]
    settings = {
        "SEASPIDER_BACKOFF_BASE": 0.00025, "SEASPIDER_BACKOFF_CAP": 2, "SEASPIDER_MAX_ATTEMPTS": 2,
        "DOWNLOAD_MAXSIZE": 2000, "SEASPIDER_ROBOTS_RETRY": 0.2,
    }  # fmt: skip
    first = Plan(queue, settings, {"follow": "host"}, LOST_LOOKUP, exit=3)
    shows = {
        "http-5xx", "retry-after", "backoff", "cut", "decode", "too-large", "reset", "special-address", "dns",
        "redirect-loop", "scheme", "userinfo", "crawl-delay", "kept", "deferred/backoff",
    }  # fmt: skip
    routes = {**dict.fromkeys((f"{host}/robots.txt" for host in hosts), FREE), "/*": OK, **TROUBLE}
    again = Plan([*queue, "tomorrow.test/new"], settings, {"follow": "host", "retry": "failed"}, exit=3)
    return Web(routes, names, (first, again), frozenset(shows))


def budget() -> Web:
    """longest-idle with a host budget, and rules that are over after 0.15 s, in three runs."""
    hosts = ["a.test", "b.test", "c.test"]
    tagged = Answer(headers=(("ETag", '"1"'),), body="User-agent: *\nDisallow: /0\n")
    routes = {
        "/*": OK, "a.test/robots.txt": (tagged, Answer(304)), "b.test/robots.txt": Answer(503),
        "c.test/robots.txt": (tagged, Answer(503), tagged),
    }  # fmt: skip
    settings = {
        "SEASPIDER_ORDER": "longest-idle", "SEASPIDER_HOST_BUDGET": 7, "SEASPIDER_INTERVAL": 0.06,
        "SEASPIDER_ROBOTS_TTL": 0.15, "SEASPIDER_ROBOTS_RETRY": 0.1, "SEASPIDER_GIVE_UP": 2,
    }  # fmt: skip
    plan = Plan([f"{host}/{n}" for n in range(8) for host in hosts], settings, exit=None)
    shows = frozenset({"budget", "expired", "retry", "robots-unreachable", "304"})
    return Web(routes, names_of(32, hosts), (plan, plan, plan), shows)


STALE = """
from seaspider import door
from seaspider.exchange import HttpExchange
_ask, _asked = HttpExchange.ask, []
async def ask(self, permit, ip, octets, before_send):
    _asked.append(permit)
    late = vars(door)["_StaleClaim"]
    def stale():
        raise late
    return await _ask(self, permit, ip, octets, stale if len(_asked) == 3 else before_send)
HttpExchange.ask = ask
"""
SHORT = """
from seaspider.errors import Shortage
from seaspider.exchange import HttpExchange
_ask, _asked = HttpExchange.ask, []
async def ask(self, permit, ip, octets, before_send):
    _asked.append(permit)
    if len(_asked) == 3:
        raise Shortage("no descriptor left")
    return await _ask(self, permit, ip, octets, before_send)
HttpExchange.ask = ask
"""


def machine() -> Web:
    """A claim that was over before its first octet, a shortage, a limit of Scrapy's, and the run that ends it."""
    hosts = ["one.test", "two.test"]
    queue = [f"{host}/{n}" for host in hosts for n in (1, 2, 3)]
    limited = Plan(queue, {"CLOSESPIDER_PAGECOUNT": 3}, exit=3)
    runs = (limited, Plan(queue, sabotage=SHORT, exit=74), Plan(queue, sabotage=STALE))
    shows = frozenset({"shortage", "closespider_pagecount", "unsent"})
    return Web({"/*": OK, "/robots.txt": FREE}, names_of(33, hosts), runs, shows)


def demo() -> Web:
    networks = ",".join(demosite.ALLOWED_NETWORKS)
    plan = Plan((), {"SEASPIDER_ALLOWED_NETWORKS": networks}, exit=3)
    return Web(demosite.sites(), demosite.resolve(), (plan,))


WEBS = {"demo": demo, "rich": rich, "trouble": trouble, "budget": budget, "machine": machine}


def lines_of(plan: Plan, port: int) -> list[str]:
    """The queue of a plan, whole."""
    if not plan.queue:
        return demosite.queue_text(port).splitlines()
    return [_url(line, port) for line in plan.queue]


def _url(line: str, port: int) -> str:
    host, slash, path = line.partition("/")
    return line if "//" in line or not slash else f"http://{host}:{port}/{path}"


# What ends a process when it reaches a fault point for the nth time.
AT_POINT = """
import os, signal
from seaspider import faultpoints
left = [{nth}]
def reached(point):
    left[0] -= point == {point!r}
    if not left[0]:
        left[0] = -1
        os.kill(os.getpid(), signal.{signal})
faultpoints.reached = reached
"""


def small() -> Web:
    """Three hosts, one of them with a crawl-delay, links that are followed, and one to a URL late in the queue."""
    hosts = ["a.test", "b.test", "c.test"]
    routes = {
        "/*": OK, "/robots.txt": FREE, "a.test/1": Answer(headers=HTML, body=links("/x", "/y", "/4")),
        "a.test/2": moved("http://c.test:{port}/from-a"),
        "b.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.03\nDisallow: /2\n"), "c.test/2": Answer(403),
    }  # fmt: skip
    queue = ["# three", "a.test/1", "a.test/1", *(f"{host}/{n}" for n in (2, 3, 4) for host in hosts), "b.test/1"]
    return Web(routes, names_of(35, hosts), (Plan(queue, arguments={"follow": "host"}, exit=3),))
