"""Whether the wall-clock time at which a request was judged fits between the requests around it.

The two clocks of the records tell when the wall clock was stepped: only then may its times be out of order, and by no
more than that.
"""

from __future__ import annotations

from typing import Final

from seaspider.core.times import NS_PER_MS
from seaspider.verify.evidence import Request
from seaspider.verify.facts import Run, contradiction

_ROUNDED_MS: Final = 2
"""Either clock is read to the millisecond, one after the other."""


class Moments:
    """Of one run."""

    def __init__(self, run: Run) -> None:
        self._last_ms = run.info.start.milliseconds("started_at")
        self._last_ns = run.info.start.get("started_ns", int)
        self._others = False

    def check(self, request: Request) -> None:
        """A visit has its turn when the request before is over; another part's request may be judged at any time, and
        may bring on a robots.txt that a visit waits for. Raises Refuted."""
        self._others = self._others or request.visit is None
        elapsed_ms = (request.claimed_ns - self._last_ns) // NS_PER_MS
        stepped_ms = abs(request.claimed_ms - self._last_ms - elapsed_ms) + _ROUNDED_MS
        early = request.judged_ms <= request.claimed_ms + stepped_ms
        contradiction(early, request.place, "was judged after it was claimed")
        in_turn = request.visit is not None and (request.kind == "page" or not self._others)
        late = request.judged_ms >= self._last_ms - stepped_ms or not in_turn
        contradiction(late, request.place, "was judged before the request before it was over")
        # One that came to nothing is claimed anew, not judged.
        if request.settle is not None and not request.came_to_nothing:
            self._last_ms, self._last_ns = request.settle.ended_ms, request.settle.ended_ns
