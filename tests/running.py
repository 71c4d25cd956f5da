"""A crawl in a process of its own while it runs: its log can be waited on, and it can be signalled."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tests.crash.warm import MOST_S, Crawling, shared
from tests.crawling import ROOT, Ended, command, environment
from tests.test_resume import final


class Running:
    """Begins at once; what is left of it is killed at the end of the `with` block. `before`: the command it is run by.

    Its log begins each line with the time, in s since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        urls: Sequence[str],
        *,
        names: Mapping[str, Any],
        store: Path | None = None,
        settings: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        sabotage: str = "",
        before: Sequence[str] = (),
        queue: str = "",
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        most_s: float = MOST_S,
    ) -> None:
        (folder / "queue.txt").write_text("".join(f"{url}\n" for url in urls))
        self.store = store or folder / "store"
        self._log = folder / "log.txt"
        args = ["crawl", "seaspider", "-a", f"queue={queue or folder / 'queue.txt'}", "-a", f"store={self.store}"]
        settings = {
            "SEASPIDER_LEDGER": folder / "ledger.sqlite3",
            "LOG_FORMAT": "%(created).3f [%(name)s] %(levelname)s: %(message)s",
            **(settings or {}),
        }
        line = command([*args, *options], names=names, settings=settings, sabotage=sabotage)
        self.process: Crawling | subprocess.Popen[bytes]
        if not before and stdin == subprocess.DEVNULL:
            self._log.touch()
            self.process = shared().start(line, self._log, most_s=most_s)
            return
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*before, *line], cwd=ROOT, env=environment(), stdin=stdin, stdout=log, stderr=log
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_for(self, text: str, timeout_s: float = 20) -> None:
        until = time.monotonic() + timeout_s
        while text not in self.log:
            assert time.monotonic() < until, f"{text!r} not in the log: {self.log}"
            assert self.process.poll() is None, self.log
            time.sleep(0.01)

    def signal(self, number: int) -> float:
        """Sends it and returns the time."""
        now = time.time()
        os.kill(self.process.pid, number)
        return now

    def end(self, timeout_s: float = 20) -> Ended:
        code = self.process.wait(timeout_s)
        return Ended(code, "", self.log, self.store)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)


def logged(ended: Ended, text: str) -> float:
    """When the first line of the log was written that has this text."""
    return float(next(line for line in ended.log.splitlines() if text in line).split()[0])


def finals(ended: Ended) -> list[dict[str, Any]]:
    """The final page records as equal stores have them. Each URL has one at most."""
    pages = [page for page in ended.records("pages") if page["outcome"] not in ("deferred", "blocked")]
    assert len({page["url"] for page in pages}) == len(pages)
    return sorted(map(final, pages), key=lambda page: page["url"])
