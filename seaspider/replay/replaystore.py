"""The store of a replay: takes a line only if it is the one that was recorded, times aside, and none that was not.

What a run that was killed or stopped would have written next is dropped, so its lines end where they ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seaspider.core.records import File
from seaspider.replay.tape import Differs, Tape
from seaspider.replay.world import TapeClock
from seaspider.store import FolderStore


class ReplayStore(FolderStore):
    """`difference`: the first, which ends the replay."""

    def __init__(self, folder: Path, tape: Tape, clock: TapeClock) -> None:
        super().__init__(folder)
        self.difference: Differs | None = None
        self._tape = tape
        self._clock = clock

    def write(self, file: File, record: Mapping[str, Any]) -> None:
        """Raises Differs."""
        try:
            wanted = self._tape.is_in_manifest(record) if file is File.MANIFEST else self._tape.is_next(file, record)
        except Differs as error:
            self.difference = self.difference or error
            self.failed = error
            raise
        if wanted:
            super().write(file, record)
            self._clock.let_go()

    def put_body(self, body: bytes) -> str:
        if self._tape.over:
            return hashlib.sha256(body).hexdigest()
        return super().put_body(body)
