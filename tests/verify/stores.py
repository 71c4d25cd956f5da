"""Good stores to be verified and tampered with: the demo's and those of some random crawls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from seaspider.loopback import LoopbackWeb
from tests.crawling import Ended
from tests.test_crawl import demo
from tests.verify import randomcrawls


def stores(folder: Path, seeds: Sequence[int]) -> dict[str, Ended]:
    """`demo` and `seed 1` ... -> the crawl; the queues lie beside the stores."""
    (folder / "demo").mkdir()
    with ExitStack() as running:

        def web(*routes: object, **options: object) -> LoopbackWeb:
            return running.enter_context(LoopbackWeb(*routes, **options))  # type: ignore[arg-type]

        found, _ = demo(folder / "demo", web)
    crawls = randomcrawls.run_all(seeds, folder)
    return {"demo": found, **{f"seed {seed}": ended for seed, ended in crawls.items()}}


def last_queue(ended: Ended) -> Path:
    """The queue of the store's last run."""
    folder = ended.store.parent
    return max([*folder.glob("queue-*.txt"), folder / "queue.txt"], key=lambda path: (path.exists(), path.name))
