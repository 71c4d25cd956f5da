"""Going on: what is done is left alone, what waits keeps its record, what was under way begins again."""

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from seaspider.core.records import without_times
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms
from seaspider.loopback import Answer, Fault, LoopbackWeb
from tests.accounts import check_accounts, of_run
from tests.crawling import ROOT, Ended, command, crawl, environment

HTML = (("Content-Type", "text/html"),)
TEXT = (("Content-Type", "text/plain"),)
PAGE = Answer(200, HTML, "<p>hello")


def robots(*lines: str) -> Answer:
    return Answer(200, TEXT, "".join(f"{line}\n" for line in lines))


ALLOWED = robots("User-agent: *", "Disallow:")
SITES = {
    "ok.test": {"/robots.txt": ALLOWED, "/1": PAGE, "/2": PAGE, "/3": PAGE},
    "no.test": {"/robots.txt": robots("User-agent: *", "Disallow: /")},
    "fog.test": {"/robots.txt": (Answer(503), ALLOWED), "/": PAGE},
    "slow.test": {"/robots.txt": robots("User-agent: *", "Crawl-delay: 600"), "/": PAGE},
    "busy.test": {"/robots.txt": ALLOWED, "/": (Answer(503, (("Retry-After", "301"),)), PAGE)},
    "later.test": {"/robots.txt": ALLOWED, "/": (Answer(429, (("Retry-After", "3600"),)), PAGE)},
    "ban.test": {"/robots.txt": ALLOWED, "/1": Answer(403), "/2": PAGE, "/3": PAGE, "/4": PAGE},
    "moved.test": {"/robots.txt": ALLOWED, "/": Answer(302, (("Location", "http://ban.test:{port}/3"),))},
}
NAMES = {name: f"127.0.0.{number}" for number, name in enumerate(SITES, 2)} | {"ghost.test": []}

LINES = [
    "# places",
    "",
    "ok.test/1",
    "ok.test/2",
    "ok.test/1",
    "no.test/",
    "nonsense",
    "fog.test/",
    "slow.test/",
    "busy.test/",
    "later.test/",
    "ban.test/1",
    "ban.test/2",
    "ghost.test/",
    "moved.test/",
]


def queue_of(lines, port: int) -> list[str]:
    """Queue lines: `host/path` as a URL, others as they are."""
    return [f"http://{line.replace('/', f':{port}/', 1)}" if "/" in line else line for line in lines]


def sites() -> LoopbackWeb:
    routes = {f"{host}{target}": route for host, pages in SITES.items() for target, route in pages.items()}
    return LoopbackWeb(routes, names=NAMES)


def places(ended: Ended, run: int) -> dict[str, str]:
    """`host/path` -> outcome and reason, of the page records of one run."""
    return {
        page["url"].removeprefix("http://").replace(f":{port_of(page['url'])}", ""): (
            f"{page['outcome']}/{page['reason']}" if page["reason"] else page["outcome"]
        )
        for page in ended.records("pages")
        if page["run"] == run
    }


def port_of(url: str) -> str:
    return url.split(":")[2].partition("/")[0]


def asked(web: LoopbackWeb) -> list[str]:
    return [f"{arrival.name}{arrival.target}" for arrival in web.arrivals]


# --- one store, run after run ---


class Story:
    """What each run of one store left, and what arrived at the servers."""

    def __init__(self, folder: Path) -> None:
        self.ended: list[Ended] = []
        self.asked: list[list[str]] = []
        self.pages: list[list[dict]] = []
        with sites() as web:
            self.port = web.port
            self.folder = folder
            self._run(web, LINES)
            self._run(web, LINES)
            edited = ["ok.test/3", "# gone: ok.test/1", "ok.test/2", "ban.test/4", "ban.test/2", "busy.test/"]
            self._run(web, edited)
            self._run(web, ["ok.test/1", "ok.test/3", "no.test/"])
            let_days_pass(folder / "store")
            self._run(web, LINES, retry="failed", names=NAMES | {"ghost.test": "127.0.0.2"})
            self._run(web, LINES)

    def _run(self, web, lines, names=NAMES, **arguments):
        web.clear()
        ended = crawl(queue_of(lines, web.port), self.folder, names=names, arguments=arguments)
        self.ended.append(ended)
        self.asked.append(asked(web))
        self.pages.append(ended.records("pages"))


