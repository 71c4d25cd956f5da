"""What a run promised: the settings of its start line, as far as a check judges by them.

Reads, and decides nothing. Raises StoreError, with file and line, for a setting that is missing or cannot be meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from seaspider.core.addresses import Network, parse_networks
from seaspider.core.governor import BackoffPolicy
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.core.times import MS_PER_S, ns_from_s
from seaspider.core.verdict import GatePolicy
from seaspider.journal import Row
from seaspider.verify.evidence import RunInfo

HOLD_SLACK_S: Final = 2
"""A claim is good for the time-out and so much more; nothing is sent under it after that."""
IN_MEMORY: Final = ":memory:"
"""A ledger that ends with its process."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Of one run. Durations are whole ns or ms."""

    token: str
    interval_ns: int
    ip_interval_ns: int
    crawl_delay_cap_s: float
    timeout_ns: int
    hold_ns: int
    max_redirects: int
    robots_max_redirects: int
    block_ms: int
    ledger: str
    retry_failed: bool
    """URLs that failed are taken up again."""
    networks: tuple[Network, ...]
    backoff: BackoffPolicy
    robots: RobotsPolicy
    gate: GatePolicy

    @classmethod
    def of(cls, run: RunInfo) -> Terms:
        settings = Row(run.start.place, dict(run.settings))
        try:
            return cls(
                token=settings.get("token", str),
                interval_ns=ns_from_s(_number(settings, "interval_s")),
                ip_interval_ns=ns_from_s(_number(settings, "ip_interval_s")),
                crawl_delay_cap_s=_number(settings, "crawl_delay_cap_s"),
                timeout_ns=ns_from_s(_number(settings, "timeout_s")),
                hold_ns=ns_from_s(_number(settings, "timeout_s") + HOLD_SLACK_S),
                max_redirects=settings.get("max_redirects", int),
                robots_max_redirects=settings.get("robots_max_redirects", int),
                block_ms=int(_number(settings, "block_s") * MS_PER_S),
                ledger=settings.get("ledger", str),
                retry_failed=settings.get("retry_failed", bool),
                networks=parse_networks(settings.get("allowed_networks", list)),
                backoff=BackoffPolicy(
                    ns_from_s(_number(settings, "backoff_base_s")), ns_from_s(_number(settings, "backoff_cap_s"))
                ),
                robots=RobotsPolicy(
                    ttl_s=_number(settings, "robots_ttl_s"),
                    retry_s=_number(settings, "robots_retry_s"),
                    give_up=settings.get("give_up", int),
                ),
                gate=_gate(settings),
            )
        except (ValueError, OverflowError, AttributeError) as error:
            raise settings.error(f"settings that cannot be meant: {error}") from error


def _number(settings: Row, key: str) -> float:
    value: Any = settings.get(key, object)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise settings.error(f"{key!r} is {value!r}, not a number")
    return float(value)


def _gate(settings: Row) -> GatePolicy:
    gate = Row(settings.place, settings.get("gate", dict))
    return GatePolicy(gate.get("min_hosts", int), gate.get("max_per_host", int), gate.get("min_breadth", int))
