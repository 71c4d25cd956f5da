"""Who may use a key now: the async face of the claim table, and its in-memory form for one process.

Decides nothing about pauses (core/politeness). A ledger that is shared between processes has the same three verbs; one
that cannot be reached waits, it never lets a request go. Nothing is given to a claimer that is told to stop.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from seaspider.clock import Clock
from seaspider.core.calltimes import CallTimes
from seaspider.core.leases import Lease, Taken
from seaspider.core.politeness import Claimed, ClaimTable, Lost, Settled, Token
from seaspider.core.times import NS_PER_S

SLICE_NS: Final = NS_PER_S // 4
"""The longest sleep between two looks at whether to stop, and at a key somebody holds."""


IN_MEMORY: Final = ":memory:"
"""In the place of a file's path: a MemoryLedger."""


class LedgerError(Exception):
    """The ledger gives no claim; nothing may be sent."""


class LedgerStopped(LedgerError):
    """The claimer was told to stop while it waited, or before; it holds nothing."""


class LeaseTaken(LedgerError):
    """The lease under which was claimed is not, or no longer, the claimer's; it holds nothing."""


class LedgerAway(LedgerError):
    """The ledger cannot be reached just now. A claim and a settle wait instead of raising this."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A claim that waits, for those who watch: its keys with the pauses in force, and until when it waits at least."""

    pauses_ns: Mapping[str, int]
    until_ns: int


class Ledger(Protocol):
    """Claims and settles of one process. All times and durations are ns of CLOCK_BOOTTIME."""

    waiting: Waiting | None
    times: CallTimes
    """Of the calls to what is outside this process; none for a ledger within it."""

    async def claim(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed:
        """Wait until all keys (key -> pause in force) are free, and take them for at most `hold_ns`.

        Claimers that share a key get it in the order they asked. Raises LedgerStopped, LeaseTaken if the ledger was
        made with a lease that is no longer held, and LedgerError once closed.
        """

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        """Give the keys of a claim back, each to rest for its pause from now. Never waits for a key or for time."""

    async def close(self) -> None:
        """Gives no more claims. What is held stays held until hold and pause are over."""


class Leases(Protocol):
    """The leases of a ledger that processes share. Each verb is one transaction, and does not wait for anybody.

    May be called from any thread. Raises LedgerAway while the ledger cannot be reached; nothing is known then.
    """

    def acquire(self, name: str, ttl_ns: int) -> Lease | Taken:
        """The lease, if nobody holds it; to the holder itself it is given again."""

    def renew(self, lease: Lease) -> bool:
        """Held for another `ttl_ns` from now; False: somebody else took it meanwhile, or it was given back."""

    def release(self, lease: Lease) -> bool:
        """Given back; False as for renew()."""


class WaitingLedger(ABC):
    """Waits for a claim in slices, serves claimers that share a key in the order they asked, and ends waits on a stop.

    `stopped` is asked before a claim and four times a second. What keeps the keys is a subclass's.
    """

    def __init__(self, clock: Clock, *, stopped: Callable[[], bool] = lambda: False) -> None:
        self._clock = clock
        self._stopped = stopped
        self.waiting: Waiting | None = None
        self.times = CallTimes()
        self._queue: list[Mapping[str, int]] = []
        self._closed = False

    @abstractmethod
    async def _attempt(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        """The claim, or the boot time before which asking again is pointless."""

    async def claim(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed:
        mine = dict(pauses_ns)
        self._queue.append(mine)
        try:
            while True:
                self._check(mine)
                answer = self._behind_others(mine) or await self._attempt(mine, hold_ns)
                if isinstance(answer, Claimed):
                    return await self._unless_stopped(mine, answer)
                self.waiting = Waiting(mine, answer)
                await self._clock.sleep(min(max(0, answer - self._clock.boot_ns()), SLICE_NS) / NS_PER_S)
        finally:
            self.waiting = None
            self._queue = [other for other in self._queue if other is not mine]

    async def _unless_stopped(self, mine: Mapping[str, int], claimed: Claimed) -> Claimed:
        """A stop may have come while the claim was made: then it goes back as if never made, since nothing was sent."""
        try:
            self._check(mine)
        except LedgerError:
            await self.settle(claimed.token, dict.fromkeys(mine, 0))
            raise
        return claimed

    @abstractmethod
    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        """See Ledger."""

    def _check(self, mine: Mapping[str, int]) -> None:
        if self._closed:
            raise LedgerError("the ledger is closed")
        if self._stopped():
            raise LedgerStopped(f"stopped while waiting for {', '.join(sorted(mine))}")

    def _behind_others(self, mine: Mapping[str, int]) -> int | None:
        """When to look again, if somebody who asked earlier waits for one of these keys."""
        for other in self._queue:
            if other is mine:
                return None
            if not mine.keys().isdisjoint(other):
                return self._clock.boot_ns() + SLICE_NS
        return None


class MemoryLedger(WaitingLedger):
    """A ledger for one process and one run, gone with it."""

    def __init__(self, clock: Clock, *, holder: str = "memory", stopped: Callable[[], bool] = lambda: False) -> None:
        super().__init__(clock, stopped=stopped)
        self._holder = holder
        self._table = ClaimTable()

    async def _attempt(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        answer = self._table.claim(pauses_ns, self._holder, self._clock.boot_ns(), hold_ns)
        return answer if isinstance(answer, Claimed) else answer.until_ns

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        return self._table.settle(token, self._clock.boot_ns(), pauses_ns)

    async def close(self) -> None:
        self._closed = True
