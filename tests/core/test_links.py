import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.links import (
    MAX_WRITTEN_CHARS,
    FollowMode,
    FollowPolicy,
    FoundLink,
    LinkReason,
    RawLink,
    decide,
    document_base,
    find_links,
    refresh_href,
    resolve,
    tidy_text,
)
from seaspider.core.urls import normalise

PAGE = normalise("http://h.test/dir/p?q")


@pytest.mark.parametrize(
    ("href", "base"),
    [
        pytest.param(None, PAGE.text, id="none"),
        pytest.param("/b/", "http://h.test/b/", id="LNK-03-relative"),
        pytest.param("http://o.test/x", "http://o.test/x", id="other-host"),
        pytest.param("//o.test", "http://o.test/", id="scheme-relative"),
        pytest.param("", PAGE.text, id="empty"),
        pytest.param("http://[bad/", PAGE.text, id="LNK-01-malformed"),
        pytest.param("http://h:99999/", PAGE.text, id="bad-port"),
        pytest.param(" JavaScript:x", PAGE.text, id="LNK-03-javascript"),
        pytest.param("data:text/html,x", PAGE.text, id="LNK-03-data"),
        pytest.param("\ud800", PAGE.text, id="lone-surrogate"),
        pytest.param("ftp://h.test/", None, id="a-url-but-not-http"),
        pytest.param("mailto:x", None, id="a-url-without-path"),
        pytest.param("http://me@h.test/", None, id="user-information"),
    ],
)
def test_document_base(href: str | None, base: str | None) -> None:
    found = document_base(PAGE, href, "utf-8")
    assert (found and found.text) == base


@pytest.mark.parametrize(
    ("href", "charset", "target"),
    [
        pytest.param("/п?q=п", "windows-1251", "http://h.test/%D0%BF?q=%EF", id="CON-12"),
        pytest.param("/п?q=п", "utf-8", "http://h.test/%D0%BF?q=%D0%BF", id="utf-8"),
        pytest.param("/п?q=п", "utf-16le", "http://h.test/%D0%BF?q=%D0%BF", id="utf-16-writes-utf-8"),
        pytest.param("?п#п?п", "windows-1251", "http://h.test/dir/p?%EF", id="fragment-dropped"),
        pytest.param("п #п", "windows-1251", "http://h.test/dir/%D0%BF%20", id="blank-before-the-fragment"),
        pytest.param("п #п", "utf-8", "http://h.test/dir/%D0%BF%20", id="blank-before-the-fragment-utf-8"),
        pytest.param("?п\x01#", "windows-1251", "http://h.test/dir/p?%EF%01", id="control-before-the-fragment"),
        pytest.param(
            "?a&п=%20+'\"<b>", "windows-1251", "http://h.test/dir/p?a&%EF=%20+%27%22%3Cb%3E", id="ascii-as-ever"
        ),
        pytest.param("?п€漢", "koi8-r", "http://h.test/dir/p?%D0%26%238364%3B%26%2328450%3B", id="not-in-the-encoding"),
        pytest.param(" ?п\t\nп\n", "windows-1251", "http://h.test/dir/p?%EF%EF", id="tabs-and-newlines"),
        pytest.param("?表", "shift_jis", "http://h.test/dir/p?%95\\", id="ascii-second-octet"),
        pytest.param("?あ", "iso-2022-jp", "http://h.test/dir/p?%1B$B$%22%1B(B", id="stateful"),
        pytest.param("?\U00020087", "gbk", "http://h.test/dir/p?%26%23131207%3B", id="gbk-has-no-four-octets"),
        pytest.param("?\U00020087", "gb18030", "http://h.test/dir/p?%952%901", id="gb18030-has"),
        pytest.param("\\\\\\\\other.test\\\\p", "utf-8", "http://other.test//p", id="LNK-18-backslashes"),
        pytest.param("\\\\other.test\\p", "utf-8", "http://other.test/p", id="LNK-18-two-backslashes"),
        pytest.param("?x=1&p=2", "utf-8", "http://h.test/dir/p?x=1&p=2", id="LNK-13"),
        pytest.param("#top", "utf-8", "http://h.test/dir/p?q", id="only-fragment"),
        pytest.param("", "utf-8", "http://h.test/dir/p?q", id="empty"),
        pytest.param("\x0c x \n", "utf-8", "http://h.test/dir/x", id="white-space-around"),
        pytest.param("a\nb\tc", "utf-8", "http://h.test/dir/abc", id="newline-inside"),
        pytest.param("http:x", "utf-8", "http://h.test/dir/x", id="same-scheme-relative"),
        pytest.param("http://[URL=x", "utf-8", None, id="LNK-04-bracket"),
        pytest.param("http://h:99999/", "utf-8", None, id="LNK-04-port"),
        pytest.param(" JavaScript:x", "utf-8", None, id="LNK-10-javascript"),
        pytest.param("java\nscript:x", "utf-8", None, id="LNK-10-newline"),
        pytest.param("mailto:п?п", "windows-1251", None, id="mailto"),
        pytest.param("ftp://h.test/", "utf-8", None, id="ftp"),
        pytest.param("http://me:pw@h.test/", "utf-8", None, id="user-information"),
        pytest.param("http://" + "x" * 70_000, "utf-8", None, id="too-long"),
    ],
)
def test_resolve(href: str, charset: str, target: str | None) -> None:
    found = resolve(href, PAGE, charset)
    assert (found and found.text) == target


