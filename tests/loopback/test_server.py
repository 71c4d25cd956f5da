"""Addresses and ports, the arrival log, faults before the first byte, and that nothing is left behind."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seaspider.loopback import Answer, Fault, LoopbackError, LoopbackWeb
from seaspider.loopback.certificates import self_signed
from seaspider.loopback.judge import max_in_flight
from tests.conftest import WebFactory
from tests.loopback.raw import TIMEOUT_S, ask, connected, get, is_silent, read_to_end

NAMES = {"a.test": "127.0.0.2", "b.test": ["127.0.0.4", "127.0.0.3"], "private.test": "10.0.0.1", "none.test": []}


def boottime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


# addresses and ports


def test_all_addresses_share_one_port(web_factory: WebFactory) -> None:
    web = web_factory({"127.0.0.9/": Answer()}, names=NAMES, addresses=["127.1.0.1"])
    assert web.addresses == ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.9", "127.1.0.1")
    for address in web.addresses:
        ask(web, "/", address=address)
    assert [arrival.address for arrival in web.arrivals] == list(web.addresses)
    assert (web.url("a.test"), web.url("127.0.0.2", "/x?y")) == (
        f"http://a.test:{web.port}/",
        f"http://127.0.0.2:{web.port}/x?y",
    )


@pytest.mark.parametrize("address", ["10.0.0.1", "0.0.0.0", "::1", "a.test"])
def test_nothing_beyond_loopback_is_ever_bound(address: str) -> None:
    with pytest.raises(ValueError, match=r"not in 127\.0\.0\.0/8"):
        LoopbackWeb({}, addresses=[address])
    with pytest.raises(ValueError, match=r"not in 127\.0\.0\.0/8"):
        LoopbackWeb({}, connect={address: "refuse"})


def test_an_address_that_is_not_named_has_no_server(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()})
    with pytest.raises(ConnectionRefusedError):
        ask(web, "/", address="127.0.0.77")


# the arrival log


def test_an_arrival_is_what_was_sent_and_when(web_factory: WebFactory) -> None:
    web = web_factory({"/p": Answer(body="page")}, names=NAMES)
    before = boottime_ns()
    ask(web, "/p", "A.test:80", "X-B: 2 ", "x-a:1", "X-B: 3", address="127.0.0.2")
    after = boottime_ns()
    (arrival,) = web.arrivals
    assert (arrival.n, arrival.address, arrival.host, arrival.name) == (1, "127.0.0.2", "A.test:80", "a.test")
    assert (arrival.scheme, arrival.connection, arrival.open_at_arrival) == ("http", 1, 0)
    assert (arrival.method, arrival.target) == ("GET", "/p")
    assert arrival.headers == (
        ("Host", "A.test:80"),
        ("Connection", "close"),
        ("X-B", "2"),
        ("x-a", "1"),
        ("X-B", "3"),
    )
    assert arrival.answered_ns is not None
    assert before <= arrival.arrived_ns <= arrival.answered_ns <= after


def test_arrival_is_the_first_byte_not_the_end_of_the_head(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()})
    with connected(web) as sock:
        sock.sendall(b"GET / HT")
        (early,) = web.wait_until(lambda seen: len(seen) == 1)
        between = boottime_ns()
        sock.sendall(b"TP/1.1\r\nConnection: close\r\n\r\n")
        read_to_end(sock)
    (late,) = web.arrivals
    assert (early.method, early.target, late.method, late.target) == ("", "", "GET", "/")
    assert early.arrived_ns == late.arrived_ns < between
    assert late.answered_ns is not None
    assert late.answered_ns > between


def test_a_request_that_never_ends_is_in_the_log_and_then_over(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()})
    with connected(web) as sock:
        sock.sendall(b"GET /")
        web.wait_until(lambda seen: len(seen) == 1)
    web.wait_idle()
    (arrival,) = web.arrivals
    assert (arrival.n, arrival.method, arrival.answered_ns) == (1, "", None)


def test_open_requests_are_counted_across_connections(web_factory: WebFactory) -> None:
    web = web_factory({"/hang": Answer(fault=Fault.HANG), "/": Answer()})
    with connected(web) as one, connected(web) as two:
        one.sendall(get("/hang"))
        web.wait_for(1)
        two.sendall(get("/hang"))
        web.wait_for(2)
        ask(web, "/")
        ask(web, "/")
    assert [arrival.open_at_arrival for arrival in web.arrivals] == [0, 1, 2, 2]
    assert max_in_flight(web.arrivals) == 3


def test_pipelined_requests_are_in_flight_together(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()})
    with connected(web) as sock:
        sock.sendall(get("/") + get("/", "b.test", "Connection: close"))
        assert read_to_end(sock).count(b"HTTP/1.1 200 OK") == 2
    assert [(a.name, a.open_at_arrival, a.connection) for a in web.arrivals] == [
        ("harbour.test", 0, 1),
        ("b.test", 1, 1),
    ]
    assert max_in_flight(web.arrivals) == 2


def test_requests_one_after_the_other_are_never_in_flight_together(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(body="x" * 300_000), "/reset": Answer(fault=Fault.CLOSE)})
    for _ in range(20):
        ask(web, "/")
        ask(web, "/reset")
    assert max_in_flight(web.arrivals) == 1
    assert [arrival.n for arrival in web.arrivals] == list(range(1, 41))


def test_a_request_body_is_not_taken_for_a_request(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()})
    with connected(web) as sock:
        sock.sendall(get("/", "a.test", "Content-Length: 18", method="POST"))
        sock.sendall(b"GET /b HTTP/1.1\r\n\r" + get("/c", "a.test", "Connection: close"))
        read_to_end(sock)
    assert [(a.method, a.target) for a in web.arrivals] == [("POST", "/"), ("GET", "/c")]


def test_every_connection_is_counted_also_a_silent_one(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()}, names=NAMES)
    with connected(web, "127.0.0.2"):
        ask(web, "/", address="127.0.0.3")
        assert (web.connections, web.connections_to("127.0.0.2"), web.connections_to("127.0.0.4")) == (2, 1, 0)
    assert len(web.arrivals) == 1


def test_clear_forgets_and_counts_anew(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(), "/hang": Answer(fault=Fault.HANG)})
    with connected(web) as sock:
        sock.sendall(get("/hang"))
        web.wait_for(1)
        web.clear()
        assert (web.arrivals, web.connections) == ([], 0)
        ask(web, "/")
        assert [(a.n, a.target, a.open_at_arrival) for a in web.arrivals] == [(1, "/", 1)]


def test_waits_are_bounded(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(fault=Fault.HANG)})
    with pytest.raises(TimeoutError, match="seen: \\[\\]"):
        web.wait_for(1, timeout_s=0.01)
    with connected(web) as sock:
        sock.sendall(get("/"))
        web.wait_for(1)
        with pytest.raises(TimeoutError, match="1 requests still in flight"):
            web.wait_idle(timeout_s=0.01)


# faults before the first byte


def test_a_refusing_address_refuses(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()}, connect={"127.0.0.2": "refuse"})
    with pytest.raises(ConnectionRefusedError):
        ask(web, "/", address="127.0.0.2")
    assert ask(web, "/").startswith(b"HTTP/1.1 200")


def test_a_resetting_address_resets(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()}, connect={"127.0.0.2": "reset"})
    # The reset may come while the client still connects.
    with pytest.raises(ConnectionResetError), connected(web, "127.0.0.2") as sock:
        sock.recv(1)
    assert (web.connections_to("127.0.0.2"), web.arrivals) == (1, [])


def test_a_hanging_address_never_answers(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer()}, connect={"127.0.0.2": "hang"})
    with connected(web, "127.0.0.2") as sock:
        sock.sendall(get("/"))
        assert is_silent(sock)
    assert (web.connections_to("127.0.0.2"), web.arrivals) == (1, [])


# the end


def loopback_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "loopback-web"]


def open_sockets() -> list[str]:
    links = (entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
    return sorted(str(link) for link in links if str(link).startswith("socket:"))


def test_thread_and_sockets_are_gone_after_the_block() -> None:
    others, before = loopback_threads(), open_sockets()  # another test's web may last as long as the session
    options = {"tls": self_signed(["a.test"]), "connect": {"127.0.0.2": "hang", "127.0.0.3": "refuse"}}
    with LoopbackWeb({"/": Answer(fault=Fault.HANG), "/kept": Answer()}, **options) as web:
        assert len(loopback_threads()) == len(others) + 1
        clients = [socket.create_connection(place, TIMEOUT_S) for place in (("127.0.0.1", web.port),) * 3]
        clients += [socket.create_connection(("127.0.0.1", web.tls_port), TIMEOUT_S)]  # its handshake never begins
        clients += [socket.create_connection(("127.0.0.2", web.port), TIMEOUT_S)]
        clients[0].sendall(get("/"))
        clients[1].sendall(get("/kept"))
        web.wait_for(2)
        web.wait_until(lambda _: web.connections == 5)
    for client in clients:
        client.close()
    assert loopback_threads() == others
    assert open_sockets() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", web.port), TIMEOUT_S)


def test_a_server_starts_once(web_factory: WebFactory) -> None:
    with pytest.raises(LoopbackError, match="starts once"):
        web_factory({}).start()


def test_it_ends_when_the_block_raises() -> None:
    others = loopback_threads()
    with pytest.raises(KeyError), LoopbackWeb({}):
        raise KeyError
    assert loopback_threads() == others


def test_a_route_that_raises_closes_and_fails_the_block() -> None:
    web = LoopbackWeb({"/": lambda request: request.no_such_thing})
    web.start()
    with connected(web) as sock:
        sock.sendall(get("/"))
        assert read_to_end(sock) == b""
    with pytest.raises(LoopbackError, match="no_such_thing"):
        web.stop()
    web.stop()


def test_a_server_that_runs_beside_another_process(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(body="hello")})
    code = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{web.port}/', timeout=10).read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "b'hello'\n"
    assert len(web.arrivals) == 1
