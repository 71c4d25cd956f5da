"""One digest: however many workers crawled a queue, and whichever were killed, the merged store says the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from seaspider.loopback import LoopbackWeb, judge
from tests.crawling import crawl
from tests.fleet.fleets import MOST_S, crawls, is_alive, run_fleet, running, until
from tests.fleet.smallfleets import FOLLOW, NAMES, merge, queue_of, records, site, verify

PAUSE_S = 0.1
SHARDS = 6


@pytest.fixture
def web(loopback) -> LoopbackWeb:  # type: ignore[no-untyped-def]
    return loopback(site(), names=NAMES)


def begin(folder: Path, web: LoopbackWeb) -> Path:
    folder.mkdir()
    (folder / "q").write_text("".join(f"{line}\n" for line in queue_of(web)))
    return folder


def merged(folder: Path, web: LoopbackWeb) -> str:
    """The digest of the merged store, which is proven."""
    ended = merge(folder / "store")
    assert ended.exit == 0, ended.log
    ended = verify(folder / "store", "--queue", str(folder / "q"))
    assert ended.exit == 0, ended.out
    assert "; pairs too near: 0 within shards, 0 across shards" in ended.out
    nearer = [judge.pairs_nearer(web.arrivals, key, int(PAUSE_S * 1e9)) for key in judge.Key]
    assert nearer == [[], []]
    return str(records(folder / "store/manifest.jsonl")[0]["equal"])


@pytest.mark.soak
def test_workers_and_kills_change_no_digest(tmp_path: Path, web: LoopbackWeb) -> None:
    settings = {"SEASPIDER_INTERVAL": PAUSE_S}
    given: dict[str, Any] = {"names": NAMES, "settings": settings}
    found = {}
    for workers in ("1", "8"):
        folder = begin(tmp_path / workers, web)
        web.clear()
        code, out, log = run_fleet(folder, "--shards", str(SHARDS), "--workers", workers, *FOLLOW, **given)
        assert code == 0, out + log
        found[workers] = merged(folder, web)
    folder = begin(tmp_path / "killed", web)
    web.clear()
    with running(folder, "--shards", str(SHARDS), "--workers", "4", *FOLLOW, **given) as fleet:
        for killed in range(2):
            until(lambda so_far=8 * (killed + 1): len(web.arrivals) >= so_far)
            child, worker = until(lambda: sorted(crawls(fleet.pid).items()))[-1]
            os.kill(worker, signal.SIGKILL)
            until(lambda child=child: not is_alive(child))
        out, _ = fleet.communicate(timeout=MOST_S)
    assert fleet.returncode == 0, out
    found["killed"] = merged(folder, web)
    whole = crawl(tmp_path / "1/q", tmp_path, names=NAMES, settings=settings, options=FOLLOW)
    assert whole.exit == 0, whole.log
    (line,) = [line for line in verify(whole.store).out.splitlines() if line.startswith("equal ")]
    assert set(found.values()) == {line.split()[1]}
