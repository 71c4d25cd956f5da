"""Where two records differ, times aside. Decides nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seaspider.core.records import to_line, without_times
from seaspider.errors import StoreError
from seaspider.journal import Row


class Differs(StoreError):
    """What is replayed is not what was recorded. The message names the first line that differs."""


def compare(row: Row, record: Mapping[str, Any]) -> None:
    """Raises Differs if the line would be another one now: other bytes, times aside."""
    now = json.loads(to_line(record))
    if to_line(without_times(row.record)) != to_line(without_times(now)):
        raise Differs(f"{row.place}: {first_difference(row.record, now)}")


def first_difference(was: Any, now: Any, where: str = "") -> str:
    """The first field, times aside, in which two records differ, with both values."""
    was, now = without_times(was), without_times(now)
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(key for key in now if key not in was)]:
            if _differ(was.get(key), now.get(key)) or (key in was) != (key in now):
                return first_difference(was.get(key), now.get(key), f"{where}.{key}".lstrip("."))
        return f"the fields of {where or 'the line'} are in another order"
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (one, other) in enumerate(zip(was, now, strict=True)):
            if _differ(one, other):
                return first_difference(one, other, f"{where}[{place}]")
    return f"{where or 'the line'} was {was!r}, and is {now!r} now"


def _differ(was: Any, now: Any) -> bool:
    """As bytes: to Python, 1 is 1.0 and true."""
    return json.dumps(was) != json.dumps(now)
