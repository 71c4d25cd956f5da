"""The web of promise P2, what foreign parts want of it, and what they must get: an answer, or a refusal by name."""

from typing import Any

from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.loopback.demopages import redirect, robots

Attempt = dict[str, Any]
SLOW_S = 0.02
INTERVAL_S = 0.06
PAGE = Answer(body="a page\n", delay_s=SLOW_S)
NAMES = {
    "a.test": "127.0.2.1",
    "b.test": "127.0.2.2",
    "b-too.test": "127.0.2.2",
    "c.test": "127.0.2.3",
    "d.test": "127.0.2.4",
    "fog.test": "127.0.2.5",
    "quiet.test": "127.0.2.6",
    "stern.test": "127.0.2.7",
    "away.test": "127.0.2.8",
}
PROXY = "127.0.2.99"  # served, and never to be connected to
RULES = Answer(body="User-agent: *\nDisallow: /private\n", delay_s=SLOW_S)
ROUTES: dict[str, Any] = {
    "/*": PAGE,
    "/robots.txt": RULES,
    "d.test/robots.txt": redirect(302, "http://away.test:{port}/robots.txt"),
    "fog.test/robots.txt": Answer(503),
    "quiet.test/robots.txt": Answer(fault=Fault.CLOSE),
    "stern.test/robots.txt": robots("User-agent: *", "Allow: /"),
    "stern.test/1": Answer(403, body="no\n", delay_s=SLOW_S),
    "a.test/to-private": redirect(302, "/private/by-redirect"),
}

QUEUE = (
    "a.test/q",
    "b-too.test/q",
    "c.test/q",
    "d.test/q",
    "a.test/swapped-for-private/s",
    "a.test/swapped-behind-private/s",
    "b-too.test/swapped-for-ok",
)

# What is wanted: the place, and what its report must begin with.
DISALLOWED = "VisitStopped: disallowed/robots-rule"
UNREACHABLE = "VisitStopped: deferred/robots-unreachable"
BLOCKED = "VisitStopped: blocked/forbidden"
NOT_A_PAGE = "DoorRefusal: not a usable URL (scheme)"
BEFORE = {
    "a.test/1": "200",
    "a.test/2": "200",
    "b.test/1": "200",
    "a.test/private/x": DISALLOWED,
    "fog.test/1": UNREACHABLE,
    "quiet.test/1": UNREACHABLE,
    # All three lie in the door at once when the first of them is answered.
    "stern.test/1": "403",
    "stern.test/2": BLOCKED,
    "stern.test/3": BLOCKED,
}
BESIDE = (
    {"c.test/1": "200", "c.test/2": "200", "c.test/private/1": DISALLOWED},
    {"d.test/1": "200", "d.test/private/1": DISALLOWED},
)
QUEUED = {
    "a.test/slot": "200",
    "a.test/proxy": "DoorRefusal: meta proxy",
    "a.test/bind": "DoorRefusal: meta bindaddress",
    "a.test/post": "DoorRefusal: only GET",
    "a.test/head": "DoorRefusal: only GET",
    "file:///etc/hostname": NOT_A_PAGE,
    "data:,hello": NOT_A_PAGE,
    "ftp://a.test/x": NOT_A_PAGE,
    "s3://bucket/x": NOT_A_PAGE,
    "a.test/to-private": DISALLOWED,
    "a.test/x/../private/y": DISALLOWED,
    "a.test/private/obey": DISALLOWED,
}
WANTED = {place: report for wave in (BEFORE, *BESIDE, QUEUED) for place, report in wave.items()}

# Every page request there may be.
ASKED = (
    *(("a.test", f"/{name}") for name in ("1", "2", "q", "slot", "to-private")),
    *(("b.test", "/1"), ("b-too.test", "/q"), ("b-too.test", "/ok")),
    *(("c.test", "/1"), ("c.test", "/2"), ("c.test", "/q"), ("d.test", "/1"), ("d.test", "/q"), ("stern.test", "/1")),
)


def plan(web: LoopbackWeb) -> dict[str, Any]:
    """What the extension is told to want."""
    more = {
        "a.test/slot": {"meta": {"download_slot": "elsewhere"}},
        "a.test/proxy": {"meta": {"proxy": web.url(PROXY)}},
        "a.test/bind": {"meta": {"bindaddress": "127.0.2.50"}},
        "a.test/post": {"method": "POST", "body": "x=1"},
        "a.test/head": {"method": "HEAD"},
        "a.test/x/../private/y": {"meta": {"verbatim_url": True}},
        "a.test/private/obey": {"meta": {"dont_obey_robotstxt": True}},
        **{f"stern.test/{n}": {"meta": {"download_slot": f"slot-{n}"}} for n in (1, 2, 3)},
    }

    def attempts(wanted: dict[str, str]) -> list[Attempt]:
        return [{"name": place, "url": url(place, web), **more.get(place, {})} for place in wanted]

    return {"before": attempts(BEFORE), "beside": [attempts(wave) for wave in BESIDE], "queued": attempts(QUEUED)}


def url(place: str, web: LoopbackWeb) -> str:
    host, _, path = place.partition("/")
    return web.url(host, f"/{path}") if host in NAMES else place
