"""More pairs than are held, sorted: the same as sorted(), equal keys in order, however little is held."""

import random
from operator import itemgetter

import pytest

from seaspider.bigsort import BigSort

RANDOM = random.Random(7)
PAIRS = [(RANDOM.randbytes(RANDOM.randrange(3)), b"%d" % number) for number in range(3_000)]


@pytest.mark.parametrize("held_bytes", [1, 300, 3_000, 100_000, 1 << 24], ids=str)
def test_sorted_by_key_and_stable(tmp_path, held_bytes: int) -> None:  # type: ignore[no-untyped-def]
    """A file for each pair is merged in many passes."""
    found = BigSort(tmp_path, held_bytes)
    for key, value in PAIRS:
        found.add(key, value)
    expected = sorted(PAIRS, key=itemgetter(0))
    assert list(found) == expected
    assert list(found) == expected
    found.add(b"", b"last")
    empty = sum(key == b"" for key, _ in PAIRS)
    assert next(pair for number, pair in enumerate(found) if number == empty) == (b"", b"last")
    assert list(tmp_path.iterdir()) == []


def test_few_files_are_open(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = BigSort(tmp_path, 1)
    for number in range(1_000):
        found.add(b"%04d" % number, b"x" * 1_000)
        assert len(found._files) < 64
    assert [key for key, _ in found] == [b"%04d" % number for number in range(1_000)]


def test_nothing_is_nothing() -> None:
    assert list(BigSort()) == []
