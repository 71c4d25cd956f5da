"""Whether a run may be called polite and broad, in figures: the governor's rules over what was asked.

Decides nothing that the rules in governor do not; puts them together and into a record. Never counts requests itself,
and never measures a gap: both come in, from the run or from its store.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seaspider.core.governor import breadth_per_mil, is_broad, is_polite, passes_gate


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """SEASPIDER_GATE_MIN_HOSTS, _MAX_PER_HOST and _MIN_BREADTH (per mil). 0 asks for nothing; all 0 is no gate."""

    min_hosts: int = 0
    max_per_host: int = 0
    min_breadth: int = 0

    @property
    def is_set(self) -> bool:
        return bool(self.min_hosts or self.max_per_host or self.min_breadth)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run amounted to. All requests count, those for robots.txt too."""

    hosts: int
    """Distinct hosts that were asked."""
    requests: int
    breadth_per_mil: int
    most_per_host: int
    too_near: int
    """Pairs of requests to one host or IP that were nearer than the pause between them."""
    polite: bool
    broad: bool
    gate: bool | None
    """Whether the run passes; None: no gate is set."""

    def to_record(self) -> dict[str, Any]:
        """The `verdict` of manifest.jsonl."""
        return {
            "hosts": self.hosts,
            "requests": self.requests,
            "breadth_per_mil": self.breadth_per_mil,
            "most_per_host": self.most_per_host,
            "too_near": self.too_near,
            "polite": self.polite,
            "broad": self.broad,
            "gate": self.gate,
        }


def verdict(requests_per_host: Mapping[str, int], too_near: int, policy: GatePolicy) -> Verdict:
    """The verdict on a run. `requests_per_host`: of this run, robots.txt included; hosts with 0 were not reached."""
    asked = [requests for requests in requests_per_host.values() if requests > 0]
    hosts, requests = len(asked), sum(asked)
    breadth = breadth_per_mil(hosts, requests)
    polite = is_polite(asked, policy.max_per_host, too_near)
    broad = is_broad(hosts, policy.min_hosts)
    passed = passes_gate(polite=polite, broad=broad, breadth=breadth, min_breadth=policy.min_breadth)
    return Verdict(
        hosts, requests, breadth, max(asked, default=0), too_near, polite, broad, passed if policy.is_set else None
    )


def table(found: Verdict, policy: GatePolicy) -> tuple[str, ...]:
    """The verdict as lines of text for the log, each figure beside what the gate asks of it."""
    rows = [
        ("hosts", found.hosts, _least(policy.min_hosts), found.broad),
        ("requests", found.requests, "", True),
        ("breadth per mil", found.breadth_per_mil, _least(policy.min_breadth), _reaches(found, policy)),
        ("most per host", found.most_per_host, _most(policy.max_per_host), not _hammers(found, policy)),
        ("too near", found.too_near, "at most 0", found.too_near == 0),
    ]
    width = max(len(str(figure)) for _, figure, _, _ in rows)
    lines = [
        f"{name:<15}  {figure:>{width}}  {limit}{'' if kept else '  FAILED'}".rstrip()
        for name, figure, limit, kept in rows
    ]
    gate = {None: "no gate set", True: "gate passed", False: "gate failed"}[found.gate]
    words = ("polite" if found.polite else "not polite", "broad" if found.broad else "not broad", gate)
    return (*lines, "verdict: " + ", ".join(words))


def _reaches(found: Verdict, policy: GatePolicy) -> bool:
    return found.breadth_per_mil >= policy.min_breadth


def _hammers(found: Verdict, policy: GatePolicy) -> bool:
    return 0 < policy.max_per_host < found.most_per_host


def _least(limit: int) -> str:
    return f"at least {limit}" if limit else ""


def _most(limit: int) -> str:
    return f"at most {limit}" if limit else ""
