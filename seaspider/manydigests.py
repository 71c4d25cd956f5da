"""Many digests at once in an open-addressing hash table of machine words, by numpy. seaspider.spool has the table.
And words of another kind, which seaspider.loading sorts: a group over a number.

A slot of it is empty (0), or 32 bits of a digest, the *key*, and a number + 1; the key says where to look first, and
the next slots follow. Decides the same as looking each up by itself would. Imported by those who have many: it takes a
tenth of a second.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Final

# Else numpy starts threads for linear algebra, which spin for a while and get nothing to do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# So many slots are moved at once: it bounds the memory for that.
_AT_ONCE: Final = 1 << 16
# So few that are left find their slots sooner one by one.
_FEW: Final = 256
_KEY_BITS: Final = np.uint64(32)
_NUMBER: Final = np.uint64((1 << 32) - 1)


def grown(table: array[int], size: int) -> array[int]:
    """A table of that many slots, a power of two, with the numbers of another."""
    grown = array("Q", bytes(8)) * size
    old, slots = np.frombuffer(table, np.uint64), np.frombuffer(grown, np.uint64)
    for start in range(0, len(old), _AT_ONCE):
        part = old[start : start + _AT_ONCE]
        values = part[part != 0]
        at, left = _homes(values >> _KEY_BITS, size), np.arange(len(values))
        while len(left):
            left = left[_taken(slots, at, values, left) != values[left]]
            at[left] = (at[left] + 1) & (size - 1)
    return grown


def add(
    table: array[int],
    digests: Iterable[int],
    count: int,
    first: int,
    are_they: Callable[[list[int], list[int]], Iterable[bool]],
) -> list[tuple[int, int]]:
    """Gives the next numbers, from `first`, to those of `count` things that have none, in order. A digest has 64 bits
    with a sign; its low half is the key.

    Returns the others, in order: index and number. `are_they(indices, numbers)`: whether each thing is one that has a
    number; here a number from `first` on is the index of another thing + `first`.
    """
    slots = np.frombuffer(table, np.uint64)
    key = np.fromiter(digests, np.int64, count).view(np.uint64) & _NUMBER
    at = _homes(key, len(slots))
    mine = key << _KEY_BITS | np.arange(first + 1, first + 1 + count, dtype=np.uint64)
    is_known, number = np.zeros(count, bool), np.zeros(count, np.int64)
    # Backwards: where several want one slot, the last that is written stays, and that has to be the first thing.
    left = np.arange(count - 1, -1, -1)
    while len(left):
        if len(left) <= _FEW:
            _walk(table, at, key, left)
        found = _taken(slots, at, mine, left)
        stays = found == mine[left]
        alike = np.flatnonzero(~stays & (found >> _KEY_BITS == key[left]))
        indices, numbers = left[alike], (found[alike] & _NUMBER).astype(np.int64) - 1
        same = np.array(list(are_they(indices.tolist(), numbers.tolist())), bool)
        is_known[indices[same]], number[indices[same]] = True, numbers[same]
        stays[alike[same]] = True
        left = left[~stays]
        at[left] = (at[left] + 1) & (len(slots) - 1)
    if not is_known.all():
        _close_up(slots, at, mine, first, is_known, number)
    return list(zip(np.flatnonzero(is_known).tolist(), number[is_known].tolist(), strict=True))


def _walk(table: array[int], at: Indices, key: Words, left: Indices) -> None:
    """Leads those that are left to the next slot that is empty or has their key."""
    last, places = len(table) - 1, at[left].tolist()
    for index, own in enumerate(key[left].tolist()):
        place = places[index]
        while (slot := table[place]) and slot >> 32 != own:
            place = (place + 1) & last
        places[index] = place
    at[left] = places


def _close_up(slots: Words, at: Indices, mine: Words, first: int, is_known: Flags, number: Indices) -> None:
    """Leaves no number out: those of new things that come after a known one are smaller than thought."""
    is_new, less = ~is_known, np.cumsum(is_known)
    slots[at[is_new]] = (mine - less.astype(np.uint64))[is_new]
    theirs = number[is_known & (number >= first)] - first
    number[is_known & (number >= first)] -= less[theirs]


def _homes(keys: Words, slots: int) -> Indices:
    return (keys & np.uint64(slots - 1)).astype(np.intp)


def _taken(slots: Words, at: Indices, values: Words, left: Indices) -> Words:
    """What is in the slots of those that are left, once each empty one is taken by the last that wants it."""
    where = at[left]
    found: Words = slots[where]
    empty = found == 0
    takers = left[empty]
    slots[at[takers]] = values[takers]
    found[empty] = slots[at[takers]]
    return found


def words(groups: Sequence[int], is_new: Sequence[bool], first: int) -> bytes:
    """Those of the groups that are new, each over a number, from `first`."""
    new = np.array(groups, np.uint64)[np.array(is_new, bool)]
    made: Words = new << _KEY_BITS | np.arange(first, first + len(new), dtype=np.uint64)
    return made.tobytes()


def sort_words(table: array[int], groups: int) -> list[int]:
    """Sorts what words() gave; returns where each of so many groups ends."""
    found = np.frombuffer(table, np.uint64)
    found.sort()
    ends: list[int] = np.searchsorted(found, np.arange(1, groups + 1, dtype=np.uint64) << _KEY_BITS).tolist()
    return ends
