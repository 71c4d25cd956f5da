"""Special addresses, however they are written or come about: refused with every URL of their host, and nothing sent.

The servers listen on loopback addresses, which the crawls may not connect to: any connection there is the failure. The
twin without the address check does connect, for each form that leads to this machine.
"""

import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from seaspider.loopback.demopages import redirect
from seaspider.loopback.judge import order
from tests.crawling import Ended, crawl

# Hosts as a queue or a Location may write them. All of these lead to this machine ...
LOOPBACK = {
    "short": "127.1",
    "decimal": "2130706433",
    "hexadecimal": "0x7f.0.0.1",
    "octal": "0177.0.0.1",
    "zero": "0",
    "plain": "127.0.0.1",
    "full-width": "１２７．０．０．１",
    "escaped": "127.0.0.%31",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped-hex": "[::ffff:7f00:1]",
    "ipv6": "[::1]",
    "inside-name": "inside.test",
}
# ... and these to other places where no page is.
ELSEWHERE = {
    "nat64": "[64:ff9b::7f00:1]",
    "6to4": "[2002:7f00:1::]",
    "compatible": "[::127.0.0.1]",
    "private": "10.1.2.3",
    "cgnat": "100.64.0.1",
    "metadata": "169.254.169.254",
    "private-name": "private.test",
    "mixed-name": "mixed.test",
    "mixed6-name": "mixed6.test",
}
FORMS = LOOPBACK | ELSEWHERE
USERINFO = ("user@127.0.0.1", "example.test@127.0.0.1", "example.test:80@127.0.0.1")

FERRY, REBOUND, REBOUND_TOO = "ferry.test", "rebound.test", "rebound-too.test"
SERVED = {FERRY: "127.0.5.1", REBOUND: "127.0.5.2", REBOUND_TOO: "127.0.5.3"}
NAMES = {
    **SERVED,
    "inside.test": "127.0.0.1",
    "private.test": "192.168.7.7",
    # One public answer, which is not to be connected to either.
    "mixed.test": ["198.41.0.4", "10.1.2.3"],
    "mixed6.test": ["2001:503:ba3e::2:30", "::ffff:10.1.2.3"],
}
SPECIAL = "refused/special-address"

# Each name is allowed at its first lookup; the next one, for the page, gives (also) an address of this machine.
REBINDING = """
from seaspider.resolver import SystemResolver
_resolve, asked = SystemResolver.resolve, set()
later = {"rebound.test": ["127.0.0.1"], "rebound-too.test": ["127.0.0.1", "127.0.5.3"]}
async def resolve(self, host):
    if host in asked:
        return later[host]
    if host in later:
        asked.add(host)
    return await _resolve(self, host)
SystemResolver.resolve = resolve
"""
NO_ADDRESS_CHECK = """
import seaspider.door
seaspider.door.choose = lambda addresses, allowed: addresses[0]
"""


@dataclass(frozen=True)
class Tried:
    """A crawl, and what the servers saw of it. `inside`: connections to 127.0.0.1 and ::1."""

    ended: Ended
    order: list[tuple[str, str]]
    connections: int
    inside: int

    def endings(self) -> dict[str, str]:
        """Path -> ending, by the URLs of the queue."""
        return {"/" + url.split("/", 3)[3]: ending for url, ending in self.ended.endings().items()}


@contextmanager
def listening_on_ipv6(port: int) -> Iterator[socket.socket]:
    """A socket on ::1 that takes connections and says nothing."""
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(("::1", port))
        sock.listen()
        sock.setblocking(False)
        yield sock


def connections_to(sock: socket.socket) -> int:
    count = 0
    with suppress(BlockingIOError):
        while True:
            sock.accept()[0].close()
            count += 1
    return count


def tried(folder: Path, lines: list[str], allowed: str, sabotage: str = "") -> Tried:
    """Crawls `lines`, where {port} stands for the servers' port."""
    routes: dict[str, Answer] = {
        "/robots.txt": Answer(404),
        "/*": Answer(body="a page\n"),
        **{f"ferry.test/to/{form}": redirect(302, f"http://{host}:{{port}}/{form}") for form, host in FORMS.items()},
        "ferry.test/to/user": redirect(302, "http://user@127.0.0.1:{port}/user"),
    }
    for form in ("full-width", "escaped"):
        routes[f"ferry.test/to/{form}"] = redirect(302, f"http://127.0.0.1:{{port}}/{form}")
    folder.mkdir()
    with LoopbackWeb(routes, names=SERVED) as web, listening_on_ipv6(web.port) as sock:
        ended = crawl(
            [line.replace("{port}", str(web.port)) for line in lines],
            folder,
            names=NAMES,
            settings={"SEASPIDER_ALLOWED_NETWORKS": allowed, "DOWNLOAD_TIMEOUT": 1},
            sabotage=sabotage,
        )
        ipv6 = connections_to(sock)
        inside = web.connections_to("127.0.0.1") + ipv6
        return Tried(ended, order(web.arrivals), web.connections + ipv6, inside)


