"""The model of a power cut: what was synced stays, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seaspider import syncing
from seaspider.writeahead import NAME
from tests.crash.disk import Disk


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(syncing, "syncfs", syncing.syncfs)
    (tmp_path / "store" / "bodies").mkdir(parents=True)
    disk = Disk(tmp_path / "store", tmp_path / "disk.json")
    disk.watch()
    return disk


def left(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_store_whose_name_is_not_on_the_disk_is_gone(tmp_path: Path, disk: Disk) -> None:
    sync(tmp_path / "store")
    disk.cut()
    assert not (tmp_path / "store").exists()


def test_what_was_synced_stays_and_what_came_later_is_gone(tmp_path: Path, disk: Disk) -> None:
    store = tmp_path / "store"
    for name in ("kept", "emptied", "unnamed"):
        (store / name).write_bytes(b"first ")
    sync(store / "kept")
    sync(store / "unnamed")
    (store / "unnamed").rename(store / "renamed too late")
    for folder in (tmp_path, store, store / "bodies"):
        sync(folder)
    (store / "renamed too late").rename(store / "renamed")
    (store / "bodies" / "ab").mkdir()
    (store / "bodies" / "ab" / "body").write_bytes(b"body")
    sync(store / "bodies" / "ab" / "body")
    sync(store / "bodies" / "ab")
    for name in ("kept", "emptied"):
        with (store / name).open("ab") as file:
            file.write(b"second")
    disk.cut()
    assert left(store) == {"kept": b"first ", "emptied": b""}


def test_what_is_on_the_disk_is_known_over_a_restart(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "store" / "kept"
    path.write_bytes(b"first ")
    for place in (path, path.parent, tmp_path):
        sync(place)
    disk.save()
    with path.open("ab") as file:
        file.write(b"second")
    Disk(tmp_path / "store", tmp_path / "disk.json").cut()
    assert left(tmp_path / "store") == {"kept": b"first "}


def test_a_log_that_is_written_over_is_as_it_was_synced(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "store" / NAME
    path.write_bytes(b"first round")
    for place in (path, path.parent, tmp_path):
        sync(place)
    with path.open("r+b") as file:
        file.write(b"second")
    disk.cut()
    assert path.read_bytes() == b"first round"


def test_a_file_system_is_synced_as_a_whole_and_early_files_keep_what_they_have(tmp_path: Path, disk: Disk) -> None:
    store = tmp_path / "store"
    for name in ("early", "late"):
        (store / name).write_bytes(b"first ")
    syncing.sync_file_system(store)
    for name in ("early", "late"):
        with (store / name).open("ab") as file:
            file.write(b"second")
    disk.cut(early=["early"])
    assert left(store) == {"early": b"first second", "late": b"first "}


def test_a_file_that_has_the_inode_of_an_earlier_log_is_no_log(tmp_path: Path, disk: Disk) -> None:
    log, body = tmp_path / "store" / NAME, tmp_path / "store" / "body"
    log.write_bytes(b"first round")
    for place in (log, log.parent, tmp_path):
        sync(place)
    log.rename(body)
    body.write_bytes(b"what a page says")
    for place in (body, body.parent):
        sync(place)
    disk.cut()
    assert left(tmp_path / "store") == {"body": b"what a page says"}
