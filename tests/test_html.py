import random
import runpy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from seaspider import html, htmltree
from seaspider.core.links import FollowMode, FollowPolicy, decide
from seaspider.core.urls import normalise
from seaspider.html import Page, PageFlag, page_links

URL = normalise("http://h.test/dir/p")
COMMENT_5000 = "<!--" + "x" * 5000 + "-->"


def _page(markup: str | bytes, content_type: str = "text/html", tags: tuple[str, ...] = ()) -> Page:
    body = markup.encode() if isinstance(markup, str) else markup
    return page_links(body, content_type, URL, tags, "seaspider")


def _urls(page: Page) -> list[str]:
    """Targets without the page's origin; what has none in brackets."""
    return [link.url.removeprefix("http://h.test") if link.target else f"<{link.url}>" for link in page.links]


@pytest.fixture(params=["tree", "stream"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is read either way, unless only the stream can tell."""
    if request.param == "stream":
        monkeypatch.setattr(htmltree, "read", lambda _: None)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("markup", "urls"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(
            "<a href=x><a name=y><area href=z><link href=l><img src=i>", ["/dir/x", "/dir/z"], id="a-and-area"
        ),
        pytest.param("<A HREF=x hReF=y>", ["/dir/x"], id="first-attribute-any-case"),
        pytest.param("<a href=''>", ["/dir/p"], id="empty-href"),
        pytest.param("<a href=x", [], id="open-tag"),
        pytest.param("<a href=' x\n'><a href='y\tz'>", ["/dir/x", "/dir/yz"], id="white-space"),
        pytest.param("<a href='a\0b'>", ["/dir/a%EF%BF%BDb"], id="nul-after-the-probe-is-replaced"),
        pytest.param("<base href='http://[bad/'><a href=x>", ["/dir/x"], id="LNK-01"),
        pytest.param(COMMENT_5000 + "<base href='/far/'><a href=x>", ["/far/x"], id="LNK-02"),
        pytest.param("<base target=_blank><base href='/b/'><base href='/c/'><a href=x>", ["/b/x"], id="LNK-03"),
        pytest.param("<base href='b/'><a href=x>", ["/dir/b/x"], id="LNK-03-relative"),
        pytest.param("<a href=x><base href='/b/'>", ["/b/x"], id="LNK-03-after-the-link"),
        pytest.param("<base href='javascript:1'><base href='/b/'><a href=x>", ["/dir/x"], id="LNK-03-javascript"),
        pytest.param("<base href='data:,'><a href=x>", ["/dir/x"], id="LNK-03-data"),
        pytest.param(
            "<!--<base href='/c/'>--><script><base href='/s/'></script><template><base href='/t/'></template>"
            "<textarea><base href='/a/'></textarea><base href='/b/'><a href=x>",
            ["/b/x"],
            id="LNK-03-not-a-base",
        ),
        pytest.param("<base href='ftp://h.test/'><a href=x><a href=/y>", ["<x>", "</y>"], id="base-not-http"),
        pytest.param(
            "<a href='http://[URL=x'><a href='http://h:99999/'><a href=good>",
            ["<http://[URL=x>", "<http://h:99999/>", "/dir/good"],
            id="LNK-04",
        ),
        pytest.param(
            "<a href=' JavaScript:x'><a href='java\nscript:x'><a href=good>",
            ["< JavaScript:x>", "<java\nscript:x>", "/dir/good"],
            id="LNK-10",
        ),
        pytest.param(
            "<a href=mailto:a@b><a href=tel:1><a href=blob:http://h.test/x><a href=data:,x><a href=ftp://h.test/>",
            ["<mailto:a@b>", "<tel:1>", "<blob:http://h.test/x>", "<data:,x>", "<ftp://h.test/>"],
            id="LNK-10-schemes",
        ),
        pytest.param("<div>" * 10_000 + "<a href=deep>", ["/dir/deep"], id="LNK-11"),
        pytest.param("<div>" * 100_000 + "<a href=deep>", ["/dir/deep"], id="LNK-11-100000"),
        pytest.param("<a href='?x=1&amp;p=2'>", ["/dir/p?x=1&p=2"], id="LNK-13"),
        pytest.param("<a href='?x=1&amp;amp;p=2&copy=3&#x26;q'>", ["/dir/p?x=1&amp;p=2&copy=3&q"], id="LNK-13-once"),
        pytest.param("<template><a href=t></a></template><!--<a href=c>--><a href=x>", ["/dir/x"], id="LNK-14"),
        pytest.param(
            "<textarea><a href=1></textarea><script>'<a href=2>'</script><style><a href=3></style>"
            "<title><a href=4></title><iframe><a href=5></iframe><noembed><a href=6></noembed>"
            "<noscript><a href=n></noscript><xmp><a href=7></xmp>",
            ["/dir/n"],
            id="LNK-14-raw-text-and-noscript",
        ),
        pytest.param("<script><!--<script></script><a href=1>--></script><a href=x>", ["/dir/x"], id="script-escaped"),
        pytest.param("<!--><a href=x>--><!--a--!><a href=y>", ["/dir/x", "/dir/y"], id="comment-ends"),
        pytest.param("<![CDATA[<a href=x>]]>", [], id="cdata-is-a-comment"),
        pytest.param(
            "<template><template></template><a href=t></template><a href=x>", ["/dir/x"], id="template-nested"
        ),
        pytest.param(
            "<template><table><td><div></template><a href=x>", ["/dir/x"], id="template-ends-whatever-is-open"
        ),
        pytest.param(
            "<template><script>'</template>'</script><a href=t></template><a href=x>",
            ["/dir/x"],
            id="template-in-script",
        ),
        pytest.param(
            "<template><!-- </template> --><a href=t></template><a href=x>", ["/dir/x"], id="template-in-comment"
        ),
        pytest.param("<a href=a.pdf><a href=b.html>", ["/dir/a.pdf", "/dir/b.html"], id="LNK-15"),
        pytest.param(r"<a href='\\other.test\p'>", ["http://other.test/p"], id="LNK-18"),
        pytest.param("<html><body></body></html><a href=x>", ["/dir/x"], id="after-the-end"),
        pytest.param("<frameset><frame src=f></frameset><a href=x>", ["/dir/x"], id="frameset"),
        pytest.param("<svg><a href=x>t</a></svg>", ["/dir/x"], id="svg"),
        pytest.param("</html><p><a href=x></html><base href=/b/><a href=y>", ["/b/x", "/b/y"], id="beside-html"),
        pytest.param(
            "<a href=x><meta http-equiv=Refresh content='5; url=r'><a href=y>",
            ["/dir/x", "/dir/r", "/dir/y"],
            id="refresh",
        ),
        pytest.param(
            "<base href=/b/><noscript><meta http-equiv=refresh content='0;r'></noscript>",
            ["/b/r"],
            id="refresh-noscript",
        ),
        pytest.param("<template><meta http-equiv=refresh content='0;r'></template>", [], id="refresh-in-template"),
        pytest.param("<meta http-equiv=refresh content=5>", [], id="refresh-without-url"),
    ],
)
def test_links(markup: str, urls: list[str]) -> None:
    # NUL makes a body binary in its first KB only.
    page = _page(" " * 1024 + markup)
    assert (_urls(page), page.is_html, page.flags) == (urls, True, ())
    assert [link.n for link in page.links] == list(range(1, len(urls) + 1))


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("markup", "texts"),
    [
        pytest.param("<a href=x> a <b>b</b>\n<i>c</i>d</a> e", ["a b cd"], id="collapsed"),
        pytest.param("<a href=x>one<a href=y>two</a>three", ["one", "two"], id="a-second-a-ends-the-first"),
        pytest.param("<a href=x>one<a name=n>two</a>", ["one"], id="also-without-href"),
        pytest.param("<a href=x>a<!--b--><script>c</script><style>d</style>e</a>", ["ae"], id="no-script"),
        pytest.param("<a href=x>a<template>b<a href=y>c</a></template>d</a>", ["ad"], id="no-template"),
        pytest.param("<a href=x>one<i><a href=y>two</a>three</i></a>", ["one", "two"], id="an-a-in-another"),
        pytest.param("<a href=x>a<svg><title>b</title><g>c</g></svg>d</a>", ["acd"], id="no-title"),
        pytest.param("<a href=x><!--a-->b<!--c-->d<?e?>f</a>", ["bdf"], id="between-comments"),
        pytest.param("<a href=x>" + "\x01" * 300 + "y</a>", ["y"], id="controls-first"),
        pytest.param("<a href=x>a &amp;&nbsp; &eacute;</a>", ["a & é"], id="references"),
        pytest.param("<area href=x alt=' a  b '>c", ["a b"], id="area-alt"),
        pytest.param("<a href=x>" + "<b>ab </b>" * 1000 + "</a>", [("ab " * 67)[:200].rstrip()], id="bounded"),
        pytest.param("<a href=x>" + " " * 100_000 + "y</a>", ["y"], id="blanks-first"),
        pytest.param("<meta http-equiv=refresh content=0;x>", [""], id="refresh"),
    ],
)
def test_text(markup: str, texts: list[str]) -> None:
    assert [link.text for link in _page(markup).links] == texts


def test_rel_is_lower_case_tokens_and_nofollow_comes_from_it() -> None:
    page = _page(
        "<a href=1 rel='NoFollow\n UGC'><a href=2 rel='ugc sponsored'><area href=3 rel=nofollow>"
        "<a href=4 rel=xnofollow><meta http-equiv=refresh content=0;5>"
    )
    assert [(link.rel, link.nofollow) for link in page.links] == [
        ("nofollow ugc", True),
        ("ugc sponsored", False),
        ("nofollow", True),
        ("xnofollow", False),
        ("refresh", False),
    ]
    assert not page.nofollow


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("markup", "tags", "nofollow"),
    [
        pytest.param("<META NAME=ROBOTS CONTENT='NONE'><a href=x>", (), True, id="LNK-06"),
        pytest.param("<meta name=robots content=NoFollow><a href=x>", (), True, id="LNK-06-case"),
        pytest.param("<meta name=seaspider content=nofollow><a href=x>", (), True, id="LNK-06-our-name"),
        pytest.param("<meta name=robots value=nofollow><a href=x>", (), False, id="LNK-06-value"),
        pytest.param("<a href=x><p><meta name=robots content=nofollow>", (), True, id="after-the-link"),
        pytest.param("<template><meta name=robots content=none></template><a href=x>", (), False, id="in-template"),
        pytest.param("<!--<meta name=robots content=none>--><a href=x>", (), False, id="in-comment"),
        pytest.param("<a href=x>", ("otherbot: nofollow",), False, id="LNK-07-other"),
        pytest.param("<a href=x>", ("otherbot: nofollow", "seaspider: nofollow"), True, id="LNK-07-ours"),
        pytest.param("<meta name=robots content=all><a href=x>", ("nofollow",), True, id="header-adds-up"),
    ],
)
def test_page_nofollow(markup: str, tags: tuple[str, ...], nofollow: bool) -> None:
    page = _page(markup, tags=tags)
    assert (page.nofollow, [link.nofollow for link in page.links]) == (nofollow, [nofollow])
    rows, newly = decide(
        page.links, FollowPolicy(FollowMode.HOST, 1, 9), visit=URL, page=URL, depth=0, followed=0, seen=lambda _: False
    )
    assert (newly, rows[0].reason) == ((0, "nofollow") if nofollow else (1, None))


@pytest.mark.parametrize(
    ("body", "content_type", "page"),
    [
        pytest.param(b"%PDF-1.4..<a href=x>", "text/html", (False, None, [], ("binary-body",)), id="CON-13-pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n<a href=x>", "text/html", (False, None, [], ("binary-body",)), id="CON-13-png"),
        pytest.param(b"<a href=x>\0", "text/html", (False, None, [], ("binary-body",)), id="CON-13-nul"),
        pytest.param(
            b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">'
            b'<a href="x"/><a href="y">&amp;</a></html>',
            "application/xhtml+xml",
            (True, "utf-8", ["/dir/x", "/dir/y"], ()),
            id="CON-15-xhtml",
        ),
        pytest.param(b"<html><a href=x></html>", "text/xml", (False, None, [], ()), id="CON-15-text-xml"),
        pytest.param(b"<html><a href=x></html>", "", (True, "utf-8", ["/dir/x"], ()), id="no-type-html"),
        pytest.param(b"text <a href=x>", "", (False, None, [], ()), id="no-type-text"),
        pytest.param(b"<a href=x>", "image/png", (False, None, [], ()), id="another-type"),
        pytest.param(
            "<meta charset=windows-1251><a href='/п?q=п'>".encode("windows-1251"),
            "text/html",
            (True, "windows-1251", ["/%D0%BF?q=%EF"], ()),
            id="CON-12",
        ),
        pytest.param(
            "<base href='/п/?п'><a href='?п'><a href=''>".encode("windows-1251"),
            "text/html; charset=windows-1251",
            (True, "windows-1251", ["/%D0%BF/?%EF", "/%D0%BF/?%EF"], ()),
            id="CON-12-base",
        ),
        pytest.param(
            "\ufeff<a href='/п?п'>".encode("utf-16-le"),
            "text/html",
            (True, "utf-16le", ["/%D0%BF?%D0%BF"], ()),
            id="utf-16",
        ),
        pytest.param(
            "<a href='/é'>".encode("latin-1"), "text/html", (True, "windows-1252", ["/%C3%A9"], ()), id="1252"
        ),
    ],
)
def test_pages(body: bytes, content_type: str, page: tuple[bool, str | None, list[str], tuple[str, ...]]) -> None:
    found = _page(body, content_type)
    assert (found.is_html, found.charset, _urls(found), found.flags) == page


def test_random_bytes_as_a_page() -> None:
    """CON-16."""
    body = random.Random(16).randbytes(1_000_000)
    assert _page(body) == Page(None, False, False, (), (PageFlag.BINARY_BODY,))
    printable = body.replace(b"\0", b"<")
    assert _page(printable).is_html
    assert _page(printable) == _page(printable)


def test_twin_a_tree_loses_what_is_deep() -> None:
    parser = etree.HTMLParser(huge_tree=True)
    root = etree.fromstring(b"<div>" * 10_000 + b"<a href=deep>", parser)
    assert list(root.iter("a")) == []


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param("<div>" * 3000 + "<a href=deep>", id="deep"),
        pytest.param("<template></template>", id="template"),
        pytest.param("<a href=x><i><a href=y>", id="a-in-a"),
        pytest.param("<a href=x><title>t</title><i><a href=y>", id="a-in-a-behind-a-title"),
        pytest.param("", id="empty"),
    ],
)
def test_what_only_the_stream_can_tell_is_left_to_it(markup: str) -> None:
    assert htmltree.read(markup) is None
    assert htmltree.read("<p>" + "<div>" * 1000) == ([], [], None)


def test_twin_an_a_in_another_would_have_its_text_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(htmltree, "_NESTED", lambda _: False)
    found = htmltree.read("<a href=x>one<i><a href=y>two</a>three</i></a>")
    assert found is not None
    assert [text for _, text, _ in found.links] == ["onetwothree", "two"]


def test_a_page_that_would_make_a_large_tree_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(htmltree, "read", lambda text: pytest.fail(f"{len(text)} characters"))
    assert _urls(_page("<a href=x>" + "<b></b>" * 150_000)) == ["/dir/x"]
    assert _urls(_page("<a href=x>" + "x" * 2_000_000)) == ["/dir/x"]


def test_an_older_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runpy.run_path(html.__file__)["page_links"]
    monkeypatch.setattr(etree, "LIBXML_VERSION", (2, 13, 8))
    with pytest.raises(ImportError, match=r"libxml2 2\.14 or newer, this one is on \(2, 13, 8\)"):
        runpy.run_path(html.__file__)


def test_twin_without_closing_tags_a_template_swallows_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    markup = "<template><table><td><div></template><a href=x>"
    assert _urls(_page(markup)) == ["/dir/x"]
    monkeypatch.setattr(html._Collector, "closing_tags", lambda _: "")
    assert _urls(_page(markup)) == []


def test_a_page_made_to_be_slow_is_given_up_and_says_so() -> None:
    page = _page("<i>" * 300_000 + "<a href=first>t</a>" + "</b>" * 300_000 + "<a href=last>")
    assert (_urls(page), page.flags) == (["/dir/first"], (PageFlag.PARSE_LIMITED,))
    assert page.links[0].text == "t"


@pytest.mark.parametrize("costly", ["</b>", "</p>", "<BODY>", "<body a=b>"])
def test_every_costly_tag_is_counted(costly: str, monkeypatch: pytest.MonkeyPatch) -> None:
    markup = "<i>" * 1000 + "<a href=first>" + costly * 1000 + "<a href=last>"
    assert _page(markup).flags == ()
    monkeypatch.setattr(html, "_MAX_WORK", 999_999)
    assert (_urls(_page(markup)), _page(markup).flags) == (["/dir/first"], (PageFlag.PARSE_LIMITED,))


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param("<b></b>" * 1_000_000, id="dense"),
        pytest.param("<div>" * 20_000 + "</div>" * 20_000, id="deep-and-closed"),
        pytest.param("</b>" * 1_000_000, id="end-tags-only"),
        pytest.param("<template><td></template>" * 50_000, id="templates"),
        pytest.param("<" * 1_000_000, id="brackets"),
        pytest.param("<!--" * 1_000_000 + "-->", id="comment"),
        pytest.param("<a " + "x=y " * 1_000_000 + ">", id="attributes"),
    ],
)
def test_a_large_page_is_read_to_its_end(markup: str) -> None:
    page = _page(markup + "><a href=last>")
    assert (_urls(page), page.flags) == (["/dir/last"], ())


def test_a_hundred_thousand_links() -> None:
    page = _page("".join(f"<p>some text that stands between<a href=/{n}>link {n}</a>" for n in range(100_000)))
    assert (len(page.links), page.links[-1].url, page.links[-1].text) == (100_000, "http://h.test/99999", "link 99999")


_TOKENS = (
    "<a href=x>", "</a>", "<a href=' ?a&b", "'", '"', ">", "<base href='/b/'>", "<base href=':'>", "<template>",
    "</template>", "<td>", "</td>", "<table>", "<div>", "</div>", "<script>", "</script>", "<!--", "-->", "<title>",
    "<meta http-equiv=refresh content='0;r'>", "<meta name=robots content=none>", "<meta charset=gbk>", "&#xD800;", "&",
    "<body>", "</body>", "</html>", "<plaintext>", "<noscript>", "<![CDATA[", "<?xml encoding='big5'?>", "\0", "é",
    "\r", "<area href=k alt=j>", "text", "<", "</title>", "<style>", "</style>", "<i>", "</i>", "<p>", "</p>", "<li>",
    "<html>", "<!doctype html>", "<?x", "<select>", "<option>", "<frameset>", "<svg>", "</svg>", "<a>", "&#1;",
)  # fmt: skip


@given(st.binary(), st.sampled_from(["text/html", "text/html; charset=utf-16", "", "application/xhtml+xml"]))
def test_never_raises_on_any_bytes(body: bytes, content_type: str) -> None:
    _page(body, content_type)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_TOKENS), max_size=40), st.integers(1, 9))
def test_what_is_found_depends_neither_on_the_pieces_nor_on_how_it_is_read(tokens: list[str], size: int) -> None:
    markup = "".join(tokens).encode("utf-8", "surrogatepass")
    body = b"<p>" + b" " * 1024 + markup
    found = _page(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(htmltree, "read", lambda _: None)
        assert _page(body) == found, "as a stream"
        patch.setattr(html, "_PIECE_CHARS", size)
        assert _page(body) == found


def test_a_page_of_millions_of_links_gives_the_first_and_says_so(monkeypatch):
    monkeypatch.setattr("seaspider.html.MAX_LINKS", 3)
    body = b"<meta http-equiv=refresh content='1;/m'>" + b"<a href=/a>" * 4
    found = page_links(body, "text/html", normalise("http://a.test/"), [], "seaspider")
    assert [link.url for link in found.links] == ["http://a.test/m", *["http://a.test/a"] * 2]
    assert found.flags == (PageFlag.LINKS_LIMITED,)


def test_control_characters_are_no_part_of_a_link_text():
    found = page_links(
        b"<a href=/a>\x01one\x7f&#x85;two\x1b[31m</a>", "text/html", normalise("http://a.test/"), [], "seaspider"
    )
    assert [link.text for link in found.links] == ["one…two[31m"]
