"""A ledger that processes share. One verb at a time, whichever thread asks for it.

While it cannot be reached a claim waits and a settle tries again, so nothing is sent, and the log says why, once a
minute at most. What a verb does to the keys and leases is a subclass's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import ClassVar, ParamSpec, TypeVar

from seaspider.clock import Clock
from seaspider.core.leases import Lease, Taken
from seaspider.core.politeness import Claimed, Lost, Settled, Token
from seaspider.core.times import NS_PER_S
from seaspider.ledger import SLICE_NS, LedgerAway, WaitingLedger

logger = logging.getLogger(__name__)

_SAY_AGAIN_NS = 60 * NS_PER_S

P = ParamSpec("P")
R = TypeVar("R")


class SharedLedger(WaitingLedger):
    """`place`: its name in the log. `lease`: claims are given only while this is held."""

    troubles: ClassVar[tuple[type[Exception], ...]]
    """What the verbs raise while the ledger cannot be reached."""
    is_far: ClassVar[bool] = False
    """Its verbs may take long: claims and settles have a thread of their own, so that a stop is seen meanwhile."""

    def __init__(self, place: str, clock: Clock, stopped: Callable[[], bool], lease: Lease | None) -> None:
        super().__init__(clock, stopped=stopped)
        self._place = place
        self._lease = lease
        self._holder = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._said_ns: int | None = None
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger") if self.is_far else None

    # --- each is one transaction ---

    @abstractmethod
    def _claim_once(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        """As _attempt(). Raises LeaseTaken."""

    @abstractmethod
    def _settle_once(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost: ...

    @abstractmethod
    def _acquire_once(self, name: str, ttl_ns: int) -> Lease | Taken: ...

    @abstractmethod
    def _renew_once(self, lease: Lease) -> bool: ...

    @abstractmethod
    def _release_once(self, lease: Lease) -> bool: ...

    @abstractmethod
    def _disconnect(self) -> None:
        """Lets go of file or connection; the next verb opens it anew."""

    # --- claim and settle ---

    async def _attempt(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed | int:
        try:
            return await self._timed(self._claim_once, pauses_ns, hold_ns)
        except self.troubles as error:
            self._trouble(error)
            return self._clock.boot_ns() + SLICE_NS

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled | Lost:
        """Tries until it is written, or until a try after a stop failed: then the keys rest until hold and pause are
        over, as they do after close()."""
        stopped = False
        while not (stopped or self._closed):
            stopped = self._stopped()
            try:
                return await self._timed(self._settle_once, token, pauses_ns)
            except self.troubles as error:
                self._trouble(error)
            await self._clock.sleep(SLICE_NS / NS_PER_S)
        return Lost(tuple(sorted(pauses_ns)))

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._done(self._disconnect)
            if self._thread is not None:
                self._thread.shutdown()

    # --- leases, from any thread ---

    def acquire(self, name: str, ttl_ns: int) -> Lease | Taken:
        return self._lease_verb(self._acquire_once, name, ttl_ns)

    def renew(self, lease: Lease) -> bool:
        return self._lease_verb(self._renew_once, lease)

    def release(self, lease: Lease) -> bool:
        return self._lease_verb(self._release_once, lease)

    def _lease_verb(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self._alone(work, *args, **kwargs)
        except self.troubles as error:
            self._trouble(error)
            raise LedgerAway(str(error)) from error

    # --- around them ---

    async def _timed(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the crawl waits for: also for a turn of the thread, and for an answer that never comes."""
        began_ns = self._clock.boot_ns()
        try:
            if self._thread is None:
                return self._alone(work, *args, **kwargs)
            return await self._done(work, *args, **kwargs)
        finally:
            self.times.took(self._clock.boot_ns() - began_ns)

    async def _done(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if self._thread is None:
            return self._alone(work, *args, **kwargs)
        alone = partial(self._alone, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, alone)

    def _alone(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return work(*args, **kwargs)

    def _trouble(self, error: Exception) -> None:
        if self._is_worth_saying(error):
            self._say(str(error))

    def _is_worth_saying(self, error: Exception) -> bool:
        return True

    def _say(self, why: str) -> None:
        """Tells why nothing is sent, once a minute at most."""
        now_ns = self._clock.boot_ns()
        if self._said_ns is None or now_ns - self._said_ns >= _SAY_AGAIN_NS:
            self._said_ns = now_ns
            logger.warning("Waiting for the ledger %s: %s", self._place, why)
