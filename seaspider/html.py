"""The links of an HTML page, by lxml; what they mean is decided in `seaspider.core`.

Reads a page as a stream of tags, not as a tree: libxml2 limits the depth of a tree and drops all that lies deeper.
XHTML is read as HTML. Scripts are not run, so noscript counts and what a script would write does not; the content of
template, comments and raw text (script, style, textarea, title, iframe, ...) gives no links.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from lxml import etree

from seaspider.core.charset import decode_page, is_binary, is_page_type
from seaspider.core.links import MAX_TEXT_CHARS, FoundLink, RawLink, find_links, refresh_href
from seaspider.core.robotstags import header_nofollow, meta_nofollow
from seaspider.core.urls import Url

# Before 2.14 libxml2 had a tokeniser of its own making: other links out of the same bytes.
if etree.LIBXML_VERSION < (2, 14):
    raise ImportError(f"lxml has to be built on libxml2 2.14 or newer, this one is on {etree.LIBXML_VERSION}")

MAX_LINKS = 100_000
"""Links of one page that are kept. A page of 32 MB can hold millions: gigabytes of memory, and a minute in which no
other host is asked."""

# libxml2 looks through all open elements at each of these tags, so a page can make it work quadratically.
_COSTLY_TAG = re.compile("</|<body", re.IGNORECASE)
# Open elements looked at before a page is given up; about one second. Counted, not timed: the same on every machine.
_MAX_WORK = 500_000_000
# So small that the elements a piece itself opens hardly count, however dense its tags.
_PIECE_CHARS = 512
_TEMPLATE_END = re.compile(r"</template(?=[\t\n\f\r />])", re.IGNORECASE)
# Their text is not the link's.
_MUTE = frozenset({"template", "script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"})

# The others start nothing that matters outside of a template.
_TELLING = _MUTE | {"a", "area", "base", "meta"}


class PageFlag(StrEnum):
    """What a reader of the links has to know."""

    BINARY_BODY = "binary-body"
    """Declared as a page, but the body is no text: no links are taken."""
    PARSE_LIMITED = "parse-limited"
    """The parser stopped early: the links up to there are given, later ones are missing."""
    LINKS_LIMITED = "links-limited"
    """More than MAX_LINKS links: the first are given, the others are missing."""


_IDLE: "list[tuple[etree.HTMLParser, _Collector]]" = []
"""Parsers that read a page to its end read the next: a new one looks at its target's signatures first, which takes
longer than a small page."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is known of a body. `charset` is the encoding's name, None if the body is no page."""

    charset: str | None
    is_html: bool
    nofollow: bool
    links: tuple[FoundLink, ...]
    flags: tuple[PageFlag, ...] = ()


def page_links(body: bytes, content_type: str, url: Url, x_robots_tags: Sequence[str], token: str) -> Page:
    """Links and page-level facts of the decoded body found at `url`, its final URL. Never raises for any bytes.

    `content_type` is the header's value, "" if there was none; `x_robots_tags` the values of all such headers; `token`
    our product token. Links are a[href], area[href] (text: its alt) and meta refresh (rel: refresh), in document order.
    """
    nofollow = header_nofollow(x_robots_tags, token)
    if not is_page_type(body, content_type):
        return Page(None, False, nofollow, ())
    if is_binary(body, content_type):
        return Page(None, False, nofollow, (), (PageFlag.BINARY_BODY,))
    charset, text = decode_page(body, content_type)
    parser, found = _IDLE.pop() if _IDLE else _new_parser()
    complete = _parse(text, parser, found)
    nofollow = nofollow or meta_nofollow(found.metas, token)
    links = find_links(found.raw_links(), url, found.base_href, charset, nofollow)
    overflowed = found.overflowed
    if complete:
        found.begin()
        _IDLE.append((parser, found))
    limits = {PageFlag.PARSE_LIMITED: not complete, PageFlag.LINKS_LIMITED: overflowed}
    return Page(charset, True, nofollow, links, tuple(flag for flag, holds in limits.items() if holds))


def _new_parser() -> "tuple[etree.HTMLParser, _Collector]":
    found = _Collector()
    # The stubs ask for a comment method and for bytes; lxml asks for neither.
    return etree.HTMLParser(target=found, encoding="utf-8", huge_tree=True), found  # type: ignore[arg-type]


