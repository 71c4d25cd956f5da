"""Stops: a signal ends every wait, an answer on its way is still recorded, and whatever ends a run loses nothing."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.loopback.judge import Key, pairs_nearer
from tests.accounts import check_accounts
from tests.commands.many import Case, run
from tests.crawling import Ended, crawl
from tests.extras import added
from tests.running import Running, finals, logged

NAMES = {"calm.test": "127.0.13.1", "slow.test": "127.0.13.2", "late.test": "127.0.13.3", "stuck.test": "127.0.13.4"}
MOST_S = 2
END_S = 10  # far less than each wait takes
OVER = "Spider closed (shutdown)"


def routes() -> dict[str, object]:
    return {
        "/robots.txt": Answer(404),
        "/*": Answer(body="a page"),
        "slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 30\n"),
        "late.test/1": Answer(body="late", delay_s=0.8),
        "late.test/moved": Answer(302, (("Location", "/2"),), delay_s=0.8),
        "stuck.test/1": (Answer(fault=Fault.HANG), Answer(body="at last")),
    }


@pytest.fixture
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(routes(), names=NAMES) as running:
        yield running


def ended_in_time(crawl: Running, number: int = signal.SIGINT) -> Ended:
    """Sends the signal; the run is over within 2 s, and the process soon after, however busy the machine."""
    signalled = crawl.signal(number)
    ended = crawl.end(END_S)
    assert ended.exit == 130, ended.log
    assert logged(ended, OVER) - signalled < MOST_S, ended.log
    assert "Traceback" not in ended.log
    assert "never" not in ended.log  # awaited, retrieved
    return ended


def answered(web: LoopbackWeb, *targets: str) -> None:
    """Waits until all of them were answered."""
    web.wait_until(lambda seen: {*targets} <= {a.target for a in seen if a.answered_ns}, 20)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process has the ledger file for itself."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.close()


# --- one signal, while it waits ---

# Says when it sleeps: only then it waits for a pause, or for a key.
SAYS = """
import sys
from seaspider.clock import SystemClock
_sleep = SystemClock.sleep
async def sleep(self, seconds):
    print("asleep", file=sys.stderr, flush=True)
    await _sleep(self, seconds)
SystemClock.sleep = sleep
"""


def test_while_a_crawl_delay_is_waited_for(tmp_path: Path, web: LoopbackWeb) -> None:
    with Running(tmp_path, [web.url("slow.test", "/1")], names=NAMES, sabotage=SAYS) as crawl:
        crawl.wait_for("asleep")
        ended = ended_in_time(crawl, signal.SIGTERM)
    assert "1 unfinished" in ended.log
    assert "Run it again to go on." in ended.log
    assert check_accounts(ended, 1)["interrupted"] == 1


def test_while_another_process_asks_the_same_host(tmp_path: Path, web: LoopbackWeb) -> None:
    (tmp_path / "other").mkdir()
    shared = {"SEASPIDER_LEDGER": tmp_path / "shared.sqlite3", "DOWNLOAD_TIMEOUT": 60}
    with Running(tmp_path / "other", [web.url("stuck.test", "/1")], names=NAMES, settings=shared):
        web.wait_for(2, 20)
        with Running(tmp_path, [web.url("stuck.test", "/2")], names=NAMES, settings=shared, sabotage=SAYS) as crawl:
            crawl.wait_for("asleep")
            ended = ended_in_time(crawl)
    assert "1 unfinished" in ended.log
    assert [arrival.target for arrival in web.arrivals] == ["/robots.txt", "/1"]


@pytest.mark.parametrize("target", ["/robots.txt", "/1"], ids=["before a claim", "before a settle"])
def test_while_another_process_has_the_ledger_file(tmp_path: Path, web: LoopbackWeb, target: str) -> None:
    """At 0.8 s a page, the answer comes when the file is locked already."""
    with Running(
        tmp_path, [web.url("late.test", f"/{n}") for n in (1, 2)], names=NAMES, settings={"SEASPIDER_INTERVAL": 0.5}
    ) as crawl:
        if target == "/1":
            web.wait_until(lambda seen: any(a.target == "/1" for a in seen), 20)
        else:
            answered(web, target)
        with locked(tmp_path / "ledger.sqlite3"):
            if target == "/1":
                answered(web, target)
            crawl.wait_for("Waiting for the ledger")
            ended = ended_in_time(crawl)
    check_accounts(ended, 1)
    assert len(ended.records("pages")) == (target == "/1")


def test_while_the_ledger_file_is_locked_from_the_start(tmp_path: Path, web: LoopbackWeb) -> None:
    with locked(tmp_path / "ledger.sqlite3"), Running(tmp_path, [web.url("calm.test")], names=NAMES) as crawl:
        crawl.wait_for("Waiting for the ledger")
        ended_in_time(crawl)
    assert web.connections == 0


DEAF = """
import socket, sys, time
def deaf(*_, **__):
    print("looking a name up", file=sys.stderr, flush=True)
    time.sleep(25)
