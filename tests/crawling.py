"""Runs the real `scrapy crawl seaspider` in a process of its own, against loopback servers, and reads its store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seaspider.core.records import without_times

ROOT = Path(__file__).parent.parent

# Twins: `sabotage` is run before the command, in its process, to take one guard out.
_MAIN = "import sys; exec(sys.argv.pop(1)); from scrapy.cmdline import execute; execute()"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended: exit code, standard output, log (standard error), and its store."""

    exit: int
    out: str
    log: str
    store: Path

    def records(self, file: str) -> list[dict[str, Any]]:
        """The lines of `<file>.jsonl`."""
        path = self.store / f"{file}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def page(self, url: str) -> dict[str, Any]:
        """The latest page record of a URL."""
        return [page for page in self.records("pages") if page["url"] == url][-1]

    def endings(self) -> dict[str, str]:
        """URL -> `outcome` or `outcome/reason` of its latest page record."""
        return {
            page["url"]: f"{page['outcome']}/{page['reason']}" if page["reason"] else page["outcome"]
            for page in self.records("pages")
        }

    def timeless(self, *files: str) -> dict[str, list[Any]]:
        """The records of some files without their time fields: what must not depend on when it was done."""
        return {file: [without_times(record) for record in self.records(file)] for file in files}


def crawl(
    queue: str | Path | Sequence[str],
    folder: Path,
    *,
    names: Mapping[str, str | Sequence[str]] | None = None,
    store: str = "store",
    arguments: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    sabotage: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60,
    cold: bool = False,
) -> Ended:
    """Crawls `queue` (a path, or the lines of a new file in `folder`) into `folder`/`store` with the loopback profile.

    `names` are resolved by SEASPIDER_RESOLVE. `settings` go on the command line; the pause is 0 unless they say more.
    """
    if not isinstance(queue, str | Path):
        path = folder / "queue.txt"
        path.write_text("".join(f"{line}\n" for line in queue), "utf-8")
        queue = path
    given = {"queue": queue, "store": folder / store, **(arguments or {})}
    return scrapy(
        [
            "crawl",
            "seaspider",
            *(part for name, value in given.items() for part in ("-a", f"{name}={value}")),
            *options,
        ],
        folder,
        names=names,
        store=store,
        settings=settings,
        sabotage=sabotage,
        environment=environment,
        timeout_s=timeout_s,
        cold=cold,
    )


def command(
    args: Sequence[str],
    *,
    names: Mapping[str, str | Sequence[str]] | None = None,
    settings: Mapping[str, object] | None = None,
    sabotage: str = "",
) -> list[str]:
    """The command line of a `scrapy` command in the loopback profile, for tests that start the process themselves."""
    chosen = {"SEASPIDER_INTERVAL": 0, "DOWNLOAD_TIMEOUT": 5, **(settings or {})}
    if names is not None:
        chosen["SEASPIDER_RESOLVE"] = json.dumps(names)
    switches = [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]
    return [sys.executable, "-c", _MAIN, sabotage, *args, *switches]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    now = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {**now, "SCRAPY_PROJECT": "loopback", "PYTHONPATH": str(ROOT), **(extra or {})}


def scrapy(
    args: Sequence[str],
    folder: Path,
    *,
    names: Mapping[str, str | Sequence[str]] | None = None,
    store: str = "store",
    settings: Mapping[str, object] | None = None,
    sabotage: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60,
    cold: bool = False,
) -> Ended:
    """Runs a `scrapy` command in the project with the loopback profile and a ledger file of its own in `folder`.

    It is forked from a process that has all imports done, unless that was started in another environment; `cold`: not
    so, for a sabotage or an environment that has to come before the imports, or a log that must not be a file.
    """
    from tests.crash.warm import shared

    line = command(
        args,
        names=names,
        settings={"SEASPIDER_LEDGER": folder / "ledger.sqlite3", **(settings or {})},
        sabotage=sabotage,
    )
    if not cold and _environment() == shared().environment:
        with TemporaryDirectory() as outputs:
            out, log = Path(outputs, "out"), Path(outputs, "log")
            code = shared().start(line, log, out, environment=environment, most_s=timeout_s).wait(timeout_s)
            return Ended(code, out.read_bytes().decode(), log.read_bytes().decode(), folder / store)
    ended = subprocess.run(
        line,
        cwd=ROOT,
        env=_environment(environment),
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode(), folder / store)


_environment = environment
