"""The digest of equal stores: one number for what a crawl came to, however often it was begun again, and by how many.

sha256 over the sha256 of each final page record, the latest of its URL, in the order of the URLs' bytes. A record
counts as the store would write it (core.records.to_line) without `run`, `visit` and `attempts`, without `robots_id` in
its chain and without all time fields. Lines are those of the whole queue, so the merged store of a fleet has the digest
of one crawl of that queue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from seaspider.bigsort import BigSort
from seaspider.core.records import Outcome, to_line, without_times
from seaspider.journal import Row

_OF_ONE_RUN: Final = frozenset({"run", "visit", "attempts", "shard"})
_OF_ONE_STORE: Final = "robots_id"


class EqualDigest:
    """`folder`: where what does not fit in memory is put meanwhile; None: where TMPDIR says."""

    def __init__(self, folder: Path | None = None) -> None:
        self._sorted = BigSort(folder)

    def add(self, row: Row) -> None:
        """A final page record; each of a URL's, in order. Raises StoreError, and OSError where there is no room."""
        url = row.get("url", str)
        self._sorted.add(url.encode("utf-8", "surrogatepass"), hashlib.sha256(_line(row)).digest())

    def hexdigest(self) -> str:
        whole = hashlib.sha256()
        for _, records in groupby(self._sorted, key=itemgetter(0)):
            *_, (_, latest) = records
            whole.update(latest)
        return whole.hexdigest()


def is_final(page: Row) -> bool:
    """Raises StoreError."""
    try:
        return Outcome(page.get("outcome", str)).final
    except ValueError as error:
        raise page.error(str(error)) from error


def _line(row: Row) -> bytes:
    record = {key: value for key, value in row.record.items() if key not in _OF_ONE_RUN}
    record["chain"] = [_hop(hop) for hop in row.get("chain", list)]
    try:
        return to_line(without_times(record))
    except (RecursionError, ValueError) as error:
        raise row.error(f"cannot be written again: {error}") from error


def _hop(hop: Any) -> Any:
    return {key: value for key, value in hop.items() if key != _OF_ONE_STORE} if isinstance(hop, Mapping) else hop
