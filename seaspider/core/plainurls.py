"""Many lines at once: the URLs that are plainly written, normalised by the block; the rest one by one.

Decides nothing that `urls.normalise` does not: a line is plain if its scheme and authority were normalised before and
came out as they are written (letter case aside), and all that is done to the rest is to drop the fragment, to spell
escapes and to remove dot segments. Any other line goes through `normalise`. The same answers, at a small part of the
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seaspider.core.urls import Url, UrlError, normalise, spellings

# What normalising leaves alone: characters of path and query (RFC 3986 pchar without the apostrophe, which a query has
# escaped), and what may be a normalised origin with the first slash. A line is far from every limit of length.
_ALONE: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~!$&()*+,;=:@%/?-"
_ORIGIN: Final = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9.:_-]{1,260}/")
_FRAGMENT: Final = re.compile(rb"[!-~]{0,4000}")
_LONGEST: Final = 7_900
# Escape -> as it is spelled in a normalised URL, if that can be done wherever it stands: no scheme and no authority
# that is taken for plain has a percent sign or a tilde in it.
_SPELLED: Final = {
    escape: spelled for escape, spelled in spellings().items() if spelled != escape and spelled[:1] in (b"%", b"~")
}
# Any of these; and what follows the percent sign of an escape that is spelled as in a normalised URL.
_MISSPELLED: Final = re.compile(
    rb"%(?:7[Ee]|(?!2[de]|4[a-f]|5[af]|6[a-f]|7[ae])(?:[0-9][a-f]|[A-F][a-f]|[a-f][0-9A-Fa-f]))"
)
_WELL_SPELLED: Final = rb"(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
_EASILY_ESCAPED: Final = re.compile(rb"(?:[^%%]++|%%%b)*+" % _WELL_SPELLED)
_OTHER_ESCAPE: Final = re.compile(rb"%%(?!%b)" % _WELL_SPELLED)


class Origins:
    """The origins met so far, numbered from 0."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.hosts: list[str] = []
        self._numbers: dict[bytes, int] = {}
        self._taken = 0

    def taken(self) -> tuple[list[str], list[str]]:
        """Texts and hosts of those that were met since this was asked last."""
        since, self._taken = self._taken, len(self.texts)
        return self.texts[since:], self.hosts[since:]

    def add(self, texts: list[str], hosts: list[str]) -> None:
        """Takes over what another one has taken()."""
        self._numbers.update((f"{text}/".encode(), number) for number, text in enumerate(texts, len(self.texts)))
        self.texts += texts
        self.hosts += hosts

    def of(self, url: Url) -> int:
        """The number of a URL's origin."""
        number = self._numbers.setdefault(f"{url.origin}/".encode(), len(self.texts))
        if number == len(self.texts):
            self.texts.append(url.origin)
            self.hosts.append(url.host)
        return number

    def written(self, lines: list[bytes]) -> list[int | None]:
        """The numbers of origins as they are written, or None: such a line is to be normalised by itself. Capitals of
        origins in `lines` are made small."""
        # The first slash after the two. Where there is none nothing is left, and nothing is no origin.
        prefixes = [line[: line.find(b"/", 8) + 1] for line in lines]
        numbers: list[int | None] = list(map(self._numbers.get, prefixes))
        at = -1
        for _ in range(numbers.count(None)):
            at = numbers.index(None, at + 1)
            if _ORIGIN.fullmatch(prefixes[at]):
                prefix = prefixes[at].lower()
                numbers[at] = self._written(prefix)
                lines[at] = prefix + lines[at][len(prefix) :]
        return numbers

    def _written(self, prefix: bytes) -> int | None:
        number = self._numbers.get(prefix)
        if number is None:
            try:
                url = normalise(prefix.decode())
            except UrlError:
                return None
            if url.text == prefix.decode():
                return self.of(url)
        return number


def plain(block: bytes, origins: Origins) -> tuple[list[int | None], list[bytes]]:
    """Of each line of a block (lines end with LF, but for the last) the number of its origin, None if it is not plain,
    and its URL."""
    block = _spelled(block)
    lines = block.split(b"\n")
    others = set(block.translate(None, _ALONE + b"\n"))
    for at in {line for other in others for line in _having(bytes((other,)), block)}:
        lines[at] = _without_fragment(lines[at])
    numbers = origins.written(lines)
    for at in _having(b"/.", block):
        if numbers[at] is not None:
            path = lines[at].index(b"/", 8)
            lines[at] = lines[at][:path] + _without_dot_segments(lines[at][path:])
    if _OTHER_ESCAPE.search(block) or len(max(lines, key=len)) > _LONGEST:
        for at, line in enumerate(lines):
            if len(line) > _LONGEST or not _EASILY_ESCAPED.fullmatch(line):
                numbers[at] = None
    return numbers, lines


def _spelled(block: bytes) -> bytes:
    """With each escape as it is spelled in a normalised URL, if that can be done wherever it stands."""
    at = 0
    while found := _MISSPELLED.search(block, at):
        at = found.start()
        block = block.replace(found[0], _SPELLED[found[0]])
    return block


def _without_fragment(line: bytes) -> bytes:
    """A line with other characters than those that are left alone; nothing, if it is not because of its fragment."""
    line, mark, fragment = line.partition(b"#")
    return line if mark and not line.translate(None, _ALONE) and _FRAGMENT.fullmatch(fragment) else b""


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
