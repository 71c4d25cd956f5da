"""Something to remember for each of very many small numbers: eight bytes each, not an object."""

from __future__ import annotations

import hashlib
from array import array
from typing import Final

_DENSE_STEP: Final = 1 << 20


class Numbers:
    """number -> a whole number below 2^64, 0 if none was set. Numbers far from the others cost more, but no memory in
    between."""

    def __init__(self) -> None:
        self._dense = array("Q")
        self._far: dict[int, int] = {}

    def __getitem__(self, number: int) -> int:
        if 0 <= number < len(self._dense):
            return self._dense[number]
        return self._far.get(number, 0)

    def __setitem__(self, number: int, value: int) -> None:
        grow = number - len(self._dense) + 1
        if number < 0 or grow > _DENSE_STEP:
            self._far[number] = value
            return
        if grow > 0:
            self._dense.frombytes(bytes(8 * grow))
        self._dense[number] = value


def key_of(text: str) -> int:
    """A number that stands for a text: 64 bits of its digest, never 0. Two of a million texts share one with a
    probability of 3 in 100,000,000."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") or 1
