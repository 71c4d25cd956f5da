"""The lines of a store as a replay gets to them: each file read once, from the first run to the last.

Never looks further ahead than one line of each file. The first thing that goes wrong, a line that cannot be read or one
that comes out differently, is kept in `error` and ends the replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Generic, TypeVar

from seaspider.core.records import File, Reason
from seaspider.errors import StoreError
from seaspider.journal import Row
from seaspider.replay.found import Found, of_page, of_robots
from seaspider.verify.evidence import Evidence, Request, Stray

T = TypeVar("T")
E = TypeVar("E", bound=StoreError)

LINES = (File.SKIPPED, File.ROBOTS, File.INTENTS, File.REQUESTS, File.PAGES, File.LINKS)
"""The files whose lines tell how far a run came."""
_FOUND = {File.ROBOTS: of_robots, File.PAGES: of_page}


@dataclass(frozen=True, slots=True)
class Line:
    """`found`: of a line of pages and robots.txt."""

    row: Row
    run: int
    found: Found | None


class Head(Generic[T]):
    """An iterator whose next item can be looked at. `at`: that item, None at the end."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self.at: T | None = next(items, None)

    def take(self) -> None:
        """Goes on to the next item. Raises StoreError; there is none then."""
        self.at = None
        self.at = next(self._items, None)


class Reel:
    """All runs of a store. Raises StoreError."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.error: StoreError | None = None
        self.lines = {file: Head(_lines(evidence, file)) for file in LINES}
        self.requests = Head(whole(evidence.requests()))

    def fail(self, error: E) -> E:
        """Keeps the error, if it is the first, and returns it."""
        self.error = self.error or error
        return error

    def take(self, head: Head[Line] | Head[Request]) -> None:
        """Goes on to the next line of a file, or to the next request. Raises StoreError."""
        try:
            head.take()
        except StoreError as error:
            raise self.fail(error) from None


def _lines(evidence: Evidence, file: File) -> Iterator[Line]:
    found = _FOUND.get(file)
    for row in evidence.rows(file):
        yield Line(row, row.get("run", int), None if found is None else found(row))


def whole(requests: Iterator[Request | Stray]) -> Iterator[Request]:
    """The requests, each of them as a crawl writes one. Raises StoreError."""
    for request in requests:
        if isinstance(request, Stray):
            raise StoreError(f"{request.place}: ends request {request.n}, which did not begin right before")
        try:
            for address in request.addresses:
                ip_address(address)
            if request.settle is not None and request.settle.error is not None:
                Reason(request.settle.error)
        except ValueError as error:
            raise StoreError(f"{request.place}: {error}") from error
        yield request
