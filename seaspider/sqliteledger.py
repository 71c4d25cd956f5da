"""The ledger all runs and processes of a user share: a SQLite file on this machine.

What a claim or a settle does to the keys is core/politeness; here each is one transaction (BEGIN IMMEDIATE) over the
keys concerned. A key written under another boot id rests its full recorded pause again, counted from now.
If the file cannot be read or written, a claim waits and a settle tries again; nothing is sent meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import ParamSpec, TypeVar

from seaspider import faultpoints
from seaspider.clock import Clock
from seaspider.core.politeness import Claimed, ClaimTable, KeyState, Lost, Settled, Token
from seaspider.core.times import NS_PER_S
from seaspider.ledger import SLICE_NS, WaitingLedger

logger = logging.getLogger(__name__)

_BUSY_TIMEOUT_S = 5.0
_BEGIN_TRIES, _BEGIN_WAIT_S = 100, 0.05
_SAY_AGAIN_NS = 60 * NS_PER_S
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY, boot_id TEXT NOT NULL, rest_ns INTEGER NOT NULL, lapse_ns INTEGER NOT NULL,
    token TEXT, pause_ns INTEGER NOT NULL
) WITHOUT ROWID
"""
_FORMAT = 1

P = ParamSpec("P")
R = TypeVar("R")


class LedgerFileError(Exception):
    """The file can be no ledger: its folder cannot be made, or it is something else."""


def default_path() -> Path:
    """The user's ledger, in the state folder of the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "seaspider" / "ledger.sqlite3"


class SqliteLedger(WaitingLedger):
    """Opened at once, so that a file that can be none is an error at the start. Raises LedgerFileError.

    All work on the file is done in one thread of its own: a slow disk holds up no answer.
    """

    def __init__(self, path: Path, clock: Clock, *, stopped: Callable[[], bool] = lambda: False) -> None:
        super().__init__(clock, stopped=stopped)
        self._path = path
        self._holder = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._claims = 0
        self._connection: sqlite3.Connection | None = None
        self._said_ns: int | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._thread.submit(self._begin_when_free).result()
        except (OSError, sqlite3.Error) as error:
            self._thread.shutdown()
            raise LedgerFileError(str(error)) from error

    # --- the ledger's verbs ---

    async def _attempt(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        try:
            return await self._in_thread(self._claim_once, pauses_ns, hold_ns)
        except sqlite3.Error as error:
            self._say(error)
            return self._clock.boot_ns() + SLICE_NS

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        """Tries until it is written or the crawl is stopped: then the keys rest until hold and pause are over."""
        while True:
            try:
                return await self._in_thread(self._settle_once, token, pauses_ns)
            except sqlite3.Error as error:
                self._say(error)
                if self._closed or self._stopped():
                    return Lost(tuple(sorted(pauses_ns)))
            await self._clock.sleep(SLICE_NS / NS_PER_S)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._in_thread(self._disconnect)
            self._thread.shutdown()

    # --- in the thread ---

    def _begin_when_free(self) -> None:
        """The switch to WAL answers BUSY at once while another process makes it: asks again for a while."""
        for _ in range(_BEGIN_TRIES - 1):
            try:
                return self._begin()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
            Event().wait(_BEGIN_WAIT_S)
        return self._begin()

    def _begin(self) -> None:
        """Makes the table, and forgets keys that are free anyway."""
        with self._transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise sqlite3.DatabaseError(f"ledger format {version}; this version of Seaspider knows {_FORMAT}")
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.execute(
                "DELETE FROM keys WHERE boot_id = ? AND max(rest_ns, lapse_ns) <= ?",
                (self._clock.boot_id, self._clock.boot_ns()),
            )

    def _claim_once(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        self._claims += 1
        with self._transaction() as connection:
            now_ns = self._clock.boot_ns()
            table, changed = self._load(connection, pauses_ns, now_ns)
            answer = table.claim(pauses_ns, f"{self._holder}-{self._claims}", now_ns, hold_ns)
            if changed or isinstance(answer, Claimed):
                self._save(connection, table)
                faultpoints.reached("before commit claim")
        if not isinstance(answer, Claimed):
            return answer.until_ns
        faultpoints.reached("after commit claim")
        return answer

    def _settle_once(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        with self._transaction() as connection:
            now_ns = self._clock.boot_ns()
            table, _ = self._load(connection, pauses_ns, now_ns)
            answer = table.settle(token, now_ns, pauses_ns)
            self._save(connection, table)
            faultpoints.reached("before commit settle")
        faultpoints.reached("after commit settle")
        return answer

    def _load(self, connection: sqlite3.Connection, keys: Mapping[str, int], now_ns: int) -> tuple[ClaimTable, bool]:
        """The keys as they are now, and whether some were of another boot, so that their rest begins here."""
        states, changed = {}, False
        for key in keys:
            row = connection.execute(
                "SELECT boot_id, rest_ns, lapse_ns, token, pause_ns FROM keys WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                continue
            boot_id, rest_ns, lapse_ns, token, pause_ns = row
            if boot_id == self._clock.boot_id:
                states[key] = KeyState(rest_ns, lapse_ns, None if token is None else Token(token), pause_ns)
            else:
                states[key], changed = KeyState(now_ns + pause_ns, pause_ns=pause_ns), True
        return ClaimTable(states), changed

    def _save(self, connection: sqlite3.Connection, table: ClaimTable) -> None:
        connection.executemany(
            "INSERT OR REPLACE INTO keys (key, boot_id, rest_ns, lapse_ns, token, pause_ns) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (key, self._clock.boot_id, state.rest_ns, state.lapse_ns, state.token, state.pause_ns)
                for key, state in table.keys.items()
            ],
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, rolled back by an error; the file is opened anew after one."""
        connection = self._connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error:
            self._disconnect()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A pause must outlive a power cut: each commit goes to the disk.
            self._connection.execute("PRAGMA synchronous = FULL")
        return self._connection

    def _disconnect(self) -> None:
        """Closing rolls back what is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- around it ---

    async def _in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *args, **kwargs))

    def _say(self, error: sqlite3.Error) -> None:
        """Tells why nothing is sent, once a minute at most."""
        now_ns = self._clock.boot_ns()
        if self._said_ns is None or now_ns - self._said_ns >= _SAY_AGAIN_NS:
            self._said_ns = now_ns
            logger.warning("Waiting for the ledger %s: %s", self._path, error)
