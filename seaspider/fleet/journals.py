"""What the journals of the shards say: which are finished, how a crawl ended, and how much was asked meanwhile.

An exit code alone is not believed: a crawl that ended well wrote the last line of its run. Never writes; reads of a
growing file what is there, whole lines only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from seaspider.core.records import File
from seaspider.cutoff import is_cut_off
from seaspider.errors import ExitCode
from seaspider.fleet.plan import Part
from seaspider.storereader import StoreReader
from seaspider.terminal import printable

_CLAIM: Final = b'"event":"claim"'
_PIECE_BYTES: Final = 1 << 20
_MOST_SAID: Final = 500
_BREAKS_OFF: Final = "its log breaks off in a line: the disk is full, or it was killed"
# These say what became of each line of the queue, so there must be a line that says it, too.
_TOLD: Final = frozenset({ExitCode.DONE, ExitCode.UNFINISHED, ExitCode.GATE})


def is_finished(store: Path, part: Part) -> bool:
    """Whether the last run in a shard's store was of this queue, and left nothing, and all of it is there.

    Raises StoreError.
    """
    if not part.lines:
        return True
    start, end = _last_run(store)
    return start.get("queue_sha256") == part.sha256 and end.get("exit") == ExitCode.DONE and not is_cut_off(store)


def judged(code: int, store: Path) -> int | None:
    """The exit code, or None if the journal does not say the same: the crawl died. Raises StoreError."""
    return code if code not in _TOLD or _last_run(store)[1].get("exit") == code else None


def last_line(log: Path) -> str:
    """Of what a crawl said, what it said last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _MOST_SAID))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    if text and not text.endswith("\n"):
        return _BREAKS_OFF
    lines = text.strip().splitlines()
    return printable(lines[-1]) if lines else ""


class Watched:
    """The requests of a shard since this was made."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = store / File.REQUESTS
        self._at = self._path.stat().st_size if self._path.exists() else 0
        self._runs = len(_ends(store))
        self.requests = 0

    def look(self) -> int:
        """How many there are by now."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                # A line that is not whole is left there: it may be cut off.
                while end := (piece := file.read(_PIECE_BYTES)).rfind(b"\n") + 1:
                    self.requests += piece.count(_CLAIM, 0, end)
                    self._at += end
                    file.seek(self._at)
        except FileNotFoundError:
            pass
        return self.requests

    def too_near(self) -> int:
        """Pairs of requests that came too near by the shard's own clock, of the runs that ended. Raises StoreError."""
        return sum(end["verdict"]["too_near"] for end in _ends(self._store)[self._runs :])


def _ends(store: Path) -> list[dict[str, Any]]:
    return [row.record for row in StoreReader(store).read(File.MANIFEST) if row.record.get("event") == "end"]


def _last_run(store: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last start line and, if it is the last line, its end."""
    start: dict[str, Any] = {}
    end: dict[str, Any] = {}
    for row in StoreReader(store).read(File.MANIFEST):
        if row.record.get("event") == "start":
            start, end = row.record, {}
        else:
            end = row.record
    return start, end
