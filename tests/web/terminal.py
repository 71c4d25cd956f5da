"""Runs a command on a terminal of its own, and says what it wrote there."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Mapping, Sequence

from tests.crawling import ROOT, environment

MOST_S = 60


def on_terminal(line: Sequence[str], extra: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Exit code of a command line, and all octets of its standard output and standard error, which are a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        line, cwd=ROOT, env=environment({"TERM": "xterm", **(extra or {})}), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written, until = b"", time.monotonic() + MOST_S
    try:
        while time.monotonic() < until:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # nobody holds the other end any more
                break
            written += piece
        return process.wait(MOST_S), written
    finally:
        process.kill()
        process.wait(MOST_S)
        os.close(ours)
