"""Holds the lease of a shard for this process: taken before anything is read, renewed until it is given back.

Renewed by a thread of its own, since a long queue or page may hold the event loop up for longer than the lease lasts.
That it was lost all the same is found out by the next claim, which is refused in the ledger (LeaseLost, exit code 75).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from seaspider.clock import Clock
from seaspider.core.leases import LOST, Lease
from seaspider.core.times import NS_PER_S
from seaspider.errors import StoreInUse
from seaspider.ledger import SLICE_NS, Leases, LedgerAway

logger = logging.getLogger(__name__)

_RENEWALS_IN_TTL: Final = 3
_RENEWED_NS: Final = NS_PER_S
"""A lease that now runs out so much later than it did before is somebody's who lives."""
_TRIED_NS: Final = 2 * NS_PER_S


@contextmanager
def kept(leases: Leases, name: str, clock: Clock, ttl_ns: int) -> Iterator[Lease]:
    """The lease, held inside the block. `leases`: a ledger of its own, or a verb may have to wait for a claim's.

    Waits for a ledger that is away, and for a holder that may be dead until its lease has run out; a signal ends that
    if it raises (interrupts.breaking_in). Raises StoreInUse if the holder renews it, so lives.
    """
    lease = _taken(leases, name, clock, ttl_ns)
    over = threading.Event()
    thread = threading.Thread(target=_renew, args=(leases, lease, over), name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        over.set()
        thread.join()
        _give_back(leases, lease, clock)


def _taken(leases: Leases, name: str, clock: Clock, ttl_ns: int) -> Lease:
    pause = threading.Event()
    first_until_ns: int | None = None
    while True:
        try:
            answer = leases.acquire(name, ttl_ns)
        except LedgerAway:  # the ledger says so
            pause.wait(SLICE_NS / NS_PER_S)
            continue
        if isinstance(answer, Lease):
            return answer
        if first_until_ns is None:
            first_until_ns = answer.until_ns
            logger.info("Waiting for the lease of %s, which another runner holds", name)
        if answer.until_ns > first_until_ns + _RENEWED_NS:
            raise StoreInUse(f"{name} is another runner's, which is at work on it")
        pause.wait(min(max(0, answer.until_ns - clock.boot_ns()), SLICE_NS) / NS_PER_S)


def _give_back(leases: Leases, lease: Lease, clock: Clock) -> None:
    """A file may be another process's just now; what is away for longer is not waited for."""
    pause = threading.Event()
    until_ns = clock.boot_ns() + _TRIED_NS
    while True:
        try:
            leases.release(lease)
        except LedgerAway as error:
            if clock.boot_ns() >= until_ns:
                logger.warning("The lease of %s is not given back, it runs out: %s", lease.name, error)
                return
            pause.wait(SLICE_NS / NS_PER_S)
        else:
            return


def _renew(leases: Leases, lease: Lease, over: threading.Event) -> None:
    """Until it is over, or lost for good. A ledger that is away is asked again and again."""
    wait_s = lease.ttl_ns / NS_PER_S / _RENEWALS_IN_TTL
    while not over.wait(wait_s):
        try:
            if not leases.renew(lease):
                logger.warning("The lease of %s %s", lease.name, LOST)
                return
            wait_s = lease.ttl_ns / NS_PER_S / _RENEWALS_IN_TTL
        except LedgerAway:
            wait_s = SLICE_NS / NS_PER_S
