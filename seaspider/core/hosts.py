"""What stands against asking a host, whatever its robots.txt says of the URL, and how slowly it wants to be asked.

Decides from what was answered so far (seed rules: a 403 stops the host; an unknown name or a special address ends all
its URLs), from the budget, and from pauses that are not waited for. Never sends, writes or reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from seaspider.core.answers import put_off
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsfile import RobotsFile
from seaspider.core.urls import Url


@dataclass(frozen=True, slots=True)
class FrontierPolicy:
    token: str
    """Our product token."""
    crawl_delay_cap_s: float
    stop_on_403: bool
    block_ms: int
    host_budget: int
    """Requests per host in a run; 0 = no budget."""
    backoff_ns: int = 0
    """The first back-off."""


class Hosts:
    """The standing of each host in a run."""

    def __init__(self, policy: FrontierPolicy) -> None:
        self._policy = policy
        self._ended_hosts: dict[str, Ending] = {}
        self._special_addresses: dict[str, str] = {}
        self._forbidden_until_ms: dict[str, int] = {}
        self._deferred_hosts: dict[str, Ending] = {}
        self._crawl_delays_s: dict[str, dict[str, float]] = {}
        self._requests: dict[str, int] = {}

    def obstacle(self, host: str, now_ms: int) -> Ending | None:
        """What stops every request to a host, whatever its robots.txt says."""
        ended = self._ended_hosts.get(host)
        if ended:
            return ended
        until_ms = self._forbidden_until_ms.get(host, 0)
        if until_ms > now_ms:
            return Ending(Outcome.BLOCKED, Reason.FORBIDDEN, until_ms)
        deferred = self.deferral(host, now_ms)
        if deferred:
            return deferred
        if 0 < self._policy.host_budget <= self._requests.get(host, 0):
            return Ending(Outcome.DEFERRED, Reason.BUDGET)
        return None

    def _too_slow(self, crawl_delay_s: float | None) -> Ending | None:
        over = (crawl_delay_s or 0) > self._policy.crawl_delay_cap_s
        return Ending(Outcome.DEFERRED, Reason.CRAWL_DELAY) if over else None

    def forbidden(self, host: str, answered_ms: int) -> None:
        """A page of the host answered 403, now or in an earlier run: seed rule, its other URLs are blocked."""
        if self._policy.stop_on_403:
            until_ms = answered_ms + self._policy.block_ms
            self._forbidden_until_ms[host] = max(until_ms, self._forbidden_until_ms.get(host, 0))

    def deferred(self, host: str, ending: Ending) -> None:
        """The host asked for a pause that is not waited for, now or in an earlier run: its URLs end so until then."""
        self._deferred_hosts[host] = ending

    def put_off(self, host: str, now_ms: int) -> Ending:
        """The host could not be looked up just now: it and all its URLs are put off for one back-off."""
        self._deferred_hosts[host] = put_off(now_ms, self._policy.backoff_ns)
        return self._deferred_hosts[host]

    def deferral(self, host: str, now_ms: int) -> Ending | None:
        """How the URLs of the host end as long as its deferral holds."""
        ending = self._deferred_hosts.get(host)
        return ending if ending is not None and (ending.not_before_ms or 0) > now_ms else None

    def host_ended(self, host: str, ending: Ending, ip: str | None = None) -> None:
        """The host has no usable address: every URL of it ends so in this run. `ip`: the special one it has."""
        self._ended_hosts[host] = ending
        if ip is not None:
            self._special_addresses[host] = ip

    def special_address(self, host: str) -> str | None:
        """The address for which the URLs of the host are refused in this run."""
        return self._special_addresses.get(host)

    def learn_rules(self, url: Url, rules: RobotsFile) -> None:
        """The crawl-delay in the rules of a URL's origin. One over the cap is not waited for: it defers its URLs."""
        delay_s = rules.crawl_delay_s(self._policy.token)
        waited_s = 0 if delay_s is None or self._too_slow(delay_s) else delay_s
        self._crawl_delays_s.setdefault(url.host, {})[url.origin] = waited_s

    def crawl_delay_s(self, host: str) -> float:
        """The longest crawl-delay known of the host's origins, 0 if none."""
        return max(self._crawl_delays_s.get(host, {}).values(), default=0)

    def count(self, host: str) -> None:
        """A request to the host is about to go out."""
        self._requests[host] = self._requests.get(host, 0) + 1

    @property
    def requests(self) -> dict[str, int]:
        """Requests of this run per host, robots.txt included."""
        return dict(self._requests)
