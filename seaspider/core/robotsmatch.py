"""How one robots.txt rule and one URL compare (RFC 9309, section 2.2.2).

Decides what a pattern matches and how specific it is. Never decides which group applies, never resolves dot segments
or backslashes (the URL is normalised before it gets here) and never builds a regular expression from a pattern: each
part between two stars is searched once, from where the part before it ended.

Both sides are brought to one spelling: escapes of unreserved octets are decoded, all other octets are escaped, except
the raw delimiters `/`, `?` and `;`, which are not the same as their escapes. In a query, though, section 2.2.2 equates
`/` and `%2F`, so a pattern with a query matches under either spelling: of two readings the one that fetches less.
"""

import re
from dataclasses import dataclass
from typing import Final

_ESCAPE = rb"%[0-9A-Fa-f]{2}"
# What has to be respelled: an escape, or a raw octet that may not stay raw. A malformed escape stays as it is.
_IN_URL = re.compile(_ESCAPE + rb"|[^0-9A-Za-z._~/?;%-]")
_IN_RULE = re.compile(_ESCAPE + rb"|[^0-9A-Za-z._~/?;%*:@!$&'()+,=\[\]-]")
_RAW_RESERVED = re.compile(rb"[:@!$&'()+,=\[\]]")
_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_SPELLING: Final = tuple(bytes([octet]) if octet in _UNRESERVED else b"%%%02X" % octet for octet in range(256))
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


@dataclass(frozen=True, slots=True)
class Target:
    """What of a URL rules are matched against: path and query in the common spelling, and with the query decoded."""

    plain: bytes
    query_decoded: bytes


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule's path pattern, ready to match.

    `written` is the value in ASCII: what has to be escaped is, escapes of unreserved octets are not, all else stands
    as written; its length is how specific the pattern is. Patterns with equal `compared` are equivalent.
    """

    written: bytes
    compared: bytes
    anchored: bool
    parts: tuple[bytes, ...]
    parts_query_decoded: tuple[bytes, ...] | None

    def matches(self, target: Target) -> bool:
        """Whether this pattern matches `target` from its first octet on. Time: at most pattern length x URL length."""
        if _matches(self.parts, self.anchored, target.plain):
            return True
        decoded = self.parts_query_decoded
        return decoded is not None and _matches(decoded, self.anchored, target.query_decoded)


def target_of(url: str) -> Target:
    """The path and query of `url`, an absolute URL or a bare path. Never raises: what is odd is escaped."""
    plain = _IN_URL.sub(_respell, request_target(url).encode("utf-8", "surrogatepass"))
    return Target(plain, _decode_query(plain))


def request_target(url: str) -> str:
    """Path and query of `url` as they stand in it, without scheme, authority and fragment; at least `/`."""
    without_fragment = url.partition("#")[0]
    authority = _AUTHORITY.match(without_fragment)
    target = without_fragment[authority.end() :] if authority else without_fragment
    return target if target.startswith("/") else "/" + target


def pattern_of(value: bytes) -> Pattern | None:
    """The pattern that a rule's value means; None if it can match no URL (empty, or no `/` or `*` at its start)."""
    if not value.startswith((b"/", b"*")):
        return None
    written = _IN_RULE.sub(_respell, value)
    anchored = written.endswith(b"$")
    compared = _RAW_RESERVED.sub(_respell, written[:-1] if anchored else written)
    return Pattern(
        written=written,
        compared=compared + b"$" if anchored else compared,
        anchored=anchored,
        parts=_split(compared),
        parts_query_decoded=_split(_decode_query(compared)) if b"?" in compared else None,
    )


def _respell(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return _SPELLING[int(found[1:], 16) if len(found) == 3 else found[0]]


def _decode_query(spelled: bytes) -> bytes:
    path, mark, query = spelled.partition(b"?")
    return path + mark + query.replace(b"%2F", b"/").replace(b"%3F", b"?").replace(b"%3B", b";")


def _split(spelled: bytes) -> tuple[bytes, ...]:
    return tuple(re.sub(rb"\*+", b"*", spelled).split(b"*"))


def _matches(parts: tuple[bytes, ...], anchored: bool, target: bytes) -> bool:
    """Leftmost search, part by part: where a later part fits at all, it fits after the leftmost fit of those before."""
    head, last = parts[0], parts[-1]
    if not target.startswith(head):
        return False
    position = len(head)
    if len(parts) == 1:
        return not anchored or len(target) == position
    for part in parts[1:-1]:
        found = target.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    if anchored:
        return len(target) - len(last) >= position and target.endswith(last)
    return target.find(last, position) >= 0
