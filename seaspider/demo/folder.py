"""The folder of the demo: made, or emptied if an earlier demo left it, and never anything else.

What an earlier demo left is: nothing but the store's files, the demo's queue, log and ledger, and a manifest whose
first run had that queue (or none, if it was stopped before). Anything else is a usage error that says what is in the
way.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seaspider.core.records import File
from seaspider.errors import StoreError, StoreInUse, UsageFault

QUEUE = "demo-queue.txt"
LOG = "crawl.log"
LEDGER = "ledger.sqlite3"
_BODIES = "bodies"
_LOCK = "lock"
_LEDGER_FILES = (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm")
_OURS = frozenset({*map(str, File), QUEUE, LOG, *_LEDGER_FILES, _BODIES, _LOCK})


class DemoFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.queue = self.path / QUEUE
        self.log = self.path / LOG
        self.ledger = self.path / LEDGER

    def prepare(self, queue: str) -> None:
        """An empty folder with the queue in it. Raises UsageFault, StoreInUse and StoreError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                self._check()
                with self._locked():
                    self._empty()
            self.queue.write_text(queue, "utf-8")
        except OSError as error:
            raise StoreError(f"{error.filename or self.path} cannot be written: {error.strerror}") from error

    def _check(self) -> None:
        """Raises UsageFault unless everything in the folder is of an earlier demo."""
        strange = sorted(entry.name for entry in self.path.iterdir() if entry.name not in _OURS or entry.is_symlink())
        if strange:
            raise UsageFault(f"folder {str(self.path)!r} is not emptied: {strange[0]!r} in it is not of the demo")
        if not self._is_of_a_demo():
            raise UsageFault(f"folder {str(self.path)!r} is not emptied: it holds records of another crawl")

    def _is_of_a_demo(self) -> bool:
        manifest = self.path / File.MANIFEST
        first = manifest.read_bytes().partition(b"\n")[0] if manifest.is_file() else b""
        if not first:
            return not any((self.path / file).is_file() and (self.path / file).stat().st_size for file in File)
        try:
            run = json.loads(first)
        except ValueError:
            return False
        return isinstance(run, dict) and Path(str(run.get("queue"))).name == QUEUE

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No crawl writes to the folder meanwhile. The lock file stays: another process may be waiting for it."""
        with (self.path / _LOCK).open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreInUse(f"folder {str(self.path)!r} is in use by another process") from None
            yield

    def _empty(self) -> None:
        """Fails at whatever lies where the store puts nothing."""
        for name in sorted(_OURS - {_BODIES, _LOCK}):
            (self.path / name).unlink(missing_ok=True)
        bodies = self.path / _BODIES
        for folder in sorted(bodies.glob("??")):
            for body in folder.iterdir():
                body.unlink()
            folder.rmdir()
        if bodies.exists():
            bodies.rmdir()
