"""What a run meets that is not its own. The real world for a crawl; something else may stand in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seaspider.clock import Clock
from seaspider.config import Config
from seaspider.core.leases import Lease
from seaspider.core.redisurl import is_url, redis_place, shown
from seaspider.errors import SettingError
from seaspider.exchange import Exchange, HttpExchange
from seaspider.ledger import IN_MEMORY, Ledger, MemoryLedger
from seaspider.resolver import Resolver, SystemResolver
from seaspider.sharedledger import SharedLedger
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


def real_world(config: Config, clock: Clock, lease: Lease | None = None) -> World:
    """The system's resolver, the ledger of the settings, and HTTP. The result raises SettingError.

    `lease`: taken in the same ledger; nothing is asked of anybody once another runner has it.
    """
    return lambda stopped: Outside(
        clock,
        SystemResolver(config.resolve, config.dns_timeout_s, stopped),
        _open_ledger(config.ledger, clock, stopped, lease),
        HttpExchange(config),
    )


def _open_ledger(place: str, clock: Clock, stopped: Callable[[], bool], lease: Lease | None) -> Ledger:
    if place == IN_MEMORY and lease is None:
        return MemoryLedger(clock, stopped=stopped)
    return shared_ledger(place, clock, stopped, lease)


def shared_ledger(
    place: str, clock: Clock, stopped: Callable[[], bool] = lambda: False, lease: Lease | None = None
) -> SharedLedger:
    """The ledger that the setting names, which keeps leases too. Raises SettingError, also for IN_MEMORY."""
    if place == IN_MEMORY:
        raise SettingError("SEASPIDER_LEDGER", place, "keeps no leases; name a file or a Redis server")
    if is_url(place):
        return _redis_ledger(place, clock, stopped, lease)
    try:
        return SqliteLedger(Path(place), clock, stopped=stopped, lease=lease)
    except LedgerFileError as error:
        raise SettingError("SEASPIDER_LEDGER", place, f"cannot be used: {error}") from error


def _redis_ledger(place: str, clock: Clock, stopped: Callable[[], bool], lease: Lease | None) -> SharedLedger:
    try:
        from seaspider import redisledger  # noqa: PLC0415 - needs a package that a plain crawl does without
    except ModuleNotFoundError as error:
        why = f"needs the package {error.name}: pip install -r requirements-fleet.txt"
        raise SettingError("SEASPIDER_LEDGER", shown(place), why) from error
    try:
        return redisledger.RedisLedger(redis_place(place), clock, stopped=stopped, lease=lease)
    except redisledger.UnfitServer as error:
        raise SettingError("SEASPIDER_LEDGER", shown(place), f"cannot be used: it {error}") from error
