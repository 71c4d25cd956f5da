"""Lines of a journal file, many at once: those that this program wrote are read by their form, the others one by one.

Decides which lines have exactly the form that this version writes and say nothing that has to be looked into: a page
record that is final and no 403, an intent, a link that is not followed. Of such a record the head and the end are
looked at, and that what lies between is ASCII without NUL; `scrapy verify` reads all of it. Any other line is read as
JSON, and found fault with, by seaspider.history.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Final

from seaspider.core.records import FORMAT, Ending, Outcome, Reason

Found = tuple[bytes, ...]
"""The groups of one line; the first is empty if the line is to be read as JSON."""

_NUMBER: Final = r"(?:0|[1-9][0-9]{0,17})"
_TEXT: Final = r'"[ !#-\[\]-~]*"'
_TIME: Final = r'"[0-9T:.-]{23}Z"'
_KEY: Final = rf'^(?:\{{"v":{FORMAT},"run":({_NUMBER}),"visit":({_NUMBER}),"url":"'
_URL: Final = r"[!#-\[\]-~]+"
_HEAD: Final = rf'{_KEY}({_URL})",'
_INTENDED: Final = rf'"line":(?:null|{_NUMBER}),"intended_at":{_TIME}\}}|.*)$'


def _final_endings() -> Iterator[str]:
    for outcome in Outcome:
        for reason in (None, *Reason):
            try:
                ending = Ending(outcome, reason)
            except ValueError:
                continue
            if ending.outcome.final:
                yield f'{outcome}","reason":' + ("null" if reason is None else f'"{reason}"')


# For blocks with a byte in them that no line of ours has: none is known by its form.
OTHER: Final = re.compile(rb"^()().*$", re.MULTILINE)
# Run, visit, URL, depth, the ending's text up to its status.
FINAL_PAGE: Final = re.compile(
    rf'{_HEAD}"line":(?:null|{_NUMBER}),"depth":({_NUMBER}),"via":(?:null|{_TEXT}),"outcome":"'
    rf'({"|".join(map(re.escape, _final_endings()))}),"status":(?:null|(?!403)[0-9]{{3}}),"final_url":"'
    # Looked for from behind: what comes before has nothing in it that the end begins with.
    rf'.*+(?<=,"not_before":null,"started_at":{_TIME},"ended_at":{_TIME}\}})|.*)$'.encode(),
    re.MULTILINE,
)
# Run, visit, URL.
INTENT: Final = re.compile(f"{_HEAD}{_INTENDED}".encode(), re.MULTILINE)
# Run, visit.
INTENT_KEY: Final = re.compile(f'{_KEY}{_URL}",{_INTENDED}'.encode(), re.MULTILINE)
# Run, visit: of a link that is not followed.
LINK_LEFT: Final = re.compile(
    rf'^(?:\{{"v":{FORMAT},"run":({_NUMBER}),"visit":({_NUMBER}),"page":".*"'
    rf',"nofollow":(?:true|false),"followed":false,"reason":"[a-z-]+"\}}|.*)$'.encode(),
    re.MULTILINE,
)


def lines_of(block: bytes, form: re.Pattern[bytes]) -> list[Found]:
    """What is found in the lines of a block."""
    ours = block.isascii() and b"\0" not in block
    found = (form if ours else OTHER).findall(block)
    found.pop()  # behind the last line feed is one more, which is empty
    return found


def spans(found: list[Found]) -> Iterator[tuple[int, int]]:
    """Where lines of that form begin and end; each other line is one that begins and ends at the same place."""
    start = 0
    firsts = [line[0] for line in found]
    for _ in range(firsts.count(b"")):
        at = firsts.index(b"", start)
        if at > start:
            yield start, at
        yield at, at
        start = at + 1
    if start < len(found):
        yield start, len(found)


class Ended:
    """The visits that a page record ends, with their depths. Visits count from 1 in each run, so their numbers are
    indices; one that is far from the others has a place of its own."""

    def __init__(self) -> None:
        # By run, the depth of each visit + 1, 0 if it is not ended.
        self._depths: dict[int, array[int]] = {}
        self._far: dict[tuple[int, int], int] = {}

    def add(self, run: int, visit: int, depth: int) -> None:
        depths = self._depths.setdefault(run, array("I"))
        if visit < len(depths) and visit >= 0 and depth < 1 << 30:
            depths[visit] = depth + 1
        elif 0 <= visit < 2 * len(depths) + 65_536 and 0 <= depth < 1 << 30:
            depths.frombytes(bytes(depths.itemsize * (visit + 1 + len(depths) // 4 - len(depths))))
            depths[visit] = depth + 1
        else:
            self._far[run, visit] = depth

    def add_all(self, run: int, visits: array[int], depths: array[int]) -> None:
        """Adds visits of one run; no depths: they are all 0."""
        found = self._depths.get(run, array("I"))
        if depths or max(visits) >= len(found):
            for visit, depth in zip(visits, depths or bytes(len(visits)), strict=True):
                self.add(run, visit, depth)
            return
        for visit in visits:
            found[visit] = 1

    def depth(self, run: int, visit: int) -> int | None:
        """The depth of a visit, or None if it is not ended."""
        depths = self._depths.get(run)
        if depths is not None and 0 <= visit < len(depths) and depths[visit]:
            return depths[visit] - 1
        return self._far.get((run, visit))

    def all_of(self, run: int, visits: array[int]) -> bool:
        """Whether all these visits of a run are ended."""
        depths = self._depths.get(run, array("I"))
        return max(visits) < len(depths) and 0 not in map(depths.__getitem__, visits)
