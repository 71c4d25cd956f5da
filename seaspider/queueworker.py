"""A long queue, judged line by line in a process of its own while its URLs are numbered in the crawl's.

Decides when that pays. The process reads the file as the crawl would, by the same code, and sends what it finds through
a pipe; it ends when it is done, or as soon as nobody reads. Whatever goes wrong in it is a QueueError here.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, QueueError
from seaspider.queuefile import LineCounts, QueueFile

PAYS_FROM_BYTES: Final = 1 << 24
_CODE: Final = "import sys; from seaspider import queueworker; queueworker.main(*sys.argv[1:])"
_PROJECT: Final = str(Path(__file__).resolve().parents[1])

# What is sent for each block: itself, the counts of lines so far, their sha256, and the origins that are new in it.
_Told = tuple[Block, LineCounts, str, list[str], list[str]]


def blocks(queue: QueueFile, origins: Origins) -> Iterator[Block]:
    """As queue.blocks(), but for the text of a block, which stays where it was read. Raises QueueError."""
    if not _pays(queue):
        yield from queue.blocks(origins)
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([_PROJECT, *sys.path[1:]])}
    command = [sys.executable, "-c", _CODE, queue.path, str(int(queue.is_part))]
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            while True:
                told = pickle.load(process.stdout)  # noqa: S301 - from a process of this code's
                if not isinstance(told, tuple):
                    break
                block, lines, sha256, texts, hosts = told
                queue.read_elsewhere(lines, sha256)
                origins.add(texts, hosts)
                yield block
        except (EOFError, OSError, pickle.UnpicklingError):
            raise QueueError(f"queue {queue.path!a}: the process that reads it ended early") from None
        finally:
            process.kill()
    if told is not None:
        raise QueueError(told)


def _pays(queue: QueueFile) -> bool:
    size = queue.plain_bytes
    return size is not None and size >= PAYS_FROM_BYTES and len(os.sched_getaffinity(0)) > 1


def main(path: str, part: str) -> None:
    """The process: sends each block, then None, or what is wrong with the queue."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl's to decide
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    gc.disable()  # nothing here is in a cycle
    queue, origins, end = QueueFile(path, part=part == "1"), Origins(), None
    try:
        for block in queue.blocks(origins):
            block.text = b""
            _send(_told(queue, block, origins))
    except QueueError as error:
        end = str(error)
    _send(end)


def _told(queue: QueueFile, block: Block, origins: Origins) -> _Told:
    counts = queue.counts
    lines = (counts.lines, counts.blank, counts.comment, counts.rejected)
    return block, lines, queue.sha256, *origins.taken()


def _send(what: _Told | str | None) -> None:
    pickle.dump(what, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()
