"""What the tests of the orders share: scripts of turns, and orders that are slow and obvious."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from seaspider.core import governor
from seaspider.core.hostqueue import HostOrder

Order = TypeVar("Order", bound=HostOrder[str])

S = 1_000_000_000

# No examples on disk, no random seed: the same examples every time.
QUICK = settings(database=None, derandomize=True, deadline=None, max_examples=100)
THOROUGH = settings(QUICK, max_examples=250)


def filled(order: Order, *tasks: str) -> Order:
    """Tasks are named `host/anything` or `host:port/anything`."""
    for task in tasks:
        push(order, task)
    return order


def host_of(task: str) -> str:
    return origin_of(task).partition(":")[0]


def origin_of(task: str) -> str:
    return task.partition("/")[0]


def push(order: HostOrder[str], task: str, *, goes_on: bool = False) -> None:
    order.push(host_of(task), origin_of(task), task, goes_on=goes_on)


def ask(order: HostOrder[str], *, pause_s: float = 2, ip: str | None = None, ip_pause_s: float = 0) -> str | None:
    """The next task, as a request that is over at once; each host has an address of its own unless `ip` is given."""
    task = order.next()
    if task is not None:
        order.took_turn()
        order.settled(host_of(task), ip or host_of(task), round(pause_s * S), round(ip_pause_s * S))
    return task


def turns(order: HostOrder[str], pauses_s: dict[str, float] | None = None, limit: int = 100) -> list[tuple[str, float]]:
    """(task, logical second) of every turn until nothing is left."""
    found: list[tuple[str, float]] = []
    while len(found) < limit and (task := order.next()) is not None:
        found.append((task, order.clock_ns / S))
        order.took_turn()
        pause_s = (pauses_s or {}).get(host_of(task), 2)
        order.settled(host_of(task), host_of(task), round(pause_s * S), 0)
    return found


# Slow and obvious


@dataclass
class Slow:
    """What the orders have in common (design section 2, "Turns and order"); looks at every host and task each time."""

    clock_ns: int = 0
    tasks: list[tuple[int, int, str, str, Any]] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    due_ns: dict[str, int] = field(default_factory=dict)
    address: dict[str, str] = field(default_factory=dict)
    turn_of: str | None = None
    numbers: Iterator[int] = field(default_factory=count)
    popped: int = 0
    turns: int = 0
    waits_since: dict[str, int] = field(default_factory=dict)
    """The number of turns when a host that waits had its own, or got work."""

    @property
    def pending(self) -> int:
        return len(self.tasks)

    def push(self, host: str, origin: str, task: Any, *, goes_on: bool = False) -> None:
        self.tasks.append((0 if goes_on else 1, next(self.numbers), host, origin, task))
        self.waits(host)

    def put_back(self, host: str, origin: str, task: Any) -> None:
        self.tasks.append((0, self.popped, host, origin, task))

    def hold(self, host: str, origin: str) -> None:
        self.held.add(origin)

    def release(self, host: str, origin: str) -> None:
        self.held.discard(origin)
        self.waits(host)

    def runnable(self, host: str) -> list[tuple[int, int, str, str, Any]]:
        return sorted(task for task in self.tasks if task[2] == host and task[3] not in self.held)

    def waits(self, host: str) -> None:
        if self.runnable(host):
            self.waits_since.setdefault(host, self.turns)

    def due(self, host: str) -> int:
        address = self.address.get(host, "")
        return max(self.due_ns.get(host, 0), self.due_ns.get("ip:" + address, 0))

    def hosts(self) -> list[str]:
        """Those with work, sorted. If none is due, the clock moves on to the earliest."""
        hosts = sorted({task[2] for task in self.tasks if task[3] not in self.held})
        if hosts:
            self.clock_ns = max(self.clock_ns, min(self.due(host) for host in hosts))
        return hosts

    def next(self) -> Any:
        while True:
            if self.turn_of is None:
                self.turn_of = self.next_host()
            if self.turn_of is None:
                return None
            if tasks := self.runnable(self.turn_of):
                self.tasks.remove(tasks[0])
                self.popped = tasks[0][1]
                return tasks[0][4]
            self.waits_since.pop(self.turn_of, None)
            self.turn_of = None

    def next_host(self) -> str | None:
        raise NotImplementedError

    def took_turn(self) -> None:
        host, self.turn_of = self.turn_of, None
        self.turns += 1
        if host is not None:
            self.waits_since.pop(host, None)
            self.waits(host)
            self.asked(host)

    def asked(self, host: str) -> None:
        pass

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        self.address[host] = address
        for key, pause_ns in ((host, host_pause_ns), ("ip:" + address, address_pause_ns)):
            self.due_ns[key] = max(self.due_ns.get(key, 0), self.clock_ns + pause_ns)


@dataclass
class SlowRounds(Slow):
    round: dict[str, str] = field(default_factory=dict)
    """The hosts that may still have their turn, with their addresses (or names) when it began."""
    passes_over: bool = True
    turns_about: bool = True
    """Of the hosts of one address, the one that waits longest has the turn; else the first by name."""

    def next_host(self) -> str | None:
        while True:
            while self.round:
                host = self.first_of_round()
                del self.round[host]
                if self.due(host) <= self.clock_ns or not self.passes_over:
                    return host
            hosts = self.hosts()
            if not hosts:
                return None
            due = [host for host in hosts if self.due(host) <= self.clock_ns or not self.passes_over]
            self.round = {host: self.address.get(host, host) for host in due}

    def first_of_round(self) -> str:
        first: dict[str, str] = {}
        for host in sorted(self.round, key=lambda host: (self.waits_since[host] if self.turns_about else 0, host)):
            first.setdefault(self.round[host], host)
        return min(first.values())


@dataclass
class SlowIdle(Slow):
    """By the governor's rule over the list of hosts. Its time is a thousand times as fine as the logical clock, so that
    hosts asked again and again while that stands still can be told apart."""

    now: int = 0
    last: dict[str, int] = field(default_factory=dict)

    def asked(self, host: str) -> None:
        self.now = max(self.now, 1000 * self.clock_ns)
        self.now += self.last.get(host) == self.now
        self.last[host] = self.now

    def next_host(self) -> str | None:
        hosts = self.hosts()
        states = [governor.HostState(self.last.get(host), backoff_until_ns=1000 * self.due(host)) for host in hosts]
        index = governor.longest_idle(states, 0, 1000 * self.clock_ns + 999)
        return None if index is None else hosts[index]


@dataclass
class SlowRemaining(Slow):
    """The most remaining first, by looking at every task of every host."""

    answer_ns: int = 1
    first_pause_ns: int = 2
    pauses_ns: dict[str, int] = field(default_factory=dict)
    been_asked: set[str] = field(default_factory=set)

    def asked(self, host: str) -> None:
        self.been_asked.add(host)
        self.clock_ns += self.answer_ns

    def settled(self, host: str, address: str, host_pause_ns: int, address_pause_ns: int) -> None:
        super().settled(host, address, host_pause_ns, address_pause_ns)
        self.pauses_ns |= {host: host_pause_ns, "ip:" + address: address_pause_ns}

    def left(self, host: str) -> tuple[bool, int, int, str]:
        """Sorts the host with the most left first."""
        address = self.address.get(host)
        own = sum(task[2] == host for task in self.tasks) - 1
        own *= self.pauses_ns.get(host, self.first_pause_ns)
        shared = own
        if address is not None:
            shared = sum(self.address.get(task[2]) == address for task in self.tasks) - 1
            shared *= self.pauses_ns["ip:" + address]
        return host in self.been_asked, -max(own, shared), -own, host

    def next_host(self) -> str | None:
        due = [host for host in self.hosts() if self.due(host) <= self.clock_ns]
        return min(due, key=self.left, default=None)


# Scripts


@dataclass(frozen=True)
class Step:
    """What becomes of one task that `next()` gave, and what else happens meanwhile."""

    stops: bool = False
    robots: bool = False
    """Its origin is held, and released `release_after` turns later."""
    release_after: int = 0
    host_pause: int = 2
    address_pause: int = 2
    moves_to: int | None = None
    new: Sequence[tuple[int, int, bool]] = ()
    """(host, port, goes_on) pushed then."""
    foreign: int | None = None
    """A host that gets a request which is no turn."""


@dataclass(frozen=True)
class Given:
    task: int
    host: str
    address: str
    clock_ns: int
    asked: bool
    pauses: tuple[int, int]


def play(
    order: Any, hosts: int, addresses: int, known: bool, first: Sequence[tuple[int, int, bool]], steps: Sequence[Step]
) -> Any:
    """Plays a script: (what was given, how many were pushed, pending after each turn). All origins are released in the
    end, so that everything comes out. `known`: which hosts share an address is known from the start."""
    numbers, pending = count(), []
    trace: list[tuple[Given, bool]] = []
    address = {f"h{host}": f"ip{host % addresses}" for host in range(hosts)}
    held: list[tuple[int, str, str]] = []
    where: dict[int, tuple[str, str]] = {}

    def put(number: int, port: int, goes_on: bool) -> None:
        host = f"h{number % hosts}"
        task = next(numbers)
        where[task] = (host, f"{host}:{port}")
        order.push(*where[task], task, goes_on=goes_on)

    for host, ip in address.items() if known else ():
        order.settled(host, ip, 0, 0)
    for new in first:
        put(*new)
    script = iter(steps)
    for turn in range(2_000):
        for item in [item for item in held if item[0] <= turn]:
            held.remove(item)
            order.release(*item[1:])
        task = order.next()
        pending.append(order.pending)
        if task is None and not held:
            return trace, next(numbers), pending
        step = next(script, Step())
        if task is not None:
            host, origin = where[task]
            pauses = (step.host_pause, step.address_pause)
            if step.robots:
                order.put_back(host, origin, task)
                order.hold(host, origin)
                held.append((turn + 1 + step.release_after, host, origin))
            if not step.stops:
                if step.moves_to is not None:
                    address[host] = f"ip{step.moves_to % addresses}"
                order.took_turn()
                order.settled(host, address[host], *pauses)
            given = Given(task, host, address[host], order.clock_ns, not step.stops, pauses)
            trace.append((given, step.robots))
        for new in step.new:
            put(*new)
        if step.foreign is not None:
            host = f"h{step.foreign % hosts}"
            order.settled(host, address[host], step.host_pause, step.address_pause)
    raise AssertionError("it never ends")


@dataclass
class Made:
    """A source of tasks, with gaps between their arrival numbers."""

    tasks: list[tuple[int, int]] = field(default_factory=list)
    """Arrival number and task."""

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def first(self) -> int:
        return self.tasks[0][0]

    @property
    def last(self) -> int:
        return self.tasks[-1][0]

    def take(self) -> int:
        return self.tasks.pop(0)[1]

    def __iter__(self) -> Iterator[int]:
        return (task for _, task in self.tasks)


class FromSources:
    """An order whose new tasks come from sources as long as no other task and no turn came."""

    def __init__(self, order: HostOrder[int]) -> None:
        self._order = order
        self._sources: dict[tuple[str, str], Made] | None = {}

    def push(self, host: str, origin: str, task: int, *, goes_on: bool) -> None:
        if goes_on or self._sources is None:
            self._begin().push(host, origin, task, goes_on=goes_on)
        else:
            self._sources.setdefault((host, origin), Made()).tasks.append((3 * task + 1, task))

    def _begin(self) -> HostOrder[int]:
        for place, source in (self._sources or {}).items():
            self._order.push_all(*place, source)
        self._sources = None
        return self._order

    def __getattr__(self, name: str) -> Any:
        return getattr(self._order if name == "settled" else self._begin(), name)


def new_first(script: Any) -> Any:
    """The script with the new ones of its first tasks before those that go on."""
    hosts, addresses, known, first, steps = script
    return hosts, addresses, known, sorted(first, key=lambda new: new[2]), steps


PUSHES = st.lists(st.tuples(st.integers(0, 6), st.integers(80, 82), st.booleans()), max_size=12)
PAUSES = st.sampled_from([0, 1, 2, 2, 2, 3, 10])


def scripts(foreign: bool) -> st.SearchStrategy[Any]:
    step = st.builds(
        Step,
        stops=st.booleans(),
        robots=st.booleans(),
        release_after=st.integers(0, 5),
        host_pause=PAUSES,
        address_pause=PAUSES,
        moves_to=st.none() if foreign else st.one_of(st.none(), st.integers(0, 3)),
        new=PUSHES.map(lambda new: new[:3]),
        foreign=st.one_of(st.none(), st.integers(0, 6)) if foreign else st.none(),
    )
    addresses = st.sampled_from([1, 1, 2, 2, 3, 7])
    return st.tuples(st.integers(1, 7), addresses, st.booleans(), PUSHES, st.lists(step, max_size=25))


ANY_SCRIPT = st.booleans().flatmap(scripts)


def too_near(order: Any, script: Any) -> list[tuple[Given, Given]]:
    """Pairs of requests to one host, or to hosts known to share an address, nearer than the pause after the first."""
    trace, _, _ = play(order, *script)
    asked = [given for given, _ in trace if given.asked]
    found = []
    for at, later in enumerate(asked):
        # What is known of the address at the time of the later turn: where the host's request before it went.
        known = next((earlier.address for earlier in reversed(asked[:at]) if earlier.host == later.host), None)
        for earlier in asked[:at]:
            gap = later.clock_ns - earlier.clock_ns
            if (earlier.host == later.host and gap < earlier.pauses[0]) or (
                earlier.address == known and gap < earlier.pauses[1]
            ):
                found.append((earlier, later))
    return found


class Name(str):
    """A host name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __lt__(self, other: str) -> bool:
        Name.compared += 1
        return str.__lt__(self, other)

    __hash__ = str.__hash__


def work_per_turn(order: HostOrder[int], hosts: int, address: Callable[[int], str], counted: int = 100) -> float:
    """Calls and comparisons a turn costs, over turns of a steady state; pushes and the first rounds left aside."""
    names = [Name(f"h{number:06}") for number in range(hosts)]
    for number, name in enumerate(names):
        order.settled(name, address(number), 0, 0)
        for _ in range(2):
            order.push(name, "o", number)
    calls = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def turn() -> None:
        number = order.next()
        assert number is not None
        order.took_turn()
        order.settled(names[number], address(number), 2 * S, 2 * S)

    turn()
    Name.compared = 0
    sys.setprofile(profile)
    try:
        for _ in range(counted):
            turn()
    finally:
        sys.setprofile(None)
    return (calls + Name.compared) / counted
