"""The rules of a crawl that is broad because it is gentle. Each is one of the seed's; where it departs, it says so.

Decides when a host may be asked, how an answer changes that, which host is next, and what may be called polite and
broad. Integers only: durations and times are whole ns of one clock, `now_ns` comes in. Never sleeps, never asks, never
reads a clock. The crawl itself waits by politeness (claims) and takes turns by order or longestidle; `may_fetch`,
`on_answer` and `longest_idle` are what those amount to, written so that they can be read at a glance and compared with.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seaspider.core.records import Reason

# Failures in which nothing is wrong with the server: it answered, and we do not want all of it.
_ANSWERED = frozenset({Reason.TOO_LARGE})


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """SEASPIDER_BACKOFF_BASE and _CAP in ns."""

    base_ns: int
    cap_ns: int


@dataclass(frozen=True, slots=True)
class HostState:
    """What is remembered of one host. `failures`: in a row, up to its last answer."""

    last_ns: int | None = None
    """When it was asked last; None: never."""
    crawl_delay_ns: int = 0
    backoff_until_ns: int = 0
    failures: int = 0


# When a host may be asked


def backoff_ns(failures: int, policy: BackoffPolicy) -> int:
    """base x 2^n, capped. `failures`: n, failures in a row of the host, 1 at the first."""
    # So many doublings take any base from 1 ns over the cap; more would only make the number longer.
    doublings = min(failures, policy.cap_ns.bit_length())
    return min(policy.base_ns << doublings, policy.cap_ns)


def may_fetch(host: HostState, interval_ns: int, now_ns: int) -> bool:
    """Whether the pause after its last request (interval or crawl-delay, the longer) and its back-off are over."""
    pause_ns = max(interval_ns, host.crawl_delay_ns)
    rested = host.last_ns is None or now_ns >= host.last_ns + pause_ns
    return rested and now_ns >= host.backoff_until_ns


def asked(host: HostState, now_ns: int) -> HostState:
    """A request to the host was made."""
    return replace(host, last_ns=now_ns)


# What an answer changes


def pushes_back(status: int) -> bool:
    """Whether the server asks for less, or cannot answer now: 429 and 5xx. Anything else is an answer, a 404 too.

    The seed takes 200 only for a success; then a list with dead links would slow down as if its host were in trouble.
    """
    return status == 429 or 500 <= status <= 599


def is_failure(status: int | None, reason: Reason | None) -> bool:
    """Whether one exchange counts up. `status`: None if none came; `reason`: why there is no usable answer, or None."""
    if status is not None and (reason is None or reason in _ANSWERED):
        return pushes_back(status)
    return True


def on_answer(
    host: HostState, status: int | None, now_ns: int, policy: BackoffPolicy, block_ns: int | None
) -> HostState:
    """The host after an answer, or after a network or decode failure (`status` None).

    429, 5xx and failures count up and back off; any other answer resets both. `block_ns`: how long a 403 stops the
    host; None (SEASPIDER_STOP_ON_403 off): a 403 is an answer like any other.
    """
    if status is None or pushes_back(status):
        failures = host.failures + 1
        return replace(host, failures=failures, backoff_until_ns=now_ns + backoff_ns(failures, policy))
    until_ns = now_ns + block_ns if status == 403 and block_ns is not None else 0
    return replace(host, failures=0, backoff_until_ns=until_ns)


class Backoffs:
    """Failures in a row of each host. Of pages: robots.txt has its own retry period."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}

    def ended(self, host: str, status: int | None, reason: Reason | None) -> None:
        """An exchange is over: it counts up or resets, see is_failure()."""
        if is_failure(status, reason):
            self._failures[host] = self.failures(host) + 1
        else:
            self._failures.pop(host, None)

    def failures(self, host: str) -> int:
        """Failures in a row, 0 if the last answer was none."""
        return self._failures.get(host, 0)


# Who is next


def longest_idle(hosts: Sequence[HostState], interval_ns: int, now_ns: int) -> int | None:
    """The index of the host that may be asked and was asked longest ago, never being longest; ties to the first.

    None: none may be asked now, so wait.
    """
    eligible = (index for index, host in enumerate(hosts) if may_fetch(host, interval_ns, now_ns))
    return min(eligible, key=lambda index: _last_asked(hosts[index]), default=None)


def _last_asked(host: HostState) -> tuple[bool, int]:
    return host.last_ns is not None, host.last_ns or 0


# What may be called polite and broad


def breadth_per_mil(hosts: int, requests: int) -> int:
    """Distinct hosts for 1000 requests, rounded down; 0 without a request. 1000: each host asked once."""
    return hosts * 1000 // requests if requests > 0 else 0


def is_polite(requests_per_host: Iterable[int], max_per_host: int, too_near: int) -> bool:
    """No host was asked more often than `max_per_host` (0: as often as you like), and no pause was cut short.

    `too_near`: pairs of requests nearer than the pause between them. The seed counts requests only.
    """
    hammered = max_per_host > 0 and any(requests > max_per_host for requests in requests_per_host)
    return too_near == 0 and not hammered


def is_broad(hosts: int, min_hosts: int) -> bool:
    """At least so many distinct hosts were reached."""
    return hosts >= min_hosts


def passes_gate(*, polite: bool, broad: bool, breadth: int, min_breadth: int) -> bool:
    """All three: broad, polite, and thin enough on each host (`breadth` per mil)."""
    return broad and polite and breadth >= min_breadth
