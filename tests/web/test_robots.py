"""Robots.txt as servers have it: the cases of the theme `robots`, and others of their kinds, in one crawl.

A second crawl, with pauses, shows those that are about time. Statuses and faults of every kind are in
tests/test_robots_fetch.py, files of every kind in tests/core/test_robotscases.py.
"""

from __future__ import annotations

import gc
import gzip
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from seaspider import robotsdesk
from seaspider.core.robotsfile import RobotsFile
from seaspider.core.times import parse_rfc3339_ms
from seaspider.loopback import Answer, Fault, Request, judge
from tests.test_robotsdesk import Office
from tests.web.sites import Case, Crawled, check, text, to, where

HTML = (("Content-Type", "text/html"),)
PAGE = Answer(200, HTML, "<p>a page")
FORBIDS = "User-agent: *\nDisallow: /\n"
ALLOWS = "User-agent: *\nAllow: /\n"
P = {"/p": PAGE}
R = "/robots.txt"
ONLY_ROBOTS, BOTH = (R,), (R, "/p")
UNREACHABLE = {"/p": "deferred/robots-unreachable"}
STORED = {"/p": "stored"}
DISALLOWED = {"/p": "disallowed/robots-rule"}
CAP_S = 1


def unreachable(answer: Any, reason: str, outcome: str = "", status: int | None = None, **more: Any) -> Case:
    """A robots.txt that allows nothing: its page is not asked for."""
    rows = [{"state": "unreachable", "reason": reason, "status": status}]
    return Case(ONLY_ROBOTS, UNREACHABLE, outcome, {R: answer, **P}, robots=rows, **more)


def absent(answer: Answer, outcome: str = "") -> Case:
    rows = [{"state": "absent", "reason": None, "status": answer.status, "sha256": None}]
    return Case(BOTH, STORED, outcome, {R: answer, **P}, robots=rows)


def by_rules(rules: Answer, outcome: str = "", **ends: str) -> Case:
    """Pages `name` of a host with these rules, each `stored` or `disallowed`."""
    return Case(
        (R, *(f"/{name}" for name, end in ends.items() if end == "stored")),
        {f"/{name}": end if end == "stored" else f"{end}/robots-rule" for name, end in ends.items()},
        outcome,
        {R: rules, **{f"/{name}": PAGE for name in ends}},
    )


def onward(request: Request) -> Answer:
    """/robots.txt, /robots.txt?1, /robots.txt?2 ... for ever."""
    _, _, number = request.target.partition("?")
    return to(f"/robots.txt?{int(number or 0) + 1}")


