"""`scrapy fetch`: as Scrapy's own, through the door. What a crawl would refuse is refused here, and the reason said."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.commands import fetch
from scrapy.exceptions import UsageError
from scrapy.http import Response
from scrapy.utils.datatypes import SequenceExclude
from scrapy.utils.spider import DefaultSpider, spidercls_for_request
from twisted.python.failure import Failure

from seaspider.commands import edge
from seaspider.commands.words import why_not
from seaspider.errors import ExitCode, RunFailed
from seaspider.extension import Seaspider
from seaspider.refusals import Interrupted, VisitStopped
from seaspider.terminal import shown


class Command(fetch.Command):
    requires_crawler_process = False

    def run(self, args: list[str], opts: Namespace) -> None:
        if len(args) != 1:
            raise UsageError
        assert self.settings is not None
        with edge.one_line(self):
            url = edge.usable_url(args[0])
            process = edge.make_process(self.settings)
            request = Request(url.text, callback=self.show, errback=self.explain, cb_kwargs={"headers": opts.headers})
            if opts.no_redirect:
                request.meta["handle_httpstatus_all"] = True
            else:
                request.meta["handle_httpstatus_list"] = SequenceExclude(range(300, 400))
            found = spidercls_for_request(process.spider_loader, request, DefaultSpider)
            base = edge.spider_called(process, opts.spider) if opts.spider else found
            self.crawler = process.create_crawler(_asking_for(request, base))
            self.exitcode = ExitCode.INTERRUPTED  # unless there is an answer, or an error
            edge.run_to_end(self, process, self.crawler)
            if self.exitcode and self.crawler.stats.get_value("finish_reason") == "shutdown":
                self.exitcode = ExitCode.INTERRUPTED

    def show(self, response: Response, headers: bool) -> None:
        """Prints the body, or the headers of the request and of the answer."""
        self.exitcode = ExitCode.DONE
        if not headers:
            _write(response.body + b"\n")
            return
        assert response.request
        for mark, lines in ((b">", response.request.headers), (b"<", response.headers)):
            for name, values in lines.items():
                _write(b"".join(mark + b" " + name + b": " + value + b"\n" for value in values))
            if mark == b">":
                _write(b">\n")

    def explain(self, failure: Failure) -> None:
        """Says why nothing was fetched."""
        error = failure.value
        self.exitcode = ExitCode.INTERRUPTED if isinstance(error, Interrupted) else ExitCode.UNFINISHED
        if isinstance(error, RunFailed):
            self.exitcode = error.exit_code
        if isinstance(error, VisitStopped):
            url = failure.request.url  # type: ignore[attr-defined]
            edge.say(self, f"{url} was not fetched: {why_not(Seaspider.of(self.crawler).run, url, error.ending)}")
        else:
            edge.say(self, error)


def _write(octets: bytes) -> None:
    """To standard output: as they came, but for a terminal."""
    sys.stdout.buffer.write(shown(octets) if sys.stdout.isatty() else octets)


def _asking_for(request: Request, base: type[Spider]) -> type[Spider]:
    async def start(_: Spider) -> AsyncIterator[Any]:
        yield request

    return type(base.__name__, (base,), {"start": start})
