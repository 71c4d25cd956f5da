"""Progress: a live line on a real pseudo terminal, a log line on a pipe; nothing garbled, nothing slowed down."""

import fcntl
import io
import json
import logging
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.clock import SystemClock
from seaspider.core.remaining import Longest
from seaspider.core.times import NS_PER_S
from seaspider.liveline import PERIOD_NS, LiveLine, is_terminal
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.progress import Facts
from seaspider.sqliteledger import SqliteLedger
from settings import base
from tests.commands.many import Case, run
from tests.crawling import ROOT, Ended, command, crawl, environment
from tests.eventloop import run as run_async

NAMES = {"a.test": "127.0.7.1", "b.test": "127.0.7.2", "slow.test": "127.0.7.3"}
SITES = {
    "slow.test/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 1.2\nDisallow: /no\n"),
    "/robots.txt": Answer(404),
    "/evil": Answer(302, (("Location", "http://a.test:{port}/\x1b]0;x\x07"), ("Server", "\x1b[2J"))),
    "/*": Answer(headers=(("Content-Type", "text/html"),), body="<title>\x1b[31m</title>"),
}
PAGES = ["a.test/1", "a.test/2", "a.test/evil", "b.test/1", "slow.test/1", "slow.test/2", "slow.test/no"]
INTERVAL_S = 0.4
LOGSTATS = "scrapy.extensions.logstats.LogStats"
COLUMNS = 72
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] (DEBUG|INFO|WARNING): .*")


@pytest.fixture(scope="module")
def web() -> Iterator[LoopbackWeb]:
    with LoopbackWeb(SITES, names=NAMES) as running:
        yield running


def queue(web: LoopbackWeb) -> list[str]:
    return [web.url(host, f"/{path}") for host, _, path in (page.partition("/") for page in PAGES)]


# --- a terminal ---


@dataclass
class Screen:
    """What a terminal shows of some output: `lines` that were ended, and everything that stood in the `last` one."""

    lines: list[str]
    last: list[str]

    @classmethod
    def of(cls, output: str) -> "Screen":
        screen, row, column = cls([], []), "", 0
        for part in re.findall(r"\x1b\[K|[\r\n]|[^\x1b\r\n]+|.", output, re.DOTALL):
            if part == "\r":
                column = 0
            elif part == "\n":
                screen.lines.append(row)
                row, column = "", 0
            elif part == "\x1b[K":
                row = row[:column]
                screen.last.append(row)
            else:
                assert part.isprintable(), part
                row, column = row[:column] + part + row[column + len(part) :], column + len(part)
        screen.last.append(row)
        return screen


@dataclass
class OnTerminal:
    exit: int
    output: str
    seconds: float
    store: Path

    @property
    def screen(self) -> Screen:
        return Screen.of(self.output)

    @property
    def paints(self) -> list[str]:
        return re.findall(r"\r([^\x1b\r\n]+)\x1b\[K", self.output)


def on_terminal(
    urls: list[str], folder: Path, *, term: str = "xterm", stop_at: str = "", **settings: object
) -> OnTerminal:
    """The crawl with its standard error on a pseudo terminal of COLUMNS columns; SIGINT once `stop_at` is shown."""
    (folder / "queue.txt").write_text("".join(f"{url}\n" for url in urls))
    store = folder / "store"
    args = ["crawl", "seaspider", "-a", f"queue={folder}/queue.txt", "-a", f"store={store}"]
    chosen = {"SEASPIDER_INTERVAL": INTERVAL_S, "SEASPIDER_LEDGER": folder / "ledger.sqlite3", **settings}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    start = time.monotonic()
    process = subprocess.Popen(
        command(args, names=NAMES, settings=chosen),
        cwd=ROOT,
        env={**environment(), "TERM": term},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        output = b""
        while part := _read(ours):
            output += part
            if stop_at and stop_at.encode() in output:
                process.send_signal(signal.SIGINT)
                stop_at = ""
        return OnTerminal(process.wait(20), output.decode(), time.monotonic() - start, store)
    finally:
        process.kill()
        process.wait(20)
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the last writer has closed it
        return b""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, web: LoopbackWeb) -> OnTerminal:
    web.clear()
    return on_terminal(queue(web), tmp_path_factory.mktemp("live"))


def test_the_live_line_says_what_is_done_what_is_waited_for_and_how_long_it_takes(live: OnTerminal) -> None:
    assert live.exit == 0, live.output
    text = "\n".join(live.paints)
    assert re.search(r"^0/7 \| ", text)
    assert re.search(
        r"^[0-3]/7(?: \| \d stored)? \| about 3\.6 s to go \| waiting 0\.\d s for a\.test \(interval", text, re.M
    )
    assert re.search(r"^5/7 \| 5 stored \| about 2\.4 s to go \| waiting \S+ s for slow\.test \(crawl", text, re.M)