STATUS = {
    "ROB-01": unreachable(Answer(503, HTML, "<html>busy</html>"), "http-5xx", "deferred/robots-unreachable", 503),
    "ROB-01/body-that-allows": unreachable(Answer(500, body=ALLOWS), "http-5xx", status=500),
    "ROB-01/body-that-forbids-little": unreachable(Answer(502, body="User-agent: *\n"), "http-5xx", status=502),
    "ROB-01/with-location": unreachable(to("/rules", 503), "http-5xx", status=503),
    "ROB-02": unreachable(
        Answer(429, (("Retry-After", "60"),)),
        "http-429",
        "deferred/robots-unreachable; asked again after the retry period or a longer Retry-After",
        429,
    ),
    "ROB-02/longer": unreachable(Answer(429, (("Retry-After", "7200"),)), "http-429", status=429),
    "ROB-02/for-ever": unreachable(Answer(429, (("Retry-After", "9" * 30),)), "http-429", status=429),
    "ROB-02/no-time": unreachable(Answer(429, (("Retry-After", "soon"),)), "http-429", status=429),
    "ROB-02/negative": unreachable(Answer(429, (("Retry-After", "-7200"),)), "http-429", status=429),
    "ROB-02/503": unreachable(Answer(503, (("Retry-After", "7200"),)), "http-5xx", status=503),
    "ROB-02/body-that-allows": unreachable(Answer(429, body=ALLOWS), "http-429", status=429),
    "ROB-04": unreachable(
        Answer(content_length=500, body="User-agent: *\nDisall", fault=Fault.CLOSE_AFTER_BODY),
        "cut",
        "deferred/robots-unreachable, reason cut: half a file is not parsed",
    ),
    "ROB-04/chunked": unreachable(Answer(body="User-agent: *\n", chunked=True, fault=Fault.NO_LAST_CHUNK), "cut"),
    "ROB-04/reset": unreachable(Answer(body=ALLOWS, content_length=500, fault=Fault.RESET_AFTER_BODY), "cut"),
    "ROB-04/reset-without-length": unreachable(
        Answer(body=ALLOWS, content_length=None, fault=Fault.RESET_AFTER_BODY), "cut"
    ),
    "ROB-04/gzip": unreachable(
        Answer(headers=(("Content-Encoding", "gzip"),), body=gzip.compress(ALLOWS.encode() * 99)[:-9]), "decode"
    ),
    "ROB-05": absent(Answer(403, body=FORBIDS), "stored: 403 on robots.txt allows all, its body is not looked at"),
    "ROB-05/401": absent(Answer(401, (("WWW-Authenticate", "Basic"),), FORBIDS)),
    "ROB-05/404": absent(Answer(404, HTML, "<p>" + FORBIDS)),
    "ROB-05/410": absent(Answer(410, body=FORBIDS)),
    "ROB-05/451": absent(Answer(451, body=FORBIDS)),
    "ROB-05/with-location": absent(to("/rules", 404)),
    "ROB-05/body-that-is-cut": absent(Answer(403, content_length=500, body="no", fault=Fault.CLOSE_AFTER_BODY)),
    "ROB-05/body-that-is-no-gzip": absent(Answer(403, (("Content-Encoding", "gzip"),), "no")),
    "ROB-05/403-on-a-page": Case(
        BOTH,
        {"/p": "stored", "/q": "blocked/forbidden"},
        routes={R: Answer(403), "/p": Answer(403)},
        pages={"/p": {"status": 403}, "/q": {"attempts": 0}},
    ),
}

