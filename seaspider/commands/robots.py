"""`scrapy robots URL`: what robots.txt says of a URL, asked through the door like everything else. Writes no store."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from scrapy import Spider
from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, UsageError
from scrapy.http.request import NO_CALLBACK

from seaspider.commands import edge
from seaspider.commands.robotsreport import Answer, as_object, as_text
from seaspider.config import Config
from seaspider.core.records import Ending
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.urls import Url
from seaspider.core.visits import Hop
from seaspider.errors import ExitCode
from seaspider.extension import Seaspider
from seaspider.refusals import ExchangeFailed
from seaspider.requests import request_for


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <url>"

    def short_desc(self) -> str:
        return "Say what robots.txt allows for a URL, and why"

    def long_desc(self) -> str:
        return (
            "Ask the robots.txt that speaks for a URL, politely, and say what it allows, and why. The page itself is "
            "not asked for. Exit code 0: it was decided; 3: robots.txt could not be had, so nothing is allowed."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        # The project's level is for crawls; the user's own counts.
        self.settings.set("LOG_LEVEL", "WARNING", priority="project")

    def run(self, args: list[str], opts: Namespace) -> None:
        if len(args) != 1:
            raise UsageError
        assert self.settings is not None
        with edge.one_line(self):
            url = edge.usable_url(args[0])
            config = Config.from_settings(self.settings)
            crawler = self._ask(url)
            answer = getattr(crawler.spider, "answer", None)
            self.exitcode = answer.exit_code if answer else ExitCode.INTERRUPTED
            if answer:
                edge.out(self, json.dumps(as_object(answer)) if opts.json else as_text(answer, config))

    def _ask(self, url: Url) -> Crawler:
        assert self.settings is not None
        process = edge.make_process(self.settings)
        crawler = process.create_crawler(RobotsSpider)
        edge.run_to_end(self, process, crawler, asked=url)
        return crawler


class RobotsSpider(Spider):
    """Asks one robots.txt, as RobotsMiddleware does for a request that comes from elsewhere."""

    name = "robots"
    asked: Url
    answer: Answer | None = None

    async def start(self) -> AsyncIterator[Any]:
        seaspider = Seaspider.of(self.crawler)
        run = seaspider.run
        turn = run.frontier.new_fetch(self.asked, run.clock.wall_ms(), None)
        request = seaspider.mark(request_for(turn.hop.url, NO_CALLBACK), turn, in_turn=False)
        with suppress(IgnoreRequest, ExchangeFailed):
            await self.crawler.engine.download_async(request)
        entry = turn.fetch.outcome if isinstance(turn.fetch.outcome, RobotsEntry) else None
        hop = Hop(self.asked)
        judged = run.frontier.judge(hop, run.clock.wall_ms(), entry)
        if entry is not None or isinstance(judged, Ending):
            ending = judged if isinstance(judged, Ending) else None
            self.answer = Answer(self.asked, run.config.token, entry, tuple(turn.fetch.chain), hop, ending)
        return
        yield
