"""What a page's links point to, and which of them are followed.

Decides the base URL of a page (HTML 2.4.1, 4.2.3), the target of each href (URL Standard, with the query in the page's
encoding), the target of a meta refresh (HTML 4.2.5.3), and for each link `followed` or the one reason why not. Never
looks at markup, at robots.txt or at addresses: a followed link is only a URL that waits for its turn.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import can_ada

from seaspider.core.charset import query_codec
from seaspider.core.credentials import without_userinfo
from seaspider.core.plainlinks import plain_links
from seaspider.core.urls import Url, UrlError, normalise

MAX_TEXT_CHARS = 200
MAX_WRITTEN_CHARS = 2000

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
# C0 but for white space, DEL and C1: no text, and no XML feed could hold them.
_CONTROLS = dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace())
_TAB_OR_NEWLINE = re.compile(r"[\t\n\r]")
# URL Standard 1.3: the special-query percent-encode set.
_QUERY_ENCODED = frozenset({*range(0x21), *b"\"#<>'", *range(0x7F, 0x100)})
# HTML 4.2.5.3: a time, a separator, then the URL with or without `url=`.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|(?=\.)[0-9.]++)(?:[\t\n\f\r ]++[;,]?|[;,])[\t\n\f\r ]*+(.*)\Z", re.DOTALL
)
_REFRESH_URL = re.compile(r"url[\t\n\f\r ]*+=[\t\n\f\r ]*+", re.IGNORECASE)


class LinkReason(StrEnum):
    """Why a link is not followed."""

    SCHEME = "scheme"
    OFF = "off"
    OTHER_HOST = "other-host"
    NOFOLLOW = "nofollow"
    DEPTH = "depth"
    DUPLICATE = "duplicate"
    MAX_PAGES = "max-pages"


class FollowMode(StrEnum):
    OFF = "off"
    HOST = "host"


# Of these three there may be 100,000 in a page: a tuple is made three times as fast as a frozen dataclass.
class RawLink(NamedTuple):
    """A link as it stands in the page: `href` with character references decoded, `rel` and `text` not yet tidied."""

    href: str
    text: str = ""
    rel: str = ""


class FoundLink(NamedTuple):
    """A link of a page, `n` counting from 1 in document order.

    `url` is the target's text, or, where there is no http(s) target, the href as written but for its user information,
    at most 2000 characters of it (control characters included: they are the JSON writer's to escape). `text` and `rel`
    are at most 200 characters.
    """

    n: int
    url: str
    target: Url | None
    text: str
    rel: str
    nofollow: bool


class LinkRow(NamedTuple):
    """A link and its fate: `reason` is None exactly if it is followed."""

    link: FoundLink
    reason: LinkReason | None

    @property
    def followed(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class FollowPolicy:
    mode: FollowMode
    max_depth: int
    """Depth of the deepest page that is followed to; a queue line has depth 0."""
    max_pages: int
    """Followed pages of the whole store."""


def document_base(page: Url, href: str | None, charset: str) -> Url | None:
    """What relative links resolve against; `href` is that of the first base element that has one.

    A base that cannot be parsed, or is a javascript: or data: URL, is as if it were not there (HTML 4.2.3). None: the
    base is a URL, but none that can be asked for (ftp:, user information), so neither can what is relative to it.
    """
    if href is None:
        return page
    try:
        parsed = can_ada.parse(page.text) + href
    except (ValueError, TypeError):  # TypeError: a lone surrogate is no text to the parser
        return page
    if parsed.protocol in ("javascript:", "data:"):
        return page
    return resolve(href, page, charset)


def resolve(href: str, base: Url | None, charset: str) -> Url | None:
    """The http(s) target of an href as written in a page of that encoding, or None if it has none."""
    codec = None if href.isascii() else query_codec(charset)
    try:
        return normalise(href if codec is None else _encode_query(href, codec), base)
    except UrlError:
        return None


def refresh_href(content: str) -> str | None:
    """The URL, as written, of a meta refresh's content; None if it is no refresh or reloads the page itself."""
    found = _REFRESH.match(content)
    if found is None:
        return None
    written = found[1]
    prefix = _REFRESH_URL.match(written)
    if prefix is not None:
        written = written[prefix.end() :]
    quote = written[:1]
    if quote in ('"', "'"):
        written = written[1:].partition(quote)[0]
    return written.strip(_C0_AND_SPACE) or None


def find_links(
    raw_links: Iterable[tuple[str, str, str]], page: Url, base_href: str | None, charset: str, page_nofollow: bool
) -> tuple[FoundLink, ...]:
    """The links of the page at `page`, in the order given; `raw_links` as RawLink has them.

    `ugc` and `sponsored` are no `nofollow`.
    """
    base = document_base(page, base_href, charset)
    plain = plain_links(base) if base is not None else lambda _: None
    links = []
    for n, (href, text, rel) in enumerate(raw_links, start=1):
        target = plain(href) or resolve(href, base, charset)
        url = without_userinfo(href)[:MAX_WRITTEN_CHARS] if target is None else target.text
        tokens = rel.lower().split() if rel else ()
        nofollow = page_nofollow or "nofollow" in tokens
        links.append(FoundLink(n, url, target, tidy_text(text), " ".join(tokens)[:MAX_TEXT_CHARS], nofollow))
    return tuple(links)


def tidy_text(text: str) -> str:
    """Runs of white space made one blank, none at the ends, no control characters, at most 200 characters."""
    shown = text if text.isprintable() else text.translate(_CONTROLS)
    return " ".join(shown.split())[:MAX_TEXT_CHARS].rstrip()


def decide(
    links: Iterable[FoundLink],
    policy: FollowPolicy,
    *,
    visit: Url,
    page: Url,
    depth: int,
    followed: int,
    seen: Callable[[str], bool],
) -> tuple[tuple[LinkRow, ...], int]:
    """A row for each link, and how many of them are followed.

    `visit` is the URL the visit began with, `page` its final URL, `depth` its depth, `followed` the followed pages of
    the store so far, `seen` says whether a normalised URL is known already. One reason a link, the first that holds of:
    scheme, off, other-host, nofollow, depth, duplicate, max-pages. The first four speak of the link and the page, depth
    of the place in the crawl; the last two depend on what was followed before, and a known URL is not charged.
    """
    if policy.mode is FollowMode.OFF:
        scheme, off = LinkReason.SCHEME, LinkReason.OFF
        return tuple([LinkRow(link, scheme if link.target is None else off) for link in links]), 0
    taken = {visit.text, page.text}
    rows = []
    room = policy.max_pages - followed
    newly = 0
    for link in links:
        reason = _standing_reason(link, policy, visit, page, depth)
        if reason is None:
            if link.url in taken or seen(link.url):
                reason = LinkReason.DUPLICATE
            elif newly >= room:
                reason = LinkReason.MAX_PAGES
            else:
                taken.add(link.url)
                newly += 1
        rows.append(LinkRow(link, reason))
    return tuple(rows), newly


def _standing_reason(link: FoundLink, policy: FollowPolicy, visit: Url, page: Url, depth: int) -> LinkReason | None:
    """The reason that does not depend on which links were followed before."""
    if link.target is None:
        return LinkReason.SCHEME
    # A redirect to another host ended the walk: that host was not asked for.
    if page.host != visit.host or link.target.host != page.host:
        return LinkReason.OTHER_HOST
    if link.nofollow:
        return LinkReason.NOFOLLOW
    return LinkReason.DEPTH if depth >= policy.max_depth else None


def _encode_query(href: str, codec: str) -> str:
    """`href` without the text of its fragment, its query percent-encoded from the page's encoding (URL 1.3, 4.4).

    A character the encoding lacks becomes a decimal reference, `&#1234;`, with its punctuation percent-encoded. The
    mark of the fragment stays: what stands before it is not stripped.
    """
    before, fragment_mark, _ = _TAB_OR_NEWLINE.sub("", href.strip(_C0_AND_SPACE)).partition("#")
    path, mark, query = before.partition("?")
    octets = "".join(char if _has(codec, char) else f"%26%23{ord(char)}%3B" for char in query).encode(codec)
    encoded = "".join(f"%{octet:02X}" if octet in _QUERY_ENCODED else chr(octet) for octet in octets)
    return path + mark + encoded + fragment_mark


def _has(codec: str, char: str) -> bool:
    if char < "\x80":
        return True
    try:
        char.encode(codec)
    except UnicodeEncodeError:
        return False
    return True
