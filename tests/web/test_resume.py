"""Stops, restarts and what is written: the cases of the theme `resume`, and others of their kinds.

Signals are in tests/test_stops.py, full disks and lost descriptors in tests/test_shortages.py, deaths at any instant in
tests/crash/, the order of runs in tests/test_order_runs.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from seaspider.core.records import File
from seaspider.core.times import NS_PER_S
from seaspider.loopback import Answer, Arrival, LoopbackWeb, Request
from seaspider.loopback.judge import Key, min_gaps_ns, order
from tests.accounts import check_accounts
from tests.crash.warm import MOST_S, Warm, shared
from tests.crawling import Ended, command, crawl
from tests.web.sites import AS_IS, Case, Crawled, check, text, to

R = "/robots.txt"
NAMES = {f"{name}.test": f"127.72.1.{number}" for number, name in enumerate("abc", 1)}
NETWORK = {"SEASPIDER_ALLOWED_NETWORKS": "127.72.0.0/16"}
HTML = ("Content-Type", "text/html")


@dataclass(frozen=True, slots=True)
class Place:
    """A web, and where crawls of it begin without waiting for their imports."""

    web: LoopbackWeb
    warm: Warm

    def run(
        self,
        folder: Path,
        targets: Sequence[str],
        *options: str,
        settings: Mapping[str, object] | None = None,
        sabotage: str = "",
    ) -> Ended:
        """A crawl of some targets of a.test; what it asks is then in the web's log."""
        self.web.clear()
        queue, store, log = folder / "queue.txt", folder / "store", folder / "log.txt"
        queue.write_text("".join(f"{self.web.url('a.test', target)}\n" for target in targets))
        args = ["crawl", "seaspider", "-a", f"queue={queue}", "-a", f"store={store}", *options]
        all_settings = {"SEASPIDER_LEDGER": folder / "ledger.sqlite3", **NETWORK, **(settings or {})}
        line = command(args, names=NAMES, settings=all_settings, sabotage=sabotage)
        return Ended(self.warm.start(line, log).wait(MOST_S), "", log.read_text(), store)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    routes = {R: Answer(404), "/*": Answer(200, (HTML,), "<a href=/more>more</a>")}
    with LoopbackWeb(routes, names=NAMES) as web:
        yield Place(web, shared())


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


# --- feeds ---

APPENDED = {"RES-04": "out.json", "RES-04/xml": "out.xml"}


@pytest.mark.parametrize("name", APPENDED.values(), ids=APPENDED)
def test_a_feed_that_cannot_be_appended_to_is_not_made_invalid(tmp_path: Path, place: Place, name: str) -> None:
    feed = tmp_path / name
    assert place.run(tmp_path, ["/1"], "-o", str(feed)).exit == 0
    before = feed.read_bytes()
    again = place.run(tmp_path, ["/1", "/2"], "-o", str(feed))
    kind = feed.suffix[1:]
    why = f"is not empty, and {kind} cannot be appended to: take jsonl, or -O to write it anew"
    assert (again.exit, again.log) == (2, f"scrapy crawl: setting FEEDS = {str(feed)!r}: {why}\n")
    assert (place.web.arrivals, feed.read_bytes()) == ([], before)


def test_twin_without_the_check_the_feed_is_no_json(tmp_path: Path, place: Place) -> None:
    feed, unchecked = tmp_path / "out.json", "from seaspider import feeds; feeds.check = lambda *given: None"
    for targets in (["/1"], ["/1", "/2"]):
        assert place.run(tmp_path, targets, "-o", str(feed), sabotage=unchecked).exit == 0
    with pytest.raises(json.JSONDecodeError):
        json.loads(feed.read_text())


def test_json_lines_are_appended_to(tmp_path: Path, place: Place) -> None:
    """RES-04, what the line says."""
    feed = tmp_path / "out.jsonl"
    for targets in (["/1"], ["/1", "/2"]):
        ended = place.run(tmp_path, targets, "-o", str(feed))
        assert ended.exit == 0, ended.log
    assert [json.loads(line) for line in feed.read_text().splitlines()] == ended.records("pages")


OVERWRITTEN = {"RES-16": ("out.jsonl", b""), "RES-16/csv": ("out.csv", b""), "RES-16/json": ("out.json", b"[]")}
"""Feed, and what a run that has nothing left to do makes of it."""


