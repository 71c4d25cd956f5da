"""What a lease is: the right of one runner to work on one shard, until it runs out or somebody else has taken it.

Its token is a fencing token: each time the lease is taken there is a new one, and a claim made under an older one is
refused in the same transaction, however late it comes. Never sleeps and never reads a clock; a ledger keeps leases.
"""

from dataclasses import dataclass
from typing import Final, NewType

LeaseToken = NewType("LeaseToken", str)
"""`NUMBER:HOLDER`. The number grows with each taking; unique as long as the holders' names are."""

BRIEF_S: Final = 30.0
"""A shorter one may be lost when the machine is busy."""
TOO_BRIEF_S: Final = 3.0
"""Nobody who waits could tell by the renewals, three in a lease, whether its holder lives."""
LOST: Final = "is lost: another runner has taken it, or the ledger has forgotten it"
"""What becomes of a lease that cannot be renewed, after its name."""


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