DIRECT = [f"http://{host}:{{port}}/{form}{more}" for form, host in FORMS.items() for more in ("", "/more")]
REDIRECTED = [f"http://{FERRY}:{{port}}/to/{form}" for form in FORMS]
REBINDERS = [f"http://{name}:{{port}}/{name}/{n}" for name in (REBOUND, REBOUND_TOO) for n in (1, 2)]
TRICKS = [f"http://{host}:{{port}}/user" for host in USERINFO]


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tried]:
    """Side by side: straight from the queue with no network allowed; by redirect or rebinding, with three addresses."""
    folder = tmp_path_factory.mktemp("refused")
    allowed = ",".join(f"{address}/32" for address in SERVED.values())
    with ThreadPoolExecutor() as pool:
        direct = pool.submit(tried, folder / "direct", DIRECT + TRICKS, "")
        indirect = pool.submit(
            tried,
            folder / "indirect",
            [*REDIRECTED, f"http://{FERRY}:{{port}}/to/user", *REBINDERS],
            allowed,
            REBINDING,
        )
        return {"direct": direct.result(), "indirect": indirect.result()}


@pytest.mark.parametrize("form", FORMS)
def test_every_url_of_such_a_host_is_refused(crawls: dict[str, Tried], form: str) -> None:
    endings = crawls["direct"].endings()
    assert (endings[f"/{form}"], endings[f"/{form}/more"]) == (SPECIAL, SPECIAL)


def test_nothing_is_sent_and_no_robots_txt_is_wanted(crawls: dict[str, Tried]) -> None:
    direct = crawls["direct"]
    assert (direct.connections, direct.order) == (0, [])
    assert direct.ended.records("requests") == direct.ended.records("robots") == direct.ended.records("intents") == []


def test_userinfo_does_not_hide_the_host(crawls: dict[str, Tried]) -> None:
    skipped = crawls["direct"].ended.records("skipped")
    assert [(row["fate"], row["reason"]) for row in skipped] == [("rejected", "userinfo")] * len(TRICKS)


@pytest.mark.parametrize("form", FORMS)
def test_p4_a_redirect_to_it_is_refused(crawls: dict[str, Tried], form: str) -> None:
    assert crawls["indirect"].endings()[f"/to/{form}"] == SPECIAL


def test_p4_a_redirect_with_userinfo_is_refused(crawls: dict[str, Tried]) -> None:
    assert crawls["indirect"].endings()["/to/user"] == "refused/userinfo"


@pytest.mark.parametrize("name", [REBOUND, REBOUND_TOO])
def test_a_name_whose_second_answer_is_special_is_refused(crawls: dict[str, Tried], name: str) -> None:
    indirect = crawls["indirect"]
    assert [indirect.endings()[f"/{name}/{n}"] for n in (1, 2)] == [SPECIAL, SPECIAL]
    assert [target for host, target in indirect.order if host == name] == ["/robots.txt"]


def test_p4_no_redirect_and_no_rebinding_connects(crawls: dict[str, Tried]) -> None:
    indirect = crawls["indirect"]
    assert indirect.inside == 0
    assert {host for host, _ in indirect.order} == SERVED.keys()
    claims = [row for row in indirect.ended.records("requests") if row["event"] == "claim"]
    assert {row["ip"] for row in claims} == set(SERVED.values())


def test_twin_without_the_address_check_all_of_them_are_asked(tmp_path: Path) -> None:
    lines = [f"http://{host}:{{port}}/{form}" for form, host in LOOPBACK.items()]
    lines += [f"http://{FERRY}:{{port}}/to/{form}" for form in LOOPBACK] + REBINDERS
    twin = tried(tmp_path / "twin", lines, "", NO_ADDRESS_CHECK + REBINDING)
    asked = Counter(target for host, target in twin.order if host != FERRY and target != "/robots.txt")
    # Once from the queue and once by redirect; ::1 has no server behind it that answers to its robots.txt.
    assert asked == {f"/{form}": 2 for form in LOOPBACK if form != "ipv6"} | {
        f"/{name}/{n}": 1 for name in (REBOUND, REBOUND_TOO) for n in (1, 2)
    }
    assert SPECIAL not in twin.endings().values()
