"""The ledger all runs and processes of a user share: a SQLite file on this machine.

What a claim or a settle does to the keys is core/politeness; here each is one transaction (BEGIN IMMEDIATE) over the
keys concerned. A key written under another boot id rests its full recorded pause again, counted from when the file is
opened. If the file cannot be read or written, or is not the one that was opened, a claim waits and a settle tries
again; nothing is sent meanwhile, and what this process itself did is kept in mind and written into the next file.

All of it is done where the crawl runs: there is no other answer to hold up, one request is under way at a time.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from seaspider import faultpoints
from seaspider.clock import Clock
from seaspider.core.leases import LOST, Lease, Taken
from seaspider.core.politeness import Claimed, ClaimTable, KeyState, Lost, Settled, Token
from seaspider.core.times import NS_PER_S
from seaspider.ledger import LeaseTaken
from seaspider.ledgerplace import Place, make, place_of
from seaspider.sharedledger import SharedLedger
from seaspider.sqliteleases import SCHEMA as LEASES
from seaspider.sqliteleases import SqliteLeases

_BUSY_TIMEOUT_S = 0.05  # a stop is not looked at meanwhile
_BUSY_FOR_A_WHILE_NS = 5 * NS_PER_S  # shorter, it is how processes take turns
_CLAIMS_BETWEEN_SWEEPS = 4096
_DEAD_FOR_NS = 86_400 * NS_PER_S  # after a dead holder the next one may have to wait longer than its key says
_MOST_NS = 2**62  # what is left of SQLite's integers is room to add

_FORMAT = 1
_SCHEMA = """
CREATE TABLE keys (
    key TEXT PRIMARY KEY, boot_id TEXT NOT NULL, rest_ns INTEGER NOT NULL, lapse_ns INTEGER NOT NULL,
    token TEXT, pause_ns INTEGER NOT NULL
) WITHOUT ROWID
"""
_BEGIN_ANEW = """
UPDATE keys SET boot_id = :boot_id, rest_ns = :now_ns + pause_ns, lapse_ns = 0, token = NULL WHERE boot_id != :boot_id
"""
_SWEEP = """
DELETE FROM keys WHERE boot_id = :boot_id AND rest_ns <= :now_ns
    AND (token IS NULL AND lapse_ns <= :now_ns OR lapse_ns <= :now_ns - :dead_for_ns)
