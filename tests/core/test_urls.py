"""The one spelling of a URL: exact values, and what must hold for any text."""

import can_ada
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.urls import MAX_TEXT_CHARS, MAX_URL_CHARS, Url, UrlError, UrlReason, normalise

LABEL_63 = "a" * 63
HOST_253 = ".".join([LABEL_63, LABEL_63, LABEL_63, "a" * 61])

SPELLINGS = {
    "as-is": ("http://h.test/a/b?x=1", "http://h.test/a/b?x=1"),
    "case": ("HTTP://H.TEST/A", "http://h.test/A"),
    "empty-path": ("http://h.test", "http://h.test/"),
    "empty-path-with-query": ("http://h.test?x", "http://h.test/?x"),
    "default-port": ("http://h.test:80/a", "http://h.test/a"),
    "default-port-zeros": ("http://h.test:080/a", "http://h.test/a"),
    "default-port-https": ("https://h.test:443/a", "https://h.test/a"),
    "empty-port": ("http://h.test:/a", "http://h.test/a"),
    "port-of-the-other-scheme": ("https://h.test:80/a", "https://h.test:80/a"),
    "fragment": ("http://h.test/a#b?c", "http://h.test/a"),
    "empty-fragment": ("http://h.test/a#", "http://h.test/a"),
    "empty-query": ("http://h.test/a?", "http://h.test/a?"),
    "query-order": ("http://h.test/?b=1&a=2&b=0", "http://h.test/?b=1&a=2&b=0"),
    "plus-and-space": ("http://h.test/a+b%20c?d+e%20f", "http://h.test/a+b%20c?d+e%20f"),
    "trailing-slash": ("http://h.test/a/", "http://h.test/a/"),
    "double-slash": ("http://h.test//a//b", "http://h.test//a//b"),
    "dot-segments": ("http://h.test/../../b/./c/..", "http://h.test/b/"),
    "escaped-dot-segments": ("http://h.test/a/%2e%2E/b/%2e/c", "http://h.test/b/c"),
    "no-dot-segments-in-query": ("http://h.test/?/a/../b", "http://h.test/?/a/../b"),
    "escapes-upper-case": ("http://h.test/caf%c3%a9", "http://h.test/caf%C3%A9"),
    "unreserved-decoded": ("http://h.test/%7eu%73er%2D%5F%2e?%41", "http://h.test/~user-_.?A"),
    "reserved-kept": ("http://h.test/a%23b%2fc%3Fd?e%26f", "http://h.test/a%23b%2Fc%3Fd?e%26f"),
    "escaped-percent": ("http://h.test/%2541", "http://h.test/%2541"),
    "stray-percent": ("http://h.test/100%?50%z", "http://h.test/100%?50%z"),
    "stray-percent-makes-no-escape": ("http://h.test/%%32e%%32e/x", "http://h.test/%%32e%%32e/x"),
    "stray-percent-and-half": ("http://h.test/%2%65/%7e", "http://h.test/%2%65/~"),
    "unicode-path": ("http://h.test/é", "http://h.test/%C3%A9"),
    "unicode-is-not-composed": ("http://h.test/e\u0301", "http://h.test/e%CC%81"),
    "spaces-and-quotes": ('http://h.test/a b"c', "http://h.test/a%20b%22c"),
    "trailing-csv": ("http://h.test/a,label one", "http://h.test/a,label%20one"),
    "line-separator": ("http://h.test/a\u2028http://h.test/b", "http://h.test/a%E2%80%A8http://h.test/b"),
    "controls": ("http://h.test/a\x00b\x0bc\x7f", "http://h.test/a%00b%0Bc%7F"),
    "around-and-inside": (" \x01 http://h.test/a\tb\r\nc \x1f", "http://h.test/abc"),
    "newline-in-scheme": ("ht\ntp://h.test/", "http://h.test/"),
    "backslash-in-path": ("http://h.test\\a\\b", "http://h.test/a/b"),
    "root-dot": ("http://h.test./a", "http://h.test/a"),
    "root-dot-and-port": ("http://h.test.:8080/a", "http://h.test:8080/a"),
    "root-dot-of-address": ("http://127.0.0.1./", "http://127.0.0.1/"),
    "dot-colon-in-path": ("http://h.test/a.:b", "http://h.test/a.:b"),
    "underscore": ("http://a_b.test/", "http://a_b.test/"),
    "host-253": (f"http://{HOST_253}/", f"http://{HOST_253}/"),
    "host-253-root-dot": (f"http://{HOST_253}./", f"http://{HOST_253}/"),
    "idn": ("http://münchen.test/", "http://xn--mnchen-3ya.test/"),
    "idn-upper-case": ("http://XN--MNCHEN-3YA.TEST/", "http://xn--mnchen-3ya.test/"),
    "idn-decomposed": ("http://mu\u0308nchen.test/", "http://xn--mnchen-3ya.test/"),
    "idn-emoji": ("http://☃.test/", "http://xn--n3h.test/"),
    "ideographic-full-stop": ("http://a。test/", "http://a.test/"),
    "eszett": ("http://faß.test/", "http://xn--fa-hia.test/"),
    "capital-eszett": ("http://fa\u1e9e.test/\u1e9e", "http://xn--fa-hia.test/%E1%BA%9E"),
    "capital-eszett-escaped": ("http://fa%e1%ba%9e.test/", "http://xn--fa-hia.test/"),
    "soft-hyphen": ("http://a\u00adb.test/", "http://ab.test/"),
    "escaped-host": ("http://exa%6dple.test/", "http://example.test/"),
    "ipv4-hex": ("http://0x7f000001/", "http://127.0.0.1/"),
    "ipv4-number": ("http://2130706433/", "http://127.0.0.1/"),
    "ipv4-short": ("http://127.1/", "http://127.0.0.1/"),
    "ipv4-octal": ("http://0177.0.0.1/", "http://127.0.0.1/"),
    "ipv4-zero": ("http://0/", "http://0.0.0.0/"),
    "ipv4-circled": ("http://①27.0.0.1/", "http://127.0.0.1/"),
    "ipv4-wide-dots": ("http://127。0。0。1/", "http://127.0.0.1/"),
    "ipv6": ("http://[0:0:0:0:0:0:0:1]:80/a", "http://[::1]/a"),
    "ipv6-mapped": ("http://[::FFFF:127.0.0.1]:8080/", "http://[::ffff:7f00:1]:8080/"),
    "at-in-path": ("http://h.test/@x?y@z", "http://h.test/@x?y@z"),
    "at-behind-backslash": ("http://h.test\\@evil.test/", "http://h.test/@evil.test/"),
    "longest": (f"http://h.test/{'a' * (MAX_URL_CHARS - 14)}", f"http://h.test/{'a' * (MAX_URL_CHARS - 14)}"),
    "long-fragment": (f"http://h.test/#{'a' * MAX_URL_CHARS}", "http://h.test/"),
}

