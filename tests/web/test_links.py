"""Links as pages have them: the cases of the theme `links`, and others of their kinds, in one crawl that follows them.

Each case is a page at /dir/p of a host of its own. What is found in a page is also tested, without a crawl, in
tests/test_html.py and tests/core/test_links.py; what is followed in tests/test_follow.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from seaspider.loopback import Answer, LoopbackWeb
from tests.accounts import check_accounts
from tests.crawling import Ended, crawl
from tests.web.sites import host_of

PAGE = "/dir/p"
HTML = ("Content-Type", "text/html")


@dataclass(frozen=True, slots=True)
class Links:
    """A page, `{host}` in it being its host with the port, and its links in order: a target that is followed, or the
    URL in the record and why it is not (`/x nofollow`)."""

    body: str | bytes
    links: Sequence[str]
    outcome: str = ""
    headers: Sequence[tuple[str, str]] = ()
    nofollow: bool = False
    flags: Sequence[str] = ()


def far(markup: str, octets: int) -> str:
    return f"<!--{'x' * octets}-->{markup}"


def nofollow(markup: str, outcome: str = "") -> Links:
    return Links(f"{markup}<a href=x>", ["/dir/x nofollow"], outcome, nofollow=True)


def follow(markup: str) -> Links:
    return Links(f"{markup}<a href=x>", ["/dir/x"])


def tagged(*values: str, outcome: str = "", nofollow: bool = False, name: str = "X-Robots-Tag") -> Links:
    links = ["/dir/x nofollow" if nofollow else "/dir/x"]
    return Links("<a href=x>", links, outcome, [(name, value) for value in values], nofollow)


CASES: dict[str, Links] = {
    # --- a base that is none ---
    "LNK-01": Links("<base href='http://[bad/'><a href=x>", ["/dir/x"], "followed, resolved against the page"),
    "LNK-01/port": Links("<base href='http://{host}9999/'><a href=x>", ["/dir/x"]),
    "LNK-01/host-missing": Links("<base href='http://'><a href=x>", ["/dir/x"]),
    "LNK-01/bad-host": Links("<base href='http://a b/'><a href=x>", ["/dir/x"]),
    "LNK-01/bad-escape": Links("<base href='http://%zz/'><a href=x>", ["/dir/x"]),
    "LNK-01/surrogate": Links("<base href='/&#xD800;/'><a href=x>", ["/%EF%BF%BD/x"]),
    "LNK-01/bad-then-good": Links("<base href='http://[bad/'><base href='/b/'><a href=x>", ["/dir/x"]),
    "LNK-01/empty": Links("<base href=''><a href=x>", ["/dir/x"]),
    "LNK-01/no-value": Links("<base href><a href=x>", ["/dir/x"]),
    "LNK-01/no-http": Links("<base href='ftp://{host}/'><a href=x><a href=/y>", ["x scheme", "/y scheme"]),
    "LNK-01/userinfo": Links(
        "<base href='http://me:secret@{host}/'><a href=x><a href=http://{host}/y>", ["x scheme", "/y"]
    ),
    # --- a base far from the start ---
    "LNK-02": Links(far("<base href='/far/'><a href=x>", 5000), ["/far/x"], "/far/x is followed"),
    "LNK-02/200000": Links(far("<base href='/far/'><a href=x>", 200_000), ["/far/x"]),
    "LNK-02/style": Links(f"<style>{'x' * 70_000}</style><base href='/far/'><a href=x>", ["/far/x"]),
    "LNK-02/attributes": Links(f"<html {'x=y ' * 9000}><base href='/far/'><a href=x>", ["/far/x"]),
    "LNK-02/behind-the-link": Links(f"<a href=x>{far('<base href=/far/>', 90_000)}", ["/far/x"]),
    "LNK-02/in-the-body": Links("<body><p><div><base href='/far/'></div><a href=x>", ["/far/x"]),
    "LNK-02/charset-far": Links(
        b"<!--" + b"x" * 900 + b"--><meta charset=windows-1251><a href='?\xef'>", ["/dir/p?%EF"]
    ),
    # --- which base ---
    "LNK-03": Links(
        "<base target=_blank><base href='/b/'><a href=x>", ["/b/x"], "/b/x: the first base with an href counts"
    ),
    "LNK-03/two": Links("<base href='/b/'><base href='/c/'><a href=x>", ["/b/x"]),
    "LNK-03/relative": Links("<base href='b/'><a href=x>", ["/dir/b/x"]),
    "LNK-03/relative-up": Links("<base href='../../../b/c'><a href=x>", ["/b/x"]),
    "LNK-03/after-the-link": Links("<a href=x><base href='/b/'>", ["/b/x"]),
    "LNK-03/javascript": Links("<base href='javascript:1'><base href='/b/'><a href=x>", ["/dir/x"]),
    "LNK-03/data": Links("<base href='data:,x'><a href=x>", ["/dir/x"]),
    "LNK-03/comment": Links("<!--<base href='/b/'>--><a href=x>", ["/dir/x"]),
    "LNK-03/script": Links("<script>'<base href=/b/>'</script><a href=x>", ["/dir/x"]),
    "LNK-03/template": Links("<template><base href='/b/'></template><a href=x>", ["/dir/x"]),
    "LNK-03/noscript": Links("<noscript><base href='/b/'></noscript><a href=x>", ["/b/x"]),
    "LNK-03/scheme-relative": Links("<base href='//{host}/b/'><a href=x>", ["/b/x"]),
    "LNK-03/other-host": Links(
        "<base href='//other.test/b/'><a href=x><a href=/y><a href='//{host}/z'>",
        ["http://other.test/b/x other-host", "http://other.test/y other-host", "/z"],
    ),
    "LNK-03/query": Links("<base href='/b/c?q#f'><a href=x><a href='?y'><a href=''>", ["/b/x", "/b/c?y", "/b/c?q"]),
    "LNK-03/spelling": Links("<BASE HREF=' /b\n/ '><a href=x>", ["/b/x"]),
    "LNK-03/backslashes": Links("<base href='\\b\\'><a href=x>", ["/b/x"]),
    # --- links that lead nowhere among good ones ---
    "LNK-04": Links(
        "<a href='http://[URL=x'><a href='http://h:99999/'><a href=good>",
        ["http://[URL=x scheme", "http://h:99999/ scheme", "/dir/good"],
        "good is followed; the others are recorded as written, reason scheme",
    ),
    "LNK-04/no-host": Links(
        "<a href='http://'><a href='https:///'><a href=good>", ["http:// scheme", "https:/// scheme", "/dir/good"]
    ),
    "LNK-04/bad-host": Links(
        "<a href='http://a b/'><a href='http://a_%/'><a href=good>",
        ["http://a b/ scheme", "http://a_%/ scheme", "/dir/good"],
    ),
    "LNK-04/bad-address": Links("<a href='http://1.2.3.999/'><a href=good>", ["http://1.2.3.999/ scheme", "/dir/good"]),
    "LNK-04/userinfo": Links(
        "<a href='http://me:secret@{host}/x'><a href='//me@{host}/'><a href=good>",
        ["http://***@{host}/x scheme", "//***@{host}/ scheme", "/dir/good"],
    ),
    "LNK-04/too-long": Links(f"<a href='/{'x' * 9000}'><a href=good>", [f"/{'x' * 1999} scheme", "/dir/good"]),
    "LNK-04/no-href": Links("<a><a name=x><a href><a href=good>", ["/dir/p duplicate", "/dir/good"]),
    "LNK-04/unclosed-quote": Links("<a href=good><a href='bad>text</a><a href=lost>", ["/dir/good"]),
    "LNK-04/glued-attributes": Links("<a href='one'href='two'class=x><a href=good/>", ["/dir/one", "/dir/good/"]),
    "LNK-04/slash-for-blank": Links("<a/href=one/><a\thref\n=\n'two'>", ["/dir/one/", "/dir/two"]),
    "LNK-04/case": Links("<A HREF=one><aReA hReF=two>", ["/dir/one", "/dir/two"]),
    "LNK-04/angle-brackets": Links(
        "<a href='<one>'><a href=a>b><a href=good>", ["/dir/%3Cone%3E", "/dir/a", "/dir/good"]
    ),
    "LNK-04/controls": Links("<a href='a\x01b\x7fc'><a href='a\u2028b'>", ["/dir/a%01b%7Fc", "/dir/a%E2%80%A8b"]),
    "LNK-04/in-tables": Links(
        "<table><a href=one><tr><a href=two><td><a href=three></table>", ["/dir/one", "/dir/two", "/dir/three"]
    ),
    # --- robots meta ---
    "LNK-06": nofollow(
        "<META NAME=ROBOTS CONTENT='NONE'>", "stored, nofollow in the page record; links recorded, none followed"
    ),
    "LNK-06/NoFollow": nofollow("<meta name=robots content=NoFollow>"),
    "LNK-06/list": nofollow("<meta name='robots' content='noindex ,NOFOLLOW, max-snippet:5'>"),
    "LNK-06/our-name": nofollow("<meta name=Seaspider content=nofollow>"),
    "LNK-06/two-metas": nofollow("<meta name=robots content=noindex><meta name=robots content=nofollow>"),
    "LNK-06/content-first": nofollow("<meta content=nofollow name=robots>"),
    "LNK-06/in-the-body": nofollow("<body><p><meta name=robots content=nofollow>"),
    "LNK-06/far": nofollow(far("<meta name=robots content=nofollow>", 90_000)),
    "LNK-06/behind-the-link": Links(
        "<a href=x><meta name=robots content=nofollow>", ["/dir/x nofollow"], nofollow=True
    ),
    "LNK-06/blank-around": nofollow("<meta name=' robots ' content=nofollow>"),
    "LNK-06/value": follow("<meta name=robots value=nofollow>"),
    "LNK-06/other-agent": follow("<meta name=otherbot content=nofollow>"),
    "LNK-06/noindex": follow("<meta name=robots content='noindex, follow'>"),
    "LNK-06/template": follow("<template><meta name=robots content=nofollow></template>"),
    "LNK-06/comment": follow("<!-- <meta name=robots content=nofollow> -->"),
    "LNK-06/http-equiv": follow("<meta http-equiv=robots content=nofollow>"),
    "LNK-06/one-link": Links("<a href=x rel='noopener NoFollow'><a href=y rel=ugc>", ["/dir/x nofollow", "/dir/y"]),
    # --- X-Robots-Tag ---
    "LNK-07": tagged(
        "otherbot: nofollow", "seaspider: nofollow", outcome="only what is ours or everybody's counts", nofollow=True
    ),
    "LNK-07/other": tagged("otherbot: nofollow"),
    "LNK-07/everybody": tagged("nofollow", nofollow=True),
    "LNK-07/none": tagged("NONE", nofollow=True),
    "LNK-07/list": tagged("noindex,nofollow", nofollow=True),
    "LNK-07/second-line": tagged("noindex", "nofollow", nofollow=True),
    "LNK-07/our-case": tagged("SeaSpider:NoFollow", nofollow=True),
    "LNK-07/name-case": tagged("nofollow", nofollow=True, name="x-ROBOTS-tag"),
    "LNK-07/noindex": tagged("noindex, noarchive"),
    "LNK-07/longer-name": tagged("seaspider-news: nofollow"),
    "LNK-07/a-date-before": tagged("unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", nofollow=True),
    "LNK-07/empty": tagged(""),
    # --- schemes ---
    "LNK-10": Links(
        "<a href=' JavaScript:x'><a href='java\nscript:x'><a href=good>",
        [" JavaScript:x scheme", "java\nscript:x scheme", "/dir/good"],
        "only good is followed; the others are recorded, reason scheme",
    ),
    "LNK-10/kinds": Links(
        "<a href=mailto:a@b><a href=tel:1><a href=blob:http://{host}/x><a href=data:,x><a href=about:blank>"
        "<a href=file:///etc/passwd><a href=ftp://{host}/><a href=ws://{host}/><a href=view-source:http://{host}/>",
        [
            "mailto:a@b scheme",
            "tel:1 scheme",
            "blob:http://{host}/x scheme",
            "data:,x scheme",
            "about:blank scheme",
            "file:///etc/passwd scheme",
            "ftp://{host}/ scheme",
            "ws://{host}/ scheme",
            "view-source:http://{host}/ scheme",
        ],
    ),
    "LNK-10/references": Links(
        "<a href='&#106;ava&#x73;cript&colon;x'><a href='java&Tab;script:x'>",
        ["javascript:x scheme", "java\tscript:x scheme"],
    ),
    "LNK-10/control-first": Links(
        "<a href='&#1;javascript:x'><a href='\x0bjavascript:x'>", ["\x01javascript:x scheme", "\x0bjavascript:x scheme"]
    ),
    "LNK-10/looks-like-one": Links("<a href='./javascript:x'><a href='/mailto:y'>", ["/dir/javascript:x", "/mailto:y"]),
    "LNK-10/same-scheme": Links("<a href='http:x'><a href='http:/y'>", ["/dir/x", "/y"]),
    "LNK-10/no-links": Links("<link href=l rel=next><img src=i><form action=f><iframe src=r></iframe><q cite=q>", []),
    # --- depth and size ---
    "LNK-11": Links("<div>" * 10_000 + "<a href=deep>", ["/dir/deep"], "followed, whatever it is nested in"),
    "LNK-11/100000": Links("<div>" * 100_000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/closed": Links("<div>" * 5000 + "</div>" * 5000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/formatting": Links("<b><i>" * 5000 + "<p><a href=deep>", ["/dir/deep"]),
    "LNK-11/tables": Links("<table><tr><td>" * 3000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/lists": Links("<ul><li>" * 5000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/templates": Links("<template>" * 3000 + "</template>" * 3000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/svg": Links("<svg><g>" * 3000 + "<a href=deep>", ["/dir/deep"]),
    "LNK-11/links-in-links": Links("<a href=x>" * 2000, ["/dir/x", *["/dir/x duplicate"] * 1999]),
    "LNK-11/huge": Links("<p>some words in a paragraph</p>\n" * 150_000 + "<a href=last>", ["/dir/last"]),
    "LNK-11/one-tag": Links(f"<p title='{'x' * 3_000_000}'><a href=last>", ["/dir/last"]),
    "LNK-11/one-text": Links("x" * 3_000_000 + "<a href=last>", ["/dir/last"]),
    "LNK-11/given-up": Links(
        "<i>" * 300_000 + "<a href=first>" + "</b>" * 300_000 + "<a href=last>", ["/dir/first"], flags=["parse-limited"]
    ),
    # --- character references ---
    "LNK-13": Links("<a href='?x=1&amp;p=2'>", ["/dir/p?x=1&p=2"], "?x=1&p=2, asked for once"),
    "LNK-13/once": Links("<a href='?x=1&amp;amp;p=2'>", ["/dir/p?x=1&amp;p=2"]),
    "LNK-13/bare": Links("<a href='?x=1&p=2'>", ["/dir/p?x=1&p=2"]),
    "LNK-13/numbers": Links("<a href='?a&#38;b&#x26;c&#38d'>", ["/dir/p?a&b&c&d"]),
    "LNK-13/looks-like-one": Links("<a href='?a&copy=1&reg=2&lt=3&notit=4'>", ["/dir/p?a&copy=1&reg=2&lt=3&notit=4"]),
    "LNK-13/no-semicolon": Links("<a href='?a&amp&b'>", ["/dir/p?a&&b"]),
    "LNK-13/upper-case": Links("<a href='?a&AMP;b'>", ["/dir/p?a&b"]),
    "LNK-13/unquoted": Links("<a href=?a&amp;b>", ["/dir/p?a&b"]),
    "LNK-13/unknown": Links("<a href='?a&nosuch;b'>", ["/dir/p?a&nosuch;b"]),
    "LNK-13/escape-kept": Links("<a href='?a%26amp;b%2526'>", ["/dir/p?a%26amp;b%2526"]),
    "LNK-13/refresh": Links("<meta http-equiv=refresh content='0;url=?a&amp;b'>", ["/dir/p?a&b"]),
    # --- what is no link ---
    "LNK-14": Links(
        "<template><a href=t></a></template><!--<a href=c>--><a href=x>",
        ["/dir/x"],
        "template, comments, scripts and other raw text give no links; noscript does, since no script runs",
    ),
    "LNK-14/raw-text": Links(
        "<textarea><a href=1></textarea><script>'<a href=2>'</script><style><a href=3></style><title><a href=4></title>"
        "<iframe><a href=5></iframe><noembed><a href=6></noembed><noframes><a href=7></noframes><xmp><a href=8></xmp>"
        "<a href=x>",
        ["/dir/x"],
    ),
    "LNK-14/noscript": Links("<noscript><a href=n></noscript>", ["/dir/n"]),
    "LNK-14/noscript-in-head": Links("<head><noscript><a href=n></noscript></head><a href=x>", ["/dir/n", "/dir/x"]),
    "LNK-14/plaintext": Links("<a href=x><plaintext><a href=y>", ["/dir/x"]),
    "LNK-14/cdata": Links("<![CDATA[<a href=c>]]><a href=x>", ["/dir/x"]),
    "LNK-14/comment-ends": Links("<!--><a href=x>--><!--a--!><a href=y>", ["/dir/x", "/dir/y"]),
    "LNK-14/open-comment": Links("<a href=x><!-- <a href=y>", ["/dir/x"]),
    "LNK-14/script-in-script": Links("<script><!--<script></script><a href=1>--></script><a href=x>", ["/dir/x"]),
    "LNK-14/template-in-template": Links("<template><template></template><a href=t></template><a href=x>", ["/dir/x"]),
    "LNK-14/template-cut": Links("<template><table><td></template><a href=x>", ["/dir/x"]),
    "LNK-14/conditional-comment": Links("<!--[if IE]><a href=ie><![endif]--><a href=x>", ["/dir/x"]),
    "LNK-14/plain-text": Links("http://{host}/t <a href=x>", ["/dir/x"]),
    # --- all links, whatever they look like ---
    "LNK-15": Links("<a href=a.pdf><a href=b.html>", ["/dir/a.pdf", "/dir/b.html"], "both recorded and followed"),
    "LNK-15/kinds": Links(
        "<a href=a.zip><a href=b.EXE><a href=c.jpg?d><a href=e.css download><area href=f.mp4>",
        ["/dir/a.zip", "/dir/b.EXE", "/dir/c.jpg?d", "/dir/e.css", "/dir/f.mp4"],
    ),
    "LNK-15/repeated": Links("<a href=x><a href=x#y><a href=./x>", ["/dir/x", "/dir/x duplicate", "/dir/x duplicate"]),
    "LNK-15/itself": Links("<a href=p><a href=#top><a href=''>", ["/dir/p duplicate"] * 3),
    "LNK-15/without-text": Links("<a href=x></a><a href=y><img></a><a href=z>", ["/dir/x", "/dir/y", "/dir/z"]),
    "LNK-15/hidden": Links("<a href=x hidden><div style='display:none'><a href=y>", ["/dir/x", "/dir/y"]),
    # --- backslashes ---
    "LNK-18": Links(
        "<a href='\\\\other.test\\p'>", ["http://other.test/p other-host"], "http://other.test/p, other-host: not asked"
    ),
    "LNK-18/four": Links("<a href='\\\\\\\\other.test\\\\p'>", ["http://other.test//p other-host"]),
    "LNK-18/mixed": Links(
        "<a href='/\\other.test/p'><a href='\\/other.test/q'>",
        ["http://other.test/p other-host", "http://other.test/q other-host"],
    ),
    "LNK-18/three": Links("<a href='///other.test/p'>", ["http://other.test/p other-host"]),
    "LNK-18/scheme": Links("<a href='http:\\\\other.test\\p'>", ["http://other.test/p other-host"]),
    "LNK-18/own-path": Links("<a href='\\x\\y'><a href='z\\..\\w'>", ["/x/y", "/dir/w"]),
    "LNK-18/query": Links("<a href='?a\\b'>", ["/dir/p?a\\b"]),
    "LNK-18/newline-between": Links("<a href='/\n/other.test/p'>", ["http://other.test/p other-host"]),
}


class Crawled:
    def __init__(self, folder: Path) -> None:
        names = {host_of(id): f"127.71.{number // 200}.{number % 200 + 1}" for number, id in enumerate(CASES)}
        routes: dict[str, Any] = {"/robots.txt": Answer(404), "/*": Answer(200, (("Content-Type", "text/plain"),), "x")}
        for id, case in CASES.items():
            body = case.body
            if isinstance(body, str):
                body = body.replace("{host}", f"{host_of(id)}:{{port}}")
            routes[f"{host_of(id)}{PAGE}"] = Answer(200, (HTML, *case.headers), body)
        # A page that finds itself anew at each URL it leads to.
        routes[f"{host_of('LNK-13')}/*"] = Answer(200, (HTML,), CASES["LNK-13"].body)
        with LoopbackWeb(routes, names=names) as web:
            self.port = web.port
            self.ended: Ended = crawl(
                [web.url(host, PAGE) for host in names],
                folder,
                names=names,
                arguments={"follow": "host", "max_depth": 3, "max_pages": 9000},
                settings={"SEASPIDER_ALLOWED_NETWORKS": "127.71.0.0/16", "DOWNLOAD_TIMEOUT": 30},
                timeout_s=120,
            )
            arrivals = web.arrivals
        self.asked: dict[str, list[str]] = {}
        for arrival in arrivals:
            self.asked.setdefault(arrival.name, []).append(arrival.target)
        self.pages: dict[str, Mapping[str, Any]] = {
            page["url"]: page for page in self.ended.records("pages") if page["depth"] == 0
        }
        self.rows: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.ended.records("links"):
            self.rows.setdefault(row["page"], []).append(row)

    def url(self, id: str) -> str:
        return f"http://{host_of(id)}:{self.port}{PAGE}"

    def links(self, id: str) -> list[str]:
        origin = f"http://{host_of(id)}:{self.port}/"
        shown = []
        for row in self.rows.get(self.url(id), []):
            url = row["url"] if not row["url"].startswith(origin) else row["url"][len(origin) - 1 :]
            url = url.replace(f"{host_of(id)}:{self.port}", "{host}")
            shown.append(url if row["followed"] else f"{url} {row['reason']}")
        return shown


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(tmp_path_factory.mktemp("links"))


@pytest.mark.parametrize("id", CASES)
def test_links(crawled: Crawled, id: str) -> None:
    case, page = CASES[id], crawled.pages[crawled.url(id)]
    assert crawled.links(id) == list(case.links)
    followed = [link for link in case.links if " " not in link]
    assert crawled.asked[host_of(id)] == ["/robots.txt", PAGE, *followed]
    assert (page["outcome"], page["links"]) == ("stored", len(case.links))
    assert (page["nofollow"], page["flags"]) == (case.nofollow, list(case.flags))


def test_nobody_else_is_asked_and_all_is_accounted_for(crawled: Crawled) -> None:
    assert crawled.ended.exit == 0, crawled.ended.log
    assert crawled.asked.keys() == {host_of(id) for id in CASES}
    check_accounts(crawled.ended, 1)


def test_twin_scrapys_own_extractor_loses_links_and_finds_wrong_ones() -> None:
    def links(id: str) -> list[str]:
        body = CASES[id].body
        assert isinstance(body, str)
        response = HtmlResponse(f"http://h.test{PAGE}", body=body.replace("{host}", "h.test").encode())
        return [link.url.removeprefix("http://h.test") for link in LinkExtractor().extract_links(response)]

    with pytest.raises(ValueError, match="IPv6"):
        links("LNK-01")
    assert links("LNK-02") == ["/dir/x"]
    assert links("LNK-11") == []
    assert links("LNK-14") == ["/dir/t", "/dir/x"]
    assert links("LNK-15") == ["/dir/b.html"]


WHERE: dict[str, str] = {
    id: f"tests/web/test_links.py::test_links[{id}]: {case.outcome}" for id, case in CASES.items() if "/" not in id
}
