"""`scrapy shell`: Scrapy's own, through the door. What a crawl would refuse gives no response, and the reason."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from scrapy.commands import shell

from seaspider.commands import edge
from seaspider.commands.words import why_not
from seaspider.extension import Seaspider


class Command(shell.Command):
    requires_crawler_process = False

    def run(self, args: list[str], opts: Namespace) -> None:
        assert self.settings is not None
        with edge.one_line(self):
            process = self.crawler_process = edge.make_process(self.settings)
            if opts.spider:
                edge.spider_called(process, opts.spider)
            super().run(args, opts)

    def update_vars(self, vars: dict[str, Any]) -> None:
        """Called after each fetch. No response to a request: it was refused, here or further along a redirect."""
        request = vars["request"]
        if request is not None and vars["response"] is None:
            run = Seaspider.of(vars["crawler"]).run
            edge.say(self, f"{request.url} was not fetched: {why_not(run, request.url)}")
