"""The governor's verdict on each run, from its requests alone, whatever else is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from seaspider.core.politeness import PauseBasis
from seaspider.core.times import NS_PER_S
from seaspider.core.verdict import GatePolicy, Verdict, verdict
from seaspider.verify.evidence import Request
from seaspider.verify.facts import Asked, Check, Run, Visit


@dataclass(frozen=True, slots=True)
class RunVerdict:
    run: int
    reason: str | None
    """Why the run ended; None if it was killed."""
    verdict: Verdict
    gate: GatePolicy


class Verdicts(Check):
    """Counts, and refutes nothing: whether the recorded verdict is this one is P3's matter."""

    promise: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[RunVerdict] = []
        self._run: Run
        self._hosts: Counter[str] = Counter()
        self._free_ns: dict[str, int] = {}
        """By host and by address, which are never called the same."""
        self._too_near = 0

    def run_starts(self, run: Run) -> None:
        self._run, self._too_near = run, 0
        self._hosts.clear()
        self._free_ns.clear()

    def asked(self, request: Request, page: Asked | None, visit: Visit | None) -> None:
        host, address = request.host, f"ip:{request.ip}"
        self._hosts[request.host] += 1
        self._too_near += any(request.claimed_ns < self._free_ns.get(key, 0) for key in (host, address))
        settle = request.settle
        if settle is None:
            return
        pause_ns = round(settle.pause_s * NS_PER_S)
        of_address_ns = self._run.terms.ip_interval_ns
        if settle.pause_basis != PauseBasis.INTERVAL:
            of_address_ns = max(of_address_ns, pause_ns)
        self._free_ns[host] = settle.ended_ns + pause_ns
        self._free_ns[address] = settle.ended_ns + of_address_ns

    def run_ends(self, run: Run, visits: Sequence[Visit], fetches: Sequence[Request]) -> None:
        gate = run.terms.gate
        reason = run.end.get("reason", str) if run.ended else None
        self.runs.append(RunVerdict(run.number, reason, verdict(self._hosts, self._too_near, gate), gate))
