"""The links of an HTML page, read out of a tree: what `seaspider.html` finds in the stream, in half the time.

Decides whether the tree tells as much as the stream would. It does not where it was cut, for libxml2 limits its depth;
in a template, whose end it misses; and where a link stands in another, whose text it gives to both. Such a page is
left to the stream. Never looks at what the links mean.
"""

from itertools import chain
from typing import Any, Final, NamedTuple

from lxml import etree

from seaspider.core.links import RawLink, refresh_href

MAX_DEPTH: Final = 2048
"""Elements that may be open at a time; more than that, and the rest of the page is not in the tree."""
MUTE: Final = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"})
"""Elements that hold nothing but text which is not the link's."""

_TOLD: Final = ("a", "area", "base", "meta", "template")
_IN_LINKS: Final = ("a", *MUTE)
_HEARD: Final = etree.XPath(
    f"descendant::text()[not({' or '.join(f'parent::{tag}' for tag in sorted(MUTE))})]", smart_strings=False
)


class Found(NamedTuple):
    """What a page says: its links in document order, `metas` as name and content."""

    links: list[RawLink]
    metas: list[tuple[str, str]]
    base_href: str | None


def read(text: str) -> Found | None:
    """What the page says; None if only the stream can tell."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(text.encode(), parser)
    # Where there is nothing but white space there is no root.
    if root is None or any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        return None
    links: list[RawLink] = []
    metas: list[tuple[str, str]] = []
    bases: list[str] = []
    # What comes after the end of html stands beside it.
    for element in chain.from_iterable(top.iter(*_TOLD) for top in (root, *root.itersiblings())):
        tag, get = element.tag, element.get
        if tag == "a":
            words = _words(element)
            if words is None:
                return None
            href = get("href")
            if href is not None:
                links.append(RawLink(href, words, get("rel", "")))
        elif tag == "area":
            href = get("href")
            if href is not None:
                links.append(RawLink(href, get("alt", ""), get("rel", "")))
        elif tag == "meta":
            href = refresh_href(get("content", "")) if get("http-equiv", "").lower() == "refresh" else None
            if href is not None:
                links.append(RawLink(href, "", "refresh"))
            if "name" in element.attrib:
                metas.append((get("name", ""), get("content", "")))
        elif tag == "template":
            return None
        elif "href" in element.attrib:
            bases.append(get("href", ""))
    return Found(links, metas, bases[0] if bases else None)


def _words(link: Any) -> str | None:
    """The text of a link; None if another stands in it."""
    if len(link):
        for inner in link.iter(*_IN_LINKS):
            if inner is not link:
                heard: Any = _HEARD(link)
                return None if inner.tag == "a" or link.find(".//a") is not None else "".join(heard)
    return etree.tostring(link, method="text", encoding="unicode", with_tail=False)
