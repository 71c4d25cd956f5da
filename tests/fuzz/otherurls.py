"""A second reader of URLs, and what it may read differently from `seaspider.core.urls`.

The second reader is the `url` crate of Rust, which Servo uses, by way of the package url-py: another language, another
algorithm and other Unicode tables (ICU4X) than ada, on which can_ada and ada-url stand.
"""

import re
from dataclasses import dataclass

import can_ada
import url as rust

from seaspider.core.urls import MAX_TEXT_CHARS, MAX_URL_CHARS, Url, UrlError, UrlReason, normalise

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PIECE = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_HOST_FORM = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_TWO_SLASHES = re.compile(r"https?://[^/\\]", re.IGNORECASE)
_SLASHES = re.compile(r"[/\\]{3}")
# What stands before the at sign may be gone after parsing.
_EMPTY_USER = re.compile(r"(?:[:/\\]|\A):?@")


@dataclass(frozen=True, slots=True)
class Difference:
    """Texts that the two read differently, by one example. An answer is None where that reader refuses the text."""

    text: str
    ours: str | None
    theirs: str | None
    why: str
    base: str | None = None


DIFFERENCES = {
    "other-scheme": Difference(
        "ftp://h.test/", None, "ftp://h.test/", "A URL, but none that a crawl asks for: only http and https are."
    ),
    "slashes": Difference(
        "http:/h.test/", None, "http://h.test/", "Without a base we repair nothing: a line of a queue has two slashes."
    ),
    "userinfo": Difference(
        "http://u:p@h.test/", None, "http://u:p@h.test/", "User information is refused, not sent and not recorded."
    ),
    "empty-userinfo": Difference(
        "http://@h.test/", None, "http://h.test/", "An at sign in the authority is user information, even if empty."
    ),
    "host-form": Difference(
        "http://a,b.test/",
        None,
        "http://a,b.test/",
        "The standard forbids some characters of a host and lets `,` or `*`, empty and endless labels pass; we ask for"
        " names that DNS can have.",
    ),
    "port-0": Difference("http://h.test:0/", None, "http://h.test:0/", "Nothing can listen there."),
    "too-long": Difference(
        "http://h.test/" + "a" * MAX_URL_CHARS, None, "http://h.test/" + "a" * MAX_URL_CHARS, "No server takes these."
    ),
    "newer-letters": Difference(
        "http://a\u1c89b.test/",
        None,
        "http://xn--ab-kur.test/",
        "Code points that Unicode 16 added, or allows since: ada's tables are older. They are refused, never mapped to"
        " another host.",
    ),
    "a-label": Difference(
        "http://xn--xn--/",
        "http://xn--xn--/",
        None,
        "UTS 46 (since revision 33) refuses labels that stand for nothing but ASCII, and the bidi rule some newer"
        " Arabic letters; ada's tables are older. What is asked for is the host exactly as it was written.",
    ),
    "slashes-and-base": Difference(
        "////o.test",
        "http://o.test/",
        None,
        "URL Standard 4.4, special authority ignore slashes state: all of them go. The second reader stops at two.",
        base="http://h.test/",
    ),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A URL in parts, without fragment and root dot. `target`: path and query, escapes of unreserved resolved."""

    scheme: str
    authority: str
    target: tuple[str, ...]


def pieces(target: str) -> tuple[str, ...]:
    """`target` octet by octet: RFC 3986 6.2.2 makes two of them equal that spell a URL differently."""
    return tuple(_piece(found) for found in _PIECE.findall(target))


def _piece(found: str) -> str:
    if len(found) == 1:
        return found
    char = chr(int(found[1:], 16))
    return char if char in _UNRESERVED else found.upper()


def ours(text: str, base: Url | None) -> Url | UrlReason:
    try:
        return normalise(text, base)
    except UrlError as error:
        return error.reason


def theirs(text: str, base: Url | None) -> rust.URL | None:
    try:
        return rust.URL.parse(text, None if base is None else rust.URL.parse(base.text))
    except (rust.URLError, UnicodeEncodeError):  # a lone surrogate is no text to Rust
        return None


def reading_of(url: rust.URL) -> Reading:
    host = (url.host_str or "").removesuffix(".")
    authority = host if url.port is None else f"{host}:{url.port}"
    target = url.path if url.query is None else f"{url.path}?{url.query}"
    return Reading(url.scheme, authority, pieces(target))


def difference(text: str, base: Url | None = None) -> str | None:
    """The name of the way in which the two readers differ on `text`, None if they agree.

    Raises AssertionError if they do in a way that is not in DIFFERENCES.
    """
    mine, other = ours(text, base), theirs(text, base)
    if isinstance(mine, Url):
        if other is None:
            return _only_ours(text, base, mine)
        assert Reading(mine.scheme, mine.authority, pieces(mine.target)) == reading_of(other), (text, mine, other)
        return None
    return None if other is None else _only_theirs(text, base, mine, other)


def _only_ours(text: str, base: Url | None, mine: Url) -> str:
    if base is not None and _SLASHES.match(_stripped(text)):
        return "slashes-and-base"
    assert "xn--" in mine.host, (text, mine)
    return "a-label"


def _only_theirs(text: str, base: Url | None, reason: UrlReason, other: rust.URL) -> str:
    stripped = _stripped(text)
    explained = {
        UrlReason.SCHEME: [("other-scheme", other.scheme not in ("http", "https"))],
        UrlReason.SYNTAX: [("slashes", base is None and not _TWO_SLASHES.match(stripped))],
        UrlReason.USERINFO: [
            ("userinfo", bool(other.username or other.password)),
            ("empty-userinfo", _EMPTY_USER.search(stripped) is not None),
        ],
        UrlReason.HOST: [
            ("host-form", not _HOST_FORM.fullmatch((other.host_str or "").removesuffix("."))),
            ("newer-letters", not _is_old(stripped)),
        ],
        UrlReason.PORT: [("port-0", other.port == 0)],
        UrlReason.TOO_LONG: [("too-long", len(str(other)) > MAX_URL_CHARS or len(stripped) > MAX_TEXT_CHARS)],
    }
    names = [name for name, holds in explained.get(reason, []) if holds]
    assert names, (text, base, reason, str(other))
    return names[0]


def _stripped(text: str) -> str:
    return re.sub("[\t\n\r]", "", text.strip("".join(map(chr, range(0x21)))))


def _is_old(text: str) -> bool:
    """Whether ada itself, without our rules, takes the text."""
    try:
        can_ada.parse(text)
    except ValueError:
        return False
    return True
