"""Whole crawls by chance: a seed gives a queue, hosts, their answers and settings, and one or two runs over them.

The same seed gives the same web, and its answers depend on nothing but how often a URL was asked. Every host name is in
SEASPIDER_RESOLVE, so no other resolver has a say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from seaspider.config import ORDERS
from seaspider.loopback import Answer, LoopbackWeb, Route
from seaspider.loopback.certificates import Authority
from tests.crawling import Ended, crawl
from tests.verify import randomanswers
from tests.verify.randomanswers import (
    HTML,
    MAX_BODY_BYTES,
    OVER_CAP_S,
    PAGE_FAULTS,
    PAGES,
    PATHS,
    ROBOTS,
    ROBOTS_FAULTS,
    TEXT,
    Dice,
)

AT_ONCE = 4

Names = Mapping[str, tuple[str, ...]]

SPECIAL, NAMELESS, REFUSING, TWICE = "special.test", "nameless.test", "refusing.test", "twice.test"
MOVER, VAULT = "mover.test", "vault.test"
"""Hosts whose robots.txt can be had in the first run, and which cannot be connected to, or trusted, in the second."""
ODD = ("odd.test", "even.test")
"""Hosts whose robots.txt is a fault."""
FAULTY = "faulty.test"
"""A host whose pages are faults."""
BARRIER, BEHIND = "barrier.test", "behind.test"
"""A host that will soon take no request, and one whose robots.txt is redirected to it then."""

_KILLED = """
import os, signal
from seaspider import faultpoints
left = [{nth}]
def reached(point):
    if point == {point!r}:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
faultpoints.reached = reached
"""
_KILL_POINTS = ("before send", "after write requests.jsonl", "after write pages.jsonl", "after write robots.jsonl")

_BAD_LINES = (
    *("", "   ", "# a comment", "ftp://h1.test/", "mailto:x@h1.test", "http://me@h1.test/", "h1.test/", "http://a b/"),
    *("http://h1.test:99999/", "http:/h1.test/", f"http://h1.test/{'x' * 9000}", "http://h1.test/\udcff"),
)
"""Lines that are no URL. The last is no UTF-8."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. `{port}`, `{other}` and `{tlsport}` in a line stand for the ports of the servers."""

    lines: tuple[str, ...]
    settings: Mapping[str, object]
    arguments: Mapping[str, object]
    names: Names
    trusted: bool = True
    """Whether the certificate of the servers is."""
    sabotage: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    seed: int
    routes: Mapping[str, Route]
    runs: tuple[Plan, ...]
    connect: Mapping[str, str] = field(default_factory=dict)
    """Address -> what a connection meets there."""

    @property
    def names(self) -> Names:
        return self.runs[0].names


def make(seed: int) -> Web:
    """The crawl of a seed. Even seeds keep a robots.txt for an hour, odd ones for 0.3 s at most."""
    random = Random(seed)
    served = [f"h{n}.test" for n in range(1, random.randint(7, 10))]
    names = _names(random, seed, served)
    dice = Dice(random, [*served, *served, SPECIAL, NAMELESS, REFUSING])
    routes = {**_routes(dice, [*served, TWICE]), **_fixed_routes(seed), **_faults(dice, seed)}
    settings = _settings(random, seed)
    lines = _queue(random, [*served, SPECIAL, NAMELESS, REFUSING, TWICE])
    arguments = {"follow": random.choice(["off", "host", "host"])} | {
        "max_depth": random.randint(1, 3), "max_pages": random.randint(4, 12)
    }  # fmt: skip
    first = Plan((*lines, *_special_lines("first")), settings, arguments, names, sabotage=_kill(random, seed))
    runs = [first]
    if seed % 3 != 2:
        later = [line for line in lines if random.random() < 0.9] + _queue(random, served)[:8]
        retry = {"retry": "failed"} if seed % 4 == 2 else {}
        moved = {**names, MOVER: names[REFUSING]}
        second = (*later, *_special_lines("second"))
        runs.append(Plan(second, settings, {**arguments, **retry}, moved, trusted=False))
    return Web(seed, routes, tuple(runs), {names[REFUSING][0]: "refuse"})


