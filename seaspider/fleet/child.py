"""`python -m seaspider.fleet.child`: one `scrapy` command that does not outlive the process that started it.

Takes what it is to run from standard input, one JSON object, so that no password of a ledger is seen in a list of
processes. Dies by SIGKILL when the thread that started it ends, whatever ends that; a killed crawl loses nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Final

from scrapy.cmdline import execute

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """From now on this process ends with the one whose child it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    if os.getppid() != parent:
        # It ended before this was asked for.
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    asked = json.load(sys.stdin)
    die_with(asked["parent"])
    # Whoever started it may ignore them, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    execute(["scrapy", *asked["arguments"]])


if __name__ == "__main__":
    main()
