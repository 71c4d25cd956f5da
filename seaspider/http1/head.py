"""Reads the head of an answer: status line and header lines (RFC 9112 2.2, 4, 5). Pure; never guesses a status.

Lines end with CRLF or LF. Lenient where browsers are and nothing about the message's length can be mistaken: a line
without a colon, or whose name is no token, is skipped; blanks before the colon are dropped; folds are joined. Refused:
anything but HTTP/1.x, a status outside 100-999, blank lines before the status line, NUL, 101, and every cap.
"""

import re
from dataclasses import dataclass

from seaspider.http1.message import TOKEN, Flag, Headers, Limits, protocol

_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9])[ \t]+([0-9]{3})(?:[ \t]+(.*))?", re.DOTALL)
_SHOWN = 64
"""Octets of a bad status line that are waited for and shown."""


@dataclass(frozen=True, slots=True)
class Head:
    minor: int
    """Of the version: HTTP/1.minor."""
    status: int
    reason: bytes
    headers: Headers
    flags: tuple[Flag, ...]


class HeadReader:
    """Takes octets until the final head is complete; 1xx heads before it are dropped.

    `used` counts the octets of all heads read so far; `rest` holds what came behind the final one.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._octets = bytearray()
        self._searched = 0
        self._status: tuple[int, int, bytes] | None = None
        self._lines: list[bytes] = []
        self._interims = 0
        self.used = 0
        self.rest = b""

    def feed(self, data: bytes) -> Head | None:
        """The final head, or None while it is not complete. Raises ExchangeError `protocol`."""
        if not self._octets and (whole := self._at_once(data)) is not None:
            return whole
        self._octets += data
        while (end := self._octets.find(b"\n", self._searched)) >= 0:
            self._check_caps(end)
            line = bytes(self._octets[self.used : end]).removesuffix(b"\r")
            self.used = self._searched = end + 1
            head = self._take(line)
            if head is not None:
                self.rest = bytes(self._octets[self.used :])
                return head
        self._searched = len(self._octets)
        self._check_caps(self._searched)
        if self._searched - self.used >= _SHOWN:
            self.check_start()
        return None

    def _at_once(self, data: bytes) -> Head | None:
        """The final head if it is all there, as most are: lines that end with CRLF and reach no cap. It is what the way
        line by line comes to; None says nothing."""
        end = data.find(b"\r\n\r\n")
        if not 0 < end <= self._limits.head_bytes - 4:
            return None
        octets = data[:end]
        lines = octets.split(b"\r\n")
        plain = octets.count(b"\r") == octets.count(b"\n") == len(lines) - 1 and b"\0" not in octets
        few = len(lines) <= self._limits.header_count and max(map(len, lines)) < self._limits.line_bytes - 2
        match = _STATUS_LINE.fullmatch(lines[0]) if plain and few else None
        if match is None or match[2] < b"200":
            return None
        minor, status, reason = _parse_status_line(lines[0])
        self.used, self.rest = end + 4, data[end + 4 :]
        return Head(minor, status, reason, *parse_fields(lines[1:]))

    def check_start(self) -> None:
        """Raises `protocol` if an unfinished status line cannot become one; to be called when nothing more comes."""
        start = bytes(self._octets[self.used : self.used + len(b"HTTP/1.")])
        if self._status is None and not b"HTTP/1.".startswith(start):
            raise protocol(f"not a status line: {bytes(self._octets[self.used :][:_SHOWN])!r}")

    def _check_caps(self, end: int) -> None:
        """Names the cap whose octet comes first, so that the answer does not depend on the packets."""
        line_end = self.used + self._limits.line_bytes
        if end > min(line_end, self._limits.head_bytes):
            if line_end <= self._limits.head_bytes:
                raise protocol(f"a line of the head is over {self._limits.line_bytes} octets")
            raise protocol(f"the head is over {self._limits.head_bytes} octets")

    def _take(self, line: bytes) -> Head | None:
        if b"\0" in line:
            raise protocol(f"NUL in the head: {line[:_SHOWN]!r}")
        if self._status is None:
            self._status = _parse_status_line(line)
        elif line:
            self._lines.append(line)
            if len(self._lines) > self._limits.header_count:
                raise protocol(f"over {self._limits.header_count} header lines")
        else:
            return self._finish(*self._status)
        return None

    def _finish(self, minor: int, status: int, reason: bytes) -> Head | None:
        headers, flags = parse_fields(self._lines)
        if status >= 200:
            return Head(minor, status, reason, headers, flags)
        if status == 101:
            raise protocol("101 Switching Protocols, which was not asked for")
        self._interims += 1
        if self._interims > self._limits.interim_count:
            raise protocol(f"over {self._limits.interim_count} interim answers")
        self._status, self._lines = None, []
        return None


def _parse_status_line(line: bytes) -> tuple[int, int, bytes]:
    """Minor version, status, reason."""
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        raise protocol(f"not a status line: {line[:_SHOWN]!r}")
    status = int(match[2])
    if status < 100:
        raise protocol(f"status below 100: {line[:_SHOWN]!r}")
    return int(match[1]), status, (match[3] or b"").rstrip(b" \t")


def parse_fields(lines: list[bytes]) -> tuple[Headers, tuple[Flag, ...]]:
    """Header lines (without line ends, none empty) to fields, and what was read leniently."""
    fields: list[tuple[bytes, bytes]] = []
    flags: set[Flag] = set()
    previous_kept = False
    for raw in lines:
        line = raw.replace(b"\r", b" ")
        if line != raw:
            flags.add(Flag.BARE_CR)
        if line.startswith((b" ", b"\t")):
            if previous_kept:
                name, value = fields[-1]
                fields[-1] = (name, (value + b" " + line.strip(b" \t")).strip(b" \t"))
            flags.add(Flag.FOLDED if previous_kept else Flag.SKIPPED_LINE)
            continue
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        previous_kept = bool(colon) and TOKEN.fullmatch(name) is not None
        if previous_kept:
            fields.append((name, value.strip(b" \t")))
        else:
            flags.add(Flag.SKIPPED_LINE)
    return tuple(fields), tuple(sorted(flags))
