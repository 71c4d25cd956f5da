"""TLS and names as they are out there, through a real crawl: who is believed, which address is asked, and that nothing
of a server that is not believed is stored. RFC 8446, RFC 6066 3, RFC 9112 9.8.

The system's resolver is replaced by a table at its lowest call, so all of the crawl's own is as it runs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crawling import Ended, crawl
from tests.rawserver import Script, close_after, drip, hang_after, reset_after, wait_for_close
from tests.tlscerts import Authority
from tests.web.rawcases import AFTER, NO_ROBOTS, ROBOTS, Case, Crawled, crawled, failed, host_of, one, robots, stored
from tests.web.rawweb import OK, RawWeb, Tls, page

WHERE = {
    "NET-01": "tests/web/test_tls_dns.py::test_tls[NET-01]: unreachable/tls or failed/tls; no byte is sent",
    "NET-03": "tests/web/test_tls_dns.py::test_https_to_an_address: stored; no SNI, the address is verified",
    "NET-04": "tests/web/test_tls_dns.py::test_no_handshake[NET-04]: robots.txt unreachable/timeout or /tls, then on",
    "NET-06": "tests/test_addresses_refused.py::test_every_url_of_such_a_host_is_refused: refused/special-address",
    "NET-08": "tests/web/test_tls_dns.py::test_names[NET-08]: refused/special-address, no connection",
    "NET-09": "tests/web/test_tls_dns.py::test_names[NET-09]: failed/dns, one record a URL, then on",
    "NET-11": "tests/web/test_tls_dns.py::test_names[NET-11]: each request resolves anew; its addresses are recorded",
    "NET-12": "tests/web/test_tls_dns.py::test_names[NET-12]: failed/dns; deferred if the resolver could not say",
}

AB = stored(b"ab")
SHORT_S = 1


# --- TLS ---


class Certificates:
    """Servers' contexts, by what is wrong with them."""

    def __init__(self, folder: Path) -> None:
        (folder / "stranger").mkdir()
        self._known = Authority(folder)
        self._stranger = Authority(folder / "stranger", "An authority nobody trusts")
        self.environment = {"SSL_CERT_FILE": str(self._known.cafile)}

    def good(self, *names: str) -> ssl.SSLContext:
        return self._known.server(*names)

    def bad(self, kind: str, name: str) -> ssl.SSLContext:
        if kind == "stranger":
            return self._stranger.server(name)
        if kind == "old-version":
            return old(self._known.server(name))
        if kind == "other-name":
            return self._known.server("other.test")
        if kind == "wildcard-too-high":
            return self._known.server("*.test")
        return self._known.server(name, expired=kind == "expired", self_signed=kind == "self-signed")


