"""Seaspider beside its peers: `python -m benchmarks.peers --help`.

Exit codes: 0 no row is below its limit, 1 one is, 2 usage, or the benchmark cannot be run here, 130 interrupted.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers import instructions
from benchmarks.peers.crawlers import AIOHTTP, BESIDE, FAMILIES, OURS, SCRAPY_SAME, Crawler
from benchmarks.peers.measure import BenchError, free_port, measure
from benchmarks.peers.promises import ORDERED, promises
from benchmarks.peers.report import line, table, to_json
from benchmarks.peers.rows import Row, Verdict, rows
from benchmarks.peers.runs import Run, Runs
from benchmarks.peers.workloads import WORKLOADS
from seaspider.config import ORDERS


def some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        if unknown := [name for name in names if name not in known]:
            raise ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return parse


def at_least(least: float, kind: Callable[[str], float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = -1
        if not least <= number < inf:
            raise ArgumentTypeError(f"{text!r} is no number from {least:g}")
        return number

    return parse


def arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.peers", description="Seaspider beside its peers.")
    add = parser.add_argument
    add("--workloads", type=some_of(WORKLOADS), default=list(WORKLOADS), help=f"of {','.join(WORKLOADS)}")
    add("--peers", type=some_of(FAMILIES), default=list(FAMILIES), help=f"of {','.join(FAMILIES)}")
    add("--orders", type=some_of(ORDERS), default=list(ORDERS), help=f"Seaspider's, of {','.join(ORDERS)}")
    add("--rounds", type=at_least(1, int), default=3, help="of all crawlers, in another order each (%(default)s)")
    add(
        "--busy",
        type=at_least(0, int),
        default=2,
        help="more rounds of Seaspider alone, with all cores busy (%(default)s)",
    )
    add("--instructions", action="store_true", help="P7 alone, under callgrind: takes long")
    add(
        "--scale",
        type=at_least(0.001, float),
        default=1.0,
        help="smaller workloads, whose figures mean little (%(default)s)",
    )
    add("--json", action="store_true", help="the rows and every run, instead of the table")
    return parser.parse_args(words)


def runs(given: Namespace, port: int, folder: Path) -> Iterator[Run]:
    for name in given.workloads:
        workload = WORKLOADS[name](given.scale)
        queue = folder / f"{name}.txt"
        workload.write(queue, port)
        ours = chosen(given, OURS)
        crawlers = [*ours, *chosen(given, BESIDE[name])]
        for turn in range(given.rounds):
            first = turn % len(crawlers)
            for crawler in crawlers[first:] + crawlers[:first]:
                yield measure(workload, crawler, queue, port, turn)
        for turn in range(given.busy if name in ORDERED else 0):
            for crawler in ours:
                yield measure(workload, crawler, queue, port, turn, busy=True)


def chosen(given: Namespace, crawlers: Collection[Crawler]) -> list[Crawler]:
    wanted = {*given.orders, *given.peers}
    return [each for each in crawlers if (each.order or each.family) in wanted and each.installed]


def main(words: Sequence[str]) -> int:
    given = arguments(words)
    found: list[Run] = []
    instructed: list[Row] = []
    interrupted = False
    try:
        with free_port() as port, TemporaryDirectory() as folder:
            if given.instructions:
                instructed = instructions.rows(chosen(given, (OURS[0], SCRAPY_SAME, AIOHTTP)), port)
            else:
                for run in runs(given, port, Path(folder)):
                    found.append(run)
                    print(line(run), file=sys.stderr, flush=True)
    except BenchError as error:
        print(f"benchmarks.peers: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        interrupted = True  # what was found until then is shown
    shown = [*instructed, *promises(Runs(found)), *rows(Runs(found))]
    print(to_json(shown, found) if given.json else table(shown, found))
    return 130 if interrupted else int(any(row.verdict.startswith(Verdict.BELOW) for row in shown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