socket.getaddrinfo = deaf
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_while_no_name_server_answers(tmp_path: Path, web: LoopbackWeb, number: int) -> None:
    with Running(tmp_path, ["http://unknown.test/"], names=NAMES, settings={"DNS_TIMEOUT": 60}, sabotage=DEAF) as crawl:
        crawl.wait_for("looking a name up")
        ended = ended_in_time(crawl, number)
    assert "1 unfinished" in ended.log
    assert ended.records("robots") == ended.records("pages") == []


def test_a_name_that_is_still_looked_up_does_not_hold_up_the_end(tmp_path: Path, web: LoopbackWeb) -> None:
    """After DNS_TIMEOUT the crawl goes on; the thread that asks cannot be stopped, and is not waited for."""
    begun = time.monotonic()
    ended = crawl(["http://unknown.test/"], tmp_path, names=NAMES, settings={"DNS_TIMEOUT": 0.2}, sabotage=DEAF)
    assert time.monotonic() - begun < 15
    assert ended.exit == 3
    assert ended.endings() == {"http://unknown.test/": "deferred/robots-unreachable"}


TELLS = """
import sys
from seaspider import queuefile
_standard_input = queuefile._standard_input
def telling():
    print("reading", file=sys.stderr, flush=True)
    return _standard_input()
queuefile._standard_input = telling
"""


def test_while_the_queue_is_read_from_a_pipe_that_gives_nothing(tmp_path: Path) -> None:
    read, write = os.pipe()
    with Running(tmp_path, [], names=NAMES, queue="-", stdin=read, sabotage=TELLS) as crawl:
        os.close(read)
        crawl.wait_for("reading")
        crawl.signal(signal.SIGINT)
        ended = crawl.end(END_S)
    os.close(write)
    assert ended.exit == 130
    assert ended.log == "reading\nscrapy crawl: interrupted\n"
    assert not ended.store.exists()


# --- one signal, while a request is in flight ---


def test_an_answer_on_its_way_is_recorded_and_no_other_request_is_sent(tmp_path: Path, web: LoopbackWeb) -> None:
    with Running(tmp_path, [web.url("late.test", f"/{n}") for n in (1, 2)], names=NAMES) as crawl:
        web.wait_until(lambda seen: any(a.target == "/1" for a in seen), 20)
        crawl.signal(signal.SIGINT)
        ended = crawl.end()
    assert ended.exit == 130, ended.log
    assert ended.endings() == {web.url("late.test", "/1"): "stored"}
    assert check_accounts(ended, 1)["queue"]["unfinished"] == 1
    assert [a.target for a in web.arrivals] == ["/robots.txt", "/1"]


def test_a_redirect_on_its_way_is_not_followed_now_and_begins_again(tmp_path: Path, web: LoopbackWeb) -> None:
    queue = [web.url("late.test", "/moved")]
    with Running(tmp_path, queue, names=NAMES) as first:
        web.wait_until(lambda seen: any(a.target == "/moved" for a in seen), 20)
        first.signal(signal.SIGINT)
        ended = first.end()
    assert (ended.exit, ended.records("pages")) == (130, [])
    assert check_accounts(ended, 1)["interrupted"] == 1
    assert [a.target for a in web.arrivals] == ["/robots.txt", "/moved"]
    again = crawl(queue, tmp_path, names=NAMES)
    assert (again.exit, [hop["status"] for hop in again.page(queue[0])["chain"]]) == (0, [302, 200])


