"""What `scrapy robots` found out: as an object for programs, and as text for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seaspider.commands.words import moment, reason_in_words, rule_in_words
from seaspider.config import Config
from seaspider.core.records import Ending
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsState
from seaspider.core.times import rfc3339_ms
from seaspider.core.urls import Url
from seaspider.core.visits import Decision, Hop
from seaspider.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a URL. `entry` is None if robots.txt could not even be asked for; `ending` None: allowed."""

    url: Url
    token: str
    entry: RobotsEntry | None
    chain: tuple[Hop, ...]
    hop: Hop
    ending: Ending | None

    @property
    def exit_code(self) -> ExitCode:
        known = self.entry is not None and self.entry.state is not RobotsState.UNREACHABLE
        return ExitCode.DONE if known else ExitCode.UNFINISHED


def as_object(answer: Answer) -> dict[str, Any]:
    """The answer for programs: always these keys, in this order; what is not known is null."""
    entry, hop, ending = answer.entry, answer.hop, answer.ending
    return {
        "url": answer.url.text,
        "origin": answer.url.origin,
        "token": answer.token,
        "decision": hop.decision,
        "group": hop.group,
        "rule": hop.rule,
        "rule_line": hop.rule_line,
        "witness": hop.witness,
        "crawl_delay_s": hop.crawl_delay_s,
        "outcome": ending.outcome if ending else None,
        "outcome_reason": ending.reason if ending else None,
        "state": entry.state if entry else None,
        "state_reason": entry.reason if entry else None,
        "status": entry.status if entry else None,
        "chain": [
            {"url": step.url.text, "ip": step.ip, "status": step.status, "location": step.location, "error": step.error}
            for step in answer.chain
        ],
        "bytes": entry.bytes if entry else None,
        "truncated": entry.truncated if entry else None,
        "sha256": entry.sha256 if entry else None,
        "fetched_at": rfc3339_ms(entry.fetched_at_ms) if entry else None,
        "expires_at": rfc3339_ms(entry.expires_at_ms) if entry else None,
        "sitemaps": list(entry.sitemaps) if entry else [],
    }


def as_text(answer: Answer, config: Config) -> str:
    """The answer for people."""
    rows = [("robots.txt", _state(answer)), ("asked", _way(answer.chain))]
    if answer.hop.decision is not None and answer.entry is not None:
        if answer.entry.state is RobotsState.PARSED:
            rows += [("decided by", rule_in_words(answer.hop)), ("crawl-delay", _delay(answer.hop, config))]
        rows.append(("holds until", moment(answer.entry.expires_at_ms)))
        rows += [("sitemap", url) for url in answer.entry.sitemaps]
    if answer.hop.witness not in (None, answer.hop.decision):
        rows.append(("but", f"Protego, the second witness, says {answer.hop.witness}; what is above decides"))
    return "\n".join([answer.url.text, _verdict(answer, config), "", *(f"{name:<12} {text}" for name, text in rows)])


def _verdict(answer: Answer, config: Config) -> str:
    if answer.ending is None:
        none = answer.entry is not None and answer.entry.state is RobotsState.ABSENT
        return "Allowed: there is no robots.txt." if none else f"Allowed for {answer.token}."
    if answer.hop.decision is Decision.DISALLOW:
        return f"Forbidden for {answer.token}."
    return f"Not asked for: {reason_in_words(answer.ending, answer.hop, config.crawl_delay_cap_s)}."


def _state(answer: Answer) -> str:
    entry = answer.entry
    if entry is None:
        return "unknown: it could not be asked for"
    status = "no answer" if entry.status is None else f"status {entry.status}"
    if entry.state is RobotsState.PARSED:
        cut = f", the first {entry.bytes} bytes of a longer file" if entry.truncated else f", {entry.bytes} bytes"
        return f"parsed ({status}{cut})"
    if entry.state is RobotsState.ABSENT:
        return f"absent ({status}), so everything is allowed"
    return f"unreachable ({entry.reason}, {status}), so nothing is allowed"


def _way(chain: tuple[Hop, ...]) -> str:
    """`http://a.test/robots.txt at 127.0.0.2: 301, then http://b.test/robots.txt at 127.0.0.3: 200`."""
    return ", then ".join(
        f"{hop.url.text}{f' at {hop.ip}' if hop.ip else ''}: {hop.status or hop.error or 'not asked'}" for hop in chain
    )


def _delay(hop: Hop, config: Config) -> str:
    if hop.crawl_delay_s is None:
        return f"none asked for: {config.interval_s:g} s between requests (SEASPIDER_INTERVAL)"
    if hop.crawl_delay_s > config.crawl_delay_cap_s:
        return f"{hop.crawl_delay_s:g} s, over the cap of {config.crawl_delay_cap_s:g} s: a crawl defers the URL"
    return f"{hop.crawl_delay_s:g} s: at least {max(hop.crawl_delay_s, config.interval_s):g} s between requests"