def let_days_pass(store: Path) -> None:
    """Moves every date of a store thirty days into the past."""
    for path in store.glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            for key, value in row.items():
                if value and (key.endswith("_at") or key == "not_before"):
                    row[key] = rfc3339_ms(parse_rfc3339_ms(value) - 30 * 86_400_000)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> Story:
    return Story(tmp_path_factory.mktemp("story"))


WAITING = {
    "fog.test/": "deferred/robots-unreachable",
    "slow.test/": "deferred/crawl-delay",
    "busy.test/": "deferred/retry-after",
    "later.test/": "deferred/retry-after",
    "ban.test/2": "blocked/forbidden",
    "moved.test/": "blocked/forbidden",
}


def test_the_first_run(story):
    assert places(story.ended[0], 1) == WAITING | {
        "ok.test/1": "stored",
        "ok.test/2": "stored",
        "no.test/": "disallowed/robots-rule",
        "ban.test/1": "stored",
        "ghost.test/": "failed/dns",
    }
    assert story.ended[0].exit == 3
    counts = check_accounts(story.ended[0], 1)
    fates = {"blank": 1, "comment": 1, "duplicate": 1, "done": 0, "rejected": 1, "recorded": 11, "unfinished": 0}
    assert counts["queue"] == {"lines": 15, **fates}


def test_the_second_run_asks_nothing_and_what_waits_gets_the_same_record(story):
    assert story.asked[1] == []
    assert places(story.ended[1], 2) == WAITING
    assert story.ended[1].exit == 3
    check_accounts(story.ended[1], 2)
    first = {page["url"]: page for page in story.pages[0]}
    second = [page for page in story.pages[1] if page["run"] == 2]
    times = ("visit", "run", "started_at", "ended_at")
    for page in second:
        for key in page.keys() - {*times}:
            assert without_times(page[key]) == without_times(first[page["url"]][key]), (page["url"], key)
        assert list(page) == list(first[page["url"]])
    [moved] = [page for page in second if "moved.test" in page["url"]]
    assert [hop["status"] for hop in moved["chain"]] == [302, None]


def test_done_lines_are_skipped_and_said_so(story):
    rows = [(row["line"], row["fate"], row["of"]) for row in of_run(story.ended[1], "skipped", 2)]
    assert rows == [
        (3, "done", None),
        (4, "done", None),
        (5, "duplicate", 3),
        (6, "done", None),
        (7, "rejected", None),
        (12, "done", None),
        (14, "done", None),
    ]


def test_the_queue_may_be_edited_between_runs(story):
    assert story.asked[2] == ["ok.test/3"]
    waiting = {"ban.test/2": "blocked/forbidden", "busy.test/": "deferred/retry-after"}
    assert places(story.ended[2], 3) == {**waiting, "ok.test/3": "stored", "ban.test/4": "blocked/forbidden"}
    assert {page["url"][-1]: page["line"] for page in story.pages[2] if page["run"] == 3 and "ban" in page["url"]} == {
        "2": 5,
        "4": 4,
    }
    assert story.ended[2].exit == 3
    check_accounts(story.ended[2], 3)


def test_a_finished_queue_asks_nothing(story):
    assert story.asked[3] == []
    assert places(story.ended[3], 4) == {}
    assert story.ended[3].exit == 0
    assert check_accounts(story.ended[3], 4)["queue"]["done"] == 3


def test_when_its_time_has_come_what_waited_is_asked_for(story):
    now = places(story.ended[4], 5)
    assert now == {
        "fog.test/": "stored",
        "slow.test/": "deferred/crawl-delay",
        "busy.test/": "stored",
        "later.test/": "stored",
        "ban.test/2": "stored",
        "moved.test/": "stored",
        "ghost.test/": "stored",
    }
    # Robots rules are over as well: asked once more each.
    assert Counter(story.asked[4]) == Counter(
        [
            f"{name}/robots.txt"
            for name in ("fog.test", "slow.test", "busy.test", "later.test", "ban.test", "moved.test")
        ]
        + ["ghost.test/robots.txt", "fog.test/", "busy.test/", "later.test/", "ban.test/2", "moved.test/", "ban.test/3"]
        + ["ghost.test/"]
    )


