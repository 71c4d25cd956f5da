"""What a check of one promise comes to: how much it looked at, and the first thing that contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counterexample:
    """`place`: file and line, `requests.jsonl:12`."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Proof:
    """`promise`: `P1` to `P6`. `checked`: what was counted, in words, e.g. {"page requests": 12}."""

    promise: str
    checked: Mapping[str, int]
    counterexample: Counterexample | None = None

    @property
    def holds(self) -> bool:
        return self.counterexample is None


class Refuted(Exception):
    """Raised by a check at the first contradiction; `prove` turns it into a Proof."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(place, why)
        self.counterexample = Counterexample(place, why)
