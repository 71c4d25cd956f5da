"""`scrapy crawl`: bad input is one line and a documented exit code, and nobody is asked; what is left is told."""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seaspider.loopback import Answer, Fault, LoopbackWeb
from tests.commands.many import Case, Result, run
from tests.crawling import ROOT, command, environment

NAMES = {"calm.test": "127.0.8.1", "fog.test": "127.0.8.2", "stuck.test": "127.0.8.3"}
SITES = {
    "calm.test/robots.txt": Answer(404),
    "calm.test/*": Answer(body="calm"),
    "fog.test/robots.txt": Answer(503),
    "stuck.test/robots.txt": Answer(fault=Fault.HANG),
}


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(SITES, names=NAMES) as running:
        yield running


# --- bad input ---

NO_LINUX = (
    "import pathlib, seaspider.clock as clock\n"
    "clock.SystemClock.__init__.__kwdefaults__['boot_id_path'] = pathlib.Path('/proc/no-such-file')"
)
BROKEN = "import seaspider.spiders.seaspider as spiders; spiders.with_queue = lambda *_: 1 / 0"
NOT_HELD = "import seaspider.commands.edge as edge; edge._Opening.hold = lambda self: None"

# id -> (exit code, the beginning of the one line on standard error). {here} is the folder of the test.
REFUSED: dict[str, tuple[int, str]] = {
    "no-queue": (2, "argument -a queue=FILE: is required"),
    "queue-missing": (2, "queue '{here}/none.txt': No such file or directory"),
    "queue-two-lines": (2, r"queue '{here}/no\nne.txt': No such file or directory"),
    "argument-unknown": (2, "argument -a qeue=x: is unknown"),
    "setting-promise": (2, "setting CONCURRENT_REQUESTS = '2': "),
    "setting-process": (2, "setting FORCE_CRAWLER_PROCESS = '1': "),
    "setting-unknown": (2, "setting SEASPIDER_INTERVALL = '3': "),
    "log-level": (2, "setting LOG_LEVEL = 'loud': must be DEBUG, INFO, WARNING, ERROR or CRITICAL"),
    "log-file": (2, "setting LOG_FILE = '{here}/no/crawl.log': No such file or directory"),
    "spider-unknown": (2, "no spider is called 'sea'; known are: seaspider"),
    "no-linux": (2, "no boot clock: /proc/no-such-file: "),
    "feeds-bad": (2, "setting FEEDS = {{'a.csv': 1}}: "),
    "feed-in-store": (2, "setting FEEDS = '{here}/other/pages.jsonl': a feed must not lie in the store"),
    "feed-unwritable": (2, "setting FEEDS = '{here}/good.txt/a.csv': cannot be written: "),
    "store-file": (74, "store '{here}/good.txt' cannot be written: Not a directory"),
    "store-below-file": (74, "store '{here}/good.txt/store' cannot be written: Not a directory"),
    "store-proc": (74, "store '/proc/store' cannot be written: "),
    "store-in-use": (75, "store '{here}/locked' is in use by another process"),
}


