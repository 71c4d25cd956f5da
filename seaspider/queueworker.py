"""A long queue, judged line by line in a process of its own while its URLs are numbered in the crawl's.

The process reads the file as the crawl would. Whatever goes wrong in it is a QueueError here.
"""

from __future__ import annotations

from collections.abc import Iterator

from seaspider import readahead
from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, QueueError
from seaspider.queuefile import LineCounts, QueueFile

# What is sent for each block: itself, the counts of lines so far, their sha256, and the origins that are new in it.
_Told = tuple[Block, LineCounts, str, list[str], list[str]]


def blocks(queue: QueueFile, origins: Origins) -> Iterator[Block]:
    """As queue.blocks(), but for the text of a block, which stays where it was read. Raises QueueError."""
    if not readahead.pays(queue.plain_bytes or 0):
        yield from queue.blocks(origins)
        return
    try:
        for told in readahead.Reader(__name__, queue.path, str(int(queue.is_part))).sent():
            if isinstance(told, str):
                raise QueueError(told)
            block, lines, sha256, texts, hosts = told
            queue.read_elsewhere(lines, sha256)
            origins.add(texts, hosts)
            yield block
    except readahead.EndedEarly:
        raise QueueError(f"queue {queue.path!a}: the process that reads it ended early") from None


def main(path: str, part: str) -> None:
    """The process."""
    readahead.send(_found(QueueFile(path, part=part == "1"), Origins()))


def _found(queue: QueueFile, origins: Origins) -> Iterator[_Told | str]:
    """Each block, and what is wrong with the queue, if anything is."""
    try:
        for block in queue.blocks(origins):
            block.text = b""
            yield _told(queue, block, origins)
    except QueueError as error:
        yield str(error)


def _told(queue: QueueFile, block: Block, origins: Origins) -> _Told:
    counts = queue.counts
    lines = (counts.lines, counts.blank, counts.comment, counts.rejected)
    return block, lines, queue.sha256, *origins.taken()
