"""`scrapy robots`, `scrapy fetch` and `scrapy shell`: one door, the crawl's own decisions, and a reason for each no."""

import hashlib
import json
import re
from collections.abc import Iterator

import pytest

from seaspider.core.times import parse_rfc3339_ms
from seaspider.loopback import Answer, Fault, LoopbackWeb
from tests.commands.many import Case, Result, run
from tests.crawling import ROOT

NAMES = {
    "open.test": "127.0.9.1",
    "reef.test": "127.0.9.2",
    "fog.test": "127.0.9.3",
    "slow.test": "127.0.9.4",
    "bare.test": "127.0.9.5",
    "moved.test": "127.0.9.6",
    "dollar.test": "127.0.9.7",
    "lamp.test": "127.0.9.8",
    "siren.test": "169.254.169.254",
    "gone.test": [],
}
SITES = {
    "lamp.test/robots.txt": Answer(
        body="User-agent: *\nCrawl-delay: 2\nDisallow:\nSitemap: http://lamp.test/map.xml\n"
    ),
    "open.test/robots.txt": Answer(body="User-agent: *\nDisallow:\n"),
    "open.test/": Answer(headers=(("X-Kind", "plain"), ("Content-Type", "text/plain")), body="hello"),
    "open.test/to-reef": Answer(302, (("Location", "http://reef.test:{port}/wreck"),), "over there"),
    "open.test/to-self": Answer(302, (("Location", "/to-self"),)),
    "open.test/cut": Answer(fault=Fault.RESET),
    "reef.test/robots.txt": Answer(body="User-agent: seaspider\nAllow: /wreck/plan\nDisallow: /wreck\n"),
    "reef.test/*": Answer(body="you should not be here"),
    "fog.test/robots.txt": Answer(503, (("Retry-After", "9000"),)),
    "fog.test/*": Answer(body="nor here"),
    "slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 61\n"),
    "slow.test/*": Answer(body="nor here"),
    "bare.test/": Answer(body="no robots.txt"),
    "moved.test/robots.txt": Answer(301, (("Location", "http://reef.test:{port}/robots.txt"),)),
    "dollar.test/robots.txt": Answer(body="User-agent: *\nDisallow: /price$\n"),
}
NEVER = {"/wreck", "/secret", "/far"}


def url(place: str) -> str:
    """`open.test/` -> its URL; the port is put in when the server runs."""
    host, slash, path = place.partition("/")
    return f"http://{host}:{{port}}{slash}{path}"


CASES: dict[str, Case] = {
    "robots-allowed": Case(["robots", url("lamp.test/")]),
    "robots-forbidden": Case(["robots", url("reef.test/wreck")]),
    "robots-forbidden-json": Case(["robots", url("reef.test/wreck"), "--json"]),
    "robots-absent": Case(["robots", url("bare.test/")]),
    "robots-unreachable": Case(["robots", url("fog.test/secret")]),
    "robots-unreachable-json": Case(["robots", url("fog.test/secret"), "--json"]),
    "robots-over-the-cap": Case(["robots", url("slow.test/far")]),
    "robots-moved": Case(["robots", url("moved.test/wreck")]),
    "robots-witness": Case(["robots", url("dollar.test/price$")]),
    "robots-special": Case(["robots", url("siren.test/")]),
    "robots-no-name-json": Case(["robots", url("gone.test/"), "--json"]),
    "robots-bad-url": Case(["robots", "open.test"]),
    "robots-bad-setting": Case(["robots", url("open.test/")], {"SEASPIDER_CRAWL_DELAY_CAP": "never"}),
    "robots-other-cap": Case(["robots", url("slow.test/far")], {"SEASPIDER_CRAWL_DELAY_CAP": 61}),
    "fetch-allowed": Case(["fetch", url("open.test/")]),
    "fetch-headers": Case(["fetch", "--nolog", "--headers", url("open.test/")]),
    "fetch-no-redirect": Case(["fetch", "--headers", "--no-redirect", url("open.test/to-reef")]),
    "fetch-into-forbidden": Case(["fetch", "--nolog", url("open.test/to-reef")]),
    "fetch-loop": Case(["fetch", "--nolog", url("open.test/to-self")]),
    "fetch-forbidden": Case(["fetch", "--nolog", url("reef.test/wreck")]),
    "fetch-unreachable": Case(["fetch", "--nolog", url("fog.test/secret")]),
    "fetch-over-the-cap": Case(["fetch", "--nolog", url("slow.test/far")]),
    "fetch-special": Case(["fetch", "--nolog", url("siren.test/")]),
    "fetch-no-name": Case(["fetch", "--nolog", url("gone.test/")]),
    "fetch-reset": Case(["fetch", "--nolog", url("open.test/cut")]),
    "fetch-file": Case(["fetch", "file:///etc/hostname"]),
    "fetch-bad-setting": Case(["fetch", url("open.test/")], {"ROBOTSTXT_OBEY": True, "RETRY_ENABLED": True}),
    "fetch-spider": Case(["fetch", "--spider", "crab", url("open.test/")]),
    "shell-allowed": Case(["shell", "--nolog", url("open.test/"), "-c", "response.status, response.text"]),
    "shell-forbidden": Case(["shell", "--nolog", "-c", f"fetch({url('reef.test/wreck')!r}), response"]),
    "shell-twice": Case(
        [
            "shell",
            "--nolog",
            "-c",
            f"fetch({url('reef.test/wreck')!r}), fetch({url('reef.test/wreck/plan')!r}), response",
        ]
    ),
    "shell-into-forbidden": Case(["shell", "-c", f"fetch({url('open.test/to-reef')!r}), response"]),
    "shell-reset": Case(["shell", "--nolog", url("open.test/cut"), "-c", "response"]),
    "shell-bad-setting": Case(["shell", "-c", "1"], {"HTTPCACHE_ENABLED": True}),
    "shell-spider": Case(["shell", "--spider", "crab", "-c", "1"]),
}


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(SITES, names=NAMES) as running:
        yield running


