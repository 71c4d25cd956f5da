"""What another part drops on its way ends the crawl neither silently nor never."""

import pytest

from tests.crawling import crawl

NAMES = {"a.test": "127.0.0.21"}
ROBOTS = {"status": 200, "body": "User-agent: *\nDisallow:\n"}


def test_a_robots_hop_that_is_dropped_makes_its_origin_unreachable(tmp_path, web_factory):
    web = web_factory(
        {
            "a.test/robots.txt": {"status": 302, "headers": [["Location", "/moved"]]},
            "a.test/moved": ROBOTS,
            "b.test/robots.txt": ROBOTS,
            "b.test/page": {"status": 200, "body": "b"},
        },
        names={"a.test": "127.0.0.21", "b.test": "127.0.0.22"},
    )
    ended = crawl(
        [web.url("a.test", "/page"), web.url("b.test", "/page")],
        tmp_path,
        names={"a.test": "127.0.0.21", "b.test": "127.0.0.22"},
        options=["-s", 'EXTENSIONS={"tests.extras.dropping.DropsMoved": 1, "seaspider.extension.Seaspider": 0}'],
    )
    assert [(arrival.name, arrival.target) for arrival in web.arrivals] == [
        ("a.test", "/robots.txt"),
        ("b.test", "/robots.txt"),
        ("b.test", "/page"),
    ]
    assert ended.endings() == {
        web.url("b.test", "/page"): "stored",
        web.url("a.test", "/page"): "deferred/robots-unreachable",
    }
    assert [(row["origin"], row["state"], row["reason"]) for row in ended.records("robots")] == [
        (web.url("b.test", ""), "parsed", None),
        (web.url("a.test", ""), "unreachable", "aborted"),
    ]
    assert ended.exit == 3


def test_a_page_hop_that_is_dropped_is_counted_unfinished(tmp_path, web_factory):
    web = web_factory(
        {
            "a.test/robots.txt": ROBOTS,
            "a.test/page": {"status": 302, "headers": [["Location", "/moved"]]},
            "a.test/moved": {"status": 200, "body": "a"},
        },
        names={"a.test": "127.0.0.21"},
    )
    ended = crawl(
        [web.url("a.test", "/page")],
        tmp_path,
        names={"a.test": "127.0.0.21"},
        options=["-s", 'EXTENSIONS={"tests.extras.dropping.DropsMoved": 1, "seaspider.extension.Seaspider": 0}'],
    )
    assert ended.records("pages") == []
    assert ended.records("manifest")[-1]["counts"]["unfinished"] == 1
    assert ended.exit == 3


@pytest.mark.parametrize("sends", ["SendsReceived", "SendsScheduled"])
def test_a_robots_request_that_is_sent_again_after_its_turn_is_refused(tmp_path, web_factory, sends):
    web = web_factory({"a.test/robots.txt": ROBOTS, "a.test/page": {"status": 200, "body": "a"}}, names=NAMES)
    ended = crawl(
        [web.url("a.test", "/page")],
        tmp_path,
        names=NAMES,
        options=["-s", f'EXTENSIONS={{"tests.extras.again.{sends}": 1, "seaspider.extension.Seaspider": 0}}'],
    )
    assert [arrival.target for arrival in web.arrivals] == ["/robots.txt", "/page"]
    assert [row["state"] for row in ended.records("robots")] == ["parsed"]
    assert f"'sent_again': '{web.url('a.test', '/robots.txt')} has had its turn'" in ended.log
    assert ended.exit == 0
