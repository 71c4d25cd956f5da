"""What a lease is: the right of one runner to work on one shard, until it runs out or somebody else has taken it.

Its token is a fencing token: each time the lease is taken there is a new one, and a claim made under an older one is
refused in the same transaction, however late it comes. Never sleeps and never reads a clock; a ledger keeps leases.
"""

from dataclasses import dataclass
from typing import Final, NewType

from seaspider.core.times import NS_PER_S

LeaseToken = NewType("LeaseToken", str)
"""`NUMBER:HOLDER`. The number grows with each taking; unique as long as the holders' names are."""

TTL_NS: Final = 60 * NS_PER_S
LEAST_TTL_NS: Final = 30 * NS_PER_S
"""A shorter one is lost when the machine is busy."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Held by whoever knows the token, at most `ttl_ns` after it was taken or last renewed."""

    name: str
    token: LeaseToken
    ttl_ns: int


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody else holds it, until `until_ns` (CLOCK_BOOTTIME) if it is not renewed."""

    until_ns: int


def next_token(number: int, holder: str) -> LeaseToken:
    """The token of a lease that was taken `number` times before."""
    return LeaseToken(f"{number + 1}:{holder}")
