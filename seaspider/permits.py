"""What the door accepts: for each Request object, at most one permit, for one URL, used once.

A permit is bound to the Request object itself. It is not in `meta`, so nothing that copies a Request copies it. It says
how much of the answer is read, and takes the answer in before the pause that follows is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol
from weakref import WeakKeyDictionary

from scrapy import Request

from seaspider import http1
from seaspider.core.frontier import Frontier, RobotsTurn
from seaspider.core.httpfields import values_of
from seaspider.core.records import Reason
from seaspider.core.redirects import location_text
from seaspider.core.robotsanswer import RobotsAnswer, is_redirect, wants_body
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsfile import LIMIT_BYTES
from seaspider.core.robotsstate import RobotsReason, RobotsState
from seaspider.core.visits import Answered, Hop, Visit
from seaspider.decoding import Decoded, decode
from seaspider.http1 import SKIP, WHOLE, BodyPlan, Headers
from seaspider.refusals import DoorRefusal
from seaspider.robotsdesk import RobotsDesk


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one exchange: an answer, whose body is decoded, or the reason why there is none."""

    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    clipped: bool = False
    wire_bytes: int = 0
    flags: tuple[str, ...] = ()
    error: Reason | None = None
    detail: str = ""


class Permit(Protocol):
    kind: ClassVar[str]
    """`robots` or `page`, as in requests.jsonl."""

    @property
    def hop(self) -> Hop: ...

    @property
    def visit(self) -> int | None:
        """The number of the visit the request is for."""

    @property
    def in_turn(self) -> bool:
        """Whether the scheduler gave the request its turn."""

    def plan(self, status: int, headers: Headers) -> BodyPlan:
        """How much of the body is read."""

    def decoded(self, answer: http1.Answer) -> Decoded:
        """The body without its content codings. Raises DecodeError."""

    def sent(self) -> None:
        """The request is about to go out."""

    def conclude(self, asked: Asked, now_ms: int) -> None:
        """Takes the answer in, which came at `now_ms`, before the pause that follows is fixed. Raises StoreError."""


@dataclass(frozen=True, slots=True)
class Clearance:
    """robots.txt allows this page. `of` is None for a request that belongs to no visit."""

    kind: ClassVar[str] = "page"
    hop: Hop
    max_body_bytes: int
    of: Visit | None = None
    in_turn: bool = False

    @property
    def visit(self) -> int | None:
        return self.of.number if self.of else None

    def plan(self, status: int, headers: Headers) -> BodyPlan:
        return SKIP if is_redirect(status, values_of(headers, b"location")) else WHOLE

    def decoded(self, answer: http1.Answer) -> Decoded:
        if self.plan(answer.status, answer.headers).skip:
            return Decoded(b"", False)
        codings = values_of(answer.headers, b"content-encoding")
        return decode(answer.body, codings, self.max_body_bytes, empty_ok=True, unknown_ok=True)

    def sent(self) -> None:
        self.hop.tries += 1
        if self.of:
            self.of.attempts += 1

    def conclude(self, asked: Asked, now_ms: int) -> None:
        _fill(self.hop, asked)
        if self.of:
            self.of.wire_bytes, self.of.flags = asked.wire_bytes, asked.flags
            if asked.status is not None and asked.error is None:
                self.of.answer = Answered(asked.status, asked.headers, asked.body)


@dataclass(frozen=True, slots=True)
class RobotsPermit:
    """One request of a robots.txt fetch, which needs no decision of its own."""

    kind: ClassVar[str] = "robots"
    turn: RobotsTurn
    desk: RobotsDesk
    frontier: Frontier
    conditional: bool
    in_turn: bool = False

    @property
    def hop(self) -> Hop:
        return self.turn.hop

    @property
    def visit(self) -> int | None:
        return self.turn.fetch.visit

    def plan(self, status: int, headers: Headers) -> BodyPlan:
        return BodyPlan(clip_bytes=LIMIT_BYTES, close_notify=True) if wants_body(status) else SKIP

    def decoded(self, answer: http1.Answer) -> Decoded:
        if not wants_body(answer.status):
            return Decoded(b"", False)
        codings = values_of(answer.headers, b"content-encoding")
        return decode(answer.body, codings, LIMIT_BYTES, clip=True, input_clipped=answer.clipped)

    def sent(self) -> None:
        pass

    def conclude(self, asked: Asked, now_ms: int) -> None:
        fetch = self.turn.fetch
        _fill(self.hop, asked)
        if asked.error is not None:
            fetch.outcome = self.desk.failed(fetch, RobotsReason(asked.error), now_ms)
            return
        assert asked.status is not None
        answer = RobotsAnswer(asked.status, asked.headers, asked.body, asked.clipped, self.conditional)
        fetch.outcome = self.desk.answered(fetch, answer, now_ms)
        if isinstance(fetch.outcome, RobotsEntry) and fetch.outcome.state is RobotsState.PARSED:
            self.frontier.learn_rules(fetch.chain[0].url, self.desk.rules(fetch.outcome))


class Permits:
    """Issued by RobotsMiddleware, taken by the door."""

    def __init__(self) -> None:
        self._permits: WeakKeyDictionary[Request, Permit] = WeakKeyDictionary()

    def issue(self, request: Request, permit: Permit) -> None:
        self._permits[request] = permit

    def take(self, request: Request) -> Permit:
        """The permit of this very object, once. Raises DoorRefusal if there is none or it is for another URL."""
        permit = self._permits.pop(request, None)
        if permit is None:
            raise DoorRefusal(f"no robots decision was made for this request: {request.url}")
        if permit.hop.url.text != request.url:
            raise DoorRefusal(f"allowed was {permit.hop.url.text}, not {request.url}")
        return permit


def _fill(hop: Hop, asked: Asked) -> None:
    hop.status = asked.status
    hop.error = asked.error
    locations = values_of(asked.headers, b"location")
    hop.location = ", ".join(map(location_text, dict.fromkeys(locations))) if locations else None