def test_failed_urls_are_taken_up_again_only_if_asked_for(story):
    assert "ghost.test/" not in places(story.ended[1], 2)
    assert places(story.ended[4], 5)["ghost.test/"] == "stored"


def test_in_the_end_only_what_must_not_be_asked_for_waits(story):
    assert story.asked[5] == []
    assert places(story.ended[5], 6) == {"slow.test/": "deferred/crawl-delay"}
    final = Counter(page["url"] for page in story.pages[5] if page["outcome"] not in ("deferred", "blocked"))
    retried = f"http://ghost.test:{story.port}/"
    assert {url for url, times in final.items() if times > 1} == {retried}


def test_run_numbers_and_robots_ids_go_on(story):
    rows = story.ended[5].records("manifest")
    assert [(row["run"], row["event"]) for row in rows] == [(n, e) for n in range(1, 7) for e in ("start", "end")]
    ids = [row["id"] for row in story.ended[5].records("robots")]
    assert ids == list(range(1, len(ids) + 1))
    assert {row["run"] for row in story.ended[5].records("robots")} == {1, 5}


# --- killed ---

KILLED = ["ok.test/1", "stuck.test/", "ok.test/2", "ok.test/1", "# comment", "stuck.test/next"]


def test_killed_in_the_middle_nothing_is_lost_and_nothing_done_twice(tmp_path):
    names = {"ok.test": "127.0.0.2", "stuck.test": "127.0.0.3"}
    routes = {
        "/robots.txt": ALLOWED,
        "/*": PAGE,
        "stuck.test/": (Answer(fault=Fault.HANG), PAGE),
    }
    with LoopbackWeb(routes, names=names) as web:
        queue = tmp_path / "queue.txt"
        lines = queue_of(KILLED, web.port)
        queue.write_text("".join(f"{line}\n" for line in lines))
        args = ["crawl", "seaspider", "-a", f"queue={queue}", "-a", f"store={tmp_path / 'store'}"]
        settings = {"DOWNLOAD_TIMEOUT": 60}
        with subprocess.Popen(
            command(args, names=names, settings=settings), cwd=ROOT, env=environment(), stderr=subprocess.DEVNULL
        ) as process:
            web.wait_until(lambda seen: any(f"{a.name}{a.target}" == "stuck.test/" for a in seen), timeout_s=30)
            process.kill()
            assert process.wait(30) == -signal.SIGKILL
        # A kill may come in the middle of a write, too.
        with (tmp_path / "store" / "requests.jsonl").open("ab") as file:
            file.write(b'{"v":1,"run":1,"event":"settle","n":4,"sen')
        before = set(asked(web))
        web.clear()
        ended = crawl(queue, tmp_path, names=names)
        after = asked(web)

    assert ended.exit == 0
    assert "requests.jsonl: 42 bytes that a crash left unfinished were cut" in ended.log
    assert "1 visits that an earlier run had begun, and did not end, begin again" in ended.log
    assert {"ok.test/1", "stuck.test/"} <= before
    assert "ok.test/1" not in after
    assert [place for place in after if place.endswith("robots.txt")] == []
    final = Counter(page["url"] for page in ended.records("pages"))
    assert final == Counter({line for line in lines if line.startswith("http")})
    stuck = f"http://stuck.test:{port_of(lines[1])}/"
    assert [row["run"] for row in ended.records("intents") if row["url"] == stuck] == [1, 2]
    assert [(row["run"], row["event"]) for row in ended.records("manifest")] == [(1, "start"), (2, "start"), (2, "end")]
    assert [row["id"] for row in ended.records("robots")] == [1, 2]
    check_accounts(ended, 2)


