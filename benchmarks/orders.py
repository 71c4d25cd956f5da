"""How near each order comes to the bound where hosts have very unequal work, pauses and answers.

    python -m benchmarks.orders [ROUNDS [HOSTS]]

Most hosts have a page or two, some have many, a tenth asks for a crawl-delay five times the interval, and now and then
an answer takes very long. No crawl that has one request under way at a time, and keeps the pauses, can be over before
the bound: the answers one after the other, or the answers and pauses of one host. Bound / window is taken from the
servers' log, of whole crawls on 127.0.0.0/8, in rounds that begin with another order each. Beside it the same turns on
virtual time, without a crawl. `most-remaining` has to be told how long an answer lasts; on virtual time it is also told
a tenth of the truth, and ten times as much.
"""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import seaspider
from seaspider.core.orders import OrderName, new_order
from seaspider.core.times import ns_from_s
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.loopback.arrivals import Arrival

ROOT = Path(__file__).resolve().parents[1]
ROUNDS, HOSTS, MOST_PAGES = 3, 60, 15
INTERVAL_S, CRAWL_DELAY_S = 0.4, 2.0
ANSWER_S, SIGMA, LONGEST_S = 0.1, 1.0, 3.0
RUN_S = 300

Seconds = Mapping[tuple[str, int], float]
"""How long each answer takes, by host and number; 0 is robots.txt."""


@dataclass(frozen=True, slots=True)
class Host:
    pages: int
    pause_s: float


@dataclass(frozen=True, slots=True)
class Way:
    """`answer_s`: what the order is told; `crawls`: whether it is tried in a crawl."""

    name: str
    order: OrderName
    answer_s: float = ANSWER_S
    crawls: bool = True


WAYS = (
    Way("`round-robin`", OrderName.ROUND_ROBIN),
    Way("`longest-idle`", OrderName.LONGEST_IDLE),
    Way("`most-remaining`", OrderName.MOST_REMAINING),
    Way("`most-remaining`, told a tenth", OrderName.MOST_REMAINING, ANSWER_S / 10, crawls=False),
    Way("`most-remaining`, told ten times", OrderName.MOST_REMAINING, ANSWER_S * 10, crawls=False),
)


def mix(hosts: int, seed: int) -> dict[str, Host]:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    return {
        f"h{n:04}.test": Host(
            min(MOST_PAGES, 1 + int(chance.paretovariate(1.1))), INTERVAL_S if n % 10 else CRAWL_DELAY_S
        )
        for n in range(hosts)
    }


def answers(hosts: Mapping[str, Host], seed: int) -> Seconds:
    chance = random.Random(f"answers {seed}")  # noqa: S311 - the same each time
    return {
        (name, n): min(LONGEST_S, ANSWER_S * chance.lognormvariate(-SIGMA * SIGMA / 2, SIGMA))
        for name, host in hosts.items()
        for n in range(host.pages + 1)
    }


# --- without a crawl ---


def simulated(hosts: Mapping[str, Host], took_s: Seconds, way: Way) -> float:
    """Bound / window of the order's own turns on virtual time."""
    order = new_order(way.order, ns_from_s(way.answer_s), ns_from_s(INTERVAL_S))
    for name, host in hosts.items():
        for _ in range(host.pages):
            order.push(name, name, name)
    now_s, due_s, asked = 0.0, dict.fromkeys(hosts, 0.0), dict.fromkeys(hosts, 0)
    while (name := order.next()) is not None:
        host, first = hosts[name], not asked[name]
        if first:
            order.put_back(name, name, name)
        order.took_turn()
        now_s = max(now_s, due_s[name]) + took_s[name, asked[name]]
        due_s[name], asked[name] = now_s + host.pause_s, asked[name] + 1
        order.settled(name, name, ns_from_s(host.pause_s), ns_from_s(host.pause_s))
    return bound_s(hosts, took_s) / now_s


def bound_s(hosts: Mapping[str, Host], took_s: Seconds) -> float:
    of_hosts = dict.fromkeys(hosts, 0.0)
    for (name, _), seconds in took_s.items():
        of_hosts[name] += seconds
    longest = max(seconds + hosts[name].pages * hosts[name].pause_s for name, seconds in of_hosts.items())
    return max(longest, sum(of_hosts.values()))


