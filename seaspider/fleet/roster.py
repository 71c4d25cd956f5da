"""Which shard is to be crawled next, and what the end of a crawl means. Pure: times are given, in s.

A crawl that died (its worker, or itself by a signal, or without the last line of its run) is begun again, at most
MOST_DEATHS times; nothing is lost, since the store goes on where it was. One whose shard another runner holds is begun
again after HELD_S, at most MOST_HELD times. All other ends are ends: those that are not final are for the next run of
the fleet. The first that cannot be used (exit code 2) ends the fleet, since it would be the same for each shard.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seaspider.errors import ExitCode

MOST_DEATHS: Final = 20
MOST_HELD: Final = 5
HELD_S: Final = 60.0


class State(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    """All final."""
    UNFINISHED = "unfinished"
    GATE = "gate failed"
    HELD = "held"
    """Another runner is at work on it."""
    STOPPED = "stopped"
    FAILED = "failed"


_CODES: Final = {
    State.DONE: ExitCode.DONE,
    State.UNFINISHED: ExitCode.UNFINISHED,
    State.GATE: ExitCode.GATE,
    State.HELD: ExitCode.STORE_IN_USE,
    State.STOPPED: ExitCode.INTERRUPTED,
    # Of a fleet that was stopped.
    State.WAITING: ExitCode.INTERRUPTED,
    State.RUNNING: ExitCode.INTERRUPTED,
}
_ENDS: Final[dict[int | None, State]] = {
    _CODES[state]: state for state in (State.DONE, State.UNFINISHED, State.GATE, State.HELD, State.STOPPED)
}
# What a fleet ends with: the first of these that any shard ended with.
_WORST_FIRST: Final = (
    ExitCode.USAGE,
    ExitCode.STORE,
    ExitCode.INTERNAL,
    ExitCode.INTERRUPTED,
    ExitCode.STORE_IN_USE,
    ExitCode.GATE,
    ExitCode.UNFINISHED,
)


@dataclass(slots=True)
class Shard:
    number: int
    lines: int
    hosts: int
    state: State = State.WAITING
    code: int | None = None
    """The exit code of its last crawl."""
    starts: int = 0
    deaths: int = 0
    held: int = 0
    due_s: float = 0.0
    """It is not begun before."""
    since_s: float = 0.0
    """When it was begun last."""
    requests: int = 0
    """Of this fleet's run."""
    too_near: int = 0
    said: str = ""
    """Why it failed, as far as that is known."""


class Roster:
    """The shards of one run of a fleet. The largest is begun first, so that none is left alone at the end."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self.shards = tuple(shards)
        self.stopped = False
        """No shard is begun any more."""
        self._order = sorted(self.shards, key=lambda shard: (-shard.lines, shard.number))

    def counted(self, *states: State) -> int:
        return sum(shard.state in states for shard in self.shards)

    @property
    def over(self) -> bool:
        waits = () if self.stopped else (State.WAITING,)
        return not self.counted(State.RUNNING, *waits)

    def next(self, now_s: float) -> Shard | None:
        """A shard to begin now; it is running then."""
        if self.stopped:
            return None
        for shard in self._order:
            if shard.state is State.WAITING and shard.due_s <= now_s:
                shard.state, shard.starts, shard.since_s = State.RUNNING, shard.starts + 1, now_s
                return shard
        return None

    def ended(self, shard: Shard, code: int | None, now_s: float) -> None:
        """`code`: of the crawl, minus a signal's number, or None if nobody can tell: it died."""
        shard.code = code
        died = code is None or code < 0 or (code == ExitCode.INTERRUPTED and not self.stopped)
        if died and self.stopped:
            shard.state = State.STOPPED
        elif died:
            shard.deaths += 1
            shard.state = State.FAILED if shard.deaths > MOST_DEATHS else State.WAITING
        elif code == ExitCode.STORE_IN_USE and shard.held < MOST_HELD and not self.stopped:
            shard.held += 1
            shard.state, shard.due_s = State.WAITING, now_s + HELD_S
        else:
            shard.state = _ENDS.get(code, State.FAILED)
            self.stopped = self.stopped or code == ExitCode.USAGE

    @property
    def exit_code(self) -> ExitCode:
        """What the fleet ends with."""
        met = {_code_of(shard) for shard in self.shards}
        return next((code for code in _WORST_FIRST if code in met), ExitCode.DONE)


def _code_of(shard: Shard) -> ExitCode:
    if shard.state is State.FAILED:
        return ExitCode(shard.code) if shard.code in (ExitCode.USAGE, ExitCode.STORE) else ExitCode.INTERNAL
    return _CODES[shard.state]
