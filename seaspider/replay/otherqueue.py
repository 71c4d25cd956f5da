"""A crawl of another queue in the web that a store recorded: on a virtual clock, without a socket.

Says of each URL that was not recorded that it was not, and asks nobody; its visit stays unfinished, as do those that
wait for a robots.txt that was not recorded. Order, pauses and records are those of a crawl that would have got these
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seaspider.core.queue import Counts, Entry, Skipped
from seaspider.core.records import Reason
from seaspider.core.times import MS_PER_S, NS_PER_S, ns_from_s
from seaspider.errors import StoreError
from seaspider.ledger import MemoryLedger
from seaspider.outside import Outside
from seaspider.permits import Asked, Permit
from seaspider.queuefile import Queue
from seaspider.refusals import Interrupted
from seaspider.replay import made
from seaspider.replay.archive import Archive
from seaspider.replay.givenqueue import GivenQueue
from seaspider.resolver import ResolveError
from seaspider.run import Run, next_run
from seaspider.store import FolderStore
from seaspider.verify.evidence import Evidence


class NotRecorded(Interrupted):
    """The store does not know; the visit stays unfinished."""


class VirtualClock:
    """Time passes only when somebody sleeps, or an exchange took some."""

    def __init__(self, boot_id: str, wall_ms: int, boot_ns: int) -> None:
        self.boot_id = boot_id
        self._wall_offset_ns = wall_ms * (NS_PER_S // MS_PER_S) - boot_ns
        self._boot_ns = boot_ns

    def boot_ns(self) -> int:
        return self._boot_ns

    def wall_ms(self) -> int:
        return (self._boot_ns + self._wall_offset_ns) * MS_PER_S // NS_PER_S

    def pass_ns(self, duration_ns: int) -> None:
        self._boot_ns += duration_ns

    async def sleep(self, seconds: float) -> None:
        self.pass_ns(ns_from_s(seconds))


class KnownLines:
    """A queue without the URLs that the store has no record of; those are in `unknown`, as (line, URL)."""

    def __init__(self, queue: Queue, archive: Archive) -> None:
        self._queue = queue
        self._archive = archive
        self.unknown: list[tuple[int | None, str]] = []

    @property
    def path(self) -> str:
        return self._queue.path

    @property
    def counts(self) -> Counts:
        return self._queue.counts

    @property
    def sha256(self) -> str:
        return self._queue.sha256

    def __iter__(self) -> Iterator[Entry | Skipped]:
        for item in self._queue:
            if isinstance(item, Entry) and item.url.text not in self._archive.urls:
                self.unknown.append((item.line, item.url.text))
            else:
                yield item


class ArchivedWorld:
    """Resolver and exchange. `unknown`: what was to be asked on the way, and was not recorded: URLs, names of hosts.
    `error`: why the store cannot be read."""

    def __init__(self, archive: Archive, clock: VirtualClock) -> None:
        self._archive = archive
        self._clock = clock
        self.unknown: list[tuple[int | None, str]] = []
        self.error: StoreError | None = None

    async def resolve(self, host: str) -> Sequence[str]:
        """See resolver.Resolver."""
        found = self._archive.addresses(host)
        if found is None:
            raise self._not_recorded(f"the address of {host}")
        if isinstance(found, Reason):
            raise ResolveError(host, "as recorded", temporary=found is Reason.BACKOFF)
        return found

    async def ask(self, permit: Permit, ip: str, octets: bytes, before_send: Callable[[], None]) -> Asked:
        """See exchange.Exchange."""
        url = permit.hop.url.text
        found = self._archive.answer(permit.kind, url)
        if found is None:
            raise self._not_recorded(url)
        if found.settle.sent_ns is not None:
            before_send()
        self._clock.pass_ns(found.took_ns)
        return Asked(
            status=found.settle.status,
            headers=found.settle.headers,
            body=self._body(found.kept.sha256),
            clipped=found.kept.clipped,
            wire_bytes=found.settle.bytes,
            flags=found.kept.flags,
            error=None if found.settle.error is None else Reason(found.settle.error),
            detail="as recorded",
        )

    def _body(self, sha256: str | None) -> bytes:
        try:
            return b"" if sha256 is None else self._archive.body(sha256)
        except StoreError as error:
            self.error = error
            raise

    def halted(self, run: Run) -> str | None:
        """Why the run is to end here, if it is."""
        if self.error is not None:
            return self.error.word
        return "not-recorded" if self.unknown and _is_stuck(run) else None

    def _not_recorded(self, what: str) -> NotRecorded:
        if (None, what) not in self.unknown:
            self.unknown.append((None, what))
        return NotRecorded(f"not recorded: {what}")


@dataclass(frozen=True, slots=True)
class OtherReplay:
    """What came of it. `unknown`: what was not recorded: the URLs of queue lines, and, without a line, what was to be
    asked on the way."""

    requests: int
    unknown: tuple[tuple[int | None, str], ...]


def crawl_other(old: Evidence, folder: Path, queue: GivenQueue, source: str) -> OtherReplay:
    """Crawls a queue into a new store, with the settings of the last recorded run. `source`: the digest of `old`.

    Raises SeaspiderError, and KeyboardInterrupt.
    """
    archive, info = Archive(old), old.runs[-1]
    clock = VirtualClock(info.boot_id, info.start.milliseconds("started_at"), info.start.get("started_ns", int))
    web, lines = ArchivedWorld(archive, clock), KnownLines(queue.file(), archive)

    def world(stopped: Callable[[], bool]) -> Outside:
        return Outside(clock, web, MemoryLedger(clock, stopped=stopped), web)

    config = replace(made.config(info), retry_failed=False)
    store = FolderStore(folder, durable=False)
    try:
        run = next_run(config, store, world)
        run.halted = lambda: web.halted(run)
        run.made_from["replay_of"] = source
        run.load(lines)
    except BaseException:
        store.close()
        raise
    run.tally.lines.added += len(lines.unknown)
    made.crawl_alone(run)
    if web.error is not None:
        raise web.error
    return OtherReplay(run.log.requests, (*lines.unknown, *web.unknown))


def _is_stuck(run: Run) -> bool:
    """Whether all that waits waits for a robots.txt that cannot be had: its fetch has ended without an answer."""
    lost = run.frontier.fetches_under_way
    if not lost or any(fetch.queued for fetch in lost):
        return False
    origins = {fetch.origin for fetch in lost}
    return all(visit.final_url.origin in origins for visit in run.frontier.unfinished())
