"""Signals while a run is put together: queue, store and ledger are read in one go, and nothing else runs meanwhile.

Scrapy only notes a signal and stops when its loop comes round. A queue on standard input, or a ledger that another
process has locked, may hold that up for ever, so there a signal breaks in.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def breaking_in() -> Iterator[None]:
    """Inside, SIGINT and SIGTERM raise KeyboardInterrupt, unless they are ignored or this is no main thread."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
