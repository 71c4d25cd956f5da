"""`scrapy demo`: the real crawl of a small web that comes with the project, offline, and what came of it.

The web runs in this process on 127.0.0.0/8, the crawl is a `scrapy crawl seaspider` of its own. Whatever the folder
holds that is not of an earlier demo is left alone.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from seaspider.commands import edge
from seaspider.errors import ExitCode


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def short_desc(self) -> str:
        return "Crawl a small web that comes with the project, offline, and show what came of it"

    def long_desc(self) -> str:
        return (
            "Crawl the demo web, a dozen hosts on 127.0.0.0/8, and print what became of each line of its queue. Exit "
            "code 0: everything is as expected; 1: something is not."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--store", metavar="FOLDER", help="where the records go (default: demo-store in the project)"
        )
        parser.add_argument(
            "--keep", action="store_true", help="keep the web up afterwards, for other commands, until Ctrl-C"
        )

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.demo import crawl
        from seaspider.demo.folder import DemoFolder
        from seaspider.demo.report import report
        from seaspider.loopback import LoopbackWeb, demosite
        from seaspider.verify.verification import verify

        if args:
            raise UsageError
        _heed_signals()
        with edge.one_line(self):
            folder = DemoFolder(Path(opts.store) if opts.store else crawl.PROJECT / "demo-store")
            with LoopbackWeb(demosite.sites(), names=demosite.resolve()) as web:
                folder.prepare(demosite.queue_text(web.port))
                print(f"Crawling the demo web: {len(demosite.resolve())} host names, port {web.port} ...", flush=True)
                code = crawl.crawl(folder, opts.set)
                seen = report(folder.path, web.arrivals, web.port)
                proven = verify(folder.path, str(folder.queue))
                print("\n".join([*seen.lines, "", *crawl.proof(proven), "", *crawl.closing(folder, code, web.port)]))
                well = seen.as_expected and not proven.refuted
                self.exitcode = ExitCode.DONE if well else ExitCode.INTERNAL
                if opts.keep:
                    crawl.stay(web)


def _heed_signals() -> None:
    """Ctrl-C counts although the shell that started this ignores it; SIGTERM ends the crawl with the demo."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
