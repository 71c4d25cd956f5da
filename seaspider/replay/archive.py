"""What a store knows of the web, by URL and host instead of by turn: for a crawl of another queue than it had.

Holds an entry for each request in memory; bodies stay on the disk. Never says that something is not there: what was
not recorded is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seaspider.core.records import File, Reason
from seaspider.errors import StoreError
from seaspider.replay.found import Found, Kept, of_page, of_robots
from seaspider.replay.reel import whole
from seaspider.verify.evidence import Evidence, Settle

_Key = tuple[str, int, int, str]
"""`page`, run, visit, URL; or `robots`, run, when the answer was in, URL."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer, or failure. `took_ns`: from the claim to the end."""

    settle: Settle
    took_ns: int
    kept: Kept


class Archive:
    """`urls`: those that have a page record. Raises StoreError."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.urls: set[str] = set()
        self._addresses: dict[str, tuple[str, ...] | Reason] = {}
        self._answers: dict[tuple[str, str], list[Recorded]] = {}
        self._next: dict[tuple[str, str], int] = {}
        kept_of = dict(self._kept())
        for request in whole(evidence.requests()):
            if request.settle is None or request.came_to_nothing:
                continue
            self._addresses[request.host] = request.addresses
            ended = request.settle.ended_ms if request.kind == "robots" else request.visit or 0
            kept = kept_of.get((request.kind, request.run, ended, request.url), Kept())
            took_ns = request.settle.ended_ns - request.claimed_ns
            self._answers.setdefault((request.kind, request.url), []).append(Recorded(request.settle, took_ns, kept))

    def addresses(self, host: str) -> tuple[str, ...] | Reason | None:
        """The addresses of a name; DNS: it had none; BACKOFF: nobody could say; None: not recorded."""
        return self._addresses.get(host)

    def answer(self, kind: str, url: str) -> Recorded | None:
        """The answers to a URL in the order they came, the last one again and again; None: not recorded."""
        answers = self._answers.get((kind, url))
        if answers is None:
            return None
        place = self._next.get((kind, url), 0)
        self._next[kind, url] = min(place + 1, len(answers) - 1)
        return answers[place]

    def body(self, sha256: str) -> bytes:
        """Raises StoreError if it is missing or changed."""
        body = self.evidence.true_body(sha256)
        if body is None:
            raise StoreError(f"{self.evidence.folder}: bodies/{sha256[:2]}/{sha256} is missing or changed")
        return body

    def _kept(self) -> Iterator[tuple[_Key, Kept]]:
        """What is kept of the end of each visit and fetch; on the way, what is known of URLs and names."""
        for row in self.evidence.rows(File.PAGES):
            self.urls.add(row.get("url", str))
            found = of_page(row)
            self._learn_name(found)
            yield ("page", row.get("run", int), row.get("visit", int), found.url), found.kept
        for row in self.evidence.rows(File.ROBOTS):
            found = of_robots(row)
            self._learn_name(found)
            yield ("robots", row.get("run", int), found.when_ms, found.url), found.kept

    def _learn_name(self, found: Found) -> None:
        if found.no_address is Reason.SPECIAL_ADDRESS and found.ip is not None:
            self._addresses.setdefault(found.host, (found.ip,))
        elif found.no_address in (Reason.DNS, Reason.BACKOFF):
            self._addresses.setdefault(found.host, found.no_address)
