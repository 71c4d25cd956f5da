"""Runs many `scrapy` commands, each in a process of its own (tests.crash.warm), one after the other."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.warm import MOST_S, shared

_MAIN = """
import resource, sys
sabotage, limit = sys.argv[1:3]
sys.argv[:3] = ["scrapy"]
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit),) * 2)
exec(sabotage)
from scrapy.cmdline import execute
execute()
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A command line. `file_bytes`: no file may grow beyond, as on a full disk. `sabotage`: Python run before."""

    args: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    sabotage: str = ""
    file_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    exit: int
    out: str
    err: str


def run(cases: Mapping[str, Case], names: Mapping[str, str | Sequence[str]] | None = None) -> dict[str, Result]:
    """Runs the cases in the project, in the loopback profile without a pause; `names` are resolved."""
    settings = {"SEASPIDER_INTERVAL": 0, "SEASPIDER_RESOLVE": json.dumps(names or {})}
    return {name: _run(case, {**settings, **case.settings} if case.args else {}) for name, case in cases.items()}


def _run(case: Case, settings: Mapping[str, Any]) -> Result:
    limit = "" if case.file_bytes is None else str(case.file_bytes)
    switches = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    line = [sys.executable, "-c", _MAIN, case.sabotage, limit, *case.args, *switches]
    read, write = os.pipe()  # which a full disk does not fill
    with tempfile.TemporaryDirectory() as folder, os.fdopen(read) as log, ThreadPoolExecutor(1) as pool:
        text, out = pool.submit(log.read), Path(folder, "out")
        try:
            crawl = shared().start(line, Path(f"/proc/{os.getpid()}/fd/{write}"), out, environment=case.environment)
            code = crawl.wait(MOST_S)
        finally:
            os.close(write)
        return Result(code, out.read_text(), text.result())
