"""The back-off in the crawl: who pushes back is asked again later, at most so many times, and never too near.

One crawl of many hosts, each with its own kind of trouble, judged by the servers' logs and by the store; the run after
it; and the twin without the back-off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import without_times
from seaspider.core.times import NS_PER_S, ns_from_s, parse_rfc3339_ms
from seaspider.loopback import Answer, Arrival, Fault, LoopbackWeb
from seaspider.loopback.judge import Key, pairs
from tests.crawling import Ended, crawl

BASE_S, CAP_S, ATTEMPTS = 0.1, 5, 3
SETTINGS: dict[str, object] = {
    "SEASPIDER_BACKOFF_BASE": BASE_S,
    "SEASPIDER_BACKOFF_CAP": CAP_S,
    "SEASPIDER_MAX_ATTEMPTS": ATTEMPTS,
    "DOWNLOAD_MAXSIZE": 2000,
}
DAY_S = 86_400
OK = Answer(body="a page\n")


def pushing(*headers: tuple[str, str], status: int = 429) -> Answer:
    return Answer(status, headers, "not now\n")


# host -> its pages' answers; one that never gives up is asked ATTEMPTS times.
NEVER = {
    "h429.test": (pushing(), "http-429"),
    "h503.test": (pushing(status=503), "http-5xx"),
    "h599.test": (pushing(status=599), "http-5xx"),
    "reset.test": (Answer(fault=Fault.RESET), "reset"),
    "cut.test": (Answer(body="half", fault=Fault.CLOSE_AFTER_BODY, content_length=9), "cut"),
    "decode.test": (Answer(headers=(("Content-Encoding", "gzip"),), body="no gzip"), "decode"),
}
NOW_S = int(time.time())
DATED = (("Date", formatdate(NOW_S, usegmt=True)), ("Retry-After", formatdate(NOW_S + 1, usegmt=True)))
SITES: dict[str, dict[str, Any]] = {
    **{host: {"/1": answer} for host, (answer, _) in NEVER.items()},
    "heals.test": {"/1": (pushing(status=503), Answer(404)), "/2": (pushing(), pushing(), OK), "/3": (pushing(), OK)},
    "mends.test": {
        "/1": (Answer(fault=Fault.RESET), OK),
        "/2": (pushing(status=503), *[Answer(fault=Fault.RESET)] * 2),
    },
    "shared-a.test": {"/1": pushing()},
    "shared-b.test": {"/*": OK},
    "after.test": {"/1": (pushing(("Retry-After", "1")), OK)},
    "dated.test": {"/1": (pushing(*DATED), OK)},
    "garbage.test": {"/1": (pushing(("Retry-After", "soon")), pushing(("Retry-After", "-5")), OK)},
    "limit.test": {"/1": Answer(headers=(("RateLimit", '"day";r=0;t=1'),), body="the last one"), "/2": OK},
    "tomorrow.test": {"/1": pushing(("Retry-After", str(DAY_S))), "/*": OK},
    "tomorrow-200.test": {"/1": Answer(headers=(("Retry-After", str(DAY_S)),), body="enough"), "/*": OK},
    "final.test": {"/402": Answer(402), "/451": Answer(451), "/404": Answer(404)},
    "large.test": {"/1": Answer(body="x" * 3000), "/2": OK},
    "norobots.test": {"/robots.txt": pushing(status=503), "/1": OK},
    "hop.test": {"/1": Answer(302, (("Location", "/to"),)), "/to": (pushing(status=503), pushing(status=503), OK)},
    "lookup.test": {"/*": OK},
}
NAMES = {host: f"127.0.21.{number}" for number, host in enumerate(SITES, 1)}
NAMES["shared-b.test"] = NAMES["shared-a.test"]
PATHS = {"shared-b.test": ("/1", "/2", "/3", "/4"), "lookup.test": ("/1", "/2")} | dict.fromkeys(
    ("tomorrow.test", "tomorrow-200.test"), ("/1", "/2", "/3")
)

# The resolver cannot say, from the second time on.
LOST_LOOKUP = """
from seaspider.resolver import ResolveError, SystemResolver
_resolve, _times = SystemResolver.resolve, []
async def resolve(self, host):
    _times.append(host)
    if host == "lookup.test" and _times.count(host) > 1:
        raise ResolveError(host, "cannot say just now", temporary=True)
    return await _resolve(self, host)
