"""`scrapy crawl`: Scrapy's own, with one clear line for bad input and an exit code that says what is left."""

from __future__ import annotations

import argparse

from scrapy.commands import crawl

from seaspider.commands import edge
from seaspider.errors import ExitCode
from seaspider.run import Run


class Command(crawl.Command):
    requires_crawler_process = False  # made below, once the settings are known to be good

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            super().run(args, opts)  # says how the command is used, exit code 2
        assert self.settings is not None
        with edge.one_line(self):
            process = edge.make_process(self.settings)
            crawler = process.create_crawler(edge.spider_called(process, args[0]))
            edge.run_to_end(self, process, crawler, **opts.spargs)
            run = getattr(crawler.spider, "run", None)
            if isinstance(run, Run):
                self._end(run)

    def _end(self, run: Run) -> None:
        self.exitcode = run.exit_code
        if self.exitcode == ExitCode.STORE:
            edge.say(self, run.store.failed)
