"""P3 across processes and restarts, at the servers' own log: one ledger file, real crawls, killed and stopped ones too.

No tolerance where a pause must be kept. Each guard with its twin, in which some pair is too near.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.door import HOLD_SLACK_S
from seaspider.ledger import IN_MEMORY
from seaspider.loopback import Answer, Arrival, Fault, LoopbackWeb
from seaspider.loopback.judge import Key, Pair, pairs, pairs_nearer
from tests.crawling import ROOT, command, environment

HOST = "one.test"
NAMES = {HOST: "127.0.41.1"}
LATE_S = 3
"""How late a free key may be asked for: a busy machine wakes a process when it can."""


@contextmanager
def crawling(web: LoopbackWeb, folder: Path, queue: Sequence[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A crawl under way. `name`: of its store and log; `ledger`; `settings`; `sabotage`. Killed at the end."""
    name, settings = how.get("name", "store"), {"SEASPIDER_LEDGER": how["ledger"], **how.get("settings", {})}
    lines = folder / f"{name}.txt"
    lines.write_text("".join(f"{line}\n" for line in queue), "utf-8")
    args = ["crawl", "seaspider", "-a", f"queue={lines}", "-a", f"store={folder / name}"]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command(args, names=web.names, settings=settings, sabotage=how.get("sabotage", "")),
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def burning_cpus() -> Iterator[None]:
    """Keeps every CPU busy; ends by itself too."""
    program = "import time\nend = time.monotonic() + 240\nwhile time.monotonic() < end: pass"
    burners = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def wait_until(true: Callable[[], bool], timeout_s: float = 30) -> None:
    end_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end_s, f"not within {timeout_s} s"
        time.sleep(0.005)


def written(folder: Path, name: str, file: str) -> list[dict[str, Any]]:
    """The whole lines of a store that may be written to just now."""
    path = folder / name / f"{file}.jsonl"
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def requests_of(folder: Path, name: str, event: str) -> list[dict[str, Any]]:
    return [record for record in written(folder, name, "requests") if record["event"] == event]


# --- many processes, one ledger ---


@dataclass(frozen=True)
class Fleet:
    """So many processes, each with a store of its own, ask all hosts for `pages` pages each and for robots.txt."""

    processes: int
    hosts: int
    pages: int
    pause_s: float
    kill_one: bool = False

    @property
    def names(self) -> dict[str, str]:
        return {f"host{number:02}.test": f"127.0.40.{number + 1}" for number in range(self.hosts)}

    def queue(self, web: LoopbackWeb, process: int) -> list[str]:
        queue = [web.url(host, f"/{process}/{page}") for page in range(self.pages) for host in self.names]
        victim = [web.url("host00.test", "/victim")] if self.kill_one and process == 0 else []
        return victim + queue

    def arrivals(self, folder: Path, ledger: Callable[[int], Path | str]) -> list[Arrival]:
        """What arrived, with the CPUs busy; all processes ended well, but for the one that was killed."""
        routes = {"/*": Answer(body="a page\n"), "/robots.txt": Answer(404), "/victim": Answer(fault=Fault.HANG)}
        settings = {"SEASPIDER_INTERVAL": self.pause_s}
        with LoopbackWeb(routes, names=self.names) as web, ExitStack() as stack:
            started = [
                stack.enter_context(
                    crawling(web, folder, self.queue(web, n), name=str(n), ledger=ledger(n), settings=settings)
                )
                for n in range(self.processes)
            ]
            wait_until(lambda: all(requests_of(folder, str(n), "claim") for n in range(self.processes)), 60)
            stack.enter_context(burning_cpus())
            if self.kill_one:
                web.wait_until(lambda seen: any(arrival.target == "/victim" for arrival in seen), 60)
                started.pop(0).kill()
            for process in started:
                process.wait(200)
            logs = [log.read_text("utf-8") for log in sorted(folder.glob("*.log"))]
            assert [process.returncode for process in started] == [0] * len(started), logs
            return web.arrivals


def too_near(arrivals: Sequence[Arrival], pause_s: float) -> list[Pair]:
    return [pair for key in Key for pair in pairs_nearer(arrivals, key, ns_from_s(pause_s))]


def shown(arrivals: Sequence[Arrival], pause_s: float) -> str:
    near = too_near(arrivals, pause_s)
    parts = []
    for key in Key:
        found = pairs(arrivals, key)
        smallest_s = min(pair.gap_ns for pair in found) / NS_PER_S
        parts.append(f"{len(found)} pairs per {key}, the smallest gap {smallest_s:.6f} s")
    return f"{'; '.join(parts)}; {len(near)} nearer than {pause_s:g} s"


SMALL = Fleet(processes=3, hosts=8, pages=3, pause_s=0.2)


def test_p3_three_processes_with_one_ledger_on_busy_cpus_are_never_too_near(tmp_path: Path) -> None:
    found = SMALL.arrivals(tmp_path, lambda n: tmp_path / "ledger")
    print(shown(found, SMALL.pause_s))
    assert len(found) == 3 * 8 * (1 + 3)
    assert too_near(found, SMALL.pause_s) == []


