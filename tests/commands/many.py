"""Runs many `scrapy` commands for the price of one import: each in a forked process of its own, one after the other.

A forked child is a real process: it has its own reactor, signals, standard streams and exit code. What it shares with
the others is only what Python had imported before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crawling import ROOT, environment

_DRIVER = """
import gc, json, os, resource, signal, sys
import scrapy.cmdline
from scrapy.utils.misc import walk_modules
from scrapy.utils.project import get_project_settings
from scrapy.utils.versions import get_versions
from seaspider import guard, scheduler
from seaspider.commands import crawl, demo, fetch, robots, shell
guard.check(get_project_settings())  # imports all components
del os.environ["SCRAPY_SETTINGS_MODULE"]
get_versions()
walk_modules("scrapy.commands")
gc.freeze()
assert "twisted.internet.reactor" not in sys.modules
ended = []
for case in json.load(sys.stdin):
    log, end = os.pipe()  # which a full disk does not fill
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os.close(log)
        for descriptor, path in enumerate(("/dev/null", case["out"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
        os.dup2(end, 2)
        os.environ.update(case["environment"])
        sys.argv = ["scrapy", *case["args"]]
        if case["file_bytes"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case["file_bytes"],) * 2)
        exec(case["sabotage"])
        scrapy.cmdline.execute()
    os.close(end)
    with os.fdopen(log) as errors:
        text = errors.read()
    ended.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text])
print(json.dumps(ended))
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


def run(
    cases: Mapping[str, Case], names: Mapping[str, str | Sequence[str]] | None = None, timeout_s: float = 120
) -> dict[str, Result]:
    """Runs the cases in the project, in the loopback profile without a pause; `names` are resolved."""
    settings = {"SEASPIDER_INTERVAL": 0, "SEASPIDER_RESOLVE": json.dumps(names or {})}
    with tempfile.TemporaryDirectory() as folder:
        asked = [
            {
                "args": [*case.args, *_switches({**settings, **case.settings} if case.args else {})],
                "environment": dict(case.environment),
                "sabotage": case.sabotage,
                "file_bytes": case.file_bytes,
                "out": f"{folder}/{number}.out",
            }
            for number, case in enumerate(cases.values())
        ]
        ended = subprocess.run(
            [sys.executable, "-c", _DRIVER],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment(),
            text=True,
            timeout=timeout_s,
            check=True,
        )
        out = [Path(case["out"]).read_text() for case in asked]
    return {
        name: Result(code, text, err)
        for name, text, (code, err) in zip(cases, out, json.loads(ended.stdout), strict=True)
    }


def _switches(settings: Mapping[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
