"""The web of the promises P1, P4 and P7: each host has one robots.txt state, each redirect one kind of target.

A queue line, how its visit must end, and which (host, target) its page requests may be: what is not listed is never
asked. Two servers with the same names on two ports, since robots.txt is per origin and not per host.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.loopback.demopages import page, redirect, robots

FREE = robots("User-agent: *", "Allow: /")
HTML = page("A page")
TIMEOUT_S = 1
MOST_HOPS = 3

# What a robots.txt that cannot be read looks like on the wire: nothing of its host may be asked.
UNREADABLE: dict[str, Answer] = {
    "busy": Answer(503, body="User-agent: *\nAllow: /\n"),
    "broken": Answer(500),
    "later": Answer(429),
    "part": Answer(206, (("Content-Range", "bytes 0-25/26"),), "User-agent: *\nAllow: /\n"),
    "unchanged": Answer(304),
    "nowhere": Answer(302),
    "circle": redirect(302, "/robots.txt"),
    "longway": redirect(301, "/r/1"),
    "inward": redirect(302, "http://127.0.1.99:{port}/robots.txt"),
    "lost": redirect(302, "http://ghost.test/robots.txt"),
    "mail": redirect(302, "mailto:robots@mail.test"),
    "reset": Answer(fault=Fault.RESET),
    "shut": Answer(fault=Fault.CLOSE),
    "short": Answer(body="User-agent: *\nAllow: /\n", content_length=1000, fault=Fault.CLOSE_AFTER_BODY),
    "bogus": Answer(headers=(("Content-Encoding", "gzip"),), body="User-agent: *\nAllow: /\n"),
    "rot": Answer(headers=(("Content-Encoding", "rot13"),), body="User-agent: *\nAllow: /\n"),
    "babble": Answer(raw="SSH-2.0-buoy\r\n\r\n", fault=Fault.RAW_CLOSE),
    "silent": Answer(fault=Fault.HANG),
}

_HOSTS = ("open", "none", "gone", "slow", "cap", "hops", "aside", "stormy", *UNREADABLE)
NAMES: dict[str, Any] = {f"{name}.test": f"127.0.1.{number}" for number, name in enumerate(_HOSTS, 1)}
SPECIAL = "127.0.1.99"  # served, but not in ALLOWED_NETWORKS
ALLOWED_NETWORKS = ",".join(f"{address}/32" for address in NAMES.values())
NAMES["ghost.test"] = []

OPEN = "open.test"
HOPS = "hops.test"

ROUTES: dict[str, Any] = {
    "/robots.txt": Answer(404),
    "/*": HTML,
    "open.test/robots.txt": robots("User-agent: *", "Disallow: /private"),
    "open.test/elsewhere.txt": robots("User-agent: *", "Disallow: /no"),
    "gone.test/robots.txt": Answer(410, body="User-agent: *\nDisallow: /\n"),
    "slow.test/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n", delay_s=0.2),
    "cap.test/robots.txt": robots("User-agent: *", "Crawl-delay: 600"),
    "aside.test/robots.txt": redirect(301, "http://open.test:{port}/elsewhere.txt"),
    "hops.test/robots.txt": robots("User-agent: *", "Disallow: /own"),
    "hops.test/to-own": redirect(302, "/own/secret"),
    "hops.test/to-private": redirect(302, "http://open.test:{port}/private/hop"),
    "hops.test/to-private-by-other": redirect(302, "http://none.test:{port}/to-private"),
    "none.test/to-private": redirect(307, "http://open.test:{port}/private/hop"),
    "hops.test/to-special": redirect(302, f"http://{SPECIAL}:{{port}}/hop"),
    "hops.test/to-busy": redirect(303, "http://busy.test:{port}/hop"),
    "hops.test/to-cap": redirect(302, "http://cap.test:{port}/hop"),
    "hops.test/to-ghost": redirect(302, "http://ghost.test/hop"),
    "hops.test/to-file": redirect(302, "file:///etc/hostname"),
    "hops.test/to-user": redirect(302, "http://user:word@open.test:{port}/hop"),
    "hops.test/to-open": redirect(308, "http://open.test:{port}/public"),
    "hops.test/to-slow": redirect(302, "http://slow.test:{port}/hop"),
    "hops.test/loop": redirect(302, "/pool"),
    "hops.test/pool": redirect(302, "/loop"),
    **{f"hops.test/far/{n}": redirect(302, f"/far/{n + 1}") for n in range(MOST_HOPS + 1)},
    **{f"longway.test/r/{n}": redirect(301, f"/r/{n + 1}") for n in range(1, 9)},
    **{f"{name}.test/robots.txt": answer for name, answer in UNREADABLE.items()},
}
OTHER_PORT: dict[str, Any] = {
    "/*": HTML,
    "/robots.txt": Answer(404),
    "open.test/robots.txt": robots("User-agent: *", "Disallow: /"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One queue line. `asked`: the page requests of its visit."""

    place: str
    ending: str
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def host(self) -> str:
        return self.place.partition("/")[0]


