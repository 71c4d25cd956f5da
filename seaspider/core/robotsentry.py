"""One line of robots.jsonl: what became of the robots.txt of one origin, and until when that holds.

Decides what such a line must say. Never opens a file, asks or parses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from seaspider.core.robotsstate import RobotsCause, RobotsReason, RobotsState
from seaspider.core.times import parse_rfc3339_ms, rfc3339_ms

_T = TypeVar("_T")

CLOCK_TOLERANCE_MS: Final = 600_000
"""An entry fetched further in the future than this was written under another clock: it is not in force."""


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One request on the way to a robots.txt. `error`: a word of the door's, where no answer came."""

    url: str
    ip: str | None = None
    status: int | None = None
    location: str | None = None
    error: str | None = None


class RobotsRowError(ValueError):
    """A line of robots.jsonl that does not say what one must say."""


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """One line of robots.jsonl, and `failures`: retry periods unreachable in a row, counted from the lines by the book.

    `chain` holds the request that was answered last; `sha256`, `bytes`, `truncated` and `sitemaps` are of the parsed
    body and empty in the other states. `*_at_ms` are stored as RFC 3339. Raises ValueError if the fields disagree.
    """

    run: int
    id: int
    origin: str
    cause: RobotsCause
    chain: tuple[RobotsHop, ...]
    state: RobotsState
    reason: RobotsReason | None
    status: int | None
    sha256: str | None
    bytes: int | None
    truncated: bool
    etag: str | None
    last_modified: str | None
    retry_after_s: int | None
    fetched_at_ms: int
    expires_at_ms: int
    sitemaps: tuple[str, ...] = ()
    failures: int = 0

    def __post_init__(self) -> None:
        parsed = self.state is RobotsState.PARSED
        if (self.reason is not None) != (self.state is RobotsState.UNREACHABLE):
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with reason {self.reason}")
        if (self.sha256 is not None) != parsed or (self.bytes is not None) != parsed:
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with body {self.sha256}")
        if not parsed and (self.truncated or self.sitemaps):
            raise ValueError(f"robots entry {self.id} of {self.origin}: {self.state} with rules")
        if self.expires_at_ms <= self.fetched_at_ms:
            raise ValueError(f"robots entry {self.id} of {self.origin}: over at {self.expires_at_ms}, before it begins")

    @property
    def body_url(self) -> str:
        """The URL that gave the body (or refused it): the one its validators may be sent to."""
        return self.chain[-1].url if self.chain else f"{self.origin}/robots.txt"

    def to_row(self) -> dict[str, Any]:
        """The line as a mapping, keys in their fixed order; the writer adds the format's version."""
        return {
            "run": self.run,
            "id": self.id,
            "origin": self.origin,
            "cause": self.cause.value,
            "chain": [
                {"url": hop.url, "ip": hop.ip, "status": hop.status, "location": hop.location, "error": hop.error}
                for hop in self.chain
            ],
            "state": self.state.value,
            "reason": self.reason.value if self.reason else None,
            "status": self.status,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "truncated": self.truncated,
            "etag": self.etag,
            "last_modified": self.last_modified,
            "retry_after_s": self.retry_after_s,
            "fetched_at": rfc3339_ms(self.fetched_at_ms),
            "expires_at": rfc3339_ms(self.expires_at_ms),
            "sitemaps": list(self.sitemaps),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "RobotsEntry":
        """The entry a line holds, `failures` 0. Raises RobotsRowError; keys it does not know are passed over."""
        try:
            reason = _optional(row, "reason", str)
            return cls(
                run=_typed(row, "run", int),
                id=_typed(row, "id", int),
                origin=_typed(row, "origin", str),
                cause=RobotsCause(_typed(row, "cause", str)),
                chain=tuple(_hop(hop) for hop in _typed(row, "chain", list)),
                state=RobotsState(_typed(row, "state", str)),
                reason=None if reason is None else RobotsReason(reason),
                status=_optional(row, "status", int),
                sha256=_optional(row, "sha256", str),
                bytes=_optional(row, "bytes", int),
                truncated=_typed(row, "truncated", bool),
                etag=_optional(row, "etag", str),
                last_modified=_optional(row, "last_modified", str),
                retry_after_s=_optional(row, "retry_after_s", int),
                fetched_at_ms=parse_rfc3339_ms(_typed(row, "fetched_at", str)),
                expires_at_ms=parse_rfc3339_ms(_typed(row, "expires_at", str)),
                sitemaps=tuple(_checked("sitemaps", url, str) for url in _typed(row, "sitemaps", list)),
            )
        except ValueError as error:
            raise RobotsRowError(f"robots.jsonl: {error}") from error


def _typed(row: Mapping[str, Any], key: str, kind: type[_T]) -> _T:
    if key not in row:
        raise ValueError(f"no {key!r}")
    return _checked(key, row[key], kind)


def _optional(row: Mapping[str, Any], key: str, kind: type[_T]) -> _T | None:
    return None if key in row and row[key] is None else _typed(row, key, kind)


def _checked(key: str, value: object, kind: type[_T]) -> _T:
    # A bool is an int to isinstance, but never to this file.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{key!r} is {value!r}, not of type {kind.__name__}")
    return value


def _hop(value: object) -> RobotsHop:
    hop = _checked("chain", value, dict)
    return RobotsHop(
        url=_typed(hop, "url", str),
        ip=_optional(hop, "ip", str),
        status=_optional(hop, "status", int),
        location=_optional(hop, "location", str),
        error=_optional(hop, "error", str),
    )
