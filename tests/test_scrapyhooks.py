"""What is used of Scrapy without being its documented API still means what the scheduler takes it to mean.

`busy` in a real crawl: true from a turn's first middleware until the last pipeline has its item, at every turn of the
event loop; false when there is nothing.
"""

import json
from collections import Counter
from typing import Any

import pytest
from scrapy.http import Headers

from seaspider import scrapyhooks
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.loopback.judge import order
from tests.crawling import crawl
from tests.extras import added

PAGES = 3


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("hooks")
    with LoopbackWeb({"/robots.txt": Answer(404), "/*": Answer(body="a page\n", delay_s=0.02)}) as web:
        ended = crawl(
            [web.url("127.0.0.1", f"/{n}") for n in range(PAGES)],
            folder,
            settings={
                "WATCH_REPORT": folder / "report.json",
                **added("EXTENSIONS", watch__Watch=900),
                **added("DOWNLOADER_MIDDLEWARES", watch__WatchDownload=1),
                **added("SPIDER_MIDDLEWARES", watch__WatchSpider=1),
                **added("ITEM_PIPELINES", watch__WatchPipeline=2, watch__WatchLastPipeline=900),
            },
        )
        assert ended.exit == 0, ended.log
        assert order(web.arrivals) == [("127.0.0.1", target) for target in ("/robots.txt", "/0", "/1", "/2")]
        report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
        return report


ONCE_A_REQUEST = (
    "process_request",
    "process_request after a wait",
    "reached downloader",
    "downloaded",
)
ONCE_A_PAGE = (
    "process_response after a wait",
    "callback after a wait",
    "callback at its end",
    "pipeline",
    "pipeline after a wait",
    "last pipeline after a wait",
    "scraped",
)


def test_busy_as_long_as_anything_of_a_turn_is_going_on_and_not_when_idle(report: dict[str, Any]) -> None:
    assert Counter(map(tuple, report["seen"])) == {
        **{(moment, True): PAGES + 1 for moment in ONCE_A_REQUEST},
        **{(moment, True): PAGES for moment in ONCE_A_PAGE},
        # Within the step in which the engine hands the answer on: nobody is asked for a turn before it is over.
        ("received", False): PAGES,
        ("received", True): 1,  # robots.txt, which the outermost middleware keeps for itself
        ("idle", False): 1,
    }


def test_busy_without_a_gap_from_the_first_middleware_to_the_last_pipeline(report: dict[str, Any]) -> None:
    assert report["turns"] > 100
    assert report["gaps"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param([], id="none"),
        pytest.param([(b"content-type", b"text/html"), (b"X-ONE", b"1"), (b"etag", b"")], id="names in any case"),
        pytest.param([(b"Set-Cookie", b"a"), (b"Date", b"d"), (b"set-cookie", b"b")], id="a name again"),
        pytest.param([(b"a_b.c!d", b"\xff"), (b"1x-y2z", b"v")], id="odd names"),
    ],
)
def test_headers_are_what_scrapy_makes_of_the_fields(fields: list[tuple[bytes, bytes]]) -> None:
    found, stock = scrapyhooks.headers(fields), Headers(fields)
    assert (type(found), found.encoding) == (type(stock), stock.encoding)
    assert list(found.items()) == list(stock.items())
    assert list(scrapyhooks.fields(stock)) == list(stock.items())