@pytest.fixture(scope="module")
def results(web: LoopbackWeb) -> dict[str, Result]:
    cases = {
        name: Case([arg.replace("{port}", str(web.port)) for arg in case.args], case.settings)
        for name, case in CASES.items()
    }
    ended = run(cases, NAMES)
    return {
        name: Result(result.exit, *(text.replace(str(web.port), "PORT") for text in (result.out, result.err)))
        for name, result in ended.items()
    }


# --- all three ---

WRECK = 'line 3 "Disallow: /wreck", in the group for seaspider'
FORBIDDEN = f"http://reef.test:PORT/wreck was not fetched: robots.txt forbids it ({WRECK})"
FOG = "http://fog.test:PORT/secret was not fetched: its robots.txt could not be had, so nothing is allowed; not before "

# id -> (exit code, standard output, the beginning of the one line on standard error)
NOT_FETCHED: dict[str, tuple[int, str, str]] = {
    "robots-bad-url": (2, "", "scrapy robots: URL 'open.test' cannot be asked for: missing-scheme\n"),
    "robots-bad-setting": (2, "", "scrapy robots: setting SEASPIDER_CRAWL_DELAY_CAP = 'never': "),
    "fetch-into-forbidden": (3, "", f"scrapy fetch: {FORBIDDEN}\n"),
    "fetch-loop": (3, "", "scrapy fetch: http://open.test:PORT/to-self was not fetched: refused/redirect-loop\n"),
    "fetch-forbidden": (3, "", f"scrapy fetch: {FORBIDDEN}\n"),
    "fetch-unreachable": (3, "", f"scrapy fetch: {FOG}"),
    "fetch-over-the-cap": (3, "", "scrapy fetch: http://slow.test:PORT/far was not fetched: robots.txt asks for 61 s "),
    "fetch-special": (3, "", "scrapy fetch: http://siren.test:PORT/ was not fetched: its host has a special address, "),
    "fetch-no-name": (3, "", "scrapy fetch: http://gone.test:PORT/ was not fetched: there is no such host\n"),
    "fetch-reset": (3, "", "scrapy fetch: http://open.test:PORT/cut: reset: "),
    "fetch-file": (2, "", "scrapy fetch: URL 'file:///etc/hostname' cannot be asked for: scheme\n"),
    "fetch-bad-setting": (2, "", "scrapy fetch: setting ROBOTSTXT_OBEY = 'True': "),
    "fetch-spider": (2, "", "scrapy fetch: no spider is called 'crab'; known are: seaspider\n"),
    "shell-forbidden": (0, "(None, None)\n", f"scrapy shell: {FORBIDDEN}\n"),
    "shell-reset": (3, "", "scrapy shell: http://open.test:PORT/cut: reset: "),
    "shell-bad-setting": (2, "", "scrapy shell: setting HTTPCACHE_ENABLED = 'True': "),
    "shell-spider": (2, "", "scrapy shell: no spider is called 'crab'; known are: seaspider\n"),
}


@pytest.mark.parametrize("name", NOT_FETCHED)
def test_each_no_is_one_line_that_says_why(name: str, results: dict[str, Result]) -> None:
    code, out, line = NOT_FETCHED[name]
    result = results[name]
    assert (result.exit, result.out) == (code, out), result.err
    assert result.err.startswith(line)
    assert result.err.count("\n") == 1


