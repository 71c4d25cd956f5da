"""StorePipeline: writes a Page's evidence, in the order that keeps it whole: body, links, then the page line.

The page line ends the visit; what a crash leaves without one is not valid. Comes before the user's own pipelines.
"""

from __future__ import annotations

import logging
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.extension import Seaspider
from seaspider.items import Page, record

logger = logging.getLogger(__name__)


class StorePipeline:
    def __init__(self, crawler: Crawler) -> None:
        self._run = Seaspider.of(crawler).run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            try:
                self._write(item)
            except StoreError as error:
                raise DropItem(f"{item.url}: not recorded: {error}") from error
            self._run.page_stored(item)
            logger.info(
                "%s: %s%s%s",
                item.url,
                item.outcome,
                f"/{item.reason}" if item.reason else "",
                f" {item.status}" if item.status else "",
            )
        return item

    def _write(self, page: Page) -> None:
        store = self._run.store
        if page.body is not None:
            page.sha256 = store.put_body(page.body)
        if page.links:
            store.write(File.LINKS, page.link_lines())
        store.write(File.PAGES, record(page))
