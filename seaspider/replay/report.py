"""What came of a replay: found out by replay(), as text for people or as one object for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from seaspider.errors import ExitCode
from seaspider.replay.differences import Differs
from seaspider.replay.givenqueue import GivenQueue, given
from seaspider.replay.otherqueue import crawl_other
from seaspider.replay.replayer import Replayer
from seaspider.verify.digest import digest
from seaspider.verify.evidence import Evidence

UNKNOWN_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Replay:
    """The runs of a store once more. `digest` is the store's, `new_digest` the new one's, None if it is not whole."""

    store: str
    new: str
    runs: int
    requests: int
    digest: str
    new_digest: str | None
    difference: str | None
    """The first, with file and line."""
    unknown: int
    """URLs of the queue that the store does not tell: they never had a turn."""
    incomplete: tuple[int, ...]
    """Runs that were cut short, and whose queue was taken from the store as far as it tells it."""
    taken_over: int
    """Lines of runs that a crash ended, taken as they are: what led to them is not recorded."""

    @property
    def same(self) -> bool:
        return self.digest == self.new_digest

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.DONE if self.same else ExitCode.INTERNAL

    def as_object(self) -> dict[str, Any]:
        return {**asdict(self), "same": self.same}

    def as_text(self) -> str:
        return "\n".join([_head(self.store, self.new, self.requests), *self._lines()])

    def _lines(self) -> Iterator[str]:
        if self.unknown:
            yield f"URLs of the queue that never had a turn, so the store does not tell them: {self.unknown}"
        if self.taken_over:
            yield f"Lines of runs that a crash ended, taken as they are: {self.taken_over}"
        if self.same:
            yield f"The records are the same, times aside. Digest: {self.digest}"
        else:
            yield f"NOT the same: {self.difference or 'the digests differ'}"
            if self.incomplete:
                runs = ", ".join(map(str, self.incomplete))
                yield f"The store does not tell the whole queue of run {runs}, which may be why: give it with --queue."
            yield f"What was replayed up to there is kept in {self.new}, to be looked at; it is no crawl to go on with."


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """`line`: of the queue; None for what was to be asked on the way. `what`: a URL, or an address."""

    line: int | None
    what: str


@dataclass(frozen=True, slots=True)
class OtherReplay:
    """A crawl of another queue, from the same answers."""

    store: str
    new: str
    queue: str
    requests: int
    digest: str
    new_digest: str
    not_recorded: tuple[Unrecorded, ...]

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.UNFINISHED if self.not_recorded else ExitCode.DONE

    def as_object(self) -> dict[str, Any]:
        return {**asdict(self), "not_recorded": [asdict(each) for each in self.not_recorded]}

    def as_text(self) -> str:
        return "\n".join([_head(self.store, self.new, self.requests), *self._lines()])

    def _lines(self) -> Iterator[str]:
        yield f"The queue {self.queue} is another than the store's, so the digest is another: {self.new_digest}"
        if not self.not_recorded:
            yield "Everything it asks for was recorded."
            return
        yield f"Not recorded, so left unfinished: {len(self.not_recorded)}"
        for each in self.not_recorded[:UNKNOWN_SHOWN]:
            yield f"  {'on the way' if each.line is None else f'line {each.line}'}: {each.what}"
        if len(self.not_recorded) > UNKNOWN_SHOWN:
            yield f"  ... and {len(self.not_recorded) - UNKNOWN_SHOWN} more"


def replay(old: Evidence, new: Path, queue: str | None) -> Replay | OtherReplay:
    """Replays a store into a new folder. Raises SeaspiderError, and KeyboardInterrupt."""
    with given(queue) as found:
        if found is None or found.sha256 in {run.start.get("queue_sha256", str) for run in old.runs}:
            return _same(old, new, found)
        source = digest(old)
        came = crawl_other(old, new, found, source)
        return OtherReplay(
            store=str(old.folder),
            new=str(new),
            queue=found.path,
            requests=came.requests,
            digest=source,
            new_digest=digest(Evidence(new)),
            not_recorded=tuple(Unrecorded(*each) for each in came.unknown),
        )


def _same(old: Evidence, new: Path, queue: GivenQueue | None) -> Replay:
    source, difference = digest(old), None
    replayer = Replayer(old, new, queue, source)
    try:
        replayer.go()
    except Differs as error:
        difference = str(error)
    return Replay(
        store=str(old.folder),
        new=str(new),
        runs=len(old.runs),
        requests=replayer.requests,
        digest=source,
        new_digest=digest(Evidence(new)) if difference is None else None,
        difference=difference,
        unknown=replayer.unknown,
        incomplete=replayer.incomplete,
        taken_over=replayer.taken_over,
    )


def _head(store: str, new: str, requests: int) -> str:
    return f"Replayed {store} into {new}: {requests} requests, none of them sent."
