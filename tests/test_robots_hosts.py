"""Robots.txt and its neighbours: no answer at all, https, ports, redirects to other hosts, crawl-delays.

Holds the FAULTS of test_robots_fetch.py and the recorded case t-port.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.loopback import Answer, Arrival, LoopbackWeb, judge
from seaspider.loopback.certificates import Authority, self_signed
from tests.crawling import Ended, crawl
from tests.test_robots_fetch import PAGES, RULES, SITES

# --- no answer at all ---

# A resolver that cannot say, as without a network.
TEMPORARY = """
import socket
real = socket.getaddrinfo
def getaddrinfo(host, *args, **kwargs):
    if host == "temporary.test":
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return real(host, *args, **kwargs)
socket.getaddrinfo = getaddrinfo
"""
PAGE = {"/page": Answer(body="page")}


@dataclass(frozen=True, slots=True)
class Seen:
    """A crawl and what arrived at all its servers."""

    ended: Ended
    arrivals: list[Arrival]

    def asked(self, *names: str) -> list[tuple[str, str, str]]:
        """(scheme, host with port, target) of the requests to these names, in order."""
        return [(a.scheme, a.host, a.target) for a in self.arrivals if a.name in names]

    def states(self, host: str) -> list[tuple[str, str | None]]:
        """The robots.txt states of a host's origins, in order."""
        return [(row["state"], row["reason"]) for row in self.ended.records("robots") if f"//{host}:" in row["origin"]]

    def endings(self, host: str) -> set[str]:
        return {ending for url, ending in self.ended.endings().items() if f"//{host}:" in url}


