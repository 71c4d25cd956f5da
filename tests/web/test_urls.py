"""URLs as queues and links spell them: the cases of the theme `url`, and others of their kinds, in one crawl.

Shown is what is asked for and recorded. Every rule alone is in tests/core/test_urls.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seaspider.core.urls import MAX_URL_CHARS
from seaspider.loopback import Answer, judge
from tests.crawling import crawl
from tests.rawserver import RawServer, close_after
from tests.web.sites import Case, Crawled, check, host_of, text, where

R = "/robots.txt"
PAGE = Answer(200, (("Content-Type", "text/html"),), "<p>a page")
ANY = {"/*": PAGE}
SPECIAL = "refused/special-address"


def asked(*paths: str, outcome: str = "", queue: tuple[str, ...] = (), skipped: tuple[str, ...] = ()) -> Case:
    """Exactly these places of the case's own host are asked for and stored."""
    return Case((R, *paths), dict.fromkeys(paths, "stored"), outcome, ANY, queue, skipped)


def one(path: str, *lines: str, outcome: str = "") -> Case:
    """All lines are the one URL of that path."""
    return asked(path, outcome=outcome, queue=lines, skipped=("duplicate",) * (len(lines) - 1))


def rejected(reason: str, *lines: str, outcome: str = "") -> Case:
    """None of the lines is a URL; the one behind them goes on."""
    return asked("/next", outcome=outcome, queue=(*lines, "/next"), skipped=(f"rejected/{reason}",) * len(lines))


def other_name(spelt: str, name: str, outcome: str = "", *more: str) -> Case:
    """A host whose label is `spelt` is the host `name`, whatever other names there are: `more` are there, too."""
    return Case(
        (f"{name}{R}", f"{name}/a"),
        {f"{name}/a": "stored"},
        outcome,
        {f"{name}/a": PAGE, **{f"{label}/a": PAGE for label in more}},
        (f"http://{spelt}.{{host}}/a",),
        pages={f"{name}/a": {"url": f"http://{name}.{{host}}/a", "final_url": f"http://{name}.{{host}}/a"}},
    )


def inside(url: str, *lines: str, outcome: str = "", skipped: tuple[str, ...] = (), **more: Any) -> Case:
    """All lines are one URL, of an address that is not asked."""
    fates = skipped or ("duplicate",) * (len(lines) - 1)
    return Case((), {url: SPECIAL}, outcome, queue=lines, skipped=fates, **more)


