"""A fleet's shards as text: a live table, a line now and then, and what came of it. Says what others decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from seaspider.errors import ExitCode
from seaspider.fleet.plan import Plan, name_of
from seaspider.fleet.roster import Roster, Shard, State

_MOST_ROWS: Final = 64
_MOST_SAID: Final = 5
_HEAD: Final = (
    f"{'shard':<6}{'state':<12}{'lines':>10}{'hosts':>9}{'requests':>10}{'too near':>9}{'starts':>7}{'exit':>5}"
)


def totals(roster: Roster) -> str:
    """`12 done, 4 running, 48 waiting; 1234 requests, 0 pairs too near`."""
    states = [f"{number} {state}" for state in State if (number := roster.counted(state))]
    return f"{', '.join(states)}; {_requests(roster)} requests, {_too_near(roster)} pairs too near"


def live(roster: Roster, now_s: float, rows: int) -> list[str]:
    """The shards that are running, at most `rows` of them, under the totals."""
    running = [shard for shard in roster.shards if shard.state is State.RUNNING]
    lines = [totals(roster)]
    # The last row is for those that have none.
    room = max(0, rows - 2)
    lines += [_running(shard, now_s) for shard in running[:room]]
    return [*lines, f"  and {len(running) - room} more"] if len(running) > room else lines


def _running(shard: Shard, now_s: float) -> str:
    said = f"{shard.lines:>9} lines {shard.requests:>9} requests  {now_s - shard.since_s:>6.0f} s"
    return f"  {name_of(shard.number)}  {said}{f'  begun {shard.starts} times' if shard.starts > 1 else ''}"


def ended(shard: Shard) -> str:
    """A line for a shard that is not running any more."""
    code = "its worker died" if shard.code is None else f"exit code {shard.code}"
    again = ", is begun again" if shard.state is State.WAITING else ""
    return f"shard {name_of(shard.number)}: {shard.state}{again} ({code}, {shard.requests} requests)"


def as_text(roster: Roster, plan: Plan, logs: str) -> str:
    """The table at the end: all shards, or of many those that are not done."""
    shown = [shard for shard in roster.shards if len(roster.shards) <= _MOST_ROWS or shard.state is not State.DONE]
    rows = [*([_HEAD] if shown else []), *map(_row, shown), totals(roster)]
    return "\n".join([*rows, *_what_next(roster, plan, logs)])


def as_object(roster: Roster, plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan.digest,
        "queue": plan.queue,
        "lines": dict(plan.lines),
        "exit": int(roster.exit_code),
        "states": {str(state): roster.counted(state) for state in State if roster.counted(state)},
        "requests": _requests(roster),
        "too_near": _too_near(roster),
        "shards": [
            {
                "shard": shard.number,
                "state": str(shard.state),
                "exit": shard.code,
                "lines": shard.lines,
                "hosts": shard.hosts,
                "starts": shard.starts,
                "deaths": shard.deaths,
                "requests": shard.requests,
                "too_near": shard.too_near,
                "said": shard.said,
            }
            for shard in roster.shards
        ],
    }


def _row(shard: Shard) -> str:
    code = "" if shard.code is None else shard.code
    return (
        f"{name_of(shard.number):<6}{shard.state:<12}{shard.lines:>10}{shard.hosts:>9}{shard.requests:>10}"
        f"{shard.too_near:>9}{shard.starts:>7}{code:>5}"
    )


def _what_next(roster: Roster, plan: Plan, logs: str) -> Iterator[str]:
    failed = [shard for shard in roster.shards if shard.state is State.FAILED]
    yield from (f"shard {name_of(shard.number)}: {shard.said}" for shard in failed[:_MOST_SAID] if shard.said)
    if failed:
        yield f"What failed is told in {logs}."
    if roster.exit_code == ExitCode.DONE:
        yield f"All {sum(part.lines for part in plan.parts)} lines of the queue are final."
    elif roster.exit_code != ExitCode.USAGE:
        yield "Not all is final: run it again to go on; what is done is not asked again."


def _requests(roster: Roster) -> int:
    return sum(shard.requests for shard in roster.shards)


def _too_near(roster: Roster) -> int:
    return sum(shard.too_near for shard in roster.shards)
