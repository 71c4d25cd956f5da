"""What a user sees while a fleet runs: lines painted over again and again on a terminal, else a line now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final, TextIO

from seaspider.fleet import report
from seaspider.fleet.roster import Roster, Shard, State
from seaspider.liveline import is_terminal

_PAINT_S: Final = 0.5
_LINE_S: Final = 60.0
# Of a terminal that does not tell.
_COLUMNS: Final = 80
_ROWS: Final = 24


class Screen:
    """To be called often. `now_s`: a clock that does not go back."""

    def __init__(self, stream: TextIO, roster: Roster, now_s: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._now_s = now_s
        self._roster = roster
        self._terminal = is_terminal(stream)
        self._painted = 0
        """Lines that are there to be painted over."""
        self._next_s = 0.0
        self._ends = {shard.number: shard.starts for shard in roster.shards}

    def __call__(self) -> None:
        now_s = self._now_s()
        lines = [report.ended(shard) for shard in self._newly_ended()]
        due = now_s >= self._next_s
        if due:
            self._next_s = now_s + (_PAINT_S if self._terminal else _LINE_S)
        if self._terminal and (due or lines):
            self._paint(lines, now_s)
        elif lines or due:
            self._write("".join(f"{line}\n" for line in [*lines, *([report.totals(self._roster)] if due else [])]))

    def clear(self) -> None:
        """The live lines are gone."""
        if self._painted:
            self._write(f"\x1b[{self._painted}A\x1b[J")
            self._painted = 0

    def _newly_ended(self) -> list[Shard]:
        ended = []
        for shard in self._roster.shards:
            if shard.state is not State.RUNNING and shard.starts != self._ends[shard.number]:
                self._ends[shard.number] = shard.starts
                ended.append(shard)
        return ended

    def _paint(self, above: list[str], now_s: float) -> None:
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        live = report.live(self._roster, now_s, (rows or _ROWS) - 1)
        text = f"\x1b[{self._painted}A" if self._painted else ""
        # A line as wide as the terminal might wrap.
        text += "".join(f"{line[: (columns or _COLUMNS) - 1]}\x1b[K\n" for line in [*above, *live])
        self._write(text + "\x1b[J")
        self._painted = len(live)

    def _write(self, text: str) -> None:
        # Nobody looks any more at a terminal that is gone, and the fleet goes on without it.
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._terminal = False
