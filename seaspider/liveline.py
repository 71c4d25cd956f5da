"""One line at the bottom of a terminal that is painted over again and again, and makes way for every log line.

Shows what it is given, cut to the terminal's width, so it never wraps. Never writes anything to what is no terminal.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final, TextIO

from seaspider.core.times import NS_PER_S

PERIOD_NS: Final = NS_PER_S // 4
"""It is painted no more often than this."""
_CLEAR: Final = "\r\x1b[K"
_COLUMNS: Final = 80


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a line can be painted over there."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class LiveLine:
    """`text` gives the line, in printable ASCII, or nothing to have none; `now_ns`: a clock that does not go back.

    `level`: log records from this level on are seen on the same terminal.
    """

    def __init__(self, stream: TextIO, level: int, text: Callable[[], str], now_ns: Callable[[], int]) -> None:
        self._stream = stream
        self._text = text
        self._now_ns = now_ns
        self._painted_ns: int | None = None
        self._shown = False
        self._handlers = _Call(level, self.clear), _Call(level, self.paint)

    def start(self) -> None:
        """From now on log records find their line free: it is cleared before the first handler and painted after the
        last."""
        before, after = self._handlers
        root = logging.getLogger()
        root.handlers = [before, *root.handlers, after]

    def stop(self) -> None:
        root = logging.getLogger()
        root.handlers = [handler for handler in root.handlers if handler not in self._handlers]
        self.clear()

    def paint(self) -> None:
        """Shows the line as it is now, unless that was done just before."""
        now_ns = self._now_ns()
        if self._painted_ns is not None and now_ns - self._painted_ns < PERIOD_NS:
            return
        text = self._text()[: self._columns() - 1]
        if text:
            self._painted_ns, self._shown = now_ns, True
            self._write(f"\r{text}\x1b[K")
        else:
            self.clear()

    def clear(self) -> None:
        if self._shown:
            self._shown = False
            self._write(_CLEAR)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        # Nobody looks any more at a terminal that is gone, and the crawl goes on without it.
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._shown = False


class _Call(logging.Handler):
    """Calls a function for each record, which others write."""

    def __init__(self, level: int, call: Callable[[], None]) -> None:
        super().__init__(level)
        self._call = call

    def emit(self, record: logging.LogRecord) -> None:
        self._call()
