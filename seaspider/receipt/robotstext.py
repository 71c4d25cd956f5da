"""The robots.txt part of a receipt: what was found at each origin, the latest first, and the rules that applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsState
from seaspider.receipt.robots import Body, OriginFact, RobotsFact, Rules
from seaspider.receipt.words import ERRORS, TEXT_COLUMNS, capped, many, moment, short, wrapped

_RECORDS, _RULES = 3, 5


def robots_lines(origins: Sequence[OriginFact]) -> list[str]:
    """Lines of text: each origin with its latest records."""
    return [line for origin in origins for line in _origin(origin)]


def _origin(origin: OriginFact) -> Iterator[str]:
    yield short(f"{origin.origin}/robots.txt, looked at {_times(len(origin.records))}:", TEXT_COLUMNS)
    latest = list(reversed(origin.records))
    for number, record in enumerate(latest[:_RECORDS]):
        before = latest[number - 1] if number else None
        yield from wrapped(_state(record.entry))
        if record.rules is None:
            continue
        if before is not None and before.rules == record.rules and before.entry.sha256 == record.entry.sha256:
            yield "   the same file, sha256 and rules as above"
        else:
            yield from _file(record, record.rules)
    if len(latest) > _RECORDS:
        yield f"... and {len(latest) - _RECORDS} earlier"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _state(entry: RobotsEntry) -> str:
    """`2026-11-30 05:17:36, used until 2026-12-01 05:17:36: status 200, 56 bytes`."""
    status = "no answer" if entry.status is None else f"status {entry.status}"
    by = "" if entry.body_url == f"{entry.origin}/robots.txt" else f" by redirect from {entry.body_url}"
    told = f"{moment(entry.fetched_at_ms)}, used until {moment(entry.expires_at_ms)}: {status}{by}"
    if entry.state is RobotsState.ABSENT:
        return f"{told}: none there, all allowed"
    if entry.state is RobotsState.UNREACHABLE:
        reason = ERRORS.get(str(entry.reason), entry.reason)
        return f"{told} ({reason}): not to be had, nothing allowed"
    return f"{told}, {many(entry.bytes or 0, 'byte')}{' of a longer file' if entry.truncated else ''}"


def _file(record: RobotsFact, rules: Rules) -> Iterator[str]:
    yield f"   sha256 {record.entry.sha256}"
    if rules.body is not Body.KEPT:
        lost = "is missing" if rules.body is Body.MISSING else "was changed"
        yield f"   its copy {lost} in the records, so its rules cannot be quoted"
        return
    if rules.group is None:
        yield f"   no rules for {rules.token} or for everyone in it: all allowed"
        return
    group = "everyone (*)" if rules.group == "*" else rules.group
    delay = "no crawl-delay" if rules.crawl_delay_s is None else f"crawl-delay {rules.crawl_delay_s:g} s"
    nothing = "" if rules.rules else "; nothing forbidden"
    yield short(f"   rules for {rules.token}: those for {group}; {delay}{nothing}", TEXT_COLUMNS)
    quoted = [short(f"   line {rule.line}: {rule.text}", TEXT_COLUMNS) for rule in rules.rules]
    yield from (line if line.startswith("   ") else f"   {line}" for line in capped(quoted, _RULES))
