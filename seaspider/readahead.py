"""Another process that reads a file for this one, by the same code, while this one does something else.

Decides when that pays. What it finds comes through a pipe, in order; it ends when it is done, or as soon as nobody
reads. Whatever goes wrong in it is told to the one who asked.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

PAYS_FROM_BYTES: Final = 1 << 24
_PROJECT: Final = str(Path(__file__).resolve().parents[1])
_PIPE_BYTES: Final = 1 << 20
"""How far it may be ahead."""
_END: Final = None
# Memory that was read into stays with the process, for the next block: taken anew, it would be cleared each time.
_KEEP: Final = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 26)}


class EndedEarly(Exception):
    """The process was killed, or could not go on."""


def pays(size: int) -> bool:
    """For a file of so many bytes."""
    return size >= PAYS_FROM_BYTES and len(os.sched_getaffinity(0)) > 1


class Reader:
    """The process, from now on: runs `main(*arguments)` of a module, which is to call `send`."""

    def __init__(self, module: str, *arguments: str) -> None:
        code = f"import sys; from {module} import main; main(*sys.argv[1:])"
        environment = {**_KEEP, **os.environ, "PYTHONPATH": os.pathsep.join([_PROJECT, *sys.path[1:]])}
        command = [sys.executable, "-P", "-c", code, *arguments]  # -P: no module of the folder we are in
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pipesize=_PIPE_BYTES
        )

    def sent(self) -> Iterator[Any]:
        """What it sends; the process is gone after it, and once nobody asks for more. Raises EndedEarly."""
        with self._process as process:
            assert process.stdout is not None
            try:
                while (item := pickle.load(process.stdout)) is not _END:  # noqa: S301 - from a process of this code's
                    yield item
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                raise EndedEarly from error
            finally:
                process.kill()

    def close(self) -> None:
        """Ends it, whether anything was read or not."""
        with self._process as process:
            process.kill()


def send(items: Iterable[Any]) -> None:
    """In the process: sends the items, none of which is None, and ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl's to decide
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    gc.disable()  # nothing here is in a cycle
    for item in items:
        _send(item)
    _send(_END)


def _send(item: Any) -> None:
    pickle.dump(item, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()