def test_twin_query_without_the_page_encoding() -> None:
    assert normalise("/п?q=п", PAGE).text == "http://h.test/%D0%BF?q=%D0%BF"


@pytest.mark.parametrize(
    ("content", "href"),
    [
        ("0;url=x", "x"),
        ("5; URL = 'x y' z", "x y"),
        ('5,url="x', "x"),
        (" 0.5 x", "x"),
        (".5;x", "x"),
        ("0;urlx", "urlx"),
        ("0;url", "url"),
        ("0 ; ; x", "; x"),
        ("0; url=javascript:x", "javascript:x"),
        ("0;url=https://o.test/?a;b=c", "https://o.test/?a;b=c"),
        ("0", None),
        ("0;", None),
        ("0;url=", None),
        ("0;url=''", None),
        ("", None),
        ("url=x", None),
        ("-1;url=x", None),
        ("0x;url=x", None),
        ("٣;url=x", None),
    ],
)
def test_refresh_href(content: str, href: str | None) -> None:
    assert refresh_href(content) == href


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("", ""),
        (" \n a\t\u00a0 b ", "a b"),
        ("x" * 201, "x" * 200),
        ("x" * 199 + " y", "x" * 199),
    ],
)
def test_tidy_text(text: str, tidy: str) -> None:
    assert tidy_text(text) == tidy


def test_find_links() -> None:
    raw = [RawLink("x", " a  b ", "NoFollow  UGC"), RawLink("mailto:" + "y" * 3000), RawLink("/z", "", "ugc sponsored")]
    assert find_links(raw, PAGE, "/b/", "utf-8", page_nofollow=False) == (
        FoundLink(1, "http://h.test/b/x", normalise("http://h.test/b/x"), "a b", "nofollow ugc", nofollow=True),
        FoundLink(2, ("mailto:" + "y" * 3000)[:MAX_WRITTEN_CHARS], None, "", "", nofollow=False),
        FoundLink(3, "http://h.test/z", normalise("http://h.test/z"), "", "ugc sponsored", nofollow=False),
    )


def test_page_nofollow_holds_for_all_links() -> None:
    found = find_links([RawLink("x"), RawLink("tel:1")], PAGE, None, "utf-8", page_nofollow=True)
    assert [link.nofollow for link in found] == [True, True]


def test_nofollow_is_read_beyond_what_is_recorded_of_rel() -> None:
    (link,) = find_links([RawLink("x", rel="x" * 300 + " nofollow")], PAGE, None, "utf-8", page_nofollow=False)
    assert (link.rel, link.nofollow) == ("x" * 200, True)


def test_a_base_that_cannot_be_asked_leaves_absolute_links() -> None:
    found = find_links([RawLink("x"), RawLink("http://o.test/")], PAGE, "ftp://h.test/", "utf-8", page_nofollow=False)
    assert [(link.url, link.target is None) for link in found] == [("x", True), ("http://o.test/", False)]


POLICY = FollowPolicy(FollowMode.HOST, max_depth=2, max_pages=10)