SPELLINGS = {
    "URL-01": one("/a", "http://{host}/a", f"http://{host_of('URL-01')}:0{{port}}/a", outcome="one URL, one request"),
    "URL-01/80": inside(
        "http://in.url-01-80.test/a",
        *(f"http://in.url-01-80.test{port}/a" for port in ("", ":80", ":080", ":")),
        names={"in": "127.0.0.1"},
    ),
    "URL-01/443": inside(
        "https://in.url-01-443.test/a",
        *(f"https://in.url-01-443.test{port}/a" for port in ("", ":443", ":00443", ":")),
        names={"in": "127.0.0.1"},
    ),
    "URL-01/port-of-the-other-scheme": inside(
        "http://127.0.0.1:443/a", "http://127.0.0.1:443/a", "http://127.0.0.1:0443/a"
    ),
    "URL-01/case": one("/a", "http://{host}/a", "HTTP://URL-01-Case.TEST:{port}/a"),
    "URL-02": Case(
        (f"xn--mnchen-3ya{R}", "xn--mnchen-3ya/a"),
        {"xn--mnchen-3ya/a": "stored"},
        "one URL, one robots.txt, one request",
        {"xn--mnchen-3ya/a": PAGE},
        ("http://münchen.{host}/a", "http://xn--mnchen-3ya.{host}/a", "http://XN--MNCHEN-3YA.{host}/a"),
        ("duplicate", "duplicate"),
    ),
    "URL-02/two-code-points": other_name("mu\u0308nchen", "xn--mnchen-3ya"),
    "URL-02/upper-case": other_name("MÜNCHEN", "xn--mnchen-3ya"),
    "URL-02/escaped": other_name("m%C3%BCnchen", "xn--mnchen-3ya"),
    "URL-02/ideographic-full-stop": other_name("b。c", "b.c"),
    "URL-02/snowman": other_name("☃", "xn--n3h"),
    "URL-02/soft-hyphen": other_name("b\u00adc", "bc"),
    "URL-03": other_name("faß", "xn--fa-hia", "xn--fa-hia, never fass", "fass"),
    "URL-03/capital": other_name("FA\u1e9e", "xn--fa-hia", "", "fass"),
    "URL-03/escaped": other_name("fa%C3%9F", "xn--fa-hia", "", "fass"),
    "URL-03/final-sigma": other_name("βόλος", "xn--nxasmm1c", "", "xn--nxasmq6b"),
    "URL-03/double-s-is-itself": other_name("fass", "fass", "", "xn--fa-hia"),
    "URL-04": one("/a", "http://{host}/a", "http://%75rl-%304.test:{port}/a", outcome="decoded once"),
    "URL-04/twice": rejected("host", "http://%2575rl.{host}/a"),
    "URL-04/slash": rejected("host", "http://x%2f.{host}/a"),
    "URL-04/nul": rejected("host", "http://x%00.{host}/a"),
    "URL-04/at": rejected("host", "http://user%40{host}/a"),
    "URL-04/stray-percent": rejected("host", "http://100%.{host}/a"),
    "URL-04/port": rejected("port", "http://url-04-port.test:%38%30/a"),
    "URL-05": one("/a", "http://{host}/a", "http://url-05.test.:{port}/a", outcome="one URL: the root dot is dropped"),
    "URL-05/two-dots": rejected("host", "http://url-05.test..:{port}/a"),
    "URL-05/address": inside("http://127.0.0.1:{port}/a", "http://127.0.0.1:{port}/a", "http://127.0.0.1.:{port}/a"),
    "URL-08": asked("/a%23b", "/a%2Fb", "/a/b", outcome="three URLs, asked for as written"),
    "URL-08/query": asked("/?a%26b", "/?a&b", "/?a%3Db", "/?a=b"),
    "URL-08/twice": asked("/%2541", "/A", queue=("/%2541", "/%41")),
    "URL-08/case-of-escapes": one("/caf%C3%A9", "/caf%c3%a9", "/caf%C3%A9", "/café"),
    "URL-08/stray-percent": asked("/100%", "/100%25", "/%zz"),
    "URL-08/plus-and-space": asked("/a+b", "/a%20b", "/a%2Bb"),
    "URL-08/semicolon": asked("/a;b", "/a%3Bb"),
    "URL-08/query-order": asked("/?b&a", "/?a&b", "/?", "/"),
    "URL-08/fragment": one("/a", "http://{host}/a#x", "http://{host}/a#y", "http://{host}/a#", "http://{host}/a"),
    "URL-08/empty-path": one("/", "http://{host}", "http://{host}/", "http://{host}/.", "http://{host}#x"),
    "URL-10": one("/ab", "  http://{host}/a\tb  ", outcome="/ab: blanks around and tabs inside are dropped"),
    "URL-10/controls-around": one("/ab", "\x01\x1f http://{host}/ab\x0c\x0b"),
    "URL-10/tab-in-the-scheme": one("/ab", "ht\ttp://{host}/ab"),
    "URL-10/tab-in-the-name": one("/ab", "http://url-10-tab-in\t-the-name.test:{port}/ab"),
    "URL-10/space-inside": one("/a%20b", "http://{host}/a b"),
    "URL-10/no-break-space-around": rejected("missing-scheme", "\u00a0http://{host}/a"),
    "URL-10/zero-width-space-before": rejected("missing-scheme", "\u200bhttp://{host}/a"),
    "URL-12": rejected(
        "syntax",
        "=http:/{host}/a",
        "http:///a",
        "http://",
        "https:",
        outcome="rejected/syntax with its line number; the next line goes on",
    ),
    "URL-12/one-slash-of-another-kind": rejected("syntax", "http:\\\\{host}\\a", "=http:/\\{host}/a", "http:{host}/a"),
    "URL-12/four": rejected("syntax", "http:////{host}/a"),
    "URL-12/no-name": rejected("host", "http://?a", "http://#a", "http://:{port}/a"),
    "URL-13": Case(
        (R, "/1", "/2"),
        {"/1": "stored", "/2": "stored"},
        "rejected/host and rejected/port; /2 is stored",
        ANY,
        ("http://{host}/1", "http://[bad/", "http://url-13.test:99999/", "http://{host}/2"),
        ("rejected/host", "rejected/port"),
    ),
    "URL-13/port": rejected(
        "port", *(f"http://url.test:{port}/" for port in ("65536", "0", "http", "-1", "８0", "80:80", "1e3", "+80"))
    ),
    "URL-13/bracket": rejected("host", "http://[::1/", "http://[]/", "http://[1.2.3.4]/", "http://[::g]/"),
    "URL-13/zone": rejected("host", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/"),
    "URL-13/bracket-behind": rejected("host", "http://h[::1]/", "http://h]/"),
    "URL-13/no-bracket": rejected("port", "http://::1/", "http://::1]/"),
    "URL-13/numbers": rejected("host", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://0x100000000/"),
    "URL-13/name": rejected("host", "http://a..test/", "http://*.test/", f"http://{'a' * 64}.test/", "http://xn--a.test/"),
    "URL-14": rejected(
        "missing-scheme",
        "=url-14.test/a",
        "=url-14.test/a?u=http://x.test/",
        "=//url-14.test/a",
        outcome="rejected/missing-scheme; the next line goes on",
    ),
    "URL-14/port-looks-like-a-path": rejected("scheme", "url-14.test:80/a", "localhost:80"),
    "URL-14/other-schemes": rejected("scheme", "ftp://{host}/", "file:///a", "mailto:a@b.test", "data:,a", "ws://b.test/"),
    "URL-14/quoted": rejected("missing-scheme", '"http://{host}/a"', "<http://{host}/a>", "'http://{host}/a'"),
    "URL-15": asked(
        "/1", f"/{'a' * 3000}", "/2", outcome="stored; over 8192 characters: rejected/too-long, the rest goes on"
    ),
    "URL-15/in-the-query": asked(f"/?{'a' * 7000}"),
    "URL-15/longest": Case(
        (),
        {"http://127.0.0.1/" + "a" * (MAX_URL_CHARS - 17): SPECIAL},
        queue=[f"http://127.0.0.1/{'a' * (MAX_URL_CHARS - 17 + more)}" for more in (0, 1)],
        skipped=["rejected/too-long"],
    ),
    "URL-15/too-long": rejected(
        "too-long", *(f"http://{{host}}/{tail}" for tail in ("a" * 9000, "é" * 3000, "?" + "a" * 65_000))
    ),
    "URL-15/long-fragment": one("/a", f"http://{{host}}/a#{'a' * 9000}"),
    "URL-17": rejected(
        "userinfo", "http://good.test@127.0.0.1:{port}/a", outcome="rejected/userinfo, nothing is sent"
    ),
    "URL-17/of-many-kinds": rejected(
        "userinfo", "http://user@{host}/", "http://u:p@{host}/", "http://@{host}/", "http://:@{host}/",
        "http://good.test:80@127.0.0.1:{port}/", "http://a@b@{host}/", "http://good.test\t@127.0.0.1:{port}/",
    ),
    "URL-17/behind-a-slash": asked("/@127.0.0.1/", "/?@b", queue=("http://{host}\\@127.0.0.1/", "/?@b")),
    "URL-18": asked("//a", "/a", outcome="two URLs, each sent as written"),
    "URL-18/everywhere": asked("/a//b", "/a/b", "/a/b/", "/a/b//", "///"),
    "URL-18/rules": Case(
        (R, "//a"),
        {"//a": "stored", "/a": "disallowed/robots-rule"},
        routes={**ANY, R: text("User-agent: *", "Disallow: /a")},
    ),
    "URL-18/rules-for-the-double": Case(
        (R, "/a"),
        {"//a": "disallowed/robots-rule", "/a": "stored"},
        routes={**ANY, R: text("User-agent: *", "Disallow: //a")},
    ),
    "URL-18/after-dots": asked("//b", queue=("/a/..//b",)),
    "URL-20": inside(
        "http://[::1]:{port}/a", "http://[::1]:{port}/a", "http://[0:0:0:0:0:0:0:1]:{port}/a",
        outcome=f"one URL, {SPECIAL}; where allowed, asked for with its brackets",
    ),
    "URL-20/capitals": inside(
        "http://[fd00::ab]:{port}/a", "http://[FD00:0::00AB]:{port}/a", "http://[fd00:0:0:0:0:0:0:ab]:{port}/a"
    ),
    "URL-20/mapped": inside(
        "http://[::ffff:7f00:1]:{port}/a", "http://[::ffff:127.0.0.1]:{port}/a", "http://[::FFFF:7F00:1]:{port}/a"
    ),
    "URL-24": asked(
        "/%C3%A9", "/e%CC%81", queue=("/\u00e9", "/e\u0301"), outcome="two URLs: paths are not normalised"
    ),
    "URL-24/wide-letters": asked("/%EF%BD%81", "/a", queue=("/\uff41", "/a")),
    "URL-24/ligature": asked("/%EF%AC%81", "/fi", queue=("/\ufb01", "/fi")),
    "URL-24/query": asked("/?%C3%A9", "/?e%CC%81", queue=("/?\u00e9", "/?e\u0301")),
    "URL-24/case": asked("/%C3%89", "/%C3%A9", queue=("/\u00c9", "/\u00e9")),
}  # fmt: skip

CASES: dict[str, Case] = SPELLINGS


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(CASES, tmp_path_factory.mktemp("urls"))


@pytest.mark.parametrize("id", CASES)
def test_urls(crawled: Crawled, id: str) -> None:
    check(crawled, id)


def test_nothing_else_happened(crawled: Crawled) -> None:
    assert crawled.ended.exit == 0, crawled.ended.log
    assert crawled.inside == 0
    lines = [row["line"] for file in ("pages", "skipped") for row in crawled.ended.records(file)]
    assert sorted(lines) == list(range(1, len(crawled.lines) + 1))
    hosts = {arrival.name for arrival in crawled.arrivals}
    assert hosts <= crawled.names.keys()
    assert judge.pages_before_robots(crawled.arrivals) == []


def test_a_rejected_line_is_recorded_with_its_number_and_text(crawled: Crawled) -> None:
    """URL-13."""
    numbers = [number for number, (id, _) in enumerate(crawled.lines, 1) if id == "URL-13"]
    rows = [row for row in crawled.ended.records("skipped") if row["line"] in numbers]
    assert [(row["line"] - numbers[0], row["text"]) for row in rows] == [
        (1, "http://[bad/"),
        (2, "http://url-13.test:99999/"),
    ]


def test_an_ipv6_literal_keeps_its_brackets_where_it_is_asked(tmp_path: Path) -> None:
    """URL-20."""
    no_rules = close_after(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    page = close_after(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    with RawServer(no_rules, page, host="::1") as server:
        queue = [f"http://[{address}]:{server.port}/a" for address in ("0:0:0:0:0:0:0:1", "::1", "0::1")]
        ended = crawl(queue, tmp_path, settings={"SEASPIDER_ALLOWED_NETWORKS": "::1/128"})
        asked = [request.split(b"\r\n") for request in server.requests]
        authority = f"[::1]:{server.port}"
    assert ended.endings() == {f"http://{authority}/a": "stored"}
    assert [row["fate"] for row in ended.records("skipped")] == ["duplicate", "duplicate"]
    assert [lines[0] for lines in asked] == [b"GET /robots.txt HTTP/1.1", b"GET /a HTTP/1.1"]
    assert [line for lines in asked for line in lines if line.startswith(b"Host:")] == [
        f"Host: {authority}".encode()
    ] * 2
    assert [hop["ip"] for page in ended.records("pages") for hop in page["chain"]] == ["::1"]


HERE = "tests/web/test_urls.py"
WHERE: dict[str, str] = where(CASES, f"{HERE}::test_urls") | {
    "URL-20": f"{HERE}::test_urls[URL-20], {HERE}::test_an_ipv6_literal_keeps_its_brackets_where_it_is_asked: "
    + CASES["URL-20"].outcome,
}
