"""The benchmark's judge on a log made by hand, its rows on runs made by hand, and one small benchmark to its end."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.peers.crawlers import Crawler
from benchmarks.peers.measure import free_port, measure
from benchmarks.peers.promises import promises
from benchmarks.peers.rows import Limit, Row, Verdict, rows
from benchmarks.peers.runs import Run, Runs
from benchmarks.peers.seen import Seen, judge, read
from benchmarks.peers.workloads import WORKLOADS, Profile, Workload
from tests.crawling import ROOT

SLOW = "127.0.1.2"
MADE_UP = Workload("X", "", 0.2, lambda port: [], Counter({"127.0.1.1": 3, SLOW: 2}), 3, Profile(), slow_s={SLOW: 1.0})
# first byte, answered, others in flight, address, target; in ns
KEPT = [
    (1_000_000_007, 1_000_000_009, 0, "127.0.1.1", "/robots.txt"),
    (1_000_000_107, 1_000_000_109, 0, SLOW, "/robots.txt"),
    (1_200_000_007, 1_200_000_009, 0, "127.0.1.1", "/p/0"),
    (1_400_000_007, 1_400_000_009, 0, "127.0.1.1", "/p/1"),
    (2_000_000_107, 2_250_000_007, 0, SLOW, "/p/0"),
]


def judged(tmp_path, requests):
    lines = [f"{at}\t{end}\t{others}\t{ip}\t{ip}:24100\t{target}\n" for at, end, others, ip, target in requests]
    (tmp_path / "log.tsv").write_text("".join(lines))
    return judge(read(tmp_path / "log.tsv"), MADE_UP)


def with_request(n, **changed):
    names = ("at", "end", "others", "ip", "target")
    request = {**dict(zip(names, KEPT[n], strict=True)), **changed}
    return [*KEPT[:n], tuple(request.values()), *KEPT[n + 1 :]]


def test_a_log_in_which_all_was_kept(tmp_path):
    assert judged(tmp_path, KEPT) == Seen(
        requests=5,
        pages=3,
        first_ns=1_000_000_007,
        window_s=1.25,
        pairs=6,  # three of addresses and as many of hosts
        nearer=0,
        early=0,
        in_flight=1,
        breadth=1000,
        efficiency=0.8,  # the slow host needs a second
        order="203989958ee5",
    )


@pytest.mark.parametrize(
    ("requests", "found"),
    [
        (with_request(2, at=1_200_000_006), {"nearer": 2}),
        (with_request(4, at=2_000_000_106), {"nearer": 2}),
        (with_request(2, at=1_150_000_007), {"nearer": 2}),
        (with_request(0, target="/p/9"), {"early": 3, "pages": 4, "order": "576f8e238b5e"}),
        (with_request(0, end=1_200_000_008), {"early": 1}),
        (with_request(1, others=1), {"in_flight": 2}),
        (with_request(4, end=0), {"pages": 2, "window_s": 1.0000001, "efficiency": 1 / 1.0000001}),
        (with_request(1, ip="127.0.1.1"), {"nearer": 4, "breadth": 500, "early": 1, "order": "93e44da81710"}),
    ],
    ids=[
        "a-nanosecond-too-near",
        "nearer-than-a-crawl-delay",
        "much-too-near",
        "no-robots",
        "page-before-the-answer-of-robots",
        "two-in-flight",
        "never-answered",
        "the-same-host-twice-in-a-row",
    ],
)
def test_what_a_log_shows(tmp_path, requests, found):
    assert judged(tmp_path, requests) == replace(judged(tmp_path, KEPT), **found)


def test_an_empty_log_is_no_figure(tmp_path):
    with pytest.raises(ValueError, match=r"^the servers saw no request$"):
        judged(tmp_path, [])


BOUNDS = {"W2": 5.0, "W2i": 8.0, "W2n": 5.0, "W3": 5.0, "W4": 80.0, "W7": 4.8}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name):
    assert WORKLOADS[name](1).bound_s == pytest.approx(BOUNDS[name], abs=1e-9)


def test_a_long_queue_has_so_many_urls():
    workload = WORKLOADS["W5"](0.001)
    lines = list(workload.urls(24100))
    assert (len(lines), workload.pages) == (1000, 900)
    plain = {line.partition("#")[0].replace("HTTP:", "http:").replace("/x/..", "") for line in lines}
    assert len(plain) == 900


# Rows

SIGHT = Seen(20, 10, 7, 2.0, 18, 0, 0, 1, 1000, 0.98, "abc")
OURS, SAME, DURABLE, AIOHTTP = "seaspider/round-robin", "scrapy/same-output", "scrapy/same-durable", "aiohttp"


def ran(workload, crawler, turn=0, cpu_s=1.0, busy=False, fault="", **seen):
    return Run(workload, crawler, turn, busy, 0.1, 3.0, cpu_s, 90.0, 0.5, replace(SIGHT, **seen), fault)


def only(found) -> Row:
    (row,) = found
    return row


@pytest.mark.parametrize(
    ("value", "at_most", "verdict"),
    [
        (6, False, Verdict.STRETCH),
        (5.9, False, Verdict.MUST),
        (3, False, Verdict.MUST),
        (2.9, False, Verdict.BELOW),
        (3, True, Verdict.STRETCH),
        (3.1, True, Verdict.MUST),
        (6, True, Verdict.MUST),
        (6.1, True, Verdict.BELOW),
    ],
)
def test_limits(value, at_most, verdict):
    limit = Limit(6, 3, at_most) if at_most else Limit(3, 6)
    assert limit.verdict(value) is verdict


def test_a_ratio_is_made_inside_a_round():
    windows = ((2.0, 4.0), (8.0, 14.0), (1.0, 1.0))  # 2.0, 1.75 and 1.0 times as fast, 1.75 in the middle
    runs = [
        ran("W1", crawler, turn, window_s=window)
        for turn, both in enumerate(windows)
        for crawler, window in zip((OURS, SAME), both, strict=True)
    ]
    row, durable = (row for row in rows(Runs(runs)) if row.row == "P5")
    assert (durable.ratio, durable.verdict) == ("", "- nothing to compare with")
    assert (row.ours, row.peers, row.ratio) == ("5", "scrapy/same-output 2", "1.75 x scrapy/same-output")
    assert (row.must, row.stretch, row.verdict) == ("≥ 1.4", "≥ 1.9", "must")


def test_the_start_is_no_cost_of_a_page():
    runs = [ran("W1", OURS, cpu_s=1.9), ran("W1", AIOHTTP, cpu_s=0.4)]
    runs += [ran("W0", OURS, cpu_s=1.0, pages=1), ran("W0", AIOHTTP, cpu_s=0.1, pages=1)]
    row = only(row for row in rows(Runs(runs)) if row.row == "P6")
    assert (row.ours, row.peers, row.ratio, row.verdict) == ("100.00", "aiohttp 33.33", "3.00 x aiohttp", "stretch")


def test_a_crawl_that_is_not_whole_is_no_figure():
    runs = Runs([ran("W2i", OURS), ran("W2i", OURS, 1, fault="exit code 3: deferred")])
    row = only(row for row in rows(runs) if row.row == "P2")
    assert (row.ours, row.verdict) == ("0.980", "BELOW MUST: exit code 3: deferred")


@pytest.mark.parametrize(
    ("seen", "shown", "verdict"),
    [
        ({}, "0 of 36; 0; 1", "stretch"),
        ({"nearer": 1}, "1 of 36; 0; 1", "BELOW MUST"),
        ({"early": 1}, "0 of 36; 1; 1", "BELOW MUST"),
        ({"in_flight": 2}, "0 of 36; 0; 2", "BELOW MUST"),
    ],
    ids=["kept", "too-near", "before-robots", "two-in-flight"],
)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_one_pair_too_near_is_seen_in_the_row(busy, seen, shown, verdict):
    runs = Runs([ran("W2", OURS, busy=busy), ran("W3", OURS, busy=busy, **seen)])
    row = only(row for row in promises(runs) if row.row == "P1")
    assert (row.workload, row.ours, row.verdict) == ("W2, W3", shown, verdict)


@pytest.mark.parametrize(
    ("orders", "shown", "verdict"),
    [
        ("aaaaa", "1 / 5", "stretch"),
        ("aaaa", "1 / 4", "- fewer than 5 runs of W2"),
        ("aaab", "2 / 4", "BELOW MUST"),
    ],
)
def test_one_order_that_differs_is_seen_in_the_row(orders, shown, verdict):
    runs = [ran("W2", OURS, turn, busy=turn > 0 and turn % 2 == 1, order=order) for turn, order in enumerate(orders)]
    row = only(row for row in promises(Runs(runs)) if row.row == "P11")
    assert (row.ours, row.verdict) == (shown, verdict)


# The benchmark itself

ONE = "import sys, urllib.request as r; r.urlopen(next(open(sys.argv[1]))).read()"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("print('trouble'); raise SystemExit(3)", "exit code 3: trouble"),
        ("pass", "no request"),
        (ONE, "9 pages were not asked for"),
    ],
    ids=["exit-code", "nothing", "a-part"],
)
def test_a_crawl_that_is_not_whole_has_a_fault(tmp_path, code, fault):
    crawler = Crawler("x", lambda job: [sys.executable, "-c", code, str(job.queue)])
    workload = WORKLOADS["W1"](0.001)
    with free_port() as port:
        workload.write(tmp_path / "queue.txt", port)
        assert measure(workload, crawler, tmp_path / "queue.txt", port, 0).fault == fault


def test_two_benchmarks_have_two_ports():
    with free_port() as first, free_port() as second:
        assert first != second


def benchmark(*words, timeout_s=60):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def test_a_small_benchmark_from_its_start_to_its_table():
    few = ("--orders", "round-robin", "--peers", "scrapy", "--rounds", "1", "--busy", "0", "--scale", "0.001")
    ended = benchmark("--workloads", "W1", *few, "--json")
    found = json.loads(ended.stdout)
    runs = {run["crawler"]: run for run in found["runs"]}
    assert list(runs) == [OURS, "scrapy", SAME, DURABLE]
    for name, run in runs.items():
        figures = ("requests", "pages", "pairs", "early", "in_flight")
        assert [run["fault"], *(run["seen"][figure] for figure in figures)] == ["", 20, 10, 20, 0, 1], name
    hosts = sorted(WORKLOADS["W1"](0.001).requests)
    turns = [f"{host} {target}" for target in ("/robots.txt", "/p/0") for host in hosts]
    order = hashlib.sha256("\n".join(turns).encode()).hexdigest()[:12]
    assert (runs[OURS]["seen"]["order"], runs[OURS]["seen"]["breadth"]) == (order, 1000)
    assert [row["row"] for row in found["rows"]] == ["P5", "P5", "P6", "P11"]
    assert ended.returncode == int(any(row["verdict"] == Verdict.BELOW for row in found["rows"]))


def test_an_interruption_shows_what_was_run_until_then():
    words = ("--workloads", "W0,W2i", "--orders", "round-robin", "--peers", "pycurl", "--rounds", "1", "--json")
    # A shell has what it runs in the background ignore it.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "benchmarks.peers", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("W0 0 seaspider/round-robin: 2 requests in ")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, [run["workload"] for run in json.loads(out)["runs"]][:1]) == (130, ["W0"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workloads", "W1,W99"], "argument --workloads: 'W99' is none of W0, W1, W2, W2i, W2n, W3, W4, W5, W6, W7"),
        (["--rounds", "0"], "argument --rounds: '0' is no number from 1"),
        (["--scale", "nan"], "argument --scale: 'nan' is no number from 0.001"),
    ],
    ids=["workload", "rounds", "scale"],
)
def test_what_cannot_be_meant_is_said_in_a_line(words, said):
    ended = benchmark(*words)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (2, f"python -m benchmarks.peers: error: {said}")
