"""How long a claim and its settle take, in ledgers side by side: a file's path, or the URL of a Redis server.

    python -m benchmarks.ledgers LEDGER LEDGER...

One process, keys that are free, a host and an address each. Rounds of the ledgers take turns.
"""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import median, quantiles

from seaspider.clock import SystemClock
from seaspider.core.redisurl import shown
from seaspider.outside import shared_ledger

ROUNDS, REQUESTS = 10, 200
HOLD_NS = 1_000_000


async def times_s(places: list[str]) -> dict[str, list[float]]:
    clock = SystemClock()
    ledgers = {shown(place): shared_ledger(place, clock) for place in places}
    taken: dict[str, list[float]] = {name: [] for name in ledgers}
    number = 0
    for turn in range(ROUNDS + 1):
        for name, ledger in ledgers.items():
            for _ in range(REQUESTS):
                number += 1
                keys = {f"host:{turn}-{number}.test": 0, f"ip:{turn}-{number}": 0}
                began_s = time.perf_counter()
                claimed = await ledger.claim(keys, HOLD_NS)
                await ledger.settle(claimed.token, keys)
                if turn:  # the first is to warm up
                    taken[name].append(time.perf_counter() - began_s)
    for ledger in ledgers.values():
        await ledger.close()
    return taken


def main() -> None:
    print("| ledger | claims and settles a second | median ms | p99 ms |\n|---|---|---|---|")
    for name, taken in asyncio.run(times_s(sys.argv[1:])).items():
        p99 = quantiles(taken, n=100)[98]
        print(f"| {name} | {len(taken) / sum(taken):.0f} | {median(taken) * 1000:.2f} | {p99 * 1000:.2f} |")


if __name__ == "__main__":
    main()