def refused_cases(here: Path) -> dict[str, Case]:
    def crawl(*options: str, queue: str | None = "good.txt", store: str = "store", **settings: object) -> Case:
        named = ["-a", f"queue={here / queue}"] if queue is not None else []
        return Case(["crawl", "seaspider", *named, "-a", f"store={Path(here, store)}", *options], settings)

    def sabotaged(sabotage: str, *options: str) -> Case:
        return Case(crawl(*options).args, sabotage=sabotage)

    return {
        "no-queue": crawl(queue=None),
        "queue-missing": crawl(queue="none.txt"),
        "queue-two-lines": crawl(queue="no\nne.txt"),
        "argument-unknown": crawl("-a", "qeue=x"),
        "setting-promise": crawl(CONCURRENT_REQUESTS=2),
        "setting-process": crawl(FORCE_CRAWLER_PROCESS=1),
        "setting-unknown": crawl(SEASPIDER_INTERVALL=3),
        "log-level": crawl("-L", "loud"),
        "log-file": crawl("--logfile", f"{here}/no/crawl.log"),
        "spider-unknown": Case(["crawl", "sea"]),
        "no-linux": sabotaged(NO_LINUX),
        "feeds-bad": crawl(FEEDS='{"a.csv": 1}'),
        "feed-in-store": crawl("-O", f"{here}/other/pages.jsonl", store="other"),
        "feed-unwritable": crawl("-o", f"{here}/good.txt/a.csv"),
        "store-file": crawl(store="good.txt"),
        "store-below-file": crawl(store="good.txt/store"),
        "store-proc": crawl(store="/proc/store"),
        "store-in-use": crawl(store="locked"),
        # Not in REFUSED: the twins, and what is answered as Scrapy answers it.
        "twin-not-held": sabotaged(NOT_HELD, "-a", "qeue=x"),
        "internal": sabotaged(BROKEN),
        "no-spider": Case(["crawl"]),
        "two-spiders": Case(["crawl", "seaspider", "seaspider"]),
        "good": crawl(store="good"),
        "not-final": crawl("-a", f"queue={here}/fog.txt", store="fog"),
        "full-at-once": Case(crawl(store="full").args, file_bytes=0),
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crawl")


@pytest.fixture(scope="module")
def results(here: Path, web: LoopbackWeb) -> Iterator[dict[str, Result]]:
    """All these commands, and the requests that they made."""
    (here / "good.txt").write_text(web.url("calm.test") + "\n")
    (here / "fog.txt").write_text(web.url("fog.test") + "\n")
    (here / "locked").mkdir()
    web.clear()
    with (here / "locked" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield run(refused_cases(here), NAMES)


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_line_and_its_exit_code(name: str, results: dict[str, Result], here: Path) -> None:
    code, text = REFUSED[name]
    result = results[name]
    assert result.err.startswith("scrapy crawl: " + text.format(here=here))
    assert (result.exit, result.out, result.err.count("\n"), result.err[-1]) == (code, "", 1, "\n")


def test_bad_input_makes_no_store_and_asks_nobody(results: dict[str, Result], web: LoopbackWeb, here: Path) -> None:
    assert [(arrival.name, arrival.target) for arrival in web.arrivals] == [
        ("calm.test", "/robots.txt"),
        ("calm.test", "/"),
        ("fog.test", "/robots.txt"),
    ]
    assert not (here / "store").exists()
    assert not (here / "other").exists()
    assert sorted(path.name for path in (here / "locked").iterdir()) == ["bodies", "lock"]


def test_without_holding_it_back_scrapys_opening_comes_before_the_line(results: dict[str, Result]) -> None:
    first, *_, last = results["twin-not-held"].err.splitlines()
    assert "Scrapy 2.19" in first
    assert last.startswith("scrapy crawl: argument -a qeue=x: is unknown")


def test_an_error_of_ours_has_its_traceback_once_and_exit_code_1(results: dict[str, Result]) -> None:
    result = results["internal"]
    assert result.exit == 1
    assert result.err.count("ZeroDivisionError: division by zero") == 1
    assert "Scrapy 2.19" in result.err.splitlines()[0]
    assert "never retrieved" not in result.err


def test_how_many_spiders_is_asked_as_scrapy_asks(results: dict[str, Result]) -> None:
    none, two = results["no-spider"], results["two-spiders"]
    assert (none.exit, two.exit) == (2, 2)
    assert "scrapy crawl [options] <spider>" in none.out
    assert "more than one spider is not supported" in two.err
    assert "Traceback" not in none.err + two.err


def test_all_final_is_0_and_not_final_is_3(results: dict[str, Result]) -> None:
    good, fog = results["good"], results["not-final"]
    assert good.exit == 0
    assert "1 stored" in good.err
    assert fog.exit == 3
    assert "Run it again to go on." in fog.err
    # What was held back comes first, once, when there is a crawl to log.
    assert "Scrapy 2.19" in good.err.splitlines()[0]
    assert good.err.count("Versions:") == 1


def test_a_store_that_is_full_from_the_start_is_74_without_a_traceback(results: dict[str, Result], here: Path) -> None:
    full = results["full-at-once"]
    assert full.exit == 74
    assert full.err.splitlines()[-1] == f"scrapy crawl: {here}/full/manifest.jsonl cannot be written: File too large"
    assert "Traceback" not in full.err


# --- a store that fills up ---


def test_a_store_that_fills_up_stops_the_crawl_with_74_and_nothing_is_sent_unrecorded(
    tmp_path: Path, web: LoopbackWeb
) -> None:
    (tmp_path / "queue.txt").write_text("".join(web.url("calm.test", f"/{n}") + "\n" for n in range(30)))
    web.clear()
    crawl = ["crawl", "seaspider", "-a", f"queue={tmp_path}/queue.txt", "-a", f"store={tmp_path}/store"]
    result = run({"full": Case(crawl, file_bytes=9000)}, NAMES)["full"]
    assert result.exit == 74
    assert re.fullmatch(
        rf"scrapy crawl: {tmp_path}/store/\w+\.jsonl cannot be written: .+", result.err.splitlines()[-1]
    )
    assert "Traceback" not in result.err
    lines = (tmp_path / "store" / "requests.jsonl").read_text().splitlines()
    claims = [row for row in map(json.loads, lines) if row["event"] == "claim"]
    assert 1 < len(web.arrivals) == len(claims) < 31


# --- two processes, and signals ---


class Crawl:
    """A crawl in a process of its own, whose log is a file that can be waited on."""

    def __init__(self, folder: Path, urls: list[str], settings: dict[str, object]) -> None:
        (folder / "queue.txt").write_text("".join(f"{url}\n" for url in urls))
        self.store = folder / "store"
        self.log_path = folder / "log.txt"
        args = ["crawl", "seaspider", "-a", f"queue={folder}/queue.txt", "-a", f"store={self.store}"]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command(args, names=NAMES, settings=settings),
                cwd=ROOT,
                env=environment(),
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def wait_for(self, text: str, timeout_s: float = 20) -> None:
        until = time.monotonic() + timeout_s
        while text not in self.log:
            assert time.monotonic() < until, f"{text!r} not in the log: {self.log}"
            assert self.process.poll() is None, self.log
            time.sleep(0.01)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def end(self, timeout_s: float) -> tuple[int, float]:
        """Its exit code, and after how many seconds."""
        start = time.monotonic()
        return self.process.wait(timeout_s), time.monotonic() - start

    def records(self, file: str) -> list[dict]:
        return [json.loads(line) for line in (self.store / f"{file}.jsonl").read_text().splitlines()]

    def __enter__(self) -> "Crawl":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_wait_with_130_and_says_what_is_left(number: int, tmp_path: Path, web: LoopbackWeb) -> None:
    web.clear()
    urls = [web.url("calm.test", f"/{n}") for n in range(3)]
    with Crawl(tmp_path, urls, {"SEASPIDER_INTERVAL": 60}) as crawl:
        web.wait_until(lambda seen: any(arrival.answered_ns for arrival in seen), 20)
        crawl.signal(number)
        code, seconds = crawl.end(20)
    assert code == 130, crawl.log
    assert seconds < 2
    assert "3 unfinished" in crawl.log
    assert "Run it again to go on." in crawl.log
    assert "Traceback" not in crawl.log
    end = crawl.records("manifest")[-1]
    assert (end["event"], end["reason"], end["exit"], end["counts"]["unfinished"]) == ("end", "shutdown", 130, 3)
    assert [arrival.target for arrival in web.arrivals] == ["/robots.txt"]


def test_while_one_process_works_on_a_store_another_is_sent_away_with_75(tmp_path: Path, web: LoopbackWeb) -> None:
    web.clear()
    with Crawl(tmp_path, [web.url("stuck.test")], {"DOWNLOAD_TIMEOUT": 60}) as crawl:
        web.wait_for(1, 20)  # and no answer, so it writes nothing meanwhile
        before = {path.name: path.read_bytes() for path in crawl.store.glob("*.jsonl")}
        args = ["crawl", "seaspider", "-a", f"queue={tmp_path}/queue.txt", "-a", f"store={crawl.store}"]
        second = run({"second": Case(args)}, NAMES)["second"]
        assert second == Result(75, "", f"scrapy crawl: store '{crawl.store}' is in use by another process\n")
        assert {path.name: path.read_bytes() for path in crawl.store.glob("*.jsonl")} == before
        assert len(web.arrivals) == 1


def test_a_second_signal_ends_it_at_once(tmp_path: Path, web: LoopbackWeb) -> None:
    web.clear()
    with Crawl(tmp_path, [web.url("stuck.test")], {"DOWNLOAD_TIMEOUT": 60}) as crawl:
        web.wait_for(1, 20)
        crawl.signal(signal.SIGINT)
        crawl.wait_for("shutting down gracefully")
        with pytest.raises(subprocess.TimeoutExpired):
            crawl.end(0.3)  # it waits for the answer
        crawl.signal(signal.SIGINT)
        code, seconds = crawl.end(20)
    assert code == 130, crawl.log
    assert seconds < 2
    assert "Traceback" not in crawl.log
    assert "destroyed" not in crawl.log
    assert (
        crawl.log.splitlines()[-1] == "scrapy crawl: stopped at once; what was under way begins again in the next run"
    )
