"""The ledger's file: what outlives a process, a boot and a disk; and that nothing is given while it cannot be used.

What it has in common with every ledger is in test_ledger.py.
"""

import asyncio
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from seaspider.clock import FakeClock, SystemClock
from seaspider.core.politeness import Claimed, Lost, Settled
from seaspider.ledger import LedgerStopped
from seaspider.sqliteledger import LedgerFileError, SqliteLedger
from tests import eventloop
from tests.crawling import ROOT
from tests.eventloop import run
from tests.ledgers import HOLD, IP, A, B, RecordingClock, S

PAUSE = 2 * S
NEXT_BOOT = "0d9c1f6e-55a3-4f0b-8a43-3c1c86a0b7f2"


class NapClock(RecordingClock):
    """Something happens at the n-th sleep from the start: `at[n]`, counted from 1."""

    def __init__(self, **start: Any) -> None:
        super().__init__(**start)
        self.at: dict[int, Callable[[], Any]] = {}

    async def sleep(self, seconds: float) -> None:
        self.at.get(len(self.naps) + 1, lambda: None)()
        await super().sleep(seconds)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite3"


@pytest.fixture
def clock() -> NapClock:
    return NapClock()


@contextmanager
def opened(path: Path, clock: Any, **options: Any) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(path, clock, **options)
    try:
        yield ledger
    finally:
        run(ledger.close())


def claim(ledger: SqliteLedger, *keys: str, pause_ns: int = PAUSE) -> Claimed:
    return run(ledger.claim(dict.fromkeys(keys, pause_ns), HOLD))


def settle(ledger: SqliteLedger, claimed: Claimed, *keys: str, pause_ns: int = PAUSE) -> Settled | Lost:
    return run(ledger.settle(claimed.token, dict.fromkeys(keys, pause_ns)))


def use(ledger: SqliteLedger, *keys: str, pause_ns: int = PAUSE) -> None:
    assert settle(ledger, claim(ledger, *keys), *keys, pause_ns=pause_ns) == Settled()


def rows(path: Path) -> dict[str, tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0]: row[1:] for row in connection.execute("SELECT * FROM keys")}


def open_files() -> list[str]:
    return sorted(file.name for file in Path("/proc/self/fd").iterdir())


def wait_s(ledger: SqliteLedger, clock: RecordingClock, key: str) -> float:
    """How long a claim of the key takes from now, in s."""
    asked_ns = clock.boot_ns()
    return (claim(ledger, key).claimed_ns - asked_ns) / S


# --- from process to process ---


def test_a_pause_outlives_the_process(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, IP, pause_ns=60 * S)
    clock.advance(20)
    with opened(path, clock) as ledger:
        assert wait_s(ledger, clock, A) == 40
        assert wait_s(ledger, clock, IP) == 0


