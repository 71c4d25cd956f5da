"""Makes docs/web-cases.md: for each case of tests/cases/web.jsonl what happens, what comes of it, and the test.

    python -m tests.web.table

Each theme has a module here whose WHERE maps the ids of its cases to "TEST: OUTCOME", where TEST is one pytest node id
or several with ", " between them ("tests/web/test_x.py::test_y[CASE-01]"; without brackets: all its parameters). Ids in
its CASES that go on behind a slash ("CASE-01/more") are further cases of the same kind.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/web-cases.md"
FILE = ROOT / "tests/cases/web.jsonl"

MODULES = {
    "robots": "tests.web.test_robots",
    "redirects": "tests.web.test_redirects",
    "url": "tests.web.test_urls",
    "queue": "tests.web.test_queues",
    "transport": "tests.web.test_transport",
    "content": "tests.web.test_content",
    "links": "tests.web.test_links",
    "resume": "tests.web.test_resume",
    "politeness": "tests.web.test_politeness",
    "tls_dns": "tests.web.test_tls_dns",
}

STILL_TO_COME: frozenset[str] = frozenset()
"""Themes without a module so far. Take yours out when its module is there."""

_SIBLING = re.compile(r"[A-Z]+-[0-9]+/")

HEAD = """\
# Web cases

What servers, links and queue files of the open web do, and what Seaspider makes of it. The cases come from bug reports
of many crawlers and libraries, so *what happens* often also says what others were found to make of it; all their facts
are in tests/cases/web.jsonl. Each is shown by a test, nearly always a real crawl of a real server on this machine.
*More* counts the further cases of the same kind that are tested beside it.

This file is made by `python -m tests.web.table`; tests/web/test_table.py fails if it is not up to date.
"""


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def modules() -> dict[str, ModuleType]:
    """Theme -> its module, in the order of the document."""
    return {theme: import_module(name) for theme, name in MODULES.items() if theme not in STILL_TO_COME}


def come_after_all() -> list[str]:
    """Themes of STILL_TO_COME whose module is there and has a WHERE."""
    found = {theme: find_spec(MODULES[theme]) for theme in sorted(STILL_TO_COME)}
    return [theme for theme, spec in found.items() if spec and hasattr(import_module(MODULES[theme]), "WHERE")]


def parts(entry: str) -> tuple[list[str], str]:
    """(tests, outcome) of a WHERE entry."""
    tests, _, outcome = entry.partition(": ")
    return tests.split(", "), outcome


def document() -> str:
    by_theme = {
        theme: [case for case in cases() if case["theme"] == theme] for theme in MODULES if theme not in STILL_TO_COME
    }
    found = modules()
    sections = ["\n".join(_section(theme, of, found[theme])) for theme, of in by_theme.items()]
    return "\n".join([HEAD, *sections])


def _section(theme: str, of: Sequence[Mapping[str, Any]], module: ModuleType) -> Iterator[str]:
    yield f"## {theme.replace('_', ' and ').capitalize()}\n"
    yield "| case | what happens | outcome | test | more |"
    yield "|---|---|---|---|---|"
    for case in of:
        tests, outcome = parts(module.WHERE[case["id"]])
        more = sum(id.startswith(f"{case['id']}/") for id in siblings(module))
        shown = "<br>".join(f"`{_cell(test)}`" for test in tests)
        yield f"| {case['id']} | {_cell(case['gist'])} | {_cell(outcome)} | {shown} | {more or ''} |"
    yield ""


def siblings(module: ModuleType) -> list[str]:
    """The ids of further cases, of all the module's tables of cases."""
    tables = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, Mapping)]
    return sorted({key for table in tables for key in table if isinstance(key, str) and _SIBLING.match(key)})


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


if __name__ == "__main__":
    DOCUMENT.write_text(document(), "utf-8")
