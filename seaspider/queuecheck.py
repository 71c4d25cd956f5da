"""Looks at a queue before a store is made for it, so that a queue that cannot be used leaves nothing behind.

What can be read only once (standard input, a pipe) is copied to a temporary file; so is a .gz file, unpacked, since
its end tells whether it is whole. Of a plain file as much is read as tells that it has a URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from seaspider.core.queue import Entry, QueueError
from seaspider.errors import QueueFileError
from seaspider.queuefile import STDIN, QueueFile


@contextmanager
def checked(path: str, *, part: bool = False) -> Iterator[BinaryIO | None]:
    """The bytes to read the queue from, as long as the block lasts; None: the file itself. Raises QueueFileError.

    `part`: a file of a plan, which was checked as a whole.
    """
    if part:
        yield None
        return
    if path != STDIN and not path.lower().endswith(".gz") and not Path(path).is_fifo():
        _find_url(QueueFile(path))
        yield None
        return
    with TemporaryFile() as copy:
        _copy(QueueFile(path), copy)
        copy.seek(0)
        _find_url(QueueFile(path, stdin=copy))
        copy.seek(0)
        yield copy


def _find_url(queue: QueueFile) -> None:
    try:
        # Without any URL, reading to the end raises.
        next((item for item in queue if isinstance(item, Entry)), None)
    except QueueError as error:
        raise QueueFileError(str(error)) from error


def _copy(queue: QueueFile, copy: BinaryIO) -> None:
    try:
        for chunk in queue.content():
            copy.write(chunk)
        copy.flush()
    except QueueError as error:
        raise QueueFileError(str(error)) from error
    except OSError as error:
        raise QueueFileError(f"queue {queue.path!a}: no room for a copy: {error.strerror or error}") from error
