"""The store of a replay: takes a line only if it is the one that was recorded, times aside, and none that was not.

Such a line is written as it was, with its times, so a later run that decides by them decides as it did. What a run that
was killed or stopped would have written next is dropped, so its lines end where they ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seaspider.core.records import File
from seaspider.replay.reel import LINES, Reel
from seaspider.replay.tape import Tape
from seaspider.replay.world import TapeClock
from seaspider.store import FolderStore


class ReplayStore(FolderStore):
    """`source`: the digest of the store that is replayed, which each run names in its `versions`."""

    def __init__(self, folder: Path, tape: Tape, clock: TapeClock, source: str) -> None:
        super().__init__(folder, durable=False)
        self._source = source
        self._tape = tape
        self._clock = clock

    def write(self, file: File, *records: Mapping[str, Any] | bytes) -> None:
        """Raises Differs, and again for each write after that."""
        for record in records:
            each = map(json.loads, record.splitlines()) if isinstance(record, bytes) else (record,)
            for one in each:
                self._compared(file, one)

    def _compared(self, file: File, record: Mapping[str, Any]) -> None:
        if self._tape.reel.error is not None:
            raise self._tape.reel.error
        recorded = self._tape.take_manifest(record) if file is File.MANIFEST else self._tape.take(file, record)
        if recorded is not None:
            if recorded.get("event") == "start":
                recorded = {**recorded, "versions": {**recorded["versions"], "replay_of": self._source}}
            super().write(file, recorded)
            self._clock.let_go()

    def put_body(self, body: bytes) -> str:
        """Keeps a body that the run has a record of."""
        sha256 = hashlib.sha256(body).hexdigest()
        return super().put_body(body) if self._tape.names_body(sha256) else sha256


def take_over(reel: Reel, folder: Path, last_run: int | None) -> int:
    """Writes the lines that are left of the runs up to `last_run` (None: of all) as they are. Returns how many.

    A crash leaves such lines: of a run that has no start in the manifest, and of one whose last requests a power cut
    took. They belong to the store that a later run found. Raises StoreError.
    """
    store: FolderStore | None = None
    taken = 0
    try:
        for file in LINES:
            head = reel.lines[file]
            while (line := head.at) is not None and (last_run is None or line.run <= last_run):
                store = store or FolderStore(folder, durable=False)
                sha256 = None if line.found is None else line.found.kept.sha256
                body = None if sha256 is None else reel.evidence.true_body(sha256)
                if body is not None:
                    store.put_body(body)
                store.write(file, line.row.record)
                reel.take(head)
                taken += 1
        while (request := reel.requests.at) is not None and (last_run is None or request.run <= last_run):
            reel.take(reel.requests)
    finally:
        if store is not None:
            store.close()
    return taken
