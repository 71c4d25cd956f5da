"""What a feed is written to: a file, or standard output, that notes its first failed write and takes no more.

A feed is an export, so a full disk under it does not end the crawl, does not keep other feeds from their items and is
said once, not once an item; but it is not passed over either: the command ends with exit code 74.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FileFeedStorage

from seaspider.extension import Seaspider
from seaspider.terminal import shown

logger = logging.getLogger(__name__)


class FailingOnce(io.RawIOBase):
    """A file up to its first error, nowhere after it: what follows a gap would look whole and not be."""

    def __init__(self, opened: Callable[[], io.FileIO], tell: Callable[[OSError], None]) -> None:
        super().__init__()
        self._tell_of = tell
        self._file: io.FileIO | None = None
        self.error: OSError | None = None
        try:
            self._file = opened()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        self.error = error
        self._tell_of(error)

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file is not None and self._file.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence) if self._file is not None else 0

    def tell(self) -> int:
        return self._file.tell() if self._file is not None else 0

    def write(self, data: Any, /) -> int:
        size = memoryview(data).nbytes
        if self._file is None or self.error is not None:
            return size
        try:
            return self._file.write(data) or 0
        except OSError as error:
            self._failed(error)
            return size

    def close(self) -> None:
        try:
            if self._file is not None and not self.closed:
                self._file.close()
        except OSError as error:
            self._failed(error)
        finally:
            super().close()


class FileStorage(FileFeedStorage):
    """Scrapy's, with files that fail once."""

    def __init__(self, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        super().__init__(uri, feed_options=feed_options)
        self._crawler = crawler
        self._uri = uri
        self._raw: FailingOnce

    @classmethod
    def from_crawler(cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None) -> Self:
        return cls(crawler, uri, feed_options=feed_options)

    def open(self, spider: Spider) -> IO[bytes]:
        self._raw = FailingOnce(self._opened, self._tell_of)
        return io.BufferedWriter(self._raw)

    def store(self, file: IO[bytes]) -> None:
        """Raises the error that the file met, for Scrapy to count and log."""
        file.close()
        if self._raw.error is not None:
            raise self._raw.error

    def _opened(self) -> io.FileIO:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        return io.FileIO(self.path, self.write_mode)

    def _tell_of(self, error: OSError) -> None:
        why = error.strerror or str(error)
        Seaspider.of(self._crawler).run.feed_errors.setdefault(self._uri, why)
        logger.error(
            "Feed %s cannot be written: %s. It lacks what follows; the crawl goes on, and the store has every record",
            self._uri,
            why,
        )


class StdoutStorage(FileStorage):
    """Standard output, past the buffer of Python's own, which would fail once more at the end of the process."""

    def _opened(self) -> io.FileIO:
        sys.stdout.flush()
        kind = _Terminal if sys.stdout.isatty() else io.FileIO
        return kind(sys.stdout.fileno(), "wb", closefd=False)


class _Terminal(io.FileIO):
    """What servers said is in a feed."""

    def write(self, data: Any, /) -> int:
        rest = shown(bytes(data))
        while rest:
            rest = rest[super().write(rest) :]
        return memoryview(data).nbytes
