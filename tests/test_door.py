"""One door, used directly: what it sends and what not, and what it writes and settles whatever happens."""

import asyncio
import gzip
import json
import os
import resource
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from scrapy import Request

from seaspider.clock import FakeClock, SystemClock
from seaspider.config import Config
from seaspider.core.politeness import Claimed, Settled, Token
from seaspider.core.records import Ending, File, Outcome, Reason
from seaspider.core.urls import normalise
from seaspider.core.visits import Hop
from seaspider.door import Door
from seaspider.errors import Shortage, StoreError
from seaspider.exchange import HttpExchange
from seaspider.ledger import LedgerStopped
from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.permits import Clearance
from seaspider.refusals import DoorRefusal, ExchangeFailed, Interrupted, VisitStopped
from seaspider.requestlog import RequestLog
from seaspider.resolver import SystemResolver
from seaspider.run import without_queue
from seaspider.store import NoStore
from tests.conftest import WebFactory
from tests.eventloop import run
from tests.projectsettings import project

S = 1_000_000_000
HOST, IP = "a.test", "127.0.6.1"
NAMES: dict[str, Any] = {HOST: IP, "b.test": IP, "special.test": "10.0.0.1", "none.test": []}
KEYS = {"host:a.test", "ip:127.0.6.1"}