def test_a_time_out_is_unreachable(tmp_path: Path) -> None:
    """Case f-hang. Nothing else is asked, so a slow machine gives the same."""
    site = SITES["f-hang"]
    with LoopbackWeb(site.routes(), names=site.names) as web:
        queue = [web.url(site.host, path) for path in PAGES]
        ended = crawl(queue, tmp_path, names=site.names, settings={"DOWNLOAD_TIMEOUT": 0.5})
        seen = Seen(ended, web.wait_for(1))
    assert [target for _, _, target in seen.asked(site.host)] == ["/robots.txt"]
    assert seen.states(site.host) == [("unreachable", "timeout")]
    assert seen.endings(site.host) == {"deferred/robots-unreachable"}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Names and connections that fail before any request, in one crawl."""
    folder = tmp_path_factory.mktemp("faults")
    bad_certificate = {"f-tls-selfsigned.test": "127.1.200.1"}
    names: dict[str, Any] = {"refused.test": "127.1.200.2"}
    with ExitStack() as stack:
        web = stack.enter_context(LoopbackWeb(PAGE, names=names, connect={"127.1.200.2": "refuse"}))
        certificate = self_signed(list(bad_certificate))
        tls = stack.enter_context(LoopbackWeb({"/*": Answer(body=RULES)}, names=bad_certificate, tls=certificate))
        hosts = ["f-dns.test", "temporary.test", *names]
        queue = [web.url(host, path) for path in PAGES for host in hosts]
        queue += [tls.url("f-tls-selfsigned.test", path, "https") for path in PAGES]
        names |= bad_certificate | {"f-dns.test": []}
        ended = crawl(queue, folder, names=names, settings={"DOWNLOAD_TIMEOUT": 30}, sabotage=TEMPORARY)
        return Seen(ended, [*web.arrivals, *tls.arrivals])


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("f-tls-selfsigned.test", "tls"),
        ("temporary.test", "dns"),
        ("refused.test", "connect"),
    ],
)
def test_no_connection_is_unreachable(faulty: Seen, host: str, reason: str) -> None:
    assert faulty.asked(host) == []
    assert faulty.states(host) == [("unreachable", reason)]
    assert faulty.endings(host) == {"deferred/robots-unreachable"}
    requests = [row for row in faulty.ended.records("requests") if row.get("host") == host]
    assert len(requests) == (0 if reason == "dns" else 1)


def test_a_name_that_does_not_exist_ends_its_urls_without_robots_txt(faulty: Seen) -> None:
    """Case f-dns. It asks for no page, as here; that its URLs are final is design.md, section 2."""
    assert faulty.states("f-dns.test") == []
    assert faulty.endings("f-dns.test") == {"failed/dns"}


# --- which origin a file speaks for ---


def text(*lines: str) -> Answer:
    return Answer(headers=(("Content-Type", "text/plain"),), body="".join(f"{line}\n" for line in lines))


def rules(path: str) -> Answer:
    return text("User-agent: *", f"Disallow: {path}")


HTTPS_SITE = SITES["rscheme-https"]
HTTPS_WIRE = json.loads(json.dumps(HTTPS_SITE.wire).replace("127.0.0.1", HTTPS_SITE.other))
NAMES = {
    **{f"{name}.test": f"127.1.201.{n}" for n, name in enumerate(["both", "ports", "away", "base", "slow", "pace"], 1)},
    "a-forbid.test": "127.1.201.11",
    "b-hopper.test": "127.1.201.12",
    "tardy.test": "127.1.201.13",
    **HTTPS_SITE.names,
}
ROUTES: dict[str, Any] = {
    **{path: Answer(body="a page") for path in (*PAGES, "/p1", "/p2")},
    "http://both.test/robots.txt": rules("/page"),
    "https://both.test/robots.txt": rules("/open"),
    "ports.test/robots.txt": rules("/page"),
    "away.test/robots.txt": Answer(301, (("Location", "http://base.test:{port}/rules.txt"),)),
    "base.test/rules.txt": rules("/page"),
    "base.test/robots.txt": rules("/open"),
    "a-forbid.test/robots.txt": text(""),
    "a-forbid.test/page": Answer(403, body="no"),
    "b-hopper.test/robots.txt": Answer(302, (("Location", "http://a-forbid.test:{port}/rules.txt"),)),
    "slow.test/robots.txt": text("User-agent: *", "Crawl-delay: 2", "Disallow: /page"),
    "tardy.test/robots.txt": Answer(302, (("Location", "http://slow.test:{port}/rules.txt"),)),
    "pace.test/robots.txt": text("User-agent: *", "Crawl-delay: 0.3"),
    f"{HTTPS_SITE.host}/robots.txt": HTTPS_WIRE["routes"]["/robots.txt"],
    f"https://{HTTPS_SITE.other}/robots.txt": Answer(body=RULES),
}


@contextmanager
def neighbourhood(folder: Path) -> Iterator[tuple[LoopbackWeb, LoopbackWeb, dict[str, str]]]:
    """The web of ROUTES, another port of ports.test, and the environment in which its certificates are good."""
    authority = Authority()
    (folder / "authority.pem").write_text(authority.pem)
    second = {"ports.test/robots.txt": rules("/open"), **{path: Answer(body="another page") for path in PAGES}}
    with (
        LoopbackWeb(ROUTES, names=NAMES, tls=authority.server(["both.test", HTTPS_SITE.other])) as web,
        LoopbackWeb(second, names={"ports.test": NAMES["ports.test"]}) as other,
    ):
        yield web, other, {"SSL_CERT_FILE": str(folder / "authority.pem")}


@dataclass(frozen=True, slots=True)
class Neighbours:
    seen: Seen
    again: Seen
    """A second run on a copy of that store, with a higher cap."""
    http: int
    https: int
    second: int


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Neighbours:
    folder = tmp_path_factory.mktemp("neighbours")
    with neighbourhood(folder) as (web, other, environment):
        queue = [web.url("both.test", path, scheme) for path in PAGES for scheme in ("http", "https")]
        queue += [server.url("ports.test", path) for path in PAGES for server in (web, other)]
        queue += [web.url(host, path) for path in PAGES for host in ("away.test", "base.test", HTTPS_SITE.host)]
        queue += [web.url("a-forbid.test", "/page"), web.url("a-forbid.test", "/open")]
        queue += [web.url("b-hopper.test", "/page"), web.url("tardy.test", "/page")]
        queue += [web.url("slow.test", "/open"), web.url("slow.test", "/page")]
        queue += [web.url("pace.test", path) for path in ("/p1", "/p2", "/open")]
        given: dict[str, Any] = {"names": NAMES, "environment": environment}
        ended = crawl(queue, folder, settings={"SEASPIDER_CRAWL_DELAY_CAP": 1}, **given)
        seen = Seen(ended, [*web.arrivals, *other.arrivals])
        web.clear()
        shutil.copytree(folder / "store", folder / "again")
        higher = {"SEASPIDER_CRAWL_DELAY_CAP": 2}
        again = crawl([web.url("slow.test", "/open")], folder, store="again", settings=higher, **given)
        return Neighbours(seen, Seen(again, web.arrivals), web.port, web.tls_port, other.port)


def test_http_and_https_of_a_host_have_a_file_each(neighbours: Neighbours) -> None:
    plain, secure = f"both.test:{neighbours.http}", f"both.test:{neighbours.https}"
    asked = neighbours.seen.asked("both.test")
    assert sorted(asked) == [
        ("http", plain, "/open"),
        ("http", plain, "/robots.txt"),
        ("https", secure, "/page"),
        ("https", secure, "/page2"),
        ("https", secure, "/robots.txt"),
    ]
    assert judge.pages_before_robots(neighbours.seen.arrivals, {("base.test", "/rules.txt")}) == []


def test_each_port_has_a_file_of_its_own(neighbours: Neighbours) -> None:
    """Case t-port."""
    first, second = f"ports.test:{neighbours.http}", f"ports.test:{neighbours.second}"
    asked = [(host, target) for _, host, target in neighbours.seen.asked("ports.test")]
    expected = {first: ["/open", "/robots.txt"], second: ["/page", "/page2", "/robots.txt"]}
    assert sorted(asked) == sorted((host, target) for host, targets in expected.items() for target in targets)


def test_a_file_that_was_redirected_to_speaks_for_the_first_origin_only(neighbours: Neighbours) -> None:
    targets = [target for _, _, target in neighbours.seen.asked("away.test")]
    assert targets == ["/robots.txt", "/open"]
    targets = [target for _, _, target in neighbours.seen.asked("base.test")]
    assert sorted(targets) == ["/page", "/page2", "/robots.txt", "/rules.txt"]


def test_a_redirect_to_https_gives_rules_for_http(neighbours: Neighbours) -> None:
    """Case rscheme-https."""
    site = HTTPS_SITE
    assert [(scheme, target) for scheme, _, target in neighbours.seen.asked(site.host, site.other)] == [
        ("http", "/robots.txt"),
        ("https", "/robots.txt"),
        ("http", "/open"),
    ]
    assert neighbours.seen.states(site.host) == [("parsed", None)]


def test_a_hop_into_a_blocked_host_is_not_asked_for(neighbours: Neighbours) -> None:
    targets = [target for _, _, target in neighbours.seen.asked("a-forbid.test")]
    assert targets == ["/robots.txt", "/page"]
    assert neighbours.seen.states("b-hopper.test") == [("unreachable", "hop-blocked")]
    assert neighbours.seen.endings("b-hopper.test") == {"deferred/robots-unreachable"}
    assert neighbours.seen.endings("a-forbid.test") == {"stored", "blocked/forbidden"}


def test_a_hop_into_a_host_that_is_deferred_is_not_asked_for(neighbours: Neighbours) -> None:
    assert [target for _, _, target in neighbours.seen.asked("tardy.test", "slow.test")] == ["/robots.txt"] * 2
    assert neighbours.seen.states("tardy.test") == [("unreachable", "hop-deferred")]


# --- crawl-delays ---


def test_a_crawl_delay_over_the_cap_defers_the_url_without_an_end(neighbours: Neighbours) -> None:
    assert [target for _, _, target in neighbours.seen.asked("slow.test")] == ["/robots.txt"]
    page = neighbours.seen.ended.page(f"http://slow.test:{neighbours.http}/open")
    assert (page["outcome"], page["reason"], page["not_before"]) == ("deferred", "crawl-delay", None)
    assert page["chain"][0]["crawl_delay_s"] == 2.0
    # What is forbidden is forbidden, however long the delay.
    assert neighbours.seen.endings("slow.test") == {"deferred/crawl-delay", "disallowed/robots-rule"}


def test_a_higher_cap_ends_the_deferral_under_the_rules_in_force(neighbours: Neighbours) -> None:
    assert [target for _, _, target in neighbours.again.asked("slow.test")] == ["/open"]
    assert neighbours.again.ended.page(f"http://slow.test:{neighbours.http}/open")["outcome"] == "stored"
    assert neighbours.again.ended.exit == 0


PACE_NS = 300_000_000


def test_a_crawl_delay_is_kept_as_the_server_sees_it(neighbours: Neighbours) -> None:
    arrivals = [a for a in neighbours.seen.arrivals if a.name == "pace.test"]
    assert [a.target for a in arrivals] == ["/robots.txt", "/p1", "/p2", "/open"]
    assert judge.pairs_nearer(arrivals, judge.Key.HOST, PACE_NS) == []


def test_without_the_guard_the_crawl_delay_is_not_kept(tmp_path: Path) -> None:
    sabotage = "from seaspider.core.frontier import Frontier; Frontier.crawl_delay_s = lambda self, host: 0"
    with LoopbackWeb(ROUTES, names=NAMES) as web:
        queue = [web.url("pace.test", path) for path in ("/p1", "/p2", "/open")]
        ended = crawl(queue, tmp_path, names=NAMES, sabotage=sabotage)
        assert ended.exit == 0, ended.log
        assert judge.pairs_nearer(web.arrivals, judge.Key.HOST, PACE_NS) != []


def test_without_the_guard_a_long_crawl_delay_is_passed_over(tmp_path: Path) -> None:
    sabotage = "import seaspider.core.frontier as f; f.RobotsFile.crawl_delay_s = lambda self, token: None"
    with LoopbackWeb(ROUTES, names=NAMES) as web:
        ended = crawl([web.url("slow.test", "/open")], tmp_path, names=NAMES, sabotage=sabotage)
        assert [a.target for a in web.arrivals] == ["/robots.txt", "/open"], ended.log