def _line(place: str, ending: str, *asked: str) -> Line:
    pairs = [(host, "/" + rest) for host, _, rest in (text.partition("/") for text in asked)]
    return Line(place, ending, tuple(pairs))


DISALLOWED, DEFERRED = "disallowed/robots-rule", "deferred/robots-unreachable"

PLAIN = (
    _line("open.test/a", "stored", "open.test/a"),
    _line("open.test/private/x", DISALLOWED),
    _line("open.test/x/../private/y", DISALLOWED),
    _line("open.test/%70rivate/z", DISALLOWED),
    _line("none.test/", "stored", "none.test/"),
    _line("gone.test/", "stored", "gone.test/"),
    _line("slow.test/", "stored", "slow.test/"),
    _line("slow.test/no", DISALLOWED),
    _line("aside.test/yes", "stored", "aside.test/yes"),
    _line("aside.test/no", DISALLOWED),
    _line("cap.test/", "deferred/crawl-delay"),
    _line("ghost.test/", "failed/dns"),
)
REDIRECTED = (
    _line("hops.test/to-own", DISALLOWED, "hops.test/to-own"),
    _line("hops.test/to-private", DISALLOWED, "hops.test/to-private"),
    _line("hops.test/to-private-by-other", DISALLOWED, "hops.test/to-private-by-other", "none.test/to-private"),
    _line("hops.test/to-special", "refused/special-address", "hops.test/to-special"),
    _line("hops.test/to-busy", DEFERRED, "hops.test/to-busy"),
    _line("hops.test/to-cap", "deferred/crawl-delay", "hops.test/to-cap"),
    _line("hops.test/to-ghost", "failed/dns", "hops.test/to-ghost"),
    _line("hops.test/to-file", "refused/scheme", "hops.test/to-file"),
    _line("hops.test/to-user", "refused/userinfo", "hops.test/to-user"),
    _line("hops.test/to-open", "stored", "hops.test/to-open", "open.test/public"),
    _line("hops.test/to-slow", "stored", "hops.test/to-slow", "slow.test/hop"),
    _line("hops.test/loop", "refused/redirect-loop", "hops.test/loop", "hops.test/pool"),
    _line("hops.test/far/0", "refused/redirect-limit", *(f"hops.test/far/{n}" for n in range(MOST_HOPS + 1))),
)
UNREADABLE_LINES = tuple(_line(f"{name}.test/page", DEFERRED) for name in (*UNREADABLE, "stormy"))
OTHER_LINES = (_line("open.test/a", DISALLOWED), _line("none.test/other", "stored", "none.test/other"))

# The resolver cannot say where one host is: no answer, which is not "no such name".
STORM = """
from seaspider.resolver import ResolveError, SystemResolver
_resolve = SystemResolver.resolve
async def resolve(self, host):
    if host == "stormy.test":
        raise ResolveError(host, "no answer", temporary=True)
    return await _resolve(self, host)
SystemResolver.resolve = resolve
"""


@contextmanager
def serving() -> Iterator[tuple[LoopbackWeb, LoopbackWeb]]:
    """The web, and its second port."""
    names = {name: address for name, address in NAMES.items() if address}
    with LoopbackWeb(ROUTES, names=names, addresses=[SPECIAL]) as web, LoopbackWeb(OTHER_PORT, names=names) as other:
        yield web, other
