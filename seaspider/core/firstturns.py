"""The requests of a planned crawl that may be among its first turns, few as they are. Decides no order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from seaspider.core.hostqueue import HostOrder
from seaspider.core.urls import Url


class Kind(StrEnum):
    """What a request asks for, as in requests.jsonl."""

    ROBOTS = "robots"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request that would be made. `url`: of a robots.txt the first page that needs it."""

    kind: Kind
    url: Url
    host_pause_ns: int
    """How long its host rests afterwards, its address not considered."""
    address_pause_ns: int

    @property
    def target(self) -> str:
        return self.url.text if self.kind is Kind.PAGE else f"{self.url.origin}/robots.txt"


class Stop(Enum):
    """What is left of a host, and is not asked for."""

    STOP = "stop"


@dataclass(slots=True)
class Planned:
    """One URL of a host. `after`: how many of its URLs come before it; `robots`: what is asked for its sake first."""

    after: int
    robots: Ask | None
    page: Ask | Stop


@dataclass(slots=True)
class _Host:
    urls: int = 0
    asks: int = 0
    """Kept ones."""
    kept: list[Planned] = field(default_factory=list)


class _Urls:
    """The URLs of one host (hostqueue.Source); those that were not kept stop."""

    first = last = 1

    def __init__(self, host: _Host) -> None:
        self._taken = 0
        self._urls = host.urls
        self._kept = {url.after: url for url in host.kept}

    def __len__(self) -> int:
        return self._urls - self._taken

    def take(self) -> Planned | Stop:
        self._taken += 1
        return self._kept.get(self._taken - 1, Stop.STOP)

    def __iter__(self) -> Iterator[Planned | Stop]:
        return (self._kept.get(after, Stop.STOP) for after in range(self._taken, self._urls))


class FirstTurns:
    """Every host has its first turn before any has its second. So of n turns all fall to the first n hosts.

    Those are the first by name, or, if the order `counts_tasks`, nobody knows which before the last URL: then the first
    request of each host is kept, and the others as long as there are few hosts.
    """

    def __init__(self, turns: int, *, counts_tasks: bool = False) -> None:
        self.turns = turns
        self._counts_tasks = counts_tasks
        self._hosts: dict[str, _Host] = {}
        self._asked = 0
        """Hosts that are asked for anything."""
        self._beyond: str | None = None
        """This host, and all behind it, have no turn among the first."""

    def url(self, name: str) -> None:
        """One more URL of a host; then come its requests."""
        host = self._hosts.setdefault(name, _Host()) if self._counts_tasks else self._hosts.get(name)
        if host is not None:
            host.urls += 1

    def keep(self, ask: Ask) -> None:
        """A request of the latest URL."""
        name = ask.url.host
        if not self.turns or (self._beyond is not None and name >= self._beyond):
            return
        host = self._hosts.setdefault(name, _Host(urls=1))
        if not host.asks:
            self._asked += 1
            self._make_room()
        if host.asks >= (1 if self._counts_tasks and self._asked > self.turns else self.turns):
            return
        host.asks += 1
        if ask.kind is Kind.ROBOTS:
            host.kept.append(Planned(host.urls - 1, ask, Stop.STOP))
        elif host.kept and host.kept[-1].after == host.urls - 1:
            host.kept[-1].page = ask
        else:
            host.kept.append(Planned(host.urls - 1, None, ask))

    def of(self, order: HostOrder[Planned | Ask | Stop]) -> Iterator[Ask]:
        """What was kept, as an empty order gives it out; each is a turn, to be settled before the next is taken."""
        for host in sorted(self._hosts):
            order.push_all(host, host, _Urls(self._hosts[host]))
        given = 0
        while given < self.turns and (task := order.next()) is not None:
            if isinstance(task, Planned) and task.robots is not None:
                # The URL waits on while its robots.txt is asked.
                order.put_back(task.robots.url.host, task.robots.url.host, task.page)
                task = task.robots
            elif isinstance(task, Planned):
                task = task.page
            if isinstance(task, Ask):
                given += 1
                yield task

    def _make_room(self) -> None:
        if self._counts_tasks:
            if self._asked == self.turns + 1:
                for host in self._hosts.values():
                    del host.kept[1:]
        elif len(self._hosts) > 2 * self.turns:
            names = sorted(self._hosts)
            self._beyond = names[self.turns]
            self._hosts = {name: self._hosts[name] for name in names[: self.turns]}
