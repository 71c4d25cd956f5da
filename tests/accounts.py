"""The accounts of a run: each line of the queue once, in the files as in the manifest."""

from collections import Counter
from typing import Any

from tests.crawling import Ended


def of_run(ended: Ended, file: str, run: int) -> list[dict[str, Any]]:
    return [row for row in ended.records(file) if row["run"] == run]


def check_accounts(ended: Ended, run: int) -> dict[str, Any]:
    """Each line of the queue is accounted for exactly once: in the files, and so in the manifest. The run's counts."""
    [end] = [row for row in of_run(ended, "manifest", run) if row["event"] == "end"]
    counts = end["counts"]
    queue = dict(counts["queue"])
    assert queue.pop("lines") == sum(queue.values())
    fates = Counter(row["fate"] for row in of_run(ended, "skipped", run))
    assert {fate: queue[fate] for fate in ("duplicate", "done", "rejected")} == {
        fate: fates[fate] for fate in ("duplicate", "done", "rejected")
    }
    pages = of_run(ended, "pages", run)
    lines = [page["line"] for page in pages if page["line"] is not None]
    lines += [row["line"] for row in of_run(ended, "skipped", run)]
    assert len(lines) == len(set(lines))
    assert queue["recorded"] == sum(page["line"] is not None for page in pages)
    assert counts["followed"]["recorded"] == sum(page["line"] is None for page in pages)
    assert counts["unfinished"] == queue["unfinished"] + counts["followed"]["unfinished"]
    assert sum(counts["pages"].values()) == len(pages)
    assert end["exit"] == ended.exit
    return counts
