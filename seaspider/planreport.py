"""What `scrapy plan` found out: as an object for programs, and as text for people. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from seaspider.core.forecast import ASSUMED, Forecast, HostPlan, PlannedTurn
from seaspider.core.orders import OrderName
from seaspider.core.queue import Counts, Skipped
from seaspider.core.times import NS_PER_S
from seaspider.core.verdict import GatePolicy, Verdict

REJECTS_SHOWN: Final = 5
ANSWER_S: Final = (0.1, 1.0)
"""How long an answer is assumed to take, from and to."""
_SHOWN_CHARS = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """`runs`: earlier ones in the store. `rejects`: the first few. `followed`: links of earlier runs that still wait.

    `verdict`: what the crawl would be called if all goes as assumed, its pauses kept.
    """

    queue: str
    store: str
    runs: int
    lines: Counts
    rejects: tuple[Skipped, ...]
    followed: int
    follow: str
    order: str
    forecast: Forecast
    turns: tuple[PlannedTurn, ...]
    gate: GatePolicy
    verdict: Verdict

    @property
    def answers_count(self) -> bool:
        """Whether the order has a time that answers are taken to last."""
        return OrderName(self.order) is OrderName.MOST_REMAINING

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the numbers stand on."""
        follows = ("no links are followed, although SEASPIDER_FOLLOW says so",) if self.follow != "off" else ()
        lasting = ("in the turns below, each answer takes SEASPIDER_EXPECTED_ANSWER",) if self.answers_count else ()
        return (*ASSUMED, *follows, *lasting)


def as_object(plan: Plan) -> dict[str, Any]:
    """The plan for programs: always these keys, in this order; what there is not is null."""
    forecast = plan.forecast
    busiest, slowest = forecast.busiest, forecast.slowest
    fast_s, slow_s = forecast.eta_s(*ANSWER_S)
    return {
        "queue": plan.queue,
        "store": plan.store,
        "runs": plan.runs,
        "lines": asdict(plan.lines),
        "rejects": [{"line": line.line, "reason": line.reason, "text": line.text} for line in plan.rejects],
        "followed": plan.followed,
        "without_request": dict(sorted(forecast.stops.items())),
        "hosts": forecast.hosts,
        "requests": {"robots": forecast.robots, "page": forecast.pages, "total": forecast.requests},
        "busiest": {"host": busiest.host, "requests": busiest.requests} if busiest else None,
        "breadth_per_mil": plan.verdict.breadth_per_mil,
        "gate": {
            **asdict(plan.gate),
            "broad": plan.verdict.broad,
            "polite": plan.verdict.polite,
            "passes": plan.verdict.gate,
        },
        "order": plan.order,
        "turns": [
            {
                "n": number,
                "at_s": turn.at_ns / NS_PER_S,
                "host": turn.ask.url.host,
                "kind": turn.ask.kind,
                "url": turn.ask.target,
            }
            for number, turn in enumerate(plan.turns, 1)
        ],
        "lower_bound_s": forecast.bound_s(),
        "lower_bound": {"host": slowest.host, "formula": formula(slowest)} if slowest else None,
        "eta_s": {"from": fast_s, "to": slow_s, "answer_from": ANSWER_S[0], "answer_to": ANSWER_S[1]},
        "assumed": list(plan.assumed),
    }


def formula(host: HostPlan) -> str:
    """How the lower bound comes about: `(20 requests to a.test - 1) x 2 s`."""
    if host.even:
        return f"({_many(host.requests, 'request')} to {host.host} - 1) x {host.pause_ns / NS_PER_S:g} s"
    return f"the pauses between the {host.requests} requests to {host.host}"


def as_text(plan: Plan) -> str:
    """The plan for people."""
    rows = [*_queue_rows(plan), *_crawl_rows(plan), *_time_rows(plan)]
    rows += [("assumed" if number == 0 else "", text) for number, text in enumerate(plan.assumed)]
    table = [f"{name:<11}{text}" for name, text in rows]
    return "\n".join([*table, *_turn_lines(plan)])


