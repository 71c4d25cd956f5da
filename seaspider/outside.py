"""What a run meets that is not its own. The real world for a crawl; something else may stand in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seaspider.clock import Clock
from seaspider.config import Config
from seaspider.errors import SettingError
from seaspider.exchange import Exchange, HttpExchange
from seaspider.ledger import IN_MEMORY, Ledger, MemoryLedger
from seaspider.resolver import Resolver, SystemResolver
from seaspider.sqliteledger import LedgerFileError, SqliteLedger


@dataclass(frozen=True, slots=True)
class Outside:
    """Time, the names' addresses, the pauses of others, and servers."""

    clock: Clock
    resolver: Resolver
    ledger: Ledger
    exchange: Exchange


World = Callable[[Callable[[], bool]], Outside]
"""Makes the Outside of a run that says whether it is stopped. Raises SettingError."""


def real_world(config: Config, clock: Clock) -> World:
    """The system's resolver, the ledger of the settings, and HTTP. The result raises SettingError."""
    return lambda stopped: Outside(
        clock,
        SystemResolver(config.resolve, config.dns_timeout_s, stopped),
        _open_ledger(config.ledger, clock, stopped),
        HttpExchange(config),
    )


def _open_ledger(path: str, clock: Clock, stopped: Callable[[], bool]) -> Ledger:
    if path == IN_MEMORY:
        return MemoryLedger(clock, stopped=stopped)
    try:
        return SqliteLedger(Path(path), clock, stopped=stopped)
    except LedgerFileError as error:
        raise SettingError("SEASPIDER_LEDGER", path, f"cannot be used: {error}") from error
