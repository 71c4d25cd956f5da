"""The demo web: a dozen hosts of the sea, each showing one thing that a polite crawler has to get right.

Holds the routes, the names, the queue, and what must become of each of its lines under the loopback profile. Everything
is under `.test` (RFC 6761 6.2) and on 127.0.0.0/8, so the demo works offline and asks nobody.
"""

from dataclasses import dataclass

from seaspider.loopback.answers import Answer, Route
from seaspider.loopback.demopages import (
    BUOY_HEADER,
    BUOY_META,
    BUOY_REL,
    CHARTS,
    HARBOUR,
    LAGOON,
    TEXT,
    TIDES,
    page,
    redirect,
    robots,
)

_SERVED = (
    "harbour.test",
    "lighthouse.test",
    "iceberg.test",
    "fog.test",
    "lagoon.test",
    "ferry.test",
    "reef.test",
    "customs.test",
    "buoy.test",
)
_ADDRESSES = {name: f"127.0.0.{number}" for number, name in enumerate(_SERVED, 11)}

# Where the demo may go: these addresses and no other, so that siren.test is refused.
ALLOWED_NETWORKS = tuple(f"{address}/32" for address in _ADDRESSES.values())


@dataclass(frozen=True, slots=True)
class Expected:
    """What must become of one queue line.

    `line` counts from 1. `outcome` and `reason` are those of the page record, or the fate (`duplicate`, `rejected`) and
    reason of skipped.jsonl. `status` is the last hop's, None if no page was asked; `links` how many the page has;
    `final` the (host, target) where a redirect ends, None without one. `shows` says it to a reader.
    """

    line: int
    text: str
    outcome: str
    shows: str
    reason: str | None = None
    status: int | None = None
    links: int = 0
    final: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A queue line as written here: `place` is host and path, or the whole text if it has a scheme."""

    place: str
    outcome: str
    shows: str
    reason: str | None = None
    status: int | None = None
    links: int = 0
    final: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        if ":" in self.place:
            return self.place
        host, slash, path = self.place.partition("/")
        return f"http://{host}:{{port}}{slash}{path}"


_QUEUE: tuple[str | _Line, ...] = (
    "# The queue of the demo: one URL a line.",
    "",
    _Line("harbour.test/", "stored", "an ordinary page with links", status=200, links=3),
    _Line("lighthouse.test/", "stored", "its robots.txt asks for 1 s between requests", status=200, links=1),
    _Line("iceberg.test/", "deferred", "a crawl-delay of 600 s is over the cap: not asked", "crawl-delay"),
    _Line("fog.test/", "deferred", "its robots.txt answers 503: not asked", "robots-unreachable"),
    _Line("lagoon.test/", "stored", "no robots.txt (404), a page in gzip", status=200, links=2),
    _Line(
        "ferry.test/to-lagoon",
        "stored",
        "two redirects, the second to another host",
        status=200,
        final=("lagoon.test", "/beach"),
    ),
    _Line(
        "ferry.test/to-treasure",
        "disallowed",
        "a redirect to what another host forbids",
        "robots-rule",
        final=("reef.test", "/treasure/map"),
    ),
    _Line("customs.test/", "stored", "answers 403, which stops this host", status=403),
    _Line("customs.test/declare", "blocked", "the same host after its 403: not asked", "forbidden"),
    "",
    "# More of the same hosts.",
    _Line("harbour.test/charts", "stored", "links that count from a base, and an area", status=200, links=3),
    _Line("harbour.test/private/log-book", "disallowed", "robots.txt forbids it", "robots-rule"),
    _Line("harbour.test/private/tides", "stored", "a longer Allow line wins", status=200),
    _Line("lighthouse.test/keeper", "stored", "a second page, 1 s after the first", status=200, links=1),
    _Line("lagoon.test/tides.csv", "stored", "not HTML: stored, no links", status=200),
    _Line("lagoon.test/sunken", "stored", "a 404 is an answer, too", status=404),
    _Line("buoy.test/rel", "stored", "a link with rel=nofollow beside one without", status=200, links=2),
    _Line("buoy.test/meta", "stored", "nofollow for the whole page, in its head", status=200, links=1),
    _Line("buoy.test/header", "stored", "nofollow for the whole page, as X-Robots-Tag", status=200, links=1),
    "",
    "# Lines that lead nowhere.",
    _Line("atlantis.test/", "failed", "no such name", "dns"),
    _Line("siren.test/", "refused", "its name has a link-local address: not asked", "special-address"),
    _Line("HTTP://Harbour.test:{port}/./#quay", "duplicate", "another spelling of the first URL"),
    _Line("ftp://harbour.test/charts.zip", "rejected", "neither http nor https", "scheme"),
)

EXPECTED = tuple(
    Expected(n, line.text, line.outcome, line.shows, line.reason, line.status, line.links, line.final)
    for n, line in enumerate(_QUEUE, 1)
    if isinstance(line, _Line)
)

# (host, target) that no request may ever be for, whatever is followed.
NEVER_ASKED = (
    ("harbour.test", "/private/log-book"),
    ("iceberg.test", "/"),
    ("fog.test", "/"),
    ("reef.test", "/treasure/map"),
    ("customs.test", "/declare"),
    ("buoy.test", "/drift/rel"),
    ("buoy.test", "/drift/meta"),
    ("buoy.test", "/drift/header"),
)


def resolve() -> dict[str, str | list[str]]:
    """Host name -> address, as SEASPIDER_RESOLVE takes it; the empty list is a name that does not exist."""
    return {**_ADDRESSES, "atlantis.test": [], "siren.test": "169.254.169.254"}


def queue_text(port: int) -> str:
    """The queue file for a server at this port."""
    texts = (line.text if isinstance(line, _Line) else line for line in _QUEUE)
    return "".join(f"{text}\n" for text in texts).replace("{port}", str(port))


def sites() -> dict[str, Route]:
    """The routes of all hosts, for `LoopbackWeb(sites(), names=resolve())`."""
    return {f"{host}{target}": route for host, routes in _sites().items() for target, route in routes.items()}


def _sites() -> dict[str, dict[str, Answer]]:
    return {
        "harbour.test": {
            "/robots.txt": robots("User-agent: *", "Disallow: /private/", "Allow: /private/tides"),
            "/": HARBOUR,
            "/charts": CHARTS,
            "/fleet?sort=name&size=all": page("The fleet", "Three boats and a raft."),
            "/atlas/north": page("The north", "Cold water, clear sight."),
            "/atlas/south": page("The south", "Warm water, long days."),
            "/atlas/west": page("The west", "Only water."),
            "/private/log-book": page("The log book", "Private."),
            "/private/tides": page("Tides", "High at eight, low at two. Everybody may know."),
        },
        "lighthouse.test": {
            "/robots.txt": robots("User-agent: *", "Crawl-delay: 1", "Disallow:"),
            "/": page("The lighthouse", 'One flash a second. Visit <a href="/keeper">the keeper</a>.'),
            "/keeper": page("The keeper", 'Never in a hurry. <a href="/">Back down</a>.'),
        },
        "iceberg.test": {
            "/robots.txt": robots("User-agent: *", "Crawl-delay: 600", "Disallow:"),
            "/": page("The iceberg", "It moves once in ten minutes."),
        },
        "fog.test": {
            "/robots.txt": page("Fog", "Nothing can be seen.", status=503),
            "/": page("In the fog", "Nobody said that you may come here."),
        },
        "lagoon.test": {
            "/": LAGOON,
            "/beach": page("The beach", "White sand. The ferry lands here."),
            "/tides.csv": TIDES,
        },
        "ferry.test": {
            "/robots.txt": robots("User-agent: *", "Disallow:"),
            "/to-lagoon": redirect(301, "/boarding"),
            "/boarding": redirect(302, "http://lagoon.test:{port}/beach"),
            "/to-treasure": redirect(302, "http://reef.test:{port}/treasure/map"),
        },
        "reef.test": {
            "/robots.txt": robots("User-agent: *", "Disallow: /treasure/"),
            "/treasure/map": page("The map", "X marks the spot."),
        },
        "customs.test": {
            "/robots.txt": robots("User-agent: *", "Disallow:"),
            "/": Answer(403, TEXT, "No landing without papers.\n"),
            "/declare": page("To declare", "Nothing."),
        },
        "buoy.test": {
            "/robots.txt": robots("User-agent: *", "Disallow:"),
            "/rel": BUOY_REL,
            "/meta": BUOY_META,
            "/header": BUOY_HEADER,
            "/moored": page("Moored", "Safe and sound."),
            **{f"/drift/{way}": page("Adrift", "No link leads here.") for way in ("rel", "meta", "header")},
        },
    }
