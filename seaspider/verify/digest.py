"""The digest of a run's records: one number for what a crawl did, whenever and wherever it did it.

sha256 over these lines, each as the store would write it (core.records.to_line) with all time fields taken out at any
depth (core.records.without_times), in this order:

1. every line of skipped, robots, intents, requests, pages and links, file after file, each in file order;
2. every line of manifest, without `versions`, without `queue` (a path) and without `ledger` in its `settings` (a path).

Two stores have the same digest exactly if they hold the same records, times aside: so a replay of a crawl has that of
the crawl. What lies under bodies/ counts by the digests in the records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from seaspider import journal
from seaspider.core.records import File, to_line, without_times
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.verify.evidence import Evidence

FILES: Final = (File.SKIPPED, File.ROBOTS, File.INTENTS, File.REQUESTS, File.PAGES, File.LINKS)
_PIECE_BYTES: Final = 1 << 20
_LEFT_OUT: Final = ("versions", "queue")


def _no_look(file: File, row: Row) -> None:
    pass


def digest(evidence: Evidence, look: Callable[[File, Row], None] = _no_look) -> str:
    """In hex. `look` is shown each line, since all are read here. Raises StoreError."""
    sha256 = hashlib.sha256()
    for file in FILES:
        for row in evidence.rows(file):
            look(file, row)
            sha256.update(_line(row, row.record))
    for row in evidence.rows(File.MANIFEST):
        look(File.MANIFEST, row)
        sha256.update(_line(row, _portable(row.record)))
    return sha256.hexdigest()


def _line(row: Row, record: Mapping[str, Any]) -> bytes:
    try:
        return to_line(without_times(record))
    except (RecursionError, ValueError) as error:
        raise row.error(f"cannot be written again: {error}") from error


def exact(evidence: Evidence) -> str:
    """sha256 over the bytes of the same files, in the same order, as they are. In hex. Raises StoreError."""
    sha256 = hashlib.sha256()
    for file in (*FILES, File.MANIFEST):
        try:
            with journal.opened(evidence.folder / file) as opened:
                while piece := opened.read(_PIECE_BYTES):
                    sha256.update(piece)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{file}: {error.strerror or error}") from error
    return sha256.hexdigest()


def _portable(record: dict[str, Any]) -> dict[str, Any]:
    """A line of the manifest without what is of one machine. Only that of a run's start has any."""
    if record.get("event") != "start":
        return record
    kept = {key: value for key, value in record.items() if key not in _LEFT_OUT}
    settings = kept.get("settings")
    if isinstance(settings, dict):
        kept["settings"] = {key: value for key, value in settings.items() if key != "ledger"}
    return kept
