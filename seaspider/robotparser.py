"""A robots.txt parser for any Scrapy project: ROBOTSTXT_PARSER = "seaspider.robotparser.SeaspiderRobotParser".

Decides nothing itself: it hands Scrapy's bytes and texts to seaspider.core.robotsfile. Scrapy's stock middleware looks
at no status and never at `crawl_delay()`; those two are for whoever uses this class to see to.
"""

from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser

from seaspider.core.robotsagents import product_token
from seaspider.core.robotsfile import RobotsFile, parse
from seaspider.core.robotsrecords import as_text


class SeaspiderRobotParser(RobotParser):
    """Scrapy's RobotParser over RFC 9309. `file` is the parsed robots.txt, with the group, rule and line of a decision.

    A user agent may be a bare product token (best, by ROBOTSTXT_USER_AGENT) or a whole header, which is cut to one.
    """

    def __init__(self, robotstxt_body: bytes) -> None:
        self.file: RobotsFile = parse(robotstxt_body)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> "SeaspiderRobotParser":
        """A parser of `robotstxt_body`, the decoded body as served; the crawler is not used and may be None."""
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch the absolute `url`. Never raises, whatever the bytes."""
        return self.file.decide(product_token(_text(user_agent)), _text(url)).allowed

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Seconds between requests that the group of `user_agent` asks for, the largest if several; else None."""
        return self.file.crawl_delay_s(product_token(_text(user_agent)))


def _text(text: str | bytes) -> str:
    return as_text(text) if isinstance(text, bytes) else text
