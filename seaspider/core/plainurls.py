"""Many lines at once: the URLs that are plainly written, normalised by the block; the rest one by one.

Decides nothing that `urls.normalise` does not: a line is plain if its scheme and authority were normalised before and
came out as they are written (letter case aside), and all that is done to the rest is to drop the fragment, to spell
escapes and to remove dot segments. Any other line goes through `normalise`. The same answers, at a small part of the
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import add, itemgetter
from typing import Final

from seaspider.core.urls import Url, UrlError, normalise, spellings

# A line: scheme and authority, path and query of characters that normalising leaves alone (RFC 3986 pchar without the
# apostrophe, which a query has escaped), a fragment. Short enough to be far from every limit.
_LINE: Final = re.compile(
    rb"^(?:([Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9.:_-]{1,260})"
    rb"(/[A-Za-z0-9._~!$&()*+,;=:@%/?-]{0,7900})(?:#[!-~]{0,4000})?|.*)$",
    re.MULTILINE,
)
_PREFIX, _TARGET = itemgetter(0), itemgetter(1)
_ESCAPE: Final = re.compile(rb"%[0-9A-Za-z]{0,2}")
# Escape -> as it is spelled in a normalised URL, if that can be done wherever it stands: no scheme and no authority
# that is taken for plain has a percent sign or a tilde in it.
_SPELLED: Final = {
    escape: spelled for escape, spelled in spellings().items() if spelled != escape and spelled[:1] in (b"%", b"~")
}
_EASY_ESCAPES: Final = {*_SPELLED, *(escape for escape, spelled in spellings().items() if escape == spelled)}
_EASILY_ESCAPED: Final = re.compile(rb"(?:[^%]+|%(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2})*")


class Origins:
    """The origins met so far, numbered from 0."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.hosts: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def of(self, url: Url) -> int:
        """The number of a URL's origin."""
        return self._number(url.origin.encode(), url.host)

    def written(self, prefixes: list[bytes]) -> list[int | None]:
        """The numbers of origins as they are written, or None: each URL is to be normalised by itself. Capitals
        in `prefixes` are made small."""
        numbers: list[int | None] = list(map(self._numbers.get, prefixes))
        at = -1
        for _ in range(numbers.count(None)):
            at = numbers.index(None, at + 1)
            if prefixes[at]:
                prefixes[at] = prefixes[at].lower()
                numbers[at] = self._written(prefixes[at])
        return numbers

    def text_of(self, number: int) -> bytes:
        return self.texts[number].encode()

    def _written(self, prefix: bytes) -> int | None:
        number = self._numbers.get(prefix)
        if number is None:
            try:
                url = normalise(f"{prefix.decode()}/")
            except UrlError:
                return None
            if url.text == f"{prefix.decode()}/":
                return self._number(prefix, url.host)
        return number

    def _number(self, text: bytes, host: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text.decode())
            self.hosts.append(host)
        return number


def plain(block: bytes, origins: Origins) -> tuple[list[int | None], list[bytes]]:
    """Of each line of a block (lines end with LF, but for the last) the number of its origin, None if it is not plain,
    and its URL."""
    escapes = set(_ESCAPE.findall(block)) if b"%" in block else set()
    for escape in escapes & _SPELLED.keys():
        block = block.replace(escape, _SPELLED[escape])
    found = _LINE.findall(block)
    prefixes, targets = list(map(_PREFIX, found)), list(map(_TARGET, found))
    if not escapes <= _EASY_ESCAPES:
        targets = [target if _EASILY_ESCAPED.fullmatch(target) else b"" for target in targets]
    for line in _having(b"/.", block):
        if targets[line]:
            targets[line] = _without_dot_segments(targets[line])
    numbers = origins.written(prefixes)
    at = -1
    for _ in range(targets.count(b"")):
        at = targets.index(b"", at + 1)
        numbers[at] = None
    return numbers, list(map(add, prefixes, targets))


def _without_dot_segments(target: bytes) -> bytes:
    """A target that has no escaped dots (WHATWG URL Standard, path state)."""
    path, mark, query = target.partition(b"?")
    kept: list[bytes] = []
    _, *segments = path.split(b"/")
    for segment in segments:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    if segments[-1] in (b".", b".."):
        kept.append(b"")
    return b"/" + b"/".join(kept) + mark + query


def _having(what: bytes, block: bytes) -> Iterator[int]:
    """The lines, counted from 0, that have something in them."""
    line = seen = 0
    at = block.find(what)
    while at >= 0:
        line += block.count(b"\n", seen, at)
        yield line
        seen = at
        at = block.find(what, at + 1)
