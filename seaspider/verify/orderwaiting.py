"""What waits for a turn in one run, and which of it is next; also where a run leaves open what waited.

Knows of each task no more than its origin, a digest of its URL and what its record has to say of where it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seaspider.core.links import FollowMode
from seaspider.journal import Row
from seaspider.verify.evidence import Request, RunInfo
from seaspider.verify.orderendings import Open, last_judged_ms
from seaspider.verify.orderfacts import Places, count
from seaspider.verify.orderfetches import ROBOTS_LANE, Fetches
from seaspider.verify.orderpast import Past
from seaspider.verify.orderrequests import Files
from seaspider.verify.ordertasks import NO_LINE, UNKNOWN, Begun, Tasks
from seaspider.verify.proof import Refuted


@dataclass(frozen=True, slots=True)
class _Unknown:
    """URLs of which nothing is known but how many they are (hostqueue.Source). None of them has a turn."""

    many: int
    first: int = 0
    last: int = 0

    def __len__(self) -> int:
        return self.many

    def take(self) -> int:
        raise AssertionError("its origin is held")

    def __iter__(self) -> Iterator[int]:
        return iter(())


class Waiting(Fetches):
    def __init__(self, run: RunInfo, past: Past, places: Places, files: Files, begun: Begun) -> None:
        super().__init__(run, past, places, files, begun)
        self.tasks = Tasks()
        self.known: set[int] = set()
        """Digests of the URLs queued and followed, where links are."""
        self._links_matter = self._policy.follow is not FollowMode.OFF or len(past.followed) > 0
        self._open: dict[int, Open] = {}
        """Visits under way, by task."""
        self._doubtful: set[str] = set()

    def add(self, origin: int, url: int, line: int = NO_LINE, depth: int = 0, via: int = UNKNOWN) -> None:
        """A URL of the queue, or a followed one."""
        task = self.tasks.add(origin, url, line, depth, via)
        if self._links_matter:
            self.known.add(url)
        self._order.push(self._places.hosts[origin], self._places.origins[origin], 2 * task)

    def add_unknown(self, origin: int) -> None:
        """A URL of the origin of which nothing is known; if there was one, it asked for no more than robots.txt."""
        self._order.push(self._places.hosts[origin], self._places.origins[origin], -1 - origin)

    def fill_up(self, run: RunInfo) -> None:
        """Where the order depends on how many tasks wait, those that never had a turn count, too."""
        if not self._policy.order.counts_tasks:
            return
        waiting, known = Row(run.start.place, run.start.get("waiting", dict)), dict(self._order.waiting())
        for host in sorted({*waiting.record, *known}):
            said = count(waiting, host) if host in waiting.record else 0
            more = said - known.get(host, 0)
            if more and self._whole:
                raise Refuted(run.start.place, f"{said} URLs waited at {host}, but {known.get(host, 0)} came")
            if more > 0:
                self._order.push_all(host, f"?{host}", _Unknown(more))
                self._order.hold(host, f"?{host}")

    def doubt(self, host: str) -> None:
        """The host may have had a URL waiting that never had its turn. If so, its turn was taken by a task that came
        from another host in the meantime; if not, that task waited as one of a host that comes later."""
        if self._policy.order.counts_tasks:
            return  # fill_up() knows of it
        self._doubtful.add(host)
        self.add_unknown(self._places.named(host, f"?{host}"))

    def _next_task(self) -> int | None:
        task = self._order.next()
        place = None if task is None or task < 0 else self._came_too_early(task)
        if task is None or place is None:
            return task
        host, lane = place
        self._doubtful.discard(host)
        self._order.put_back(host, lane, task)
        self._order.hold(host, lane)
        following = self._order.next()
        while following is not None and following < 0 and self._places.hosts[-1 - following] == host:
            following = self._order.next()
        self._order.release(host, lane)
        return following

    def _came_too_early(self, task: int) -> tuple[str, str] | None:
        """Host and lane of a task that cannot have had this turn, so that nothing waited at its host before it."""
        visit = self._open.get(task // 2)
        if not self._doubtful or visit is None:
            return None
        request = self._next_request()
        if request is not None and request.visit == visit.number:
            return None
        if task % 2 and visit.fetch is not None:
            place = self._places.hosts[self._places.of("", visit.fetch.chain[-1])], ROBOTS_LANE
            over = not visit.fetch.queued or self._ends_unasked(visit.fetch, request)
        else:
            place = self._places.hosts[visit.origin], self._places.origins[visit.origin]
            over = self._stops_now(visit, request)
        return None if over or place[0] not in self._doubtful else place

    def _stops_now(self, visit: Open, request: Request | None) -> bool:
        """Whether the visit was judged for the last time before the next request was."""
        page = self._next_page()
        if page is None or page.get("visit", int) != visit.number:
            return False
        return request is None or last_judged_ms(page) <= request.judged_ms

    def _name(self, task: int) -> str:
        line, origin = self.tasks.lines[task], self._places.origins[self.tasks.origins[task]]
        return f"queue line {line} at {origin}" if line != NO_LINE else f"a followed link at {origin}"
