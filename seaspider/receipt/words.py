"""The vocabulary of the store in words that a site owner understands, and text that fits on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Final

from seaspider.core.records import Outcome, Reason
from seaspider.core.times import MS_PER_S, NS_PER_MS, rfc3339_ms
from seaspider.receipt.pages import PageFact
from seaspider.receipt.requests import Asked

PAGE_COLUMNS: Final = 100
LABEL_COLUMNS: Final = 13
TEXT_COLUMNS: Final = PAGE_COLUMNS - LABEL_COLUMNS


BASIS: Final[Mapping[str | None, str]] = {
    "interval": "the usual pause of this program",
    "crawl-delay": "robots.txt asks for it",
    "backoff": "the site had trouble or pushed back",
    "retry-after": "the answer asked for it",
}
ERRORS: Final[Mapping[str, str]] = {
    "dns": "no such name",
    "connect": "no connection",
    "tls": "no secure connection",
    "timeout": "no answer in time",
    "reset": "connection reset",
    "cut": "answer cut off",
    "too-large": "answer too large",
    "decode": "answer not decodable",
    "protocol": "answer not valid HTTP",
}
_OUTCOMES: Final[Mapping[Outcome, str]] = {
    Outcome.STORED: "answered and kept",
    Outcome.DISALLOWED: "forbidden by robots.txt",
    Outcome.REFUSED: "not usable",
    Outcome.FAILED: "failed",
    Outcome.DEFERRED: "put off",
    Outcome.BLOCKED: "left alone after a 403",
}
_WHY_NOT: Final[Mapping[Reason | None, str]] = {
    Reason.ROBOTS_RULE: "robots.txt forbids it",
    Reason.FORBIDDEN: "the site had answered 403 (forbidden) to a page",
    Reason.CRAWL_DELAY: "robots.txt asks for a longer pause than this program was told to wait",
    Reason.ROBOTS_UNREACHABLE: "robots.txt could not be had, so nothing was allowed",
    Reason.RETRY_AFTER: "the site had asked to be left alone for long (Retry-After)",
    Reason.BACKOFF: "the name of the site could not be looked up just then",
    Reason.BUDGET: "this site had been asked as often as the run was told to",
    Reason.SPECIAL_ADDRESS: "its address is not a public one",
    Reason.DNS: "there is no such name",
}


def ending(page: PageFact) -> str:
    """What became of a page: `failed (http-5xx)`."""
    words = _OUTCOMES[page.outcome]
    told = page.reason is None or page.outcome in (Outcome.DISALLOWED, Outcome.BLOCKED)
    return words if told else f"{words} ({page.reason})"


def why_not(page: PageFact) -> str:
    """Why a page was not asked for."""
    words = _WHY_NOT.get(page.reason, page.ending)
    return f"{words}: {page.crawl_delay_s:g} s" if page.reason is Reason.CRAWL_DELAY and page.crawl_delay_s else words


def result(each: Asked) -> str:
    """What came of a request: `200`, `no connection`, `200, answer too large`."""
    if each.ended_ms is None:
        return "end not recorded"
    error = None if each.error is None else ERRORS.get(each.error, each.error)
    parts = (None if each.status is None else str(each.status), error)
    return ", ".join(part for part in parts if part) or "no answer"


def many(count: int, name: str) -> str:
    """`1 page`, `2,000 pages`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def moment(wall_ms: int) -> str:
    """`2026-11-30 05:17:36`."""
    return rfc3339_ms(wall_ms)[:19].replace("T", " ")


def seconds(ns: int) -> str:
    """`1.234 s`, never more than it was."""
    return f"{ns // NS_PER_MS / MS_PER_S:.3f} s"


def plain(text: str) -> str:
    """Printable ASCII, whatever a server or a user wrote."""
    return "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in text)


def short(text: str, columns: int) -> str:
    """`plain` text cut to fit."""
    shown = plain(text)
    return shown if len(shown) <= columns else shown[: columns - 3] + "..."


def wrapped(text: str) -> list[str]:
    """Lines of prose beside a label."""
    return wrap(plain(text), TEXT_COLUMNS, break_on_hyphens=False)


def capped(lines: Sequence[str], most: int) -> list[str]:
    """At most so many lines, the last of them saying that there are more."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"... and {len(lines) - most + 1:,} more lines: see --json"]