def test_a_dead_holders_key_is_had_after_hold_and_pause(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        claim(ledger, A)
    clock.advance(1)
    with opened(path, clock) as ledger:
        assert wait_s(ledger, clock, A) == 31
        assert wait_s(ledger, clock, B) == 0


def test_after_a_dead_holder_the_next_ones_own_pause_is_kept_too(path: Path, clock: NapClock) -> None:
    """The crawl-delay was in the answer the dead one did not live to settle."""
    with opened(path, clock) as ledger:
        claim(ledger, A)
    clock.advance(40)
    with opened(path, clock) as ledger:
        assert claim(ledger, A, pause_ns=60 * S).claimed_ns == clock.start_ns + 90 * S


def test_two_ledgers_share_a_file(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as one, opened(path, clock) as other:
        first = claim(one, A, IP)
        clock.at[3] = lambda: settle(one, first, A, IP)
        assert claim(other, B, IP).claimed_ns == clock.start_ns + 500_000_000 + PAUSE
        assert wait_s(one, clock, A) == 0


def test_twin_two_ledgers_with_files_of_their_own_share_nothing(tmp_path: Path, clock: NapClock) -> None:
    with opened(tmp_path / "one", clock) as one, opened(tmp_path / "other", clock) as other:
        claim(one, A)
        assert wait_s(other, clock, A) == 0


def test_a_token_means_nothing_in_another_processs_hands_once_its_key_is_anothers(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as one, opened(path, clock) as other:
        late = claim(one, A)
        clock.advance(32)
        present = claim(other, A)
        assert late.token != present.token
        assert settle(one, late, A, pause_ns=50 * S) == Lost((A,))
        assert settle(other, present, A) == Settled()
        assert wait_s(other, clock, A) == 50


def test_no_lock_is_left_by_a_claim_that_makes_no_sense(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as one, opened(path, clock) as other:
        with pytest.raises(ValueError, match="a claim needs"):
            claim(one)
        assert wait_s(other, clock, A) == 0
        assert clock.naps == []


def test_a_pause_beyond_all_numbers_is_a_long_one(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=10**30)
        with pytest.raises(TimeoutError):
            run(ledger.claim({A: 0}, HOLD), within_s=0.1)
    assert rows(path)[A][1] == 2**62


def test_eight_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    """The switch to WAL answers BUSY at once; whoever meets it works on."""
    program = """
import asyncio, sys, warnings
from pathlib import Path
from seaspider.clock import SystemClock
from seaspider.sqliteledger import SqliteLedger
warnings.simplefilter("error")
async def use(path):
    ledger = SqliteLedger(Path(path), SystemClock())
    claimed = await ledger.claim({sys.argv[1]: 0}, 10**10)
    print(await ledger.settle(claimed.token, {sys.argv[1]: 10**12}), flush=True)
    await ledger.close()
print("ready", flush=True)
for line in sys.stdin:
    asyncio.run(use(line.strip()))
"""
    files = [tmp_path / f"new {number}" / "ledger" for number in range(12)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, f"host:{n}.test"], cwd=ROOT, text=True, stdin=-1, stdout=-1, stderr=-1
        )
        for n in range(8)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for file in files:
        for process in processes:
            process.stdin.write(f"{file}\n")
            process.stdin.flush()
        assert [process.stdout.readline() for process in processes] == ["Settled()\n"] * 8
    assert [(process.communicate(timeout=20), process.returncode) for process in processes] == [(("", ""), 0)] * 8
    assert [sorted(rows(file)) for file in files] == [[f"host:{n}.test" for n in range(8)]] * 12


# --- another boot ---


def test_after_a_boot_the_full_pause_starts_again_once(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=60 * S)
        use(ledger, B, pause_ns=60 * S)
        claim(ledger, IP)
    later = RecordingClock(boot_ns=5 * S, boot_id=NEXT_BOOT)
    with opened(path, later):
        later.advance(25)
    with opened(path, later) as ledger:
        assert wait_s(ledger, later, IP) == 0  # its holder died with its boot
        assert wait_s(ledger, later, A) == 35
        use(ledger, B)
        assert wait_s(ledger, later, B) == 2
    with opened(path, later) as ledger:
        assert wait_s(ledger, later, A) == 30  # a dead holder's of this boot: two seconds ago


def test_a_pause_from_before_the_boot_ends(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=60 * S)
    later = RecordingClock(boot_ns=10**15, boot_id=NEXT_BOOT)
    with opened(path, later):
        pass
    later.advance(60)
    with opened(path, later):
        assert rows(path) == {}


# --- what is no ledger ---


def _text(path: Path) -> None:
    path.write_text("https://a.test/\n" * 100)


def _database(version: int, table: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE {table}")
            connection.execute(f"PRAGMA user_version = {version}")

    return make


NO_LEDGER: dict[str, tuple[Callable[[Path], Any], str]] = {
    "text": (_text, "not a database"),
    "a folder": (Path.mkdir, "unable to open"),
    "a newer one": (_database(2, "keys (key)"), "no ledger of format 1, but a database of version 2"),
    "somebody's database": (_database(0, "bookmarks (url)"), "no ledger of format 1, but a database of version 0"),
    "somebody's keys": (_database(1, "keys (name)"), "no such column"),
}


@pytest.mark.parametrize(("make", "why"), NO_LEDGER.values(), ids=NO_LEDGER)
def test_a_file_that_is_no_ledger_is_an_error_and_left_alone(
    tmp_path: Path, clock: NapClock, make: Callable[[Path], Any], why: str
) -> None:
    path = tmp_path / "ledger"
    make(path)
    before = path.is_dir() or path.read_bytes()
    files = open_files()
    with pytest.raises(LedgerFileError, match=why):
        SqliteLedger(path, clock)
    assert before == (path.is_dir() or path.read_bytes())
    assert open_files() == files


@pytest.mark.parametrize("below", ["ledger", "folder/ledger"])
def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, clock: NapClock, below: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerFileError, match="File exists"):
        SqliteLedger(tmp_path / "file" / below, clock)


def test_a_folder_where_nothing_can_be_made_is_an_error(clock: NapClock) -> None:
    with pytest.raises(LedgerFileError):
        SqliteLedger(Path("/proc/ledger"), clock)


def test_what_is_made_is_the_users_alone(tmp_path: Path, clock: NapClock) -> None:
    old = os.umask(0)
    try:
        with opened(tmp_path / "a" / "b" / "ledger", clock) as ledger:
            use(ledger, A)
            found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.rglob("*")}
    finally:
        os.umask(old)
    assert found == {"a": 0o700, "b": 0o700, "ledger": 0o600, "ledger-wal": 0o600, "ledger-shm": 0o600}


def test_what_was_there_keeps_its_mode(tmp_path: Path, clock: NapClock) -> None:
    folder, path = tmp_path / "shared", tmp_path / "shared" / "ledger"
    folder.mkdir()
    folder.chmod(0o755)
    path.touch()
    path.chmod(0o664)
    with opened(path, clock) as ledger:
        use(ledger, A)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, path)] == [0o755, 0o664]