FORBIDDING = {"body": FORBIDS}
REDIRECTS = {
    "ROB-06": unreachable(
        Answer(301, **FORBIDDING), "http-other", "deferred/robots-unreachable, the body is not looked at", 301
    ),
    "ROB-06/302": unreachable(Answer(302, body=ALLOWS), "http-other", status=302),
    "ROB-06/300": unreachable(to("/rules", 300), "http-other", status=300),
    "ROB-06/file": unreachable(to("file:///robots.txt", **FORBIDDING), "refused-target", status=302),
    "ROB-06/data": unreachable(to("data:text/plain,User-agent:*"), "refused-target", status=302),
    "ROB-06/userinfo": unreachable(to("http://u:p@{host}/rules"), "refused-target", status=302),
    "ROB-06/no-url": unreachable(to("http://[::1/"), "bad-location", status=302),
    "ROB-06/two-locations": unreachable(
        Answer(302, (("Location", "/a"), ("Location", "/b"))), "bad-location", status=302
    ),
    "ROB-06/empty": unreachable(to(""), "redirect-loop", status=302),
    "ROB-06/fragment": unreachable(to("#rules"), "redirect-loop", status=302),
    "ROB-07": Case(
        (R, *(f"{R}?{n}" for n in range(1, 6))),
        UNREACHABLE,
        "deferred/robots-unreachable after 5 hops, each with its pause",
        {R: onward, "/*": onward},
        robots=[{"state": "unreachable", "reason": "redirect-limit", "chain": [{"status": 302}] * 6}],
    ),
    "ROB-07/to-and-fro": Case(
        (R, "b/x"),
        UNREACHABLE,
        routes={R: to("http://b.{host}/x"), "b/x": to("http://{host}/robots.txt"), **P},
        robots=[{"reason": "redirect-loop"}],
    ),
    "ROB-07/itself": unreachable(to("/./%72obots.txt#again"), "redirect-loop", status=302),
    "ROB-08": Case(
        ("b/robots.txt", R, "b/a/robots.txt", "/p"),
        {"/p": "stored", "b/p": "disallowed/robots-rule"},
        "A stored, B disallowed/robots-rule: each origin has its own robots.txt",
        {
            R: to("http://b.{host}/a/robots.txt", 301),
            "b/a/robots.txt": text("User-agent: *", "Allow: /"),
            "b/robots.txt": text("User-agent: *", "Disallow: /"),
            "/p": PAGE,
            "b/p": PAGE,
        },
        robots=[{"origin": "http://b.{host}"}, {"origin": "http://{host}", "chain": [{}, {"status": 200}]}],
    ),
    "ROB-08/to-the-other-robots-txt": Case(
        ("b/robots.txt", R, "b/p", "b/robots.txt"),
        {"/p": "disallowed/robots-rule", "b/p": "stored", "b/q": "disallowed/robots-rule"},
        routes={
            R: to("http://b.{host}/robots.txt"),
            "b/robots.txt": (text("User-agent: *", "Disallow: /q"), text("User-agent: *", "Disallow: /p")),
            "/p": PAGE,
            "b/p": PAGE,
        },
    ),
    "ROB-08/rules-that-forbid-go-with-it": Case(
        ("b/robots.txt", R, "b/p", "b/rules?x"),
        {"/p": "disallowed/robots-rule", "b/p": "stored"},
        routes={R: to("http://b.{host}/rules?x"), "b/rules?x": text("User-agent: *", "Disallow: /p"), "b/p": PAGE},
    ),
    "ROB-08/missing-there": Case(
        (R, "b/rules", "/p"), STORED, routes={R: to("http://b.{host}/rules"), "b/rules": Answer(404), **P}
    ),
    "ROB-08/failing-there": Case(
        (R, "b/rules"),
        UNREACHABLE,
        routes={R: to("http://b.{host}/rules"), "b/rules": Answer(500), **P},
        robots=[{"origin": "http://{host}", "reason": "http-5xx"}],
    ),
    "ROB-09": unreachable(
        to("http://127.0.0.1:{port}/robots.txt"),
        "special-address",
        "deferred/robots-unreachable, nothing is sent there",
    ),
    "ROB-09/name": unreachable(
        to("http://in.{host}/robots.txt"), "special-address", names={"in": ["127.70.250.1", "127.0.0.1"]}
    ),
    "ROB-09/number": unreachable(to("//2130706433:{port}/robots.txt"), "special-address"),
    "ROB-09/mapped": unreachable(to("http://[::ffff:7f00:1]:{port}/robots.txt"), "special-address"),
    "ROB-09/metadata": unreachable(to("http://169.254.169.254/robots.txt"), "special-address"),
    "ROB-09/no-such-name": unreachable(to("http://gone.{host}/robots.txt"), "dns", names={"gone": []}),
    "ROB-09/at-the-second-hop": Case(
        (R, "b/rules"),
        UNREACHABLE,
        routes={R: to("http://b.{host}/rules"), "b/rules": to("http://0x7f.1:{port}/rules"), **P},
        robots=[{"reason": "special-address", "chain": [{}, {}, {"ip": "127.0.0.1", "status": None}]}],
    ),
    "ROB-37": Case(
        ("b/robots.txt", R, "/r"),
        {"b/p": "disallowed/robots-rule", "/r": "disallowed/robots-rule"},
        "disallowed/robots-rule at the second hop, which is not asked for",
        {"/r": to("http://b.{host}/secret"), "b/robots.txt": text("User-agent: *", "Disallow: /"), "b/secret": PAGE},
        pages={"/r": {"chain": [{"decision": "allow", "status": 302}, {"decision": "disallow", "status": None}]}},
    ),
    "ROB-37/robots-txt-of-the-target-is-asked-first": Case(
        (R, "/r", "b/robots.txt"),
        {"/r": "disallowed/robots-rule"},
        routes={"/r": to("http://b.{host}/secret"), "b/robots.txt": text("User-agent: *", "Disallow: /secret")},
    ),
    "ROB-37/same-host": Case(
        (R, "/r"),
        {"/r": "disallowed/robots-rule"},
        routes={R: text("User-agent: *", "Disallow: /secret"), "/r": to("/open/../secret"), "/secret": PAGE},
    ),
    "ROB-37/target-unreachable": Case(
        (R, "/r", "b/robots.txt"),
        {"/r": "deferred/robots-unreachable"},
        routes={"/r": to("http://b.{host}/x"), "b/robots.txt": Answer(500), "b/x": PAGE},
    ),
    "ROB-37/https": Case(
        (R, "/r", "https:/robots.txt"),
        {"/r": "disallowed/robots-rule"},
        routes={"/r": to("https://{tls}/secret"), "https:/robots.txt": text("User-agent: *", "Disallow: /secret")},
    ),
    "ROB-37/third-hop": Case(
        (R, "/r", "/s", "b/robots.txt"),
        {"/r": "disallowed/robots-rule"},
        routes={"/r": to("/s"), "/s": to("http://b.{host}/x"), "b/robots.txt": text("User-agent: *", "Disallow: /")},
    ),
}

