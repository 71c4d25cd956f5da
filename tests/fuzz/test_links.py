"""Pages: whatever stands in the body, the links are numbered, short, normalised and of no more than linear work.

Compared with `seaspider.html.page_links`: what its promise says, the same page with a harmless end, and for the links
of tame markup a second extraction by html.parser of the standard library. Work is counted in lines of Python run.
Seeds: those of `budgets`.
"""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.links import MAX_TEXT_CHARS, MAX_WRITTEN_CHARS, resolve
from seaspider.core.urls import MAX_URL_CHARS, Url, normalise
from seaspider.html import MAX_LINKS, Page, page_links
from tests.core.test_robotscost import python_steps
from tests.fuzz.budgets import examples

PAGE = normalise("http://h.test/a/b?q")
TYPES = st.sampled_from(
    ["", "text/html", "text/html; charset=utf-8", "text/html;charset=utf-16", "text/html; charset=gb18030",
     "image/png", "text/html; charset=iso-2022-jp", "application/xhtml+xml; charset=big5",
     "text/html; charset=\"shift_jis", "*/*", ";"]
)  # fmt: skip
TOKENS = st.sampled_from(
    [b"<a href=", b"<A HREF='", b'<area alt=x href="', b"<base href=", b"<meta http-equiv=refresh content='0;url=",
     b"</a>", b"<meta name=robots content=nofollow>", b"<meta charset=", b"utf-16", b"gbk",
     b"<a rel='NOFOLLOW ugc' href=/x>", b">", b"'", b'"', b" ", b"/", b"<", b"</", b"<!--", b"-->", b"<![CDATA[",
     b"]]>", b"<?", b"<!", b"<template>", b"</template>", b"<table><td>", b"<script>", b"</script>", b"<title>",
     b"<svg>", b"<math>", b"<select><option>", b"<form>", b"<p>", b"<plaintext>", b"<noscript>", b"<textarea>",
     b"<frameset>", b"</body>", b"</html>", b"<body>", b"&amp;", b"&#0;", b"&#xD800;", b"&#x110000;", b"&",
     b"&NotEqualTilde;", b"text", b"\0", b"\xff", b"\xc3\xa9", b"\xe9", b"\x1b$B", b"\r", b"\n", b"\t",
     b"\xef\xbb\xbf", b"\xff\xfe", b"http://", b"//o.test", b"javascript:", b"u:p@", b"?\xc3\xa9", b"#", b"%zz",
     b"[::1", b"\xf0\x9f\x98\x80", b"\x84\x31\xa4\x37"]
)  # fmt: skip
SOUP = st.lists(st.one_of(TOKENS, TOKENS, TOKENS, st.binary(max_size=5)), max_size=40).map(b"".join)
BODIES = st.builds(bytes.__add__, st.sampled_from([b"", b"<html>", b"<p>", b"\xef\xbb\xbf<a>", b"\xff\xfe"]), SOUP)
TAGS = st.lists(
    st.sampled_from(["nofollow", "bot: nofollow", "none, ,", "unavailable_after: x", "\x00:", ""]), max_size=2
)


def read(body: bytes, content_type: str = "text/html", tags: tuple[str, ...] = ()) -> Page:
    return page_links(body, content_type, PAGE, tags, "bot")


@examples(300, 1_500)
def test_any_bytes(budget) -> None:
    @budget
    @given(BODIES, TYPES, TAGS)
    def hold(body: bytes, content_type: str, tags: list[str]) -> None:
        page = page_links(body, content_type, PAGE, tags, "bot")
        assert [link.n for link in page.links] == list(range(1, len(page.links) + 1))
        assert len(page.links) <= min(MAX_LINKS, len(body))
        assert (page.charset is None) == (not page.is_html)
        assert page.is_html or not page.links
        for link in page.links:
            check(link.url, link.target)
            assert len(link.text) <= MAX_TEXT_CHARS
            assert link.text == " ".join(link.text.split())
            assert len(link.rel) <= MAX_TEXT_CHARS
            assert link.nofollow >= page.nofollow

    hold()


def check(url: str, target: Url | None) -> None:
    if target is None:
        assert len(url) <= MAX_WRITTEN_CHARS
        return
    assert url == target.text
    assert normalise(url) == target
    assert target.scheme in ("http", "https")
    assert "@" not in target.authority
    assert len(url) <= MAX_URL_CHARS


# --- tame markup, read a second time

NAMES = st.sampled_from(["x", "/y", "?z", "//o.test/", "../w", "http://o.test/v", "#f", "mailto:a@b.test", "a b", "é"])
TAME = st.lists(
    st.one_of(
        st.builds(
            "<a href='{}'>{}</a>".format, NAMES, st.sampled_from(["", "text", "<b>bold</b>", "&lt;a href=no&gt;"])
        ),
        st.builds('<AREA alt="t" HREF="{}">'.format, NAMES),
        st.builds("<p><a class=c href={}>x</a></p>".format, st.sampled_from(["x", "/y", "?z&amp;b", "z&b=1"])),
        st.sampled_from(["<p>", "<!-- <a href=no> -->", "<a name=n>no</a>", "<link href=no>", "<br/>", "<div>x</div>"]),
    ),
    max_size=12,
)


class Second(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area"):
            self.hrefs += [value or "" for name, value in attrs if name == "href"]


@examples(100, 500)
def test_tame_markup_has_the_links_that_another_parser_finds(budget) -> None:
    @budget
    @given(TAME)
    def agree(parts: list[str]) -> None:
        markup = "".join(parts)
        second = Second()
        second.feed(markup)
        second.close()
        targets = [resolve(href, PAGE, "utf-8") for href in second.hrefs]
        assert [link.target for link in read(markup.encode(), "text/html; charset=utf-8").links] == targets

    agree()


# --- targets, in every encoding

CHARSETS = st.sampled_from(
    ["utf-8", "utf-16le", "windows-1252", "gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr",
     "koi8-u", "iso-8859-8-i", "replacement", "x-user-defined", "macintosh", "windows-874"]
)  # fmt: skip
HREFS = st.text(st.characters(exclude_categories=()) | st.sampled_from("?#/&\\:@%\t 日é☃\u0304\U0001f600"), max_size=14)


@examples(200, 1_500)
def test_an_encoding_changes_the_query_only(budget) -> None:
    @budget
    @given(HREFS, CHARSETS)
    def same(href: str, charset: str) -> None:
        here, plain = resolve(href, PAGE, charset), resolve(href, PAGE, "utf-8")
        if here is None or plain is None:
            assert here is plain or max(href) >= "\ud800"
            return
        assert (here.origin, here.target.partition("?")[:2]) == (plain.origin, plain.target.partition("?")[:2])
        if href.isascii():
            assert here == plain

    same()


@examples(15, 100)
def test_work_is_linear_whatever_is_repeated(budget) -> None:
    @budget
    @given(st.lists(TOKENS, min_size=1, max_size=5).map(b"".join))
    def linear(unit: bytes) -> None:
        head = b"<p>" + b" " * 1_024
        small, large = head + unit * 150, head + unit * 300
        assert python_steps(lambda: read(large)) <= 2.1 * python_steps(lambda: read(small)) + 300

    linear()
