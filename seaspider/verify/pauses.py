"""P3: the pause in force between two requests to one host or one address, derived anew, and one request at a time.

By CLOCK_BOOTTIME of one boot, across runs that share a ledger. What other processes asked for is not in this store, and
can only have made a wait longer. Also the verdict of each run, from its requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from seaspider.core.governor import Backoffs
from seaspider.core.politeness import Pause, PauseBasis, pause
from seaspider.core.pushback import NOTHING, Pushback, pushback
from seaspider.core.records import Reason
from seaspider.core.robotsstate import RobotsReason
from seaspider.core.times import NS_PER_S, ns_from_s
from seaspider.core.verdict import Verdict, verdict
from seaspider.verify import walk
from seaspider.verify.delays import Delays
from seaspider.verify.evidence import Evidence, Request, Settle
from seaspider.verify.facts import Asked, Check, RobotsLine, Run, Visit, contradiction
from seaspider.verify.proof import Proof, Refuted
from seaspider.verify.robots import Entry
from seaspider.verify.terms import IN_MEMORY

_REASONS = frozenset(map(str, Reason))


def prove(evidence: Evidence) -> Proof:
    return walk.prove(evidence, [Pauses()])[0]


class Pauses(Check):
    promise: ClassVar[str] = "P3"

    def __init__(self) -> None:
        super().__init__()
        self.verdicts: list[tuple[int, Verdict]] = []
        """Of each run, as its requests give it."""
        self._run: Run | None = None
        self._hosts: dict[str, tuple[int, int]] = {}
        self._addresses: dict[str, tuple[int, int]] = {}
        """Host or address -> when it is free (ns), and the number of the request before."""
        self._in_flight_until_ns = 0
        self._started_ns = 0
        self._delays = Delays()
        self._backoffs: Backoffs
        self._requests: dict[str, int] = {}
        self._pending: Request | None = None
        self._concluded = False

    def run_starts(self, run: Run) -> None:
        before, self._run = self._run, run
        if before is not None:
            self._carry_over(before, run)
        self._started_ns = run.info.start.get("started_ns", int)
        self._delays.run_starts()
        self._backoffs = Backoffs()
        self._requests = {}

    def _carry_over(self, before: Run, run: Run) -> None:
        """Pauses of the run before hold in this one if both kept them in one ledger, by one clock."""
        same_boot = before.info.boot_id == run.info.boot_id
        same_ledger = before.terms.ledger == run.terms.ledger != IN_MEMORY
        if same_boot and same_ledger:
            return
        why = "another ledger" if same_boot else "another boot of the machine"
        if self._hosts:
            self.notes.append(f"run {run.number} had {why}: pauses between it and earlier runs cannot be measured")
        self._hosts, self._addresses = {}, {}
        if not same_boot:
            self._in_flight_until_ns = 0

    # --- gaps ---

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        self._settle_pending()
        if page is not None and page.entry is not None and page.said is not None and page.entry.is_parsed:
            self._delays.learn(request.host, page.origin, page.said.crawl_delay_s)
        self.checked["requests"] += 1
        alone = request.claimed_ns >= self._in_flight_until_ns
        contradiction(alone, request.place, "claims before the request before it was over")
        # Another part may ask for something before the run's line is written.
        begun = request.visit is None or request.claimed_ns >= self._started_ns
        contradiction(begun, request.place, "claims before its run started")
        for name, keys, key in (("host", self._hosts, request.host), ("address", self._addresses, request.ip)):
            if key not in keys:
                continue
            self.checked[f"gaps of one {name}"] += 1
            free_ns, before = keys[key]
            short = f"{(free_ns - request.claimed_ns) / NS_PER_S:.9f} s too soon after request {before}"
            contradiction(request.claimed_ns >= free_ns, request.place, f"{key} is asked {short}")
        self._requests[request.host] = self._requests.get(request.host, 0) + 1
        self._pending, self._concluded = request, False

    # --- pauses ---

    def robots(self, line: RobotsLine, requests: Sequence[Request | None], entry: Entry, before: Entry | None) -> None:
        """A robots.txt gives the pause after its own last request already."""
        first = requests[0] if requests else None
        self._concluded = self._concluded or (self._pending is not None and requests[-1:] == [self._pending])
        if first is None or self._run is None:
            return
        if entry.is_parsed and entry.body is not None:
            rules = self._run.book.rules(entry.body)
            delay_s = None if rules is None else rules.crawl_delay_s(self._run.terms.token)
            self._delays.learn(first.host, line.entry.origin, delay_s)
        if line.entry.reason is RobotsReason.ABORTED:
            self._delays.unsure(first.host)

    def _settle_pending(self) -> None:
        request, self._pending = self._pending, None
        if request is None or self._run is None:
            return
        settle = request.settle
        if settle is None:
            rest = next(self._pauses(request.host, NOTHING))
            # It may have been answered, and its pause begun, at any time after its claim.
            self._rest(request, rest, request.claimed_ns)
            return
        found = self._found(request, settle)
        self.checked["pauses"] += 1
        self._rest(request, found, settle.ended_ns)

    def _found(self, request: Request, settle: Settle) -> Pause:
        """The pause after a request as it is recorded. Raises Refuted if it is not what follows from the answer."""
        pushed = self._pushed(request, settle)
        least: Pause | None = None
        for derived in self._pauses(request.host, pushed):
            least = least or derived
            if (derived.seconds, derived.basis) == (settle.pause_s, settle.pause_basis):
                return derived
        assert least is not None
        if self._unsure(request, settle) and settle.pause_s >= least.seconds:
            return Pause(round(settle.pause_s * NS_PER_S), PauseBasis.CRAWL_DELAY)
        found, right = f"{settle.pause_s} ({settle.pause_basis})", f"{least.seconds} ({least.basis})"
        raise Refuted(settle.place, f"the pause is {found}, what was answered makes it {right}")

    def _pauses(self, host: str, pushed: Pushback) -> Iterator[Pause]:
        """What follows from the crawl-delay that is known to be in force, then from longer ones that may be."""
        assert self._run is not None
        for delay_s in self._delays.of(host, self._run.terms.crawl_delay_cap_s):
            yield pause(self._run.terms.interval_ns, ns_from_s(delay_s), pushed.backoff_ns, pushed.waited_ns)

    def _pushed(self, request: Request, settle: Settle) -> Pushback:
        assert self._run is not None
        failures = 0
        if request.kind == "page":
            if request.came_to_nothing:
                return NOTHING
            if settle.error is not None and settle.error not in _REASONS:
                raise Refuted(settle.place, f"error is {settle.error!r}")
            reason = None if settle.error is None else Reason(settle.error)
            self._backoffs.ended(request.host, settle.status, reason)
            failures = self._backoffs.failures(request.host)
        return pushback(settle.headers, failures, self._run.terms.backoff, settle.ended_ms)

    def _unsure(self, request: Request, settle: Settle) -> bool:
        """Whether a robots.txt gave the pause that was never recorded, since the run was killed right then, or another
        part took its request back."""
        if settle.pause_basis != PauseBasis.CRAWL_DELAY:
            return False
        unrecorded = request.kind == "robots" and not self._concluded and 200 <= (settle.status or 0) <= 299
        return unrecorded or self._delays.is_unsure(request.host)

    def _rest(self, request: Request, rest: Pause, since_ns: int) -> None:
        """An address has its own interval; whatever else a host asks for, its address is left alone for as well."""
        assert self._run is not None
        of_address_ns = self._run.terms.ip_interval_ns
        if rest.basis is not PauseBasis.INTERVAL:
            of_address_ns = max(of_address_ns, rest.ns)
        self._hosts[request.host] = (since_ns + rest.ns, request.n)
        self._addresses[request.ip] = (since_ns + of_address_ns, request.n)
        self._in_flight_until_ns = max(self._in_flight_until_ns, since_ns)

    # --- the verdict ---

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        self._settle_pending()
        derived = verdict(self._requests, 0, run.terms.gate)
        self.verdicts.append((run.number, derived))
        if run.ended:
            recorded = run.end.get("verdict", dict)
            for name, value in derived.to_record().items():
                found = recorded.get(name)
                contradiction(
                    found == value, run.end.place, f"the verdict's {name} is {found}, the requests give {value}"
                )