def test_p3_twin_with_ledgers_of_their_own_some_pair_is_too_near(tmp_path: Path) -> None:
    assert too_near(SMALL.arrivals(tmp_path, lambda n: tmp_path / f"ledger{n}"), SMALL.pause_s) != []


@pytest.mark.soak
def test_p3_eight_processes_one_killed_over_fifty_addresses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = Fleet(processes=8, hosts=50, pages=3, pause_s=0.5, kill_one=True)
    found = fleet.arrivals(tmp_path, lambda n: tmp_path / "ledger")
    with capsys.disabled():
        print(f"\neight processes, one ledger, CPUs busy: {shown(found, fleet.pause_s)}")
    assert len(pairs(found, Key.IP)) >= 1000
    assert len(pairs(found, Key.HOST)) >= 1000
    assert too_near(found, fleet.pause_s) == []
    assert len({arrival.target for arrival in found if arrival.target.startswith(("/1", "/7"))}) == 6


# --- one that is killed, and whoever asks next ---

KILLED_TIMEOUT_S = 3
KILLED_PAUSE_S = 0.5
HOLD_AND_PAUSE_NS = ns_from_s(KILLED_TIMEOUT_S + HOLD_SLACK_S + KILLED_PAUSE_S)


# When a process asks for its first claim: how long it took to start is no matter of the ledger's.
NOTES_WHEN_IT_ASKS = """
from pathlib import Path
from seaspider.clock import SystemClock
from seaspider.sharedledger import SharedLedger
_claim = SharedLedger.claim
async def claim(self, *args):
    SharedLedger.claim = _claim
    Path({!r}).write_text(str(SystemClock().boot_ns()))
    return await _claim(self, *args)
SharedLedger.claim = claim
"""


@dataclass(frozen=True)
class Killed:
    """The claim of a request in which its process was killed, when its successor asked and had its claim, and what
    arrived from that request on."""

    claimed_ns: int
    asked_ns: int
    next_ns: int
    arrivals: list[Arrival]


def killed_in_a_request(folder: Path, successor: str, ledger: str | None = None) -> Killed:
    """The successor takes the store of the killed one if it has its name, and asks for robots.txt first if not."""
    routes = {"/robots.txt": Answer(404), "/": (Answer(fault=Fault.HANG), Answer())}
    settings = {"SEASPIDER_INTERVAL": KILLED_PAUSE_S, "DOWNLOAD_TIMEOUT": KILLED_TIMEOUT_S}
    how: dict[str, Any] = {"ledger": ledger or folder / "ledger", "settings": settings}
    with LoopbackWeb(routes, names=NAMES) as web:
        with crawling(web, folder, [web.url(HOST)], name="first", **how):
            web.wait_until(lambda seen: [arrival.target for arrival in seen][1:] == ["/"], 30)
        asked = folder / "asked"
        noting = NOTES_WHEN_IT_ASKS.format(str(asked))
        with crawling(web, folder, [web.url(HOST)], name=successor, sabotage=noting, **how) as second:
            assert second.wait(60) == 0
        claims = [claim for name in sorted({"first", successor}) for claim in requests_of(folder, name, "claim")]
        claimed_ns, next_ns = (claim["claimed_ns"] for claim in claims[1:3])
        return Killed(claimed_ns, int(asked.read_text()), next_ns, web.arrivals[1:])


# --- one that is killed while its host rests, and its restart ---


def restarted_gap_s(folder: Path, ledger: str, interval_s: float, crawl_delay_s: float) -> float:
    """From robots.txt to the page, when the process is killed between the two and started again at once."""
    routes = {"/robots.txt": Answer(body=f"User-agent: *\nCrawl-delay: {crawl_delay_s:g}\n"), "/": Answer()}
    ledger = ledger if ledger == IN_MEMORY else str(folder / ledger)
    how: dict[str, Any] = {"ledger": ledger, "settings": {"SEASPIDER_INTERVAL": interval_s}}
    with LoopbackWeb(routes, names=NAMES) as web:
        with crawling(web, folder, [web.url(HOST)], **how):
            wait_until(lambda: bool(requests_of(folder, "store", "settle") and written(folder, "store", "robots")))
        with crawling(web, folder, [web.url(HOST)], **how):
            web.wait_for(2, 60)
        first, second = web.arrivals
        assert (first.target, second.target) == ("/robots.txt", "/")
        return (second.arrived_ns - first.arrived_ns) / NS_PER_S


# --- one that is stopped for longer than its hold, right after its claim ---

