"""Crawls and replays in processes forked from a warm one, and what a replay must be like."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from seaspider.core.records import File
from tests.crash.warm import MOST_S, Warm
from tests.crawling import command

LINES = tuple(file for file in File if file is not File.MANIFEST)

# No way to a server, and none to a name.
NO_SOCKET = """
import socket
def refused(*args, **options):
    raise PermissionError(1, "no socket here")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refused
"""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended: its exit code, and both its outputs."""

    exit: int
    text: str

    @property
    def found(self) -> dict[str, Any]:
        """The object it printed."""
        last: dict[str, Any] = json.loads(self.text.splitlines()[-1])
        return last


class Ground:
    """A folder in which commands run. `warm`: what they are forked from."""

    def __init__(self, warm: Warm, folder: Path) -> None:
        self.warm = warm
        self.folder = folder
        self._numbers = count(1)

    def run(self, line: Sequence[str]) -> Done:
        log = self.folder / f"log-{next(self._numbers)}"
        code = self.warm.start(list(line), log).wait(MOST_S)
        return Done(code, log.read_text())

    def queue(self, lines: Sequence[str]) -> Path:
        """A new file."""
        path = self.folder / f"queue-{next(self._numbers)}.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def crawl(
        self,
        queue: Path | Sequence[str],
        store: Path,
        *,
        names: Mapping[str, Any] | None = None,
        arguments: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        sabotage: str = "",
    ) -> Done:
        """As tests.crawling.crawl()."""
        if not isinstance(queue, Path):
            queue = self.queue(queue)
        given = {"queue": queue, "store": store, **(arguments or {})}
        parts = [part for name, value in given.items() for part in ("-a", f"{name}={value}")]
        settings = {"SEASPIDER_LEDGER": store.with_name(f"{store.name}.ledger"), **(settings or {})}
        return self.run(command(["crawl", "seaspider", *parts], names=names, settings=settings, sabotage=sabotage))

    def replay(self, store: Path, *options: str, new: Path | None = None, sabotage: str = NO_SOCKET) -> Replayed:
        """Into a new folder. Says --json; there is no socket unless `sabotage` says otherwise."""
        new = new or self.folder / f"new-{next(self._numbers)}"
        line = ["replay", str(store), "-a", f"store={new}", "--json", *options]
        return Replayed(self.run([sys.executable, "-c", MAIN, sabotage, *line]), store, new)


MAIN = command([])[2]


@dataclass(frozen=True, slots=True)
class Replayed:
    """`store` was replayed into `new`."""

    done: Done
    store: Path
    new: Path

    @property
    def found(self) -> dict[str, Any]:
        return self.done.found

    def check(self, *, taken_over: int = 0, manifest: bool = True) -> None:
        """The new store is the old one, times and all. `manifest`: of that, too; else a path in it differs."""
        assert self.done.exit == 0, self.done.text
        assert self.done.text.count("\n") == 1, self.done.text
        assert (self.found["same"], self.found["difference"]) == (True, None)
        assert self.found["digest"] == self.found["new_digest"]
        assert self.found["taken_over"] == taken_over
        for file in LINES:
            assert (self.new / file).read_bytes() == whole_lines(self.store / file), file
        if manifest:
            said = f',"replay_of":"{self.found["digest"]}"'.encode()
            now = (self.new / File.MANIFEST).read_bytes()
            assert now.replace(said, b"") == whole_lines(self.store / File.MANIFEST).replace(said, b"")
            assert now.count(said) == now.count(b'"event":"start"')
        assert bodies(self.new) == {
            name: body for name, body in bodies(self.store).items() if name in named(self.store)
        }

    def differs(self, *texts: str) -> None:
        """It is shown that it is not the same, with these texts."""
        assert self.done.exit == 1, self.done.text
        assert (self.found["same"], self.found["new_digest"]) == (False, None)
        for text in texts:
            assert text in self.found["difference"], self.found["difference"]


def whole_lines(path: Path) -> bytes:
    """Without the half line that a crash may have left."""
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def bodies(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.glob("bodies/*/*") if path.suffix != ".part"}


def named(store: Path) -> set[str]:
    """The digests that the records name."""
    rows = [json.loads(line) for file in (File.PAGES, File.ROBOTS) for line in whole_lines(store / file).splitlines()]
    return {row["sha256"] for row in rows}


def records(store: Path, file: File) -> list[dict[str, Any]]:
    return [json.loads(line) for line in whole_lines(store / file).splitlines()]
