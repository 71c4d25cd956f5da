"""What is told of a shard that no worker could begin, and what its fleet ends with."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from seaspider.fleet.roster import Roster, Shard
from seaspider.fleet.run import Crawl, FleetRun
from tests.crawling import ROOT

MISSING = ModuleNotFoundError("No module named 'seaspider'")
IMPORTS = (
    "Dask's scheduler, or a worker, cannot import this project (No module named 'seaspider'); it needs "
    f"PYTHONPATH={ROOT} and the packages of requirements.txt"
)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


ERRORS = {
    "no room": (OSError(errno.ENOSPC, "No space left on device"), 74, "[Errno 28] No space left on device"),
    "no quota": (OSError(errno.EDQUOT, "Disk quota exceeded"), 74, "[Errno 122] Disk quota exceeded"),
    "no folder": (OSError(errno.ENOENT, "No such file", "logs"), 2, "[Errno 2] No such file: 'logs'"),
    "two lines": (RuntimeError("Error during deserialization.\nSee"), 2, "Error during deserialization. See"),
}


def ended(error: Exception, store: Path) -> tuple[int | None, str]:
    future = SimpleNamespace(status="error", exception=lambda: error)
    shard = Shard(0, 1, 1)
    run = FleetRun(None, Crawl(store, (), "settings.loopback"), Roster([shard]), 1, lambda: None)
    return run._code(shard, future, store), shard.said


@pytest.mark.parametrize(("error", "code", "why"), ERRORS.values(), ids=ERRORS)
def test_a_full_disk_is_no_usage_fault(tmp_path: Path, error: Exception, code: int, why: str) -> None:
    assert ended(error, tmp_path) == (code, f"a worker cannot begin it: {why}")


@pytest.mark.parametrize(
    "error", [MISSING, caused(RuntimeError("deserialization"), MISSING)], ids=["worker", "scheduler"]
)
def test_who_cannot_import_the_project_is_named(tmp_path: Path, error: Exception) -> None:
    assert ended(error, tmp_path) == (2, IMPORTS)
