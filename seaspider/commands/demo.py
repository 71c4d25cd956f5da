"""`scrapy demo`: the real crawl of a small web that comes with the project, offline, and what came of it.

The web runs in this process on 127.0.0.0/8, the crawl is a `scrapy crawl seaspider` of its own. Whatever the folder
holds that is not of an earlier demo is left alone.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

import seaspider
from seaspider.commands import demoreport, edge
from seaspider.commands.demofolder import DemoFolder
from seaspider.errors import ExitCode, SeaspiderError
from seaspider.loopback import LoopbackWeb, demosite
from seaspider.verify.report import promise_lines
from seaspider.verify.verification import Verification, verify

PROJECT = Path(seaspider.__file__).parents[1]
CRAWL_TIMEOUT_S = 300


class DemoFailed(SeaspiderError):
    """The crawl of the demo ended as no crawl should."""


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def short_desc(self) -> str:
        return "Crawl a small web that comes with the project, offline, and show what came of it"

    def long_desc(self) -> str:
        return (
            "Crawl the demo web, a dozen hosts on 127.0.0.0/8, and print what became of each line of its queue. Exit "
            "code 0: everything is as expected; 1: something is not."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--store", metavar="FOLDER", help="where the records go (default: demo-store in the project)"
        )
        parser.add_argument(
            "--keep", action="store_true", help="keep the web up afterwards, for other commands, until Ctrl-C"
        )

    def run(self, args: list[str], opts: Namespace) -> None:
        if args:
            raise UsageError
        _heed_signals()
        with edge.one_line(self):
            folder = DemoFolder(Path(opts.store) if opts.store else PROJECT / "demo-store")
            with LoopbackWeb(demosite.sites(), names=demosite.resolve()) as web:
                folder.prepare(demosite.queue_text(web.port))
                print(f"Crawling the demo web: {len(demosite.resolve())} host names, port {web.port} ...", flush=True)
                code = _crawl(folder, opts.set)
                report = demoreport.report(folder.path, web.arrivals, web.port)
                proven = verify(folder.path, str(folder.queue))
                print("\n".join([*report.lines, "", *_proof(proven), "", *_closing(folder, code, web.port)]))
                well = report.as_expected and not proven.refuted
                self.exitcode = ExitCode.DONE if well else ExitCode.INTERNAL
                if opts.keep:
                    _stay(web)


def _crawl(folder: DemoFolder, settings: list[str]) -> ExitCode:
    """Runs the crawl; 3 is what it ends with, since some lines are deferred. Raises DemoFailed."""
    try:
        ended = subprocess.run(  # noqa: S603 - this very Python, and what the user gave to it
            [sys.executable, "-m", "scrapy", "crawl", "seaspider", *_options(folder, settings)],
            cwd=PROJECT,
            env={**_environment(), "SCRAPY_PROJECT": "loopback"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CRAWL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DemoFailed(f"the crawl did not end in {CRAWL_TIMEOUT_S} s (its log: {folder.log})") from error
    if ended.returncode not in (ExitCode.DONE, ExitCode.UNFINISHED):
        last = (ended.stderr.strip() or "it said nothing").splitlines()[-1]
        raise DemoFailed(f"the crawl ended with exit code {ended.returncode}: {last} (its log: {folder.log})")
    return ExitCode(ended.returncode)


def _options(folder: DemoFolder, settings: list[str]) -> Iterator[str]:
    yield from ("--logfile", str(folder.log))
    yield from ("-a", f"queue={folder.queue}", "-a", f"store={folder.path}")
    networks = ",".join(demosite.ALLOWED_NETWORKS)
    own = {
        "SEASPIDER_ALLOWED_NETWORKS": networks,
        "SEASPIDER_RESOLVE": json.dumps(demosite.resolve()),
        "SEASPIDER_LEDGER": folder.ledger,
    }
    for setting in (*(f"{name}={value}" for name, value in own.items()), *settings):  # the user's win
        yield from ("-s", setting)


def _environment() -> dict[str, str]:
    # Scrapy wrote down the profile of this process there; it would win over SCRAPY_PROJECT.
    return {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}


def _proof(proven: Verification) -> list[str]:
    said = "NOT what the promises say" if proven.refuted else "all six promises were kept"
    return [f"What the store alone proves: {said}.", *promise_lines(proven), f"digest  {proven.digest}"]


def _closing(folder: DemoFolder, code: ExitCode, port: int) -> list[str]:
    said = "as it should: some lines wait for a later run" if code == ExitCode.UNFINISHED else "all lines are final"
    store = shlex.quote(str(_near(folder.path)))
    look = f"python3 -m json.tool --json-lines {shlex.quote(str(_near(folder.path / 'pages.jsonl')))}"
    return [
        f"The crawl ended with exit code {code:d}, {said}.",
        f"Records:  {_near(folder.path)}  (pages, links, robots, requests ... one object a line; its log: crawl.log)",
        f"Look:     {look}",
        f"Proof:    scrapy verify {store}",
        f"Again:    scrapy replay {store} -a store=again   (without the web)",
        f"Why not:  scrapy explain http://iceberg.test:{port}/ --store {store}",
        f"Receipt:  scrapy receipt lighthouse.test --store {store}",
    ]


def _near(path: Path) -> Path:
    """The path as the user would type it here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _stay(web: LoopbackWeb) -> None:
    names: dict[str, Any] = demosite.resolve()
    options = f"-s SEASPIDER_RESOLVE={shlex.quote(json.dumps(names))}"
    url = web.url("reef.test", "/treasure/map")
    text = f"\nThe web stays up until Ctrl-C. Try:\nSCRAPY_PROJECT=loopback scrapy robots {url} {options}"
    try:
        print(text, flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        print()


def _heed_signals() -> None:
    """Ctrl-C counts although the shell that started this ignores it; SIGTERM ends the crawl with the demo."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