def test_a_finished_queue_and_feeds_that_are_overwritten_leave_the_records(tmp_path: Path, place: Place) -> None:
    """RES-09, too: nothing is asked, not even robots.txt."""
    feeds = {tmp_path / name: left for name, left in OVERWRITTEN.values()}
    targets, options = ["/1", "/2", "/3"], [part for feed in feeds for part in ("-O", str(feed))]
    first = place.run(tmp_path, targets, *options)
    before = files(first.store)
    assert (first.exit, len(place.web.arrivals)) == (0, 4)
    assert all(feed.stat().st_size > 100 for feed in feeds)
    second = place.run(tmp_path, targets, *options)
    after = files(second.store)
    assert (second.exit, place.web.connections) == (0, 0)
    assert {feed: feed.read_bytes().replace(b"\n", b"") for feed in feeds} == feeds
    for file in ("manifest.jsonl", "skipped.jsonl"):  # they say that there was a second run
        assert after.pop(file).startswith(before.pop(file))
    assert after == before
    assert len(second.records("pages")) == 3


# --- descriptors ---

FEW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))"


def test_a_host_costs_no_descriptor(tmp_path: Path) -> None:
    """RES-06: 115 hosts with 60 descriptors, of which Python, the log and the store take some."""
    names = {f"h{number}.test": f"127.72.2.{number}" for number in range(1, 116)}
    with LoopbackWeb({R: Answer(404), "/*": Answer(body="x")}, names=names) as many:
        queue = [many.url(host) for host in names]
        ended = crawl(queue, tmp_path, names=names, settings=NETWORK, sabotage=FEW)
    assert ended.exit == 0, ended.log
    assert list(ended.endings().values()) == ["stored"] * 115
    check_accounts(ended, 1)


# --- values that break a line ---

ODD = "".join(map(chr, (*range(1, 0x20), *range(0x7F, 0xA0)))).translate({10: None, 13: None})
"""Control characters that an octet of a header can be; LF and CR end one."""
BREAKS = "\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"
"""What str.splitlines() takes for the end of a line."""


def odd_headers(*names: str, value: str = ODD) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name in names)


def linked(markup: str | bytes) -> Answer:
    return Answer(200, (HTML,), markup)


def stored(answer: Answer, outcome: str = "", robots: Answer | None = None) -> Case:
    return Case((R, "/a"), {"/a": "stored"}, outcome, {"/a": answer, **({R: robots} if robots else {})})


VALUES: dict[str, Case] = {
    "RES-10": stored(
        Answer(
            200, (*odd_headers("X-Odd", value="\xed\xa0\x80 \xff" + ODD), HTML), b"<a href='/\xed\xa0\x80'>\xff</a>"
        ),
        "each line is one JSON object in ASCII; octets of headers are Latin-1, of URLs percent-encoded; no NaN",
    ),
    "RES-10/content-type": stored(Answer(200, odd_headers("Content-Type", value=f"text/html{ODD}; charset={ODD}"))),
    "RES-10/surrogate-reference": stored(linked("<a href='/&#xD800;?&#xDFFF;'>&#xD800;&#x110000;</a>")),
    "RES-10/surrogate-where-no-url": stored(linked("<a href='x:&#xD800;' rel='&#xD800;'>x</a>")),
    "RES-10/utf-16-half": stored(linked(b"<meta charset=utf-8><a href='/x'>" + b"\xed\xb0\x80\xf4\x90\x80\x80</a>")),
    "RES-10/line-ends-in-text": stored(linked(f"<a href='/{BREAKS}' rel='{BREAKS}'>a{BREAKS}b</a>")),
    "RES-10/line-ends-where-no-url": stored(linked(f"<a href='x:{BREAKS}{ODD}'>")),
    "RES-10/location": Case((R, "/a"), {"/a": "refused/bad-location"}, routes={"/a": to(f"http://[{ODD}\xed\xa0\x80")}),
    "RES-10/location-asked": Case(
        (R, "/a", "/%C2%85%E2%80%A8%ED%A0%80"),
        {"/a": "stored"},
        routes={"/a": to("/\xc2\x85\xe2\x80\xa8\xed\xa0\x80"), "/%C2%85%E2%80%A8%ED%A0%80": Answer()},
    ),
    "RES-10/validators": stored(
        Answer(), robots=Answer(200, odd_headers("ETag", "Last-Modified"), "User-agent: *\nDisallow:\n")
    ),
    "RES-10/robots-lines": stored(
        Answer(),
        robots=text(
            b"User-agent: *",
            b"Disallow: /\xed\xa0\x80\xff\x1b[2J",
            b"Allow: /\x85\xe2\x80\xa8",
            f"Sitemap: /{BREAKS}",
            b"Sitemap: \xff\x1b",
        ),
    ),
    "RES-10/robots-rule": Case(
        (R,),
        {"/a": "disallowed/robots-rule"},
        routes={R: text(b"User-agent: *", b"Disallow: /*a$\xff\x1b[2J", b"Disallow: /a\x1b", b"Disallow: /")},
    ),
    **{
        f"RES-10/crawl-delay-{value}": stored(Answer(), robots=text("User-agent: *", f"Crawl-delay: {value}"))
        for value in ("NaN", "-inf", "-0", "0e9")
    },
    **{
        f"RES-10/retry-after-{value}": stored(Answer(200, (("Retry-After", value),)))
        for value in ("NaN", "Infinity", "-1", "1e999")
    },
    "RES-10/queue": Case(
        (R, "/a%E2%80%A8%C2%85"),
        {},
        queue=[f"{AS_IS}http://{{host}}/a\u2028\x85", f"{AS_IS}x:{BREAKS}\x1b[2J"],
        skipped=["rejected/scheme"],
    ),
}


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return Crawled(VALUES, tmp_path_factory.mktemp("values"))


