"""URLs: one spelling for any text, and the one that an independent WHATWG parser comes to.

Compared with `seaspider.core.urls.normalise` (ada, by can_ada): the `url` crate of Rust, see `otherurls`, where every
way in which the two may differ is listed with its reason; any other fails here. Compared are scheme, authority, path
and query, with and without a base. Seeds: those of `budgets`; the grid and the code points are tried completely.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.urls import MAX_URL_CHARS, Url, UrlError, normalise
from tests.fuzz.budgets import examples
from tests.fuzz.otherurls import DIFFERENCES, difference, ours, pieces, reading_of, theirs

BASES = [None, *map(normalise, ("http://h.test/a/b?q", "https://[::1]:8443/", "http://h.test//x//?y#z"))]

STARTS = (
    "http://",
    "HTTPS://",
    "http:",
    "https:/",
    "http:///",
    "http:\\\\",
    "//",
    "\\/",
    "/",
    "",
    "h ttp://",
    "ftp://",
)
HOSTS = (
    "h.test", "H.Test.", "h", "a_b.test", "-a-", "a..b", ".", "", "h.test:80", "h.test:0443", "h.test:", "h.test:65536",
    "h.test:1x", "127.1", "0x7f.0.0.1", "017700000001", "1.2.3.4.5", "256.0.0.1", "0x100000000", "1.2.3.08", "1.2.3.",
    "a.1", "a.0x1g", "[::1]", "[::ffff:1.2.3.4]:81", "[1:0:0:2::]", "[::1.2.3]", "[1:2:3:4:5:6:7:8:9]", "[::1", "::1",
    "u@h.test", ":@h.test", "u:p@x@h.test", "faß.test", "ẞ.test", "xn--fa-hia.test", "xn--a.test", "bücher.test",
    "BU\u0308CHER.test", "a\u200db.test", "ش\u200cش.test", "\u00ad.test", "a。b．c", "①②.test", "%41.test",
    "%C3%A9.test",
    "%00", "h%2ft", "a b", "a\tb", "日本.test", "אב1.test", "1א.test", "a" * 64 + ".test", "☃.test", "ſ.test", "K.test",
)  # fmt: skip
TAILS = (
    "", "/", "?", "#", "/?#", "/a/./b/../c", "/%2e/%2E%2e/x", "/..;/", "/.%00/", "/a//..//b", "\\a\\..\\b", "?a=b c'\"",
    "?\\..\\x", "?%27%7e%zz", "/%7Eu/%e9", "/é?é#é", "/\u2028\x00\x7f", "/a|b^c`d{e}", "/[1]@:!$&'()*+,;=", "/%%32e",
    "/%2%65", "/%", "/a%", "/ b ", "/a\nb", "/c:/d", "/..", "/...", "/.a./", "?#", "?a?b#c#d", "/\ufffe", "/a#\ud800",
    "/.%2e\\..", "/%252e%252e/", "/~-._", "/\U0001f600",
)  # fmt: skip

_TOKENS = "http:// https: HTTP:/ / // \\ ? # @ : :80 :443 :0 :8080 :99999 . .. %2e %2E%2e % %3 %32 %65 %C3%a9 %E1%BA%9E"
_TOKENS += (
    " %00 %7f h h.test .test xn-- xn--fa-hia xn--n3h xn--a ß ẞ é İ ſ K ﷺ ς ① 。 [ ] ::1 [::1] ::ffff:1.2.3.4 127.1"
)
_TOKENS += " 0x7f 08 256 1.2.3.4 0x _ - ~ ^ | ` { } \" ' < > ! $ & ( ) * + , ; = a Z 日本 א ب"
_ODD = ["\u200d", "\u200c", "\u00ad", "\u0301", "\t", "\n", "\x00", "\x7f", "\u2028", "\ud800", "\U0001f600", " "]
TOKENS = st.sampled_from([*_TOKENS.split(" "), *_ODD, "a" * 64])
SOUP = st.lists(TOKENS, max_size=8).map("".join)
AUTHORITIES = st.one_of(
    st.sampled_from(HOSTS), SOUP, st.text(min_size=1, max_size=6), st.text("0123456789abcdefx.:[]", max_size=20)
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=30),
    SOUP,
    st.builds("{}{}{}".format, st.sampled_from(STARTS), AUTHORITIES, SOUP | st.text(max_size=12)),
    st.builds("{}{}/{}".format, st.sampled_from(["http://", "https://"]), AUTHORITIES, SOUP | st.text(max_size=12)),
)


def check(text: str, base: Url | None) -> str | None:
    """The two readers agree, or differ as the table says; our spelling is stable and of the same origin for both."""
    name = difference(text, base)
    url = ours(text, base)
    if isinstance(url, Url):
        assert normalise(url.text) == url
        assert normalise(url.text, normalise("https://elsewhere.test:1/x/y?z")) == url
        assert len(url.text) <= MAX_URL_CHARS
        assert "@" not in url.authority
        assert url.text == url.origin + url.target
        again = theirs(url.text, None)
        if again is None:
            assert name == "a-label"
        else:
            assert str(again) == url.text
            assert (again.scheme, again.host_str) == (url.scheme, url.authority.removesuffix(f":{again.port}"))
    return name


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_is_as_listed(name: str) -> None:
    listed = DIFFERENCES[name]
    base = None if listed.base is None else normalise(listed.base)
    mine, other = ours(listed.text, base), theirs(listed.text, base)
    assert difference(listed.text, base) == name
    assert (mine.text if isinstance(mine, Url) else None) == listed.ours
    assert (None if other is None else str(other)) == listed.theirs


def test_a_difference_that_is_not_listed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: a spelling that the other reader does not share, and a refusal for no reason."""
    monkeypatch.setattr("tests.fuzz.otherurls.normalise", lambda text, base: normalise("http://h.test/%2e"))
    with pytest.raises(AssertionError):
        difference("http://h.test/x")
    monkeypatch.setattr("tests.fuzz.otherurls.normalise", _refuse)
    with pytest.raises(AssertionError):
        difference("http://h.test/")


