"""`scrapy replay STORE -a store=NEW`: the crawl once more, from its store. No socket is opened, nobody is asked."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from seaspider.commands import edge
from seaspider.errors import ArgumentError, UsageFault

if TYPE_CHECKING:
    from seaspider.verify.evidence import Evidence


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <store> -a store=NEW"

    def short_desc(self) -> str:
        return "Run a crawl once more from its store, without a network, and compare the records"

    def long_desc(self) -> str:
        return (
            "Run the crawls of a store again into a new one: with the recorded addresses, robots.txt files and "
            "answers, under a virtual clock, without any socket. The records must come out the same, times aside. "
            "With another queue: a crawl of it, as far as its answers were recorded. Exit code 0: the same, or all was "
            "recorded; 1: the first difference is shown; 2: the store cannot be read, or an argument cannot be used; "
            "3: something of the other queue was not recorded."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-a", dest="spargs", action="append", default=[], metavar="store=NEW", help="the folder of the new store"
        )
        parser.add_argument("--queue", metavar="FILE", help="the queue (default: as the store tells it), or another")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.replay.report import replay

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            folder = _new_folder(opts.spargs)
            if Path(args[0]).resolve() in folder.resolve().parents:
                raise ArgumentError("store", str(folder), "must not lie in the store that is replayed")
            with edge.reading_store(args[0]):
                found = replay(_old_store(args[0]), folder, opts.queue)
            self.exitcode = found.exit_code
            edge.out(self, json.dumps(found.as_object()) if opts.json else found.as_text())


def _old_store(folder: str) -> Evidence:
    """Raises UsageFault, StoreError."""
    from seaspider.fleet.folder import is_fleet
    from seaspider.verify.evidence import Evidence

    if not folder:
        raise UsageFault("the store: must name a folder")
    if is_fleet(Path(folder)):
        given = "scrapy replay STORE/shards/NNNN -a store=NEW --queue STORE/plan/NNNN.txt"
        raise UsageFault(f"store {folder!r}: is a fleet's; replay its shards one by one: {given}")
    old = Evidence(Path(folder))
    if not old.runs:
        raise UsageFault(f"store {folder!r}: no run has begun in it")
    return old


def _new_folder(given: list[str]) -> Path:
    """Raises UsageFault for a folder that holds something already."""
    try:
        arguments = arglist_to_dict(given)
    except ValueError:
        raise UsageFault(f"option -a {' '.join(given)}: must be store=NEW") from None
    for name, value in arguments.items():
        if name != "store":
            raise ArgumentError(name, value, "is unknown here; known is store, the folder of the new store")
    if not arguments.get("store"):
        raise ArgumentError("store", "NEW", "is required: the folder of the new store")
    folder = Path(arguments["store"])
    try:
        free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise ArgumentError("store", str(folder), f"cannot be used: {error.strerror}") from error
    if not free:
        raise ArgumentError("store", str(folder), "must be a new folder, or an empty one")
    return folder
