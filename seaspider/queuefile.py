"""The queue's bytes: a file, a .gz file or standard input.

Opens and reads; what the bytes mean is decided in `seaspider.core.queue`. Whatever goes wrong becomes one QueueError
whose one line names the queue and the problem. A FIFO can be read, too: the queue is read once and never sought in.
"""

import gzip
import hashlib
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Protocol

from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, Counts, Entry, QueueError, QueueReader, Skipped

STDIN = "-"
_CHUNK_BYTES = 1 << 18


LineCounts = tuple[int, int, int, int]
"""Lines; of these blank, comment and rejected."""


class Queue(Protocol):
    """What a run takes its URLs from, once. `counts` and `sha256` hold for what was read so far."""

    @property
    def path(self) -> str: ...

    @property
    def counts(self) -> Counts: ...

    @property
    def sha256(self) -> str: ...

    def __iter__(self) -> Iterator[Entry | Skipped]:
        """Raises QueueError."""


class QueueFile:
    """One pass over the queue named by `path`; "-" is the process's standard input. `stdin`: read this instead.
    `part`: see QueueReader.

    Iterating yields what QueueReader.read() does and raises QueueError, no other error. `counts` and `sha256` hold for
    what was read so far, so for the whole queue after the iteration.
    """

    def __init__(
        self,
        path: str,
        done: Callable[[str], bool] = lambda url: False,
        stdin: BinaryIO | None = None,
        *,
        part: bool = False,
    ) -> None:
        self._path = path
        self._stdin = stdin
        self.is_part = part
        self._reader = QueueReader(done, part=part)
        self._digest = hashlib.sha256()
        self._sha256: str | None = None

    @property
    def path(self) -> str:
        return self._path

    @property
    def counts(self) -> Counts:
        return self._reader.counts

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes read, after decompression: what was queued, not how it was packed."""
        return self._sha256 or self._digest.hexdigest()

    @property
    def plain_bytes(self) -> int | None:
        """The size of a file that is read as it is, by its name; None for anything else."""
        if self._stdin is not None or self.path == STDIN or self.path.lower().endswith(".gz"):
            return None
        try:
            found = Path(self.path).stat()
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def read_elsewhere(self, lines: LineCounts, sha256: str) -> None:
        """Takes over what another reader of the same file has counted so far."""
        counts = self.counts
        counts.lines, counts.blank, counts.comment, counts.rejected = lines
        self._sha256 = sha256

    def __iter__(self) -> Iterator[Entry | Skipped]:
        with self._named():
            yield from self._reader.read(self._chunks())

    def blocks(self, origins: Origins) -> Iterator[Block]:
        """Instead of an iteration: QueueReader.blocks(). Raises QueueError."""
        with self._named():
            yield from self._reader.blocks(self._chunks(), origins)

    def content(self) -> Iterator[bytes]:
        """The queue's bytes, decompressed and not judged, instead of an iteration. Raises QueueError."""
        with self._named():
            yield from self._chunks()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except QueueError as error:
            name = "standard input" if self.path == STDIN else ascii(self.path)
            raise QueueError(f"queue {name}: {error}") from error.__cause__

    def _chunks(self) -> Iterator[bytes]:
        try:
            if self._stdin is not None:
                yield from self._read(self._stdin)
            elif self.path == STDIN:
                yield from self._read(_standard_input())
            else:
                with self._open() as file:
                    yield from self._read(file)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise QueueError(f"broken gzip: {error}") from error
        except OSError as error:
            raise QueueError(error.strerror or str(error)) from error

    def _open(self) -> BufferedReader | gzip.GzipFile:
        try:
            if self.path.lower().endswith(".gz"):
                return gzip.open(self.path)
            return Path(self.path).open("rb")
        except ValueError as error:
            # A NUL in the name.
            raise QueueError(str(error)) from error

    def _read(self, file: BinaryIO | BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
        while chunk := file.read(_CHUNK_BYTES):
            self._digest.update(chunk)
            yield chunk


def sha256_of(path: str) -> str:
    """The digest of a whole queue file, as QueueFile.sha256. Raises QueueError."""
    file = QueueFile(path)
    for _ in file.content():
        pass
    return file.sha256


def _standard_input() -> BinaryIO:
    # A process may be started without it.
    if sys.stdin is None:
        raise QueueError("is closed")
    return sys.stdin.buffer