SCHEMES = {"http:/robots.txt": text("User-agent: *", "Disallow: /"), "https:/robots.txt": text(""), "/a": PAGE}
BY_SCHEME = {"/a": "disallowed/robots-rule", "https:/a": "stored"}
ORIGINS = {
    "ROB-10": Case(
        (R, "https:/robots.txt", "https:/a"), BY_SCHEME, "http disallowed/robots-rule, https stored", SCHEMES
    ),
    "ROB-10/https-first": Case(
        ("https:/robots.txt", "https:/a", R), BY_SCHEME, routes=SCHEMES, queue=("https:/a", "/a")
    ),
    "ROB-10/https-has-none": Case(
        (R, "https:/robots.txt", "https:/a"), BY_SCHEME, routes={**SCHEMES, "https:/robots.txt": Answer(404)}
    ),
    "ROB-10/https-fails": Case(
        (R, "https:/robots.txt"),
        {"/a": "disallowed/robots-rule", "https:/a": "deferred/robots-unreachable"},
        routes={**SCHEMES, "https:/robots.txt": Answer(503)},
    ),
}

LATIN = text("User-agent: *", b"Disallow: /\xe9")
BODIES = {
    "ROB-12": by_rules(text(b"\xef\xbb\xbfUser-agent: *", "Disallow: /"), "disallowed/robots-rule", p="disallowed"),
    "ROB-12/before-a-comment": by_rules(text(b"\xef\xbb\xbf# x", "User-agent: *", "Disallow: /"), p="disallowed"),
    "ROB-12/before-a-blank": by_rules(text(b"\xef\xbb\xbf User-agent: *", "Disallow: /"), p="disallowed"),
    "ROB-12/only": by_rules(Answer(body=b"\xef\xbb\xbf"), p="stored"),
    "ROB-14": Case(
        (R, "/other"),
        {"/other": "stored", "/%E9": "disallowed/robots-rule"},
        "/other stored, /%E9 disallowed/robots-rule: the byte counts as %E9",
        {R: LATIN, "/other": PAGE},
    ),
    "ROB-14/utf-8-is-another": Case((R, "/%C3%A9"), {"/%C3%A9": "stored"}, routes={R: LATIN, "/%C3%A9": PAGE}),
    "ROB-14/inside-a-path": Case(
        (R, "/caf%C3%A9/x"),
        {"/caf%E9/x": "disallowed/robots-rule", "/caf%C3%A9/x": "stored"},
        routes={R: text("User-agent: *", b"Disallow: /caf\xe9/"), "/caf%C3%A9/x": PAGE},
    ),
    "ROB-14/in-an-allow": Case(
        (R, "/%E9"),
        {"/%E9": "stored", "/other": "disallowed/robots-rule"},
        routes={R: text("User-agent: *", "Disallow: /", b"Allow: /\xe9"), "/%E9": PAGE},
    ),
    "ROB-14/in-a-comment": by_rules(text("User-agent: *", b"# \xe9\xff", "Disallow: /q"), p="stored", q="disallowed"),
    "ROB-14/in-another-name": by_rules(
        text(b"User-agent: caf\xe9", "Disallow: /", "", "User-agent: *", "Disallow: /q"), p="stored", q="disallowed"
    ),
    "ROB-14/half-a-character": by_rules(
        text("User-agent: *", b"Disallow: /\xc3", "Disallow: /q"), p="stored", q="disallowed"
    ),
    "ROB-16": Case(
        BOTH,
        STORED,
        "stored: no rules in it, and /other.txt is not asked for",
        {
            R: Answer(200, HTML, "<meta http-equiv=refresh content='0;url=/other.txt'>"),
            "/other.txt": text(*FORBIDS.splitlines()),
            **P,
        },
        robots=[{"state": "parsed", "status": 200}],
    ),
    "ROB-16/redirect-to-the-front-page": Case(
        (R, "/", "/p"), STORED, routes={R: to("/"), "/": Answer(200, HTML, "<p>welcome"), **P}
    ),
    "ROB-16/refresh-header": Case(
        BOTH, STORED, routes={R: Answer(200, (("Refresh", "0;url=/other.txt"),), ""), "/other.txt": PAGE, **P}
    ),
    "ROB-16/rules-inside-html": by_rules(
        Answer(200, HTML, "<html><pre>\nUser-agent: *\nDisallow: /p\n</pre></html>"), p="disallowed"
    ),
    "ROB-21": Case(
        ONLY_ROBOTS,
        {f"/{n}": "deferred/robots-unreachable" for n in range(50)},
        "50 URLs deferred/robots-unreachable after one request",
        {R: Answer(503)},
    ),
    "ROB-21/cut": Case(
        ONLY_ROBOTS,
        {f"/{n}": "deferred/robots-unreachable" for n in range(9)},
        routes={R: Answer(fault=Fault.CLOSE)},
        robots=[{"state": "unreachable", "reason": "cut"}],
    ),
    "ROB-21/endless-redirects": Case(
        (R, *(f"{R}?{n}" for n in range(1, 6))),
        {f"/{n}": "deferred/robots-unreachable" for n in range(9)},
        routes={R: onward, "/*": onward},
    ),
}  # fmt: skip


