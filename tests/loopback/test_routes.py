"""Which answer a request gets, and that the case file is understood whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from seaspider.loopback import Answer, Fault, LoopbackWeb, Request, WireError, from_wire
from seaspider.loopback.routes import RouteTable, as_route
from tests.conftest import WebFactory
from tests.loopback.raw import ask

CASE_FILE = Path(__file__).parents[1] / "cases" / "robots_fetch.jsonl"
CASES = [json.loads(line) for line in CASE_FILE.read_text(encoding="utf-8").splitlines()]
SERVED = [case for case in CASES if "routes" in case["wire"]]


def said(text: str) -> Answer:
    return Answer(body=text)


TABLE = {
    "/": said("any"),
    "/*": said("any, any target"),
    "127.0.0.2/": said("address"),
    "Reef.test/": said("host"),
    "reef.test/*": said("host, any target"),
    "https://reef.test/": said("host by tls"),
    "https:///tls": said("tls"),
}
LOOKUPS = [
    ("any", "http", "127.0.0.1", "other.test", "/", "any"),
    ("address-before-any", "http", "127.0.0.2", "other.test", "/", "address"),
    ("host-before-address", "http", "127.0.0.2", "REEF.test:8080", "/", "host"),
    ("scheme-before-none", "https", "127.0.0.1", "reef.test:1", "/", "host by tls"),
    ("scheme-of-another", "http", "127.0.0.1", "reef.test", "/tls", "host, any target"),
    ("own-target-before-any-target", "https", "127.0.0.1", "reef.test", "/tls", "tls"),
    ("query-is-part-of-it", "http", "127.0.0.1", "other.test", "/?", "any, any target"),
]


@pytest.mark.parametrize(
    ("scheme", "address", "host", "target", "body"), [row[1:] for row in LOOKUPS], ids=[row[0] for row in LOOKUPS]
)
def test_the_most_particular_route_wins(scheme: str, address: str, host: str, target: str, body: str) -> None:
    assert RouteTable(TABLE).answer(Request(scheme, address, host, "GET", target, ())) == said(body)


def test_an_unknown_target_is_404(web_factory: WebFactory) -> None:
    assert ask(web_factory({"/": Answer()}), "/other").startswith(b"HTTP/1.1 404 Not Found\r\n")


def test_a_sequence_goes_on_by_one_a_request_and_its_last_repeats(web_factory: WebFactory) -> None:
    web = web_factory(
        {"/": {"sequence": [{"status": 503}, {"status": 429}, {"status": 200}]}, "a.test/": (said("own"),)}
    )
    ask(web, "/", "a.test")
    assert [ask(web, "/")[9:12] for _ in range(4)] == [b"503", b"429", b"200", b"200"]


@pytest.mark.parametrize("case", SERVED, ids=[case["id"] for case in SERVED])
def test_every_case_gives_its_routes(case: dict[str, Any]) -> None:
    routes = from_wire(case["wire"])
    assert list(routes) == list(case["wire"]["routes"])
    for key, route in routes.items():
        wire = case["wire"]["routes"][key]
        assert isinstance(route, Answer)
        assert (route.status, route.fault) == (wire.get("status", 200), wire.get("fault"))
        assert route.headers == tuple(map(tuple, wire.get("headers", [])))
        assert route.content_length == wire.get("content_length", "auto")


@pytest.mark.parametrize("case", SERVED, ids=[case["id"] for case in SERVED])
def test_every_case_can_be_served(case: dict[str, Any]) -> None:
    # Not asked here: the answers themselves are in test_answers.py.
    with LoopbackWeb(from_wire(case["wire"])) as web:
        assert web.addresses == ("127.0.0.1", *(["127.0.0.2"] if "127.0.0.2/r1" in case["wire"]["routes"] else []))


def test_the_cases_without_a_server() -> None:
    rest = {case["id"]: case["wire"] for case in CASES if case not in SERVED}
    assert {name for name, wire in rest.items() if "connect" in wire} == {"f-dns", "f-tls-selfsigned"}
    assert from_wire(rest["f-dns"]) == from_wire(rest["f-tls-selfsigned"]) == {}
    for name in ("t-retry", "t-stale-ok", "t-30-days", "t-port"):
        with pytest.raises(WireError, match="not a wire of routes"):
            from_wire(rest[name])


def test_a_wire_answer_field_by_field() -> None:
    wire = {
        "status": 418,
        "reason": "Tea",
        "headers": [["A", "1"], ["A", "2"]],
        "body_b64": "AP8=",
        "body_gen": [["x", 3]],
        "content_length": None,
        "chunked": True,
        "pre": "p",
        "fault": "no-last-chunk",
        "delay_s": 0.5,
    }
    assert as_route(wire) == Answer(
        418,
        (("A", "1"), ("A", "2")),
        b"\x00\xff",
        "Tea",
        ((b"x", 3),),
        None,
        chunked=True,
        pre="p",
        fault=Fault.NO_LAST_CHUNK,
        delay_s=0.5,
    )


@pytest.mark.parametrize(
    "routes",
    [
        {"/": {"statos": 200}},
        {"/": {"fault": "sulk"}},
        {"/": {"sequence": []}},
        {"/": {"sequence": [{}], "status": 200}},
        {"/": "200"},
        {"robots.txt": {}},
        {"ftp://a.test/": {}},
    ],
    ids=["key", "fault", "empty-sequence", "sequence-and-more", "no-answer", "no-target", "scheme"],
)
def test_what_is_not_understood_is_an_error(routes: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        LoopbackWeb(routes)
