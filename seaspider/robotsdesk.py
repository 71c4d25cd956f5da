"""Robots.txt between the wire and the store: concludes fetches, records entries before use, keeps parsed rules at hand.

What an answer means is decided in core/robotsanswer; here it is numbered, dated, written and put into the book. Rules
whose bytes are no longer in the store, or are not those that were parsed, are not in force: their origin is asked anew.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import replace

from seaspider.core.frontier import RobotsFetch
from seaspider.core.records import File
from seaspider.core.robotsanswer import RobotsAnswer, RobotsContext, conclude, unreachable
from seaspider.core.robotsbook import RobotsBook
from seaspider.core.robotsentry import RobotsEntry
from seaspider.core.robotsfile import RobotsFile, parse
from seaspider.core.robotsstate import RobotsPolicy, RobotsReason
from seaspider.core.urls import Url
from seaspider.errors import StoreError
from seaspider.store import Store

logger = logging.getLogger(__name__)

RULES_KEPT = 1000
"""Parsed robots.txt files held in memory; others are read again from the store."""


class RobotsDesk:
    def __init__(
        self,
        policy: RobotsPolicy,
        book: RobotsBook,
        store: Store,
        run: int,
        last_id: int,
        max_redirects: int,
    ) -> None:
        self._policy = policy
        self._book = book
        self._store = store
        self._run = run
        self._last_id = last_id
        self._max_redirects = max_redirects
        self._files: OrderedDict[tuple[str, bool], RobotsFile] = OrderedDict()
        book.read_bodies_by(self._readable)

    def rules(self, entry: RobotsEntry) -> RobotsFile:
        """The parsed file of an entry in state `parsed`.

        An entry in force has one. If one that a visit waited for has lost its own meanwhile, somebody is taking the
        store apart: StoreError, and the run ends.
        """
        file = self._file(entry)
        if file is None:
            self._store.failed = StoreError(f"the robots.txt of {entry.origin}, bodies/{entry.sha256}, is gone")
            raise self._store.failed
        return file

    def _readable(self, entry: RobotsEntry) -> bool:
        if self._file(entry) is not None:
            return True
        logger.warning("The rules of %s are lost: bodies/%s is missing or changed", entry.origin, entry.sha256)
        return False

    def _file(self, entry: RobotsEntry) -> RobotsFile | None:
        if entry.sha256 is None:
            raise ValueError(f"robots entry {entry.id} of {entry.origin} has no rules: {entry.state}")
        key = (entry.sha256, entry.truncated)
        if key not in self._files:
            body = self._read(entry.sha256)
            if body is None:
                return None
            self._keep(key, body)
        self._files.move_to_end(key)
        return self._files[key]

    def _read(self, sha256: str) -> bytes | None:
        try:
            return self._store.body(sha256)
        except StoreError as error:
            logger.warning("%s", error)
            return None

    def conditional_headers(self, fetch: RobotsFetch, url: Url) -> tuple[tuple[str, str], ...]:
        """The validators that a request of the fetch carries."""
        return self._book.conditional_headers(fetch.origin, url.text)

    def answered(self, fetch: RobotsFetch, answer: RobotsAnswer, now_ms: int) -> Url | RobotsEntry:
        """The next URL of the fetch, or the origin's entry, which is not in force before `record`. `now_ms`: when the
        answer was in, wall clock."""
        outcome = conclude(fetch.origin, fetch.cause, fetch.chain, answer, self._context(now_ms))
        if isinstance(outcome, RobotsEntry) and outcome.sha256 is not None and outcome.status != 304:
            self._store.put_body(answer.body)
            self._keep((outcome.sha256, outcome.truncated), answer.body)
        return outcome

    def failed(self, fetch: RobotsFetch, reason: RobotsReason, now_ms: int) -> RobotsEntry:
        """The entry of an origin that could not be asked, or gave no usable answer. `now_ms`: when that was clear."""
        return unreachable(fetch.origin, fetch.cause, fetch.chain, reason, self._context(now_ms))

    def record(self, entry: RobotsEntry) -> RobotsEntry:
        """Writes the entry under the next number, then puts it in force, and returns it as it is."""
        if entry.id != self._last_id + 1:
            entry = replace(entry, id=self._last_id + 1)
        self._store.write(File.ROBOTS, entry.to_row())
        self._last_id = entry.id
        return self._book.put(entry)

    def _context(self, now_ms: int) -> RobotsContext:
        return RobotsContext(self._policy, self._book, self._max_redirects, self._run, self._last_id + 1, now_ms)

    def _keep(self, key: tuple[str, bool], body: bytes) -> None:
        self._files[key] = self._files.get(key) or parse(body, cut=key[1])
        if len(self._files) > RULES_KEPT:
            self._files.popitem(last=False)