def named(name: str) -> Answer:
    return text(f"User-agent: {name}", "Disallow: /p", "", "User-agent: *", "Disallow: /q")


# The User-Agent sent is `seaspider/VERSION (+https://example.test/bot.html)`.
OTHERS = {"p": "stored", "q": "disallowed"}
OURS = {"p": "disallowed", "q": "stored"}
NAMES = {
    "ROB-24": by_rules(named("bot"), "stored: only the product token chooses the group", **OTHERS),
    **{
        f"ROB-24/{name}": by_rules(named(name), **OTHERS) for name in ("example", "https", "html", "sea", "seaspider-x")
    },
    **{f"ROB-24/{name}": by_rules(named(name), **OURS) for name in ("SeaSpider", "seaspider/9.9")},
}


def delayed(value: str, seconds: float | None, outcome: str = "", *lines: str) -> Case:
    """Over the cap of the crawl it is deferred, so that what was read shows without waiting for it."""
    long = seconds is not None and seconds > CAP_S
    rules = text("User-agent: *", f"Crawl-delay: {value}", *lines)
    return Case(
        ONLY_ROBOTS if long else (R, "/a", "/b"),
        dict.fromkeys(("/a", "/b"), "deferred/crawl-delay" if long else "stored"),
        outcome,
        {R: rules, "/a": PAGE, "/b": PAGE},
        pages={path: {"chain": [{"crawl_delay_s": seconds}], "not_before": None} for path in ("/a", "/b")},
    )


IGNORED = ("1,5", "-1", "nan", "inf", "1e3", "1_0", "٣", "0x10", "10a", "", "5 6", "1.5.2", "५", "--5", "５")
READ = {
    "10s": 10.0,
    "5 # c": 5.0,
    "99999999999999999999": 1e9,
    "007": 7.0,
    "1.5": 1.5,
    "1.": 1.0,
    ".5": 0.5,
    "+2": 2.0,
    "0.0001": 0.0001,
    "0": 0.0,
}
AGAIN = ("", "User-agent: *", "Crawl-delay: 1")
DELAYS = {
    "ROB-27": delayed("10s", 10.0, "each is a plain number (a unit s may follow) or ignored; over the cap: deferred"),
    **{f"ROB-27/{value or 'empty'}": delayed(value, None) for value in IGNORED},
    **{f"ROB-27/{value}": delayed(value, seconds) for value, seconds in READ.items()},
    "ROB-28": Case(
        ("b/robots.txt", R, "b/p"),
        {"/p": "deferred/crawl-delay", "b/p": "stored"},
        "deferred/crawl-delay without a time, no page request; other hosts go on",
        {R: text("User-agent: *", "Crawl-delay: 86400"), "b/robots.txt": text(""), "b/p": PAGE},
        pages={"/p": {"not_before": None, "chain": [{"crawl_delay_s": 86400.0, "status": None}]}},
    ),
    "ROB-28/hop": Case(
        (R, "/p", "b/robots.txt"),
        {"/p": "deferred/crawl-delay"},
        routes={"/p": to("http://b.{host}/x"), "b/robots.txt": text("User-agent: *", "Crawl-delay: 2"), "b/x": PAGE},
    ),
    "ROB-28/forbidden-first": Case(
        ONLY_ROBOTS, DISALLOWED, routes={R: text("User-agent: *", "Crawl-delay: 86400", "Disallow: /")}
    ),
    "ROB-30": delayed("20", 20.0, "the larger one counts", *AGAIN),
    "ROB-30/larger-last": delayed("0.1", 1.0, "", *AGAIN),
    "ROB-30/within-a-group": delayed("1", 20.0, "", "Crawl-delay: 20", "Crawl-delay: 1"),
    "ROB-30/behind-the-rules": delayed("1", 20.0, "", "Disallow: /x", "Crawl-delay: 20"),
    "ROB-30/of-another": delayed("0.1", 0.1, "", "", "User-agent: other", "Crawl-delay: 20"),
}  # fmt: skip


