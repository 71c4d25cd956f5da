"""`scrapy receipt HOST`: what was asked of a host, for the person who runs it. Reads a store, writes nothing."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from seaspider.commands import edge
from seaspider.errors import ExitCode, UsageFault

if TYPE_CHECKING:
    from seaspider.receipt.receipt import Receipt


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <host>"

    def short_desc(self) -> str:
        return "Tell the person who runs a host, on one page, what was asked of it, and under which robots.txt"

    def long_desc(self) -> str:
        return (
            "Say, from a store alone, what a crawl asked of a host and when, which robots.txt it heeded, how near its "
            "requests came, what it did not ask and why, and how to be left alone. Nobody is asked and nothing is "
            "written. Exit code 2: the store or HOST cannot be used; 3: the store knows nothing of HOST."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--store", metavar="FOLDER", default="store", help="the crawl's store (default: store)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.receipt.report import as_object
        from seaspider.receipt.text import as_text

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            receipt, runs = _made(args[0], opts.store)
            self.exitcode = ExitCode.DONE if receipt.known or receipt.names_at else ExitCode.UNFINISHED
            edge.out(self, json.dumps({**as_object(receipt), **runs}) if opts.json else as_text(receipt))


def make_receipt(given: str, folder: str) -> Receipt:
    """What the store in `folder` tells of a host. Raises UsageFault, a store that cannot be read included."""
    return _made(given, folder)[0]


def _made(given: str, folder: str) -> tuple[Receipt, dict[str, Any]]:
    """The receipt, and of a fleet what its runs are."""
    from seaspider.fleet.folder import Fleet, is_fleet
    from seaspider.receipt.infleet import FleetEvidence
    from seaspider.receipt.receipt import gather, host_named
    from seaspider.verify.evidence import Evidence

    host = host_named(given)
    if not folder:
        raise UsageFault("option --store: must name a folder")
    with edge.reading_store(folder):
        if not is_fleet(Path(folder)):
            return gather(Evidence(Path(folder)), given, host), {}
        fleet = FleetEvidence(Fleet.of(Path(folder)), host)
        return gather(fleet, given, host), {"fleet": fleet.record()}