def run(seed: int, folder: Path) -> Ended:
    """Crawls the web of a seed into `folder`/store, in one run or two, and returns how the last one ended.

    The queues are `queue-1.txt` and `queue-2.txt`.
    """
    web = make(seed)
    authority = Authority()
    (folder / "authority.pem").write_text(authority.pem)
    with ExitStack() as running:
        tls = authority.server([name for name, addresses in web.names.items() if addresses])
        here = running.enter_context(LoopbackWeb(web.routes, names=web.names, connect=web.connect, tls=tls))
        other = running.enter_context(LoopbackWeb(web.routes, names=web.names, connect=web.connect))
        ports = {"{port}": here.port, "{other}": other.port, "{tlsport}": here.tls_port}
        for number, plan in enumerate(web.runs, 1):
            ended = _crawl(plan, folder, folder / f"queue-{number}.txt", ports)
    return ended


def run_all(seeds: Sequence[int], folder: Path) -> dict[int, Ended]:
    """run() for each seed, some at once, in folders of their own."""

    def one(seed: int) -> Ended:
        mine = folder / str(seed)
        mine.mkdir()
        return run(seed, mine)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(seeds, pool.map(one, seeds), strict=True))


def _crawl(plan: Plan, folder: Path, queue: Path, ports: Mapping[str, int]) -> Ended:
    text = "".join(f"{line}\n" for line in plan.lines)
    for name, port in ports.items():
        text = text.replace(name, str(port))
    queue.write_text(text, "utf-8", "surrogateescape")
    trust = folder / "authority.pem" if plan.trusted else queue  # which is no certificate
    return crawl(
        queue,
        folder,
        names=plan.names,
        settings=plan.settings,
        arguments=plan.arguments,
        sabotage=plan.sabotage,
        environment={"SSL_CERT_FILE": str(trust)},
    )


# --- what chance decides ---


def _names(random: Random, seed: int, served: list[str]) -> dict[str, tuple[str, ...]]:
    addresses = [f"127.1.{seed % 250}.{n}" for n in range(1, 40)]
    names: dict[str, tuple[str, ...]] = {}
    for name in served:
        shared = names and random.random() < 0.25
        names[name] = random.choice(list(names.values())) if shared else (addresses.pop(),)
    for name in (MOVER, VAULT, *ODD, FAULTY, BARRIER, BEHIND, REFUSING):
        names[name] = (addresses.pop(),)
    return {
        **names,
        TWICE: (addresses[1], addresses[0]),
        SPECIAL: random.choice([("169.254.7.7",), ("10.0.0.1", addresses[0]), ("::1",)]),
        NAMELESS: (),
    }


def _routes(dice: Dice, hosts: list[str]) -> dict[str, Route]:
    routes: dict[str, Route] = {}
    for host in hosts:
        routes |= {f"{host}{path}": route for path, route in randomanswers.beside(dice).items()}
        routes |= {f"{host}{path}": _drawn(dice, PAGES) for path in PATHS}
        routes[f"{host}/robots.txt"] = _drawn(dice, ROBOTS)
    return routes


def _drawn(dice: Dice, kinds: Mapping[Callable[[Dice], Route], int]) -> Route:
    [kind] = dice.random.choices([*kinds], [*kinds.values()])
    return kind(dice)


def _faults(dice: Dice, seed: int) -> dict[str, Route]:
    """Each fault in turn, so that ten seeds have them all."""
    routes: dict[str, Route] = {f"{FAULTY}/hang": randomanswers.hang(dice)}
    for n, host in enumerate(ODD):
        routes |= {f"{host}{path}": route for path, route in randomanswers.beside(dice).items()}
        routes[f"{host}/robots.txt"] = ROBOTS_FAULTS[(seed * len(ODD) + n) % len(ROBOTS_FAULTS)](dice)
    routes |= {f"{FAULTY}{path}": route for path, route in randomanswers.beside(dice).items()}
    for n in range(3):
        routes[f"{FAULTY}/{n}"] = PAGE_FAULTS[(seed * 3 + n) % len(PAGE_FAULTS)](dice)
    return routes


