"""One sync of a whole file system in place of one of each body: where it is as sure, and no slower."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from seaspider import bodyfiles, syncing, wholesync
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.store import FolderStore
from seaspider.wholesync import (
    WAITING_A_FILE,
    WholeSync,
    check_kept,
    is_as_sure,
    release_of,
    type_of,
    waiting_bytes,
    waiting_of,
)
from seaspider.writeahead import MOST, NAME

JOURNALS = {"requests.jsonl", "links.jsonl", "robots.jsonl", "intents.jsonl", "pages.jsonl"}
FOUND = OSError(errno.EIO, os.strerror(errno.EIO))

# --- what the system says ---

DISK = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
PROC = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n"


@pytest.mark.parametrize(
    ("mounts", "folder", "kind"),
    [
        (DISK, b"/srv/store", "ext4"),
        (DISK, b"/", "ext4"),
        (PROC + DISK + PROC, b"/srv/store", "ext4"),
        (DISK + b"40 27 254:0 /srv /mnt/srv rw - ext4 /dev/vda rw\n", b"/mnt/srv/store", "ext4"),
        (b"40 27 254:0 /data/of/ours /store rw - ext4 /dev/vda rw\n", b"/store", "ext4"),
        (DISK.replace(b" - ", b" shared:1 master:2 propagate_from:3 - "), b"/srv/store", "ext4"),
        (DISK.replace(b" / / ", rb" /a\040b /a\134b\040- "), b"/srv/store", "ext4"),
        (DISK.replace(b"ext4", b"fuse.ext4"), b"/srv/store", "fuse.ext4"),
        (DISK.replace(b"ext4", b"\xff"), b"/srv/store", "\ufffd"),
        (DISK + b"41 27 254:0 /b /srv/store/bodies rw - ext4 /dev/vda rw\n", b"/srv/store", "ext4"),
        (DISK + b"41 27 0:44 / /srv/stores rw - tmpfs none rw\n", b"/srv/store", "ext4"),
        (DISK + b"41 27 0:44 / /srv/store rw - tmpfs none rw\n", b"/srv/store", "ext4"),
        (DISK + b"41 27 0:44 / /srv/store/bodies rw - tmpfs none rw\n", b"/srv/store", None),
        (DISK + rb"41 27 0:44 / /srv/a\040\134store/bodies/5f rw - tmpfs none rw" + b"\n", rb"/srv/a \store", None),
        (DISK + b"41 27 0:44 / /srv/\xff/5f rw - tmpfs none rw\n", b"/srv/\xff", None),
        (DISK + PROC, b"/", None),
        (DISK.replace(b"254:0", b"254:10"), b"/srv/store", None),
        (DISK.replace(b"254:0", b"0:254"), b"/srv/store", None),
        (b"", b"/srv/store", None),
        (DISK + b"41 27 0:44 / /elsewhere\n", b"/srv/store", None),
    ],
    ids=[
        "one mount", "all of a disk", "among others", "bound to a second place", "a part bound", "optional fields",
        "escapes", "a user's program", "no text", "bound below, the same", "a neighbour", "mounted over",
        "another below", "another below, escaped", "another below, no text", "another below the root",
        "a longer number", "another device", "nothing", "no mount",
    ],
)  # fmt: skip
def test_the_file_system_is_told_by_its_device(mounts, folder, kind):
    assert type_of(mounts, "254:0", folder) == kind


@pytest.mark.parametrize(
    ("meminfo", "waiting"),
    [
        ("MemFree:  7 kB\nDirty:             17756 kB\nWriteback:         4 kB\nWritebackTmp:  9 kB\n", 17_760 * 1024),
        ("Dirty: 0 kB\nWriteback: 0 kB\n", 0),
        ("Dirty: 1 kB\nWritebackTmp: 0 kB\n", None),
        ("Dirty: 1 MB\nWriteback: 0 kB\n", None),
        ("", None),
    ],
    ids=["much", "nothing", "one is missing", "another unit", "empty"],
)
def test_what_waits_is_told_in_bytes(meminfo, waiting):
    assert waiting_of(meminfo) == waiting


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.18.44-fc-v857", (6, 18)),
        ("5.17.0", (5, 17)),
        ("5.9-rc1", (5, 9)),
        ("10.0", (10, 0)),
        ("6", (0, 0)),
        ("", (0, 0)),
        ("next-6.1", (0, 0)),
    ],
)
def test_a_release_is_two_numbers(text, release):
    assert release_of(text) == release


def test_this_machine_is_read():
    assert waiting_bytes() >= 0


def test_this_file_system_is_what_another_program_says(tmp_path):
    told = subprocess.run(
        ["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True
    ).stdout.strip()
    device = tmp_path.stat().st_dev
    kind = type_of(
        Path("/proc/self/mountinfo").read_bytes(), f"{os.major(device)}:{os.minor(device)}", os.fsencode(tmp_path)
    )
    assert (kind in ("ext2", "ext3", "ext4")) == (told == "ext2/ext3")
    assert (kind == "xfs") == (told == "xfs")


# --- the decision ---


class Uname:
    release = "5.17.0"


@pytest.fixture
def system(monkeypatch):
    """A Linux and a file system that would do."""
    monkeypatch.setattr(os, "uname", Uname)
    monkeypatch.setattr(Uname, "release", "5.17.0")
    monkeypatch.setattr(wholesync, "type_of", lambda *_: "ext4")
    return monkeypatch


@pytest.mark.parametrize("kind", ["ext3", "ext4", "xfs"])
def test_these_are_as_sure(tmp_path, system, kind):
    system.setattr(wholesync, "type_of", lambda *_: kind)
    assert is_as_sure(tmp_path)


@pytest.mark.parametrize("kind", ["ext2", "btrfs", "overlay", "tmpfs", "nfs4", "fuseblk", "zfs", None])
def test_of_others_it_is_not_known(tmp_path, system, kind):
    system.setattr(wholesync, "type_of", lambda *_: kind)
    assert not is_as_sure(tmp_path)


@pytest.mark.parametrize("release", ["5.16.20", "4.18.0", "none"])
def test_an_older_linux_keeps_errors_to_itself(tmp_path, system, release):
    system.setattr(Uname, "release", release)
    assert not is_as_sure(tmp_path)


def test_without_proc_nothing_is_known(tmp_path, system):
    def none(*_: object, **__: object) -> bytes:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    system.setattr(Path, "read_bytes", none)
    system.setattr(Path, "read_text", none)
    assert not is_as_sure(tmp_path)
    assert waiting_bytes() is None


@pytest.mark.parametrize(
    ("as_sure", "files", "waiting", "pays"),
    [
        (True, 1024, 64 << 20, True),
        (True, 1024, (64 << 20) + 1, False),
        (True, 1, WAITING_A_FILE, True),
        (True, 0, 0, False),
        (True, 1024, None, False),
        (False, 1024, 0, False),
    ],
    ids=["as much as may wait", "more", "one file", "no file", "unknown", "not as sure"],
)
def test_it_pays_where_little_waits(tmp_path, monkeypatch, as_sure, files, waiting, pays):
    monkeypatch.setattr(wholesync, "is_as_sure", lambda _: as_sure)
    monkeypatch.setattr(wholesync, "waiting_bytes", lambda: waiting)
    assert WholeSync(tmp_path, -1).pays(files) == pays


# --- how a store uses it ---


@pytest.fixture
def syncs(monkeypatch):
    """What was waited for; a file system has the name of the file it was told by, and a star."""
    seen = []

    def counted(sync, mark):
        def also(descriptor):
            seen.append(Path(f"/proc/self/fd/{descriptor}").readlink().name + mark)
            sync(descriptor)

        return also

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, counted(getattr(os, name), ""))
    monkeypatch.setattr(syncing, "syncfs", counted(syncing.syncfs, "*"))
    return seen


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Of a file system that would do, whatever it is; what a file system shows of its blocks is another test's."""
    monkeypatch.setattr(wholesync, "is_as_sure", lambda _: True)
    monkeypatch.setattr(wholesync, "waiting_bytes", lambda: 0)
    monkeypatch.setattr("seaspider.bodyshelf.check_kept", lambda *_: None)
    opened = FolderStore(tmp_path / "store")
    yield opened
    opened.close()


