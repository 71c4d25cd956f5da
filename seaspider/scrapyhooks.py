"""Everything unofficial that is used of Scrapy 2.19, in one place; tests/test_scrapyhooks.py fails when it changes.

`engine.downloader.active` and `engine.scraper.slot.is_idle()` are unprefixed and shown in Scrapy's docs
(topics/optimize), but are not part of its documented API.
"""

from __future__ import annotations

from scrapy.crawler import Crawler


def busy(crawler: Crawler) -> bool:
    """Whether a request is in flight, or an answer is with the spider or a pipeline.

    There is no gap between the two: the engine hands an answer on in the same step in which the download ends.
    """
    slot = crawler.engine.scraper.slot
    return bool(crawler.engine.downloader.active) or slot is None or not slot.is_idle()
