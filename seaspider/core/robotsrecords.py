"""What stands in a robots.txt, line by line (RFC 9309, sections 2.2 and 2.3.1.5): bytes in, known records out.

Decides where lines end and which lines are records. Never decides what a record means, and never drops an octet:
bytes that are no UTF-8 stay as they are here and become percent-encoded where they are compared or shown.

Beyond the RFC's grammar it reads what the reference implementation reads: common misspellings of `Disallow` and
`User-agent`, words that begin with these two, and a missing colon. `Allow` has to be exact, colon included: what is
not understood opens nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_BLANKS: Final = b" \t"
_KEY = re.compile(
    rb"(?P<agent>user[- ]?agent[\w-]*)|(?P<disallow>(?:disallow|dissallow|dissalow|disalow|diasllow|disallaw)[\w-]*)"
    rb"|(?P<allow>allow(?![\w-]))|(?P<delay>crawl[- ]?delay(?![\w-]))|(?P<sitemap>site-?maps?(?![\w-]))",
    re.IGNORECASE,
)


class Key(StrEnum):
    """The records that are read; all others (Host, License, Content-Signal, ...) are as if they were not there."""

    AGENT = "agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    DELAY = "delay"
    SITEMAP = "sitemap"


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its 1-based line, its value without blanks around it, and the line as written without comment."""

    line: int
    key: Key
    value: bytes
    written: bytes


def lines_of(body: bytes) -> list[bytes]:
    """`body` cut at LF, CR and CRLF, at nothing else; what follows the last of them is the last line.

    One UTF-8 byte order mark is dropped; UTF-16 is read if it begins with its mark (section 2.2.2 permits it).
    """
    if body.startswith(_UTF16_BOMS):
        body = body.decode("utf-16", "replace").encode()
    return body.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def records_of(lines: list[bytes]) -> Iterator[Record]:
    """The records in `lines`, in order. Without a colon a line is one only if it is two words: the rest is prose."""
    for number, line in enumerate(lines, start=1):
        written = line.partition(b"#")[0].strip(_BLANKS)
        match = _KEY.match(written)
        if match is None or match.lastgroup is None:
            continue
        key = Key(match.lastgroup)
        after = written[match.end() :]
        value = after.lstrip(_BLANKS)
        if value.startswith(b":"):
            value = value[1:].lstrip(_BLANKS)
        elif value == after or b" " in value or b"\t" in value or key is Key.ALLOW:
            continue
        yield Record(number, key, value, written)


def as_text(octets: bytes) -> str:
    """`octets` as printable text: what is no UTF-8, or would not print, becomes percent-encoded octets."""
    decoded = octets.decode("utf-8", "surrogateescape")
    if decoded.isprintable():
        return decoded
    return "".join(char if char.isprintable() else _escaped(char) for char in decoded)


def _escaped(char: str) -> str:
    return "".join(f"%{octet:02X}" for octet in char.encode("utf-8", "surrogateescape"))
