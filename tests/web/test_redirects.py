"""Redirects as servers send them: the cases of the theme `redirects`, and others of their kinds, in one crawl.

Those about addresses are in tests/test_addresses_refused.py, the rules alone in tests/core/test_redirects.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.urls import MAX_URL_CHARS
from seaspider.loopback import Answer, Fault, Request
from tests.web.sites import Case, Crawled, check, text, to, where

R = "/robots.txt"
HTML = (("Content-Type", "text/html"),)
PAGE = Answer(200, HTML, "<p>a page")
GONE = Answer(404, (("Content-Type", "text/plain"),), "no")
LOOP = {"/a": "refused/redirect-loop"}
BAD = {"/a": "refused/bad-location", "/next": "stored"}
ATTEMPTS = 3


def hop(location: str, end: str, outcome: str = "", status: int = 302, **more: Any) -> Case:
    """/a redirects to the place `end`, which is a page. Another host is asked for its robots.txt first."""
    label, _, path = end.partition("/")
    before = (f"{label}{R}",) if label else ()
    url = f"http://{label}.{{host}}/{path}" if label else f"http://{{host}}/{path}"
    return Case(
        (R, "/a", *before, end),
        {"/a": "stored"},
        outcome,
        {"/a": to(location, status, **more), end: PAGE},
        pages={"/a": {"status": 200, "final_url": url, "chain": [{"status": status}, {"url": url, "status": 200}]}},
    )


def final(answer: Answer, outcome: str = "") -> Case:
    """The answer to /a is the end of it."""
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    record = {
        "status": answer.status,
        "sha256": sha256(body).hexdigest(),
        "chain": [{"status": answer.status}],
        "attempts": 1,
    }
    return Case((R, "/a"), {"/a": "stored"}, outcome, {"/a": answer, "/b": PAGE}, pages={"/a": record})


def bad(location: str, outcome: str = "", reason: str = "bad-location") -> Case:
    """A Location that leads nowhere ends its visit; the next URL goes on."""
    return Case(
        (R, "/a", "/next"),
        {"/a": f"refused/{reason}", "/next": "stored"},
        outcome,
        {"/a": to(location), "/next": PAGE},
        pages={"/a": {"status": 302, "attempts": 1, "chain": [{"status": 302}]}},
    )


def wall(request: Request) -> Answer:
    """Lets in only who brings the cookie."""
    if request.header("Cookie"):
        return PAGE
    return Answer(302, (("Location", request.target), ("Set-Cookie", "seen=1; Path=/")))


def secrets_kept(request: Request) -> Answer:
    """A page that says whether it was told what the hop before it said or was."""
    told = [name for name in ("Cookie", "Referer", "Authorization") if request.header(name)]
    return Answer(500 if told else 200, body="told")


def counting(request: Request) -> Answer:
    """/a, /a?1, /a?2 ... for ever, as servers do that put a session into the URL."""
    number = int(request.target.partition("?")[2] or 0)
    return to(f"/a?{number + 1}")


CHAINS = {
    "RED-01": Case(
        (R, "/b", "/a", "/b", "/c", "/b"),
        {"/b": "stored", "/a": "stored", "/c": "stored"},
        "each line has its record with its chain; the target is asked again for each",
        {"/a": to("/b"), "/b": PAGE, "/c": to("/b")},
        pages={
            "/a": {"final_url": "http://{host}/b", "chain": [{"status": 302}, {"status": 200}]},
            "/c": {"final_url": "http://{host}/b", "chain": [{"status": 302}, {"status": 200}]},
        },
    ),
    "RED-01/target-behind-it-in-the-queue": Case(
        (R, "/a", "/b", "/b"), {"/a": "stored", "/b": "stored"}, routes={"/a": to("/b"), "/b": PAGE}
    ),
    "RED-01/two-that-meet": Case(
        (R, "/a", "/x", "/z", "/b", "/x", "/z"),
        {"/a": "stored", "/b": "stored"},
        routes={"/a": to("/x"), "/b": to("/x"), "/x": to("/z"), "/z": PAGE},
    ),
    "RED-01/target-on-another-host": Case(
        ("b/robots.txt", R, "b/x", "/a", "b/x"),
        {"b/x": "stored", "/a": "stored"},
        routes={"/a": to("http://b.{host}/x"), "b/x": PAGE},
    ),
    "RED-02": Case(
        (R, "/a"),
        LOOP,
        "refused/redirect-loop with a chain of one: cookies are not kept",
        {"/a": wall},
        pages={"/a": {"status": 302, "chain": [{"status": 302, "location": "/a"}], "sha256": None}},
    ),
    "RED-02/by-way-of-another": Case(
        (R, "/a", "/set"),
        LOOP,
        routes={"/a": to("/set"), "/set": Answer(302, (("Location", "/a"), ("Set-Cookie", "a=1")))},
        pages={"/a": {"chain": [{"status": 302}, {"status": 302}]}},
    ),
    "RED-02/by-way-of-another-host": Case(
        (R, "/a", "b/robots.txt", "b/set"), LOOP, routes={"/a": to("http://b.{host}/set"), "b/set": to("http://{host}/a")}
    ),
    "RED-02/spelt-otherwise": Case((R, "/a"), LOOP, routes={"/a": to("HTTP://{host}/./%61#top")}),
    "RED-02/with-a-new-number": Case(
        (R, "/a", *(f"/a?{n}" for n in range(1, 11))),
        {"/a": "refused/redirect-limit"},
        routes={"/a": counting, "/*": counting},
        pages={"/a": {"attempts": 11, "chain": [{"status": 302}] * 11}},
    ),
    "RED-02/cookie-and-referrer-are-not-sent": Case(
        (R, "/a", "/b"),
        {"/a": "stored"},
        routes={"/a": Answer(302, (("Location", "/b"), ("Set-Cookie", "seen=1; Path=/"))), "/b": secrets_kept},
        pages={"/a": {"status": 200}},
    ),
    "RED-02/nor-to-another-host": Case(
        (R, "/a", "b/robots.txt", "b/b"),
        {"/a": "stored"},
        routes={
            "/a": Answer(302, (("Location", "http://b.{host}/b"), ("Set-Cookie", "seen=1; Domain=test"))),
            "b/b": secrets_kept,
        },
        pages={"/a": {"status": 200}},
    ),
    "RED-16": Case(
        (R, "/a", "/b"),
        {"/a": "stored"},
        "stored with status 404 and the whole chain",
        {"/a": to("/b", 301), "/b": GONE},
        pages={"/a": {"status": 404, "final_url": "http://{host}/b", "chain": [{"status": 301}, {"status": 404}]}},
    ),
    "RED-16/503": Case(
        (R, "/a", *["/b"] * ATTEMPTS),
        {"/a": "failed/http-5xx"},
        routes={"/a": to("/b", 301), "/b": Answer(503)},
        pages={"/a": {"status": 503, "attempts": 4, "chain": [{"status": 301}, {"status": 503}]}},
    ),
    "RED-16/403": Case(
        (R, "/a", "/b"),
        {"/a": "stored", "/c": "blocked/forbidden"},
        routes={"/a": to("/b", 301), "/b": Answer(403)},
        pages={"/a": {"status": 403, "chain": [{"status": 301}, {"status": 403}]}},
    ),
    "RED-16/no-such-name": Case(
        (R, "/a"),
        {"/a": "failed/dns"},
        routes={"/a": to("http://gone.{host}/b", 301)},
        names={"gone": []},
        pages={"/a": {"chain": [{"status": 301}, {"url": "http://gone.{host}/b", "status": None}]}},
    ),
    "RED-16/cut": Case(
        (R, "/a", *["/b"] * ATTEMPTS),
        {"/a": "failed/cut"},
        routes={"/a": to("/b", 301), "/b": Answer(fault=Fault.CLOSE)},
        pages={"/a": {"status": None, "chain": [{"status": 301}, {"status": None, "error": "cut"}]}},
    ),
    "RED-16/ends-without-location": Case(
        (R, "/a", "/b"),
        {"/a": "stored"},
        routes={"/a": to("/b", 301), "/b": Answer(302, body="moved")},
        pages={"/a": {"status": 302, "chain": [{"status": 301}, {"status": 302}]}},
    ),
}  # fmt: skip

LOCATIONS = {
    "RED-05": final(Answer(302, body="moved"), "stored with status 302, its body too"),
    **{f"RED-05/{status}": final(Answer(status, body="moved")) for status in (301, 303, 307, 308)},
    "RED-05/empty": bad("", reason="redirect-loop"),
    "RED-05/content-location": final(Answer(302, (("Content-Location", "/b"),), "moved")),
    "RED-05/refresh": final(Answer(302, (("Refresh", "0;url=/b"),), "moved")),
    "RED-06": Case(
        (R, "/a", "/caf%C3%A9", "/b", "/caf%E9"),
        {"/a": "stored", "/b": "stored"},
        "stored: /caf%C3%A9 and /caf%E9 are asked for, octet by octet",
        {"/a": to("/caf\xc3\xa9"), "/b": to("/caf\xe9"), "/caf%C3%A9": PAGE, "/caf%E9": PAGE},
        pages={"/b": {"chain": [{"location": "/caf%E9"}, {"url": "http://{host}/caf%E9"}]}},
    ),
    "RED-06/in-the-query": hop("/x?q=\xe9&r=\xc3\xa9", "/x?q=%E9&r=%C3%A9"),
    "RED-06/four-octets": hop("/\xf0\x9f\x90\xa0", "/%F0%9F%90%A0"),
    "RED-06/no-utf-8": hop("/\xff\xc3/\x80", "/%FF%C3/%80"),
    "RED-06/utf-8-name": hop("http://m\xc3\xbc.{host}/x", "xn--m-eha/x"),
    "RED-06/latin-1-name": bad("http://m\xfc.{host}/x"),
    "RED-06/relative": hop("caf\xe9/..\\\xe9", "/%E9"),
    "RED-08": hop("\\\\b.{host}\\b", "b/b", "stored: as browsers, to the other host; what is checked is asked for"),
    "RED-08/slash-backslash": hop("/\\b.{host}/b", "b/b"),
    "RED-08/three": hop("\\\\\\b.{host}/b", "b/b"),
    "RED-08/after-the-scheme": hop("http:\\\\b.{host}\\b", "b/b"),
    "RED-08/own-path": hop("\\x\\..\\b", "/b"),
    "RED-08/in-the-query": hop("/x?\\\\b", "/x?\\\\b"),
    "RED-08/before-an-at": hop("http://b.{host}\\@evil.test/b", "b/@evil.test/b"),
    "RED-08/forbidden-there": Case(
        (R, "/a", "b/robots.txt"),
        {"/a": "disallowed/robots-rule"},
        routes={"/a": to("\\\\b.{host}\\b"), "b/robots.txt": text("User-agent: *", "Disallow: /b")},
    ),
    "RED-08/special-address": Case(
        (R, "/a"),
        {"/a": "refused/special-address"},
        routes={"/a": to("\\\\127.0.0.1:{port}\\b")},
        pages={"/a": {"chain": [{"status": 302}, {"url": "http://127.0.0.1:{port}/b", "ip": "127.0.0.1"}]}},
    ),
    "RED-10": bad("http://{host}9999/", "refused/bad-location, the next URL goes on"),
    "RED-10/bracket": bad("http://[::1/"),
    "RED-10/port-word": bad("http://b.test:port/"),
    "RED-10/port-0": bad("http://b.test:0/"),
    "RED-10/blank-in-the-name": bad("http://b c.test/"),
    "RED-10/empty-label": bad("http://b..test/"),
    "RED-10/no-name": bad("https://"),
    "RED-10/too-long-for-a-url": bad("/" + "x" * MAX_URL_CHARS),
    "RED-10/numbers": bad("http://1.2.3.4.5/"),
    "RED-10/two-that-differ": Case(
        (R, "/a", "/next"), BAD, routes={"/a": Answer(302, (("Location", "/b"), ("Location", "/c"))), "/next": PAGE}
    ),
    "RED-10/twice-the-same": Case(
        (R, "/a", "/b"),
        {"/a": "stored"},
        routes={"/a": Answer(302, (("Location", "/b"), ("location", " /b"))), "/b": PAGE},
    ),
    "RED-10/ftp": bad("ftp://b.test/", reason="scheme"),
    "RED-10/file": bad("file:///b", reason="scheme"),
    "RED-10/data": bad("data:,b", reason="scheme"),
    "RED-10/javascript": bad("javascript:1", reason="scheme"),
    "RED-10/mailto": bad("mailto:b@b.test", reason="scheme"),
    "RED-10/word-and-colon": bad("b:c", reason="scheme"),
    "RED-10/userinfo": bad("http://user:secret@{host}/b", reason="userinfo"),
    "RED-10/empty-userinfo": bad("//@{host}/b", reason="userinfo"),
    "RED-10/two-slashes": bad("//"),
    "RED-10/nul": Case(
        (R, *["/a"] * ATTEMPTS, "/next"),
        {"/a": "failed/protocol", "/next": "stored"},
        routes={"/a": to("/b\0c"), "/next": PAGE},
    ),
    "RED-10/dots": bad(".././a", reason="redirect-loop"),
    "RED-10/scheme-only": bad("http:", reason="redirect-loop"),
    "RED-10/question-mark": hop("?", "/a?"),
    "RED-10/scheme-and-path": hop("http:b", "/b"),
    "RED-10/folded": hop("\r\n /b", "/b"),
    "RED-10/carriage-return-inside": hop("/b\rc", "/b%20c"),
    "RED-10/tab-inside": hop("/b\tc", "/bc"),
    "RED-10/line-separator": hop("/b\xe2\x80\xa8c", "/b%E2%80%A8c"),
    "RED-10/quotes": hop("\"/b\"", "/%22/b%22"),
    "RED-10/script-in-the-path": hop("/<script>", "/%3Cscript%3E"),
    "RED-12": final(to("/b", 300, body="choose"), "stored with that status; not followed"),
    **{f"RED-12/{status}": final(to("/b", status)) for status in (201, 202, 304, 305, 306, 309, 399, 400, 404, 410)},
    "RED-24": Case(
        (R, *["/a"] * ATTEMPTS),
        {"/a": "failed/protocol"},
        "failed/protocol after MAX_ATTEMPTS requests, each after its back-off",
        {"/a": to("/" + "x" * 20_000)},
        pages={"/a": {"status": None, "attempts": ATTEMPTS, "chain": [{"error": "protocol", "location": None}]}},
    ),
    "RED-24/as-long-as-a-url-may-be": hop("/" + "x" * 8_100, "/" + "x" * 8_100),
    "RED-24/longer-than-a-url-may-be": bad("/" + "x" * 16_000),
}  # fmt: skip

HUGE = ((b"x" * 65_536, 1_000),)
BODIES = {
    "RED-13": hop(
        "/b",
        "/b",
        "stored: the body of a hop is not read, so the hop is followed",
        body="mo",
        content_length=500,
        fault=Fault.CLOSE_AFTER_BODY,
    ),
    "RED-13/stalled": hop("/b", "/b", body="mo", content_length=500, fault=Fault.STALL_AFTER_BODY),
    "RED-13/chunks-without-end": hop("/b", "/b", body="mo", chunked=True, fault=Fault.NO_LAST_CHUNK),
    "RED-13/no-length": hop("/b", "/b", body="mo", content_length=None),
    "RED-13/no-location": Case(
        (R, *["/a"] * ATTEMPTS),
        {"/a": "failed/cut"},
        routes={"/a": Answer(302, body="mo", content_length=500, fault=Fault.CLOSE_AFTER_BODY)},
        pages={"/a": {"status": 302, "chain": [{"status": 302, "error": "cut"}]}},
    ),
    "RED-14": Case(
        (R, "/a", "/b"),
        {"/a": "stored"},
        "stored: the body of a hop is not decoded",
        {"/a": Answer(302, (("Location", "/b"), ("Content-Encoding", "gzip")), "plain"), "/b": PAGE},
    ),
    **{
        f"RED-14/{coding}": Case(
            (R, "/a", "/b"),
            {"/a": "stored"},
            routes={"/a": Answer(301, (("Location", "/b"), ("Content-Encoding", coding)), "plain"), "/b": PAGE},
        )
        for coding in ("br", "zstd", "deflate", "x-odd")
    },
    "RED-14/no-location": Case(
        (R, *["/a"] * ATTEMPTS),
        {"/a": "failed/decode"},
        routes={"/a": Answer(302, (("Content-Encoding", "gzip"),), "plain")},
        pages={"/a": {"status": 302, "chain": [{"status": 302, "error": "decode"}]}},
    ),
    "RED-27": hop("/b", "/b", "stored: the hop is followed, its body left at the server", parts=HUGE),
    "RED-27/over-the-limit": hop("/b", "/b", body="x", content_length=50_000_000, fault=Fault.STALL_AFTER_BODY),
    "RED-27/length-beyond-all-numbers": Case(
        (R, *["/a"] * ATTEMPTS),
        {"/a": "failed/protocol"},
        routes={"/a": to("/b", content_length=10**30, fault=Fault.CLOSE_AFTER_BODY)},
        pages={"/a": {"status": 302, "chain": [{"status": 302, "location": "/b", "error": "protocol"}]}},
    ),
    "RED-27/chunked": hop("/b", "/b", parts=HUGE, chunked=True),
    "RED-27/dripping": hop("/b", "/b", body="x" * 10_000, content_length=50_000_000, fault=Fault.STALL_AFTER_BODY),
}

CASES: dict[str, Case] = CHAINS | LOCATIONS | BODIES


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(CASES, tmp_path_factory.mktemp("redirects"), settings={"SEASPIDER_BACKOFF_BASE": 0.01})


@pytest.mark.parametrize("id", CASES)
def test_redirects(crawled: Crawled, id: str) -> None:
    check(crawled, id)


def test_no_special_address_was_asked(crawled: Crawled) -> None:
    assert crawled.ended.exit == 3, crawled.ended.log
    assert crawled.inside == 0


def test_the_same_body_is_stored_once(crawled: Crawled) -> None:
    """RED-01."""
    pages = crawled.seen("RED-01").pages
    assert {page["sha256"] for page in pages} == {sha256(b"<p>a page").hexdigest()}


def test_what_was_asked_is_what_the_chain_says(crawled: Crawled) -> None:
    """RED-08: the URL that was checked is the one that was asked for, whatever the Location looked like."""
    for id in (id for id in CASES if id.startswith("RED-08")):
        seen = crawled.seen(id)
        asked = [row["url"] for row in seen.requests if row["kind"] == "page"]
        said = [hop["url"] for page in seen.pages for hop in page["chain"] if hop["status"] is not None]
        assert asked == said


@pytest.mark.parametrize("id", [id for id in BODIES if id.startswith("RED-27") and "beyond" not in id])
def test_the_body_of_a_hop_is_not_read(crawled: Crawled, id: str) -> None:
    [first, _] = [row for row in crawled.seen(id).requests if row["kind"] == "page"]
    assert first["status"] == 302
    assert first["bytes"] < 500


# --- twins: a guard taken out, and the same cases go otherwise ---

HOPS_ARE_READ = "import seaspider.permits as permits; permits.is_redirect = lambda status, locations: False"
NOTHING_IS_SEEN = """
import seaspider.middlewares.hops as hops
real = hops.next_hop
hops.next_hop = lambda url, status, locations, seen, budget: real(url, status, locations, (), budget)
"""
READ = {
    "RED-13": "failed/cut",
    "RED-14": "failed/decode",
    "RED-14/br": "failed/decode",
    "RED-27": "failed/too-large",
    "RED-27/over-the-limit": "failed/too-large",
}


def ends_without(sabotage: str, ids: Iterable[str], folder: Path) -> dict[str, str]:
    """How /a of these cases ends with a guard taken out."""
    twin = Crawled({id: CASES[id] for id in ids}, folder, sabotage=sabotage, settings={"SEASPIDER_BACKOFF_BASE": 0.01})
    return {id: twin.seen(id).ends()["/a"] for id in twin.cases}


def test_twin_where_the_body_of_a_hop_is_read_the_hop_is_lost(tmp_path: Path) -> None:
    assert ends_without(HOPS_ARE_READ, READ, tmp_path) == READ


def test_twin_where_nothing_was_seen_a_loop_goes_on_to_the_limit(tmp_path: Path) -> None:
    loop = "RED-02/by-way-of-another"
    assert ends_without(NOTHING_IS_SEEN, [loop], tmp_path) == {loop: "refused/redirect-limit"}


# --- RED-26: links to what redirects into the forbidden ---

LINKING = {
    "/": Answer(200, HTML, "<a href=/a>1</a><a href=/a>2</a><a href=/z>3</a>"),
    "/z": Answer(200, HTML, "<a href=/a>4</a><a href=/./%61#x>5</a>"),
    "/a": to("/secret"),
    R: text("User-agent: *", "Disallow: /secret"),
}


def test_what_redirects_into_the_forbidden_is_asked_once(tmp_path: Path) -> None:
    case = Case((R, "/", "/a", "/z"), {"/": "stored"}, routes=LINKING)
    crawled = Crawled({"RED-26": case}, tmp_path, arguments={"follow": "host", "max_depth": 2})
    check(crawled, "RED-26")
    links = [(row["text"], row["followed"], row["reason"]) for row in crawled.ended.records("links")]
    again = (False, "duplicate")
    assert links == [("1", True, None), ("2", *again), ("3", True, None), ("4", *again), ("5", *again)]
    assert {url.rpartition("/")[2]: ending for url, ending in crawled.ended.endings().items()} == {
        "": "stored",
        "z": "stored",
        "a": "disallowed/robots-rule",
    }


HERE = "tests/web/test_redirects.py"
ADDRESSES = "tests/test_addresses_refused.py"
WHERE: dict[str, str] = {
    **where(CASES, f"{HERE}::test_redirects"),
    "RED-17": f"{ADDRESSES}::test_p4_a_redirect_to_it_is_refused: "
    "refused/special-address, nothing is sent: the address decides, not its spelling",
    "RED-19": f"{ADDRESSES}::test_every_url_of_such_a_host_is_refused[mapped-hex]: "
    "refused/special-address, nothing is sent",
    "RED-20": f"{ADDRESSES}::test_a_name_whose_second_answer_is_special_is_refused, "
    f"{ADDRESSES}::test_p4_no_redirect_and_no_rebinding_connects: "
    "refused/special-address: the connection goes to the address that was checked and recorded",
    "RED-21": "tests/test_follow.py::test_from_a_page_on_another_host_nothing_is_followed, "
    "tests/test_follow.py::test_what_is_not_followed_is_not_asked_for: "
    "stored with its chain; links of the other host's page are other-host",
    "RED-26": f"{HERE}::test_what_redirects_into_the_forbidden_is_asked_once: "
    "disallowed/robots-rule after one request; other links to it are duplicate",
}