FAULTS = {
    "empty": ("", UrlReason.MISSING_SCHEME),
    "blank": (" \t ", UrlReason.MISSING_SCHEME),
    "no-scheme": ("h.test/a", UrlReason.MISSING_SCHEME),
    "no-scheme-but-one-inside": ("h.test/a?u=http://x.test/", UrlReason.MISSING_SCHEME),
    "network-path": ("//h.test/a", UrlReason.MISSING_SCHEME),
    "double-quotes": ('"http://h.test/a"', UrlReason.MISSING_SCHEME),
    "angle-brackets": ("<http://h.test/a>", UrlReason.MISSING_SCHEME),
    "late-byte-order-mark": ("\ufeffhttp://h.test/a", UrlReason.MISSING_SCHEME),
    "no-break-space-before": ("\u00a0http://h.test/a", UrlReason.MISSING_SCHEME),
    "ftp": ("ftp://h.test/", UrlReason.SCHEME),
    "ftp-and-bad-port": ("ftp://h.test:99999/", UrlReason.SCHEME),
    "file": ("file:///etc/hostname", UrlReason.SCHEME),
    "mailto": ("mailto:a@h.test", UrlReason.SCHEME),
    "javascript": ("javascript:alert(1)", UrlReason.SCHEME),
    "data-of-any-length": ("data:," + "a" * (MAX_TEXT_CHARS + 1), UrlReason.SCHEME),
    "host-as-scheme": ("h.test:8080/a", UrlReason.SCHEME),
    "one-slash": ("http:/h.test/a", UrlReason.SYNTAX),
    "three-slashes": ("http:///a", UrlReason.SYNTAX),
    "no-slash": ("http:h.test/a", UrlReason.SYNTAX),
    "backslashes": ("http:\\\\h.test\\a", UrlReason.SYNTAX),
    "scheme-and-slashes-only": ("http://", UrlReason.SYNTAX),
    "scheme-only": ("https:", UrlReason.SYNTAX),
    "user": ("http://u@h.test/", UrlReason.USERINFO),
    "user-and-password": ("http://u:p@h.test/", UrlReason.USERINFO),
    "empty-user": ("http://@h.test/", UrlReason.USERINFO),
    "empty-user-and-password": ("http://:@h.test/", UrlReason.USERINFO),
    "two-ats": ("http://a@b@h.test/", UrlReason.USERINFO),
    "user-that-looks-like-a-host": ("http://good.test@127.0.0.1/", UrlReason.USERINFO),
    "user-with-tab": ("http://\tu\t@h.test/", UrlReason.USERINFO),
    "query-for-host": ("http://?q", UrlReason.HOST),
    "fragment-for-host": ("http://#f", UrlReason.HOST),
    "root-dot-only": ("http://./", UrlReason.HOST),
    "two-root-dots": ("http://h.test../", UrlReason.HOST),
    "two-root-dots-and-port": ("http://h.test..:81/", UrlReason.HOST),
    "address-and-two-dots": ("http://127.0.0.1../", UrlReason.HOST),
    "empty-label": ("http://a..test/", UrlReason.HOST),
    "leading-dot": ("http://.h.test/", UrlReason.HOST),
    "star": ("http://*.test/", UrlReason.HOST),
    "comma": ("http://a,b.test/", UrlReason.HOST),
    "space": ("http://h test/", UrlReason.HOST),
    "escaped-slash": ("http://h%2ftest/", UrlReason.HOST),
    "escaped-nul": ("http://h%00test/", UrlReason.HOST),
    "label-64": (f"http://{LABEL_63}a.test/", UrlReason.HOST),
    "name-254": (f"http://{HOST_253}a/", UrlReason.HOST),
    "label-64-after-idna": ("http://" + "é" * 60 + "abcdefg.test/", UrlReason.HOST),
    "empty-a-label": ("http://xn--.test/", UrlReason.HOST),
    "broken-a-label": ("http://xn--a.test/", UrlReason.HOST),
    "five-numbers": ("http://1.2.3.4.5/", UrlReason.HOST),
    "number-too-large": ("http://256.1.1.1/", UrlReason.HOST),
    "bracket": ("http://[bad/", UrlReason.HOST),
    "bracket-open": ("http://[::1/", UrlReason.HOST),
    "zone-id": ("http://[fe80::1%25eth0]/", UrlReason.HOST),
    "zone-id-and-port": ("http://[fe80::1%25eth0]:80/", UrlReason.HOST),
    "port-99999": ("http://h.test:99999/", UrlReason.PORT),
    "port-65536": ("http://h.test:65536/", UrlReason.PORT),
    "port-0": ("http://h.test:0/", UrlReason.PORT),
    "port-word": ("http://h.test:http/", UrlReason.PORT),
    "port-wide-digit": ("http://h.test:８0/", UrlReason.PORT),
    "port-of-5000-digits": ("http://h.test:" + "1" * 5000, UrlReason.PORT),
    "port-twice": ("http://h.test:80:80/", UrlReason.PORT),
    "port-word-ipv6": ("http://[::1]:x/", UrlReason.PORT),
    "lone-surrogate": ("http://h.test/\ud800", UrlReason.ENCODING),
    "surrogate-escape": ("http://h.test/\udce9", UrlReason.ENCODING),
    "too-long": (f"http://h.test/{'a' * (MAX_URL_CHARS - 13)}", UrlReason.TOO_LONG),
    "too-long-when-escaped": (f"http://h.test/{'é' * (MAX_URL_CHARS // 4)}", UrlReason.TOO_LONG),
    "too-long-to-parse": (f"http://h.test/#{'a' * MAX_TEXT_CHARS}", UrlReason.TOO_LONG),
}

