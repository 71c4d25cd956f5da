"""Whether a folder has journal files that no merge made: those are not a fleet's to write over.

Looks at the first line of each. What a merge that was killed left, with or without a manifest, is a merge's.
"""

from __future__ import annotations

from pathlib import Path

from seaspider import journal
from seaspider.core.records import File
from seaspider.errors import StoreError, UsageFault

_NEVER_MERGED = (File.INTENTS, File.REQUESTS)


def refuse_foreign(folder: Path) -> None:
    """Raises UsageFault that names them."""
    found = [file for file in File if (folder / file).exists() and not _is_merged(folder / file, file)]
    if found:
        raise UsageFault(f"store {str(folder)!r}: has {', '.join(found)}, which no merge made; name another store")


def _is_merged(path: Path, file: File) -> bool:
    if file in _NEVER_MERGED:
        return False
    try:
        first = next(journal.read(path), None)
    except StoreError:
        return False
    if first is None:
        # A merge without such a line leaves an empty file; nothing is lost with one.
        return not path.stat().st_size
    return first.record.get("event") == "merge" if file is File.MANIFEST else "shard" in first.record