STOPPED_PAUSE_S = 1
STOPS_AFTER_ITS_SECOND_CLAIM = """
import os, signal
from seaspider import faultpoints
claims = []
def reached(point):
    if point == "after commit claim":
        claims.append(point)
        if len(claims) == 2:
            os.kill(os.getpid(), signal.SIGSTOP)
faultpoints.reached = reached
"""
CLAIMS_NEVER_LAPSE = """
from dataclasses import replace
from seaspider.sharedledger import SharedLedger
_claim = SharedLedger.claim
async def claim(self, *args):
    return replace(await _claim(self, *args), hold_until_ns=2**62)
SharedLedger.claim = claim
"""


def is_stopped(process: subprocess.Popen[bytes]) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "T"


@dataclass(frozen=True)
class Stopped:
    """What arrived, and whether each of the stopped process's claims was followed by a request."""

    arrivals: list[Arrival]
    sent: list[bool]


def stopped_and_continued(folder: Path, sabotage: str = "", ledger: str | None = None) -> Stopped:
    """One process goes on the moment another, which waited for its claim to lapse, has asked."""
    routes = {"/robots.txt": Answer(404), "/": Answer()}
    settings = {"SEASPIDER_INTERVAL": STOPPED_PAUSE_S, "DOWNLOAD_TIMEOUT": 1}
    how: dict[str, Any] = {"ledger": ledger or folder / "ledger", "settings": settings}
    with LoopbackWeb(routes, names=NAMES) as web, ExitStack() as stack:
        stops = STOPS_AFTER_ITS_SECOND_CLAIM + sabotage
        first = stack.enter_context(crawling(web, folder, [web.url(HOST)], name="first", sabotage=stops, **how))
        wait_until(lambda: is_stopped(first))
        second = stack.enter_context(crawling(web, folder, [web.url(HOST)], name="second", **how))
        assert len(web.wait_for(2, 30)) == 2
        first.send_signal(signal.SIGCONT)
        assert [process.wait(30) for process in (first, second)] == [0, 0]
        sent = [record["sent_ns"] is not None for record in requests_of(folder, "first", "settle")]
        return Stopped(web.arrivals, sent)


# --- what is told of them ---

STORIES: dict[str, Callable[[Path], Any]] = {
    "stopped": stopped_and_continued,
    "stopped, not looking": partial(stopped_and_continued, sabotage=CLAIMS_NEVER_LAPSE),
    "killed, then another process": partial(killed_in_a_request, successor="second"),
    "killed, then its restart": partial(killed_in_a_request, successor="first"),
    "interval": partial(restarted_gap_s, ledger="ledger", interval_s=3, crawl_delay_s=0),
    "crawl-delay": partial(restarted_gap_s, ledger="ledger", interval_s=0, crawl_delay_s=3),
    # Long ones, so that a slow start does not keep them by chance.
    "interval, in memory": partial(restarted_gap_s, ledger=IN_MEMORY, interval_s=60, crawl_delay_s=0),
    "crawl-delay, in memory": partial(restarted_gap_s, ledger=IN_MEMORY, interval_s=0, crawl_delay_s=60),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """`told(story)`. They mostly wait, so they go on side by side."""
    folders = {name: tmp_path_factory.mktemp("story") for name in STORIES}
    with ThreadPoolExecutor(max_workers=4) as pool:
        telling = {name: pool.submit(story, folders[name]) for name, story in STORIES.items()}
        yield lambda name: telling[name].result()


@pytest.mark.parametrize("successor", ["another process", "its restart"])
def test_a_process_killed_in_a_request_holds_up_its_address_for_hold_and_pause(
    told: Callable[[str], Killed], successor: str
) -> None:
    killed = told(f"killed, then {successor}")
    free_ns = killed.claimed_ns + HOLD_AND_PAUSE_NS
    assert killed.next_ns >= free_ns
    assert killed.arrivals[1].arrived_ns <= max(free_ns, killed.asked_ns) + ns_from_s(LATE_S)
    assert too_near(killed.arrivals, KILLED_PAUSE_S) == []


@pytest.mark.parametrize("pause", ["interval", "crawl-delay"])
def test_p3_a_restart_keeps_the_pause(told: Callable[[str], float], pause: str) -> None:
    assert told(pause) >= 3


@pytest.mark.parametrize("pause", ["interval", "crawl-delay"])
def test_p3_twin_a_restart_with_a_ledger_in_memory_does_not(told: Callable[[str], float], pause: str) -> None:
    assert told(f"{pause}, in memory") < 60


def test_p3_a_process_stopped_for_longer_than_its_hold_claims_anew(told: Callable[[str], Stopped]) -> None:
    stopped = told("stopped")
    assert [arrival.target for arrival in stopped.arrivals] == ["/robots.txt"] * 2 + ["/"] * 2
    assert too_near(stopped.arrivals, STOPPED_PAUSE_S) == []
    assert stopped.sent == [True, False, True]


def test_p3_twin_without_the_look_at_the_claim_it_sends_too_soon(told: Callable[[str], Stopped]) -> None:
    stopped = told("stopped, not looking")
    assert too_near(stopped.arrivals, STOPPED_PAUSE_S) != []
    assert stopped.sent == [True, True]