@pytest.mark.parametrize("id", VALUES)
def test_values_that_break_a_line(values: Crawled, id: str) -> None:
    if id == "RES-10/queue":
        assert values.seen(id).asked == list(VALUES[id].asked)
        assert values.seen(id).skipped == list(VALUES[id].skipped)
    else:
        check(values, id)


def no_such_number(text: str) -> float:
    raise AssertionError(text)


def test_every_line_is_one_json_object_in_ascii(values: Crawled) -> None:
    """RES-10, over all its values."""
    for file in File:
        octets = (values.ended.store / file).read_bytes()
        assert octets.isascii()
        assert octets.replace(b"\n", b"").decode().isprintable()
        lines = octets.decode().splitlines()
        assert len(lines) == octets.count(b"\n") > 0
        for line in lines:
            record = json.loads(line, parse_constant=no_such_number)
            assert isinstance(record, dict)
            # A reader that is strict about surrogates can have it, too.
            json.dumps(record, ensure_ascii=False).encode()


# --- clocks ---

# The wall clock is set, by so many ms, when it is read for the so-manieth time.
STEP = """
from seaspider.clock import SystemClock
_true, _reads = SystemClock.wall_ms, []
def wall_ms(self):
    _reads.append(None)
    return _true(self) + sum(by for at, by in {steps} if len(_reads) >= at)
SystemClock.wall_ms = wall_ms
"""
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Step:
    """(reading from which on, ms) of each step; how often robots.txt is asked: an entry that is over, or from a future
    that is too far, is not used."""

    steps: Sequence[tuple[int, int]]
    robots: int


STEPS = {
    "RES-14": Step([(12, -HOUR_MS)], 2),
    "RES-14/forward": Step([(12, HOUR_MS)], 1),
    "RES-14/a-little-back": Step([(12, -60_000)], 1),
    "RES-14/a-year": Step([(12, 365 * 24 * HOUR_MS)], 2),
    "RES-14/to-and-fro": Step([(12, HOUR_MS), (16, -HOUR_MS), (20, HOUR_MS)], 1),
    "RES-14/to-1970": Step([(12, -56 * 365 * 24 * HOUR_MS)], 2),
}
INTERVAL_S = 0.1


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_clock_that_is_set_changes_no_pause(tmp_path: Path, place: Place, step: Step) -> None:
    targets = [f"/{n}" for n in range(1, 7)]
    settings = {"SEASPIDER_INTERVAL": INTERVAL_S}
    ended = place.run(tmp_path, targets, settings=settings, sabotage=STEP.format(steps=list(step.steps)))
    assert ended.exit == 0, ended.log
    asked = [arrival.target for arrival in place.web.arrivals]
    assert [target for target in asked if target != R] == targets
    assert asked.count(R) == step.robots
    assert gap_ns(place.web.arrivals) >= INTERVAL_S * NS_PER_S
    assert {row["pause_s"] for row in ended.records("requests") if row["event"] == "settle"} == {INTERVAL_S}
    # Nobody slept by the wall clock: seconds, not an hour.
    assert place.web.arrivals[-1].arrived_ns - place.web.arrivals[0].arrived_ns < 20 * NS_PER_S