def test_what_is_not_allowed_was_never_asked_for(results: dict[str, Result], web: LoopbackWeb) -> None:
    asked = {arrival.target for arrival in web.arrivals}
    assert not asked & NEVER
    assert {"/", "/to-reef", "/to-self", "/cut", "/wreck/plan", "/robots.txt"} == asked
    # Each command that asked a page had asked its robots.txt; the twin is the log itself: there are pages in it.
    assert len([arrival for arrival in web.arrivals if arrival.target == "/robots.txt"]) >= len(asked)


# --- fetch and shell ---


def test_fetch_prints_the_page_as_scrapy_does(results: dict[str, Result]) -> None:
    allowed = results["fetch-allowed"]
    assert (allowed.exit, allowed.out) == (0, "hello\n")
    assert "Spider closed (finished)" in allowed.err


def test_fetch_prints_headers_as_scrapy_does(results: dict[str, Result]) -> None:
    headers = results["fetch-headers"]
    lines = headers.out.splitlines()
    assert headers.exit == 0
    assert "> User-Agent: seaspider/0.1.0 (+https://seaspider.invalid/loopback)" in lines
    assert lines.index(">") < lines.index("< X-Kind: plain")
    assert results["fetch-no-redirect"].exit == 0
    assert "< Location: http://reef.test:PORT/wreck" in results["fetch-no-redirect"].out.splitlines()


def test_the_shell_fetches_what_is_allowed(results: dict[str, Result]) -> None:
    assert results["shell-allowed"] == Result(0, "(200, 'hello')\n", "")


def test_the_shell_goes_on_after_a_no(results: dict[str, Result]) -> None:
    twice = results["shell-twice"]
    assert (twice.exit, twice.out) == (0, "(None, None, <200 http://reef.test:PORT/wreck/plan>)\n")
    assert twice.err == f"scrapy shell: {FORBIDDEN}\n"


def test_the_shell_says_where_a_redirect_was_stopped(results: dict[str, Result]) -> None:
    stopped = results["shell-into-forbidden"]
    assert (stopped.exit, stopped.out) == (0, "(None, None)\n")
    assert "Not asked for: http://reef.test:PORT/wreck: disallowed/robots-rule" in stopped.err
    assert stopped.err.endswith(
        "scrapy shell: http://open.test:PORT/to-reef was not fetched: it is allowed itself, but led to what is not; "
        "the log says where\n"
    )


# --- robots ---

