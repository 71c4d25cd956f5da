"""Why a URL was fetched or not, from the folder of a fleet: the shard that has it in its queue says so, or else the
first one that met it, by a redirect from its own hosts. If its turn has not come, the plan says where it waits.
"""

from __future__ import annotations

from typing import Final

from seaspider.errors import UsageFault
from seaspider.explain.explanation import Explanation, Kind, Rejection, explain
from seaspider.explain.rows import Waits
from seaspider.fleet.folder import Fleet
from seaspider.fleet.shardview import ShardView, place_in_plan, shards_for

Found = tuple[int, Explanation | Rejection]
"""The shard, and what it says."""

_MET_ELSEWHERE: Final = frozenset({Kind.REDIRECT, Kind.REQUESTED})
_NO_TURN: Final = _MET_ELSEWHERE | {Kind.NEVER_SEEN, Kind.LINKED}
"""No line of the queue was taken up, as far as that is known."""


def explain_in_fleet(fleet: Fleet, given: str, at: str | None, at_ms: int) -> Found:
    """As explain(). Raises UsageFault, also if no shard has begun and none has the URL in its queue, and StoreError."""
    found = _in_shards(fleet, given, at, at_ms)
    if isinstance(found, tuple) and (isinstance(found[1], Rejection) or found[1].kind not in _NO_TURN):
        return found
    place = place_in_plan(fleet, given)
    if place is not None:
        return _in_plan(fleet, Waits(*place), found, explain(ShardView(fleet, place.shard), given, at, at_ms))
    if isinstance(found, UsageFault):
        raise found
    return found


def _in_shards(fleet: Fleet, given: str, at: str | None, at_ms: int) -> Found | UsageFault:
    """What the first shard says that knows the URL, or else the first one."""
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
    return first or UsageFault(f"{fleet.folder}: no shard has begun")


def _in_plan(fleet: Fleet, waits: Waits, found: Found | UsageFault, own: Explanation | Rejection) -> Found:
    """`own`: what the shard says whose line it is."""
    if isinstance(own, Rejection) or own.kind not in _NO_TURN:
        return waits.shard, own
    if isinstance(found, tuple) and isinstance(found[1], Explanation) and found[1].kind in _MET_ELSEWHERE:
        return found[0], found[1].waiting(waits)
    return waits.shard, own.waiting(waits)
