"""A crawl of a run that is made already, in a process that has nothing of the user's: no part of his, and no feed."""

from __future__ import annotations

import logging
from asyncio import Task
from collections.abc import Mapping
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings

from seaspider import manifest
from seaspider.config import Config
from seaspider.errors import StoreError
from seaspider.run import Run
from seaspider.spiders import seaspider
from seaspider.spiders.seaspider import SeaspiderSpider
from seaspider.verify.evidence import RunInfo

_SAYING_ERRORS = (manifest.__name__, seaspider.__name__)
"""The loggers of the parts that say why a run ends."""


class MadeSpider(SeaspiderSpider):
    """`run`: the run."""

    @classmethod
    def made_run(cls, crawler: Crawler, arguments: Mapping[str, Any]) -> Run:
        run: Run = arguments["run"]
        return run


def process() -> AsyncCrawlerProcess:
    """With what the promises need, and nothing else."""
    settings = Settings()
    settings.setmodule("settings.base")
    settings.set("LOG_LEVEL", "ERROR")
    settings.set("EXTENSIONS", {**settings["EXTENSIONS"], "seaspider.progress.Progress": None})
    for name in _SAYING_ERRORS:
        logging.getLogger(name).addFilter(_is_news)
    return AsyncCrawlerProcess(settings)


def _is_news(record: logging.LogRecord) -> bool:
    """What ends a replay is said once, by the command."""
    return not (isinstance(record.args, tuple) and any(isinstance(each, StoreError) for each in record.args))


def crawl(process: AsyncCrawlerProcess, run: Run) -> Task[None]:
    """Begins when the process does."""
    crawler = process.create_crawler(MadeSpider)
    crawler.settings.set("USER_AGENT", run.config.user_agent, priority="cmdline")
    return process.crawl(crawler, run=run)


def crawl_alone(run: Run) -> None:
    """A whole crawl. Raises what kept it from its end, and KeyboardInterrupt for a signal."""
    alone = process()
    task = crawl(alone, run)
    alone.start()
    if not task.done() or run.reason == "shutdown":
        raise KeyboardInterrupt
    task.result()
    if run.failed is not None:
        raise run.failed


def config(info: RunInfo) -> Config:
    """The settings that a run had. Raises StoreError."""
    try:
        return Config.from_record(info.settings)
    except ValueError as error:
        raise info.start.error(str(error)) from error
