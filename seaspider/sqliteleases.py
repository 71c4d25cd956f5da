"""The leases in the SQLite ledger's file. Each function is a part of a transaction that is under way.

Times are CLOCK_BOOTTIME: whoever held a lease under another boot id died with that boot.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from seaspider.core.leases import Lease, Taken, next_token

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS leases (
    name TEXT PRIMARY KEY, boot_id TEXT NOT NULL, number INTEGER NOT NULL, token TEXT, until_ns INTEGER NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class SqliteLeases:
    connection: sqlite3.Connection
    boot_id: str
    now_ns: int

    def acquire(self, name: str, holder: str, ttl_ns: int) -> Lease | Taken:
        row = self.connection.execute(
            "SELECT boot_id, number, token, until_ns FROM leases WHERE name = ?", (name,)
        ).fetchone()
        boot_id, number, token, until_ns = row or (self.boot_id, 0, None, 0)
        again = token == next_token(number - 1, holder)
        if token is not None and not again and boot_id == self.boot_id and until_ns > self.now_ns:
            return Taken(until_ns)
        lease = Lease(name, next_token(number - again, holder), ttl_ns)
        self.connection.execute(
            "INSERT OR REPLACE INTO leases (name, boot_id, number, token, until_ns) VALUES (?, ?, ?, ?, ?)",
            (name, self.boot_id, number + (not again), lease.token, self.now_ns + ttl_ns),
        )
        return lease

    def renew(self, lease: Lease) -> bool:
        changed = self.connection.execute(
            "UPDATE leases SET boot_id = ?, until_ns = ? WHERE name = ? AND token = ?",
            (self.boot_id, self.now_ns + lease.ttl_ns, lease.name, lease.token),
        )
        return changed.rowcount == 1

    def release(self, lease: Lease) -> bool:
        changed = self.connection.execute(
            "UPDATE leases SET token = NULL, until_ns = 0 WHERE name = ? AND token = ?", (lease.name, lease.token)
        )
        return changed.rowcount == 1

    def held(self, lease: Lease) -> bool:
        """Whether nobody took it since, run out or not: then it may still be renewed."""
        row = self.connection.execute("SELECT token FROM leases WHERE name = ?", (lease.name,)).fetchone()
        return row is not None and row[0] == lease.token
