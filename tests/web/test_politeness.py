"""Pauses and what servers say of them: the cases of the theme `politeness`, and others of their kinds.

Two crawls: one without pauses, for what is asked, and one with pauses, judged by the servers' own clocks. The pauses of
a busy machine are in tests/test_pauses.py, the back-off in tests/test_backoff.py, what is read of a Retry-After in
tests/core/test_pushback.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import pytest

from seaspider.core.times import NS_PER_S
from seaspider.loopback import Answer, Request
from seaspider.loopback.judge import Key, min_gaps_ns, pairs
from tests.web.sites import Case, Crawled, check, host_of, text, to, where

R = "/robots.txt"
OK = Answer(body="a page")
BACKOFF_S, CAP_S = 0.02, 5


# --- what a server says that pushes back ---


@dataclass(frozen=True, slots=True)
class Told:
    """/a answers 429 once, with these values of Retry-After; the pause after that answer, and its basis."""

    values: Sequence[str]
    outcome: str = ""
    basis: str = "backoff"
    pause_s: float = 2 * BACKOFF_S


def in_latin_1(text: str) -> str:
    """What a header says in UTF-8, octet by octet."""
    return text.encode().decode("latin-1")


OWN = "our own back-off; the value is in the record of the request as it came"
TOLD: dict[str, Told] = {
    "POL-04": Told(["-5"], OWN),
    "POL-04/minus-nothing": Told(["-0"]),
    "POL-04/huge": Told(["-99999999999999999999"]),
    "POL-04/minus-sign": Told([in_latin_1("\u22125")]),
    "POL-04/a-good-one-too": Told(["-5", "1"], basis="retry-after", pause_s=1),
    "POL-04/zero": Told(["0"]),
    "POL-04/gone-by": Told([formatdate(0, usegmt=True)]),
    "POL-07": Told([in_latin_1("\uff11\uff12\uff10")], OWN),
    "POL-07/minutes": Told(["1m30s"]),
    "POL-07/fraction": Told(["1.5"]),
    "POL-07/list": Told(["120, 60"]),
    "POL-07/plus": Told(["+10"]),
    "POL-07/exponent": Told(["1e1"]),
    "POL-07/hexadecimal": Told(["0x10"]),
    "POL-07/underscore": Told(["1_0"]),
    "POL-07/unit": Told(["10s"]),
    "POL-07/quoted": Told(['"10"']),
    "POL-07/empty": Told([""]),
    "POL-07/word": Told(["soon"]),
    "POL-07/arabic-digits": Told([in_latin_1("\u0661\u0660")]),
    "POL-07/superscript": Told(["\xb9\xb2"]),
    "POL-07/nan": Told(["NaN"]),
    "POL-07/no-such-date": Told(["Tue, 99 Nov 2126 00:00:00 GMT"]),
    "POL-07/iso-date": Told(["2126-11-30T00:00:00Z"]),
    "POL-07/control": Told(["1\x1b[2J"]),
    "POL-07/leading-zeros": Told(["0001"], basis="retry-after", pause_s=1),
    "POL-07/blanks": Told(["  1\t"], basis="retry-after", pause_s=1),
}


def pushed(told: Told) -> Case:
    answers = (Answer(429, tuple(("Retry-After", value) for value in told.values)), OK)
    return Case((R, "/a", "/a"), {"/a": "stored"}, told.outcome, {"/a": answers}, pages={"/a": {"attempts": 2}})


# --- whom a 403 stops ---


FORBIDDEN: dict[str, Case] = {
    "POL-08": Case(
        ("b/robots.txt", R, "b/1", "/1"),
        {"/1": "stored", "/2": "blocked/forbidden", "b/1": "stored"},
        "/1 stored with status 403, /2 blocked/forbidden without a request; the other host goes on",
        {"/1": Answer(403, body="no"), "/2": OK, "b/1": OK},
        pages={"/1": {"status": 403}, "/2": {"status": None, "attempts": 0, "chain": [{"status": None}]}},
    ),
    "POL-08/many": Case(
        (R, "/1"),
        {"/1": "stored", **{f"/{n}": "blocked/forbidden" for n in range(2, 30)}},
        routes={"/1": Answer(403), "/*": OK},
    ),
    "POL-08/at-the-end-of-a-redirect": Case(
        (R, "/1", "/no"),
        {"/1": "stored", "/2": "blocked/forbidden"},
        routes={"/1": to("/no"), "/no": Answer(403), "/2": OK},
        pages={"/1": {"status": 403, "chain": [{"status": 302}, {"status": 403}]}},
    ),
    "POL-08/of-a-hop-elsewhere": Case(
        ("b/robots.txt", R, "b/no", "/1", "/2"),
        {"b/no": "stored", "/1": "blocked/forbidden", "/2": "stored"},
        routes={"b/no": Answer(403), "/1": to("http://b.{host}/x"), "/2": OK, "b/x": OK},
    ),
    "POL-08/robots": Case(
        (R, "/1", "/2"), {"/1": "stored", "/2": "stored"}, routes={R: Answer(403), "/1": OK, "/2": OK}
    ),
    "POL-08/401": Case((R, "/1", "/2"), {"/1": "stored", "/2": "stored"}, routes={"/1": Answer(401), "/2": OK}),
    "POL-08/404": Case((R, "/1", "/2"), {"/1": "stored", "/2": "stored"}, routes={"/1": Answer(404), "/2": OK}),
    "POL-08/451": Case((R, "/1", "/2"), {"/1": "stored", "/2": "stored"}, routes={"/1": Answer(451), "/2": OK}),
    "POL-08/other-port-and-scheme": Case(
        (R, "/1"),
        {"/1": "stored", "https:/2": "blocked/forbidden"},
        routes={"/1": Answer(403), "https:/2": OK, "https:/robots.txt": Answer(404)},
    ),
}

# --- what is never told ---

SECRETS = ("cookie", "referer", "authorization", "proxy-authorization", "origin", "from")


def told_nothing(request: Request) -> Answer:
    """A page for who tells nothing of what came before."""
    told = [name for name in SECRETS if request.header(name) is not None]
    return Answer(500 if told else 200, (("Set-Cookie", "again=1; Path=/"),), "told")


COOKIE = {"headers": (("Set-Cookie", "seen=1; Path=/"), ("Location", "/b"))}
QUIET: dict[str, Case] = {
    "POL-12": Case(
        (R, "/a", "/b", "/c"),
        {"/a": "stored", "/c": "stored"},
        "stored; no Cookie and no Referer, neither at the next hop nor at the next URL",
        {"/a": Answer(302, **COOKIE), "/b": told_nothing, "/c": told_nothing},
        pages={"/a": {"status": 200}, "/c": {"status": 200}},
    ),
    "POL-12/401": Case(
        (R, "/a", "/c"),
        {"/a": "stored", "/c": "stored"},
        routes={
            "/a": Answer(401, (("WWW-Authenticate", 'Basic realm="x"'), ("Set-Cookie", "a=b"))),
            "/c": told_nothing,
        },
        pages={"/a": {"status": 401}, "/c": {"status": 200}},
    ),
    "POL-12/robots": Case(
        (R, "/rules", "/a"),
        {"/a": "stored"},
        routes={
            R: Answer(302, (("Set-Cookie", "a=b"), ("Location", "/rules"))),
            "/rules": told_nothing,
            "/a": told_nothing,
        },
        pages={"/a": {"status": 200}},
    ),
    "POL-12/other-host": Case(
        (R, "/a", "b/robots.txt", "b/x"),
        {"/a": "stored"},
        routes={
            "/a": Answer(307, (("Set-Cookie", "a=b; Domain=test"), ("Location", "http://b.{host}/x"))),
            "b/x": told_nothing,
        },
        pages={"/a": {"status": 200}},
    ),
    "POL-12/another-attempt": Case(
        (R, "/a", "/a"),
        {"/a": "stored"},
        routes={"/a": (Answer(503, (("Set-Cookie", "a=b"),)), OK)},
        pages={"/a": {"status": 200, "attempts": 2}},
    ),
    "POL-12/next-host": Case(
        ("b/robots.txt", R, "b/1", "/a"),
        {"/a": "stored", "b/1": "stored"},
        routes={"b/1": Answer(200, (("Set-Cookie", "a=b; Domain=.test"),), "x"), "/a": told_nothing},
        pages={"/a": {"status": 200}},
    ),
}
CASES = {**{id: pushed(told) for id, told in TOLD.items()}, **FORBIDDEN, **QUIET}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    settings = {"SEASPIDER_BACKOFF_BASE": BACKOFF_S, "SEASPIDER_BACKOFF_CAP": CAP_S}
    return Crawled(CASES, tmp_path_factory.mktemp("politeness"), settings=settings)


@pytest.mark.parametrize("id", CASES)
def test_politeness(crawled: Crawled, id: str) -> None:
    check(crawled, id)


@pytest.mark.parametrize("id", TOLD)
def test_the_pause_that_follows(crawled: Crawled, id: str) -> None:
    told, seen = TOLD[id], crawled.seen(id)
    pushing = seen.requests[1]
    assert (pushing["status"], pushing["pause_basis"], pushing["pause_s"]) == (429, told.basis, told.pause_s)
    [pair] = pairs(seen.arrivals[1:], Key.HOST)
    assert pair.gap_ns >= told.pause_s * NS_PER_S
    values = [value for name, value in pushing["headers"] if name == "Retry-After"]
    assert values == [value.strip(" \t") for value in told.values]


def test_nobody_is_told_anything(crawled: Crawled) -> None:
    """POL-12, at each of the requests."""
    names = {name.lower() for arrival in crawled.arrivals for name, _ in arrival.headers}
    assert names.isdisjoint(SECRETS)
    assert names == {"host", "user-agent", "accept", "accept-language", "accept-encoding", "connection"}


# --- pauses, at the servers ---

INTERVAL_S, SLOW_S = 0.25, 1.0
SLOW = text("User-agent: *", f"Crawl-delay: {SLOW_S}")
ONE, TWO = "127.70.250.1", "127.70.250.2"
"""Addresses that several hosts share."""


def visited(asked: Sequence[str], queue: Sequence[str], outcome: str = "", **more: Any) -> Case:
    routes = {place: OK for place in queue if not place.startswith("=")} | more.pop("routes", {})
    return Case(asked, dict.fromkeys(queue, "stored"), outcome, routes, **more)


def sharing(names: Sequence[str], address: str, *queue: str) -> Case:
    """Hosts at one address. What a literal address is asked for is not among what the names are."""
    routes = {f"{name}{target}": OK if target != R else Answer(404) for name in names for target in (R, "/1", "/2")}
    return Case((), {}, routes=routes, queue=queue, names=dict.fromkeys(names, address))


PACED: dict[str, Case] = {
    "POL-01": visited(
        (R, *(f"/{n}" for n in range(8))), [f"/{n}" for n in range(8)], "never less than the pause between two requests"
    ),
    "POL-01/late-answers": visited(
        (R, "/0", "/1", "/2"),
        ["/0", "/1", "/2"],
        routes={"/0": Answer(delay_s=0.3), "/1": Answer(body="slow", drip_s=0.05)},
    ),
    "POL-01/redirects": visited((R, "/0", "/1", "/2"), ["/0"], routes={"/0": to("/1"), "/1": to("/2"), "/2": OK}),
    "POL-02": sharing(
        ["", "b", "c"],
        ONE,
        f"=http://{ONE}:{{port}}/1",
        "/1",
        "b/1",
        "c/1",
        "/2",
        "b/2",
        "c/2",
        f"=http://{ONE}:{{port}}/2",
    ),
    "POL-02/spellings": sharing(
        ["", "b"],
        TWO,
        f"=http://127.70.{250 * 256 + 2}:{{port}}/1",
        "=HTTP://0x7F46FA02:{port}/2",
        "/1",
        "b/1",
        "/2",
        "b/2",
    ),
    "POL-09": visited(
        (R, "/a", "https:/robots.txt", "https:/b", "/c", "https:/d"),
        ["/a", "https:/b", "/c", "https:/d"],
        "one host, one pause between all requests",
        routes={"https:/robots.txt": Answer(404)},
    ),
    "POL-09/hop-to-https": visited(
        (R, "/a", "https:/robots.txt", "https:/b"),
        ["/a"],
        routes={"/a": to("https://{tls}/b"), "https:/b": OK, "https:/robots.txt": Answer(404)},
    ),
    "POL-10": visited(
        ("g/robots.txt", R, "g/1", "g/2", "g/3", "/1", "/2", "/3"),
        ["/1", "g/1", "/2", "g/2", "/3", "g/3"],
        "the others go on meanwhile, in the order that the pauses give",
        routes={R: SLOW},
    ),
    "POL-10/no-answer": visited(
        ("g/robots.txt", R, "g/1", "g/2", "g/3", "/1", "/2"),
        ["/1", "g/1", "/2", "g/2", "g/3"],
        routes={R: SLOW, "/1": Answer(404, delay_s=0.4)},
    ),
    "POL-11": visited(
        ("a/robots.txt", "b/robots.txt", "a/1", "a/2", "b/1", "b/2"),
        ["a/1", "b/1", "b/2", "a/2"],
        "each host by its own crawl-delay",
        routes={"b/robots.txt": SLOW},
    ),
    "POL-11/slow-one-first": visited(
        ("a/robots.txt", "b/robots.txt", "b/1", "b/2", "a/1", "a/2"),
        ["a/1", "a/2", "b/1", "b/2"],
        routes={"a/robots.txt": SLOW},
    ),
    "POL-11/of-another-agent": visited(
        (R, "/1", "/2"),
        ["/1", "/2"],
        routes={R: text("User-agent: other", "Crawl-delay: 9", "", "User-agent: *", "Allow: /")},
    ),
}
SHARED = {"POL-02": ONE, "POL-02/spellings": TWO}


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(PACED, tmp_path_factory.mktemp("paced"), settings={"SEASPIDER_INTERVAL": INTERVAL_S})


def slow(case: Case, label: str) -> bool:
    return case.routes.get(f"{label}{R}") is SLOW


@pytest.mark.parametrize("id", [id for id in PACED if id not in SHARED])
def test_pauses_of_a_host(paced: Crawled, id: str) -> None:
    check(paced, id)
    host, found = host_of(id), paced.seen(id).arrivals
    for name, gap in min_gaps_ns(found, Key.HOST).items():
        label = name.removesuffix(host).removesuffix(".")
        assert gap >= (SLOW_S if slow(PACED[id], label) else INTERVAL_S) * NS_PER_S


@pytest.mark.parametrize("id", SHARED)
def test_pauses_of_an_address(paced: Crawled, id: str) -> None:
    address = SHARED[id]
    found = [arrival for arrival in paced.arrivals if arrival.address == address]
    hosts = {arrival.name for arrival in found}
    assert address in hosts
    assert len(hosts) == len(PACED[id].names) + 1
    # Each host its robots.txt and two pages.
    assert len(found) == 3 * len(hosts)
    assert min_gaps_ns(found, Key.IP)[address] >= INTERVAL_S * NS_PER_S
    assert {page["outcome"] for page in paced.seen(id).pages} == {"stored"}


HERE, PAUSES = "tests/web/test_politeness.py", "tests/test_pauses.py"
WHERE: dict[str, str] = {
    **where({id: CASES[id] for id in ("POL-08", "POL-12")}, f"{HERE}::test_politeness"),
    **{
        id: f"{HERE}::test_politeness[{id}], {HERE}::test_the_pause_that_follows[{id}]: {TOLD[id].outcome}"
        for id in TOLD
        if "/" not in id
    },
    **where({id: PACED[id] for id in PACED if id not in SHARED}, f"{HERE}::test_pauses_of_a_host"),
    "POL-01": f"{HERE}::test_pauses_of_a_host[POL-01], {PAUSES}::test_p3_no_pair_is_nearer_than_the_pause: "
    + PACED["POL-01"].outcome,
    "POL-02": f"{HERE}::test_pauses_of_an_address[POL-02], {PAUSES}::test_p3_no_pair_is_nearer_than_the_pause: "
    "one pause between all requests to the address",
    "POL-10": f"{HERE}::test_pauses_of_a_host[POL-10], tests/test_breadth.py::test_it_takes_seconds: "
    + PACED["POL-10"].outcome,
}
