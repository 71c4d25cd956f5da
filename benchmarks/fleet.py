"""How a fleet's speed grows with its workers: `python -m benchmarks.fleet FOLDER [WORKERS ...]`.

64 hosts on this machine that take 100 ms for an answer, 8 pages each, in 16 shards, with a pause of 100 ms and a
SQLite ledger. Prints requests a second between the first arrival and the last, so without Dask's own start but with
that of each shard's process, as a multiple of the first row's; and the pairs that came too near by the servers' log.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from seaspider.loopback import Answer, LoopbackWeb, judge
from tests.crawling import ROOT, command, environment

HOSTS = 64
PAGES = 8
SHARDS = 16
LATENCY_S = 0.1
PAUSE_S = 0.1


def measure(folder: Path, workers: int) -> tuple[float, int]:
    """Requests a second, and pairs too near."""
    names = {f"h{number}.test": f"127.0.5.{number + 1}" for number in range(HOSTS)}
    routes = {"/robots.txt": Answer(404, delay_s=LATENCY_S), "/*": Answer(body="hello", delay_s=LATENCY_S)}
    folder.mkdir(parents=True)
    with LoopbackWeb(routes, names=names) as web:
        urls = (f"http://{name}:{web.port}/{page}\n" for page in range(PAGES) for name in names)
        (folder / "q").write_text("".join(urls))
        given = ["fleet", str(folder / "q"), "--store", str(folder / "store"), "--no-dashboard"]
        subprocess.run(  # noqa: S603 - this very Python
            command(
                [*given, "--shards", str(SHARDS), "--workers", str(workers)],
                names=names,
                settings={"SEASPIDER_LEDGER": folder / "ledger", "SEASPIDER_INTERVAL": PAUSE_S},
            ),
            cwd=ROOT,
            env=environment(),
            check=True,
            capture_output=True,
        )
        found = web.arrivals
    times = sorted(arrival.arrived_ns for arrival in found)
    near = sum(len(judge.pairs_nearer(found, key, int(PAUSE_S * 1e9))) for key in judge.Key)
    return len(times) * 1e9 / (times[-1] - times[0]), near


def main() -> None:
    folder, *given = sys.argv[1:]
    print(f"{'workers':>8}{'speed':>8}{'too near':>10}")
    first = None
    for workers in map(int, given or ["1", "2", "4", "8"]):
        speed, near = measure(Path(folder) / str(workers), workers)
        first = first or speed
        print(f"{workers:>8}{speed / first:>8.1f}{near:>10}", flush=True)


if __name__ == "__main__":
    main()
