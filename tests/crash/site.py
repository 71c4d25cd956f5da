"""The small web of the crash tests: what is asked there, and how each visit must end, whatever dies in between.

Every answer is the same each time, so that any number of crawls can be told apart by nothing but their crashes. Each
request belongs to one visit, or to one robots.txt: it says at the arrival log what was begun again.
"""

from __future__ import annotations

from typing import Any

from seaspider.loopback import Answer
from seaspider.loopback.demopages import HTML, page, redirect, robots

INTERVAL_S = 0.25
CRAWL_DELAYS_S = {"slow.test": 0.6}
TIMEOUT_S = 30
"""Nothing times out, however busy the machine: what did would be asked for twice."""
HOLD_S = 1.2
"""How long the claim of a killed crawl is waited for. Nobody else asks, so it may lapse before the time-out."""
IN_FLIGHT_S = 0.02
"""How long every answer takes, so that there is an instant at which a request is in flight."""
ARGUMENTS = {"follow": "host", "max_depth": 2}
EXIT = 3  # two URLs are deferred and one is blocked

NAMES: dict[str, Any] = {
    "anchor.test": "127.0.7.1",
    "ban.test": "127.0.7.2",
    "far.test": "127.0.7.3",
    "fog.test": "127.0.7.2",  # the address of ban.test
    "mole.test": "127.0.7.4",
    "pilot.test": "127.0.7.5",
    "slow.test": "127.0.7.6",
    "ghost.test": [],
}

QUEUE = (
    "# the harbour",
    "anchor.test/",
    "anchor.test/private/x",
    "anchor.test/old",
    "",
    "anchor.test/",
    "nonsense",
    "ban.test/1",
    "ban.test/2",
    "far.test/",
    "fog.test/",
    "ghost.test/",
    "mole.test/1",
    "mole.test/hidden",
    "pilot.test/1",
    "slow.test/1",
)

ENDINGS = {
    "anchor.test/": "stored",
    "anchor.test/private/x": "disallowed/robots-rule",
    "anchor.test/old": "stored",
    "anchor.test/a": "stored",
    "anchor.test/b": "stored",
    "ban.test/1": "stored",
    "ban.test/2": "blocked/forbidden",
    "far.test/": "deferred/crawl-delay",
    "fog.test/": "deferred/robots-unreachable",
    "ghost.test/": "failed/dns",
    "mole.test/1": "stored",
    "mole.test/hidden": "disallowed/robots-rule",
    "mole.test/3": "stored",
    "pilot.test/1": "stored",
    "slow.test/1": "stored",
}

# Who asks: the visit of a page, or the origin of a robots.txt. Nobody else asks for anything.
OWNERS = {
    "anchor.test/robots.txt": "robots anchor.test",
    "anchor.test/": "anchor.test/",
    "anchor.test/old": "anchor.test/old",
    "mole.test/new": "anchor.test/old",
    "anchor.test/a": "anchor.test/a",
    "anchor.test/b": "anchor.test/b",
    "ban.test/robots.txt": "robots ban.test",
    "ban.test/1": "ban.test/1",
    "far.test/robots.txt": "robots far.test",
    "fog.test/robots.txt": "robots fog.test",
    "mole.test/robots.txt": "robots mole.test",
    "pilot.test/rules.txt": "robots mole.test",
    "mole.test/1": "mole.test/1",
    "mole.test/2": "mole.test/1",
    "mole.test/3": "mole.test/3",
    "pilot.test/robots.txt": "robots pilot.test",
    "pilot.test/1": "pilot.test/1",
    "slow.test/robots.txt": "robots slow.test",
    "slow.test/1": "slow.test/1",
}

_ANSWERS: dict[str, Answer] = {
    "anchor.test/robots.txt": robots("User-agent: *", "Disallow: /private"),
    "anchor.test/": page(
        "The anchorage",
        '<a href="/a">A berth</a>, <a href="/old">an old one</a>, <a href="/no" rel="nofollow">no berth</a>',
        '<a href="http://mole.test:{port}/x">The mole</a>, <a href="mailto:pilot@pilot.test">the pilot</a>',
    ),
    "anchor.test/a": page("A berth", '<a href="/b">The next</a>, <a href="/">back</a>'),
    "anchor.test/b": page("The next berth", '<a href="/c">Too deep</a>, <a href="/a">back</a>'),
    "anchor.test/old": redirect(302, "http://mole.test:{port}/new"),
    "ban.test/robots.txt": Answer(404),
    "ban.test/1": Answer(403, HTML, "<p>Go away"),
    "far.test/robots.txt": robots("User-agent: *", "Crawl-delay: 600"),
    "fog.test/robots.txt": Answer(503),
    "mole.test/robots.txt": redirect(301, "http://pilot.test:{port}/rules.txt"),
    "pilot.test/rules.txt": robots("User-agent: *", "Disallow: /hidden"),
    "mole.test/1": redirect(302, "/2"),
    "mole.test/2": page("The mole", '<a href="/3">The light</a>'),
    "mole.test/3": page("The light"),
    "mole.test/new": page("Moved to the mole", '<a href="/4">Elsewhere</a>'),
    "pilot.test/robots.txt": Answer(410),
    "pilot.test/1": Answer(404, HTML, ""),
    "slow.test/robots.txt": robots("User-agent: *", "Crawl-delay: 0.6"),
    "slow.test/1": Answer(200, (("Content-Type", "text/plain"),), "No hurry.\n"),
}


def routes() -> dict[str, Answer]:
    return {place: _late(answer) for place, answer in _ANSWERS.items()}


def queue(port: int) -> list[str]:
    return [f"http://{line.replace('/', f':{port}/', 1)}" if "/" in line else line for line in QUEUE]


def place(url: str) -> str:
    """`host/path` of one of our URLs: the same at every server."""
    host, _, rest = url.removeprefix("http://").partition(":")
    return f"{host}/{rest.partition('/')[2]}"


def _late(answer: Answer) -> Answer:
    return Answer(answer.status, answer.headers, answer.body, delay_s=IN_FLIGHT_S)