def old(context: ssl.SSLContext) -> ssl.SSLContext:
    """At most TLS 1.1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def farewell_after(raw: bytes) -> Script:
    """Send, then end TLS properly, with close_notify."""

    def script(peer: socket.socket) -> None:
        assert isinstance(peer, ssl.SSLSocket)
        peer.sendall(raw)
        with contextlib.suppress(OSError):
            peer.unwrap()

    return script


def noise_after(raw: bytes) -> Script:
    """Send, then octets below TLS that are no record of this connection."""

    def script(peer: socket.socket) -> None:
        peer.sendall(raw)
        os.write(peer.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
        wait_for_close(peer)

    return script


BAD = ("expired", "self-signed", "stranger", "other-name", "wildcard-too-high", "old-version")
RULES = b"User-agent: *\nDisallow: /no\n"
BAD_CASES = {
    **{f"NET-01/{kind}": robots(page(RULES), "tls") for kind in BAD},
    # robots.txt comes from a server that is believed, the page from one that is not: nothing is sent to that.
    **{f"NET-01/{kind}-later": Case({}, {"/a": failed("tls")}, asked=()) for kind in BAD},
}
GOOD_CASES = {
    "NET-01": one(page(b"ab"), AB),
    "NET-01/length-ragged": one(close_after(page(b"ab")), AB),
    "NET-01/no-length": one(farewell_after(OK + b"\r\nab"), AB),
    "NET-01/no-length-ragged": one(close_after(OK + b"\r\nab"), stored(b"ab", "no-close-notify")),
    "NET-01/short-ragged": one(close_after(OK + b"Content-Length: 9\r\n\r\nab"), failed("cut", 200)),
    "NET-01/short": one(farewell_after(OK + b"Content-Length: 9\r\n\r\nab"), failed("cut", 200)),
    "NET-01/forged-record": one(noise_after(OK + b"Content-Length: 9\r\n\r\nab"), failed("tls", 200)),
    "NET-01/forged-head": one(noise_after(b""), failed("tls")),
    "NET-01/not-http": one(farewell_after(b"hello\r\n"), failed("protocol")),
    # Rules that whoever is on the way could have cut: HTTP calls them incomplete.
    "NET-01/robots-no-length-ragged": robots(close_after(OK + b"\r\n" + RULES), "cut"),
    "NET-01/robots-no-length": Case(
        {ROBOTS: farewell_after(OK + b"\r\n" + RULES), "/a": page(b"ab")}, {"/a": AB}, "parsed"
    ),
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secure(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    tls: dict[str, Tls] = {}
    for kind in BAD:
        for case in (f"NET-01/{kind}", f"NET-01/{kind}-later"):
            good = certificates.good(host_of(case))
            bad = certificates.bad(kind, host_of(case))
            tls[case] = [good, bad, good] if case.endswith("later") else bad
    tls |= {case: certificates.good(host_of(case)) for case in GOOD_CASES}
    folder = tmp_path_factory.mktemp("tls")
    cases = BAD_CASES | GOOD_CASES
    return crawled(cases, folder, "127.0.47", tls=tls, environment=certificates.environment)


@pytest.mark.parametrize("case", BAD_CASES | GOOD_CASES)
def test_tls(secure: Crawled, case: str) -> None:
    if case in BAD_CASES and not case.endswith("-later"):
        assert secure.web.asked(host_of(case)) == []  # not even robots.txt is asked of who is not believed
        assert secure.robots_row(host_of(case)) == "unreachable/tls"
        assert [secure.end(host_of(case), target) for target in ("/a", AFTER)] == [NO_ROBOTS, NO_ROBOTS]
        return
    assert secure.shown(case) == secure.promised(case)


def test_nothing_of_a_server_that_is_not_believed_is_stored(secure: Crawled) -> None:
    for case in BAD_CASES:
        assert secure.page(case)["sha256"] is None
        for request in secure.requests(case)[:1]:
            assert (request["status"], request["headers"], request["bytes"], request["sent_ns"]) == (None, [], 0, None)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("expired", "certificate: certificate has expired"),
        ("self-signed", "certificate: self-signed certificate"),
        ("other-name", "certificate: Hostname mismatch"),
        ("old-version", "VERSION"),
    ],
)
def test_the_log_says_why_it_is_not_believed(secure: Crawled, kind: str, shown: str) -> None:
    url = secure.web.url(host_of(f"NET-01/{kind}"), ROBOTS, "https")
    [line] = [line for line in secure.ended.log.splitlines() if f"{url}: no answer: tls: " in line]
    assert shown in line


def test_twin_without_verification_it_would_be_stored(certificates: Certificates, tmp_path: Path) -> None:
    case = "NET-01/self-signed"
    seen = crawled(
        {case: one(page(b"ab"), AB)},
        tmp_path,
        "127.0.48",
        tls={case: certificates.bad("self-signed", host_of(case))},
        sabotage="from seaspider import http1; make = http1.client_context; http1.client_context = lambda: make(False)",
    )
    assert seen.shown(case) == seen.promised(case)


def test_twin_robots_txt_cut_off_within_tls_would_be_believed(certificates: Certificates, tmp_path: Path) -> None:
    case = "NET-01/robots-no-length-ragged"
    cut = close_after(OK + b"\r\n" + RULES)
    believing = """
