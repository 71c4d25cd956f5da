"""manifest.jsonl and what a run says of itself at its start and its end."""

import hashlib
import platform
import re
from collections import Counter
from importlib.metadata import version

import pytest

from seaspider import __version__
from seaspider.clock import SystemClock
from seaspider.core.calltimes import BOUNDS_MS
from seaspider.core.times import parse_rfc3339_ms
from seaspider.loopback import Answer, LoopbackWeb
from tests.accounts import check_accounts
from tests.crawling import crawl
from tests.projectsettings import project

NAMES = {"a.test": "127.0.0.2", "b.test": "127.0.0.3", "c.test": "127.0.0.4"}
PAGE = Answer(200, (("Content-Type", "text/html"),), '<a href="/x">x</a>')


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manifest")
    routes = {"/robots.txt": Answer(404), "/*": PAGE, "b.test/robots.txt": Answer(500)}
    with LoopbackWeb(routes, names=NAMES) as web:
        queue = ["# a queue", web.url("a.test", "/1"), web.url("a.test", "/2"), web.url("b.test"), web.url("c.test")]
        return crawl(
            [*queue, web.url("c.test"), "nonsense"],
            folder,
            names=NAMES,
            arguments={"follow": "host", "max_depth": "1"},
            settings={
                "SEASPIDER_CONTACT": "",
                "SEASPIDER_MAX_ATTEMPTS": 2,
                "SEASPIDER_INTERVAL": "0.01",
                "CONCURRENT_REQUESTS": "1",
            },
        )


def test_the_line_of_a_start(ended):
    start = ended.records("manifest")[0]
    assert list(start) == [
        "v", "run", "event", "started_at", "started_ns", "boot_id", "versions", "queue", "queue_sha256", "settings",
    ]  # fmt: skip
    assert (start["run"], start["event"], start["boot_id"]) == (1, "start", SystemClock().boot_id)
    assert parse_rfc3339_ms(start["started_at"]) < SystemClock().wall_ms()
    assert start["versions"]["seaspider"] == __version__
    assert start["versions"]["python"] == platform.python_version()
    assert start["versions"]["scrapy"] == version("scrapy")
    queue = ended.store.parent / "queue.txt"
    assert (start["queue"], start["queue_sha256"]) == (str(queue), hashlib.sha256(queue.read_bytes()).hexdigest())


def test_the_effective_settings_are_in_it(ended):
    settings = ended.records("manifest")[0]["settings"]
    assert (settings["interval_s"], settings["follow"], settings["max_depth"]) == (0.01, "host", 1)
    assert settings["allowed_networks"] == project("loopback")["SEASPIDER_ALLOWED_NETWORKS"]
    assert settings["resolve"] == {name: [address] for name, address in NAMES.items()}
    assert settings["user_agent"] == f"seaspider/{__version__}"


def test_the_line_of_an_end(ended):
    start, end = ended.records("manifest")
    assert list(end) == ["v", "run", "event", "ended_at", "ended_ns", "reason", "exit", "counts", "verdict"]
    assert (end["run"], end["event"], end["reason"], end["exit"]) == (1, "end", "finished", 3)
    assert end["ended_ns"] > start["started_ns"]
    assert check_accounts(ended, 1) == end["counts"]
    fates = {"blank": 0, "comment": 1, "duplicate": 1, "done": 0, "rejected": 1, "recorded": 4, "unfinished": 0}
    assert end["counts"] == {
        "queue": {"lines": 7, **fates},
        "followed": {"recorded": 2, "unfinished": 0},
        "pages": {"deferred/robots-unreachable": 1, "stored": 5},
        "unfinished": 0,
        "interrupted": 0,
        "requests": 8,
        "hosts": 3,
    }


def test_breadth_counts_every_request(ended):
    # a.test: robots.txt and three pages; b.test: robots.txt; c.test: robots.txt and two pages.
    assert ended.records("manifest")[1]["verdict"] == {
        "hosts": 3,
        "requests": 8,
        "breadth_per_mil": 375,
        "most_per_host": 4,
        "too_near": 0,
        "polite": True,
        "broad": True,
        "gate": None,
    }


def test_the_log_says_what_is_missing(ended):
    assert "WARNING: SEASPIDER_CONTACT is not set: site owners cannot tell who is asking" in ended.log


def test_the_log_ends_with_what_became_of_each_line(ended):
    assert (
        "Queue: 7 lines (1 comment, 1 duplicate, 1 rejected, 4 recorded). Followed links: 2 recorded. "
        "Page records of this run: 1 deferred/robots-unreachable, 5 stored. 8 requests to 3 hosts. "
        "In the store: 5 URLs final, 1 not yet. "
        "Run it again to go on."
    ) in ended.log


def test_the_counts_are_in_the_stats(ended):
    for stat in ("'seaspider/queue/lines': 7", "'seaspider/pages/stored': 5", "'seaspider/followed/recorded': 2"):
        assert stat in ended.log


def test_what_the_ledger_cost_is_in_the_stats(ended):
    found = dict(re.findall(r"'seaspider/ledger/([\w/.]+)': ([\d.]+)", ended.log))
    calls = int(found["calls"])
    assert calls >= 2 * 8
    assert 0 < float(found["longest_seconds"]) <= float(found["seconds"]) <= calls * float(found["longest_seconds"])
    within = [int(found[f"within_ms/{bound:g}"]) for bound in BOUNDS_MS]
    assert within == sorted(within)
    assert (within[-1] == calls) is (float(found["longest_seconds"]) <= 1)


def test_scrapys_counts_of_requests_and_octets_are_those_of_the_store(ended):
    settles = [row for row in ended.records("requests") if row["event"] == "settle"]
    found = dict(re.findall(r"'downloader/((?!exception)[\w/]+)': (\d+)", ended.log))
    assert found.pop("request_bytes").isdigit()
    answered = Counter(f"response_status_count/{row['status']}" for row in settles)
    assert found == {
        "request_count": "8",
        "request_method_count/GET": "8",
        "response_count": "8",
        "response_bytes": str(sum(row["bytes"] for row in settles)),
        **{name: str(count) for name, count in answered.items()},
    }
