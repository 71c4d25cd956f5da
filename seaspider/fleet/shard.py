"""The shard that a crawl is: which one, and of which plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seaspider.arguments import Arguments
from seaspider.fleet.plan import checked_part


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