def test_the_log_is_whole_and_the_live_line_leaves_nothing_behind(live: OnTerminal) -> None:
    screen = live.screen
    assert [line for line in screen.lines if "INFO:" in line and not LOG_LINE.fullmatch(line)] == []
    assert sum(line.endswith(": stored 200") for line in screen.lines) == 6
    assert screen.last[-1] == ""
    assert "to go" not in "".join(screen.lines)


def test_it_is_painted_a_few_times_a_second_and_never_wraps(live: OnTerminal) -> None:
    assert 5 <= len(live.paints) <= live.seconds * NS_PER_S / PERIOD_NS + 1
    assert max(map(len, live.paints)) <= COLUMNS - 1


def test_nothing_that_a_server_says_reaches_the_terminal_unescaped(live: OnTerminal) -> None:
    assert set(re.findall(r"\x1b.{0,2}", live.output)) == {"\x1b[K"}
    assert "\x07" not in live.output


def test_twin_without_making_way_the_log_is_garbled(tmp_path: Path) -> None:
    stream, logger = io.StringIO(), logging.getLogger("tests.progress")
    shown = logging.StreamHandler(stream)
    line = LiveLine(stream, logging.INFO, lambda: "7/9 | live", lambda: 0)
    logging.getLogger().addHandler(shown)
    try:
        line.paint()
        logger.warning("one")
        line.start()
        logger.warning("two")
    finally:
        line.stop()
        logging.getLogger().removeHandler(shown)
    assert Screen.of(stream.getvalue()).lines == ["7/9 | liveone", "two"]


def test_a_dumb_terminal_gets_log_lines(tmp_path: Path, web: LoopbackWeb) -> None:
    ended = on_terminal([web.url("b.test", "/1")], tmp_path, term="dumb", SEASPIDER_INTERVAL=0)
    assert ended.exit == 0
    assert "\x1b" not in ended.output
    assert "0 of 1 done" in ended.output


def test_with_a_log_file_the_terminal_has_the_line_and_the_file_the_log(tmp_path: Path, web: LoopbackWeb) -> None:
    log = tmp_path / "log.txt"
    ended = on_terminal([web.url("b.test", f"/{n}") for n in range(3)], tmp_path, LOG_FILE=log)
    assert ended.exit == 0
    assert ended.paints != []
    assert (ended.screen.lines, ended.screen.last[-1]) == ([], "")
    assert "[seaspider.progress] INFO: 0 of 3 done; about 1.2 s to go (longest b.test: 3 x 0.4 s)" in log.read_text()
    assert "\x1b" not in log.read_text()


def test_a_signal_takes_the_line_away_for_good(tmp_path: Path, web: LoopbackWeb) -> None:
    ended = on_terminal([web.url("b.test", "/1")], tmp_path, stop_at="waiting", SEASPIDER_INTERVAL=60)
    assert ended.exit == 130
    assert re.search(r"^0/1 \| about 60 s to go \| waiting (60|59\.\d) s for b\.test", ended.paints[-1]), ended.paints
    assert [line for line in ended.screen.lines if "0/1" in line] == []
    assert ended.screen.last[-1] == ""
    assert "Run it again to go on." in ended.output


# --- a pipe ---


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory, web: LoopbackWeb) -> Ended:
    settings = {"SEASPIDER_INTERVAL": INTERVAL_S, "LOGSTATS_INTERVAL": 0.25}
    return crawl(queue(web), tmp_path_factory.mktemp("piped"), names=NAMES, settings=settings)


def said(log: str) -> list[str]:
    return re.findall(r"\[seaspider\.progress\] INFO: (.*)", log)


def test_on_a_pipe_the_same_facts_are_log_lines(piped: Ended) -> None:
    assert piped.exit == 0
    assert "\x1b" not in piped.log
    assert "\r" not in piped.log
    lines = said(piped.log)
    assert lines[0] == "0 of 7 done; about 1.2 s to go (longest a.test: 3 x 0.4 s)"
    left = "about 2.4 s to go (longest slow.test: 2 x 1.2 s)"
    waits = re.escape(f"5 of 7 done; 5 stored; {left}; ") + r"waiting (0\.\d|1|1\.1) s for slow\.test \(crawl-delay\)"
    assert any(re.fullmatch(waits, line) for line in lines), lines
    assert "Crawled" not in piped.log
    assert "'responses_per_minute'" in piped.log  # what LogStats puts into the stats stays