def paths(rules: Answer, ends: dict[str, str], outcome: str = "", **more: Any) -> Case:
    """Paths of a host with these rules, as the records have them: `stored`, or else `disallowed`."""
    return Case(
        (R, *(path for path, end in ends.items() if end == "stored")),
        {path: end if end == "stored" else f"{end}/robots-rule" for path, end in ends.items()},
        outcome,
        {R: rules, **dict.fromkeys(ends, PAGE)},
        **more,
    )


PRIVATE = text("User-agent: *", "Disallow: /private")
MATCHING = {
    "ROB-33": paths(
        text("User-agent: *", "Disallow: /*%2F*", "Disallow: /file-%2A.html", "Disallow: /%7Ejoe/"),
        {"/a/b": "stored", "/file-*.html": "disallowed", "/~joe/x": "disallowed"},
        "/a/b stored, the others disallowed/robots-rule",
    ),
    "ROB-33/dollar": paths(
        text("User-agent: *", "Disallow: /a%24", "Disallow: /b$"),
        {"/a$": "disallowed", "/a$b": "disallowed", "/b": "disallowed", "/b$": "stored", "/a": "stored"},
    ),
    "ROB-33/escaped-slash": paths(
        text("User-agent: *", "Disallow: /*%2F*"), {"/a%2Fb": "disallowed", "/a/b": "stored"}
    ),
    "ROB-33/case-of-escapes": paths(
        text("User-agent: *", "Disallow: /%e3%83%84", "Disallow: /foo/ü"),
        {"/%E3%83%84/x": "disallowed", "/foo/%C3%BC": "disallowed", "/foo/u": "stored"},
    ),
    "ROB-33/unreserved-letters": paths(
        text("User-agent: *", "Disallow: /%61dmin"),
        {"/admin": "disallowed", "/Admin": "stored"},
        queue=("/%61dmin", "/Admin"),
    ),
    "ROB-34": paths(
        PRIVATE,
        {"/private": "disallowed"},
        "disallowed/robots-rule; both lines are one URL",
        queue=("/x/../private", "/x/%2e%2e/private"),
        skipped=["duplicate"],
    ),
    "ROB-34/backslash": paths(PRIVATE, {"/private/a": "disallowed"}, queue=("/x\\..\\private\\a",)),
    "ROB-34/beyond-the-top": paths(PRIVATE, {"/private/": "disallowed"}, queue=("/../.%2E/./private/",)),
    "ROB-34/tab-inside": paths(PRIVATE, {"/private": "disallowed"}, queue=("/pri\tvate",)),
    "ROB-34/other-paths-stay-others": paths(
        PRIVATE,
        {"/x/..%2Fprivate": "stored", "//private": "stored", "/Private": "stored", "/p%2572ivate": "stored"},
    ),
    "ROB-34/in-the-query": paths(PRIVATE, {"/?/../private": "stored"}),
    "ROB-35": paths(
        text("User-agent: *", "Disallow: /", "Allow: /d/index.html"),
        {"/d/": "disallowed", "/d/index.html": "stored"},
        "disallowed/robots-rule: longest match and nothing else",
    ),
    "ROB-35/index-htm": paths(
        text("User-agent: *", "Disallow: /", "Allow: /index.htm"),
        {"/": "disallowed", "/index.html": "stored", "/index.php": "disallowed"},
    ),
    "ROB-35/robots-txt-itself": Case(
        (R, R), {R: "stored", "/": "disallowed/robots-rule"}, routes={R: text("User-agent: *", "Disallow: /")}
    ),
    "ROB-35/the-other-way": paths(
        text("User-agent: *", "Disallow: /d/index.html"), {"/d/": "stored", "/d/index.html": "disallowed"}
    ),
}