# --- a file that cannot be used for a while ---


@contextmanager
def used_by_another(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process's transaction; it ends with the block, or with `rollback()`."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_nothing_is_given_while_the_file_is_busy(path: Path, clock: NapClock, when: str) -> None:
    with opened(path, clock) as first:
        use(first, B)
        if when == "later":
            with used_by_another(path) as busy:
                clock.at[2] = busy.rollback
                assert wait_s(first, clock, A) == 0.5
            return
    with used_by_another(path) as busy, opened(path, clock) as ledger:
        clock.at[2] = busy.rollback
        assert wait_s(ledger, clock, A) == 0.5


def test_a_file_is_called_busy_when_it_is_for_a_while(path: Path, clock: NapClock, caplog: Any) -> None:
    with opened(path, clock) as ledger, used_by_another(path) as busy:

        def five_seconds_later() -> None:
            assert caplog.records == []
            clock.advance(5)

        clock.at = {2: five_seconds_later, 4: busy.rollback}
        claim(ledger, A)
    assert [record.getMessage() for record in caplog.records] == [f"Waiting for the ledger {path}: database is locked"]


def test_a_busy_file_holds_up_neither_other_work_nor_a_stop(path: Path) -> None:
    stopped: list[bool] = []
    ledger = SqliteLedger(path, SystemClock(), stopped=lambda: bool(stopped))

    async def main() -> tuple[int, float]:
        ticks = 0
        claim = asyncio.create_task(ledger.claim({A: PAUSE}, HOLD))
        for _ in range(100):
            await asyncio.sleep(0.001)
            ticks += not claim.done()
        stopped.append(True)
        asked_s = time.monotonic()
        with pytest.raises(LedgerStopped):
            await claim
        return ticks, time.monotonic() - asked_s

    with used_by_another(path):
        ticks, took_s = eventloop.run(main())
    eventloop.run(ledger.close())
    assert ticks == 100
    assert took_s < 2


def remove(path: Path) -> None:
    for file in path.parent.glob(path.name + "*"):
        file.unlink()


def test_it_says_once_a_minute_why_nothing_is_sent(path: Path, clock: NapClock, caplog: Any) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A)
        remove(path)
        path.mkdir()
        clock.at[600] = path.rmdir
        claim(ledger, A)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    first, *later = [text.removeprefix(f"Waiting for the ledger {path}: ") for text in said]
    assert first.endswith("the file was replaced by another one")
    assert later == ["unable to open database file"] * 2


def _gone(path: Path) -> None:
    remove(path)


def _folder_gone(path: Path) -> None:
    shutil.rmtree(path.parent)


def _main_file_gone(path: Path) -> None:
    path.unlink()


