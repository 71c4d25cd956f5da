"""What became of the visits of a run: counted when a visit is added and when its page record is written.

What is added and has no record is unfinished, whatever the reason; so nothing can get lost in between unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seaspider.core.records import Outcome
from seaspider.items import Page


@dataclass(slots=True)
class Kind:
    """The visits of queue lines, or those of followed links."""

    added: int = 0
    recorded: int = 0

    @property
    def unfinished(self) -> int:
        return self.added - self.recorded


@dataclass(slots=True)
class Tally:
    lines: Kind = field(default_factory=Kind)
    followed: Kind = field(default_factory=Kind)
    not_final: int = 0
    """Page records that are not final."""
    errors: int = 0
    """Visits that ended in an error of ours."""
    begun: set[int] = field(default_factory=set)
    """The numbers of the visits that something is on record of, an intent or a request, and no page record yet."""
    _outcomes: dict[str, int] = field(default_factory=dict)

    def record(self, page: Page) -> None:
        self._of(page.line).recorded += 1
        self.begun.discard(page.visit)
        self.not_final += not Outcome(page.outcome).final
        outcome = f"{page.outcome}/{page.reason}" if page.reason else str(page.outcome)
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1

    @property
    def outcomes(self) -> dict[str, int]:
        """Page records by `outcome` or `outcome/reason`, sorted."""
        return dict(sorted(self._outcomes.items()))

    @property
    def unfinished(self) -> int:
        return self.lines.unfinished + self.followed.unfinished

    def _of(self, line: int | None) -> Kind:
        return self.followed if line is None else self.lines
