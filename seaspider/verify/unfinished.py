"""Visits under way when their run ended, and whether a later run ended them."""

from __future__ import annotations

from collections.abc import Iterator


class Unfinished:
    """By the key of their URL."""

    def __init__(self) -> None:
        self._open: dict[int, str] = {}
        self._taken_up = 0

    def begun(self, key: int, place: str) -> None:
        """An intent that no page line of its run closes."""
        self._open[key] = place

    def ended(self, key: int) -> None:
        """A page line of that URL."""
        self._taken_up += self._open.pop(key, None) is not None

    def notes(self) -> Iterator[str]:
        if self._taken_up:
            yield f"{self._taken_up} visits were under way when their run ended, and were taken up by a later one"
        if self._open:
            first = next(iter(self._open.values()))
            yield f"{len(self._open)} visits were under way when their run ended, and are open (the first: {first})"