def _queue_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    fates = asdict(plan.lines)
    total, to_visit = fates.pop("lines"), fates.pop("entries")
    listed = ", ".join([f"{to_visit} to visit", *(f"{count} {name}" for name, count in fates.items())])
    yield "queue", f"{ascii(plan.queue)[1:-1]}: {_many(total, 'line')}: {listed}"
    for line in plan.rejects:
        yield "", f"line {line.line} is rejected ({line.reason}): {_shown(line.text or '')}"
    if plan.lines.rejected > len(plan.rejects):
        yield "", f"and {plan.lines.rejected - len(plan.rejects)} more"
    yield "store", f"{ascii(plan.store)[1:-1]}: " + (f"{_many(plan.runs, 'run')} so far" if plan.runs else "new")
    if plan.followed:
        yield "", f"{_many(plan.followed, 'link')} that an earlier run followed: to visit, too"


def _crawl_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    forecast, busiest = plan.forecast, plan.forecast.busiest
    for ending, count in sorted(forecast.stops.items()):
        yield "not asked", f"{count} {ending}"
    kinds = f"{forecast.robots} robots.txt, {_many(forecast.pages, 'page')}"
    yield "requests", f"{forecast.requests} to {_many(forecast.hosts, 'host')} ({kinds})"
    if busiest:
        yield "busiest", f"{busiest.host} with {_many(busiest.requests, 'request')}"
        yield "breadth", f"{plan.verdict.breadth_per_mil} per mil ({forecast.hosts} x 1000 / {forecast.requests})"
    yield "gate", _gate_in_words(plan)


def _gate_in_words(plan: Plan) -> str:
    gate, found = plan.gate, plan.verdict
    if not gate.is_set:
        return "none (SEASPIDER_GATE_*)"
    parts = []
    if gate.min_hosts:
        parts.append(f"hosts {found.hosts} (at least {gate.min_hosts})")
    if gate.max_per_host:
        parts.append(f"most per host {found.most_per_host} (at most {gate.max_per_host})")
    if gate.min_breadth:
        parts.append(f"breadth {found.breadth_per_mil} (at least {gate.min_breadth})")
    return f"{'would pass' if found.gate else 'WOULD FAIL'}: {', '.join(parts)}"


def _time_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    forecast, slowest = plan.forecast, plan.forecast.slowest
    if not slowest:
        yield "time", "none: there is nothing to ask for"
        return
    yield "time", f"at least {duration(forecast.bound_s())} = {formula(slowest)}"
    (fast_s, slow_s), (fast, slow) = forecast.eta_s(*ANSWER_S), ANSWER_S
    yield "", f"{duration(fast_s)} to {duration(slow_s)} if an answer takes {fast:g} to {slow:g} s,"
    total = forecast.requests
    yield (
        "",
        f"from the larger of that bound and {total} x {fast:g} s to the sum of that bound and {total} x {slow:g} s",
    )


def _turn_lines(plan: Plan) -> Iterator[str]:
    if not plan.turns:
        return
    width = max(len("host"), *(len(turn.ask.url.host) for turn in plan.turns))
    yield ""
    yield f"{'turn':>6}  {'after':>10}  {'host':<{width}}  request ({plan.order}, {_of(plan)})"
    for number, turn in enumerate(plan.turns, 1):
        at = f"{turn.at_ns / NS_PER_S:.1f} s"
        yield f"{number:>6}  {at:>10}  {turn.ask.url.host:<{width}}  {turn.ask.target}"


def _of(plan: Plan) -> str:
    return f"the first {len(plan.turns)} of {plan.forecast.requests}"


def duration(seconds: float) -> str:
    """`38.5 s`, `12 min 5 s`, `3 h 20 min`, `11 d 3 h`."""
    if seconds < 120:
        return f"{round(seconds, 1):g} s"
    for size, name, smaller, its_name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= 2 * size or size == 60:
            whole, rest = divmod(round(seconds / smaller), size // smaller)
            return f"{whole} {name} {rest} {its_name}" if rest else f"{whole} {name}"
    raise AssertionError(seconds)


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _shown(text: str) -> str:
    """A line of the queue, as one line of ASCII."""
    return ascii(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "...")
