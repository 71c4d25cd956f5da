"""The links of an HTML page, read out of a tree: what `seaspider.html` finds in the stream, in half the time.

Decides whether the tree tells as much as the stream would. It does not where it was cut, for libxml2 limits its depth;
in a template, whose end it misses; and where a link stands in another, whose text it gives to both. Such a page is
left to the stream. Never looks at what the links mean.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from lxml import etree

from seaspider.core.links import RawLink, refresh_href

MAX_DEPTH: Final = 2048
"""Elements that may be open at a time; more than that, and the rest of the page is not in the tree."""
MUTE: Final = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"})
"""Elements that hold nothing but text which is not the link's."""

_TOLD: Final = ("a", "area", "base", "meta", "template")
_NESTED: Final = etree.XPath("boolean(//a/descendant::a)")
_HEARD: Final = etree.XPath(
    f"descendant::text()[not({' or '.join(f'parent::{tag}' for tag in sorted(MUTE))})]", smart_strings=False
)

# A tree is made for each page and freed. glibc would give its memory back to the system, and fetch it anew for the next
# page, if no block of this size had ever been freed: then it keeps up to twice as much (mallopt(3), M_MMAP_THRESHOLD).
_KEPT_BYTES: Final = len(bytes(16 * 1024 * 1024))


class Found(NamedTuple):
    """What a page says: its links in document order as RawLink has them, `metas` as name and content."""

    links: Sequence[tuple[str, str, str]]
    metas: list[tuple[str, str]]
    base_href: str | None


def read(text: str) -> Found | None:
    """What the page says; None if only the stream can tell."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, collect_ids=False, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(text.encode(), parser)
    # Where there is nothing but white space there is no root.
    if root is None or any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log) or _NESTED(root):
        return None
    # What comes after the end of html stands beside it.
    tops = (root, *root.itersiblings())
    interrupted = {link for top in tops for mute in top.iter(*MUTE) for link in mute.iterancestors("a")}
    links: list[tuple[str, str, str]] = []
    metas: list[tuple[str, str]] = []
    bases: list[str | None] = []
    for element in chain.from_iterable(top.iter(*_TOLD) for top in tops):
        tag, href = element.tag, element.get("href")
        if tag == "a":
            if href is not None:
                words = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
                links.append((href, _heard(element) if element in interrupted else words, element.get("rel", "")))
        elif tag == "area":
            if href is not None:
                links.append((href, element.get("alt", ""), element.get("rel", "")))
        elif tag == "meta":
            refresh, meta = of_meta(element.attrib)
            links += refresh
            metas += meta
        elif tag == "base":
            bases.append(href)
        else:
            return None
    return Found(links, metas, next((href for href in bases if href is not None), None))


def of_meta(attributes: Mapping[str, str]) -> tuple[list[RawLink], list[tuple[str, str]]]:
    """The link of a meta element if it is a refresh, and its name and content if it has a name."""
    content = attributes.get("content", "")
    href = refresh_href(content) if attributes.get("http-equiv", "").lower() == "refresh" else None
    refresh = [] if href is None else [RawLink(href, rel="refresh")]
    return refresh, [(attributes["name"], content)] if "name" in attributes else []


def _heard(link: Any) -> str:
    """The text of a link without that of mute elements."""
    heard: Any = _HEARD(link)
    return "".join(heard)
