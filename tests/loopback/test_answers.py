"""Every answer and every fault, byte for byte, as a plain socket sees them."""

import pytest

from seaspider.loopback import Answer, Fault, Request
from tests.conftest import WebFactory
from tests.loopback.raw import ask, connected, get, is_silent, read_exactly, read_to_end

RULES = "User-agent: *\nDisallow: /page\n"
CHUNKED_RULES = b"1e\r\nUser-agent: *\nDisallow: /page\n\r\n"

WHOLE = [
    ("default", Answer(), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    ("body", Answer(body="å"), b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n\xc3\xa5"),
    (
        "header-bytes-case-order",
        Answer(302, (("LOCATION", "/caf\xe9"), ("a", "1"), ("A", "2"))),
        b"HTTP/1.1 302 Found\r\nLOCATION: /caf\xe9\r\na: 1\r\nA: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ),
    ("reason", Answer(429, reason="Slow"), b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    ("status-unknown", Answer(999), b"HTTP/1.1 999 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    ("304-has-no-length", Answer(304, body="x"), b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"),
    (
        "pre",
        Answer(pre="HTTP/1.1 100 Continue\r\n\r\n"),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ),
    (
        "length-too-long",
        Answer(body=b"ab", content_length=9, fault=Fault.CLOSE_AFTER_BODY),
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nab",
    ),
    (
        "length-too-short",
        Answer(body=b"abc", content_length=1, fault=Fault.CLOSE_AFTER_BODY),
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nabc",
    ),
    (
        "length-absent",
        Answer(body=b"ab", content_length=None),
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab",
    ),
    (
        "length-own-header",
        Answer(headers=(("content-length", "+2"),), body=b"ab"),
        b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\nConnection: close\r\n\r\nab",
    ),
    (
        "chunked",
        Answer(body=RULES, chunked=True),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + CHUNKED_RULES + b"0\r\n\r\n",
    ),
    (
        "no-last-chunk",
        Answer(body=RULES, chunked=True, fault=Fault.NO_LAST_CHUNK),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + CHUNKED_RULES,
    ),
    ("raw-close", Answer(raw="no HTTP at \xe9ll", fault=Fault.RAW_CLOSE), b"no HTTP at \xe9ll"),
    ("close", Answer(fault=Fault.CLOSE), b""),
    (
        "drip",
        Answer(204, drip_s=0.0001),
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    ),
]


@pytest.mark.parametrize(("answer", "sent"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])
def test_an_answer_is_exactly_these_bytes(web_factory: WebFactory, answer: Answer, sent: bytes) -> None:
    assert ask(web_factory({"/": answer}), "/") == sent


@pytest.mark.parametrize("fault", [Fault.RAW_CLOSE, Fault.CLOSE_AFTER_BODY, Fault.NO_LAST_CHUNK, Fault.CLOSE])
def test_a_closing_fault_closes_a_connection_meant_to_stay(web_factory: WebFactory, fault: Fault) -> None:
    web = web_factory({"/": Answer(fault=fault, chunked=fault is Fault.NO_LAST_CHUNK)})
    with connected(web) as sock:
        sock.sendall(get("/"))
        read_to_end(sock)  # returns: the server closed


def test_without_a_fault_the_connection_stays(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(body="one")})
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
    with connected(web) as sock:
        for _ in range(2):
            sock.sendall(get("/"))
            assert read_exactly(sock, len(whole)) == whole
        assert is_silent(sock)
    assert (len(web.arrivals), web.connections) == (2, 1)


@pytest.mark.parametrize(
    ("answer", "before"),
    [
        (Answer(fault=Fault.RESET), b""),
        (Answer(body="ab", content_length=9, fault=Fault.RESET_AFTER_BODY), b"Content-Length: 9\r\n"),
    ],
    ids=["reset", "reset-after-body"],
)
def test_a_reset_is_a_reset(web_factory: WebFactory, answer: Answer, before: bytes) -> None:
    seen: list[bytes] = []
    with connected(web_factory({"/": answer})) as sock:
        sock.sendall(get("/"))
        with pytest.raises(ConnectionResetError):
            seen.extend(iter(lambda: sock.recv(65_536), b""))
    # A reset may overtake what was sent before it, so what came is a part of it or all.
    assert before in b"".join(seen) or not seen


@pytest.mark.parametrize(
    ("answer", "before"),
    [
        (Answer(fault=Fault.HANG), b""),
        (
            Answer(body=b"ab", content_length=3, fault=Fault.STALL_AFTER_BODY),
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        ),
    ],
    ids=["hang", "stall-after-body"],
)
def test_an_endless_answer_stays_open_and_in_flight(web_factory: WebFactory, answer: Answer, before: bytes) -> None:
    web = web_factory({"/": answer, "/next": Answer()})
    with connected(web) as sock:
        sock.sendall(get("/"))
        assert read_exactly(sock, len(before)) == before
        assert is_silent(sock)
        ask(web, "/next")
    web.wait_idle()
    ask(web, "/next")
    endless, beside, after = web.arrivals
    assert endless.answered_ns is None
    assert (beside.open_at_arrival, after.open_at_arrival) == (1, 0)


def test_a_generated_body_of_megabytes_ends_when_the_client_leaves(web_factory: WebFactory) -> None:
    line = b"#" * 1023 + b"\n"
    web = web_factory({"/": Answer(parts=((b"start\n", 1), (line, 65_536)), content_length=None)})
    with connected(web) as sock:
        sock.sendall(get("/"))
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nstart\n"
        assert read_exactly(sock, len(head) + 1024) == head + line
    web.wait_idle()
    assert web.arrivals[0].answered_ns is None


def test_a_generated_body_is_whole(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(body="a", parts=((b"bc", 100_000), (b"", 5), (b"d", 1)))})
    head, _, body = ask(web, "/").partition(b"\r\n\r\n")
    assert b"Content-Length: 200002" in head
    assert body == b"a" + b"bc" * 100_000 + b"d"


def test_delay_passes_before_the_answer(web_factory: WebFactory) -> None:
    web = web_factory({"/": Answer(delay_s=0.1)})
    ask(web, "/")
    (arrival,) = web.arrivals
    assert arrival.answered_ns is not None
    assert arrival.answered_ns - arrival.arrived_ns >= 100_000_000


def test_head_has_no_body(web_factory: WebFactory) -> None:
    with connected(web_factory({"/": Answer(body="abc")})) as sock:
        sock.sendall(get("/", "h.test", "Connection: close", method="HEAD"))
        assert read_to_end(sock) == b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"


def test_ports_are_filled_into_texts_and_not_into_bytes(web_factory: WebFactory) -> None:
    web = web_factory(
        {
            "/text": Answer(302, (("Location", "http://a.test:{port}/"),), body="{port}"),
            "/raw": Answer(raw="{port}", fault=Fault.RAW_CLOSE),
            "/bytes": Answer(body=b"{port}"),
        }
    )
    text = ask(web, "/text")
    assert f"Location: http://a.test:{web.port}/\r\n".encode() in text
    assert text.endswith(f"\r\n\r\n{web.port}".encode())
    assert ask(web, "/raw") == str(web.port).encode()
    assert ask(web, "/bytes").endswith(b"\r\n\r\n{port}")


def test_a_computed_route_sees_the_request(web_factory: WebFactory) -> None:
    def echo(request: Request) -> Answer:
        return Answer(body=f"{request.name} {request.address} {request.target} {request.header('user-agent')}")

    web = web_factory({"/*": echo}, addresses=["127.0.0.3"])
    answer = ask(web, "/a?b=1", "Reef.test:80", "User-Agent: buoy", address="127.0.0.3")
    assert answer.endswith(b"\r\n\r\nreef.test 127.0.0.3 /a?b=1 buoy")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"G" * 65_537,
    ],
    ids=["no-version", "other-version", "bad-length", "chunked-request", "endless-head"],
)
def test_what_is_no_request_is_refused_and_logged(web_factory: WebFactory, head: bytes) -> None:
    web = web_factory({"/": Answer()})
    with connected(web) as sock:
        sock.sendall(head)
        assert sock.recv(65_536).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert len(web.arrivals) == 1