def _links(*hrefs: str) -> tuple[FoundLink, ...]:
    raw = [RawLink(href.removesuffix("!"), rel="nofollow" if href.endswith("!") else "") for href in hrefs]
    return find_links(raw, PAGE, None, "utf-8", page_nofollow=False)


def _reasons(
    *hrefs: str,
    policy: FollowPolicy = POLICY,
    visit: str = PAGE.text,
    depth: int = 0,
    followed: int = 0,
    seen: frozenset[str] = frozenset(),
) -> list[str | None]:
    rows, newly = decide(
        _links(*hrefs),
        policy,
        visit=normalise(visit),
        page=PAGE,
        depth=depth,
        followed=followed,
        seen=seen.__contains__,
    )
    assert newly == sum(row.followed for row in rows)
    assert [row.link for row in rows] == list(_links(*hrefs))
    return [row.reason for row in rows]


OFF = FollowPolicy(FollowMode.OFF, 2, 10)


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        pytest.param(_reasons("a", "b"), [None, None], id="followed"),
        pytest.param(_reasons("https://h.test:8443/a"), [None], id="host-is-name-without-scheme-and-port"),
        pytest.param(_reasons("a", policy=OFF), ["off"], id="off"),
        pytest.param(_reasons("http://o.test/"), ["other-host"], id="other-host"),
        pytest.param(_reasons("http://www.h.test/"), ["other-host"], id="subdomain-is-another-host"),
        pytest.param(_reasons("\\\\o.test\\p"), ["other-host"], id="LNK-18"),
        pytest.param(
            _reasons("a", "http://o.test/", visit="http://o.test/"), ["other-host"] * 2, id="RED-21-final-host-differs"
        ),
        pytest.param(_reasons("a", visit="https://h.test/"), [None], id="final-scheme-differs"),
        pytest.param(_reasons("a!", "a"), ["nofollow", None], id="nofollow-link-does-not-count-as-known"),
        pytest.param(_reasons("a", depth=1), [None], id="last-depth"),
        pytest.param(_reasons("a", depth=2), ["depth"], id="too-deep"),
        pytest.param(_reasons("a", "a", "a#x"), [None, "duplicate", "duplicate"], id="duplicate-in-the-page"),
        pytest.param(_reasons("a", seen=frozenset({"http://h.test/dir/a"})), ["duplicate"], id="duplicate-known"),
        pytest.param(_reasons("#top", "/v", visit="http://h.test/v"), ["duplicate"] * 2, id="duplicate-own-urls"),
        pytest.param(_reasons("a", "b", "c", "b", followed=8), [None, None, "max-pages", "duplicate"], id="max-pages"),
        pytest.param(_reasons("a", "a", followed=10), ["max-pages"] * 2, id="max-pages-reached"),
        pytest.param(_reasons("a", followed=11), ["max-pages"], id="max-pages-lowered-between-runs"),
        pytest.param(_reasons("mailto:x", "http://[", policy=OFF), ["scheme"] * 2, id="scheme-before-off"),
        pytest.param(_reasons("http://o.test/!", "a!", policy=OFF), ["off"] * 2, id="off-before-other-host"),
        pytest.param(_reasons("http://o.test/!"), ["other-host"], id="other-host-before-nofollow"),
        pytest.param(_reasons("a!", depth=2), ["nofollow"], id="nofollow-before-depth"),
        pytest.param(_reasons("#", depth=2, followed=10), ["depth"], id="depth-before-duplicate"),
        pytest.param(_reasons("#", followed=10), ["duplicate"], id="duplicate-before-max-pages"),
    ],
)
def test_decide(reasons: list[str | None], expected: list[str | None]) -> None:
    assert reasons == expected


def test_every_reason_is_reachable() -> None:
    assert [str(reason) for reason in LinkReason] == [
        "scheme", "off", "other-host", "nofollow", "depth", "duplicate", "max-pages"
    ]  # fmt: skip


@given(
    st.text(),
    st.text(),
    st.sampled_from(["utf-8", "windows-1251", "gbk", "iso-2022-jp", "big5", "shift_jis", "euc-kr"]),
)
def test_never_raises(href: str, base: str, charset: str) -> None:
    (link,) = find_links([RawLink(href)], PAGE, base, charset, page_nofollow=False)
    assert link.target is None or normalise(link.url) == link.target
    refresh_href(href)
