"""A long queue, judged line by line in a process of its own while its URLs are numbered in the crawl's.

The process reads the file as the crawl would. Whatever goes wrong in it is a QueueError here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from seaspider import readahead
from seaspider.core.plainurls import Origins
from seaspider.core.queue import Block, QueueError, Skipped
from seaspider.queuefile import LineCounts, QueueFile

# What is sent for each block: of its URLs the lines, the numbers of the origins and the texts, with LF between them;
# the lines that are none, and their bytes; the counts of lines so far, their sha256, and the origins that are new in
# the block.
_Told = tuple[Sequence[int], Sequence[int], bytes, list[Skipped], list[bytes], LineCounts, str, list[str], list[str]]


@contextmanager
def started(queue: QueueFile) -> Iterator[readahead.Reader | None]:
    """The process, if it pays, for blocks(). It is gone after it, whether anybody asked for a block or not."""
    if not readahead.pays(queue.plain_bytes or 0):
        yield None
        return
    reader = readahead.Reader(__name__, queue.path, str(int(queue.is_part)))
    try:
        yield reader
    finally:
        reader.close()


def blocks(queue: QueueFile, origins: Origins, reader: readahead.Reader | None = None) -> Iterator[Block]:
    """As queue.blocks(), but for the text of a block, which stays where it was read. `reader`: of this queue, if one is
    started() already. Raises QueueError."""
    if reader is not None:
        yield from _sent(queue, origins, reader)
        return
    with started(queue) as own:
        yield from _sent(queue, origins, own) if own else queue.blocks(origins)


def _sent(queue: QueueFile, origins: Origins, reader: readahead.Reader) -> Iterator[Block]:
    try:
        for told in reader.sent():
            if isinstance(told, str):
                raise QueueError(told)
            lines, numbers, texts, rejected, raws, counts, sha256, *met = told
            queue.read_elsewhere(counts, sha256)
            origins.add(*met)
            urls = texts.split(b"\n") if lines else []
            yield Block(lines, numbers, urls, b"", rejected=rejected, rejected_raws=raws)
    except readahead.EndedEarly:
        raise QueueError(f"queue {queue.path!a}: the process that reads it ended early") from None


def main(path: str, part: str) -> None:
    """The process."""
    readahead.send(_found(QueueFile(path, part=part == "1"), Origins()))


def _found(queue: QueueFile, origins: Origins) -> Iterator[_Told | str]:
    """Each block, and what is wrong with the queue, if anything is."""
    try:
        for block in queue.blocks(origins):
            yield _told(queue, block, origins)
    except QueueError as error:
        yield str(error)


def _told(queue: QueueFile, block: Block, origins: Origins) -> _Told:
    counts = queue.counts
    told = (counts.lines, counts.blank, counts.comment, counts.rejected)
    # Arrays and one text: a list would be sent item by item.
    lines = block.lines if isinstance(block.lines, range) else array("I", block.lines)
    numbers, texts = array("I", block.origins), b"\n".join(block.urls)
    return lines, numbers, texts, block.rejected, block.rejected_raws, told, queue.sha256, *origins.taken()
