"""A real `scrapy fleet` in a process of its own, its workers and their crawls, against loopback servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from seaspider.fleet.plan import name_of
from seaspider.verify.digest import digest
from seaspider.verify.evidence import Evidence
from tests.crawling import ROOT, command, environment

T = TypeVar("T")
MOST_S = 300.0
LEASE_S = 4
# A shard whose crawl was killed is free when its lease has run out. Nobody else wants one that a busy machine loses.


def fleet_command(
    folder: Path,
    *options: str,
    names: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
    sabotage: str = "",
) -> list[str]:
    """`scrapy fleet` of the queue `folder`/q into `folder`/store, with a ledger of its own."""
    given = ["fleet", str(folder / "q"), "--store", str(folder / "store"), "--no-dashboard", *options]
    own = {"SEASPIDER_LEDGER": folder / "ledger.sqlite3", "SEASPIDER_LEASE": LEASE_S}
    return command(given, names=names, settings={**own, **(settings or {})}, sabotage=sabotage)


def run_fleet(folder: Path, *options: str, **more: Any) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    ended = subprocess.run(
        fleet_command(folder, *options, **more),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


@contextmanager
def running(folder: Path, *options: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs; it and all it started are gone afterwards."""
    with subprocess.Popen(
        fleet_command(folder, *options, **more),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            for pid in [*descendants(process.pid), process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def until(found: Callable[[], T]) -> T:
    """What `found` gives once that is something."""
    end_s = time.monotonic() + MOST_S
    while not (result := found()):
        assert time.monotonic() < end_s
        time.sleep(0.02)
    return result


def descendants(pid: int) -> list[int]:
    children = [child for child, parent in _parents().items() if parent == pid]
    return children + [each for child in children for each in descendants(child)]


def crawls(pid: int) -> dict[int, int]:
    """Crawl -> its worker, of all crawls under a fleet or a worker."""
    found = [child for child in descendants(pid) if b"seaspider.fleet.child" in _command_line(child)]
    parents = _parents()  # afterwards: who is new since then is not looked for, and one may have ended
    return {child: parents[child] for child in found if child in parents}


def crawl_of(shard: str, pid: int) -> tuple[int, int]:
    """The crawl of a shard under a fleet, and its worker."""
    (found,) = [each for each in crawls(pid).items() if _command_line(each[0]).split(b"\0")[-2] == shard.encode()]
    return found


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _parents() -> dict[int, int]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    return found


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def digests(store: Path, shards: Sequence[int]) -> list[str]:
    return [digest(Evidence(store / "shards" / name_of(shard))) for shard in shards]


def final_pages(store: Path) -> list[dict[str, Any]]:
    """The page records of all shards, by URL, without what is of one run."""
    pages = [
        json.loads(line) for path in store.glob("shards/*/pages.jsonl") for line in path.read_text("utf-8").splitlines()
    ]
    return sorted((page["url"], page["outcome"], page["status"], page["sha256"]) for page in pages)  # type: ignore[misc]


def listens_on(pid: int) -> set[str]:
    """The addresses, as /proc/net has them, on which a process waits for connections."""
    sockets = set()
    with suppress(FileNotFoundError):  # who has ended waits for nothing
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(str(descriptor.readlink()))
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {
        fields[1].partition(":")[0]
        for fields in map(str.split, lines)
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets
    }