BASE = "http://h.test/a/b?q"

REFERENCES = {
    "empty": ("", "http://h.test/a/b?q"),
    "fragment": ("#f", "http://h.test/a/b?q"),
    "query": ("?r", "http://h.test/a/b?r"),
    "empty-query": ("?", "http://h.test/a/b?"),
    "sibling": ("c", "http://h.test/a/c"),
    "up": ("../../../c", "http://h.test/c"),
    "path": ("/c d", "http://h.test/c%20d"),
    "network-path": ("//o.test/c", "http://o.test/c"),
    "absolute": ("https://o.test/c", "https://o.test/c"),
    "backslashes": ("\\\\o.test\\c", "http://o.test/c"),
    "three-slashes": ("///o.test/c", "http://o.test/c"),
    "same-scheme-no-slash": ("http:c", "http://h.test/a/c"),
    "same-scheme-one-slash": ("http:/c", "http://h.test/c"),
    "same-scheme-two-slashes": ("http:/\\o.test", "http://o.test/"),
    "same-scheme-no-slash-at-in-path": ("http:c@d", "http://h.test/a/c@d"),
    "same-scheme-no-slash-capital-eszett": ("HTTP:\u1e9e", "http://h.test/a/%E1%BA%9E"),
    "other-scheme-no-slash": ("https:o.test", "https://o.test/"),
    "other-scheme-no-slash-capital-eszett": ("https:\u1e9e.test", "https://xn--zca.test/"),
    "colon-later": ("./c:d", "http://h.test/a/c:d"),
    "newlines": (" /c\n/d ", "http://h.test/c/d"),
    "at-in-path": ("/@c", "http://h.test/@c"),
}