def fill(store: FolderStore) -> str:
    """More than one wait of the log can be for. Returns the digest of the body that is the last."""
    store.put_body(b"a body")
    for file in (File.ROBOTS, File.INTENTS, File.REQUESTS, File.LINKS, File.PAGES):
        store.write(file, {"run": 1})
    return store.put_body(bytes(MOST))


def test_a_round_is_one_sync_of_bodies_and_one_of_each_journal_file(store, syncs):
    fill(store)
    store.sync()
    assert syncs == [*syncs[:5], "lock*", "lock", NAME]
    assert set(syncs[:5]) == JOURNALS
    syncs.clear()
    store.put_body(b"another body")
    store.close()
    assert syncs == ["lock*", "lock"]
    assert not (store.folder / NAME).exists()


def test_a_round_without_a_body_asks_nobody(store, syncs):
    store.write(File.LINKS, b"x" * MOST + b"\n")
    store.sync()
    assert syncs == ["links.jsonl", NAME]


def test_where_much_waits_each_body_is_waited_for(store, syncs, monkeypatch):
    monkeypatch.setattr(wholesync, "waiting_bytes", lambda: 1 << 40)
    sha256 = fill(store)
    store.sync()
    assert {sha256, sha256[:2], "bodies"} < set(syncs)
    assert "lock*" not in syncs


