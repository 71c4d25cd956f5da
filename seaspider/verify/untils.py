"""From when on what is not final may be asked again: each `not_before` is one that an answer gave its host.

A time is any of those that a host's answers, or its earlier records, give: which of them was in force is P5's matter.
"""

from __future__ import annotations

from collections import defaultdict
from http import HTTPStatus
from typing import Final

from seaspider.core.answers import deferral, put_off
from seaspider.core.governor import backoff_ns
from seaspider.core.pushback import pushback
from seaspider.core.records import Outcome, Reason
from seaspider.core.urls import UrlError, normalise
from seaspider.verify.evidence import Request
from seaspider.verify.facts import PageLine, Run, contradiction
from seaspider.verify.proof import Refuted

_DEFERRED: Final = (Reason.RETRY_AFTER, Reason.BACKOFF)


class Untils:
    def __init__(self) -> None:
        self._run: Run
        self._forbidden_ms: dict[str, set[int]] = defaultdict(set)
        """Host -> when it answered 403 to a page, in any run."""
        self._deferred_ms: dict[str, set[int]] = defaultdict(set)
        """Host -> until when it was deferred, in any run."""
        self._said: dict[tuple[str, Reason, int], str] = {}
        """Host, reason and time of the run's pages, and the first place. Answers may be met after them."""

    def run_starts(self, run: Run) -> None:
        self._run = run
        self._said = {}

    def asked(self, request: Request) -> None:
        """A page request."""
        settle = request.settle
        if settle is None or request.came_to_nothing:
            return
        if settle.error is None and settle.status == HTTPStatus.FORBIDDEN:
            self._forbidden_ms[request.host].add(settle.ended_ms)
        ending = deferral(pushback(settle.headers, 0, self._run.terms.backoff, settle.ended_ms), settle.ended_ms)
        if ending is not None and ending.not_before_ms is not None:
            self._deferred_ms[request.host].add(ending.not_before_ms)

    def page(self, line: PageLine) -> None:
        """A page line that is no kept one. Raises Refuted."""
        try:
            url = normalise(line.row.get("final_url", str))
        except UrlError as error:
            raise Refuted(line.place, str(error)) from error
        reason, until_ms = line.ending.reason, line.not_before_ms
        if line.ending.outcome is Outcome.STORED and line.row.optional("status", int) == HTTPStatus.FORBIDDEN:
            self._forbidden_ms[url.host].add(line.ended_ms)
        if until_ms is None or reason is None or not line.chain:
            return
        if reason is Reason.ROBOTS_UNREACHABLE:
            entry = self._run.book.by_id(url.origin, line.chain[-1].optional("robots_id", int) or 0)
            right = entry is None or until_ms == entry.expires_ms
            contradiction(right, line.place, "not_before is not when its robots.txt may be asked for again")
        elif reason is Reason.BACKOFF and self._is_put_off(line, until_ms):
            self._deferred_ms[url.host].add(until_ms)
        else:
            self._said.setdefault((url.host, reason, until_ms), line.place)

    def _is_put_off(self, line: PageLine, until_ms: int) -> bool:
        """Whether it is one back-off from when its host could not be looked up, which is in no record of its own."""
        backoff_ms = put_off(0, backoff_ns(1, self._run.terms.backoff)).not_before_ms or 0
        return line.started_ms <= until_ms <= line.ended_ms + backoff_ms

    def run_ends(self) -> None:
        """Raises Refuted."""
        for (host, reason, until_ms), place in self._said.items():
            if reason in _DEFERRED:
                right = until_ms in self._deferred_ms[host]
            else:
                right = until_ms - self._run.terms.block_ms in self._forbidden_ms[host]
            contradiction(right, place, f"not_before is none that an answer of {host} gives")