# --- whole crawls ---


def crawled(hosts: Mapping[str, Host], took_s: Seconds, way: Way) -> float:
    """Bound / window by the servers' log."""
    names = {name: f"127.0.{41 + n // 200}.{n % 200 + 1}" for n, name in enumerate(hosts)}
    routes: dict[str, Answer] = {}
    for (name, n), seconds in took_s.items():
        robots = Answer(404, delay_s=seconds)
        if hosts[name].pause_s > INTERVAL_S:
            robots = Answer(body=f"User-agent: *\nCrawl-delay: {hosts[name].pause_s}\n", delay_s=seconds)
        routes[f"{name}/{n or 'robots.txt'}"] = Answer(body="a page\n", delay_s=seconds) if n else robots
    with LoopbackWeb(routes, names=names) as web, tempfile.TemporaryDirectory() as folder:
        queue = Path(folder) / "queue.txt"
        queue.write_text("".join(f"{web.url(name, f'/{n}')}\n" for name, n in took_s if n), "utf-8")
        _crawl(way, names, Path(folder))
        arrivals = web.arrivals
    if len(arrivals) != len(took_s):
        raise SystemExit(f"{way.name}: {len(arrivals)} requests, not {len(took_s)}")
    return _of_log(hosts, arrivals)


def _of_log(hosts: Mapping[str, Host], arrivals: Sequence[Arrival]) -> float:
    took_s: dict[tuple[str, int], float] = {}
    for arrival in arrivals:
        number = 0 if arrival.target == "/robots.txt" else int(arrival.target[1:])
        took_s[arrival.name, number] = ((arrival.answered_ns or 0) - arrival.arrived_ns) / 1e9
    window_s = (max(a.answered_ns or 0 for a in arrivals) - min(a.arrived_ns for a in arrivals)) / 1e9
    return bound_s(hosts, took_s) / window_s


def _crawl(way: Way, names: Mapping[str, str], folder: Path) -> None:
    settings = {
        "SEASPIDER_ORDER": way.order,
        "SEASPIDER_EXPECTED_ANSWER": way.answer_s,
        "SEASPIDER_INTERVAL": INTERVAL_S,
        "SEASPIDER_LEDGER": folder / "ledger.sqlite3",
        "SEASPIDER_RESOLVE": "{" + ", ".join(f'"{name}": "{address}"' for name, address in names.items()) + "}",
    }
    switches = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", "seaspider", "-a", f"queue={folder / 'queue.txt'}"]
    subprocess.run(  # noqa: S603 - this very Python, and nothing from outside
        [*command, "-a", f"store={folder / 'store'}", *switches],
        cwd=ROOT,
        env={**os.environ, "SCRAPY_PROJECT": "loopback"},
        stderr=subprocess.DEVNULL,
        timeout=RUN_S,
        check=True,
    )


def main(rounds: int = ROUNDS, hosts: int = HOSTS) -> None:
    found: dict[Way, list[float]] = {way: [] for way in WAYS}
    virtual: dict[Way, list[float]] = {way: [] for way in WAYS}
    for turn in range(rounds):
        # Another mix each round: what is compared is asked of all in it.
        web = mix(hosts, turn)
        took_s = answers(web, turn)
        crawls = [way for way in WAYS if way.crawls]
        at = turn % len(crawls)
        for way in crawls[at:] + crawls[:at]:
            found[way].append(crawled(web, took_s, way))
        for way in WAYS:
            virtual[way].append(simulated(web, took_s, way))
    print(
        f"{hosts} hosts, {INTERVAL_S:g} s between requests, a tenth with a crawl-delay of {CRAWL_DELAY_S:g} s; answers "
        f"of {ANSWER_S:g} s on average; {rounds} rounds, each with another mix\n"
        f"seaspider {seaspider.__version__}, Python {platform.python_version()}, {platform.system()}\n"
    )
    print("| order | bound / window | of each round | on virtual time | of each round |\n|---|---|---|---|---|")
    for way in WAYS:
        cells = [
            cell
            for ratios in (found[way], virtual[way])
            for cell in (f"{median(ratios):.3f}" if ratios else "", ", ".join(f"{ratio:.3f}" for ratio in ratios))
        ]
        print(f"| {way.name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