def test_by_default_that_is_one_line_a_minute_and_it_can_be_had_without(tmp_path: Path, web: LoopbackWeb) -> None:
    (tmp_path / "queue.txt").write_text(web.url("b.test", "/1") + "\n")

    def case(name: str, *options: str, **settings: object) -> Case:
        return Case(
            ["crawl", "seaspider", "-a", f"queue={tmp_path}/queue.txt", "-a", f"store={tmp_path}/{name}", *options],
            {"SEASPIDER_LEDGER": ":memory:", **settings},
        )

    extensions = json.dumps({**base.EXTENSIONS, "seaspider.progress.Progress": None, LOGSTATS: 0})
    ended = run(
        {
            "default": case("default"),
            "off": case("off", LOGSTATS_INTERVAL=0),
            "no log": case("no-log", "--nolog"),
            "scrapy's": case("scrapys", EXTENSIONS=extensions),
        },
        NAMES,
    )
    assert {name: (result.exit, said(result.err)) for name, result in ended.items()} == {
        "default": (0, ["0 of 1 done; about 0 s to go (longest b.test: 1 x 0 s)"]),
        "off": (0, []),
        "no log": (0, []),
        "scrapy's": (0, []),
    }
    assert ended["no log"].err == ""
    assert "Crawled 0 pages" in ended["scrapy's"].err


def test_watching_changes_nothing(live: OnTerminal, piped: Ended) -> None:
    watched = Ended(live.exit, "", live.output, live.store)
    for file in ("pages", "robots", "links"):
        assert watched.timeless(file) == piped.timeless(file)
    order = [
        [(row["n"], row["url"]) for row in end.records("requests") if row["event"] == "claim"]
        for end in (watched, piped)
    ]
    assert order[0] == order[1]
    assert len(order[0]) == 10


def test_a_rest_that_another_run_left_is_told_apart(tmp_path: Path, web: LoopbackWeb) -> None:
    path = tmp_path / "ledger.sqlite3"

    async def ask() -> None:
        ledger = SqliteLedger(path, SystemClock())
        claimed = await ledger.claim({"host:b.test": 0}, NS_PER_S)
        await ledger.settle(claimed.token, {"host:b.test": 20 * NS_PER_S})
        await ledger.close()

    run_async(ask())
    settings = {"LOGSTATS_INTERVAL": 0.25, "CLOSESPIDER_TIMEOUT": 1, "SEASPIDER_LEDGER": path}
    ended = crawl([web.url("b.test", "/1")], tmp_path, names=NAMES, settings=settings)
    left = r"about 1\d(\.\d)? s to go \(longest b\.test: 1 x 0 s\)"
    waits = rf"0 of 1 done; {left}; waiting 1\d(\.\d)? s for b\.test \(longer than its own pause: .*\)"
    assert re.fullmatch(waits, said(ended.log)[-1]), ended.log


# --- the parts ---

LONGEST = Longest("a.test", 19, 2 * NS_PER_S)
FACTS = {
    "begin": (Facts(0, 0, {}, "", None, None), "0/0", "0 of 0 done"),
    "middle": (
        Facts(3, 9, {"failed/dns": 1, "failed/tls": 1, "stored": 1}, "asking a.test", 38, LONGEST),
        "3/9 | 2 failed, 1 stored | about 38 s to go | asking a.test",
        "3 of 9 done; 1 failed/dns, 1 failed/tls, 1 stored; about 38 s to go (longest a.test: 19 x 2 s); asking a.test",
    ),
    "end": (Facts(9, 9, {"stored": 9}, "", None, None), "9/9 | 9 stored", "9 of 9 done; 9 stored"),
}


@pytest.mark.parametrize(("facts", "live_text", "log_text"), FACTS.values(), ids=FACTS)
def test_facts_in_words(facts: Facts, live_text: str, log_text: str) -> None:
    assert (facts.live(), facts.log()) == (live_text, log_text)


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    def isatty(self) -> bool:
        return True


def test_a_terminal_that_is_gone_hurts_nobody() -> None:
    line = LiveLine(Gone(), logging.INFO, lambda: "x", lambda: 0)
    line.paint()
    line.clear()
    line.stop()


def test_painting_waits_for_its_period_and_clearing_does_not() -> None:
    stream, now = io.StringIO(), [7]
    texts = iter(["one", "two", ""])
    line = LiveLine(stream, logging.INFO, lambda: next(texts), lambda: now[0])
    line.paint()
    now[0] += PERIOD_NS - 1
    line.paint()
    line.clear()
    line.clear()
    now[0] += 1
    line.paint()
    now[0] += PERIOD_NS
    line.paint()
    assert stream.getvalue() == "\rone\x1b[K" + "\r\x1b[K" + "\rtwo\x1b[K" + "\r\x1b[K"


@pytest.mark.parametrize(("term", "tty"), [("xterm", True), ("dumb", False), (None, False)])
def test_a_terminal_must_be_able_to_paint_over(monkeypatch: pytest.MonkeyPatch, term: str | None, tty: bool) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term:
        monkeypatch.setenv("TERM", term)
    assert is_terminal(Gone()) is tty
    assert not is_terminal(io.StringIO())
    assert not is_terminal(None)
