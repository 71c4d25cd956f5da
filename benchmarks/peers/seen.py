"""What the servers saw of one crawl, in figures. Pure but for the reading of the log; nothing is tolerated.

A pair is too near when its first bytes are nearer than the pause: the workload's interval, or the host's crawl-delay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.workloads import Workload
from seaspider.loopback import Arrival
from seaspider.loopback.judge import Key, max_in_flight, order, pages_before_robots, pairs, pairs_nearer

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """`pages`: different ones. `pairs`, `nearer`: successive requests to an address or to a host, and those too near.
    `early`: pages before a robots.txt. `breadth`: different hosts among the first n requests to n hosts, per mil.
    `window_s`: first request to last answer. `efficiency`: the bound / it."""

    requests: int
    pages: int
    first_ns: int
    window_s: float
    pairs: int
    nearer: int
    early: int
    in_flight: int
    breadth: int
    efficiency: float
    order: str


def read(log: Path) -> list[Arrival]:
    """In order of first bytes."""
    arrivals = []
    for n, line in enumerate(log.read_text("utf-8").splitlines(), 1):
        arrived, answered, others, address, host, target = line.split("\t")
        ended = int(answered) or None
        arrivals.append(Arrival(n, address, host, "GET", target, (), int(arrived), ended, int(others)))
    return arrivals


def judge(arrivals: Sequence[Arrival], workload: Workload) -> Seen:
    """Raises ValueError if nothing was asked."""
    if not arrivals:
        raise ValueError("the servers saw no request")
    pause_ns = round(workload.interval_s * NS)
    slow_ns = {address: round(delay_s * NS) for address, delay_s in workload.slow_s.items()}
    hosts = {arrival.name for arrival in arrivals}
    window_s = (max(arrival.answered_ns or arrival.arrived_ns for arrival in arrivals) - arrivals[0].arrived_ns) / NS
    took = order(arrivals[: workload.enough or None])
    return Seen(
        requests=len(arrivals),
        pages=len({(a.name, a.target) for a in arrivals if a.answered_ns and a.target != "/robots.txt"}),
        first_ns=arrivals[0].arrived_ns,
        window_s=window_s,
        pairs=sum(len(pairs(arrivals, key)) for key in Key),
        nearer=sum(len(pairs_nearer(arrivals, key, pause_ns, slow_ns)) for key in Key),
        early=len(pages_before_robots(arrivals)),
        in_flight=max_in_flight(arrivals),
        breadth=1000 * len({arrival.name for arrival in arrivals[: len(hosts)]}) // min(len(hosts), len(arrivals)),
        efficiency=workload.bound_s / window_s,
        order=hashlib.sha256("\n".join(" ".join(turn) for turn in took).encode()).hexdigest()[:12],
    )