def _replaced(path: Path) -> None:
    with opened(path.with_name("new"), FakeClock()) as other:
        use(other, "host:other.test", pause_ns=0)
    remove(path)
    path.with_name("new").rename(path)


LOSSES = {
    "gone": _gone,
    "main file gone": _main_file_gone,
    "folder gone": _folder_gone,
    "replaced": _replaced,
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_process_forgets_no_pause_it_caused_when_its_file_does(
    path: Path, clock: NapClock, lose: Callable[[Path], None]
) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=100 * S)
        held = claim(ledger, B)
        lose(path)
        assert settle(ledger, held, B, pause_ns=70 * S) == Settled()
        assert wait_s(ledger, clock, B) == 70
        with opened(path, clock) as other:
            assert claim(other, A).claimed_ns >= clock.start_ns + 100 * S


def test_a_process_forgets_no_pause_it_caused_when_somebody_empties_the_table(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=100 * S)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM keys")
        assert wait_s(ledger, clock, A) == 100


@pytest.mark.parametrize("lose", [_gone, _replaced, _folder_gone])
def test_in_a_new_file_nothing_is_given_before_all_others_must_have_found_it(
    path: Path, clock: NapClock, lose: Callable[[Path], None]
) -> None:
    with opened(path, clock) as one, opened(path, clock) as other:
        held = claim(one, A)
        lose(path)
        lost_ns = clock.boot_ns()
        clock.at[20] = lambda: settle(one, held, A, pause_ns=60 * S)
        assert HOLD <= claim(other, B).claimed_ns - lost_ns <= HOLD + S
        assert claim(other, A).claimed_ns - lost_ns >= 60 * S


def test_it_goes_on_when_the_file_can_be_used_again(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=0)
        away = path.parent.rename(path.parent.with_name("away"))
        path.parent.write_text("no folder")

        def back() -> None:
            path.parent.unlink()
            away.rename(path.parent)

        clock.at[40] = back
        assert wait_s(ledger, clock, A) >= 39 * 0.25


