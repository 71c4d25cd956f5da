"""What a turn can be: a request for a page or for a robots.txt, or a stop without a request. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from seaspider.core.records import Ending
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsstate import RobotsCause, RobotsReason
from seaspider.core.urls import Url
from seaspider.core.visits import Hop, Visit


@dataclass(slots=True, eq=False)
class RobotsFetch:
    """One robots.txt on its way, with its own chain of hops. `visit`: the number of the visit it is fetched for."""

    origin: str
    host: str
    cause: RobotsCause
    visit: int | None = None
    chain: list[Hop] = field(default_factory=list)
    outcome: Url | RobotsEntry | None = None
    """What the last answer led to: the next URL to ask, or the origin's entry."""
    queued: bool = False
    """Its last hop waits for a turn."""


@dataclass(frozen=True, slots=True)
class PageTurn:
    """The hop is allowed: ask for it."""

    visit: Visit
    hop: Hop


@dataclass(frozen=True, slots=True)
class RobotsTurn:
    """Ask for this hop of a robots.txt fetch."""

    fetch: RobotsFetch
    hop: Hop


@dataclass(frozen=True, slots=True)
class StopTurn:
    """The visit ends here, without a request."""

    visit: Visit
    ending: Ending


@dataclass(frozen=True, slots=True)
class RobotsStop:
    """The fetch may not go where it was sent: the origin is unreachable, for this reason."""

    fetch: RobotsFetch
    reason: RobotsReason


Turn = PageTurn | RobotsTurn | StopTurn | RobotsStop


@dataclass(frozen=True, slots=True)
class NeedsRobots:
    """No robots.txt answer is in force for the origin."""
