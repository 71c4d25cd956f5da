"""The items a crawl yields: a Page for each visit that ended, and a Link for each link if a feed asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from typing import Any, TypeAlias

from seaspider.core.links import LinkRow
from seaspider.core.records import FORMAT, quoted

Octets: TypeAlias = bytes  # Page has a field of that name

_BOOL = {False: "false", True: "true"}


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

    def line(self) -> bytes:
        """As to_line writes it, five times as fast: there may be 100,000 in a page."""
        reason = "null" if self.reason is None else quoted(self.reason)
        return (
            f'{{"v":{self.v},"run":{self.run},"visit":{self.visit},"page":{quoted(self.page)},"n":{self.n},'
            f'"url":{quoted(self.url)},"text":{quoted(self.text)},"rel":{quoted(self.rel)},'
            f'"nofollow":{_BOOL[self.nofollow]},"followed":{_BOOL[self.followed]},"reason":{reason}}}\n'
        ).encode("ascii")


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
        self.link_items = [
            Link(
                v=FORMAT,
                run=self.run,
                visit=self.visit,
                page=self.final_url,
                n=row.link.n,
                url=row.link.url,
                text=row.link.text,
                rel=row.link.rel,
                nofollow=row.link.nofollow,
                followed=row.followed,
                reason=row.reason,
            )
            for row in rows
        ]


_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (Page, Link)}


def record(item: Page | Link) -> dict[str, Any]:
    """The item's fields, in the order of the store."""
    return {name: getattr(item, name) for name in _NAMES[Page if isinstance(item, Page) else Link]}