from seaspider import permits
from seaspider.http1 import BodyPlan
permits.BodyPlan = lambda clip_bytes, close_notify: BodyPlan(clip_bytes)
"""
    seen = crawled(
        {case: Case({ROBOTS: cut, "/a": page(b"ab")}, {"/a": AB}, "parsed")},
        tmp_path,
        "127.0.48",
        tls={case: certificates.good(host_of(case))},
        sabotage=believing,
        environment=certificates.environment,
    )
    assert seen.shown(case) == seen.promised(case)


def heard_out(then: Script) -> Script:
    def script(peer: socket.socket) -> None:
        peer.recv(65536)
        then(peer)

    return script


DEAF: dict[str, tuple[Script, str]] = {
    "NET-04": (hang_after(b""), "timeout"),
    "NET-04/plain-http": (heard_out(hang_after(b"HTTP/1.1 400 Bad\r\n\r\n")), "tls"),
    "NET-04/page-in-plain-http": (heard_out(hang_after(page(RULES))), "tls"),
    "NET-04/ssh": (hang_after(b"SSH-2.0-OpenSSH_9.9\r\n"), "tls"),
    "NET-04/closed": (heard_out(close_after(b"")), "tls"),
    "NET-04/reset": (heard_out(reset_after(b"")), "tls"),
    "NET-04/alert": (heard_out(close_after(b"\x15\x03\x03\x00\x02\x02\x28")), "tls"),
    "NET-04/drip": (drip(b"\x16\x03\x03\x40\x00", b"\x02", 0.02), "timeout"),
}


@pytest.fixture(scope="module")
def deaf(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    cases = {case: robots(b"", reason) for case, (_, reason) in DEAF.items()}
    cases["NET-04/good"] = one(page(b"ab"), AB)
    return crawled(
        cases,
        tmp_path_factory.mktemp("deaf"),
        "127.0.49",
        tls={"NET-04/good": certificates.good(host_of("NET-04/good"))},
        at_once={case: script for case, (script, _) in DEAF.items()},
        settings={"DOWNLOAD_TIMEOUT": SHORT_S},
        environment=certificates.environment,
    )


@pytest.mark.parametrize("case", DEAF)
def test_no_handshake(deaf: Crawled, case: str) -> None:
    host = host_of(case)
    assert deaf.robots_row(host) == f"unreachable/{DEAF[case][1]}"
    assert [deaf.end(host, target) for target in ("/a", AFTER)] == [NO_ROBOTS, NO_ROBOTS]
    assert (deaf.web.asked(host), deaf.web.connections[deaf.web.names[host]]) == ([], 1)
    assert deaf.shown("NET-04/good") == deaf.promised("NET-04/good")


def test_plain_http_to_a_tls_port(certificates: Certificates, tmp_path: Path) -> None:
    with RawWeb({}, {"h.test": "127.0.50.1"}, tls={"h.test": certificates.good("h.test")}) as web:
        ended = crawl([web.url("h.test", "/a")], tmp_path, names=web.names)
    assert ended.endings() == {web.url("h.test", "/a"): "deferred/robots-unreachable"}
    assert web.arrivals == []


def test_https_to_an_address(certificates: Certificates, tmp_path: Path) -> None:
    """Also of a name that is not ASCII, and of an address that the certificate does not name."""
    right, wrong, name = "127.0.50.2", "127.0.50.3", "xn--fa-hia.test"
    names = {right: right, wrong: wrong, name: "127.0.50.4"}
    contexts = {right: certificates.good(right), wrong: certificates.good(right), name: certificates.good(name)}
    asked = {host: names_asked(context) for host, context in contexts.items()}
    routes = {f"{host}/a": hang_after(page(b"ab")) for host in names}
    with RawWeb(routes, names, tls=contexts) as web:
        urls = {host: web.url(host, "/a", "https") for host in names}
        queue = [urls[right], urls[wrong], urls[name].replace(name, "faß.test")]
        ended = crawl(queue, tmp_path, names={name: names[name]}, environment=certificates.environment)
    assert ended.endings() == {
        urls[right]: "stored",
        urls[wrong]: "deferred/robots-unreachable",
        urls[name]: "stored",
    }
    assert asked == {right: [None, None], wrong: [None], name: [name, name]}


def names_asked(context: ssl.SSLContext) -> list[str | None]:
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    return asked


def test_each_name_is_asked_for_by_its_own_name(certificates: Certificates, tmp_path: Path) -> None:
    """Two names at one address, whose server answers 421 to a Host that is not the name asked for in the handshake."""
    context = certificates.good("a.test", "b.test")
    asked = names_asked(context)

    def choose(host: str, target: str) -> Script:
        status = b"421 Misdirected Request" if asked[-1] != host else b"404 N" if target == ROBOTS else b"200 OK"
        return hang_after(page(host.encode(), status=status))

    names = dict.fromkeys(("a.test", "b.test"), "127.0.50.5")
    with RawWeb(choose, names, tls={"a.test": context}) as web:
        queue = [web.url(host, target, "https") for target in ("/1", "/2") for host in names]
        ended = crawl(queue, tmp_path, names=names, environment=certificates.environment)
    assert [(page["url"], page["status"]) for page in ended.records("pages")] == [(url, 200) for url in queue]
    assert asked == ["a.test", "b.test"] * 3


# --- names ---

ONE, TWO, INSIDE = "127.0.51.1", "127.0.51.2", "127.0.0.1"
NONAME, NODATA = int(socket.EAI_NONAME), int(socket.EAI_NODATA)
AGAIN, FAIL = int(socket.EAI_AGAIN), int(socket.EAI_FAIL)
Lookup = Sequence[str] | int

# Notes each name it is asked for. Each name has its answers in order, the last of them for good; a number is an error.
RESOLVER = """
import socket
given = {answers!r}
def getaddrinfo(host, *more, **rest):
    with open({path!r}, "a") as notes:
        notes.write(host + "\\n")
    answers = given[host]
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    if isinstance(answer, int):
        raise socket.gaierror(answer, "an error of the resolver")
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in answer]
socket.getaddrinfo = getaddrinfo
"""
DNS, REFUSED = "failed/dns", "refused/special-address"
NO_RULES, PUT_OFF = "deferred/robots-unreachable", "deferred/backoff"


@dataclass(frozen=True, slots=True)
class Named:
    """`lookups`: what the resolver says each time. `ends`: how /1 and /2 end. `ips`: whom the requests went to.

    `looked_up`: how often the name was.
    """

    lookups: Sequence[Lookup]
    ends: tuple[str, str]
    ips: Sequence[str] = ()
    looked_up: int = 1


NAMED = {
    "NET-06/public-first": Named([[ONE, INSIDE]], (REFUSED, REFUSED)),
    "NET-06/private-first": Named([[INSIDE, ONE]], (REFUSED, REFUSED)),
    "NET-06/one-of-many": Named([[*[ONE] * 99, "10.0.0.1"]], (REFUSED, REFUSED)),
    "NET-08": Named([["0.0.0.0"]], (REFUSED, REFUSED)),
    "NET-08/beside-a-good-one": Named([[ONE, "0.0.0.0"]], (REFUSED, REFUSED)),
    "NET-08/ipv6": Named([["::"]], (REFUSED, REFUSED)),
    "NET-08/mapped": Named([["::ffff:0.0.0.0"]], (REFUSED, REFUSED)),
    "NET-08/with-a-zone": Named([["fe80::1%lo"]], (REFUSED, REFUSED)),
    "NET-08/rest-of-its-block": Named([["0.1.2.3"]], (REFUSED, REFUSED)),
    "NET-08/broadcast": Named([["255.255.255.255"]], (REFUSED, REFUSED)),
    "NET-09": Named([NONAME], (DNS, DNS)),
    "NET-09/no-address": Named([NODATA], (DNS, DNS)),
    "NET-09/gone-after-robots": Named([[ONE], NONAME], (DNS, DNS), [ONE], looked_up=2),
    "NET-09/gone-after-a-page": Named([[ONE], [ONE], NONAME], ("stored", DNS), [ONE, ONE], looked_up=3),
    "NET-11": Named([[ONE], [TWO], [ONE]], ("stored", "stored"), [ONE, TWO, ONE], looked_up=3),
    "NET-11/several": Named([[TWO, ONE], [ONE, TWO]], ("stored", "stored"), [ONE, ONE, ONE], looked_up=3),
    "NET-11/to-a-special-one": Named([[ONE], [INSIDE]], (REFUSED, REFUSED), [ONE], looked_up=2),
    "NET-11/to-a-special-one-later": Named([[ONE], [TWO], [INSIDE]], ("stored", REFUSED), [ONE, TWO], looked_up=3),
    "NET-11/a-special-one-is-added": Named([[ONE], [ONE, INSIDE]], (REFUSED, REFUSED), [ONE], looked_up=2),
    # A loop of aliases: the resolvers of the web answer SERVFAIL, the C library EAI_AGAIN; some say EAI_FAIL.
    "NET-12": Named([AGAIN], (NO_RULES, NO_RULES)),
    "NET-12/no-recovery": Named([FAIL], (NO_RULES, NO_RULES)),
    "NET-12/after-robots": Named([[ONE], AGAIN], (PUT_OFF, PUT_OFF), [ONE], looked_up=2),
    "NET-12/very-many": Named([[ONE, TWO] * 500], ("stored", "stored"), [ONE, ONE, ONE], looked_up=3),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    web: RawWeb
    ended: Ended
    looked_up: Sequence[str]


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    folder = tmp_path_factory.mktemp("names")
    answers = {host_of(case): list(named.lookups) for case, named in NAMED.items()}
    routes = {f"{host}/{n}": hang_after(page(host.encode())) for host in answers for n in (1, 2)}
    notes = folder / "lookups.txt"
    with RawWeb(routes, {"one.test": ONE, "two.test": TWO, "inside.test": INSIDE}) as web:
        ended = crawl(
            [web.url(host, f"/{n}") for host in [*answers, "0", "0.0.0.0"] for n in (1, 2)],
            folder,
            settings={"SEASPIDER_ALLOWED_NETWORKS": f"{ONE}/32,{TWO}/32"},
            sabotage=RESOLVER.format(answers=answers, path=str(notes)),
        )
    assert ended.exit == 3, ended.log
    return Resolved(web, ended, notes.read_text().splitlines())


@pytest.mark.parametrize("case", NAMED)
def test_names(resolved: Resolved, case: str) -> None:
    host, named = host_of(case), NAMED[case]
    rows = [row for row in resolved.ended.records("pages") if row["url"].startswith(f"http://{host}:")]
    ends = [f"{row['outcome']}/{row['reason']}" if row["reason"] else row["outcome"] for row in rows]
    claims = [row for row in resolved.ended.records("requests") if row["event"] == "claim" and row["host"] == host]
    assert tuple(ends) == named.ends
    assert [claim["ip"] for claim in claims] == list(named.ips)
    assert all(claim["ip"] in claim["addresses"] for claim in claims)
    assert resolved.looked_up.count(host) == named.looked_up
    reasons = [row["reason"] for row in resolved.ended.records("robots") if row["origin"] == resolved.web.url(host, "")]
    if NO_RULES in named.ends:
        assert reasons == ["dns"]


def test_the_unspecified_address_is_refused_however_it_is_written(resolved: Resolved) -> None:
    """Both ways are the same URL once normalised."""
    endings = {resolved.web.url("0.0.0.0", f"/{n}"): REFUSED for n in (1, 2)}
    assert {url: ending for url, ending in resolved.ended.endings().items() if url in endings} == endings


def test_nobody_else_was_connected_to(resolved: Resolved) -> None:
    counts = {ip: sum(list(named.ips).count(ip) for named in NAMED.values()) for ip in (ONE, TWO)}
    assert resolved.web.connections == counts
