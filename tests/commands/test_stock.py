"""Scrapy's own commands work in the project as anywhere."""

import pytest

from tests.commands.many import Case, Result, run

CASES = {
    "list": Case(["list"]),
    "settings": Case(["settings", "--get", "BOT_NAME"]),
    "settings-set": Case(["settings", "--getint", "CONCURRENT_REQUESTS"]),
    "version": Case(["version"]),
    "help": Case([]),
    "check": Case(["check", "-l"]),
    "unknown": Case(["dive"]),
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return run(CASES)


@pytest.mark.parametrize(
    ("name", "out"),
    [("list", "seaspider\n"), ("settings", "seaspider\n"), ("settings-set", "1\n"), ("version", "Scrapy 2.19.0\n")],
    ids=["list", "settings", "settings-set", "version"],
)
def test_stock_commands_answer(name: str, out: str, results: dict[str, Result]) -> None:
    assert results[name] == Result(0, out, "")


def test_all_commands_are_listed_ours_with_what_they_do(results: dict[str, Result]) -> None:
    lines = results["help"].out.splitlines()
    assert "  robots        Say what robots.txt allows for a URL, and why" in lines
    assert "  demo          Crawl a small web that comes with the project, offline, and show what came of it" in lines
    listed = {line.split()[0] for line in lines if line.startswith("  ") and len(line.split()) > 1}
    assert {"crawl", "demo", "fetch", "list", "robots", "settings", "shell"} <= listed
    assert not listed & {"edge", "words", "robotsreport"}


def test_check_finds_the_spider_and_an_unknown_command_is_a_usage_error(results: dict[str, Result]) -> None:
    assert results["check"].exit == 0
    assert results["unknown"].exit == 2
