"""The queue that a replay is given with --queue: may be read for several runs, standard input, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from seaspider import queuecheck
from seaspider.core.queue import QueueError
from seaspider.errors import QueueFileError
from seaspider.queuefile import QueueFile


@dataclass(frozen=True, slots=True)
class GivenQueue:
    """`copy`: what is read instead of the file, if that can be read only once."""

    path: str
    sha256: str
    copy: BinaryIO | None

    def file(self, done: Callable[[str], bool] = lambda url: False) -> QueueFile:
        """One pass over it, from the beginning."""
        if self.copy is not None:
            self.copy.seek(0)
        return QueueFile(self.path, done, self.copy)


@contextmanager
def given(path: str | None) -> Iterator[GivenQueue | None]:
    """The queue of a path, None for None, as long as the block lasts. Raises QueueFileError."""
    if path is None:
        yield None
        return
    with queuecheck.checked(path) as copy:
        queue = QueueFile(path, stdin=copy)
        try:
            for _ in queue.content():
                pass
        except QueueError as error:
            raise QueueFileError(str(error)) from error
        yield GivenQueue(path, queue.sha256, copy)