TOLD: dict[str, tuple[int, list[str]]] = {
    "robots-allowed": (
        0,
        [
            "http://lamp.test:PORT/",
            "Allowed for seaspider.",
            "",
            "robots.txt   parsed (status 200, 73 bytes)",
            "asked        http://lamp.test:PORT/robots.txt at 127.0.9.8: 200",
            "decided by   no rule of the group for everyone speaks of it",
            "crawl-delay  2 s: at least 2 s between requests",
            "holds until  TIME",
            "sitemap      http://lamp.test/map.xml",
        ],
    ),
    "robots-forbidden": (
        0,
        [
            "http://reef.test:PORT/wreck",
            "Forbidden for seaspider.",
            "",
            "robots.txt   parsed (status 200, 58 bytes)",
            "asked        http://reef.test:PORT/robots.txt at 127.0.9.2: 200",
            f"decided by   {WRECK}",
            "crawl-delay  none asked for: 0 s between requests (SEASPIDER_INTERVAL)",
            "holds until  TIME",
        ],
    ),
    "robots-absent": (
        0,
        [
            "http://bare.test:PORT/",
            "Allowed: there is no robots.txt.",
            "",
            "robots.txt   absent (status 404), so everything is allowed",
            "asked        http://bare.test:PORT/robots.txt at 127.0.9.5: 404",
            "holds until  TIME",
        ],
    ),
    "robots-unreachable": (
        3,
        [
            "http://fog.test:PORT/secret",
            "Not asked for: its robots.txt could not be had, so nothing is allowed; not before TIME.",
            "",
            "robots.txt   unreachable (http-5xx, status 503), so nothing is allowed",
            "asked        http://fog.test:PORT/robots.txt at 127.0.9.3: 503",
            "holds until  TIME",
        ],
    ),
    "robots-over-the-cap": (
        0,
        [
            "http://slow.test:PORT/far",
            "Not asked for: robots.txt asks for 61 s between requests, and the cap is 60 s: a crawl defers it "
            "(SEASPIDER_CRAWL_DELAY_CAP).",
            "",
            "robots.txt   parsed (status 200, 30 bytes)",
            "asked        http://slow.test:PORT/robots.txt at 127.0.9.4: 200",
            "decided by   no rule of the group for everyone speaks of it",
            "crawl-delay  61 s, over the cap of 60 s: a crawl defers the URL",
            "holds until  TIME",
        ],
    ),
    "robots-moved": (
        0,
        [
            "http://moved.test:PORT/wreck",
            "Forbidden for seaspider.",
            "",
            "robots.txt   parsed (status 200, 58 bytes)",
            "asked        http://moved.test:PORT/robots.txt at 127.0.9.6: 301, then "
            "http://reef.test:PORT/robots.txt at 127.0.9.2: 200",
            f"decided by   {WRECK}",
            "crawl-delay  none asked for: 0 s between requests (SEASPIDER_INTERVAL)",
            "holds until  TIME",
        ],
    ),
    "robots-witness": (
        0,
        [
            "http://dollar.test:PORT/price$",
            "Allowed for seaspider.",
            "",
            "robots.txt   parsed (status 200, 32 bytes)",
            "asked        http://dollar.test:PORT/robots.txt at 127.0.9.7: 200",
            "decided by   no rule of the group for everyone speaks of it",
            "crawl-delay  none asked for: 0 s between requests (SEASPIDER_INTERVAL)",
            "holds until  TIME",
            "but          Protego, the second witness, says disallow; what is above decides",
        ],
    ),
    "robots-special": (
        3,
        [
            "http://siren.test:PORT/",
            "Not asked for: its host has a special address, which is not asked (SEASPIDER_ALLOWED_NETWORKS).",
            "",
            "robots.txt   unknown: it could not be asked for",
            "asked        http://siren.test:PORT/robots.txt at 169.254.169.254: not asked",
        ],
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_robots_tells_people_what_was_decided_and_why(name: str, results: dict[str, Result]) -> None:
    code, lines = TOLD[name]
    result = results[name]
    told = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", line) for line in result.out.splitlines()]
    assert (result.exit, told, result.err) == (code, lines, "")


def test_a_higher_cap_allows_what_was_deferred(results: dict[str, Result]) -> None:
    assert results["robots-other-cap"].exit == 0
    assert results["robots-other-cap"].out.splitlines()[1] == "Allowed for seaspider."


def told(results: dict[str, Result], name: str) -> dict:
    assert results[name].err == ""
    return json.loads(results[name].out)


def test_robots_tells_programs_the_same_in_fixed_keys(results: dict[str, Result]) -> None:
    answer = told(results, "robots-forbidden-json")
    body = SITES["reef.test/robots.txt"].body.encode()
    times = answer.pop("fetched_at"), answer.pop("expires_at")
    assert parse_rfc3339_ms(times[1]) - parse_rfc3339_ms(times[0]) == 86_400_000
    assert answer == {
        "url": "http://reef.test:PORT/wreck",
        "origin": "http://reef.test:PORT",
        "token": "seaspider",
        "decision": "disallow",
        "group": "seaspider",
        "rule": "Disallow: /wreck",
        "rule_line": 3,
        "witness": "disallow",
        "crawl_delay_s": None,
        "outcome": "disallowed",
        "outcome_reason": "robots-rule",
        "state": "parsed",
        "state_reason": None,
        "status": 200,
        "chain": [
            {
                "url": "http://reef.test:PORT/robots.txt",
                "ip": "127.0.9.2",
                "status": 200,
                "location": None,
                "error": None,
            }
        ],
        "bytes": len(body),
        "truncated": False,
        "sha256": hashlib.sha256(body).hexdigest(),
        "sitemaps": [],
    }


def test_robots_tells_programs_what_is_not_known_as_null(results: dict[str, Result]) -> None:
    gone, fog = told(results, "robots-no-name-json"), told(results, "robots-unreachable-json")
    assert list(gone) == list(fog) == list(told(results, "robots-forbidden-json"))
    assert (results["robots-no-name-json"].exit, results["robots-unreachable-json"].exit) == (3, 3)
    assert {key for key, value in gone.items() if value not in (None, [])} == {
        "url",
        "origin",
        "token",
        "outcome",
        "outcome_reason",
        "chain",
    }
    assert (gone["outcome"], gone["outcome_reason"]) == ("failed", "dns")
    assert (fog["state"], fog["state_reason"], fog["status"]) == ("unreachable", "http-5xx", 503)
    assert parse_rfc3339_ms(fog["expires_at"]) - parse_rfc3339_ms(fog["fetched_at"]) == 9_000_000


def test_no_store_is_written(results: dict[str, Result]) -> None:
    assert not (ROOT / "store").exists()
