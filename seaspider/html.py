"""The links of an HTML page, by lxml; what they mean is decided in `seaspider.core`.

Reads a page as a tree if that tells all (`seaspider.htmltree`), else as a stream of tags.
XHTML is read as HTML. Scripts are not run, so noscript counts and what a script would write does not; the content of
template, comments and raw text (script, style, textarea, title, iframe, ...) gives no links.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from lxml import etree

from seaspider import htmltree
from seaspider.core.charset import decode_page, is_binary, is_page_type
from seaspider.core.links import MAX_TEXT_CHARS, FoundLink, RawLink, find_links, tidy_text
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
# Of a page read as a tree: 150 MB if it is all attributes.
_MAX_TREE_CHARS = 2_000_000
# So small that the elements a piece itself opens hardly count, however dense its tags.
_PIECE_CHARS = 512
_TEMPLATE_END = re.compile(r"</template(?=[\t\n\f\r />])", re.IGNORECASE)
# Their text is not the link's.
_MUTE = htmltree.MUTE | {"template"}


class PageFlag(StrEnum):
    """What a reader of the links has to know."""

    BINARY_BODY = "binary-body"
    """Declared as a page, but the body is no text: no links are taken."""
    PARSE_LIMITED = "parse-limited"
    """The parser stopped early: the links up to there are given, later ones are missing."""
    LINKS_LIMITED = "links-limited"
    """More than MAX_LINKS links: the first are given, the others are missing."""


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
    found, flags = _read(text)
    nofollow = nofollow or meta_nofollow(found.metas, token)
    return Page(charset, True, nofollow, find_links(found.links, url, found.base_href, charset, nofollow), flags)


def _read(text: str) -> tuple[htmltree.Found, tuple[PageFlag, ...]]:
    # A tree takes room for each tag and attribute, and no more time than this for each tag.
    if len(text) <= _MAX_TREE_CHARS and text.count("<") * htmltree.MAX_DEPTH <= _MAX_WORK:
        found = htmltree.read(text)
        if found is not None and len(found.links) <= MAX_LINKS:
            return found, ()
    stream = _Collector()
    complete = _parse(text, stream)
    limits = {PageFlag.PARSE_LIMITED: not complete, PageFlag.LINKS_LIMITED: stream.overflowed}
    return stream.found(), tuple(flag for flag, holds in limits.items() if holds)


def _parse(text: str, found: "_Collector") -> bool:
    """Feed the text to the parser; False if it had to stop before the end."""
    # The stubs ask for a comment method and for bytes; lxml asks for neither.
    parser = etree.HTMLParser(target=found, encoding="utf-8", huge_tree=True)  # type: ignore[arg-type]
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
    if text:
        parser.close()
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
        # This many characters that tidying leaves are enough.
        if self.room > 0:
            self.words.append(data)
            self.uncounted += len(data)
            if self.uncounted >= self.room:
                tidied = map(tidy_text, self.words[self.counted :])
                self.room -= sum(len(words) - words.count(" ") for words in tidied)
                self.counted, self.uncounted = len(self.words), 0


class _Collector:
    """What the parser tells, kept as far as it matters for links (lxml's target interface)."""

    def __init__(self) -> None:
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
        if tag in _MUTE:
            self._mute -= 1
        if self._templates:
            if self._in_template and self._in_template[-1] == tag:
                self._in_template.pop()
            if tag == "template":
                self._templates -= 1
        elif tag == "a":
            self._reading = None

    def data(self, data: str) -> None:
        if self._reading is not None and not self._mute:
            self._reading.add(data)

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

    def found(self) -> htmltree.Found:
        links = [RawLink(link.href, "".join(link.words), link.rel) for link in self._found]
        return htmltree.Found(links, self.metas, self.base_href)

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
        refresh, metas = htmltree.of_meta(attributes)
        for link in refresh:
            self._keep(_OpenLink(link.href, link.rel))
        self.metas += metas
