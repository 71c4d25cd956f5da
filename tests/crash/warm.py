"""Starts crawls without waiting for their imports: a process that has imported everything, and forks.

Each crawl is a process of its own that does what `python -c ...` would: the same code, arguments and exit. A test is
mostly starts, and this makes them three times as fast. One thing differs: what its code changes is imported already.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from scrapy.utils.project import get_project_settings

from seaspider import guard
from tests.crawling import ROOT, environment

MOST_S = 60
"""Few crawls take that long; one that does is ended by SIGALRM."""

GONE = -1000
"""The exit code of a crawl whose forking process has ended."""


class Crawling:
    """A crawl under way, with what is needed of Popen."""

    def __init__(self, pid: int, ended: SimpleQueue[int]) -> None:
        self.pid = pid
        self._ended = ended
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None and not self._ended.empty():
            self._code = self._ended.get()
        return self._code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float) -> int:
        """The exit code, or minus the signal's number."""
        if self._code is None:
            try:
                self._code = self._ended.get(timeout=timeout)
            except Empty:
                raise subprocess.TimeoutExpired("a crawl", timeout) from None
        return self._code


class Warm:
    """The forking process, from the parent's side. Usable from any thread."""

    def __enter__(self) -> Warm:
        self.environment = environment()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._answers: dict[int, SimpleQueue[int]] = {}
        self._asking = Lock()
        self._listener = Thread(target=self._listen, name="warm", daemon=True)
        self._listener.start()
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(MOST_S)
        self._listener.join(MOST_S)
        self._process.stdout.close()

    def start(
        self,
        command: list[str],
        log: Path,
        out: Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        most_s: float = MOST_S,
    ) -> Crawling:
        """Runs `python -c CODE ARGUMENT...`; both outputs go into the file `log`, or standard output into `out`.

        `environment` comes on top of the own one; after `most_s` it is ended by SIGALRM."""
        assert self._process.stdin is not None
        answers: SimpleQueue[int] = SimpleQueue()
        with self._asking:
            job = len(self._answers)
            self._answers[job] = answers
            asked = {
                "job": job,
                "command": command[1:],
                "log": str(log),
                "out": str(out or log),
                "environment": dict(environment or {}),
                "most_s": most_s,
            }
            self._process.stdin.write(json.dumps(asked) + "\n")
        return Crawling(answers.get(timeout=MOST_S), answers)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            job, number = json.loads(line)
            self._answers[job].put(number)
        for answers in self._answers.values():
            answers.put(GONE)


@cache
def shared() -> Warm:
    """The one of this process, up to its end."""
    warm = Warm()
    warm.__enter__()
    atexit.register(warm.__exit__)
    return warm


def _serve() -> dict[str, Any]:
    """Forks for each line of standard input; returns in the children only, with their job. Tells pid and exit code."""
    with selectors.DefaultSelector() as events:
        events.register(sys.stdin.fileno(), selectors.EVENT_READ)
        unread = b""
        while True:
            for key, _ in events.select():
                if key.fd != sys.stdin.fileno():
                    job, pid = key.data
                    _tell(job, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                    events.unregister(key.fd)
                    os.close(key.fd)
                    continue
                read = os.read(key.fd, 1 << 20)
                if not read:
                    _end(events)
                *lines, unread = (unread + read).split(b"\n")
                for line in lines:
                    asked: dict[str, Any] = json.loads(line)
                    pid = os.fork()
                    if not pid:
                        return asked
                    _tell(asked["job"], pid)
                    events.register(os.pidfd_open(pid), selectors.EVENT_READ, (asked["job"], pid))


def _tell(job: int, number: int) -> None:
    os.write(sys.stdout.fileno(), f"[{job}, {number}]\n".encode())


def _end(events: selectors.BaseSelector) -> None:
    """Nobody is left who could ask."""
    for key in list(events.get_map().values()):
        if key.data:
            os.kill(key.data[1], signal.SIGKILL)
    os._exit(0)


def _main() -> None:
    for package in ("seaspider", "settings", "scrapy.commands"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for name in ("scrapy.cmdline", "scrapy.core.engine", "scrapy.core.scraper", "tests.crash.saboteur"):
        importlib.import_module(name)
    # Loads what the settings name. Each crawl finds its own.
    guard.check(get_project_settings())
    del os.environ["SCRAPY_SETTINGS_MODULE"]
    # A fork shares what nobody changes.
    gc.freeze()
    # Each crawl installs its own.
    assert "twisted.internet.reactor" not in sys.modules
    job = _serve()
    os.environ.update(job["environment"])
    signal.setitimer(signal.ITIMER_REAL, job["most_s"])
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    out = log if job["out"] == job["log"] else os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((null, 0), (out, 1), (log, 2)):
        os.dup2(old, new)
    code, *arguments = job["command"][1:]
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    _main()
