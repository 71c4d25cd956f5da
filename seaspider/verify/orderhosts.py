"""What stood against asking a host at a time, worked out from the answers that the store holds.

The same rules as the crawl's: no usable address, then a 403, then a pause too long to wait for, then the budget.
"""

from __future__ import annotations

from http import HTTPStatus

from seaspider.core.answers import deferral
from seaspider.core.pushback import pushback
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.verify.evidence import Settle
from seaspider.verify.orderfacts import Policy
from seaspider.verify.orderpast import Past


class Standing:
    """The standing of each host in one run."""

    def __init__(self, policy: Policy, past: Past) -> None:
        self._policy = policy
        self._ended: dict[str, Ending] = {}
        self._forbidden_until_ms: dict[str, int] = {}
        if policy.stop_on_403:
            for host, answered_ms in past.forbidden_ms.items():
                self._forbidden_until_ms[host] = answered_ms + policy.block_ms
        self._deferred = {
            host: Ending(Outcome.DEFERRED, Reason(reason), until_ms)
            for host, (until_ms, reason) in past.deferred().items()
        }
        self._requests: dict[str, int] = {}

    def count(self, host: str) -> None:
        """A request to the host was claimed."""
        self._requests[host] = self._requests.get(host, 0) + 1

    def end(self, host: str, ending: Ending) -> None:
        """The host has no usable address."""
        self._ended[host] = ending

    def defer(self, host: str, ending: Ending) -> None:
        """The host could not be looked up."""
        self._deferred[host] = ending

    def page_answered(self, host: str, answer: Settle) -> None:
        """A page request is over."""
        ended_ms = answer.ended_ms
        deferred = deferral(pushback(answer.headers, 0, self._policy.backoff, ended_ms), ended_ms)
        if deferred is not None:
            self._deferred[host] = deferred
        if answer.status == HTTPStatus.FORBIDDEN and answer.error is None and self._policy.stop_on_403:
            until_ms = ended_ms + self._policy.block_ms
            self._forbidden_until_ms[host] = max(until_ms, self._forbidden_until_ms.get(host, until_ms))

    def deferral(self, host: str, now_ms: int) -> Ending | None:
        """How the URLs of the host end as long as its deferral holds."""
        ending = self._deferred.get(host)
        return ending if ending is not None and (ending.not_before_ms or 0) > now_ms else None

    def obstacle(self, host: str, now_ms: int) -> Ending | None:
        """What stopped every request to the host."""
        ended = self._ended.get(host)
        if ended is not None:
            return ended
        until_ms = self._forbidden_until_ms.get(host, 0)
        if until_ms > now_ms:
            return Ending(Outcome.BLOCKED, Reason.FORBIDDEN, until_ms)
        deferred = self.deferral(host, now_ms)
        if deferred is not None:
            return deferred
        if 0 < self._policy.host_budget <= self._requests.get(host, 0):
            return Ending(Outcome.DEFERRED, Reason.BUDGET)
        return None