REFERENCE_FAULTS = {
    "javascript": ("javascript:void(0)", UrlReason.SCHEME),
    "word-and-colon": ("c:d", UrlReason.SCHEME),
    "user": ("//u@o.test/", UrlReason.USERINFO),
    "user-after-backslashes": ("/\\u@o.test/", UrlReason.USERINFO),
    "empty-user-no-slash": ("https:@o.test/", UrlReason.USERINFO),
    "user-after-same-scheme": ("http:\\/u@o.test/", UrlReason.USERINFO),
    "port": ("//o.test:99999/", UrlReason.PORT),
    "host": ("http://[::1/", UrlReason.HOST),
    "empty-host": ("//", UrlReason.HOST),
    "encoding": ("/\ud800", UrlReason.ENCODING),
}


def by_id(table):
    return pytest.mark.parametrize(("text", "expected"), table.values(), ids=table.keys())


@by_id(SPELLINGS)
def test_spelling(text, expected):
    assert normalise(text).text == expected
    assert normalise(expected).text == expected


@by_id(FAULTS)
def test_fault(text, expected):
    with pytest.raises(UrlError) as caught:
        normalise(text)
    assert (caught.value.reason, caught.value.text) == (expected, text)


@by_id(REFERENCES)
def test_reference(text, expected):
    assert normalise(text, normalise(BASE)).text == expected


@by_id(REFERENCE_FAULTS)
def test_reference_fault(text, expected):
    with pytest.raises(UrlError) as caught:
        normalise(text, normalise(BASE))
    assert caught.value.reason is expected


@pytest.mark.parametrize(
    ("text", "parts", "authority", "origin"),
    [
        ("http://H/a?b#c", ("http", "h", 80, "/a?b"), "h", "http://h"),
        ("https://h:8443", ("https", "h", 8443, "/"), "h:8443", "https://h:8443"),
        ("http://h:443/?", ("http", "h", 443, "/?"), "h:443", "http://h:443"),
        ("https://[::1]:443/", ("https", "::1", 443, "/"), "[::1]", "https://[::1]"),
        ("http://[2001:DB8::1]:81/x", ("http", "2001:db8::1", 81, "/x"), "[2001:db8::1]:81", "http://[2001:db8::1]:81"),
    ],
)
def test_parts(text, parts, authority, origin):
    url = normalise(text)
    assert (url.scheme, url.host, url.port, url.target) == parts
    assert (url.authority, url.origin) == (authority, origin)
    assert url.text == url.origin + url.target