CASES: dict[str, Case] = STATUS | REDIRECTS | ORIGINS | BODIES | NAMES | DELAYS | MATCHING

# --- with pauses ---

INTERVAL_S, LONGER_S = 0.2, 0.3
THREE = {"/a": "stored", "/b": "stored", "/c": "stored"}
PAGES = {"/a": PAGE, "/b": PAGE, "/c": PAGE}
ASKED = (R, "/a", "/b", "/c")


def paced(delay: str, outcome: str = "") -> Case:
    return Case(ASKED, THREE, outcome, {R: text("User-agent: *", f"Crawl-delay: {delay}"), **PAGES})


PACED: dict[str, Case] = {
    "ROB-07/pauses": CASES["ROB-07"],
    "ROB-11": Case(
        ASKED,
        THREE,
        "stored; one robots.txt, one queue, one pause",
        PAGES,
        ("http://{host}/a", "http://ROB-11.test:0{port}/b", "http://rob-11.test.:{port}/c"),
    ),
    "ROB-11/escaped-name": Case(
        (R, "/a", "/b"),
        {"/a": "stored", "/b": "stored"},
        routes=PAGES,
        queue=("http://{host}/a", "http://%52ob-11-escaped%2Dname.%74est:{port}/b"),
    ),
    "ROB-11/wide-letters": Case(
        (R, "/a", "/b"),
        {"/a": "stored", "/b": "stored"},
        routes=PAGES,
        queue=("http://{host}/a", "http://ｒｏｂ-11-wide-letters。test:{port}/b"),
    ),
    "ROB-11/two-schemes-one-pause": Case(
        (R, "/a", "https:/robots.txt", "https:/b"), {"/a": "stored", "https:/b": "stored"}, routes=PAGES
    ),
    "ROB-29": paced("0", "stored; the pause is never shorter than ours"),
    "ROB-29/shorter": paced("0.05"),
    "ROB-29/longer": paced("0.3"),
    "ROB-30/both-kept": Case(
        ASKED,
        THREE,
        routes={R: text("User-agent: *", "Crawl-delay: 0.3", "", "User-agent: *", "Crawl-delay: 0.1"), **PAGES},
    ),
}
LONGER = {"ROB-29/longer", "ROB-30/both-kept"}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    settings = {
        "SEASPIDER_CONTACT": "https://example.test/bot.html",
        "SEASPIDER_CRAWL_DELAY_CAP": CAP_S,
    }
    return Crawled(CASES, tmp_path_factory.mktemp("robots"), settings=settings)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(PACED, tmp_path_factory.mktemp("paced"), settings={"SEASPIDER_INTERVAL": INTERVAL_S})


@pytest.mark.parametrize("id", CASES)
def test_robots(crawled: Crawled, id: str) -> None:
    check(crawled, id)


def test_all_is_accounted_for_and_no_special_address_was_asked(crawled: Crawled) -> None:
    assert crawled.ended.exit == 3, crawled.ended.log
    assert crawled.inside == 0
    lines = [row["line"] for file in ("pages", "skipped") for row in crawled.ended.records(file)]
    assert sorted(lines) == list(range(1, len(crawled.lines) + 1))


@pytest.mark.parametrize("id", PACED)
def test_robots_with_pauses(slow: Crawled, id: str) -> None:
    check(slow, id)
    pause_s = LONGER_S if id in LONGER else INTERVAL_S
    arrivals = slow.seen(id).arrivals
    assert judge.pairs_nearer(arrivals, judge.Key.HOST, int(pause_s * 1e9)) == []


# How long an origin stays unreachable: the retry period, a longer Retry-After, and never over a week.
LIVES_S = {
    "ROB-02": 3600,
    "ROB-02/longer": 7200,
    "ROB-02/for-ever": 604_800,
    "ROB-02/no-time": 3600,
    "ROB-02/negative": 3600,
    "ROB-02/503": 7200,
}


