"""Why a URL was fetched or not, from the folder of a fleet: the shard that has it in its queue says so, or else the
first one that met it, by a redirect from its own hosts."""

from __future__ import annotations

from seaspider.errors import UsageFault
from seaspider.explain.explanation import Explanation, Kind, Rejection, explain
from seaspider.fleet.folder import Fleet
from seaspider.fleet.shardview import ShardView, shards_for

Found = tuple[int, Explanation | Rejection]
"""The shard, and what it says."""


def explain_in_fleet(fleet: Fleet, given: str, at: str | None, at_ms: int) -> Found:
    """As explain(). Raises UsageFault, also if no shard has begun, and StoreError."""
    first: Found | UsageFault | None = None
    for shard in shards_for(fleet, given):
        try:
            found = explain(ShardView(fleet, shard), given, at, at_ms)
        except UsageFault as error:
            # No line of this shard reads so.
            first = first or error
            continue
        if isinstance(found, Rejection) or found.kind is not Kind.NEVER_SEEN:
            return shard, found
        first = first or (shard, found)
    if first is None:
        raise UsageFault(f"{fleet.folder}: no shard has begun")
    if isinstance(first, UsageFault):
        raise first
    return first
