"""The parser behind Scrapy's RobotParser interface, alone in another project with Scrapy's own middleware."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from scrapy.robotstxt import RobotParser

from seaspider.robotparser import SeaspiderRobotParser

ROOT = Path(__file__).parents[1]
OURS, STOCK = "seaspider.robotparser.SeaspiderRobotParser", "scrapy.robotstxt.ProtegoRobotParser"
BODY = b"User-agent: seaspider\nCrawl-delay: 1.5\nUser-agent: other\nDisallow: /private\nDisallow: /b\xfc\n"
PAGES = ["/public", "/private", "/private/page", "/b%FC", "/b"]

# A project of its own: nothing of Seaspider's settings, middlewares or spiders.
PROJECT = """
import json, sys
import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.parsed, signal=signals.robots_parsed)
        return spider

    async def start(self):
        for url in sys.argv[3:]:
            yield scrapy.Request(url, callback=self.parse)

    def parse(self, response):
        pass

    def parsed(self, robotparser):
        self.delay = [type(robotparser).__name__, robotparser.crawl_delay(sys.argv[2])]

    def closed(self, reason):
        counts = {key: value for key, value in self.crawler.stats.get_stats().items() if key.startswith("robotstxt/f")}
        print(json.dumps([reason, self.delay, counts]))

process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": sys.argv[1], "USER_AGENT": sys.argv[2], "CONCURRENT_REQUESTS": 1,
    "TELNETCONSOLE_ENABLED": False, "HTTPPROXY_ENABLED": False, "DOWNLOAD_TIMEOUT": 10, "LOG_LEVEL": "WARNING",
})
process.crawl(Pages)
process.start()
"""


@contextmanager
def site(robots: bytes) -> Iterator[tuple[str, list[str]]]:
    """A server on a free loopback port: its address, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = robots if self.path == "/robots.txt" else b"a page"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join(10)


def crawl(parser: str, agent: str, folder: Path) -> tuple[list[str], list[object]]:
    """The paths asked for in a crawl of PAGES by another project, and what its spider printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCRAPY")}
    with site(BODY) as (address, asked):
        done = subprocess.run(
            [sys.executable, "-c", PROJECT, parser, agent, *(address + page for page in PAGES)],
            cwd=folder,
            env=environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    return asked, json.loads(done.stdout)


@pytest.mark.parametrize("agent", ["seaspider", "seaspider/0.1.0 (+https://crawler.example/bot)"])
def test_another_project_obeys_by_it(agent: str, tmp_path: Path) -> None:
    asked, printed = crawl(OURS, agent, tmp_path)
    assert (asked[0], sorted(asked[1:])) == ("/robots.txt", ["/b", "/public"])
    assert printed == ["finished", ["SeaspiderRobotParser", 1.5], {"robotstxt/forbidden": 3}]


def test_the_stock_parser_would_fetch_what_is_forbidden(tmp_path: Path) -> None:
    asked, printed = crawl(STOCK, "seaspider", tmp_path)
    assert (asked[0], sorted(asked[1:])) == ("/robots.txt", sorted(PAGES))
    assert printed == ["finished", ["ProtegoRobotParser", 1.5], {}]


def test_it_is_a_robot_parser() -> None:
    parser = SeaspiderRobotParser.from_crawler(None, BODY)  # type: ignore[arg-type]
    assert isinstance(parser, RobotParser)
    grounds = parser.file.decide("seaspider", "http://h/private/x")
    assert (grounds.rule, grounds.rule_line) == ("Disallow: /private", 4)


@pytest.mark.parametrize(
    "agent", ["seaspider", b"seaspider", "SeaSpider/1 (x)", b"Mozilla/5.0 (compatible; seaspider/1)"]
)
@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://h/private", False),
        (b"http://h/private", False),
        (b"http://h/b\xfc", False),
        ("http://h/bü", True),
        ("http://h/bü".encode(), True),
        (b"http://h/\0\xff", True),
    ],
)
def test_text_and_bytes(agent: str | bytes, url: str | bytes, allowed: bool) -> None:
    parser = SeaspiderRobotParser(BODY)
    assert parser.allowed(url, agent) is allowed
    assert parser.crawl_delay(agent) == 1.5


def test_without_a_delay_there_is_none() -> None:
    assert SeaspiderRobotParser(b"User-agent: *\nDisallow: /\n").crawl_delay(b"seaspider") is None


def test_all_cases_by_the_interface() -> None:
    wrong = []
    for line in (ROOT / "tests" / "cases" / "robots_parse.jsonl").read_text("utf-8").split("\n")[:-1]:
        case = json.loads(line)
        text = case.get("robots") or "".join(text * times for text, times in case.get("robots_parts", []))
        parser = SeaspiderRobotParser(base64.b64decode(case.get("robots_b64", "")) or text.encode())
        url = case["url"].encode()
        answer = "allow" if parser.allowed(url, case["agent"].encode()) else "disallow"
        if (answer, parser.crawl_delay(case["agent"])) != (case["expect"], case["crawl_delay"]):
            wrong.append(case["id"])
    assert wrong == []
