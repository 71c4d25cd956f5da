"""How far the crawl is: a live line on a terminal, a log line a minute elsewhere. In the place of Scrapy's LogStats.

Off with LOGSTATS_INTERVAL = 0 (else the seconds between two log lines) and with LOG_ENABLED = False. Looks on only: it
changes neither the order nor the time of anything. What it shows are host names, which are ASCII, numbers and words
from closed lists; nothing that a server said.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.logstats import LogStats
from scrapy.utils.asyncio import create_looping_call

from seaspider.core.politeness import PauseBasis
from seaspider.core.remaining import Longest, Remaining
from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.core.urls import host_of
from seaspider.items import Page
from seaspider.ledger import Waiting
from seaspider.liveline import PERIOD_NS, LiveLine, is_terminal
from seaspider.planreport import duration
from seaspider.run import Run

logger = logging.getLogger(__name__)

HOST_KEY: Final = "host:"
"""How a ledger's key of a host begins."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be said now. `outcomes`: page records by `outcome` or `outcome/reason`; `left_s`: None if not known."""

    done: int
    total: int
    outcomes: Mapping[str, int]
    doing: str
    left_s: float | None
    longest: Longest | None

    def live(self) -> str:
        """For one line of a terminal, which may be cut: the most important first."""
        outcomes: dict[str, int] = {}
        for name, count in self.outcomes.items():
            outcome = name.partition("/")[0]
            outcomes[outcome] = outcomes.get(outcome, 0) + count
        left = "" if self.left_s is None else f"about {duration(self.left_s)} to go"
        parts = (f"{self.done}/{self.total}", _listed(outcomes), left, self.doing)
        return " | ".join(part for part in parts if part)

    def log(self) -> str:
        """For the log."""
        left = ""
        if self.left_s is not None and self.longest is not None:
            longest = f"{self.longest.host}: {self.longest.urls} x {self.longest.pause_ns / NS_PER_S:g} s"
            left = f"about {duration(self.left_s)} to go (longest {longest})"
        parts = (f"{self.done} of {self.total} done", _listed(self.outcomes), left, self.doing)
        return "; ".join(part for part in parts if part)


class Progress(LogStats):
    """LogStats with another line; what it puts into the stats stays."""

    def __init__(self, crawler: Crawler, run: Run, interval_s: float) -> None:
        super().__init__(crawler.stats, interval_s)
        config = run.config
        self._run = run
        self._remaining = Remaining(ns_from_s(max(config.interval_s, config.ip_interval_s)))
        self._opened_ns = 0
        terminal = is_terminal(sys.stderr)
        self._log_elsewhere = bool(crawler.settings["LOG_FILE"]) or not terminal
        self._painting = create_looping_call(self._paint)
        level = logging.CRITICAL + 1 if self._log_elsewhere else crawler.settings["LOG_LEVEL"]
        self._line = LiveLine(sys.stderr, level, self._live, run.clock.boot_ns) if terminal else None
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        run.door.asked, run.watched = self._asked, self._recorded

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Progress:
        run, interval_s = getattr(crawler.spider, "run", None), crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if not isinstance(run, Run) or not interval_s or not crawler.settings.getbool("LOG_ENABLED"):
            raise NotConfigured
        return cls(crawler, run, interval_s)

    # --- what happens ---

    def spider_opened(self, spider: Spider) -> None:
        self._opened_ns = self._run.clock.boot_ns()
        for host, urls in self._run.frontier.waiting():
            self._remaining.add(host, urls)
        super().spider_opened(spider)
        if self._line:
            self._line.start()
            self._painting.start(PERIOD_NS / NS_PER_S)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        if self._line:
            self._painting.stop()
            self._line.stop()
        super().spider_closed(spider, reason)

    def _asked(self, host: str) -> None:
        self._remaining.rests(host, ns_from_s(self._run.frontier.crawl_delay_s(host)))

    def _recorded(self, page: Page) -> None:
        self._remaining.ended(host_of(page.url))
        for url in page.followed:
            self._remaining.add(host_of(url))

    # --- what is said of it ---

    def log(self, spider: Spider) -> None:
        if self._log_elsewhere:
            logger.info("%s", self.facts().log(), extra={"spider": spider})

    def _paint(self) -> None:
        assert self._line
        self._line.paint()

    def _live(self) -> str:
        return "" if self._run.stopped() else self.facts().live()

    def facts(self) -> Facts:
        tally = self._run.tally
        done = tally.lines.recorded + tally.followed.recorded
        longest = self._remaining.longest()
        return Facts(done, done + tally.unfinished, tally.outcomes, self._doing(), self._left_s(done, longest), longest)

    def _left_s(self, done: int, longest: Longest | None) -> float | None:
        """The longest of the pauses left at one host, what is left at the pace so far, and the wait under way."""
        if longest is None:
            return None
        pace_s = (self._run.clock.boot_ns() - self._opened_ns) / NS_PER_S / done if done else 0
        waiting = self._run.ledger.waiting
        wait_ns = self._until_ns(waiting) if waiting else 0
        return max(longest.ns / NS_PER_S, wait_ns / NS_PER_S, self._remaining.urls * pace_s)

    def _doing(self) -> str:
        waiting = self._run.ledger.waiting
        if waiting is None:
            return f"asking {self._run.door.asking}" if self._run.door.asking else ""
        host = next(key.removeprefix(HOST_KEY) for key in waiting.pauses_ns if key.startswith(HOST_KEY))
        left_ns = self._until_ns(waiting)
        why = self._why(host, left_ns, max(waiting.pauses_ns.values()))
        return f"waiting {duration(ceil(left_ns / NS_PER_S * 10) / 10)} for {host} ({why})"

    def _until_ns(self, waiting: Waiting) -> int:
        return max(0, waiting.until_ns - self._run.clock.boot_ns())

    def _why(self, host: str, left_ns: int, pause_ns: int) -> str:
        # Host -> basis of the pause that follows its last answer, where it is no mere interval.
        told: Mapping[str, PauseBasis] = getattr(self._run.door, "rests", {})
        if host in told:
            return told[host]
        if left_ns > pause_ns:
            return "longer than its own pause: asked by another run, or told to wait"
        slow = self._run.frontier.crawl_delay_s(host) * NS_PER_S >= pause_ns > 0
        return PauseBasis.CRAWL_DELAY if slow else PauseBasis.INTERVAL


def _listed(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in outcomes.items())