@pytest.mark.parametrize("fails", ["syncfs", "fsync"])
def test_where_the_file_system_has_an_error_each_body_tells_whether_it_is_its_own(store, syncs, monkeypatch, fails):
    whole = syncing.syncfs
    each = os.fsync

    def failing(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "lock":
            raise FOUND
        (each if fails == "fsync" else whole)(descriptor)

    monkeypatch.setattr(syncing if fails == "syncfs" else os, fails, failing)
    sha256 = fill(store)
    store.sync()
    assert {sha256, sha256[:2], "bodies"} < set(syncs)
    assert store.failed is None


@pytest.mark.parametrize("lost", ["a body", "a folder", "pages.jsonl"])
def test_what_failed_is_named(store, monkeypatch, lost):
    sha256 = fill(store)
    name = {"a body": sha256, "a folder": sha256[:2]}.get(lost, lost)

    def failing(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name in ("lock", name):
            raise FOUND

    monkeypatch.setattr(os, "fsync", failing)
    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(StoreError, match=f"/{name} cannot be written: Input/output error$"):
        store.sync()


def test_a_body_that_has_no_place_on_the_disk_ends_it(store, monkeypatch):
    """As ext4 leaves it that finds none: it says nothing, and the bytes are gone."""
    monkeypatch.setattr("seaspider.bodyshelf.check_kept", check_kept)
    sha256 = fill(store)
    path = bodyfiles.path_of(store.folder, sha256)
    os.truncate(path, 0)
    os.truncate(path, MOST)
    with pytest.raises(StoreError, match=f"^{path} cannot be written: Input/output error$"):
        store.sync()


def test_a_body_that_is_gone_ends_it(store, monkeypatch):
    monkeypatch.setattr("seaspider.bodyshelf.check_kept", check_kept)
    path = bodyfiles.path_of(store.folder, fill(store))
    path.unlink()
    with pytest.raises(StoreError, match=f"^{path} cannot be written: No such file or directory$"):
        store.sync()


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 4096, 5000, 100_000])
def test_what_was_written_has_its_place(tmp_path, size):
    if not is_as_sure(tmp_path):
        pytest.skip("not a file system that is asked")
    path = tmp_path / "body"
    path.write_bytes(os.urandom(size))
    syncing.sync_file_system(tmp_path)
    check_kept(str(path), size)
    with pytest.raises(OSError, match="Input/output error"):
        check_kept(str(path), size + 1)


def test_where_there_is_no_room_for_a_log_each_file_is_waited_for(tmp_path, store, syncs, monkeypatch):
    monkeypatch.setattr("seaspider.writeahead.SPARE", 1 << 62)
    other = FolderStore(tmp_path / "other")
    syncs.clear()
    fill(other)
    other.sync()
    other.close()
    assert "lock*" not in syncs


def test_a_store_that_can_be_made_again_asks_nobody(tmp_path, store, syncs):
    other = FolderStore(tmp_path / "other", durable=False)
    syncs.clear()
    fill(other)
    other.sync()
    other.close()
    assert syncs == []
