"""The items a crawl yields: a Page for each visit that ended, and a Link for each link if a feed asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from functools import cached_property
from json import dumps
from typing import Any, TypeAlias

from seaspider.core.links import LinkReason, LinkRow
from seaspider.core.records import FORMAT, quoted, to_line

Octets: TypeAlias = bytes  # Page has a field of that name

# How the line of a link ends: what of it has few values.
_ENDS = {
    (nofollow, reason): f',"nofollow":{dumps(nofollow)},"followed":{dumps(reason is None)},"reason":{dumps(reason)}}}\n'
    for nofollow in (False, True)
    for reason in (None, *LinkReason)
}


@dataclass(slots=True)
class Link:
    """A line of links.jsonl."""

    v: int
    run: int
    visit: int
    page: str
    n: int
    url: str
    text: str
    rel: str
    nofollow: bool
    followed: bool
    reason: str | None


@dataclass
class Page:
    """A line of pages.jsonl, with the body and the links that are written before it.

    `content` (None: nothing was stored) and `rows` are no fields, so feeds export the record alone.
    """

    v: int
    run: int
    visit: int
    url: str
    line: int | None
    depth: int
    via: str | None
    outcome: str
    reason: str | None
    status: int | None
    final_url: str
    chain: list[dict[str, Any]]
    content_type: str | None
    charset: str | None
    bytes: int | None
    sha256: str | None
    links: int | None
    nofollow: bool | None
    flags: list[str]
    attempts: int
    not_before: str | None
    started_at: str
    ended_at: str
    content: InitVar[Octets | None] = None
    rows: InitVar[Sequence[LinkRow]] = ()

    def __post_init__(self, content: Octets | None, rows: Sequence[LinkRow]) -> None:
        self.body = content
        self._rows = rows

    @property
    def followed(self) -> list[str]:
        """The URLs of the links that are followed."""
        return [row.link.url for row in self._rows if row.reason is None]

    @cached_property
    def link_items(self) -> list[Link]:
        head = FORMAT, self.run, self.visit, self.final_url
        return [
            Link(*head, each.n, each.url, each.text, each.rel, each.nofollow, reason is None, reason)
            for each, reason in self._rows
        ]

    def link_lines(self) -> Octets:
        """What to_line makes of the links, in a tenth of the time: there may be 100,000 in a page."""
        head = to_line({"run": self.run, "visit": self.visit, "page": self.final_url}).decode().removesuffix("}\n")
        lines = [
            f'{head},"n":{n},"url":{quoted(url)},"text":{quoted(text)},"rel":{quoted(rel)}{_ENDS[flag, reason]}'
            for (n, url, _, text, rel, flag), reason in self._rows
        ]
        return "".join(lines).encode("ascii")


_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (Page, Link)}


def record(item: Page | Link) -> dict[str, Any]:
    """The item's fields, in the order of the store."""
    return {name: getattr(item, name) for name in _NAMES[Page if isinstance(item, Page) else Link]}