def _fixed_routes(seed: int) -> dict[str, Route]:
    allowed = Answer(200, TEXT, "User-agent: *\nDisallow: /never\n")
    full = [Answer(403), Answer(429, (("Retry-After", str(OVER_CAP_S)),)), Answer(200, HTML, "<p>the last one")]
    barrier = f"http://{BARRIER}:{{port}}/rules.txt"
    return {
        f"{MOVER}/robots.txt": allowed,
        f"{VAULT}/robots.txt": allowed,
        f"{BARRIER}/robots.txt": Answer(302, (("Location", "/rules.txt"),)),
        f"{BARRIER}/rules.txt": allowed,
        f"{BARRIER}/": full[seed % 3],
        f"{BEHIND}/robots.txt": Answer(302, (("Location", barrier),)),
    }


def _special_lines(which: str) -> tuple[str, ...]:
    return (
        f"http://{MOVER}:{{port}}/{which}",
        f"https://{VAULT}:{{tlsport}}/{which}",
        *(f"http://{host}:{{port}}/{which}" for host in ODD),
        *(f"http://{FAULTY}:{{port}}/{n}" for n in (0, 1, 2, "hang" if which == "first" else "gone")),
        f"http://{BARRIER}:{{port}}/",
        f"http://{BARRIER}:{{port}}/{which}",
        f"http://{BEHIND}:{{port}}/{which}",
    )


def _queue(random: Random, hosts: list[str]) -> list[str]:
    lines = [f"http://{host}:{{port}}{path}" for host in hosts for path in random.sample(PATHS, random.randint(2, 5))]
    lines += [f"http://{random.choice(hosts)}:{{other}}{random.choice(PATHS)}" for _ in range(2)]
    lines += [f"https://{random.choice(hosts)}:{{tlsport}}{random.choice(PATHS)}" for _ in range(2)]
    again = random.choice(lines)
    lines += [again, again.replace("http://h", "HTTP://H", 1), again.split("#")[0] + "#fragment"]
    lines += random.sample(_BAD_LINES, random.randint(2, 5))
    random.shuffle(lines)
    return lines


def _settings(random: Random, seed: int) -> dict[str, object]:
    draw = random.choice
    short = seed % 2 == 1
    return {
        "SEASPIDER_INTERVAL": draw([0.01, 0.02, 0.05]),
        "SEASPIDER_CRAWL_DELAY_CAP": 0.5,
        "SEASPIDER_ROBOTS_TTL": 0.3 if short else 3600,
        "SEASPIDER_ROBOTS_RETRY": 0.3 if short else draw([0.4, 3600]),
        "SEASPIDER_ROBOTS_MAX_REDIRECTS": draw([1, 2, 5]),
        "SEASPIDER_GIVE_UP": draw([1, 2, 3]),
        "SEASPIDER_BACKOFF_BASE": 0.01,
        "SEASPIDER_BACKOFF_CAP": 2,
        "SEASPIDER_MAX_ATTEMPTS": draw([1, 2, 3]),
        "SEASPIDER_STOP_ON_403": draw([True, True, True, False]),
        "SEASPIDER_BLOCK": draw([0.2, 1_000_000]),
        "SEASPIDER_HOST_BUDGET": 3 if seed % 6 == 2 else draw([0, 0, 12 if short else 7]),
        "SEASPIDER_ORDER": draw(ORDERS),
        "SEASPIDER_GATE_MAX_PER_HOST": draw([0, 0, 9]),
        "REDIRECT_MAX_TIMES": draw([1, 2, 4]),
        "DOWNLOAD_MAXSIZE": MAX_BODY_BYTES,
        "DOWNLOAD_TIMEOUT": 1,
        **draw([{}, {"SEASPIDER_IP_INTERVAL": 0.005}, {"SEASPIDER_IP_INTERVAL": 0.06}]),
    }


def _kill(random: Random, seed: int) -> str:
    """Every fourth first run of two is killed on its way."""
    point, nth = random.choice(_KILL_POINTS), random.randint(8, 20)
    return _KILLED.format(point=point, nth=nth) if seed % 4 == 0 and seed % 3 != 2 else ""
