"""The lines of links.jsonl that belong to a page record, and whether each link was followed as the settings say.

Decides by the URLs, the settings and what was known to the crawl by then; that the links are those of the page's body
is not looked at. Raises Refuted at the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seaspider.core.links import MAX_TEXT_CHARS, MAX_WRITTEN_CHARS, FollowMode, LinkReason
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.journal import Row
from seaspider.verify.orderfacts import Lines, Policy, fingerprint, parsed
from seaspider.verify.orderpast import Past
from seaspider.verify.proof import Refuted


@dataclass(frozen=True, slots=True)
class _Page:
    row: Row
    visit: Url
    final: Url
    depth: int


class LinkCheck:
    """The links of one run. `known`: digests of the URLs queued and followed, kept up to date by the walk.

    `whole`: `known` has all there are; else a URL of the queue that never had its turn may be missing.
    """

    def __init__(self, policy: Policy, past: Past, lines: Lines[Row], known: set[int], *, whole: bool) -> None:
        self._policy = policy
        self._past = past
        self._lines = lines
        self._known = known
        self._whole = whole
        self.followed = len(past.followed)
        self.checked = 0

    def of_page(self, row: Row, run: int) -> list[str]:
        """Takes the lines of a page record and returns the URLs that are followed."""
        count = row.optional("links", int)
        found = list(self._taken(row, run, count or 0))
        later = self._lines.peek(run)
        if later is not None and later.get("visit", int) == row.get("visit", int):
            raise Refuted(later.place, f"visit {row.get('visit', int)} has more links than {row.place} counts: {count}")
        if not found:
            return []
        page = _Page(
            row,
            parsed(row.place, row.get("url", str)),
            parsed(row.place, row.get("final_url", str)),
            row.get("depth", int),
        )
        taken = {page.visit.text, page.final.text}
        followed: list[str] = []
        for link in found:
            if self._is_followed(link, page, taken, room=self._policy.max_pages - self.followed - len(followed)):
                taken.add(link.get("url", str))
                followed.append(link.get("url", str))
        self.followed += len(followed)
        return followed

    def _taken(self, row: Row, run: int, count: int) -> Iterator[Row]:
        visit, page = row.get("visit", int), row.get("final_url", str)
        for n in range(1, count + 1):
            link = self._lines.peek(run)
            if link is None or link.get("visit", int) != visit:
                where = row.place if link is None else link.place
                raise Refuted(where, f"link {n} of {count} of visit {visit} ({row.place}) is missing")
            if (link.get("n", int), link.get("page", str)) != (n, page):
                raise Refuted(link.place, f"is not link {n} of {page}, which comes next")
            self.checked += 1
            yield self._lines.take()

    def _is_followed(self, link: Row, page: _Page, taken: set[str], room: int) -> bool:
        followed, reason = link.get("followed", bool), link.optional("reason", str)
        url = link.get("url", str)
        expected = self._standing_reason(link, url, page)
        if expected is None:
            seen = url in taken or self._seen(url)
            unsure = not seen and (not self._whole or fingerprint(url) in self._past.failed)
            if unsure and reason == LinkReason.DUPLICATE:
                return False
            expected = LinkReason.DUPLICATE if seen else LinkReason.MAX_PAGES if room < 1 else None
        if reason != expected or followed != (expected is None):
            said = "followed" if followed else f"not followed ({reason})"
            raise Refuted(link.place, f"{url} is {said}, by the settings it is {expected or 'followed'}")
        return followed

    def _seen(self, url: str) -> bool:
        digest = fingerprint(url)
        return digest in self._known or (digest in self._past.done and digest not in self._past.failed)

    def _standing_reason(self, link: Row, url: str, page: _Page) -> LinkReason | None:
        """What speaks of the link and the page alone."""
        nofollow = self._nofollow(link, page)
        if link.optional("reason", str) == LinkReason.SCHEME and not _absolute(url):
            return LinkReason.SCHEME
        target = self._target(link, url)
        if self._policy.follow is FollowMode.OFF:
            return LinkReason.OFF
        if page.final.host != page.visit.host or target.host != page.final.host:
            return LinkReason.OTHER_HOST
        if nofollow:
            return LinkReason.NOFOLLOW
        return LinkReason.DEPTH if page.depth >= self._policy.max_depth else None

    def _target(self, link: Row, url: str) -> Url:
        target = parsed(link.place, url)
        if target.text != url:
            raise Refuted(link.place, f"{url} is no normal form: {target.text}")
        return target

    def _nofollow(self, link: Row, page: _Page) -> bool:
        nofollow, rel = link.get("nofollow", bool), link.get("rel", str)
        expected = page.row.record.get("nofollow") is True or "nofollow" in rel.split()
        if nofollow != expected and len(rel) < MAX_TEXT_CHARS:
            raise Refuted(link.place, f"'nofollow' is {nofollow}, but rel is {rel!r} on {page.row.place}")
        return nofollow

    def end(self, run: int) -> None:
        """The run is over: what is left may only be of the one visit whose page line was never written."""
        left = {link.get("visit", int): link.place for link in self._lines.rest(run)}
        if left and (self._whole or len(left) > 1):
            visit, place = next(iter(left.items()))
            raise Refuted(place, f"links of visit {visit}, which has no page record")


def _absolute(url: str) -> bool:
    """Whether a target is http(s) whatever it was resolved against; the href itself may be longer, or not ASCII."""
    try:
        normalise(url)
    except UrlError:
        return False
    return url.isascii() and len(url) < MAX_WRITTEN_CHARS
