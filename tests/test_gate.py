"""The verdict on a run: polite, broad, thin enough on each host; its gate and exit code, and SEASPIDER_HOST_BUDGET.

Every figure is compared with the one that follows from what the servers saw.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seaspider.loopback import Answer, Arrival, LoopbackWeb
from tests.conftest import WebFactory
from tests.crawling import Ended, crawl

HOSTS = 4
NAMES = {f"h{number}.test": f"127.0.23.{number}" for number in range(1, HOSTS + 1)}
ROUTES = {"/robots.txt": Answer(404), "/*": Answer(body="a page\n")}
BROAD = [f"{host}/1" for host in NAMES]  # 4 hosts, 8 requests, at most 2 a host, 500 per mil
# One host three times more: 5 requests there, 11 in all, 363 per mil.
HEAPED = [*BROAD, "h1.test/2", "h1.test/3", "h1.test/4"]

MIN_HOSTS, MAX_PER_HOST, MIN_BREADTH = (
    "SEASPIDER_GATE_MIN_HOSTS",
    "SEASPIDER_GATE_MAX_PER_HOST",
    "SEASPIDER_GATE_MIN_BREADTH",
)

# The ledger lets everybody through at once, so that requests come too near; the run says so itself.
NO_PAUSE = """
from seaspider.core.politeness import Claimed, Token
from seaspider.sqliteledger import SqliteLedger
async def claim(self, pauses_ns, hold_ns):
    import time
    now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return Claimed(Token("any"), now_ns, now_ns + hold_ns)
async def settle(self, token, pauses_ns):
    pass
