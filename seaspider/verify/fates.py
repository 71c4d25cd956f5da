"""What became of each line of the queue in one run: one fate, whichever file tells of it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final

from seaspider.core.queue import MAX_TEXT_CHARS, Fate
from seaspider.core.urls import UrlError, UrlReason, normalise
from seaspider.journal import Row
from seaspider.verify.facts import contradiction
from seaspider.verify.numbers import Numbers, key_of
from seaspider.verify.proof import Refuted

_MOST: Final = 1 << 63
"""No file has so many lines."""


class Fates:
    """`lines`: line -> key of its page line's URL, or skipped_key(); 0 if nothing is recorded of it."""

    def __init__(self) -> None:
        self.lines = Numbers()
        self._last_skipped = 0
        # Of each duplicate: its own place in the file, the line it repeats, and the two keys that may have.
        self._duplicates = array("Q")
        self._first_place = ""

    def skipped(self, row: Row) -> Fate:
        """A line of skipped.jsonl, in file order. Raises Refuted."""
        line, word = row.get("line", int), row.get("fate", str)
        contradiction(word in list(Fate), row.place, f"fate is {word!r}")
        contradiction(line > self._last_skipped, row.place, f"line {line} comes after line {self._last_skipped}")
        fate, self._last_skipped = Fate(word), line
        _check_fields(row, fate)
        self._take(line, skipped_key(row.record), row.place)
        if fate is Fate.DUPLICATE:
            of, url = row.get("of", int), row.get("url", str)
            contradiction(0 < of < min(line, _MOST), row.place, f"repeats line {of}, which is none before it")
            done = skipped_key({"fate": Fate.DONE, "url": url})
            self._duplicates.extend((int(row.place.rpartition(":")[2]), of, key_of(url), done))
            self._first_place = row.place.rpartition(":")[0]
        return fate

    def recorded(self, line: int, key: int, place: str) -> None:
        """A page line."""
        self._take(line, key, place)

    def _take(self, line: int, key: int, place: str) -> None:
        contradiction(line > 0 and not self.lines[line], place, f"line {line} of the queue has a fate already")
        self.lines[line] = key

    def check_duplicates(self, *, all_known: bool) -> None:
        """Each repeats the URL of the line it names. `all_known`: no line waits for its fate."""
        found = self._duplicates
        for at in range(0, len(found), 4):
            number, of, url, done = found[at : at + 4]
            right = self.lines[of] in (url, done) or not (self.lines[of] or all_known)
            contradiction(right, f"{self._first_place}:{number}", f"repeats line {of}, which is not of this URL")


def _check_reason(row: Row, text: str, reason: str) -> None:
    """Why a line is no URL follows from the line, unless that is not whole in the record, or was no text."""
    if reason in (UrlReason.ENCODING, UrlReason.TOO_LONG) or len(text) >= MAX_TEXT_CHARS:
        contradiction(reason in list(UrlReason), row.place, f"reason is {reason!r}")
        return
    try:
        normalise(text)
    except UrlError as error:
        contradiction(error.reason == reason, row.place, f"reason is {reason}, the line makes it {error.reason}")
    else:
        raise Refuted(row.place, f"rejected for {reason}, but {text!r} is a URL")


def skipped_key(record: Mapping[str, Any]) -> int:
    """A number that stands for what a line of skipped.jsonl says; no URL has it."""
    parts = [record.get(name) for name in ("fate", "url", "text", "of", "reason")]
    return key_of("\n".join("" if part is None else f"={part}" for part in parts))


def _check_fields(row: Row, fate: Fate) -> None:
    """Which fields a fate has; the others are null."""
    has = {name: row.optional(name, object) is not None for name in ("url", "text", "of", "reason")}
    rejected = fate is Fate.REJECTED
    if rejected and has["text"] and has["reason"]:
        _check_reason(row, row.get("text", str), row.get("reason", str))
    wants = {"url": not rejected, "text": rejected, "of": fate is Fate.DUPLICATE, "reason": rejected}
    for name, wanted in wants.items():
        if has[name] != wanted:
            raise Refuted(row.place, f"{fate} {'without' if wanted else 'with'} {name!r}")
