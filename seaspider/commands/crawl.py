"""`scrapy crawl`: Scrapy's own, with one clear line for bad input and an exit code that says what is left."""

from __future__ import annotations

import argparse
import asyncio
import sys

from scrapy.commands import crawl

from seaspider.clock import UnsupportedPlatform
from seaspider.errors import ExitCode, SeaspiderError
from seaspider.feeds import page_feeds
from seaspider.run import Run


class Command(crawl.Command):
    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            super().run(args, opts)
            return
        assert self.settings is not None
        page_feeds(self.settings)
        assert self.crawler_process
        crawler = self._create_crawler(args[0])
        task = self.crawler_process.crawl(crawler, **opts.spargs)
        assert isinstance(task, asyncio.Task)
        task.add_done_callback(self._ended)
        self.crawler_process.start()
        run = getattr(crawler.spider, "run", None)
        if self.exitcode == 0 and isinstance(run, Run):
            self.exitcode = run.exit_code
        elif self.crawler_process.bootstrap_failed and self.exitcode == 0:
            self.exitcode = ExitCode.INTERNAL

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Takes the error that kept the crawl from starting, so that it is one line and not a traceback."""
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        self.exitcode = ExitCode.INTERNAL
        if isinstance(error, UnsupportedPlatform):
            self.exitcode = ExitCode.USAGE
        elif isinstance(error, SeaspiderError):
            self.exitcode = error.exit_code
        else:
            raise error
        print(f"scrapy crawl: {error}", file=sys.stderr)