def _refuse(text: str, base: Url | None) -> Url:
    return normalise("http://a,b/", base)


def test_pieces_are_equal_for_equal_urls_only() -> None:
    assert pieces("/%7e%c3%2F") == ("/", "~", "%C3", "%2F") == pieces("/~%C3%2f")
    assert pieces("/%%32e") == ("/", "%", "2", "e") != pieces("/%2e")


def test_every_start_host_and_tail() -> None:
    texts = ["".join(parts) for parts in product(STARTS, HOSTS, TAILS)]
    found = {check(text, base) for text in texts[::7] for base in BASES[:2]}
    assert {"other-scheme", "slashes", "userinfo", "empty-userinfo", "host-form"} <= found


@pytest.mark.soak
def test_every_start_host_tail_and_base() -> None:
    for parts, base in product(product(STARTS, HOSTS, TAILS), BASES):
        check("".join(parts), base)


def code_points(step: int) -> list[str]:
    """All of the first plane's beginning, then every `step`th."""
    return [chr(code) for code in (*range(0x3000), *range(0x3000, 0x110000, step)) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize("step", [211, pytest.param(3, marks=pytest.mark.soak)])
def test_every_letter_in_a_host(step: int) -> None:
    """One of them is mapped, dropped or refused; never is it another host to one reader than to the other."""
    found = {difference(f"http://a{char}b.test/") for char in code_points(step)}
    assert found <= {None, "host-form", "userinfo", "newer-letters", "a-label"}


@pytest.mark.parametrize("step", [211, pytest.param(17, marks=pytest.mark.soak)])
def test_every_letter_in_a_path_and_a_query(step: int) -> None:
    for char in code_points(step):
        assert difference(f"http://h.test/a{char}b?c{char}d") is None


@examples(1_500, 8_000)
def test_any_text(budget) -> None:
    @budget
    @given(TEXTS, st.sampled_from(BASES))
    def agree(text: str, base: Url | None) -> None:
        check(text, base)

    agree()


@examples(150, 1_000)
def test_any_text_behind_a_host_stays_at_it(budget) -> None:
    @budget
    @given(st.sampled_from("/?#\\"), SOUP)
    def stay(mark: str, tail: str) -> None:
        try:
            url = normalise(f"http://h.test{mark}{tail}")
        except UrlError:
            assert "\ud800" in tail
            return
        assert url.origin == "http://h.test"
        other = theirs(url.text, None)
        assert other is not None
        assert reading_of(other).authority == "h.test"

    stay()