def gap_ns(arrivals: Sequence[Arrival]) -> int:
    return min(min_gaps_ns(arrivals, Key.HOST).values())


# --- order ---


def test_hash_seeds_and_latencies_change_no_record(tmp_path: Path) -> None:
    """RES-15; ten runs with every kind of record are in tests/test_order_runs.py."""
    seen = []
    for seed in ("0", "1"):

        def late(request: Request, seed: str = seed) -> Answer:
            return Answer(
                200, (HTML,), "<a href=/x>x</a>", delay_s=0.02 * (hash((seed, request.target, request.host)) % 3)
            )

        with LoopbackWeb({R: Answer(404), "/*": late}, names=NAMES) as shuffled:
            queue = [shuffled.url(host, f"/{n}") for n in range(3) for host in ("c.test", "a.test", "b.test")]
            ended = crawl(
                queue,
                tmp_path,
                names=NAMES,
                store=seed,
                settings=NETWORK,
                environment={"PYTHONHASHSEED": seed},
                cold=True,
            )
            records = json.dumps(ended.timeless("robots", "intents", "requests", "pages", "links", "skipped"))
            seen.append((order(shuffled.arrivals), records.replace(str(shuffled.port), "PORT")))
            assert len(ended.records("pages")) == 9
    assert seen[0] == seen[1]


HERE, STOPS, SHORT, RESUME = (
    f"tests/{name}.py" for name in ("web/test_resume", "test_stops", "test_shortages", "test_resume")
)
WHERE: dict[str, str] = {
    "RES-02": f"{STOPS}::test_twice_is_at_once_and_nothing_is_lost: "
    "exit 130; each URL has one record after the next run",
    "RES-04": f"{HERE}::test_a_feed_that_cannot_be_appended_to_is_not_made_invalid[RES-04], "
    f"{HERE}::test_json_lines_are_appended_to: "
    "exit 2 before any request, one line that names jsonl and -O; the feed stays as it was",
    "RES-05": f"{SHORT}::test_a_disk_that_is_full_or_cannot_be_written, "
    "tests/test_store.py::test_a_full_disk_ends_the_crawl_and_what_is_recorded_stays, "
    f"{SHORT}::test_the_next_run_completes_the_store_and_asks_for_nothing_that_is_recorded: "
    "exit 74 with the file and the reason, no request after it, no torn line",
    "RES-06": f"{HERE}::test_a_host_costs_no_descriptor, {SHORT}::test_no_descriptor_is_left: "
    "all stored; if none is left at all: exit 74",
    "RES-08": f"{RESUME}::test_killed_in_the_middle_nothing_is_lost_and_nothing_done_twice, "
    "tests/crash/test_matrix.py::test_one_death_of_each_kind_leaves_nothing_wrong: "
    "asked for again; both intents are recorded",
    "RES-09": f"{HERE}::test_a_finished_queue_and_feeds_that_are_overwritten_leave_the_records, "
    f"{RESUME}::test_a_finished_queue_asks_nothing: no request, not even for robots.txt; lines are skipped as done",
    "RES-10": f"{HERE}::test_values_that_break_a_line[RES-10], {HERE}::test_every_line_is_one_json_object_in_ascii: "
    + VALUES["RES-10"].outcome,
    "RES-13": "tests/test_store.py::test_a_store_in_use_ends_the_second_process: exit 75, no request",
    "RES-14": f"{HERE}::test_a_clock_that_is_set_changes_no_pause[RES-14]: "
    "pauses as ever; robots.txt is asked again if its entry is over, or from a future too far",
    "RES-15": f"{HERE}::test_hash_seeds_and_latencies_change_no_record, "
    "tests/test_order_runs.py::test_p5_ten_runs_write_the_same_bytes: "
    "the same requests and the same records, times aside",
    "RES-16": f"{HERE}::test_a_finished_queue_and_feeds_that_are_overwritten_leave_the_records: "
    "the feed is empty, being of that run; the records are as they were",
}
