"""The store's log: what was waited for is there again after a power cut, and one wait does for all files."""

import errno
import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider import cutoff, logframes, syncing, wholesync, writeahead
from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.fleet.journals import is_finished
from seaspider.fleet.plan import Part
from seaspider.logframes import FIRST_BYTES, Frame, Piece
from seaspider.restoring import Left, left, restore
from seaspider.store import FolderStore
from seaspider.writeahead import FIRST_SIZE, MOST, NAME, SIZE, WriteAhead
from tests.test_journal import LINE, files_end_at
from tests.test_store import BODY, SHA256

BOOT, NEXT_BOOT = "3b1f0d52-6f0e-4b0a-9a51-7d6c2f8e9041", "5b1f0d52-6f0e-4b0a-9a51-7d6c2f8e9041"
SHORT = 4000
PAGES = "pages.jsonl"
BODY_PATH = f"bodies/{SHA256[:2]}/{SHA256}"
IN_ORDER = ["requests.jsonl", "links.jsonl", "robots.jsonl", "intents.jsonl", "pages.jsonl"]
BEGINNING, APPENDED = Piece(PAGES, 7, b""), Piece(PAGES, 7, b"a line\n")


@pytest.fixture
def store(tmp_path: Path):
    opened = FolderStore(tmp_path / "store", boot_id=BOOT)
    yield opened
    opened.close()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A short one."""
    monkeypatch.setattr(writeahead, "FIRST_SIZE", SHORT)
    monkeypatch.setattr(writeahead, "SIZE", SHORT)
    opened = WriteAhead(tmp_path, BOOT, {File.PAGES: 7})
    yield opened
    opened.close()


def written(store: FolderStore) -> None:
    """A visit, waited for."""
    assert store.put_body(BODY) == SHA256
    for file in (File.ROBOTS, File.INTENTS, File.REQUESTS, File.LINKS, File.PAGES):
        store.write(file, {"run": 1})
    store.sync()


def cut_off(store: FolderStore) -> Path:
    """A copy of it as it is now, with nobody at work in it."""
    return Path(shutil.copytree(store.folder, store.folder.parent / "copy"))


def lines(folder: Path) -> dict[str, bytes]:
    return {file: (folder / file).read_bytes() for file in File}


def reopened(folder: Path, boot_id: str) -> dict[str, int]:
    again = FolderStore(folder, boot_id=boot_id)
    again.close()
    return again.torn


# --- the log itself ---


def appended(log: WriteAhead, *bodies: bytes) -> bool:
    log.add(File.PAGES, 7, b"a line\n")
    for body in bodies:
        log.add_body(hashlib.sha256(body).hexdigest(), body)
    return log.sync()


def test_what_was_appended_is_left(tmp_path, log):
    assert left(tmp_path) == Left(BOOT, [BEGINNING], [])
    assert appended(log, BODY, b"")
    assert appended(log)
    found = left(tmp_path)
    assert found == Left(BOOT, [BEGINNING, APPENDED, APPENDED], [BODY, b""])
    assert found.ends == {PAGES: 14}


def test_no_log_is_left_by_nobody_and_an_empty_one_by_who_had_no_room(tmp_path):
    assert left(tmp_path) is None
    for content in (b"", bytes(SIZE), FIRST_BYTES, FIRST_BYTES + bytes(30)):
        (tmp_path / NAME).write_bytes(content)
        assert left(tmp_path) == Left("", [], [])


def test_a_round_leaves_nothing_of_those_before_it(tmp_path, log):
    for _ in range(3):
        assert appended(log)
    # A frame of this round ends where one of the last round began.
    log.restart({File.PAGES: 7})
    assert left(tmp_path) == Left(BOOT, [BEGINNING], [])


def test_half_a_frame_is_none_wherever_it_broke_off(tmp_path, log):
    appended(log)
    whole = left(tmp_path)
    before = (tmp_path / NAME).read_bytes()
    appended(log, BODY)
    after = (tmp_path / NAME).read_bytes()
    begins = next(at for at in range(SHORT) if before[at] != after[at])
    for at in range(begins, len(after.rstrip(b"\0"))):
        (tmp_path / NAME).write_bytes(after[:at] + before[at:])
        assert left(tmp_path) == whole


def test_a_changed_byte_ends_it(tmp_path, log):
    appended(log, BODY)
    octets = (tmp_path / NAME).read_bytes()
    for at in range(len(FIRST_BYTES), len(octets.rstrip(b"\0"))):
        (tmp_path / NAME).write_bytes(octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :])
        assert left(tmp_path).pieces in ([], [BEGINNING])


def test_a_full_log_takes_nothing(log):
    assert appended(log, bytes(SHORT // 2))
    assert not appended(log, bytes(SHORT // 2))
    log.restart({})
    assert appended(log, bytes(SHORT // 2))


@pytest.mark.parametrize("file", ["../pages.jsonl", "/etc/passwd", "lock", ""])
def test_a_file_that_is_no_stores_is_refused(tmp_path, file):
    framed = logframes.frame(BOOT.encode(), 1, [logframes.piece(file, 0, b"x")], [])
    (tmp_path / NAME).write_bytes(FIRST_BYTES + framed)
    with pytest.raises(StoreError, match=f": tells of byte 0 of '{re.escape(file)}', which no store has$"):
        left(tmp_path)


def test_a_place_that_no_file_has_is_refused(tmp_path):
    framed = logframes.frame(BOOT.encode(), 1, [logframes.piece(PAGES, 2**63, b"x")], [])
    (tmp_path / NAME).write_bytes(FIRST_BYTES + framed)
    with pytest.raises(StoreError, match=f": tells of byte {2**63} of '{PAGES}', which no store has$"):
        left(tmp_path)


@pytest.mark.parametrize("octets", [b"my own notes", b"seaspider log 2\n", FIRST_BYTES[:-3], bytes(512) + b"notes"])
def test_somebody_elses_file_is_refused_and_left_as_it_is(tmp_path, octets):
    (tmp_path / NAME).write_bytes(octets)
    with pytest.raises(StoreError, match=f"^{tmp_path}/{NAME}: is no log of a store, or one of another version$"):
        FolderStore(tmp_path, boot_id=BOOT)
    assert (tmp_path / NAME).read_bytes() == octets


def test_a_log_that_is_a_folder_is_refused(tmp_path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(StoreError, match=f"^{tmp_path}/{NAME}: Is a directory$"):
        left(tmp_path)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_a_log_holds_it_is_read(told, kept):
    list(logframes.frames(told))
    for frame in logframes.frames(logframes.frame(BOOT.encode(), 1, [told], [kept])):
        assert (
            b"".join(logframes.piece(piece.file, piece.offset, piece.data) for piece in frame.pieces)[:17] == told[:17]
        )


@given(st.lists(st.tuples(st.sampled_from(File), st.integers(0, 2**64 - 1), st.binary())), st.lists(st.binary()))
def test_what_is_framed_comes_back(pieces, bodies):
    framed = logframes.frame(
        BOOT.encode(),
        2**64 - 1,
        [logframes.piece(*piece) for piece in pieces],
        [logframes.body(hashlib.sha256(body).hexdigest(), body) for body in bodies],
    )
    expected = Frame(BOOT, [Piece(*piece) for piece in pieces], bodies)
    assert list(logframes.frames(FIRST_BYTES + framed * 2 + b"rest")) == [expected] * 2


# --- how a store uses it ---


@pytest.fixture
def each(monkeypatch):
    """Each body is synced by itself, whatever file system this is."""
    monkeypatch.setattr(wholesync, "waiting_bytes", lambda: None)


@pytest.fixture
def syncs(monkeypatch, each):
    """The files that were waited for."""
    seen = []

    def counted(sync):
        def also(descriptor):
            seen.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
            sync(descriptor)

        return also

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return seen


def test_one_wait_does_for_a_visit(store, syncs):
    written(store)
    assert syncs == [NAME]
    store.sync()
    assert syncs == [NAME]


def test_a_manifest_line_is_waited_for_at_once_and_so_is_what_was_skipped(store, syncs):
    store.write(File.SKIPPED, {"run": 1})
    store.write(File.MANIFEST, {"run": 1})
    assert syncs == ["skipped.jsonl", NAME]


def test_what_is_too_much_for_the_log_is_waited_for_where_it_lies(store, syncs):
    store.put_body(bytes(MOST))
    store.write(File.PAGES, {"run": 1})
    store.sync()
    digest, folder, bodies, *files = syncs
    assert (len(digest), folder, bodies) == (64, "bodies", digest[:2])
    assert files == [PAGES, NAME]


def test_the_log_goes_when_all_is_where_it_belongs(store, syncs):
    written(store)
    assert (store.folder / NAME).stat().st_size == FIRST_SIZE
    syncs.clear()
    store.close()
    assert syncs == [
        SHA256,
        "bodies",
        SHA256[:2],
        *IN_ORDER,
    ]
    assert not (store.folder / NAME).exists()


def test_a_log_that_cannot_be_done_without_stays(store, each, monkeypatch):
    """A store whose files cannot be waited for at its end has lost nothing, so it is no error."""
    written(store)

    def gone(_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("seaspider.bodyshelf.sync_folder", gone)
    store.close()
    assert store.failed is None
    assert left(store.folder).boot_id == BOOT


def test_the_log_grows_after_its_first_round_if_it_may(store):
    for size in (FIRST_SIZE, SIZE):
        assert (store.folder / NAME).stat().st_size == size
        for _ in range(FIRST_SIZE // MOST + 1):
            store.write(File.LINKS, b"x" * (MOST - 1000) + b"\n")
            store.sync()


def test_a_log_that_may_not_grow_stays_as_it_is(store):
    with files_end_at(FIRST_SIZE):
        for _ in range(7 * FIRST_SIZE // MOST):
            store.write(File.PAGES, b"x" * (MOST // 8) + b"\n")
            store.sync()
    assert (store.folder / NAME).stat().st_size == FIRST_SIZE
    assert reopened(cut_off(store), NEXT_BOOT) == {}


def test_a_log_that_took_the_place_of_ours_stays(store):
    (store.folder / NAME).unlink()
    (store.folder / NAME).write_bytes(b"another's")
    store.close()
    assert (store.folder / NAME).read_bytes() == b"another's"


def test_a_store_that_can_be_made_again_waits_for_nothing(tmp_path, syncs):
    store = FolderStore(tmp_path / "store", durable=False)
    syncs.clear()
    written(store)
    store.write(File.MANIFEST, {"run": 1})
    assert not (store.folder / NAME).exists()
    store.close()
    assert syncs == []


@pytest.fixture(params=["no longer file", "little room"])
def no_room(request, monkeypatch):
    if request.param == "little room":
        monkeypatch.setattr(writeahead, "SPARE", 1 << 62)
        yield
    else:
        with files_end_at(FIRST_SIZE - 1):
            yield


def test_without_room_for_a_log_each_file_is_waited_for(tmp_path, syncs, no_room):
    store = FolderStore(tmp_path / "store", boot_id=BOOT)
    assert (store.folder / NAME).read_bytes() == b""
    syncs.clear()
    written(store)
    assert syncs[-1] == PAGES
    assert set(syncs) == {
        SHA256,
        SHA256[:2],
        "bodies",
        *IN_ORDER,
    }
    store.close()
    assert not (store.folder / NAME).exists()


# --- after a power cut ---


def test_what_was_waited_for_is_there_again(store):
    written(store)
    whole = lines(store.folder)
    copy = cut_off(store)
    for file in File:
        (copy / file).write_bytes(b"")
    (copy / BODY_PATH).write_bytes(b"")
    assert reopened(copy, NEXT_BOOT) == {}
    assert lines(copy) == whole
    assert (copy / BODY_PATH).read_bytes() == BODY
    assert not (copy / NAME).exists()


def test_bytes_that_the_disk_made_up_are_written_over(store):
    written(store)
    whole = lines(store.folder)
    copy = cut_off(store)
    for file in File:
        (copy / file).write_bytes(bytes((copy / file).stat().st_size))
    assert reopened(copy, NEXT_BOOT) == {}
    assert lines(copy) == whole


def test_lines_that_vouch_for_others_are_cut_where_nobody_waited_for_them(store):
    written(store)
    whole = lines(store.folder)
    for file in (File.ROBOTS, File.INTENTS, File.REQUESTS, File.LINKS, File.PAGES):
        store.write(file, {"run": 1})
    copy = cut_off(store)
    with (copy / File.INTENTS).open("ab") as file:
        file.write(bytes(5) + LINE + LINE)
    assert reopened(copy, NEXT_BOOT) == {
        "robots.jsonl": len(LINE),
        "pages.jsonl": len(LINE),
        "intents.jsonl": 5 + 2 * len(LINE),
    }
    kept = {File.INTENTS: 2, File.REQUESTS: 2, File.LINKS: 2}
    assert lines(copy) == {file: LINE * kept.get(file, len(whole[file]) // len(LINE)) for file in File}


@pytest.mark.parametrize("block", [1, 7, len(LINE), 1000])
def test_zeros_are_found_wherever_a_read_ends(store, monkeypatch, block):
    monkeypatch.setattr("seaspider.restoring._READ_BYTES", block)
    written(store)
    copy = cut_off(store)
    with (copy / File.INTENTS).open("ab") as file:
        file.write(LINE + LINE[:5] + bytes(5) + LINE)
    assert reopened(copy, NEXT_BOOT) == {"intents.jsonl": 10 + len(LINE)}
    assert (copy / File.INTENTS).read_bytes() == 2 * LINE


def test_a_process_that_was_killed_loses_nothing(store):
    """In the same boot everything is there, waited for or not."""
    written(store)
    store.write(File.PAGES, {"run": 1})
    copy = cut_off(store)
    whole = lines(copy)
    assert reopened(copy, BOOT) == {}
    assert lines(copy) == whole


def test_a_round_of_the_log_leaves_what_it_had_in_the_files(store):
    for _ in range(SIZE // MOST + 1):
        store.write(File.LINKS, b"x" * (MOST - 1000) + b"\n")
        store.sync()
    size = (store.folder / File.LINKS).stat().st_size
    copy = cut_off(store)
    assert size > SIZE
    assert reopened(copy, NEXT_BOOT) == {}
    assert (copy / File.LINKS).stat().st_size == size


def refused(folder: Path, told: str) -> None:
    """Left as it is; without its log it is no longer."""
    before = lines(folder)
    line = f"{folder}/{told}: {NAME} is of another time or store. Without it a crawl builds on what is there"
    for boot_id in (BOOT, NEXT_BOOT):
        with pytest.raises(StoreError, match=f"^{re.escape(line)}$"):
            FolderStore(folder, boot_id=boot_id)
    assert lines(folder) == before
    (folder / NAME).unlink()
    assert reopened(folder, NEXT_BOOT) == {}


def test_a_log_that_goes_on_where_a_file_has_nothing_is_refused(store):
    written(store)
    store.close()
    again = FolderStore(store.folder, boot_id=BOOT)
    copy = cut_off(again)
    again.close()
    (copy / PAGES).write_bytes(b"")
    refused(copy, f"{PAGES}: has 0 bytes, and the log goes on at byte {len(LINE)}")


def test_the_log_of_another_store_is_refused(store, tmp_path):
    written(store)
    other = FolderStore(tmp_path / "other", boot_id=BOOT)
    other.write(File.PAGES, {"run": 7})
    other.close()
    shutil.copy(store.folder / NAME, other.folder / NAME)
    refused(other.folder, f"{PAGES}: has other bytes at byte 0 than the log")


def test_a_log_of_an_earlier_time_is_refused(store):
    store.write(File.MANIFEST, {"run": 1})
    written(store)
    copy = cut_off(store)
    for _ in range(2):
        store.write(File.MANIFEST, {"run": 2})
    store.close()
    shutil.copy(copy / NAME, store.folder / NAME)
    refused(store.folder, "manifest.jsonl: has 2 lines that came after the log")


def test_after_a_failed_write_the_log_stays_for_the_next_run(store):
    written(store)
    with files_end_at(len(LINE)), pytest.raises(StoreError):
        store.write(File.PAGES, {"run": 1})
    store.close()
    assert (store.folder / NAME).exists()
    (store.folder / PAGES).write_bytes(b"")
    assert reopened(store.folder, NEXT_BOOT) == {}
    assert (store.folder / PAGES).read_bytes() == LINE


def test_a_log_that_cannot_be_written_latches_the_store(store, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StoreError, match=f"{NAME} cannot be written: Input/output error$"):
        written(store)
    with pytest.raises(StoreError):
        store.sync()
    with pytest.raises(StoreError):
        store.write(File.PAGES, {"run": 1})


def test_what_was_restored_or_found_is_on_the_disk(store, monkeypatch):
    synced = []
    monkeypatch.setattr(syncing, "sync_file_system", synced.append)
    written(store)
    copy = cut_off(store)
    restore(copy, BOOT)
    assert synced == [copy, copy / "bodies"]
    (copy / NAME).unlink()
    restore(copy, BOOT)
    assert synced == [copy, copy / "bodies"]


def test_a_file_system_is_synced_or_an_error_says_why_not(tmp_path):
    syncing.sync_file_system(tmp_path)
    with pytest.raises(FileNotFoundError):
        syncing.sync_file_system(tmp_path / "none")


# --- who only reads ---


@pytest.fixture
def unfinished(store):
    """What a power cut left: the page line was waited for, and its file did not have it."""
    written(store)
    copy = cut_off(store)
    (copy / PAGES).write_bytes(b"")
    return copy


def test_a_reader_is_told_what_is_missing(unfinished):
    before = lines(unfinished)
    with pytest.raises(StoreError, match=f"^{unfinished}: its files are not what its log, {NAME}, says. "):
        cutoff.refuse_cut_off(unfinished)
    assert lines(unfinished) == before
    assert reopened(unfinished, NEXT_BOOT) == {}
    cutoff.refuse_cut_off(unfinished)


@pytest.mark.parametrize("path", [PAGES, BODY_PATH])
def test_a_reader_is_told_of_any_file(store, path):
    written(store)
    copy = cut_off(store)
    cutoff.refuse_cut_off(copy)
    (copy / path).write_bytes(b"")
    with pytest.raises(StoreError):
        cutoff.refuse_cut_off(copy)


def test_a_reader_is_told_of_lines_that_may_vouch_for_nothing(store):
    written(store)
    store.write(File.PAGES, {"run": 1})
    with pytest.raises(StoreError):
        cutoff.refuse_cut_off(cut_off(store))


def test_a_reader_may_look_at_a_store_at_work_and_at_one_that_was_killed(store, unfinished, monkeypatch):
    cutoff.refuse_cut_off(store.folder)
    monkeypatch.setattr("seaspider.clock.SystemClock.boot_id", BOOT)
    cutoff.refuse_cut_off(unfinished)


def test_a_reader_of_a_fleet_is_told_of_each_of_its_stores(tmp_path, unfinished):
    shards = tmp_path / "fleet" / "shards"
    shards.mkdir(parents=True)
    unfinished.rename(shards / "0007")
    with pytest.raises(StoreError, match=f"^{shards}/0007: its files are not what its log"):
        cutoff.refuse_cut_off(tmp_path / "fleet")


def test_a_shard_that_lacks_what_its_log_has_is_not_finished(store):
    part = Part(lines=1, hosts=1, sha256="5f", lines_sha256="")
    store.write(File.MANIFEST, {"run": 1, "event": "start", "queue_sha256": "5f"})
    store.write(File.MANIFEST, {"run": 1, "event": "end", "exit": 0})
    written(store)
    copy = cut_off(store)
    assert is_finished(copy, part)
    (copy / BODY_PATH).unlink()
    assert not is_finished(copy, part)