SqliteLedger.claim, SqliteLedger.settle = claim, settle
"""


@dataclass(frozen=True)
class Case:
    queue: Sequence[str]
    gate: dict[str, object]
    exit: int
    passes: bool | None
    polite: bool = True
    broad: bool = True
    failed: tuple[str, ...] = ()
    """The rows of the table that say so."""
    sabotage: str = ""


CASES = {
    "no-gate": Case(BROAD, {}, 0, None),
    "all-three-met-exactly": Case(BROAD, {MIN_HOSTS: 4, MAX_PER_HOST: 2, MIN_BREADTH: 500}, 0, True),
    "too-few-hosts": Case(BROAD, {MIN_HOSTS: 5}, 4, False, broad=False, failed=("hosts",)),
    "too-many-for-one": Case(
        HEAPED, {MIN_HOSTS: 4, MAX_PER_HOST: 4, MIN_BREADTH: 363}, 4, False, polite=False, failed=("most per host",)
    ),
    "too-thick": Case(HEAPED, {MIN_HOSTS: 4, MAX_PER_HOST: 5, MIN_BREADTH: 364}, 4, False, failed=("breadth per mil",)),
    "too-near": Case(
        BROAD,
        {MIN_HOSTS: 4, MAX_PER_HOST: 2, MIN_BREADTH: 500, "SEASPIDER_INTERVAL": 30},
        4,
        False,
        polite=False,
        failed=("too near",),
        sabotage=NO_PAUSE,
    ),
    "passes-with-work-left": Case(HEAPED, {MIN_HOSTS: 4, MIN_BREADTH: 500, "SEASPIDER_HOST_BUDGET": 2}, 3, True),
    "fails-with-work-left": Case(
        HEAPED, {MIN_BREADTH: 501, "SEASPIDER_HOST_BUDGET": 2}, 4, False, failed=("breadth per mil",)
    ),
}


@dataclass(frozen=True)
class Seen:
    ended: Ended
    arrivals: list[Arrival]
    port: int

    @property
    def verdict(self) -> dict[str, Any]:
        verdict: dict[str, Any] = self.ended.records("manifest")[-1]["verdict"]
        return verdict

    def figures(self) -> dict[str, int]:
        """What the servers saw."""
        per_host = Counter(arrival.name for arrival in self.arrivals)
        return {
            "hosts": len(per_host),
            "requests": per_host.total(),
            "breadth_per_mil": len(per_host) * 1000 // per_host.total(),
            "most_per_host": max(per_host.values()),
        }


def run(
    folder: Path, queue: Sequence[str], settings: dict[str, object], sabotage: str = "", names: Any = NAMES, **more: Any
) -> Seen:
    with LoopbackWeb(ROUTES, names=names) as web:
        urls = [web.url(host, f"/{path}") for host, _, path in (place.partition("/") for place in queue)]
        ended = crawl(urls, folder, names=names, settings=settings, sabotage=sabotage, **more)
        return Seen(ended, web.arrivals, web.port)


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    def one(item: tuple[str, Case]) -> Seen:
        name, case = item
        return run(tmp_path_factory.mktemp(name), case.queue, case.gate, case.sabotage)

    with ThreadPoolExecutor(3) as pool:
        return dict(zip(CASES, pool.map(one, CASES.items()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_gate_decides_the_exit_code(crawls: dict[str, Seen], name: str) -> None:
    case, seen = CASES[name], crawls[name]
    assert seen.ended.exit == case.exit, seen.ended.log
    found = seen.verdict
    assert (found["gate"], found["polite"], found["broad"]) == (case.passes, case.polite, case.broad)
    assert seen.ended.records("manifest")[-1]["exit"] == case.exit


@pytest.mark.parametrize("name", CASES)
def test_the_figures_are_those_of_the_servers(crawls: dict[str, Seen], name: str) -> None:
    seen = crawls[name]
    assert {key: seen.verdict[key] for key in seen.figures()} == seen.figures()
    # With no pause kept, each host's second request is too near.
    assert seen.verdict["too_near"] == (HOSTS if name == "too-near" else 0)


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_in_the_log(crawls: dict[str, Seen], name: str) -> None:
    case, seen = CASES[name], crawls[name]
    lines = [line.partition("INFO: ")[2] for line in seen.ended.log.splitlines() if "[seaspider.manifest]" in line]
    rows = {parts[0]: parts[1:] for line in lines if len(parts := re.split(r" {2,}", line)) > 1}
    figures = seen.figures()
    assert {key: rows[key][0] for key in ("hosts", "requests", "breadth per mil", "most per host")} == {
        "hosts": str(figures["hosts"]),
        "requests": str(figures["requests"]),
        "breadth per mil": str(figures["breadth_per_mil"]),
        "most per host": str(figures["most_per_host"]),
    }
    assert tuple(key for key, row in rows.items() if row[-1] == "FAILED") == case.failed
    gate = {None: "no gate set", True: "gate passed", False: "gate failed"}[case.passes]
    words = ("polite" if case.polite else "not polite", "broad" if case.broad else "not broad", gate)
    assert f"verdict: {', '.join(words)}" in lines


@pytest.mark.parametrize("name", ["no-gate", "too-thick"])
def test_the_stats_have_the_verdict(crawls: dict[str, Seen], name: str) -> None:
    seen = crawls[name]
    stats = dict(re.findall(r"'seaspider/verdict/(\w+)': ([^,}\n]+)", seen.ended.log))
    assert stats == {key: repr(value) for key, value in seen.verdict.items()}


def test_over_the_budget_the_rest_of_the_host_is_deferred(crawls: dict[str, Seen]) -> None:
    seen = crawls["passes-with-work-left"]
    pages = {page["url"].partition(f":{seen.port}")[2]: page for page in seen.ended.records("pages")[HOSTS:]}
    assert set(pages) == {"/2", "/3", "/4"}
    found = {(p["outcome"], p["reason"], p["not_before"], p["attempts"]) for p in pages.values()}
    assert found == {("deferred", "budget", None, 0)}
    assert Counter(a.name for a in seen.arrivals) == dict.fromkeys(NAMES, 2)


# --- the research profile ---

MANY = {f"r{number:02}.test": f"127.0.24.{number}" for number in range(1, 31)}
RESEARCH: dict[str, object] = {"SEASPIDER_ALLOWED_NETWORKS": "127.0.0.0/8", "SEASPIDER_CONTACT": "https://x.invalid/"}


@pytest.mark.parametrize(("hosts", "exit_code", "passes"), [(30, 3, True), (29, 4, False)])
def test_the_research_profile(tmp_path: Path, hosts: int, exit_code: int, passes: bool) -> None:
    """30 hosts and three requests each at most pass; a third page of one host is left to the next run."""
    names = dict(list(MANY.items())[:hosts])
    queue = [f"{host}/{path}" for host in names for path in (1, 2)] + ["r01.test/3"]
    seen = run(tmp_path, queue, RESEARCH, names=names, environment={"SCRAPY_PROJECT": "research"})
    assert seen.ended.exit == exit_code, seen.ended.log
    assert seen.verdict == {**seen.figures(), "too_near": 0, "polite": True, "broad": passes, "gate": passes}
    assert seen.figures() == {
        "hosts": hosts,
        "requests": 3 * hosts,
        "breadth_per_mil": 333,
        "most_per_host": 3,
    }
    assert seen.ended.page(f"http://r01.test:{seen.port}/3")["reason"] == "budget"
    settings = seen.ended.records("manifest")[0]["settings"]
    assert (settings["order"], settings["host_budget"]) == ("longest-idle", 3)


def test_a_finished_queue_asked_again_is_no_sample_to_be_judged(tmp_path: Path, web_factory: WebFactory) -> None:
    web = web_factory({"/*": Answer(404)}, names={"a.test": "127.0.0.2"})
    for exit_code, requests in [(4, 2), (0, 0)]:
        web.clear()
        ended = crawl(
            [web.url("a.test", "/")],
            tmp_path,
            names={"a.test": "127.0.0.2"},
            settings={"SEASPIDER_GATE_MIN_HOSTS": 2},
        )
        assert (ended.exit, len(web.arrivals)) == (exit_code, requests), ended.log