def test_a_settle_is_tried_until_it_is_written(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        held = claim(ledger, A)
        with used_by_another(path) as busy:
            clock.at[2] = busy.rollback
            assert settle(ledger, held, A, pause_ns=50 * S) == Settled()
        assert wait_s(ledger, clock, A) == 50


def test_a_settle_that_fails_after_a_stop_is_lost_and_the_key_rests_as_a_dead_holders(
    path: Path, clock: NapClock
) -> None:
    stopped: list[bool] = []
    with opened(path, clock, stopped=lambda: bool(stopped)) as ledger:
        held = claim(ledger, A)
        with used_by_another(path):
            clock.at[1] = lambda: stopped.append(True)
            assert settle(ledger, held, A) == Lost((A,))
    assert len(clock.naps) == 2
    with opened(path, clock) as ledger:
        assert claim(ledger, A).claimed_ns == clock.start_ns + HOLD + PAUSE


FULL_DISK = """
import asyncio, logging, resource, sys, warnings
from pathlib import Path
from seaspider.clock import FakeClock
from seaspider.sqliteledger import SqliteLedger
warnings.simplefilter("error")
logging.basicConfig(format="%(message)s", stream=sys.stdout)
S = 10**9
path = Path(sys.argv[1])
def largest(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
class Clock(FakeClock):
    naps = 0
    async def sleep(self, seconds):
        Clock.naps += 1
        if Clock.naps == 500:
            largest(-1)
        await super().sleep(seconds)
async def main():
    clock = Clock()
    ledger = SqliteLedger(path, clock)
    start_ns = clock.boot_ns()
    held = await ledger.claim({"a": 0}, 300 * S)
    largest(path.with_name(path.name + "-wal").stat().st_size)
    free = asyncio.create_task(ledger.claim({"b": 0}, 30 * S))
    print(await ledger.settle(held.token, {"a": 200 * S}))
    print(Clock.naps >= 500, (await free).claimed_ns >= start_ns + 60 * S)
    print((await ledger.claim({"a": 0}, 30 * S)).claimed_ns >= start_ns + 200 * S)
    await ledger.close()
asyncio.run(main())
"""


def test_on_a_full_disk_it_waits_and_says_so(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path], cwd=ROOT, text=True, capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    said = [line for line in ended.stdout.splitlines() if line.startswith("Waiting for the ledger")]
    assert ended.stdout.splitlines()[len(said) :] == ["Settled()", "True True", "True"]
    assert 1 <= len(said) <= 3
    assert all("disk" in line for line in said)


# --- what it keeps, and its end ---


def test_keys_that_are_free_for_anybody_are_forgotten_when_it_is_opened(path: Path, clock: NapClock) -> None:
    with opened(path, clock) as ledger:
        use(ledger, A)
        use(ledger, B, pause_ns=1000 * S)
        claim(ledger, IP)
    clock.advance(500)
    with opened(path, clock):
        assert set(rows(path)) == {B, IP}  # a dead holder's may count still, for a longer pause
    clock.advance(86_400)
    with opened(path, clock):
        assert set(rows(path)) == set()


def test_keys_are_forgotten_now_and_then(path: Path, clock: NapClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seaspider.sqliteledger._CLAIMS_BETWEEN_SWEEPS", 10)
    with opened(path, clock) as ledger:
        use(ledger, A, pause_ns=1000 * S)
        for number in range(8):
            use(ledger, f"host:{number}.test", pause_ns=0)
        assert len(rows(path)) == 9
        use(ledger, B)
        assert set(rows(path)) == {A, B}
        assert wait_s(ledger, clock, A) == 1000


def test_closed_it_leaves_nothing_behind_and_may_be_closed_again(path: Path, clock: NapClock) -> None:
    files = open_files()
    ledger = SqliteLedger(path, clock)
    held = claim(ledger, A)
    run(ledger.close())
    run(ledger.close())
    assert open_files() == files
    assert settle(ledger, held, A) == Lost((A,))
    assert list(path.parent.iterdir()) == [path]


STEPS = {
    "a new key": ("claim", 2, True),
    "as long as before, settled": ("settle", 2, False),
    "as long as before, claimed": ("claim", 2, False),
    "settled for less, which changes nothing": ("settle", 1, False),
    "shorter": ("claim", 1, False),
    "longer than the shorter one, settled": ("settle", 2, True),
    "longer, claimed": ("claim", 3, True),
    "still so": ("settle", 3, False),
    "none": ("claim", 0, False),
    "some again": ("settle", 1, True),
}


def test_a_commit_that_makes_a_pause_longer_goes_to_the_disk(
    path: Path, clock: NapClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut a pause starts anew, so no more than its length has to be on the disk."""
    synced: list[str] = []
    fdatasync = os.fdatasync

    def noting(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", noting)
    found = {}
    with opened(path, clock) as ledger:
        held: Claimed
        for name, (verb, pause_s, _) in STEPS.items():
            synced.clear()
            if verb == "claim":
                held = claim(ledger, A, pause_ns=pause_s * S)
            else:
                settle(ledger, held, A, pause_ns=pause_s * S)
            found[name] = synced == [f"{path}-wal"]
    assert found == {name: goes_to_the_disk for name, (*_, goes_to_the_disk) in STEPS.items()}


def test_in_a_file_that_others_keep_from_wal_each_commit_goes_to_the_disk(
    path: Path, clock: NapClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SQLite has it: FULL syncs at each commit, whatever the journal."""
    with opened(path, clock):
        pass
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        connect = sqlite3.connect

        def read_then(statement: str) -> None:
            if statement.startswith("PRAGMA journal_mode") and not other.in_transaction:
                other.execute("BEGIN")
                other.execute("SELECT * FROM keys").fetchall()  # whoever reads keeps the journal as it is

        def reading(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection = connect(*args, **kwargs)
            connection.set_trace_callback(read_then)
            return connection

        monkeypatch.setattr(sqlite3, "connect", reading)
        with opened(path, clock) as ledger:
            assert modes(ledger) == ("delete", FULL)
    monkeypatch.undo()
    with opened(path, clock) as ledger:
        assert modes(ledger) == ("wal", NORMAL)


NORMAL, FULL = 1, 2


def modes(ledger: SqliteLedger) -> tuple[str, int]:
    """Journal mode, and `synchronous`, of its connection."""
    connection = ledger._connection
    assert connection is not None
    connection.set_trace_callback(None)
    journal, synchronous = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    )
    return journal, synchronous