@pytest.mark.parametrize(("id", "life_s"), LIVES_S.items(), ids=LIVES_S.keys())
def test_retry_after_of_a_robots_txt(crawled: Crawled, id: str, life_s: int) -> None:
    seen = crawled.seen(id)
    [row] = seen.robots
    assert parse_rfc3339_ms(row["expires_at"]) - parse_rfc3339_ms(row["fetched_at"]) == life_s * 1000
    assert [page["not_before"] for page in seen.pages] == [row["expires_at"]]


def test_the_content_type_of_a_robots_txt_is_recorded(crawled: Crawled) -> None:
    [answer, _] = crawled.seen("ROB-16").requests
    assert ["Content-Type", "text/html"] in answer["headers"]


# --- ROB-20: parsers of many hosts ---


def files_held(folder: Path, hosts: int) -> int:
    """How many parsed files are held after so many hosts, each with a robots.txt of its own, were asked."""
    office = Office(folder)
    held: WeakSet[RobotsFile] = WeakSet()
    for number in range(hosts):
        file = office.desk.rules(office.known(b"User-agent: *\nDisallow: /%d\n" % number, f"h{number}.test"))
        held.add(file)
        assert not file.decide("seaspider", f"http://h{number}.test/{number}").allowed
    del file
    gc.collect()
    assert len(office.rows()) == hosts
    return len(held)


def test_parsed_files_are_held_of_some_hosts_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert robotsdesk.RULES_KEPT == 1000
    monkeypatch.setattr(robotsdesk, "RULES_KEPT", 20)
    assert files_held(tmp_path / "few", 20) == 20
    assert files_held(tmp_path / "many", 100) == 20
    # Twin: nothing is put away.
    monkeypatch.setattr(robotsdesk, "RULES_KEPT", 10**9)
    assert files_held(tmp_path / "all", 100) == 100


HOSTS = [f"h{number}" for number in range(6)]
MANY = {
    "ROB-20/crawl": Case(
        (*(f"{host}{R}" for host in HOSTS), *(f"{host}/a{host}" for host in HOSTS), *(f"{host}/b" for host in HOSTS)),
        {
            **{f"{host}/a{host}": "stored" for host in HOSTS},
            **{f"{host}/no{host}": "disallowed/robots-rule" for host in HOSTS},
            **{f"{host}/b": "stored" for host in HOSTS},
        },
        routes={
            **{f"{host}{R}": text("User-agent: *", f"Disallow: /no{host}") for host in HOSTS},
            **{f"{host}/{path}": PAGE for host in HOSTS for path in (f"a{host}", "b")},
        },
    )
}


def test_rules_that_were_put_away_decide_as_before(tmp_path: Path) -> None:
    crawled = Crawled(MANY, tmp_path, sabotage="import seaspider.robotsdesk as desk; desk.RULES_KEPT = 1")
    check(crawled, "ROB-20/crawl")
    assert crawled.ended.exit == 0, crawled.ended.log


HERE = "tests/web/test_robots.py"
WHERE: dict[str, str] = {
    **where(CASES, f"{HERE}::test_robots"),
    **where(PACED, f"{HERE}::test_robots_with_pauses"),
    "ROB-02": f"{HERE}::test_robots[ROB-02], {HERE}::test_retry_after_of_a_robots_txt: " + CASES["ROB-02"].outcome,
    "ROB-05": f"{HERE}::test_robots[ROB-05], {HERE}::test_robots[ROB-05/403-on-a-page]: " + CASES["ROB-05"].outcome,
    "ROB-07": f"{HERE}::test_robots[ROB-07], {HERE}::test_robots_with_pauses[ROB-07/pauses]: "
    + CASES["ROB-07"].outcome,
    "ROB-21": f"{HERE}::test_robots[ROB-21], "
    "tests/test_robots_cache.py::test_robots_txt_is_asked_for_when_it_is_over_and_never_before: "
    + CASES["ROB-21"].outcome,
    "ROB-20": f"{HERE}::test_parsed_files_are_held_of_some_hosts_only, "
    f"{HERE}::test_rules_that_were_put_away_decide_as_before: "
    "parsed files of 1000 hosts are held, those of others are read again from the store; no record is lost",
}
