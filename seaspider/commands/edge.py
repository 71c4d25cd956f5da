"""The edge of every command: what a user can get wrong is one line on standard error and a documented exit code.

Settings are checked before Scrapy's process is made, which chooses its reactor by them, and what Scrapy says about
itself is held back until there is a crawl to log. Never hides an error of ours: that keeps its traceback, exit code 1.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from scrapy import Spider, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings

from seaspider import guard
from seaspider.clock import UnsupportedPlatform
from seaspider.config import Config
from seaspider.core.credentials import without_userinfo_anywhere
from seaspider.core.records import File
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.errors import ExitCode, SeaspiderError, SettingError, StoreError, UsageFault
from seaspider.refusals import ExchangeFailed
from seaspider.terminal import printable

_OPENING = "scrapy.utils.log"
"""The logger of what Scrapy says about itself when its process is made: versions, reactor."""


class _Opening(logging.Handler):
    """Holds the records of that logger back, until the first record of another that a user would want to see."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._held: list[logging.LogRecord] = []

    def hold(self) -> None:
        logging.getLogger(_OPENING).addFilter(self._hold)
        logging.getLogger().addHandler(self)

    def _hold(self, record: logging.LogRecord) -> bool:
        self._held.append(record)
        return False

    def emit(self, record: logging.LogRecord) -> None:
        # This handler was added before Scrapy's own, so what was held comes out before `record` does.
        self.let_go()

    def let_go(self) -> None:
        logging.getLogger(_OPENING).removeFilter(self._hold)
        # In a new list: taken out of the one that a record is going along, the handler behind would miss the record.
        root = logging.getLogger()
        root.handlers = [handler for handler in root.handlers if handler is not self]
        while self._held:
            logging.getLogger(_OPENING).handle(self._held.pop(0))


@contextmanager
def one_line(command: ScrapyCommand) -> Iterator[None]:
    """Turns an error that a user can meet into its line and sets the command's exit code."""
    opening = _Opening()
    opening.hold()
    try:
        yield
    except (SeaspiderError, UnsupportedPlatform, ExchangeFailed) as error:
        command.exitcode = _exit_code(error)
        say(command, error)
    except KeyboardInterrupt:
        say(command, "interrupted")
        _leave()
    except BaseException:
        opening.let_go()
        raise


@contextmanager
def reading_store(folder: str) -> Iterator[None]:
    """Turns a store that cannot be read into a UsageFault, with the place as the user would find it: some errors name
    the file in the store only. One that a power cut left unfinished is refused."""
    from seaspider.cutoff import refuse_cut_off

    try:
        refuse_cut_off(Path(folder))
        yield
    except StoreError as error:
        text = str(error)
        inside = text.startswith(tuple(f"{file}:" for file in File))
        raise UsageFault(str(Path(folder) / text) if inside else text) from error


def out(command: ScrapyCommand, text: str) -> None:
    """The answer of a command on standard output. If nobody takes it, that is the exit code, whatever the answer is."""
    try:
        print(text, flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say(command, f"standard output cannot be written: {error.strerror}")
        # Nor at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        command.exitcode = ExitCode.STORE


def _exit_code(error: Exception) -> ExitCode:
    if isinstance(error, SeaspiderError):
        return error.exit_code
    return ExitCode.USAGE if isinstance(error, UnsupportedPlatform) else ExitCode.UNFINISHED


def say(command: ScrapyCommand, text: object) -> None:
    """One line on standard error, whatever characters are in it. If nobody takes it, that changes no exit code."""
    name = command.__module__.rpartition(".")[2]
    # A full disk, a pipe whose reader has gone, or closed.
    with suppress(OSError, ValueError):
        print(f"scrapy {name}: {printable(str(text))}", file=sys.stderr, flush=True)


def usable_url(text: str) -> Url:
    """Raises UsageFault."""
    try:
        return normalise(text)
    except UrlError as error:
        raise UsageFault(f"URL {without_userinfo_anywhere(text)!r} cannot be asked for: {error.reason}") from error


def make_process(settings: Settings) -> AsyncCrawlerProcess:
    """Scrapy's process, for settings that undo no promise. Raises SettingError."""
    guard.check(settings)
    Config.from_settings(settings)
    level = settings["LOG_LEVEL"]
    if not isinstance(level, int) and level not in logging.getLevelNamesMapping():
        raise SettingError("LOG_LEVEL", level, "must be DEBUG, INFO, WARNING, ERROR or CRITICAL")
    try:
        return AsyncCrawlerProcess(settings)
    except OSError as error:
        if not settings["LOG_FILE"]:
            raise
        raise SettingError("LOG_FILE", settings["LOG_FILE"], error.strerror or str(error)) from error


def spider_called(process: AsyncCrawlerProcess, name: str) -> type[Spider]:
    """A spider of the project. Raises UsageFault."""
    try:
        return process.spider_loader.load(name)
    except KeyError:
        known = ", ".join(sorted(process.spider_loader.list()))
        raise UsageFault(f"no spider is called {name!r}; known are: {known}") from None


def run_to_end(command: ScrapyCommand, process: AsyncCrawlerProcess, crawler: Crawler, **arguments: Any) -> None:
    """Runs one crawl. Raises what kept it from starting; a second signal ends the process here and now."""
    crawler.signals.connect(_spare_the_collector, signals.engine_started)
    gc.disable()
    try:
        task = process.crawl(crawler, **arguments)
        process.start()
    finally:
        gc.enable()
    if not task.done():
        say(command, "stopped at once; what was under way begins again in the next run")
        _leave()
    task.result()


def _spare_the_collector() -> None:
    """What a crawl starts with, its queue too, stays as long as it does: no need to look through it again and again."""
    gc.freeze()
    gc.enable()


def _leave() -> NoReturn:
    """Ends the process without waiting for threads, of which one may be looking up a name for minutes."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(ExitCode.INTERRUPTED)
