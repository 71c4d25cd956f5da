"""What the settings make of the rules: the order of turns, how robots.txt is kept, how URLs are judged."""

from __future__ import annotations

from typing import Any

from seaspider.config import Config
from seaspider.core.frontier import FrontierPolicy
from seaspider.core.governor import BackoffPolicy, backoff_ns
from seaspider.core.hostqueue import HostOrder
from seaspider.core.orders import OrderName, new_order
from seaspider.core.robotsstate import RobotsPolicy
from seaspider.core.times import MS_PER_S, ns_from_s


def order_of(config: Config) -> HostOrder[Any]:
    """Whose turn is next, by the settings."""
    return new_order(OrderName(config.order), ns_from_s(config.expected_answer_s), ns_from_s(config.interval_s))


def robots_policy(config: Config) -> RobotsPolicy:
    """How robots.txt is kept, by the settings."""
    return RobotsPolicy(ttl_s=config.robots_ttl_s, retry_s=config.robots_retry_s, give_up=config.give_up)


def frontier_policy(config: Config) -> FrontierPolicy:
    """How URLs are judged, by the settings."""
    return FrontierPolicy(
        token=config.token,
        crawl_delay_cap_s=config.crawl_delay_cap_s,
        stop_on_403=config.stop_on_403,
        block_ms=int(config.block_s * MS_PER_S),
        backoff_ns=backoff_ns(1, BackoffPolicy(ns_from_s(config.backoff_base_s), ns_from_s(config.backoff_cap_s))),
        host_budget=config.host_budget,
    )
