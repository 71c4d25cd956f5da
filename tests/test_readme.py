"""README says what is so: its settings, arguments, exit codes, tests and example lines are compared with the code."""

import json
import re
from contextlib import ExitStack
from dataclasses import fields

import pytest

from seaspider.arguments import Arguments
from seaspider.config import DEFAULTS, ORDERS
from seaspider.core.records import File
from seaspider.errors import ExitCode
from seaspider.loopback import LoopbackWeb
from tests.crawling import ROOT
from tests.test_crawl import demo

README = (ROOT / "README.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("|")]
EXAMPLES = dict(re.findall(r"^`([a-z]+\.jsonl)`\n\n    (\{.*\})$", README, re.MULTILINE))


def test_the_settings_table_is_the_code_s():
    rows = {row[0].strip("`"): row[1:] for row in ROWS if row[0].startswith("`SEASPIDER_")}
    assert list(rows) == list(DEFAULTS)
    for name, (default, _) in rows.items():
        if DEFAULTS[name] not in (None, [], {}):
            assert default.split(":")[0] == f"`{DEFAULTS[name]}`", name
        else:
            assert (
                default == "= `SEASPIDER_INTERVAL`" if name == "SEASPIDER_IP_INTERVAL" else default.startswith("none")
            )


def test_the_arguments_table_is_the_code_s():
    start = README.index("### Arguments")
    section = README[start : README.index("### Commands")]
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in section.splitlines() if "| `" in line[:3]))
    assert named == [field.name for field in fields(Arguments)]


def test_the_orders_are_the_code_s():
    rows = {row[0].strip("`"): row[1:] for row in ROWS if row[0] in ("`order`", "`SEASPIDER_ORDER`")}
    named = {name: re.findall("`([a-z-]+)`", " ".join(cells)) for name, cells in rows.items()}
    assert named == {"order": list(ORDERS), "SEASPIDER_ORDER": list(ORDERS)}


def test_the_exit_codes_are_the_code_s():
    start = README.index("### Exit codes")
    section = README[start : README.index("## How it behaves")]
    named = {int(code) for code in re.findall(r"(?:^|· )(\d+) ", section, re.MULTILINE)}
    assert named == {int(code) for code in ExitCode}


def test_each_promise_names_tests_that_are_there():
    rows = {row[0]: row[2] for row in ROWS if re.fullmatch(r"P\d", row[0])}
    assert list(rows) == ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8"]
    for named in re.findall(r"`(tests/[\w/]+\.py)`", README):
        assert (ROOT / named).is_file(), named


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with ExitStack() as running:

        def web_factory(routes, **options):
            return running.enter_context(LoopbackWeb(routes, **options))

        return demo(tmp_path_factory.mktemp("readme"), web_factory)[0]


def test_each_file_of_the_store_has_an_example(store):
    assert list(EXAMPLES) == [str(file) for file in File]


@pytest.mark.parametrize("file", File)
def test_the_example_lines_have_the_fields_of_real_ones(store, file):
    example = json.loads(EXAMPLES[file])
    real = [
        record for record in store.records(file.removesuffix(".jsonl")) if record.get("event") == example.get("event")
    ]
    assert [list(record) for record in real] == [list(example)] * len(real)
    assert real