SystemResolver.resolve = resolve
"""
TWINS = ("h429.test", "reset.test")
NO_BACKOFF = """
from seaspider.core.governor import Backoffs
Backoffs.failures = lambda self, host: 0
"""


def routes() -> dict[str, Any]:
    return {f"{host}{path}": answer for host, site in SITES.items() for path, answer in site.items()} | {
        "/robots.txt": Answer(404),
        **{f"{host}/robots.txt": Answer(404) for host, site in SITES.items() if "/*" in site},
    }


def paths(host: str) -> tuple[str, ...]:
    return PATHS.get(host) or tuple(path for path in SITES[host] if path not in ("/robots.txt", "/to"))


@dataclass(frozen=True)
class Seen:
    """A crawl, what arrived meanwhile, and the address of a page."""

    ended: Ended
    arrivals: list[Arrival]
    port: int
    run: int = 1

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    def pages(self, host: str) -> list[Arrival]:
        return [a for a in self.arrivals if a.name == host and a.target != "/robots.txt"]

    def targets(self, host: str) -> list[str]:
        return [a.target for a in self.pages(host)]

    def gaps_ns(self, host: str) -> list[int]:
        """Between successive pages of a host, at its server."""
        return [pair.gap_ns for pair in pairs(self.pages(host), Key.HOST)]

    def page(self, host: str, path: str) -> dict[str, Any]:
        """The page record of this run."""
        [found] = [p for p in self.ended.records("pages") if p["url"] == self.url(host, path) and p["run"] == self.run]
        return found

    def ending(self, host: str, path: str) -> str:
        page = self.page(host, path)
        return f"{page['outcome']}/{page['reason']}" if page["reason"] else str(page["outcome"])

    def rests(self, host: str) -> list[tuple[str, float]]:
        """(basis, seconds) of the pause after each request to the host, robots.txt first."""
        rows = [row for row in self.ended.records("requests") if row["run"] == self.run]
        mine = {row["n"] for row in rows if row["event"] == "claim" and row["host"] == host}
        return [(row["pause_basis"], row["pause_s"]) for row in rows if row["event"] == "settle" and row["n"] in mine]


@dataclass(frozen=True)
class Runs:
    first: Seen
    second: Seen


def both(folder: Path) -> Runs:
    with LoopbackWeb(routes(), names=NAMES) as web:
        queue = [web.url(host, path) for host in SITES for path in paths(host)]
        first = crawl(queue, folder, names=NAMES, settings=SETTINGS, sabotage=LOST_LOOKUP)
        seen = Seen(first, web.arrivals, web.port)
        web.clear()
        queue.append(web.url("tomorrow.test", "/new"))
        return Runs(seen, Seen(crawl(queue, folder, names=NAMES, settings=SETTINGS), web.arrivals, web.port, run=2))


def without(folder: Path) -> Seen:
    with LoopbackWeb(routes(), names=NAMES) as web:
        queue = [web.url(host, "/1") for host in TWINS]
        ended = crawl(queue, folder, names=NAMES, settings=SETTINGS, sabotage=NO_BACKOFF)
        return Seen(ended, web.arrivals, web.port)


TICK_S, TICKS = 0.3, 6


def beside(folder: Path) -> Seen:
    """A host that asks for 1 s, beside one that is asked every 0.3 s."""
    site = {"after.test/1": SITES["after.test"]["/1"], "tick.test/*": OK, "/robots.txt": Answer(404)}
    names = {"after.test": "127.0.22.1", "tick.test": "127.0.22.2"}
    with LoopbackWeb({**site, "tick.test/robots.txt": Answer(404)}, names=names) as web:
        queue = [web.url("after.test", "/1"), *(web.url("tick.test", f"/{n}") for n in range(TICKS))]
        ended = crawl(queue, folder, names=names, settings={**SETTINGS, "SEASPIDER_INTERVAL": TICK_S})
        return Seen(ended, web.arrivals, web.port)


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runs, Seen, Seen]]:
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(job, tmp_path_factory.mktemp(job.__name__)) for job in (both, without, beside)]
        yield tuple(job.result() for job in jobs)  # type: ignore[misc]


@pytest.fixture(scope="module")
def first(crawls: tuple[Runs, Seen, Seen]) -> Seen:
    return crawls[0].first


@pytest.fixture(scope="module")
def second(crawls: tuple[Runs, Seen, Seen]) -> Seen:
    return crawls[0].second


# --- attempts ---


@pytest.mark.parametrize("host", NEVER)
def test_who_never_answers_is_asked_so_many_times_then_failed(first: Seen, host: str) -> None:
    assert first.targets(host) == ["/1"] * ATTEMPTS
    page = first.page(host, "/1")
    assert (page["outcome"], page["reason"], page["attempts"]) == ("failed", NEVER[host][1], ATTEMPTS)
    assert page["not_before"] is None


@pytest.mark.parametrize("host", NEVER)
def test_the_gap_at_the_server_doubles(first: Seen, host: str) -> None:
    assert len(first.gaps_ns(host)) == ATTEMPTS - 1
    for n, gap_ns in enumerate(first.gaps_ns(host), 1):
        assert gap_ns >= ns_from_s(BASE_S * 2**n)
    assert first.rests(host) == [("interval", 0), ("backoff", 0.2), ("backoff", 0.4), ("backoff", 0.8)]


def test_twin_without_the_back_off_the_gap_is_too_short(crawls: tuple[Runs, Seen, Seen]) -> None:
    twin = crawls[1]
    gaps = {host: twin.gaps_ns(host) for host in TWINS}
    assert {host: len(found) for host, found in gaps.items()} == dict.fromkeys(TWINS, ATTEMPTS - 1)
    assert min(found[0] for found in gaps.values()) < ns_from_s(BASE_S * 2)
    assert min(found[1] for found in gaps.values()) < ns_from_s(BASE_S * 4)


def test_the_address_is_left_alone_as_long(first: Seen) -> None:
    address = NAMES["shared-a.test"]
    at_address = [pair for pair in pairs(first.arrivals, Key.IP) if pair.key == address]
    pushed = [pair for pair in at_address if (pair.first.name, pair.first.target) == ("shared-a.test", "/1")]
    assert len(pushed) == ATTEMPTS
    assert "shared-b.test" in {pair.second.name for pair in pushed}
    for n, pair in enumerate(pushed, 1):
        assert pair.gap_ns >= ns_from_s(BASE_S * 2**n)
    assert first.targets("shared-b.test") == list(PATHS["shared-b.test"])


def test_an_answer_resets_the_count_a_404_too(first: Seen) -> None:
    assert first.targets("heals.test") == ["/1", "/1", "/2", "/2", "/2", "/3", "/3"]
    rest, one, two = ("interval", 0), ("backoff", 0.2), ("backoff", 0.4)
    assert first.rests("heals.test") == [rest, one, rest, one, two, rest, one, rest]
    assert [first.page("heals.test", path)["status"] for path in ("/1", "/2", "/3")] == [404, 200, 200]
    assert [first.page("heals.test", path)["attempts"] for path in ("/1", "/2", "/3")] == [2, 3, 2]


def test_the_record_tells_of_the_last_attempt(first: Seen) -> None:
    assert first.targets("mends.test") == ["/1", "/1", "/2", "/2", "/2"]
    pages = [first.page("mends.test", path) for path in ("/1", "/2")]
    assert [(p["outcome"], p["reason"], p["status"]) for p in pages] == [
        ("stored", None, 200),
        ("failed", "reset", None),
    ]
    assert [(p["chain"][0]["status"], p["chain"][0]["error"]) for p in pages] == [(200, None), (None, "reset")]


def test_each_hop_has_its_own_attempts(first: Seen) -> None:
    assert first.targets("hop.test") == ["/1", "/to", "/to", "/to"]
    page = first.page("hop.test", "/1")
    assert (page["outcome"], page["status"], page["attempts"], len(page["chain"])) == ("stored", 200, 4, 2)


@pytest.mark.parametrize("status", [402, 404, 451])
def test_a_refusal_is_a_final_answer(first: Seen, status: int) -> None:
    assert first.targets("final.test").count(f"/{status}") == 1
    page = first.page("final.test", f"/{status}")
    assert (page["outcome"], page["status"]) == ("stored", status)


def test_too_large_is_failed_at_once_and_no_trouble_of_the_host(first: Seen) -> None:
    assert first.targets("large.test") == ["/1", "/2"]
    assert first.ending("large.test", "/1") == "failed/too-large"
    assert first.rests("large.test") == [("interval", 0)] * 3


def test_robots_failures_cause_no_back_off(first: Seen) -> None:
    assert first.rests("norobots.test") == [("interval", 0)]
    assert first.ending("norobots.test", "/1") == "deferred/robots-unreachable"


# --- Retry-After ---


@pytest.mark.parametrize("host", ["after.test", "dated.test"])
def test_retry_after_is_waited_for(first: Seen, host: str) -> None:
    assert first.targets(host) == ["/1", "/1"]
    assert first.gaps_ns(host)[0] >= NS_PER_S
    assert first.rests(host) == [("interval", 0), ("retry-after", 1), ("interval", 0)]
    assert first.ending(host, "/1") == "stored"


def test_what_cannot_be_read_is_our_own_back_off(first: Seen) -> None:
    assert first.rests("garbage.test") == [("interval", 0), ("backoff", 0.2), ("backoff", 0.4), ("interval", 0)]
    assert first.ending("garbage.test", "/1") == "stored"


def test_a_rate_limit_used_up_is_waited_for(first: Seen) -> None:
    assert first.targets("limit.test") == ["/1", "/2"]
    assert first.gaps_ns("limit.test")[0] >= NS_PER_S
    assert first.rests("limit.test") == [("interval", 0), ("retry-after", 1), ("interval", 0)]


def test_it_is_asked_again_at_most_one_turn_later(crawls: tuple[Runs, Seen, Seen]) -> None:
    seen = crawls[2]
    rows = seen.ended.records("requests")
    claims = [row for row in rows if row["event"] == "claim"]
    pushed, again = [row for row in claims if row["url"] == seen.url("after.test", "/1")]
    settled = next(row for row in rows if row["event"] == "settle" and row["n"] == pushed["n"])
    due_ns = settled["ended_ns"] + NS_PER_S
    assert again["claimed_ns"] >= due_ns
    assert sum(due_ns <= row["claimed_ns"] < again["claimed_ns"] for row in claims) <= 1
    assert seen.gaps_ns("after.test")[0] >= NS_PER_S
    # The other host was asked meanwhile, and afterwards.
    assert 2 <= sum(pushed["n"] < row["n"] < again["n"] for row in claims) <= 4
    assert claims[-1]["host"] == "tick.test"


# --- longer than the cap ---


def test_over_the_cap_the_url_and_the_rest_of_its_host_are_deferred(first: Seen) -> None:
    assert first.targets("tomorrow.test") == ["/1"]
    pages = [first.page("tomorrow.test", path) for path in PATHS["tomorrow.test"]]
    assert [(p["outcome"], p["reason"], p["attempts"]) for p in pages] == [
        ("deferred", "retry-after", 1),
        ("deferred", "retry-after", 0),
        ("deferred", "retry-after", 0),
    ]
    until = {p["not_before"] for p in pages}
    assert len(until) == 1
    waits_ms = parse_rfc3339_ms(until.pop()) - parse_rfc3339_ms(pages[0]["ended_at"])
    assert (DAY_S - 5) * 1000 < waits_ms <= DAY_S * 1000
    assert first.rests("tomorrow.test") == [("interval", 0), ("backoff", 0.2)]
    assert first.ended.exit == 3


def test_the_answer_that_asks_for_it_is_stored_all_the_same(first: Seen) -> None:
    assert first.targets("tomorrow-200.test") == ["/1"]
    endings = [first.ending("tomorrow-200.test", path) for path in PATHS["tomorrow-200.test"]]
    assert endings == ["stored", "deferred/retry-after", "deferred/retry-after"]


def test_a_lookup_that_fails_for_now_defers_the_host(first: Seen) -> None:
    assert first.targets("lookup.test") == []
    pages = [first.page("lookup.test", path) for path in PATHS["lookup.test"]]
    assert [(p["outcome"], p["reason"]) for p in pages] == [("deferred", "backoff")] * 2
    assert all(p["not_before"] is not None for p in pages)


def test_the_run_was_polite_by_its_own_measure(first: Seen) -> None:
    assert first.ended.records("manifest")[-1]["verdict"]["too_near"] == 0


# --- the next run ---


def test_before_its_time_the_same_record_comes_again(first: Seen, second: Seen) -> None:
    assert second.targets("tomorrow.test") == []
    for path in PATHS["tomorrow.test"]:
        url = first.url("tomorrow.test", path)
        one, two = [page for page in second.ended.records("pages") if page["url"] == url]
        assert (one["run"], two["run"]) == (1, 2)
        assert one["not_before"] == two["not_before"]
        mine = [{k: v for k, v in without_times(p).items() if k not in ("run", "visit")} for p in (one, two)]
        assert mine[0] == mine[1]


def test_a_new_url_of_that_host_is_deferred_too(second: Seen) -> None:
    page = second.page("tomorrow.test", "/new")
    assert (page["outcome"], page["reason"], page["attempts"]) == ("deferred", "retry-after", 0)
    assert page["not_before"] == second.page("tomorrow.test", "/1")["not_before"]


def test_what_was_put_off_for_a_lookup_is_taken_up(second: Seen) -> None:
    assert second.targets("lookup.test") == ["/1", "/2"]
    assert {second.ending("lookup.test", path) for path in PATHS["lookup.test"]} == {"stored"}


def test_what_failed_is_not_asked_again(second: Seen) -> None:
    assert [a for host in NEVER for a in second.pages(host)] == []