def test_an_interrupted_run_counts_what_was_under_way(tmp_path):
    """ok.test asks for 50 s between requests, so after its robots.txt the next request to it waits."""
    names = {"ok.test": "127.0.0.2", "moved.test": "127.0.0.3"}
    routes = {
        "ok.test/robots.txt": robots("User-agent: *", "Crawl-delay: 50"),
        "moved.test/": Answer(302, (("Location", "http://ok.test:{port}/3"),)),
    }
    with LoopbackWeb({"/robots.txt": ALLOWED, **routes}, names=names) as web:
        queue = tmp_path / "queue.txt"
        queue.write_text("\n".join(queue_of(["ok.test/1", "ok.test/2", "moved.test/"], web.port)))
        args = ["crawl", "seaspider", "-a", f"queue={queue}", "-a", f"store={tmp_path / 'store'}"]
        with subprocess.Popen(
            command(args, names=names), cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            web.wait_until(lambda seen: any(a.target == "/" and a.answered_ns for a in seen), timeout_s=30)
            process.send_signal(signal.SIGINT)
            _, log = process.communicate(timeout=30)
    ended = Ended(process.returncode, "", log, tmp_path / "store")
    assert ended.exit == 130
    counts = check_accounts(ended, 1)
    # ok.test/1 has had its robots.txt and moved.test/ its first hop; ok.test/2 has had no turn.
    assert (counts["queue"]["unfinished"], counts["interrupted"]) == (3, 2)
    assert ended.records("intents")[0]["url"] == f"http://moved.test:{web.port}/"
    assert ended.records("pages") == []
    assert asked(web) == ["moved.test/robots.txt", "ok.test/robots.txt", "moved.test/"]


def test_a_limit_of_scrapys_ends_the_run_and_the_rest_is_left_for_the_next(tmp_path):
    names = {"ok.test": "127.0.0.2", "two.test": "127.0.0.3"}
    with LoopbackWeb({"/robots.txt": ALLOWED, "/*": PAGE}, names=names) as web:
        queue = queue_of(["ok.test/1", "ok.test/2", "two.test/1", "two.test/2", "# end"], web.port)
        first = crawl(queue, tmp_path, names=names, settings={"CLOSESPIDER_PAGECOUNT": 3})
        assert first.exit == 3
        [_, end] = first.records("manifest")
        assert end["reason"] == "closespider_pagecount"
        counts = check_accounts(first, 1)
        assert counts["unfinished"] == 4 - len(first.records("pages")) > 0
        second = crawl(queue, tmp_path, names=names)
        assert second.exit == 0
        assert check_accounts(second, 2)["unfinished"] == 0
        assert sorted(page["url"] for page in second.records("pages")) == sorted(queue[:4])
        assert len(web.arrivals) == 6

        # Twin: without what earlier runs left, everything is asked for again.
        forget = "import seaspider.history as h; h.read = lambda store, book, **options: h.History(runs=2)"
        assert crawl(queue, tmp_path, names=names, sabotage=forget).exit == 0
        assert len(web.arrivals) == 12


def test_equal_stores_whatever_the_interruptions(tmp_path):
    """The same final records, one run or several."""
    names = {"ok.test": "127.0.0.2", "two.test": "127.0.0.3"}
    stores = []
    with LoopbackWeb({"/robots.txt": ALLOWED, "/*": PAGE}, names=names) as web:
        queue = queue_of(["ok.test/1", "two.test/1", "ok.test/2"], web.port)
        for store, limits in [("one", [0]), ("many", [2, 1, 0])]:
            for limit in limits:
                ended = crawl(queue, tmp_path, names=names, store=store, settings={"CLOSESPIDER_PAGECOUNT": limit})
            assert ended.exit == 0
            stores.append(sorted((final(page) for page in ended.records("pages")), key=lambda page: page["url"]))
    assert stores[0] == stores[1]


def final(page: dict) -> dict:
    """A page record as equal stores have it."""
    kept = {key: value for key, value in page.items() if key not in ("run", "visit", "attempts")}
    kept["chain"] = [{key: value for key, value in hop.items() if key != "robots_id"} for hop in page["chain"]]
    return without_times(kept)
