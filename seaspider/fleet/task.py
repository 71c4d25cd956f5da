"""What a worker does: crawls one shard, in a process of its own, and says how that ended.

A worker is any process that can import this, on any machine that sees the same plan folder at the same path. Decides
nothing about a shard; a child is told to stop once, by stop(), and is killed with its worker.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import seaspider
from seaspider.errors import ExitCode
from seaspider.fleet.plan import name_of

PROJECT: Final = Path(seaspider.__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Order:
    """One shard to crawl."""

    fleet: str
    """Which command asked for it."""
    shard: int
    arguments: tuple[str, ...] = field(repr=False)
    """Of `scrapy`; a ledger's password may be among them."""
    settings_module: str
    log: str
    """The file that what the crawl says is added to."""


class _Children:
    """The crawls of this worker. A fleet that was stopped gets no more of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[subprocess.Popen[bytes], str] = {}
        self._stopped: set[str] = set()

    def start(self, order: Order) -> subprocess.Popen[bytes] | None:
        with self._lock, Path(order.log).open("ab") as log:
            if order.fleet in self._stopped:
                return None
            # Away from the terminal: there a Ctrl-C is for the command, which tells each child once.
            child = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-m", "seaspider.fleet.child", name_of(order.shard)],
                cwd=PROJECT,
                env=_environment(order),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            self._running[child] = order.fleet
            return child

    def ended(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            del self._running[child]

    def stop(self, fleet: str) -> None:
        with self._lock:
            if fleet not in self._stopped:
                self._stopped.add(fleet)
                for child, whose in self._running.items():
                    if whose == fleet:
                        child.send_signal(signal.SIGINT)


_children = _Children()


def crawl_shard(order: Order) -> int:
    """The exit code of the crawl, or minus the number of the signal that ended it.

    The thread waits for its child, so it lives as long as that does: the child dies with the thread.
    """
    child = _children.start(order)
    if child is None:
        return ExitCode.INTERRUPTED
    try:
        child.communicate(json.dumps({"parent": os.getpid(), "arguments": order.arguments}).encode())
        return child.returncode
    finally:
        child.kill()
        child.wait()
        _children.ended(child)


def stop(fleet: str) -> None:
    """The children of a fleet end as after one Ctrl-C, and this worker starts no more of it."""
    _children.stop(fleet)


def _environment(order: Order) -> dict[str, str]:
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": order.settings_module, "PYTHONPATH": os.pathsep.join(paths)}
