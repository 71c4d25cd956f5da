"""The demo web does what its list of expectations says, judged without the crawler.

Addresses are judged by the standard library and robots.txt by Protego, so that the list is not checked with the code
that it is to check.
"""

import gzip
import json
from html.parser import HTMLParser
from ipaddress import ip_address, ip_network
from urllib.parse import urljoin, urlsplit

import pytest
from protego import Protego

from seaspider.loopback import LoopbackWeb
from seaspider.loopback.demosite import ALLOWED_NETWORKS, EXPECTED, NEVER_ASKED, Expected, queue_text, resolve, sites
from tests.conftest import WebFactory
from tests.loopback.raw import ask

CRAWL_DELAY_CAP_S = 60


class Page:
    """One answer of the demo web, taken apart."""

    def __init__(self, web: LoopbackWeb, url: str) -> None:
        parts = urlsplit(url)
        target = parts._replace(scheme="", netloc="", fragment="").geturl()
        address = resolve()[parts.hostname or ""]
        assert isinstance(address, str)
        head, _, body = ask(web, target, parts.netloc, address=address).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.url, self.status = url, int(lines[0].split(" ")[1])
        self.headers = dict(line.split(": ", 1) for line in lines[1:])
        self.text = (gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body).decode()


class Links(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.base, self.found = page.url, list[str]()
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if href and tag == "base":
            self.base = urljoin(self.base, href)
        elif href and tag in ("a", "area"):
            self.found.append(urljoin(self.base, href))


def rules(web: LoopbackWeb, url: str) -> Protego | int:
    """The rules for a URL, or the status of a robots.txt that has none."""
    robots = Page(web, urljoin(url, "/robots.txt"))
    return Protego.parse(robots.text) if robots.status == 200 else robots.status


def judged(web: LoopbackWeb, url: str) -> tuple[str, str | None, int | None, str]:
    """(outcome, reason, status, final URL) as the rules of a polite crawl have it; 403s of earlier lines aside."""
    while True:
        addresses = resolve()[urlsplit(url).hostname or ""]
        if not addresses:
            return "failed", "dns", None, url
        if not any(ip_address(str(addresses)) in ip_network(network) for network in ALLOWED_NETWORKS):
            return "refused", "special-address", None, url
        robots = rules(web, url)
        if isinstance(robots, int):
            if robots >= 500:
                return "deferred", "robots-unreachable", None, url
        elif not robots.can_fetch(url, "seaspider"):
            return "disallowed", "robots-rule", None, url
        elif (robots.crawl_delay("seaspider") or 0) > CRAWL_DELAY_CAP_S:
            return "deferred", "crawl-delay", None, url
        page = Page(web, url)
        if page.status not in (301, 302):
            return "stored", None, page.status, url
        url = urljoin(url, page.headers["Location"])


PAGES = [row for row in EXPECTED if row.outcome not in ("duplicate", "rejected", "blocked")]


@pytest.fixture
def web(web_factory: WebFactory) -> LoopbackWeb:
    return web_factory(sites(), names=resolve())


@pytest.mark.parametrize("row", PAGES, ids=[row.text for row in PAGES])
def test_each_line_ends_as_it_is_expected_to(web: LoopbackWeb, row: Expected) -> None:
    url = row.text.replace("{port}", str(web.port))
    outcome, reason, status, final = judged(web, url)
    assert (outcome, reason, status) == (row.outcome, row.reason, row.status)
    host, target = row.final or (urlsplit(url).hostname, urlsplit(url).path)
    assert final == f"http://{host}:{web.port}{target}"


@pytest.mark.parametrize("row", PAGES, ids=[row.text for row in PAGES])
def test_each_page_has_the_links_it_is_expected_to_and_they_lead_somewhere(web: LoopbackWeb, row: Expected) -> None:
    if row.status != 200 or row.final:
        assert row.links == 0
        return
    page = Page(web, row.text.replace("{port}", str(web.port)))
    links = Links(page).found if page.headers["Content-Type"].startswith("text/html") else []
    assert len(set(links)) == len(links) == row.links
    assert [Page(web, link).status for link in links] == [200] * row.links


def test_the_second_line_of_the_403_host_is_blocked() -> None:
    first, second = (row for row in EXPECTED if "customs.test" in row.text)
    assert (first.status, second.outcome, second.reason) == (403, "blocked", "forbidden")


def test_expectations_are_the_lines_of_the_queue() -> None:
    lines = queue_text(8080).splitlines()
    urls = {n: line for n, line in enumerate(lines, 1) if line and not line.startswith("#")}
    assert {row.line: row.text.replace("{port}", "8080") for row in EXPECTED} == urls
    assert "{" not in queue_text(8080)


def test_every_outcome_is_shown() -> None:
    assert {row.outcome for row in EXPECTED} == {
        "stored",
        "disallowed",
        "refused",
        "failed",
        "deferred",
        "blocked",
        "duplicate",
        "rejected",
    }


def test_hosts_have_addresses_of_their_own_and_only_those_are_allowed() -> None:
    addresses = [address for name, address in resolve().items() if name not in ("atlantis.test", "siren.test")]
    assert len(set(addresses)) == len(addresses) == 9
    assert tuple(f"{address}/32" for address in addresses) == ALLOWED_NETWORKS
    assert ip_address("169.254.169.254").is_link_local


def test_the_table_of_names_is_json() -> None:
    assert json.loads(json.dumps(resolve())) == resolve()


def test_what_is_never_asked_is_there_to_be_asked(web: LoopbackWeb) -> None:
    # Else its absence from the log would prove nothing.
    for host, target in NEVER_ASKED:
        assert Page(web, web.url(host, target)).status == 200


def test_the_bytes_are_the_same_each_time(web_factory: WebFactory) -> None:
    bodies = []
    for _ in range(2):
        fresh = web_factory(sites(), names=resolve())
        rows = (row for row in PAGES if row.status and not row.final)
        pages = (Page(fresh, row.text.replace("{port}", str(fresh.port))) for row in rows)
        bodies.append([page.text.replace(str(fresh.port), "PORT") for page in pages])
    assert bodies[0] == bodies[1]
