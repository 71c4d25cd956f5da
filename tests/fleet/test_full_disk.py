"""A fleet on a disk that is full: 74, whatever can be told of it, since store and logs share the disk."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.crawling import ROOT, command, environment
from tests.fleet.fleets import MOST_S, fleet_command
from tests.test_shortages import UNSHARE, needs_mounts

NAMES = {f"h{number}.test": f"127.0.73.{number + 1}" for number in range(8)}


@pytest.fixture
def web(loopback) -> LoopbackWeb:  # type: ignore[no-untyped-def]
    return loopback({"/robots.txt": Answer(404), "/*": Answer(body="x" * 20_000)}, names=NAMES)


def queue(folder: Path, web: LoopbackWeb) -> None:
    (folder / "q").write_text("".join(f"{web.url(name, f'/{page}')}\n" for name in NAMES for page in range(8)))
    (folder / "store").mkdir()


def on_a_disk(folder: Path, size: str, args: list[str]) -> subprocess.CompletedProcess[str]:
    """`folder`/store is a disk of its own, of that size."""
    script = f'mount -t tmpfs -o {size} tmpfs {folder}/store && cd {ROOT} && "$@"'
    return subprocess.run(
        [*UNSHARE, "sh", "-c", script, "sh", *args],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )


@needs_mounts
def test_a_fleet_ends_with_74(tmp_path: Path, web: LoopbackWeb) -> None:
    queue(tmp_path, web)
    given = fleet_command(tmp_path, "--shards", "2", "--workers", "1", "--json", names=NAMES)
    ended = on_a_disk(tmp_path, "size=96k", given)
    assert ended.returncode == 74, ended.stdout + ended.stderr
    found = json.loads(ended.stdout)
    assert found["exit"] == 74
    assert found["states"] == {"failed": 2}
    assert {shard["exit"] for shard in found["shards"]} == {74}


@needs_mounts
@pytest.mark.parametrize("to", ["/dev/full", "store/log"])
def test_a_crawl_ends_with_74_although_it_can_tell_nobody(tmp_path: Path, web: LoopbackWeb, to: str) -> None:
    queue(tmp_path, web)
    args = ["crawl", "seaspider", "-a", f"queue={tmp_path / 'q'}", "-a", f"store={tmp_path / 'store/s'}"]
    given = command(args, names=NAMES, settings={"SEASPIDER_LEDGER": tmp_path / "ledger.sqlite3"})
    ended = on_a_disk(tmp_path, "size=96k", ["sh", "-c", f'"$@" 2>>{tmp_path / to}', "sh", *given])
    assert (ended.returncode, ended.stderr) == (74, "")


@pytest.mark.parametrize(
    ("args", "code"),
    [(["merge", "none"], 2), (["crawl", "seaspider", "-a", "queue=none"], 2), (["fetch", "http://[/"], 2)],
    ids=["merge", "crawl", "fetch"],
)
def test_a_line_that_cannot_be_printed_changes_no_exit_code(args: list[str], code: int) -> None:
    ended = subprocess.run(
        ["sh", "-c", '"$@" 2>/dev/full', "sh", *command(args)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (code, b"")
