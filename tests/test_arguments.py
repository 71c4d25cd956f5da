"""The spider's arguments."""

import pytest

from seaspider.arguments import Arguments
from seaspider.config import Config
from seaspider.errors import ArgumentError, ExitCode
from tests.projectsettings import project


def test_what_is_not_given_is_left_to_the_settings():
    assert Arguments.read({"queue": "urls.txt"}) == Arguments("urls.txt", "store", None, None, None, None, None)
    config = Config.from_settings(project(SEASPIDER_FOLLOW="host", SEASPIDER_MAX_DEPTH="7"))
    assert Arguments("urls.txt").applied_to(config) == config


def test_what_is_given_wins():
    given = {"queue": "-", "store": "x", "follow": "off", "max_depth": "0", "max_pages": "5", "order": "round-robin"}
    arguments = Arguments.read({**given, "retry": "failed"})
    assert arguments == Arguments("-", "x", "off", 0, 5, "round-robin", "failed")
    config = arguments.applied_to(Config.from_settings(project(SEASPIDER_FOLLOW="host", SEASPIDER_MAX_DEPTH="7")))
    assert (config.follow, config.max_depth, config.max_pages, config.order) == ("off", 0, 5, "round-robin")


KNOWN = "is unknown; known are queue, store, follow, max_depth, max_pages, order, retry, plan, shard"
REFUSED = [
    ("queue", "", "must name a file or folder"),
    ("queue", "a\0b", "must name a file or folder"),
    ("store", "", "must name a file or folder"),
    ("follow", "everywhere", "must be one of: off, host"),
    ("follow", "", "must be one of: off, host"),
    ("max_depth", "-1", "must be a whole number, not negative"),
    ("max_depth", "1.5", "must be a whole number, not negative"),
    ("max_depth", "", "must be a whole number, not negative"),
    ("max_pages", "ten", "must be a whole number, not negative"),
    ("max_pages", "٣", "must be a whole number, not negative"),
    ("max_pages", "9" * 19, "must be a whole number, not negative"),
    ("order", "random", "must be one of: round-robin, longest-idle, most-remaining"),
    ("retry", "all", "must be one of: failed"),
    ("max_page", "3", KNOWN + "; did you mean max_pages?"),
    ("start_urls", "http://a.test/", KNOWN),
]


@pytest.mark.parametrize(("name", "value", "why"), REFUSED, ids=[f"{n}={v[:12]!a}" for n, v, _ in REFUSED])
def test_refused_by_name_and_value(name, value, why):
    with pytest.raises(ArgumentError) as caught:
        Arguments.read({"queue": "urls.txt", name: value})
    assert str(caught.value) == f"argument -a {name}={value}: {why}"
    assert caught.value.exit_code is ExitCode.USAGE


def test_there_must_be_a_queue():
    with pytest.raises(ArgumentError, match=r"^argument -a queue=FILE: is required: "):
        Arguments.read({})
