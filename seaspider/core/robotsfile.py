"""What a robots.txt decides (RFC 9309): bytes in, decisions out, each with the group, rule and line behind it.

Decides which group applies to a crawler, which rule to a URL, and which delay is asked for. Never fetches, never
looks at a status (a file that is absent or unreachable has no RobotsFile), never raises, whatever the bytes or URL.

Where the RFC leaves two readings, the one that fetches less. Parsing takes time and memory linear in the size of the
file, as rules are kept once per block, whatever number of names heads it; a decision takes at most the size of the
group times the length of the URL.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from seaspider.core.credentials import without_userinfo
from seaspider.core.robotsagents import ANYONE, group_key, line_key
from seaspider.core.robotsmatch import Pattern, Target, pattern_of, target_of
from seaspider.core.robotsrecords import Key, Record, as_text, lines_of, records_of

LIMIT_BYTES: Final = 512_000
"""How much of a file is read, from RFC 9309 section 2.5 (at least 500 KiB)."""
LONGEST_DELAY_S: Final = 1e9
"""A crawl-delay is read up to here (31 years), so that it always is a finite number."""
SHOWN_CHARACTERS: Final = 1_000
"""A rule is quoted up to here, so that a hostile file cannot swell every record that names one of its rules."""

_ALL_NAMES: Final = -1
_ROBOTS_TXT: Final = b"/robots.txt"
_SECONDS = re.compile(rb"\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """Whether a URL may be fetched, and why.

    `group` is the name the applying group was found by, in lower case (`*` for everyone's), None if no group applies
    or none was asked (/robots.txt itself). `rule` and `rule_line` (1-based) are None if no rule of the group matches.
    """

    allowed: bool
    group: str | None
    rule: str | None
    rule_line: int | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that can decide: `text` is the line as written, without comment."""

    allow: bool
    pattern: Pattern
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """All rules for one crawler, most specific first, of equally specific ones `Allow` first."""

    name: str
    rules: tuple[Rule, ...]
    crawl_delay_s: float | None

    def decide(self, target: Target) -> RuleDecision:
        """The decision of the most specific matching rule; allowed if none matches (section 2.2.2)."""
        for rule in self.rules:
            if rule.pattern.matches(target):
                return RuleDecision(rule.allow, self.name, rule.text, rule.line)
        return RuleDecision(True, self.name, None, None)


@dataclass(slots=True)
class _Block:
    """A head of user-agent lines and what follows it.

    A delay after the rules counts for all names. One between the user-agent lines ends a stretch of the head, and
    counts for the names of that stretch only.
    """

    rules: list[Record] = field(default_factory=list)
    delays_s: dict[int, float] = field(default_factory=dict)  # the largest of a stretch, or of _ALL_NAMES
    stretch: int = 0

    def add_name(self) -> int:
        """The stretch that the name belongs to."""
        if self.stretch in self.delays_s:
            self.stretch += 1
        return self.stretch

    def add_delay(self, value: bytes) -> None:
        if seconds := _SECONDS.fullmatch(value):
            names = _ALL_NAMES if self.rules else self.stretch
            self.delays_s[names] = max(self.delays_s.get(names, 0), min(float(seconds[1]), LONGEST_DELAY_S))


_Heads = dict[bytes, list[tuple[_Block, int]]]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RobotsFile:
    """A parsed robots.txt. Tokens are compared without case; a header is cut to its token before it comes here.

    `sitemaps` in file order; `truncated` if the file went on after what was read. A group is made ready when it is
    first asked for, since a crawler asks for one of many.
    """

    sitemaps: tuple[str, ...]
    truncated: bool
    _heads: _Heads
    _groups: dict[bytes, Group] = field(default_factory=dict)

    def decide(self, token: str, url: str) -> RuleDecision:
        """Whether the crawler `token` may fetch `url` (absolute, or a path with query)."""
        target = target_of(url)
        group = None if target.plain == _ROBOTS_TXT else self.group(token)
        return group.decide(target) if group else RuleDecision(True, None, None, None)

    def crawl_delay_s(self, token: str) -> float | None:
        """Seconds between two requests that the group of `token` asks for, the largest if several; else None."""
        group = self.group(token)
        return group.crawl_delay_s if group else None

    def group(self, token: str) -> Group | None:
        """The group that applies to `token`: all blocks that name it, or else all that name `*`, or else None."""
        key = group_key(token)
        key = key if key in self._heads else ANYONE
        if key not in self._heads:
            return None
        if key not in self._groups:
            self._groups[key] = _merge(key, self._heads[key])
        return self._groups[key]

    def canonical(self, token: str) -> str:
        """The group of `token` as a plain robots.txt for everyone: ASCII, the rules that can decide in file order."""
        group = self.group(token)
        rules = sorted(group.rules, key=lambda rule: rule.line) if group else []
        return "\n".join(["User-agent: *", *map(_canonical_line, rules), ""])


@lru_cache(maxsize=4)
def parse(body: bytes, limit_bytes: int = LIMIT_BYTES, *, cut: bool = False) -> RobotsFile:
    """What the first `limit_bytes` of `body` say. `cut` tells that `body` itself is the start of a longer file.

    What was parsed last is kept: one robots.txt is asked about more than once, and many hosts have the same.
    The line that was cut is dropped, so `parse(b)` says what `parse(b[:limit_bytes], cut=True)` says for a longer b.
    """
    truncated = cut or len(body) > limit_bytes
    lines = lines_of(body[:limit_bytes])
    if truncated:
        lines.pop()
    heads: _Heads = {}
    sitemaps: list[str] = []
    block: _Block | None = None
    for record in records_of(lines):
        if record.key is Key.SITEMAP:
            sitemaps.append(without_userinfo(as_text(record.value)))
        elif record.key is Key.AGENT:
            if block is None or block.rules:
                block = _Block()
            _add_name(heads, block, line_key(record.value))
        elif block is not None and record.key is Key.DELAY:
            block.add_delay(record.value)
        elif block is not None:
            block.rules.append(record)
    return RobotsFile(tuple(filter(None, sitemaps)), truncated, heads)


def _add_name(heads: _Heads, block: _Block, name: bytes | None) -> None:
    stretch = block.add_name()
    if name is not None:
        heads.setdefault(name, []).append((block, stretch))


def _merge(key: bytes, heads: list[tuple[_Block, int]]) -> Group:
    """One group of all blocks (section 2.2.1). A Disallow with an equivalent Allow yields to it (section 2.2.2)."""
    blocks = {id(block): block for block, _ in heads}.values()
    rules = [rule for block in blocks for record in block.rules if (rule := _rule(record))]
    allowed = {rule.pattern.compared for rule in rules if rule.allow}
    deciding = [rule for rule in rules if rule.allow or rule.pattern.compared not in allowed]
    deciding.sort(key=lambda rule: (-len(rule.pattern.written), not rule.allow, rule.line))
    named = ((block.delays_s, names) for block, stretch in heads for names in (stretch, _ALL_NAMES))
    delays_s = [delays_s[names] for delays_s, names in named if names in delays_s]
    return Group(as_text(key), tuple(deciding), max(delays_s, default=None))


def _rule(record: Record) -> Rule | None:
    """A NUL ends a value. Of the two readings of `Allow: /a<NUL>b` the one that fetches less: it opens nothing."""
    allow = record.key is Key.ALLOW
    value, nul, _ = record.value.partition(b"\0")
    pattern = None if allow and nul else pattern_of(value.rstrip(b" \t"))
    return None if pattern is None else Rule(allow, pattern, record.line, _shown(record.written))


def _shown(written: bytes) -> str:
    text = as_text(written)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _canonical_line(rule: Rule) -> str:
    # A final star changes nothing by the RFC, and keeps an extension away that Protego has: to it, an allowed
    # index.html opens its directory as well.
    closing = "*" if rule.allow and rule.pattern.written.endswith(b"/index.html") else ""
    return f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern.written.decode('ascii')}{closing}"
