"""Scrapy's lines for each answer and item: in a DEBUG log only."""

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import crawl

NAMES = {"a.test": "127.0.0.2"}


@pytest.mark.parametrize(("level", "lines"), [("DEBUG", 2), ("INFO", 0)])
def test_an_answer_and_an_item_have_a_line_at_debug(tmp_path, level, lines):
    with LoopbackWeb({"a.test/1": Answer(200)}, names=NAMES) as web:
        queue = tmp_path / "queue.txt"
        queue.write_text(f"http://a.test:{web.port}/1\n")
        ended = crawl(queue, tmp_path, names=NAMES, settings={"LOG_LEVEL": level})
    assert ended.exit == 0
    assert ended.log.count(" DEBUG: Crawled (") == lines  # robots.txt and the page
    assert ended.log.count(" DEBUG: Scraped from ") == lines // 2
    assert ended.log.count("'response_received_count': 2,") == 1
