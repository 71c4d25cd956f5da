"""One form of a URL: decided once, checked against robots.txt, sent and recorded exactly so.

Decides whether a text is a URL that a crawl may ask for, and what its one spelling is. Never looks a name up, never
judges an address (that is `addresses`), never guesses a missing scheme.

Parsing and host mapping are the WHATWG URL Standard's (UTS 46, non-transitional: `faß.test` stays another host than
`fass.test`), done by can_ada. On top of it, RFC 3986 6.2.2 and our own rules:

* only http and https; user information, even an empty one, is refused; the fragment is dropped;
* percent escapes are upper-case and those of unreserved characters are decoded (RFC 3986 6.2.2.1, 6.2.2.2);
* one trailing root dot of the host is dropped; a host is letters, digits, `-` and `_` in labels of 1 to 63 and at most
  253 characters in all (RFC 1035 2.3.4; `_` is common in the wild), or an IP literal;
* query order, `+`, `%20`, an empty `?`, double and trailing slashes stay: they may name different pages;
* without a base a text has to begin with `http://` or `https://` and a host: `http:/h/a`, `http:///a` and `http:\\\\h`,
  which browsers repair, are a `syntax` error. With a base (Location, href) they resolve as in browsers.
"""

import re
from enum import StrEnum
from itertools import product
from typing import NamedTuple

import can_ada

from seaspider.core.credentials import without_userinfo_anywhere

# RFC 9110 4.1 asks for at least 8000 octets; most servers refuse longer request lines than this.
MAX_URL_CHARS = 8192
# A longer text is not even parsed. It may shrink (fragment, dot segments, escapes), hence the room.
MAX_TEXT_CHARS = 65_536

_DEFAULT_PORTS = {"http": 80, "https": 443}
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_HEX_DIGITS = b"0123456789ABCDEFabcdef"

