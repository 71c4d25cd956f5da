"""The crawl of the demo web, and what is said of it. Decides which settings it has, never what is expected of it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import seaspider
from seaspider.demo.folder import DemoFolder
from seaspider.errors import ExitCode, SeaspiderError
from seaspider.loopback import LoopbackWeb, demosite
from seaspider.verify.report import promise_lines
from seaspider.verify.verification import Verification

PROJECT = Path(seaspider.__file__).parents[1]
CRAWL_TIMEOUT_S = 300


class DemoFailed(SeaspiderError):
    """The crawl of the demo ended as no crawl should."""


def crawl(folder: DemoFolder, settings: list[str]) -> ExitCode:
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


def proof(proven: Verification) -> list[str]:
    said = "NOT what the promises say" if proven.refuted else "all six promises were kept"
    return [f"What the store alone proves: {said}.", *promise_lines(proven), f"digest  {proven.digest}"]


def closing(folder: DemoFolder, code: ExitCode, port: int) -> list[str]:
    said = "as it should: some lines wait for a later run" if code == ExitCode.UNFINISHED else "all lines are final"
    store, scrapy = shlex.quote(str(_near(folder.path))), scrapy_as_typed()
    look = f"python3 -m json.tool --json-lines {shlex.quote(str(_near(folder.path / 'pages.jsonl')))}"
    return [
        f"The crawl ended with exit code {code:d}, {said}.",
        f"Records:  {_near(folder.path)}  (pages, links, robots, requests ... one object a line; its log: crawl.log)",
        f"Look:     {look}",
        f"Proof:    {scrapy} verify {store}",
        f"Again:    {scrapy} replay {store} -a store=again   (without the web)",
        f"Why not:  {scrapy} explain http://iceberg.test:{port}/ --store {store}",
        f"Receipt:  {scrapy} receipt lighthouse.test --store {store}",
    ]


def scrapy_as_typed() -> str:
    """This Python's `scrapy`: by its name where that is what the shell finds, else by its path."""
    ours = Path(sys.executable).with_name("scrapy")
    found = shutil.which("scrapy")
    return "scrapy" if not ours.exists() or (found and Path(found).samefile(ours)) else shlex.quote(str(_near(ours)))


def _near(path: Path) -> Path:
    """The path as the user would type it here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def stay(web: LoopbackWeb) -> None:
    names: dict[str, Any] = demosite.resolve()
    options = f"-s SEASPIDER_RESOLVE={shlex.quote(json.dumps(names))}"
    url = web.url("reef.test", "/treasure/map")
    text = f"\nThe web stays up until Ctrl-C. Try:\nSCRAPY_PROJECT=loopback {scrapy_as_typed()} robots {url} {options}"
    try:
        print(text, flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        print()
