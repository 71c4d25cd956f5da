"""What each part may do, read from its syntax tree: core stays pure, adapters stay thin, nobody reaches into others.

Each rule is a function from a source text to what is wrong with it; each has a twin that it must find fault with.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("seaspider/**/*.py"), *ROOT.glob("settings/**/*.py")])
CORE = [path for path in SOURCES if path.is_relative_to(ROOT / "seaspider/core")]

# A closed list: what is not on it may have a clock, a file or chance in it. Add what has none of them.
PURE_STDLIB = frozenset(
    {
        "__future__", "abc", "bisect", "codecs", "collections", "collections.abc", "dataclasses", "datetime", "decimal",
        "enum", "fractions", "functools", "hashlib", "heapq", "html", "ipaddress", "itertools", "json", "math",
        "operator", "re", "string", "types", "typing", "unicodedata", "urllib.parse", "weakref",
    }
)  # fmt: skip
PURE_LIBRARIES = ("protego", "w3lib", "can_ada", "seaspider.core")
# What decides in a crawl. The checker of a store must come to the same answers without it.
CRAWLS = frozenset(
    {"frontier", "hosts", "turns", "visits", "robotsbook", "robotsanswer", "forecast", "remaining", "gaps"}
)
CHECKER = [path for path in SOURCES if path.is_relative_to(ROOT / "seaspider/verify")]
CHECKER_MAY = (
    "seaspider.core",
    "seaspider.verify",
    "seaspider.journal",
    "seaspider.errors",
    "seaspider.queuefile",
    "seaspider.bodyfiles",
    "seaspider.bigsort",
)
FLEETS_CHECKER = [path for path in SOURCES if path.is_relative_to(ROOT / "seaspider/fleet/proof")]
# Its plan and its merged files are made once more, by what made them.
FLEETS_CHECKER_MAY = tuple(
    f"seaspider.fleet.{part}" for part in ("folder", "locks", "merging", "plan", "planning", "proof", "suffixes")
)
# hash() of a text differs from process to process; eval() and the like have no place in what only decides.
IMPURE_CALLS = frozenset({"open", "input", "print", "eval", "exec", "compile", "__import__", "breakpoint", "hash"})
CLOCK_METHODS = frozenset({"now", "utcnow", "today"})

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
LONGER_FOR_A_REASON = {
    "seaspider/loopback/demosite.py: _sites": "one table, an entry for each site of the demo",
}

# Documented although it begins so.
PUBLIC_DESPITE_ITS_NAME = frozenset({"os._exit"})

ENGINE_PARTS = frozenset({"downloader", "scraper"})
SCRAPY_HOOKS = ROOT / "seaspider/scrapyhooks.py"

# Spelled so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.:/>-])/(?:home|root|Users|work|tmp|var/folders|Volumes)/[\w.]+")
NOT_OURS = re.compile(r"\..*|__pycache__|.*\.egg-info|store.*|demo-store")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


EACH_SOURCE = pytest.mark.parametrize("path", SOURCES, ids=name)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import, wherever it stands; a relative one begins with its dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def impurities(source: str) -> list[str]:
    """What a module of core may not do."""
    tree = ast.parse(source)
    found = []
    for line, module in imported(tree):
        inside = any(module == library or module.startswith(library + ".") for library in PURE_LIBRARIES)
        if not inside and module not in PURE_STDLIB:
            found.append(f"{line}: import {module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=called) if called in IMPURE_CALLS:
                    found.append(f"{node.lineno}: {called}()")
        elif isinstance(node, ast.Attribute) and node.attr in CLOCK_METHODS:
            found.append(f"{node.lineno}: .{node.attr}")
    return found


def dependencies(source: str, may: tuple[str, ...] = CHECKER_MAY) -> list[str]:
    """What of the crawler the checker of a store may not stand on."""
    found = []
    for line, module in imported_names(ast.parse(source)):
        if not module.startswith("seaspider"):
            continue
        if not module.startswith(may) or module.removeprefix("seaspider.core.").split(".")[0] in CRAWLS:
            found.append(f"{line}: {module}")
    return found


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module.name) of every import of a name from a module, (line, module) of the others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def oversizes(source: str, where: str = "x.py") -> list[str]:
    """Files and functions that are longer than a reader bears, decorators and docstring included."""
    found = []
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        found.append(f"{where}: {lines} lines")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines = (node.end_lineno or first) - first + 1
            if lines > MAX_FUNCTION_LINES and f"{where}: {node.name}" not in LONGER_FOR_A_REASON:
                found.append(f"{where}: {node.name}: {lines} lines")
    return found


def trespasses(source: str) -> list[str]:
    """Private names of others: imported, or reached for on anything but `self` and `cls`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: {alias.name}" for alias in node.names if any_private(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            modules = (f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names)
            found += [f"{node.lineno}: {module}" for module in modules if any_private(module)]
        elif isinstance(node, ast.Attribute) and any_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            if not own and ast.unparse(node) not in PUBLIC_DESPITE_ITS_NAME:
                found.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"getattr", "setattr"}:
            texts = (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
            found += [f"{node.lineno}: {node.func.id} {text}" for text in texts if any_private(text)]
    return found


def any_private(dotted: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in dotted.split("."))


def engine_parts(source: str) -> list[str]:
    """Uses of the engine's insides, which are no documented API of Scrapy."""
    attributes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return [f"{node.lineno}: .{node.attr}" for node in attributes if node.attr in ENGINE_PARTS]


def machine_paths(text: str) -> list[str]:
    """Paths that exist on somebody's machine only."""
    return MACHINE_PATH.findall(text) + [str(ROOT)] * text.count(f"{ROOT}/")


# The tree


def test_the_tree_is_looked_at() -> None:
    assert len(CORE) >= 20
    assert {"seaspider/core/urls.py", "seaspider/door.py", "settings/base.py"} <= set(map(name, SOURCES))


@pytest.mark.parametrize("path", CORE, ids=name)
def test_core_is_pure(path: Path) -> None:
    assert impurities(path.read_text()) == []


@pytest.mark.parametrize("path", CHECKER, ids=name)
def test_the_checker_of_a_store_stands_on_nothing_that_crawls(path: Path) -> None:
    assert dependencies(path.read_text()) == []


@pytest.mark.parametrize("path", FLEETS_CHECKER, ids=name)
def test_the_checker_of_a_fleet_neither(path: Path) -> None:
    assert dependencies(path.read_text(), CHECKER_MAY + FLEETS_CHECKER_MAY) == []


@EACH_SOURCE
def test_files_and_functions_stay_short(path: Path) -> None:
    assert oversizes(path.read_text(), name(path)) == []


def test_every_exception_is_still_needed() -> None:
    functions = {
        f"{name(path)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    }
    assert set(LONGER_FOR_A_REASON) <= functions


@EACH_SOURCE
def test_nobody_reaches_for_private_names(path: Path) -> None:
    assert trespasses(path.read_text()) == []


@EACH_SOURCE
def test_only_one_file_knows_the_engines_insides(path: Path) -> None:
    assert bool(engine_parts(path.read_text())) == (path == SCRAPY_HOOKS)


def ours(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if NOT_OURS.fullmatch(path.name) and path.name not in {".ci", ".gitignore"}:
            continue
        if path.is_dir():
            yield from ours(path)
        elif path != Path(__file__):
            yield path


def test_no_path_of_a_machine_is_in_the_tree() -> None:
    texts = {name(path): path.read_bytes().decode(errors="replace") for path in ours(ROOT)}
    assert {"Makefile", ".ci/run", "requirements.txt"} <= set(texts)
    assert {where: paths for where, text in texts.items() if (paths := machine_paths(text))} == {}


# Twins: what each rule is there to find

IMPURE = {
    "import time": ["1: import time"],
    "import os.path": ["1: import os.path"],
    "from random import choice": ["1: import random"],
    "import json, socket": ["1: import socket"],
    "import urllib": ["1: import urllib"],
    "from urllib import request": ["1: import urllib"],
    "import urllib.parse": [],
    "import asyncio as a": ["1: import asyncio"],
    "from pathlib import Path": ["1: import pathlib"],
    "def f():\n    import ssl": ["2: import ssl"],
    "import scrapy": ["1: import scrapy"],
    "from twisted.internet import reactor": ["1: import twisted.internet"],
    "from seaspider.clock import SystemClock": ["1: import seaspider.clock"],
    "from seaspider import door": ["1: import seaspider"],
    "from seaspider.corelike import x": ["1: import seaspider.corelike"],
    "from ..clock import SystemClock": ["1: import ..clock"],
    "from seaspider.core.urls import Url": [],
    "from w3lib.url import safe_url_string": [],
    "x = open('f')": ["1: open()"],
    "x = print(1)": ["1: print()"],
    "x = __import__('time')": ["1: __import__()"],
    "x = hash('a')": ["1: hash()"],
    "def __hash__(self): return 1": [],
    "from datetime import datetime\nx = datetime.now()": ["2: .now"],
    "import datetime\nx = datetime.datetime.utcnow": ["2: .utcnow"],
    "from datetime import date\nx = date.today()": ["2: .today"],
    "from datetime import datetime, UTC\nx = datetime(1970, 1, 1, tzinfo=UTC)": [],
}
DEPENDENT = {
    "from seaspider.core.frontier import Frontier": ["1: seaspider.core.frontier.Frontier"],
    "from seaspider.core import hosts": ["1: seaspider.core.hosts"],
    "from seaspider.core.robotsbook import RobotsBook": ["1: seaspider.core.robotsbook.RobotsBook"],
    "from seaspider import journal, run": ["1: seaspider.run"],
    "from seaspider.door import Door": ["1: seaspider.door.Door"],
    "from seaspider.core.urls import normalise": [],
    "from seaspider.verify.evidence import Evidence": [],
    "from seaspider import journal": [],
    "import json": [],
}
PRIVATE = {
    "from scrapy.core.engine import _Slot": ["1: scrapy.core.engine._Slot"],
    "from twisted.web._newclient import Response": ["1: twisted.web._newclient.Response"],
    "import _socket": ["1: _socket"],
    "from . import _x": ["1: _x"],
    "def f(engine): return engine._slot": ["1: engine._slot"],
    "def f(self): return self.engine._slot": ["1: self.engine._slot"],
    "getattr(engine, '_slot')": ["1: getattr _slot"],
    "class A:\n    def f(self): self._x = cls._y": [],
    "from seaspider import __version__": [],
    "from __future__ import annotations": [],
}
ENGINE = {
    "def busy(crawler): return bool(crawler.engine.downloader.active)": ["1: .downloader"],
    "def idle(engine): return engine.scraper.slot.is_idle()": ["1: .scraper"],
    "def f(crawler): return crawler.engine.running": [],
}
PATHS = {
    "x = '" + "/home/" + "me/x'": ["/home/" + "me"],
    "# see " + "/tmp/" + "notes.md": ["/tmp/" + "notes.md"],
    f'"{ROOT}/x"': [str(ROOT)],
    "http://a.test" + "/home/" + "page": [],
    "import tempfile": [],
}


@pytest.mark.parametrize(("source", "found"), IMPURE.items(), ids=IMPURE)
def test_impurities_are_found(source: str, found: list[str]) -> None:
    assert impurities(source) == found


@pytest.mark.parametrize(("source", "found"), DEPENDENT.items(), ids=DEPENDENT)
def test_dependencies_are_found(source: str, found: list[str]) -> None:
    assert dependencies(source) == found


@pytest.mark.parametrize(("source", "found"), PRIVATE.items(), ids=PRIVATE)
def test_private_names_are_found(source: str, found: list[str]) -> None:
    assert trespasses(source) == found


@pytest.mark.parametrize(("source", "found"), ENGINE.items(), ids=ENGINE)
def test_the_engines_insides_are_found(source: str, found: list[str]) -> None:
    assert engine_parts(source) == found


@pytest.mark.parametrize(("text", "found"), PATHS.items(), ids=range(len(PATHS)))
def test_machine_paths_are_found(text: str, found: list[str]) -> None:
    assert set(machine_paths(text)) >= set(found)
    assert bool(machine_paths(text)) == bool(found)


def test_oversizes_are_found() -> None:
    function = "@decorated\ndef f():\n" + "    x = 1\n" * 38
    assert oversizes(function) == []
    assert oversizes(function + "    x = 1\n") == ["x.py: f: 41 lines"]
    assert oversizes("async " + function.removeprefix("@decorated\n") + "    x = 1\n" * 2) == ["x.py: f: 41 lines"]
    assert oversizes("x = 1\n" * 300) == []
    assert oversizes("x = 1\n" * 301) == ["x.py: 301 lines"]