_TAB_OR_NEWLINE = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ABSOLUTE = re.compile(r"https?://[^/\\]", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):([/\\]*)|[/\\]{2,})([^/\\?#]*)")
_HOST_AND_PORT = re.compile(r"(?:\[[^\]]*\]|[^:\[]*):(.*)", re.DOTALL)
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_CAPITAL_SHARP_S = re.compile("\u1e9e|%E1%BA%9E", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


class UrlReason(StrEnum):
    """Why a text is not a URL that can be asked for."""

    MISSING_SCHEME = "missing-scheme"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    HOST = "host"
    PORT = "port"
    SYNTAX = "syntax"
    ENCODING = "encoding"
    TOO_LONG = "too-long"


class UrlError(ValueError):
    """A text that is not a usable URL. `reason` is a closed vocabulary, `text` the text as it was given."""

    def __init__(self, reason: UrlReason, text: str) -> None:
        super().__init__(reason, text)
        self.reason = reason
        self.text = text

    def __str__(self) -> str:
        text = without_userinfo_anywhere(self.text)
        shown = text if len(text) <= 200 else text[:200] + "..."
        return f"not a usable URL ({self.reason}): {shown!a}"


# There may be 100,000 in a page: a tuple is made three times as fast as a frozen dataclass.
class Url(NamedTuple):
    """A normalised URL: printable ASCII without spaces. Made by `normalise` only."""

    text: str
    """Exactly what is sent and recorded."""
    scheme: str
    """`http` or `https`."""
    host: str
    """Lower-case ASCII name or address, IPv6 without brackets."""
    port: int
    """1 to 65535, the default written out."""
    target: str
    """Path and query as in the request line; begins with a slash."""

    @property
    def authority(self) -> str:
        """Host and port as in the Host header: IPv6 in brackets, a default port left out."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme and authority: what one robots.txt speaks for (RFC 9309 2.3)."""
        return f"{self.scheme}://{self.authority}"


def normalise(text: str, base: Url | None = None) -> Url:
    """The one spelling of `text`, resolved against `base` if given (WHATWG URL Standard, section 4.4).

    Raises UrlError, and nothing else, for any text. Idempotent: normalise(normalise(x).text) == normalise(x).
    """
    href = _parse(text, base)
    scheme, _, rest = href.partition("://")
    netloc, slash, path = rest.partition("/")
    # One root dot. The serialised netloc has a dot before a colon nowhere else: its IPv6 is written in hex.
    netloc = netloc.removesuffix(".").replace(".:", ":")
    host, port = _host_and_port(netloc, _DEFAULT_PORTS[scheme], text)
    target = slash + path
    if "%" in target:
        target = _unescape(target)
    normalised = f"{scheme}://{netloc}{target}"
    if len(normalised) > MAX_URL_CHARS:
        raise UrlError(UrlReason.TOO_LONG, text)
    return Url(normalised, scheme, host, port, target)


def _parse(text: str, base: Url | None) -> str:
    """The WHATWG serialisation of `text` without its fragment; the scheme is http or https."""
    cleaned = text.strip(_C0_AND_SPACE)
    if not cleaned.isprintable():
        cleaned = _TAB_OR_NEWLINE.sub("", cleaned)
    fault = _fault(cleaned, base)
    if fault is not None:
        raise UrlError(fault, text)
    if ("%" in cleaned or not cleaned.isascii()) and _CAPITAL_SHARP_S.search(cleaned):
        cleaned = _map_capital_sharp_s(cleaned, base)
    try:
        parsed = can_ada.parse(cleaned) if base is None else can_ada.parse(base.text) + cleaned
    except ValueError:
        raise UrlError(_authority_fault(_authority(cleaned, base)), text) from None
    return parsed.href.partition("#")[0]


def _fault(cleaned: str, base: Url | None) -> UrlReason | None:
    """What can be said before parsing; None if nothing is wrong so far."""
    if base is not None or not _ABSOLUTE.match(cleaned):
        scheme = _SCHEME.match(cleaned)
        if scheme is None:
            if base is None:
                return UrlReason.MISSING_SCHEME
        elif scheme[1].lower() not in _DEFAULT_PORTS:
            return UrlReason.SCHEME
        elif base is None:
            return UrlReason.SYNTAX
    if len(cleaned) > MAX_TEXT_CHARS:
        return UrlReason.TOO_LONG
    if not cleaned.isascii() and any("\ud800" <= char <= "\udfff" for char in cleaned):
        return UrlReason.ENCODING
    # An empty user information is gone after parsing, so it is looked for here.
    if "@" in cleaned and "@" in _authority(cleaned, base):
        return UrlReason.USERINFO
    return None


def _authority(cleaned: str, base: Url | None) -> str:
    """The authority as written, also where there are more or fewer slashes than two; "" if there is none."""
    start, end = _authority_span(cleaned, base)
    return cleaned[start:end]


def _authority_span(cleaned: str, base: Url | None) -> tuple[int, int]:
    found = _AUTHORITY.match(cleaned)
    if found is None:
        return 0, 0
    # The base's own scheme and less than two slashes: a path (special relative or authority state).
    if base is not None and found[1] is not None and found[1].lower() == base.scheme and len(found[2]) < 2:
        return 0, 0
    return found.span(3)


def _authority_fault(authority: str) -> UrlReason:
    """Which half of the authority made the parser give up: nothing else of an http URL can."""
    found = _HOST_AND_PORT.fullmatch(authority)
    port = found[1].lstrip("0") if found else ""
    is_port = port == "" or (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535)
    return UrlReason.HOST if is_port else UrlReason.PORT


def _host_and_port(netloc: str, default_port: int, text: str) -> tuple[str, int]:
    """Host without brackets, and port, of a serialised authority. Raises UrlError naming `text`."""
    if netloc.startswith("["):
        host, _, port = netloc[1:].partition("]")
        port = port[1:]
    else:
        host, _, port = netloc.partition(":")
        if not _HOST_NAME.fullmatch(host):
            raise UrlError(UrlReason.HOST, text)
    if port == "0":
        # Nothing can listen there.
        raise UrlError(UrlReason.PORT, text)
    return host, int(port) if port else default_port


def _map_capital_sharp_s(cleaned: str, base: Url | None) -> str:
    """`cleaned` with U+1E9E of its host as ß, as UTS 46 maps it since Unicode 15.1.

    The parser's older tables make it `ss`, which is another host.
    """
    start, end = _authority_span(cleaned, base)
    return cleaned[:start] + _CAPITAL_SHARP_S.sub("ß", cleaned[start:end]) + cleaned[end:]


def _escape_table(kept: bytes) -> dict[str, str]:
    """Every spelling of every percent escape -> the character if it is in `kept`, else the upper-case escape."""
    table = {}
    for code in range(256):
        plain = chr(code) if code in kept else f"%{code:02X}"
        digits = f"{code:02x}"
        for high, low in product((digits[0], digits[0].upper()), (digits[1], digits[1].upper())):
            table[f"%{high}{low}"] = plain
    return table


_PLAIN = _escape_table(_UNRESERVED)
_PLAIN_NO_HEX = _escape_table(bytes(set(_UNRESERVED) - set(_HEX_DIGITS)))


def _unescape(target: str) -> str:
    """`target` with its escapes upper-case and those of unreserved characters decoded.

    Beside a stray `%` an escaped hex digit stays escaped: decoding `%%32e` would give `%2e`, a new escape and in the
    end another page.
    """
    table = _PLAIN_NO_HEX if _STRAY_PERCENT.search(target) else _PLAIN
    return _ESCAPE.sub(lambda escape: table[escape[0]], target)


def spellings() -> dict[bytes, bytes]:
    """Every percent escape -> as a normalised URL has it, where all escapes are well-formed."""
    return {escape.encode(): spelled.encode() for escape, spelled in _PLAIN.items()}


def host_of(url: str) -> str:
    """The host of a URL or origin as `normalise` and the records spell them: IPv6 without brackets. Empty if it is
    none."""
    netloc = url.partition("://")[2].partition("/")[0]
    return netloc[1:].partition("]")[0] if netloc.startswith("[") else netloc.partition(":")[0]
