"""`scrapy plan QUEUE`: what a crawl would do, before any request and without one. Reads the store, writes nothing."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from seaspider import guard, history, queuecheck
from seaspider.clock import SystemClock
from seaspider.commands import edge
from seaspider.config import Config
from seaspider.core.addresses import SpecialAddressError, choose
from seaspider.core.firstturns import FirstTurns
from seaspider.core.forecast import Forecast
from seaspider.core.frontier import Frontier
from seaspider.core.orders import OrderName
from seaspider.core.queue import Entry, Fate, QueueError, Skipped
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.verdict import verdict
from seaspider.errors import QueueFileError, UsageFault
from seaspider.history import History
from seaspider.planreport import REJECTS_SHOWN, Plan, as_object, as_text
from seaspider.policies import frontier_policy, order_of, robots_policy
from seaspider.queuefile import QueueFile
from seaspider.robotsdesk import RobotsDesk
from seaspider.storereader import StoreReader

DEFAULT_TURNS: Final = 20
_COUNT = re.compile(r"[0-9]{1,9}")


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <queue>"

    def short_desc(self) -> str:
        return "Say what a crawl of a queue would do, and how long it would take, without any request"

    def long_desc(self) -> str:
        return (
            "Read a queue (a file, or - for standard input) and the store it would be crawled into, and say what is to "
            "be done, in which order, and how long it takes at least. Nobody is asked and nothing is written. Exit "
            "code 2: the queue cannot be used."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--store", metavar="FOLDER", default="store", help="the crawl's store (default: store)")
        parser.add_argument(
            "--turns",
            metavar="N",
            default=str(DEFAULT_TURNS),
            help=f"show the first N turns (default: {DEFAULT_TURNS})",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        if len(args) != 1:
            raise UsageError
        assert self.settings is not None
        with edge.one_line(self):
            guard.check(self.settings)
            plan = make_plan(self.settings, args[0], _folder(opts.store), _turns(opts.turns))
            edge.out(self, json.dumps(as_object(plan)) if opts.json else as_text(plan))


def _folder(text: str) -> Path:
    if not text:
        raise UsageFault("option --store: must name a folder")
    return Path(text)


def _turns(text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise UsageFault(f"option --turns {text!r}: must be a whole number, not negative, of at most 9 digits")
    return int(text)


def make_plan(settings: BaseSettings, queue: str, folder: Path, turns: int) -> Plan:
    """What a crawl of `queue` into `folder` would do now. Raises SettingError, QueueFileError and StoreError."""
    config = Config.from_settings(settings)
    clock, store, book = SystemClock(), StoreReader(folder), RobotsBook(robots_policy(config))
    with queuecheck.checked(queue) as copy:
        past = history.read(store, book)
        desk = RobotsDesk(robots_policy(config), book, store, 0, 0, config.robots_max_redirects)
        frontier = Frontier(frontier_policy(config), book, desk.rules, order_of(config))
        for host, answered_ms in past.forbidden:
            frontier.forbidden(host, answered_ms)
        for host, ending in past.deferred.items():
            frontier.deferred(host, ending)
        first = FirstTurns(turns, counts_tasks=OrderName(config.order).counts_tasks)
        addresses = _Addresses(config)
        forecast = Forecast(frontier, clock.wall_ms(), config.interval_s, config.ip_interval_s, addresses, first)
        file = QueueFile(queue, past.done.__contains__, copy)
        rejects, followed = _add_up(file, past, forecast)
    gate = config.gate
    return Plan(
        queue=queue,
        store=str(folder),
        runs=past.runs,
        lines=file.counts,
        rejects=tuple(rejects),
        followed=followed,
        follow=config.follow,
        order=config.order,
        forecast=forecast,
        turns=tuple(forecast.first_turns(order_of(config))),
        gate=gate,
        verdict=verdict(forecast.requests_per_host, 0, gate),
    )


def _add_up(file: QueueFile, past: History, forecast: Forecast) -> tuple[list[Skipped], int]:
    """Adds the queue's URLs, then the links that earlier runs followed and that are not among them, as a run does.

    Returns the first rejected lines and the number of those links.
    """
    rejects: list[Skipped] = []
    known: set[str] = set()
    try:
        for item in file:
            if isinstance(item, Entry):
                if past.followed:
                    known.add(item.url.text)
                forecast.add(item.url, past.unfinished.get(item.url.text))
            elif item.fate is Fate.REJECTED and len(rejects) < REJECTS_SHOWN:
                rejects.append(item)
    except QueueError as error:
        raise QueueFileError(str(error)) from error
    followed = 0
    for link in past.followed:
        if link.url.text not in known and link.url.text not in past.done:
            known.add(link.url.text)
            followed += 1
            forecast.add(link.url, past.unfinished.get(link.url.text))
    return rejects, followed


class _Addresses:
    """What is known of a host's address without asking: a literal, or what SEASPIDER_RESOLVE says."""

    def __init__(self, config: Config) -> None:
        self._table = config.resolve
        self._allowed = config.allowed_networks

    def __call__(self, host: str) -> str | Ending | None:
        found = self._table.get(host)
        if found is None:
            try:
                found = (str(ip_address(host)),)
            except ValueError:
                return None
        try:
            return choose(found, self._allowed)
        except SpecialAddressError:
            return Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)
        except ValueError:
            return Ending(Outcome.FAILED, Reason.DNS)