def test_error_is_one_short_line_of_ascii():
    with pytest.raises(UrlError) as caught:
        normalise("é\n" * 500)
    message = str(caught.value)
    assert message.startswith("not a usable URL (missing-scheme): '\\xe9\\n\\xe9")
    assert message.isascii()
    assert "\n" not in message
    assert len(message) < 1500


def test_the_parser_alone_would_not_do():
    """Twin: what the rules on top are for."""
    assert can_ada.parse("http:/h.test/a").href == "http://h.test/a"
    assert can_ada.parse("http://@h.test/").href == "http://h.test/"
    assert can_ada.parse("http://a..test./").href == "http://a..test./"
    assert can_ada.parse("http://fa\u1e9e.test/").href == "http://fass.test/"
    assert can_ada.parse("http://h.test/%7e%c3").href == "http://h.test/%7e%c3"


_TOKENS = "http:// https: HTTP:/ // / \\ ? # @ : 80 0 99999 . .. %2e % %3 %32 %65 %C3%a9 %E1%BA%9E %00 h"
_TOKENS += " h.test xn-- xn--fa-hia ß ẞ é \u0301 ① 。 [ ] ::1 [::1] ::ffff:1.2.3.4 127.1 0x7f"
PIECES = st.sampled_from([*_TOKENS.split(" "), "\t", "\n", " ", "\x00", "\u2028", "\ud800", "a" * 64])
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=10).map(lambda pieces: "http://h" + "".join(pieces)),
    st.text(max_size=20).map(lambda text: f"http://{text}.test/{text}?{text}"),
)
THOROUGH = settings(max_examples=600, deadline=None, derandomize=True, database=None)


def normalised(text: str, base: Url | None = None) -> Url | None:
    """None for a text that is no URL; anything but a UrlError is a failure."""
    try:
        return normalise(text, base)
    except UrlError:
        return None


def check_form(url: Url) -> None:
    assert normalise(url.text) == url
    assert url.text == url.origin + url.target
    assert all("!" <= char <= "~" for char in url.text)
    assert "#" not in url.text
    assert "@" not in url.authority
    assert url.target.startswith("/")
    assert url.host
    assert url.host == url.host.lower()
    assert 1 <= url.port <= 65535
    path = url.target.partition("?")[0]
    assert not {".", ".."} & set(path.split("/"))


@THOROUGH
@given(TEXTS)
def test_any_text_has_one_form_or_a_reason(text):
    url = normalised(text)
    if url is not None:
        check_form(url)


@THOROUGH
@given(TEXTS)
def test_any_reference_has_one_form_or_a_reason(text):
    url = normalised(text, normalise(BASE))
    if url is not None:
        check_form(url)


@THOROUGH
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_path_never_leaves_its_origin(text):
    assert normalise("http://h.test/" + text).origin == "http://h.test"
    assert normalise("/x" + text, normalise(BASE)).origin == "http://h.test"


@THOROUGH
@given(TEXTS)
def test_host_and_port_are_those_of_the_parser(text):
    url = normalised(text)
    if url is not None and not {"ẞ", "ß"} & set(text) and "%E1%BA%9E" not in text:
        parsed = can_ada.parse(text)
        assert parsed.hostname.removesuffix(".").strip("[]") == url.host
        assert parsed.port == ("" if url.port == {"http": 80, "https": 443}[url.scheme] else str(url.port))


PATHS = st.text(alphabet="/.az09_~-=&;,:@+!$*()?%#' \\\"|^{}é\t\n", max_size=12).map("/".__add__)
LONG = ["/" + "a" * (MAX_URL_CHARS - len("http://h.test/") + more) for more in (-1, 0, 1)]


@THOROUGH
@given(st.sampled_from(["http://h.test/a/b?c", "https://[::1]:8443/", "http://127.0.0.1:81/x//y"]), PATHS)
def test_a_path_that_needs_no_parser_is_what_the_parser_makes_of_it(base, text):
    if text.translate({9: None, 10: None})[1:2] in ("/", "\\"):
        return  # a host
    page = normalise(base)
    assert normalised(text, page) == normalised(page.origin + text)


@pytest.mark.parametrize("path", LONG, ids=len)
def test_a_path_is_as_long_as_an_url_may_be(path):
    page = normalise("http://h.test/" + "a" * 100)
    assert normalised(path, page) == normalised("http://h.test" + path)
