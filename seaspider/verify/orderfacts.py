"""What the check of P5 reads a store by: one run's lines of each file in turn, its settings, and short names for URLs.

Judges nothing but that the lines of a run stand together. URLs are kept as 64-bit digests, hosts and origins once each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar

from seaspider.core.governor import BackoffPolicy
from seaspider.core.hostqueue import HostOrder
from seaspider.core.links import FollowMode
from seaspider.core.orders import OrderName, new_order
from seaspider.core.times import MS_PER_S, ns_from_s
from seaspider.core.urls import Url, UrlError, normalise
from seaspider.journal import Row
from seaspider.verify.evidence import Request, RunInfo, Stray
from seaspider.verify.proof import Refuted

_MOST = 2**53


def fingerprint(url: str) -> int:
    """64 bits that stand for a URL."""
    return int.from_bytes(blake2b(url.encode(errors="surrogatepass"), digest_size=8).digest())


def count(row: Row, key: str) -> int:
    """A number that counts something. Raises Refuted for one that nothing in a store can have."""
    value = row.get(key, int)
    if not 0 <= value <= _MOST:
        raise Refuted(row.place, f"{key!r} is {value}")
    return value


def parsed(place: str, url: str) -> Url:
    """A URL of the store. Raises Refuted at the place for what is none."""
    try:
        return normalise(url)
    except UrlError as error:
        raise Refuted(place, str(error)) from error


class Places:
    """Hosts and origins, each text once, an origin by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.hosts: list[str] = []
        self.origins: list[str] = []

    def of(self, place: str, url: str) -> int:
        """The number of a URL's origin. Raises Refuted at the place for what is no URL."""
        number = self._numbers.get(url[: url.find("/", 8)])
        return number if number is not None else self._new(place, url)

    def _new(self, place: str, url: str) -> int:
        found = parsed(place, url)
        return self.named(found.host, found.origin)

    def named(self, host: str, origin: str) -> int:
        """The number of an origin."""
        number = self._numbers.setdefault(origin, len(self.hosts))
        if number == len(self.hosts):
            self.hosts.append(host)
            self.origins.append(origin)
        return number


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a run that its order and its records follow from."""

    order: OrderName
    answer_ns: int
    interval_ns: int
    ip_interval_ns: int
    backoff: BackoffPolicy
    crawl_delay_cap_s: float
    max_attempts: int
    max_redirects: int
    robots_max_redirects: int
    give_up: int
    stop_on_403: bool
    block_ms: int
    host_budget: int
    follow: FollowMode
    max_depth: int
    max_pages: int

    @classmethod
    def of(cls, run: RunInfo) -> Policy:
        """Raises StoreError if a setting is missing or of another kind."""
        read = Row(run.start.place, dict(run.settings)).get
        try:
            order = OrderName(read("order", str))
            return cls(
                order=order,
                answer_ns=ns_from_s(_number(run, "expected_answer_s")) if order.counts_tasks else 0,
                interval_ns=ns_from_s(_number(run, "interval_s")),
                ip_interval_ns=ns_from_s(_number(run, "ip_interval_s")),
                backoff=BackoffPolicy(
                    ns_from_s(_number(run, "backoff_base_s")), ns_from_s(_number(run, "backoff_cap_s"))
                ),
                crawl_delay_cap_s=_number(run, "crawl_delay_cap_s"),
                max_attempts=read("max_attempts", int),
                max_redirects=read("max_redirects", int),
                robots_max_redirects=read("robots_max_redirects", int),
                give_up=read("give_up", int),
                stop_on_403=read("stop_on_403", bool),
                block_ms=int(_number(run, "block_s") * MS_PER_S),
                host_budget=read("host_budget", int),
                follow=FollowMode(read("follow", str)),
                max_depth=read("max_depth", int),
                max_pages=read("max_pages", int),
            )
        except (KeyError, ValueError) as error:
            raise run.start.error(f"no setting of a crawl: {error}") from error

    def new_order(self) -> HostOrder[int]:
        """The order of hosts, empty."""
        return new_order(self.order, self.answer_ns, self.interval_ns)


def _number(run: RunInfo, name: str) -> float:
    value: Any = run.settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise run.start.error(f"setting {name!r} is {value!r}, not a number")
    return value


class _Placed(Protocol):
    @property
    def place(self) -> str: ...


T = TypeVar("T", bound=_Placed)


class Lines(Generic[T]):
    """The lines of one file, run by run, each to be looked at before it is taken."""

    def __init__(self, lines: Iterator[tuple[int, T]]) -> None:
        self._lines = lines
        self._ahead: deque[tuple[int, T]] = deque()

    def peek(self, run: int, ahead: int = 0) -> T | None:
        """The next line of the run, or one that comes `ahead` lines later; None if there is none."""
        while len(self._ahead) <= ahead:
            line = next(self._lines, None)
            if line is None:
                return None
            self._ahead.append(line)
        number, row = self._ahead[ahead]
        if number < run:
            raise Refuted(row.place, f"a line of run {number} among those of run {run}")
        return row if number == run else None

    def take(self) -> T:
        """The line that peek() showed."""
        return self._ahead.popleft()[1]

    def skip_to(self, run: int) -> None:
        """Passes over the lines of earlier runs."""
        while not self._ahead or self._ahead[0][0] < run:
            self._ahead.clear()
            line = next(self._lines, None)
            if line is None:
                return
            self._ahead.append(line)

    def rest(self, run: int) -> Iterator[T]:
        """Takes what is left of the run."""
        while self.peek(run) is not None:
            yield self.take()

    def after_all(self) -> T | None:
        """A line of a run that there is not."""
        return next(self._lines, (0, None))[1] if not self._ahead else self._ahead[0][1]


def lines_of(rows: Iterator[Row]) -> Lines[Row]:
    """Lines that say themselves of which run they are."""
    return Lines((row.get("run", int), row) for row in rows)


class Requests:
    """The requests of a run, those of its visits apart from those that other parts of the crawl made in between."""

    def __init__(self, requests: Iterator[Request | Stray]) -> None:
        self._lines = Lines((request.run, _paired(request)) for request in requests)

    def own(self, run: int) -> Request | None:
        """The next request of a visit."""
        ahead = 0
        while (request := self._lines.peek(run, ahead)) is not None and request.visit is None:
            ahead += 1
        return request

    def other(self, run: int) -> Request | None:
        """The next request, if it is of no visit."""
        request = self._lines.peek(run)
        return request if request is not None and request.visit is None else None

    def take(self) -> Request:
        return self._lines.take()

    def any(self, run: int) -> Request | None:
        return self._lines.peek(run)

    def after_all(self) -> Request | None:
        return self._lines.after_all()


def _paired(request: Request | Stray) -> Request:
    if isinstance(request, Stray):
        raise Refuted(
            request.place, f"request {request.n} of run {request.run} is settled here, but not claimed before"
        )
    return request