def test_without_an_answer_it_ends_within_the_time_out(tmp_path: Path, web: LoopbackWeb) -> None:
    with Running(
        tmp_path, [web.url("stuck.test", f"/{n}") for n in (1, 2)], names=NAMES, settings={"DOWNLOAD_TIMEOUT": 1}
    ) as crawl:
        web.wait_until(lambda seen: any(a.target == "/1" for a in seen), 20)
        signalled = crawl.signal(signal.SIGINT)
        ended = crawl.end()
    assert ended.exit == 130, ended.log
    assert logged(ended, OVER) - signalled < 1 + MOST_S
    assert len(ended.records("pages")) <= 1
    assert check_accounts(ended, 1)["queue"]["unfinished"] >= 1


# --- twice ---

PAUSE_S = 0.6


@pytest.mark.parametrize("moment", ["in flight", "in a pause", "in a lookup"])
def test_twice_is_at_once_and_nothing_is_lost(tmp_path: Path, web: LoopbackWeb, moment: str) -> None:
    """A request in flight keeps its keys for DOWNLOAD_TIMEOUT and 2 s more, then the pause comes."""
    settings = {"SEASPIDER_INTERVAL": PAUSE_S, "DOWNLOAD_TIMEOUT": 1}
    queue = [web.url("stuck.test" if moment == "in flight" else "calm.test", f"/{n}") for n in (1, 2)]
    sabotage = DEAF if moment == "in a lookup" else SAYS
    with Running(
        tmp_path, queue, names={} if moment == "in a lookup" else NAMES, settings=settings, sabotage=sabotage
    ) as first:
        if moment == "in a lookup":
            first.wait_for("looking a name up")
        elif moment == "in flight":
            web.wait_until(lambda seen: any(a.target == "/1" for a in seen), 20)
        else:
            first.wait_for("/1: stored")
            first.wait_for("asleep")
        first.signal(signal.SIGINT)
        first.signal(signal.SIGTERM)
        ended = first.end(END_S)
    assert ended.exit == 130, ended.log
    assert OVER not in ended.log
    assert "Traceback" not in ended.log
    again = crawl(queue, tmp_path, names=NAMES, settings=settings)
    assert again.exit == 0, again.log
    check_accounts(again, 2)
    assert pairs_nearer(web.arrivals, Key.HOST, int(PAUSE_S * 1e9)) == []
    assert len(web.arrivals) == 3 + (moment == "in flight")
    alone = crawl(queue, tmp_path, names=NAMES, store="alone")
    assert finals(again) == finals(alone)


# --- what else ends a run ---

CLOSERS = {
    **added("EXTENSIONS", closers__CloserExtension=900),
    **added("SPIDER_MIDDLEWARES", closers__CloserMiddleware=900),
    **added("ITEM_PIPELINES", closers__CloserPipeline=900),
}
QUEUE = ("calm.test/1", "slow.test/1", "calm.test/2", "calm.test/3")
# name -> settings, reason, exit code, page records at least and at most
ENDS: dict[str, tuple[dict[str, object], str, int, range]] = {
    "items": ({"CLOSESPIDER_ITEMCOUNT": 1}, "closespider_itemcount", 3, range(1, 3)),
    "pages": ({"CLOSESPIDER_PAGECOUNT": 3}, "closespider_pagecount", 3, range(1, 3)),
    # The third page is reached, and then the crawl-delay of slow.test is waited for.
    "time": ({"CLOSESPIDER_TIMEOUT": 0.7}, "closespider_timeout", 3, range(3, 4)),
    "errors": ({"CLOSESPIDER_ERRORCOUNT": 1, "CLOSER": "error"}, "closespider_errorcount", 3, range(3)),
    "opened": ({"CLOSER": "opened"}, "closed at once", 3, range(1)),
    "item": ({"CLOSER": "item"}, "enough", 3, range(1, 3)),
    "callback": ({"CLOSER": "callback"}, "seen enough", 3, range(2)),
    "error": ({"CLOSER": "error", "CLOSESPIDER_TIMEOUT": 0.7}, "closespider_timeout", 1, range(2, 3)),
    "open_spider": ({"CLOSER": "open_spider"}, "open-error", 1, range(1)),
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Ended, Ended]]]:
    """name -> the run that was ended, and the next one, which nothing ends. slow.test is in a hurry then."""
    here = tmp_path_factory.mktemp("ends")
    with LoopbackWeb(routes(), names=NAMES) as web:
        places = [place.partition("/") for place in QUEUE]
        (here / "queue.txt").write_text("".join(web.url(host, f"/{path}") + "\n" for host, _, path in places))

        def case(name: str, **settings: object) -> Case:
            args = ["crawl", "seaspider", "-a", f"queue={here}/queue.txt", "-a", f"store={here}/{name}"]
            return Case(args, {"SEASPIDER_LEDGER": here / f"{name}.sqlite3", **settings})

        first = run({name: case(name, **CLOSERS, **settings) for name, (settings, *_) in ENDS.items()}, NAMES)
        stores = {name: keep(here / name, result.exit, result.err) for name, result in first.items()}
        then = run({name: case(name, SEASPIDER_CRAWL_DELAY_CAP=1) for name in [*ENDS, "alone"]}, NAMES)
        later = {name: Ended(result.exit, "", result.err, here / name) for name, result in then.items()}
        yield {name: (stores.get(name, later[name]), later[name]) for name in later}