def _parse(text: str, parser: etree.HTMLParser, found: "_Collector") -> bool:
    """Feed the text to the parser; False if it had to stop before the end."""
    work, before = 0, ""
    for piece in _pieces(text):
        # With the end of the piece before: a tag may begin there (some are counted twice, none is missed).
        costly = len(_COSTLY_TAG.findall(before + piece))
        before = piece[-4:]
        # At most so many elements are open while this piece is read.
        work += costly * (found.depth + piece.count("<"))
        if work > _MAX_WORK:
            parser.feed(_COSTLY_TAG.split(piece, maxsplit=1)[0])
            return False
        if _TEMPLATE_END.match(piece):
            parser.feed(found.closing_tags())
        parser.feed(piece)
        found.take_text()
    if text:
        parser.close()
        found.take_text()
    return True


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of bounded size; each end tag of a template begins one."""
    starts = [0, *(end.start() for end in _TEMPLATE_END.finditer(text)), len(text)]
    for start, stop in pairwise(starts):
        for position in range(start, stop, _PIECE_CHARS):
            yield text[position : min(position + _PIECE_CHARS, stop)]


class _OpenLink:
    """A link whose text is still being read."""

    __slots__ = ("counted", "href", "rel", "room", "uncounted", "words")

    def __init__(self, href: str, rel: str) -> None:
        self.href = href
        self.rel = rel
        self.words: list[str] = []
        self.room = MAX_TEXT_CHARS
        self.counted = self.uncounted = 0  # words counted, characters of the others

    def add(self, data: str) -> None:
        # Only white space is lost by tidying, so this many other characters are enough.
        if self.room > 0:
            self.words.append(data)
            self.uncounted += len(data)
            if self.uncounted >= self.room:
                self.room -= sum(len("".join(words.split())) for words in self.words[self.counted :])
                self.counted, self.uncounted = len(self.words), 0


class _Collector:
    """What the parser tells, kept as far as it matters for links (lxml's target interface)."""

    def __init__(self) -> None:
        self._text: list[str] = []
        # A method of ours would be called for each stretch of text between two tags, and most of them are of no link.
        self.data = self._text.append
        self.begin()

    def begin(self) -> None:
        """Another page comes."""
        self._text.clear()
        self.metas: list[tuple[str, str]] = []
        self.base_href: str | None = None
        self.depth = 0
        self.overflowed = False
        self._found: list[_OpenLink] = []
        self._reading: _OpenLink | None = None
        self._mute = 0
        self._templates = 0
        self._in_template: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        if tag not in _TELLING and not self._templates:
            return
        self.take_text()
        if tag in _MUTE:
            self._mute += 1
        if tag == "template":
            self._templates += 1
        if self._templates:
            self._in_template.append(tag)
        elif tag == "a":
            # A second a element ends the first (HTML 13.2.6.4.7), with or without an href.
            self._reading = self._link(attributes)
        elif tag == "area":
            area = self._link(attributes)
            if area is not None:
                area.add(attributes.get("alt", ""))
        elif tag == "base":
            if self.base_href is None:
                self.base_href = attributes.get("href")
        elif tag == "meta":
            self._meta(attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag not in _TELLING and not self._templates:
            return
        self.take_text()
        if tag in _MUTE:
            self._mute -= 1
        if self._templates:
            if self._in_template and self._in_template[-1] == tag:
                self._in_template.pop()
            if tag == "template":
                self._templates -= 1
        elif tag == "a":
            self._reading = None

    def take_text(self) -> None:
        """What came since the last tag that matters, or piece, is of the link that is being read, if any."""
        if self._reading is not None and not self._mute:
            for data in self._text:
                self._reading.add(data)
        self._text.clear()

    def close(self) -> None:
        """The parser asks for it; there is nothing to end."""

    def closing_tags(self) -> str:
        """End tags of all that is open in the innermost template.

        An open td or div keeps libxml2 from ending the template, and all later links would be taken for its content;
        in HTML a template ends whatever is open (13.2.6.4.4). Given once for each element: if they were lost, in a
        comment, they would be so again.
        """
        closing = []
        while self._in_template and self._in_template[-1] not in _MUTE:
            closing.append(f"</{self._in_template.pop()}>")
        return "".join(closing)

    def raw_links(self) -> Iterator[RawLink]:
        for link in self._found:
            yield RawLink(link.href, "".join(link.words), link.rel)

    def _link(self, attributes: Mapping[str, str]) -> _OpenLink | None:
        href = attributes.get("href")
        if href is None:
            return None
        return self._keep(_OpenLink(href, attributes.get("rel", "")))

    def _keep(self, link: _OpenLink) -> _OpenLink | None:
        if len(self._found) >= MAX_LINKS:
            self.overflowed = True
            return None
        self._found.append(link)
        return link

    def _meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content", "")
        if attributes.get("http-equiv", "").lower() == "refresh":
            href = refresh_href(content)
            if href is not None:
                self._keep(_OpenLink(href, "refresh"))
        if "name" in attributes:
            self.metas.append((attributes["name"], content))
