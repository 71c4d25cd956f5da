"""`scrapy fleet QUEUE`: a queue in shards, each a `scrapy crawl` of its own, on this machine or on many."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from seaspider import guard
from seaspider.arguments import Arguments
from seaspider.commands import edge
from seaspider.config import Config
from seaspider.core.shards import MAX_SHARDS
from seaspider.errors import ArgumentError, SettingError, StoreError, UsageFault
from seaspider.ledger import IN_MEMORY

if TYPE_CHECKING:
    from seaspider.fleet.cluster import Where
    from seaspider.fleet.plan import Plan

_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_OF_THE_FLEET: Final = ("queue", "store", "plan", "shard")


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <queue>"

    def short_desc(self) -> str:
        return "Crawl a queue in shards, many at a time, on this machine or on a cluster"

    def long_desc(self) -> str:
        return (
            "Divide a queue into shards (once: the plan stays in the store) and crawl each in a process of its own, as "
            "many at a time as there are workers, all under the pauses of one ledger. The same command again goes on "
            "where it was. Exit codes are those of a crawl, the worst of all shards; 3: run it again."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--store", metavar="FOLDER", default="store", help="plan, shards and logs go there (default: store)")
        add("--shards", metavar="N", default="64", help="into how many shards a new plan divides the queue (64)")
        add("--workers", metavar="N", help="shards at a time (4; with --scheduler: its threads)")
        add("--ledger", metavar="URL", help="as -s SEASPIDER_LEDGER=URL")
        add("--scheduler", metavar="ADDRESS", help="of a Dask cluster that is up, e.g. tcp://head:8786")
        add("--jobqueue", metavar="FILE", help="YAML: the cluster class of dask-jobqueue and its options")
        add("--no-dashboard", action="store_true", help="no pages of Dask on 127.0.0.1")
        add("--plan-only", action="store_true", help="make the plan and stop: other engines run the shards")
        add("--json", action="store_true", help="print one JSON object at the end")
        add("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="argument of each crawl")

    def run(self, args: list[str], opts: Namespace) -> None:
        from seaspider.fleet import planning

        if len(args) != 1:
            raise UsageError
        with edge.one_line(self):
            config = self._config(opts)
            where = _where(opts)
            _check_ledger(config, where)
            given = _arguments(opts.spargs)
            shards = _number("shards", opts.shards, MAX_SHARDS)
            store = _folder(opts.store)
            with _locked(store):
                plan = planning.make(args[0], store, shards)
                if opts.plan_only:
                    edge.out(self, json.dumps(plan.to_record()) if opts.json else _planned(plan, store))
                else:
                    self._crawl(plan, store, where, given, opts)

    def _config(self, opts: Namespace) -> Config:
        """Raises SettingError for what no shard could be crawled with."""
        assert self.settings is not None
        if opts.ledger is not None:
            self.settings.set("SEASPIDER_LEDGER", opts.ledger, priority="cmdline")
        guard.check(self.settings)
        if feeds := self.settings.getdict("FEEDS"):
            raise SettingError("FEEDS", list(feeds), "each shard would write the same feed; a fleet has none")
        return Config.from_settings(self.settings)

    def _crawl(self, plan: Plan, store: Path, where: Where, given: dict[str, str], opts: Namespace) -> None:
        from seaspider.fleet import report
        from seaspider.fleet.cluster import connected
        from seaspider.fleet.run import LOGS, Crawl, FleetRun, heeding_signals, roster_of
        from seaspider.fleet.screen import Screen

        roster = roster_of(plan, store, again=given.get("retry") == "failed")
        screen = Screen(sys.stderr, roster)
        if not roster.over:
            try:
                (store / LOGS).mkdir(exist_ok=True)
            except OSError as error:
                raise StoreError(f"{store / LOGS}: cannot be written: {error.strerror or error}") from error
            crawl = Crawl(store, _options(given, opts), os.environ["SCRAPY_SETTINGS_MODULE"])
            with connected(where) as client:
                if where.dashboard:
                    edge.say(self, f"dashboard of Dask: {client.dashboard_link} (--no-dashboard: none)")
                fleet = FleetRun(client, crawl, roster, where.workers or None, screen)
                with heeding_signals(fleet):
                    fleet()
                screen.clear()
        self.exitcode = roster.exit_code
        logs = str(store / LOGS)
        edge.out(self, json.dumps(report.as_object(roster, plan)) if opts.json else report.as_text(roster, plan, logs))


def _where(opts: Namespace) -> Where:
    from seaspider.fleet.cluster import Where

    if opts.scheduler and opts.jobqueue:
        raise UsageFault("options --scheduler and --jobqueue: a cluster that is up, or a new one, not both")
    most = 100_000
    workers = _number("workers", opts.workers, most) if opts.workers is not None else 0 if opts.scheduler else 4
    return Where(workers, opts.scheduler, opts.jobqueue, dashboard=not opts.no_dashboard)


def _number(name: str, text: str, most: int) -> int:
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= most:
        raise UsageFault(f"option --{name} {text!r}: must be a whole number from 1 to {most}")
    return int(text)


def _folder(text: str) -> Path:
    """Absolute, since workers look from elsewhere."""
    if not text:
        raise UsageFault("option --store: must name a folder")
    return Path(text).absolute()


def _check_ledger(config: Config, where: Where) -> None:
    if config.ledger == IN_MEMORY:
        raise SettingError("SEASPIDER_LEDGER", config.ledger, "no two shards would share it: name a file or a server")
    if where.is_remote and "://" not in config.ledger:
        why = "is a file of this machine, and the workers are on others: name a server (--ledger redis://...)"
        raise SettingError("SEASPIDER_LEDGER", config.ledger, why)


def _arguments(spargs: list[str]) -> dict[str, str]:
    """Those of each crawl. Raises ArgumentError."""
    try:
        given = arglist_to_dict(spargs)
    except ValueError:
        raise UsageFault(f"option -a: must be NAME=VALUE, not {spargs}") from None
    for name in _OF_THE_FLEET:
        if name in given:
            raise ArgumentError(name, given[name], "is not for a fleet: it comes from the plan")
    Arguments.read({**given, "plan": "plan", "shard": "0"})
    return given


def _options(given: dict[str, str], opts: Namespace) -> tuple[str, ...]:
    """Of each crawl. Its log goes where the fleet puts it."""
    settings = [*opts.set, *([f"SEASPIDER_LEDGER={opts.ledger}"] if opts.ledger is not None else []), "LOG_FILE="]
    arguments = [f"{name}={value}" for name, value in given.items()]
    level = ["--loglevel", opts.loglevel] if opts.loglevel else []
    return (*(part for each in arguments for part in ("-a", each)), *(p for s in settings for p in ("-s", s)), *level)


def _planned(plan: Plan, store: Path) -> str:
    from seaspider.fleet.plan import plan_folder

    lines = ", ".join(f"{number} {name}" for name, number in plan.lines.items() if number)
    sizes = sorted(part.lines for part in plan.parts)
    return (
        f"Plan of {plan.shards} shards in {plan_folder(store)}: {lines}; the smallest shard has {sizes[0]} lines, the "
        f"largest {sizes[-1]}.\n"
        f"Crawl each: scrapy crawl seaspider -a plan={plan_folder(store)} -a shard=N, N from 0 to {plan.shards - 1}."
    )


@contextmanager
def _locked(store: Path) -> Iterator[None]:
    """One fleet at a time. Of a fleet that got no plan nothing stays. Raises StoreInUse, StoreError."""
    from seaspider.fleet.locks import FLEET, fleet_held

    new = [folder for folder in (store, *store.parents) if not folder.exists()]
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store / FLEET}: cannot be written: {error.strerror or error}") from error
    try:
        with fleet_held(store, "another fleet"):
            yield
    finally:
        # Only if they are empty.
        with suppress(OSError):
            for folder in new:
                folder.rmdir()