"""
_KEYS_AT_ONCE = 500  # SQLite counts the parameters of a statement
_LOAD = "SELECT key, rest_ns, lapse_ns, token, pause_ns FROM keys WHERE key IN "
_SAVE = "INSERT OR REPLACE INTO keys (key, boot_id, rest_ns, lapse_ns, token, pause_ns) VALUES (?, ?, ?, ?, ?, ?)"


class LedgerFileError(Exception):
    """The file can be no ledger: its folder cannot be made, or it is something else."""


class SqliteLedger(SharedLedger):
    """Opened at once, so that a file that can be none is an error at the start. Raises LedgerFileError."""

    troubles = (OSError, sqlite3.Error)

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        stopped: Callable[[], bool] = lambda: False,
        lease: Lease | None = None,
    ) -> None:
        super().__init__(str(path), clock, stopped, lease)
        self._path = path
        self._claims = 0
        self._connection: sqlite3.Connection | None = None
        self._file: Place | None = None
        self._opened = False
        self._replaced_ns: int | None = None
        self._own: dict[str, KeyState] = {}
        """What this process did to keys, in case the file forgets it."""
        self._busy_ns: int | None = None
        self._syncs = False
        """SQLite leaves it to us to sync."""
        self._recorded_ns: dict[str, int] = {}
        """The pauses in the file, of the keys of the transaction under way. `lengthened`: one is made longer."""
        self._lengthened = False
        try:
            self._open()
        except self.troubles as error:
            if not _is_busy(error):
                raise LedgerFileError(str(error)) from error

    # --- one claim, one settle ---

    def _claim_once(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        with self._transaction() as connection:
            now_ns = self._clock.boot_ns()
            if self._lease is not None and not self._leases(connection).held(self._lease):
                raise LeaseTaken(f"the lease of {self._lease.name} {LOST}")
            # Others find out that the file is another one when they settle, and then write what they did into it.
            if self._replaced_ns is not None and now_ns < self._replaced_ns + hold_ns:
                return self._replaced_ns + hold_ns
            table = ClaimTable(self._load(connection, pauses_ns))
            answer = table.claim(pauses_ns, f"{self._holder}-{self._claims}", now_ns, hold_ns)
            if not isinstance(answer, Claimed):
                return answer.until_ns
            self._claims += 1
            if self._claims % _CLAIMS_BETWEEN_SWEEPS == 0:
                self._sweep(connection)
            self._save(connection, table.keys)
            faultpoints.reached("before commit claim")
        faultpoints.reached("after commit claim")
        self._own |= table.keys
        return answer

    def _settle_once(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        with self._transaction() as connection:
            now_ns = self._clock.boot_ns()
            table = ClaimTable(self._load(connection, pauses_ns))
            answer = table.settle(token, now_ns, pauses_ns)
            self._save(connection, table.keys)
            faultpoints.reached("before commit settle")
        faultpoints.reached("after commit settle")
        self._own |= table.keys
        return answer

    def _acquire_once(self, name: str, ttl_ns: int) -> Lease | Taken:
        with self._transaction() as connection:
            return self._leases(connection).acquire(name, self._holder, ttl_ns)

    def _renew_once(self, lease: Lease) -> bool:
        with self._transaction() as connection:
            return self._leases(connection).renew(lease)

    def _release_once(self, lease: Lease) -> bool:
        with self._transaction() as connection:
            return self._leases(connection).release(lease)

    def _leases(self, connection: sqlite3.Connection) -> SqliteLeases:
        return SqliteLeases(connection, self._clock.boot_id, self._clock.boot_ns())

    def _load(self, connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, KeyState]:
        """The keys as they are now, and no freer than this process left them."""
        wanted = tuple(keys)
        states: dict[str, KeyState] = {}
        for at in range(0, len(wanted), _KEYS_AT_ONCE):
            some = wanted[at : at + _KEYS_AT_ONCE]
            rows = connection.execute(f"{_LOAD}({','.join('?' * len(some))})", some)
            states.update((key, KeyState(*state)) for key, *state in rows)
        self._recorded_ns = {key: state.pause_ns for key, state in states.items()}
        for key in wanted:
            own = self._own.get(key)
            if own is not None:
                states[key] = states[key].joined(own) if key in states else own.joined(own)
        return states

    def _save(self, connection: sqlite3.Connection, states: Mapping[str, KeyState]) -> None:
        boot_id, rows = self._clock.boot_id, []
        for key, state in states.items():
            pause_ns = min(state.pause_ns, _MOST_NS)
            lapse_ns = min(state.lapse_ns, _MOST_NS)
            rows.append((key, boot_id, min(state.rest_ns, _MOST_NS), lapse_ns, state.token, pause_ns))
            self._lengthened |= pause_ns > self._recorded_ns.get(key, 0)
        connection.executemany(_SAVE, rows)

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Forgets keys that are free for anybody."""
        now_ns = self._clock.boot_ns()
        connection.execute(_SWEEP, {"boot_id": self._clock.boot_id, "now_ns": now_ns, "dead_for_ns": _DEAD_FOR_NS})
        self._own = {key: state for key, state in self._own.items() if state.free_ns() > now_ns}

    # --- the file ---

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction on the file the path leads to; rolled back, and the file opened anew, after an error."""
        connection = self._connection or self._open()
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._lengthened = False
            yield connection
            connection.execute("COMMIT")
            self._check_file()
            if self._syncs and self._lengthened:
                self._sync_log()
                self._check_file()
            self._busy_ns = None
        except BaseException:
            self._disconnect()
            raise

    def _open(self) -> sqlite3.Connection:
        make(self._path)
        self._file = place_of(self._place)
        self._connection = connection = sqlite3.connect(
            self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            self._syncs = False
            with self._transaction():
                self._begin(connection)
            self._switch_to_wal(connection)
        except BaseException:
            self._disconnect()
            raise
        return connection

    def _switch_to_wal(self, connection: sqlite3.Connection) -> None:
        """If others use the file just now it stays as it is, which is slower and as safe.

        A pause must outlive a power cut. After one it starts anew, so all that must be on the disk is how long it is:
        a commit that makes no pause longer than the file had it need not go there at once. In WAL mode the disk holds
        some state of the file that was, and each of these had a pause as long.
        """
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
        else:
            connection.execute("PRAGMA synchronous = NORMAL")
            self._syncs = True

    def _sync_log(self) -> None:
        """As SQLite does after each commit if `synchronous` is FULL."""
        with Path(f"{self._path}-wal").open("rb") as log:
            os.fdatasync(log.fileno())

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Makes the table, lets pauses of another boot begin anew, and writes what this process knows."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            if self._opened:
                self._replaced_ns = self._clock.boot_ns()
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        elif version != _FORMAT:
            raise sqlite3.DatabaseError(f"no ledger of format {_FORMAT}, but a database of version {version}")
        connection.execute(LEASES)
        connection.execute(_BEGIN_ANEW, {"boot_id": self._clock.boot_id, "now_ns": self._clock.boot_ns()})
        self._sweep(connection)
        self._save(connection, self._load(connection, self._own))
        self._opened = True

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that was deleted or replaced, where nobody else sees it."""
        if place_of(self._place) != self._file:
            self._replaced_ns = self._clock.boot_ns()
            raise OSError(errno.ESTALE, "the file was replaced by another one")

    def _disconnect(self) -> None:
        """Closing rolls back what is open."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _is_worth_saying(self, error: Exception) -> bool:
        """A file in use is told of when it is for a while."""
        if not _is_busy(error):
            return True
        now_ns = self._clock.boot_ns()
        self._busy_ns = now_ns if self._busy_ns is None else self._busy_ns
        return now_ns - self._busy_ns >= _BUSY_FOR_A_WHILE_NS


def _is_busy(error: Exception) -> bool:
    """Whether somebody else uses the file just now."""
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
