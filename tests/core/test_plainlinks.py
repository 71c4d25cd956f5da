"""Plain links: the same as by the parser, or left to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.plainlinks import plain_links
from seaspider.core.urls import MAX_URL_CHARS, UrlError, normalise

_PARTS = (
    "http://", "https://", "HTTP://", "a.test", "127.0.0.1", "1.2", "0x7f.1", "xn--a", "a_b.test", "h.test.", ":80",
    ":443", ":8080", ":0", ":99999", ":", "/", "//", "/a", "b", "/.", "..", ".", "?", "?a=1&b", "#", "#f", "#@x", "@",
    "%41", "%zz", "é", "\\", "~", "'", '"', "|", "<", "[", "]", "\t", " ", "-", "a" * 300, "x" * 4000,
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.sampled_from(["", "/", "/x", "http://a.test/", "http://a.test:81/y", "https://127.0.0.1", "http://a.test:80/"]),
    st.lists(st.sampled_from(_PARTS), max_size=6).map("".join),
    st.sampled_from(["http://h.test/dir/p?q", "https://h.test:8443/", "http://[::1]/x"]),
)
def test_a_plain_link_is_resolved_as_by_the_parser(start: str, rest: str, base: str) -> None:
    resolve = plain_links(normalise(base))
    found = resolve(start + rest)
    try:
        normalised = normalise(start + rest, normalise(base))
    except UrlError:
        normalised = None
    assert found in (None, normalised)


@pytest.mark.parametrize(
    ("href", "text"),
    [
        ("/x", "https://h.test:8443/x"),
        ("/", "https://h.test:8443/"),
        ("/a.b/c..d/-?x=1&y=/../#f?#", "https://h.test:8443/a.b/c..d/-?x=1&y=/../"),
        ("http://a.test/x?#", "http://a.test/x?"),
        ("https://127.0.0.1:81/x", "https://127.0.0.1:81/x"),
        # Of these the parser changes something, or refuses them.
        *((href, None) for href in ("", "x", "?x", "#x", "//h", "/./x", "/x/.y", "/%41", "/'", "/é", "/x y", "/x#é")),
        *(("http://" + rest, None) for rest in ("a.test", "a.test:80/x", "1.2/x", "a.test./x", "A.test/x", "u@h/x")),
        *(("http://" + rest, None) for rest in ("a.test:0/x", "a_.test:99999/x", "xn--a/x", ":/x")),
    ],
)
def test_what_is_plain(href: str, text: str | None) -> None:
    base = normalise("https://h.test:8443/dir/p")
    found = plain_links(base)(href)
    assert found == (None if text is None else normalise(text))
    assert found in (None, normalise(href, base) if found else None)


def test_what_may_become_too_long_is_not_plain() -> None:
    base = normalise("http://h.test/")
    assert plain_links(base)("/" + "x" * (MAX_URL_CHARS - len("http://h.test/") - 1)) is not None
    assert plain_links(base)("/" + "x" * (MAX_URL_CHARS - len("http://h.test/"))) is None
