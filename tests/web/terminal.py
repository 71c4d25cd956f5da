"""Runs a command on a terminal of its own, and says what it wrote there."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path
from threading import Thread

from tests.crash.warm import MOST_S, Warm

OURS = re.compile(rb"\r+\n|\r[^\x00-\x1f\x7f]*\x1b\[K")
"""What we write there ourselves: line ends, and the live line with what clears the rest of it."""
COMMANDS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\xc0-\xff\x80-\xbf])[\x80-\x9f]")
"""What a terminal obeys: C0 without TAB and LF, DEL, C1 in UTF-8 and as single octets."""


def obeyed(octets: bytes) -> list[bytes]:
    """What a terminal would obey in there that we did not write ourselves, with what is around it."""
    rest = OURS.sub(b"", octets)
    return [rest[max(0, found.start() - 40) : found.end() + 20] for found in COMMANDS.finditer(rest)]


class Terminal:
    """Each command gets a new terminal as its standard output and standard error."""

    def __init__(self, warm: Warm) -> None:
        self._warm = warm

    def run(self, line: list[str], timeout_s: float = MOST_S) -> tuple[int, bytes]:
        """Exit code, and all that was written. Raises TimeoutExpired if it does not end in time."""
        ours, theirs = pty.openpty()
        written: list[bytes] = []
        reader = Thread(target=_read, args=(ours, written))
        reader.start()
        crawl = self._warm.start(line, Path(os.ttyname(theirs)))
        try:
            code = crawl.wait(timeout_s)
        except BaseException:
            crawl.kill()
            raise
        finally:
            os.close(theirs)
            reader.join(MOST_S)
            os.close(ours)
        return code, b"".join(written)


def _read(descriptor: int, written: list[bytes]) -> None:
    while True:
        try:
            written.append(os.read(descriptor, 65_536))
        except OSError:  # nobody holds the other end any more
            return
