"""`scrapy crawl`: Scrapy's own, with one clear line for bad input and an exit code that says what is left."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from scrapy.commands import crawl
from scrapy.crawler import Crawler

from seaspider.commands import edge
from seaspider.errors import ExitCode
from seaspider.feedfiles import FileStorage, StdoutStorage
from seaspider.run import Run

_OUR_STORAGES = frozenset(kind.__name__ for kind in (FileStorage, StdoutStorage))


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
                self._end(run, crawler)

    def _end(self, run: Run, crawler: Crawler) -> None:
        self.exitcode = run.exit_code
        for line in _failed_feeds(run, crawler):
            self.exitcode = ExitCode.STORE
            edge.say(self, line)
        if run.failed is not None:
            edge.say(self, run.failed)


def _failed_feeds(run: Run, crawler: Crawler) -> Iterator[str]:
    """A line for each feed that is not whole. Feeds are closed after the run has written its last line."""
    for uri, why in run.feed_errors.items():
        yield f"feed {uri!r} cannot be written: {why}; the store has every record"
    for name, times in sorted(crawler.stats.get_stats().items()):
        kind = name.removeprefix("feedexport/failed_count/")
        if kind != name and kind not in _OUR_STORAGES:
            yield f"{times} feeds could not be stored by {kind}: the log says why; the store has every record"