def keep(store: Path, code: int, log: str) -> Ended:
    """A copy of a store as it is now."""
    copy = store.with_name(f"{store.name}-then")
    subprocess.run(["cp", "-r", store, copy], check=True)
    return Ended(code, "", log, copy)


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_with_its_exit_code_and_says_what_is_left(name: str, ends: dict[str, tuple[Ended, Ended]]) -> None:
    _, reason, code, pages = ENDS[name]
    ended, _ = ends[name]
    assert ended.exit == code, ended.log
    end = ended.records("manifest")[-1]
    assert (end["event"], end["reason"], end["exit"]) == ("end", reason, code)
    counts = check_accounts(ended, 1)
    assert len(ended.records("pages")) in pages
    assert counts["unfinished"] == len(QUEUE) - len(ended.records("pages")) > 0
    assert f"{counts['unfinished']} unfinished" in ended.log
    assert "Run it again to go on." in ended.log


@pytest.mark.parametrize("name", ENDS)
def test_the_next_run_takes_up_the_rest(name: str, ends: dict[str, tuple[Ended, Ended]]) -> None:
    _, then = ends[name]
    assert then.exit == 3, then.log  # slow.test/1 is deferred
    assert check_accounts(then, 2)["unfinished"] == 0
    assert finals(then) == finals(ends["alone"][1])
    assert len(finals(then)) == 3


def test_who_closes_an_idle_spider_with_a_reason_of_his_own_loses_nothing(tmp_path: Path, web: LoopbackWeb) -> None:
    settings = {**CLOSERS, "CLOSER": "idle"}
    ended = crawl([web.url("calm.test")], tmp_path, names=NAMES, settings=settings)
    assert (ended.exit, ended.records("manifest")[-1]["reason"]) == (0, "closed when idle")


# --- twins ---

DEAF_TO = {
    "a signal": ("from seaspider.run import Run; Run._is_stopped = lambda self: False", 0),
    "a close": ("import seaspider.scrapyhooks as hooks; hooks.when_closing = lambda crawler, tell: None", 0.1),
}


@pytest.mark.parametrize("name", DEAF_TO)
def test_without_news_of_it_a_wait_goes_on(name: str, tmp_path: Path, web: LoopbackWeb) -> None:
    sabotage, limit = DEAF_TO[name]
    queue, settings = [web.url("slow.test", "/1")], {"CLOSESPIDER_TIMEOUT": limit}
    with Running(tmp_path, queue, names=NAMES, settings=settings, sabotage=SAYS + sabotage) as crawl:
        crawl.wait_for("asleep")
        if not limit:
            crawl.signal(signal.SIGINT)
        crawl.wait_for("Closing spider")
        with pytest.raises(subprocess.TimeoutExpired):
            crawl.end(MOST_S)
