"""Which shard of a fleet a line of the queue belongs to.

Decides it from the line, the number of shards and the public suffix list alone, never from how many workers there are
or what the others hold. All hosts of one registrable domain are in one shard, since they tend to share servers, robots
rules and redirects; an address is a domain of its own; a line that is no URL goes where its bytes say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import ip_address
from typing import Final

MAX_SHARDS: Final = 9_999
RULE: Final = "jump(blake2b-64(registrable domain))"
"""The name of what follows, for a plan."""

_WORD: Final = (1 << 64) - 1
# Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014): the multiplier of its generator.
_MULTIPLIER: Final = 2_862_933_555_777_941_757


@dataclass(frozen=True, slots=True)
class Placement:
    """`suffix_of`: the public suffix of a host name, empty if the list knows none."""

    shards: int
    suffix_of: Callable[[str], str]

    def of_host(self, host: str) -> int:
        """The shard of a normalised host (core.urls)."""
        return self._of(key_of(host, self.suffix_of).encode())

    def of_bytes(self, line: bytes) -> int:
        """The shard of a line that is no URL."""
        return self._of(line)

    def _of(self, key: bytes) -> int:
        return jump(int.from_bytes(blake2b(key, digest_size=8).digest(), "big"), self.shards)


def key_of(host: str, suffix_of: Callable[[str], str]) -> str:
    """The registrable domain of a host: the suffix and one label more. What has none stands for itself."""
    if is_address(host):
        return host
    # A name of the list's blind spots has its last label for a suffix (the list's own rule `*`).
    suffix = suffix_of(host) or host.rpartition(".")[2]
    labels = host.removesuffix(suffix).rstrip(".")
    return f"{labels.rpartition('.')[2]}.{suffix}" if labels else host


def is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def jump(key: int, buckets: int) -> int:
    """Jump consistent hash: a bucket for a 64-bit key. With one bucket more, a key stays or moves to the new one."""
    bucket, following = -1, 0
    while following < buckets:
        bucket = following
        key = (key * _MULTIPLIER + 1) & _WORD
        following = int((bucket + 1) * ((1 << 31) / ((key >> 33) + 1)))
    return bucket
