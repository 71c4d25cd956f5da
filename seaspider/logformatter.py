"""LogFormatter: Scrapy's, without its two DEBUG lines a page where nobody reads them."""

from __future__ import annotations

import logging
from typing import Any

from scrapy.crawler import Crawler
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from scrapy.logformatter import LogFormatterResult


class LogFormatter(ScrapyLogFormatter):
    def __init__(self, *, debug: bool) -> None:
        self._debug = debug

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LogFormatter:
        level = crawler.settings["LOG_LEVEL"]
        number = level if isinstance(level, int) else logging.getLevelNamesMapping().get(level, logging.DEBUG)
        return cls(debug=number <= logging.DEBUG)

    def crawled(self, *args: Any, **kwargs: Any) -> LogFormatterResult | None:  # type: ignore[override]
        return super().crawled(*args, **kwargs) if self._debug else None

    def scraped(self, *args: Any, **kwargs: Any) -> LogFormatterResult | None:  # type: ignore[override]
        return super().scraped(*args, **kwargs) if self._debug else None