class Notes(NoStore):
    """A store that keeps what is written in a list, and can be full."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self.events = events
        self.full = False

    def write(self, file: File, *records: Mapping[str, Any] | bytes) -> None:
        if self.full:
            raise StoreError("no space left")
        (line,) = records
        record = json.loads(line) if isinstance(line, bytes) else line
        self.events.append((str(record["event"]), dict(record)))


class NotedLedger:
    """Gives every claim at once, and notes claims and settles."""

    def __init__(self, events: list[Any], clock: SystemClock | FakeClock) -> None:
        self.events, self.clock = events, clock
        self.stale = 0
        """So many claims are over as soon as they are made."""
        self.stopped = False

    async def claim(self, pauses_ns: Mapping[str, int], hold_ns: int) -> Claimed:
        if self.stopped:
            raise LedgerStopped("stopped")
        self.events.append(("claimed", dict(pauses_ns)))
        now_ns = self.clock.boot_ns()
        self.stale -= 1
        return Claimed(Token("t"), now_ns, now_ns + (hold_ns if self.stale < 0 else -1))

    async def settle(self, token: Token, pauses_ns: Mapping[str, int]) -> Settled:
        self.events.append(("settled", dict(pauses_ns)))
        return Settled()

    async def close(self) -> None:
        pass


class Bench:
    """A door with all its parts, on a loopback web; `events` is what happened, in order."""

    def __init__(self, web: LoopbackWeb, clock: SystemClock | FakeClock | None = None, **switches: Any) -> None:
        settings = project(
            "loopback",
            SEASPIDER_RESOLVE=NAMES,
            **{"SEASPIDER_INTERVAL": 2, "DOWNLOAD_TIMEOUT": 5, "DOWNLOAD_MAXSIZE": 1000, **switches},
        )
        self.web = web
        self.config = Config.from_settings(settings)
        clock = clock or SystemClock()
        self.run = without_queue(settings, clock)
        self.events: list[Any] = []
        self.store = Notes(self.events)
        self.ledger = NotedLedger(self.events, clock)
        self.door = Door(
            self.config,
            clock,
            SystemResolver(self.config.resolve, self.config.dns_timeout_s),
            self.ledger,
            HttpExchange(self.config),
            self.run.frontier,
            self.run.permits,
            RequestLog(self.store, clock, 1, self.run.tally),
        )

    def allow(self, path: str = "/", host: str = HOST, **more: Any) -> Request:
        """A Request with a permit for its URL."""
        request = Request(self.web.url(host, path), **{"meta": {"verbatim_url": True}, **more})
        return self.permit(request, request.url)

    def permit(self, request: Request, url: str) -> Request:
        self.run.permits.issue(request, Clearance(Hop(normalise(url)), self.config.max_body_bytes))
        return request

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]

    def written(self, kind: str) -> dict[str, Any]:
        (record,) = [record for found, record in self.events if found == kind]
        return record


ALL = ["claimed", "claim", "settled", "settle"]

Bencher = Callable[..., Bench]


@pytest.fixture
def bench(web_factory: WebFactory) -> Bencher:
    def make(route: Any = Answer(body="a page\n"), clock: Any = None, **switches: Any) -> Bench:  # noqa: B008
        return Bench(web_factory({"/*": route}, addresses=[IP]), clock, **switches)

    return make


# --- what is sent ---


def test_an_answer_and_its_records(bench: Bencher) -> None:
    one = bench(Answer(203, (("X-Buoy", "1"), ("Content-Encoding", "gzip")), gzip.compress(b"a page\n")))
    response = run(one.door.send(one.allow("/p?q")))
    assert (response.status, response.body, str(response.ip_address)) == (203, b"a page\n", IP)
    assert (response.headers["X-Buoy"], "Content-Encoding" in response.headers) == (b"1", False)
    (arrival,) = one.web.arrivals
    assert (arrival.host, arrival.target) == (f"{HOST}:{one.web.port}", "/p?q")
    assert one.kinds() == ALL
    claim, settle = one.written("claim"), one.written("settle")
    assert {key: claim[key] for key in ("run", "n", "visit", "kind", "url", "host", "ip", "addresses")} == {
        "run": 1,
        "n": 1,
        "visit": None,
        "kind": "page",
        "url": f"http://{HOST}:{one.web.port}/p?q",
        "host": HOST,
        "ip": IP,
        "addresses": [IP],
    }
    assert (settle["n"], settle["status"], settle["error"]) == (1, 203, None)
    assert (settle["pause_s"], settle["pause_basis"]) == (2, "interval")
    # When the server had sent it all it notes in its own time.
    assert claim["claimed_ns"] <= settle["sent_ns"] <= arrival.arrived_ns <= settle["ended_ns"]


def test_the_claim_is_written_before_a_connection_is_made(bench: Bencher) -> None:
    one = bench()
    write, connections = one.store.write, []

    def noting(file: File, record: Mapping[str, Any]) -> None:
        connections.append(one.web.connections)
        write(file, record)

    one.store.write = noting  # type: ignore[method-assign]
    run(one.door.send(one.allow()))
    assert connections == [0, 1]


def test_host_and_address_are_claimed_and_settled_each_with_its_own_pause(bench: Bencher) -> None:
    one = bench(SEASPIDER_INTERVAL=3, SEASPIDER_IP_INTERVAL=0.5)
    run(one.door.send(one.allow()))
    assert one.written("claimed") == one.written("settled") == {"host:a.test": 3 * S, "ip:127.0.6.1": S // 2}


def test_headers_of_the_door_win(bench: Bencher) -> None:
    one = bench()
    mine = {
        "Host": "other.test",
        "Connection": "keep-alive",
        "Accept-Encoding": "rot13",
        "Content-Length": "5",
        "A": "b",
    }
    run(one.door.send(one.allow(headers=mine)))
    (arrival,) = one.web.arrivals
    assert [(name, value) for name, value in arrival.headers if name.lower() != "connection"] == [
        ("Host", f"{HOST}:{one.web.port}"),
        ("User-Agent", one.config.user_agent),
        ("A", "b"),
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ]


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "Proxy-Authorization", "Range", "Referer", "User-Agent"])
def test_no_secret_and_no_other_identity_is_sent(bench: Bencher, name: str) -> None:
    one = bench()
    with pytest.raises(DoorRefusal):
        run(one.door.send(one.allow(headers={name: "a=b"})))
    assert (one.web.connections, one.events) == (0, [])


def test_one_at_a_time_in_the_order_of_asking(bench: Bencher) -> None:
    one = bench(Answer(body="slow\n", delay_s=0.02))

    async def five() -> None:
        await asyncio.gather(*(one.door.send(one.allow(f"/{n}", host)) for n, host in enumerate((HOST, "b.test") * 2)))

    run(five())
    assert [(a.target, a.open_at_arrival) for a in one.web.arrivals] == [(f"/{n}", 0) for n in range(4)]
    assert one.kinds() == ALL * 4


# --- what is refused, with nothing sent ---


def _no_permit(one: Bench) -> Request:
    return Request(one.web.url(HOST))


def _of_another(one: Bench) -> Request:
    return one.permit(Request(one.web.url(HOST, "/forbidden")), one.web.url(HOST, "/allowed"))


def _copy(one: Bench) -> Request:
    return one.allow().copy()


def _replaced(one: Bench) -> Request:
    return one.allow().replace(url=one.web.url(HOST, "/forbidden"))


REFUSED: dict[str, tuple[Callable[[Bench], Request], str]] = {
    "no permit": (_no_permit, "no robots decision was made"),
    "a copy": (_copy, "no robots decision was made"),
    "a replaced one": (_replaced, "no robots decision was made"),
    "another URL": (_of_another, "allowed was"),
    "POST": (lambda one: one.allow(method="POST"), "only GET"),
    "a body": (lambda one: one.allow(body="x"), "only GET"),
    "proxy": (lambda one: one.allow(meta={"proxy": "http://127.0.0.1:1", "verbatim_url": True}), "second way out"),
    "bindaddress": (lambda one: one.allow(meta={"bindaddress": "127.0.0.9"}), "second way out"),
    "header lines": (lambda one: one.allow(headers={"A": "b\r\nHost: other.test"}), "header"),
}


@pytest.mark.parametrize(("make", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(bench: Bencher, make: Callable[[Bench], Request], why: str) -> None:
    one = bench()
    with pytest.raises(DoorRefusal, match=why):
        run(one.door.send(make(one)))
    assert (one.web.connections, one.events) == (0, [])


def test_a_permit_is_used_once(bench: Bencher) -> None:
    one = bench()
    request = one.allow()
    run(one.door.send(request))
    with pytest.raises(DoorRefusal, match="no robots decision"):
        run(one.door.send(request))
    assert one.web.connections == 1


@pytest.mark.parametrize(
    ("host", "ending"),
    [
        ("special.test", Ending(Outcome.REFUSED, Reason.SPECIAL_ADDRESS)),
        ("none.test", Ending(Outcome.FAILED, Reason.DNS)),
    ],
)
def test_no_usable_address_ends_the_host(bench: Bencher, host: str, ending: Ending) -> None:
    one = bench()
    with pytest.raises(VisitStopped) as stopped:
        run(one.door.send(one.allow("/", host)))
    assert stopped.value.ending == ending == one.run.frontier.obstacle(host, 0)
    assert (one.web.connections, one.events) == (0, [])


def test_what_waited_while_its_host_was_stopped_is_not_sent(bench: Bencher) -> None:
    one = bench(Answer(403, delay_s=0.02))

    async def two() -> Sequence[Any]:
        requests = [one.allow("/1"), one.allow("/2")]
        return await asyncio.gather(*map(one.door.send, requests), return_exceptions=True)

    first, second = run(two())
    assert (first.status, second.ending.outcome) == (403, Outcome.BLOCKED)
    assert [arrival.target for arrival in one.web.arrivals] == ["/1"]


def test_nothing_is_sent_when_the_claim_cannot_be_recorded_and_the_keys_are_given_back(bench: Bencher) -> None:
    one = bench()
    one.store.full = True
    with pytest.raises(StoreError):
        run(one.door.send(one.allow()))
    assert (one.web.connections, one.kinds()) == (0, ["claimed", "settled"])
    assert one.run.frontier.requests == {}


def test_a_claim_that_is_over_before_the_first_byte_is_made_anew(bench: Bencher) -> None:
    one = bench()
    one.ledger.stale = 2
    run(one.door.send(one.allow()))
    assert one.kinds() == [*ALL, *ALL, *ALL]
    settles = [record for kind, record in one.events if kind == "settle"]
    assert [record["sent_ns"] is None for record in settles] == [True, True, False]
    assert [arrival.target for arrival in one.web.arrivals] == ["/"]


def test_a_stop_while_waiting_sends_nothing(bench: Bencher) -> None:
    one = bench()
    one.ledger.stopped = True
    with pytest.raises(Interrupted):
        run(one.door.send(one.allow()))
    assert (one.web.connections, one.events) == (0, [])


# --- what fails after it was sent ---


def test_a_coding_nobody_knows_is_left_in_place_and_flagged(bench: Bencher) -> None:
    one = bench(Answer(headers=(("Content-Encoding", "rot13"),), body="cynva"))
    response = run(one.door.send(one.allow()))
    assert (response.body, response.flags) == (b"cynva", ["unknown-coding"])


FAILURES: dict[str, tuple[Answer, Reason, int | None]] = {
    "reset": (Answer(fault=Fault.RESET), Reason.RESET, None),
    "cut": (Answer(body="half", content_length=100, fault=Fault.CLOSE_AFTER_BODY), Reason.CUT, 200),
    "no HTTP": (Answer(raw="buoy\r\n\r\n", fault=Fault.RAW_CLOSE), Reason.PROTOCOL, None),
    "too large": (Answer(body="x" * 1001), Reason.TOO_LARGE, 200),
    "decodes to too much": (
        Answer(headers=(("Content-Encoding", "gzip"),), body=gzip.compress(b"x" * 1001)),
        Reason.TOO_LARGE,
        200,
    ),
    "no gzip": (Answer(headers=(("Content-Encoding", "gzip"),), body="plain"), Reason.DECODE, 200),
    "cut gzip": (
        Answer(headers=(("Content-Encoding", "gzip"),), body=gzip.compress(b"a page\n" * 9)[:-9]),
        Reason.DECODE,
        200,
    ),
}


@pytest.mark.parametrize(("answer", "reason", "status"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_settled_and_recorded(bench: Bencher, answer: Answer, reason: Reason, status: int | None) -> None:
    one = bench(answer)
    with pytest.raises(ExchangeFailed) as failed:
        run(one.door.send(one.allow()))
    assert failed.value.reason is reason
    assert one.kinds() == ALL
    assert one.written("settled").keys() == KEYS
    assert (one.written("settle")["status"], one.written("settle")["error"]) == (status, reason)


@pytest.mark.parametrize("location", [(), (("Location", "/next"),)], ids=["an answer", "a redirect"])
def test_only_the_body_of_a_final_answer_is_decoded(bench: Bencher, location: tuple[tuple[str, str], ...]) -> None:
    one = bench(Answer(302, (*location, ("Content-Encoding", "gzip")), "not gzip"))
    if location:
        assert run(one.door.send(one.allow())).status == 302
    else:
        with pytest.raises(ExchangeFailed):
            run(one.door.send(one.allow()))


def test_a_silent_server_is_a_timeout(bench: Bencher) -> None:
    one = bench(Answer(fault=Fault.HANG), DOWNLOAD_TIMEOUT=0.1)
    with pytest.raises(ExchangeFailed) as failed:
        run(one.door.send(one.allow()))
    assert (failed.value.reason, one.kinds()) == (Reason.TIMEOUT, ALL)


def test_a_cancelled_request_is_settled(bench: Bencher) -> None:
    one = bench(Answer(fault=Fault.HANG))

    async def cancelled() -> None:
        sending = asyncio.create_task(one.door.send(one.allow()))
        await asyncio.to_thread(one.web.wait_for, 1)
        sending.cancel()
        await sending

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())
    assert one.kinds() == ALL
    settle = one.written("settle")
    assert (settle["status"], settle["error"], settle["sent_ns"] is None) == (None, None, False)


def test_a_shortage_of_this_machine_is_not_the_servers_and_is_settled(bench: Bencher) -> None:
    one = bench()

    async def without_descriptors() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        next_free = os.dup(0)
        os.close(next_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, hard))
        try:
            await one.door.send(one.allow())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    with pytest.raises(Shortage, match=rf"^this machine cannot ask for {one.web.url(HOST)}: Too many open files$"):
        run(without_descriptors())
    assert (one.web.connections, one.kinds()) == (0, ALL)
    assert (one.written("settle")["status"], one.written("settle")["error"]) == (None, None)


# --- the pause, in virtual time ---


def test_the_next_request_leaves_the_pause_after_the_end_of_the_one_before(web_factory: WebFactory) -> None:
    clock = FakeClock()
    one = Bench(web_factory({"/*": Answer(body="a page\n")}, addresses=[IP]), clock, SEASPIDER_INTERVAL=7)
    door = one.run.door  # with the ledger of a run
    took_ns = []

    async def three() -> None:
        for path, host in (("/1", HOST), ("/2", HOST), ("/3", "b.test")):
            before_ns = clock.boot_ns()
            await door.send(one.allow(path, host))
            took_ns.append(clock.boot_ns() - before_ns)

    run(three())
    assert took_ns == [0, 7 * S, 7 * S]
