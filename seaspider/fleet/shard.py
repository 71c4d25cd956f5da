"""The shard that a crawl is: which one, of which plan, and the right to work on it."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from seaspider import leasekeeper
from seaspider.arguments import Arguments
from seaspider.clock import Clock
from seaspider.config import Config
from seaspider.core.leases import BRIEF_S
from seaspider.core.times import ns_from_s
from seaspider.fleet.plan import checked_part
from seaspider.outside import shared_ledger

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shard:
    plan: str
    """The plan's digest."""
    number: int

    @classmethod
    def of(cls, asked: Arguments) -> Shard | None:
        """None: the arguments name no shard. Raises UsageFault for a plan or a shard's queue that is not whole."""
        if asked.plan is None or asked.shard is None:
            return None
        return cls(checked_part(Path(asked.plan), asked.shard).digest, asked.shard)

    def to_record(self) -> dict[str, str]:
        """As a run's start names it among its versions."""
        return {"plan": self.plan, "shard": str(self.number)}


class Held:
    """The lease of a shard, from now until it is given back. Raises SettingError, and StoreInUse if another has it."""

    def __init__(self, shard: Shard, config: Config, clock: Clock) -> None:
        if config.lease_s < BRIEF_S:
            logger.warning("SEASPIDER_LEASE = %g: below %g s a busy machine may lose it", config.lease_s, BRIEF_S)
        self._leases = shared_ledger(config.ledger, clock)
        self._kept = ExitStack()
        name = f"{shard.plan}/{shard.number}"
        self.lease = self._kept.enter_context(leasekeeper.kept(self._leases, name, clock, ns_from_s(config.lease_s)))

    def give_back(self) -> None:
        self._kept.close()

    async def close(self) -> None:
        self.give_back()
        await self._leases.close()
