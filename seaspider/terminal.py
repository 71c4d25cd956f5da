"""What goes to a terminal that others wrote, a server or a queue's author: shown, never obeyed.

Escapes what is no printable character but LF, TAB and CRLF, so no sequence moves the cursor, sets a title or answers in
the user's place. What goes to a file or a pipe is left as it is: who reads it there wants the octets.
"""

from __future__ import annotations

import re
from typing import Final

_LINE_ENDS: Final = re.compile(r"\r\n|[\n\t]")


def shown(octets: bytes) -> bytes:
    """Octets of any kind as text for a terminal."""
    text = octets.decode("utf-8", "backslashreplace")
    pieces, at = [], 0
    for end in _LINE_ENDS.finditer(text):
        pieces += [printable(text[at : end.start()]), end[0]]
        at = end.end()
    return "".join([*pieces, printable(text[at:])]).encode()


def printable(text: str) -> str:
    """One line: what is not printable as its escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
