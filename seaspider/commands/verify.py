"""`scrapy verify STORE`: whether a store proves the promises. Reads the store and nothing else, asks nobody."""

from __future__ import annotations

import fcntl
import json
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from seaspider.commands import edge
from seaspider.errors import ExitCode, StoreInUse, UsageFault


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <store>"

    def short_desc(self) -> str:
        return "Prove from a store alone that its crawl kept the promises, or show where it did not"

    def long_desc(self) -> str:
        return (
            "Read a store and check the promises P1 to P6 one by one: each is proven, or refuted with the first line "
            "that contradicts it. Prints the verdict of each run, what could not be proven, and the digest of the "
            "records. Nobody is asked and nothing is written. Exit code 0: proven; 1: refuted; 2: no store that can be "
            "read, or a queue that cannot."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--queue", metavar="FILE", help="also compare each line of the queue with its fate")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.fleet.folder import is_fleet
        from seaspider.verify.report import as_object, as_text
        from seaspider.verify.verification import verify

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            if not args[0]:
                raise UsageFault("the store: must name a folder")
            _check_idle(Path(args[0]))
            if is_fleet(Path(args[0])):
                self._verify_fleet(Path(args[0]), opts)
                return
            with edge.reading_store(args[0]):
                found = verify(Path(args[0]), opts.queue)
            self.exitcode = ExitCode.INTERNAL if found.refuted else ExitCode.DONE
            edge.out(self, json.dumps(as_object(found)) if opts.json else as_text(found))

    def _verify_fleet(self, folder: Path, opts: Namespace) -> None:
        from seaspider.fleet.locks import FLEET, idle
        from seaspider.fleet.proof.report import as_object, as_text
        from seaspider.fleet.proof.verification import verify_fleet

        try:
            with (
                edge.reading_store(str(folder)),
                idle(folder, FLEET, f"{folder}: a fleet, or a merge, is at work in it"),
            ):
                found = verify_fleet(folder, opts.queue)
        except StoreInUse as error:
            raise UsageFault(f"{error}; verify it when that has ended") from None
        self.exitcode = ExitCode.INTERNAL if found.refuted else ExitCode.DONE
        edge.out(self, json.dumps(as_object(found)) if opts.json else as_text(found))


def _check_idle(folder: Path) -> None:
    """Raises UsageFault while a crawl is at work in the store: its files tell of different moments then."""
    with suppress(OSError), (folder / "lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageFault(f"{folder}: a crawl is at work in it; verify it when that has ended") from None
