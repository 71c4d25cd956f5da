"""The transport over TLS: who is believed, what is said before that (nothing), and how a TLS stream may end."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from seaspider.http1 import (
    SKIP,
    WHOLE,
    Answer,
    BodyPlan,
    ExchangeError,
    Limits,
    client_context,
    exchange,
    request_bytes,
)
from tests.rawserver import WAIT_S, RawServer, Script, close_after, drip, hang_after, reset_after, run, wait_for_close
from tests.tlscerts import Authority

REQUEST = request_bytes(b"GET", b"/a", [(b"Host", b"h.test")])
OK = b"HTTP/1.1 200 OK\r\n"
PAGE = hang_after(OK + b"Content-Length: 2\r\n\r\nab")
SHORT_S = 0.3


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "An authority nobody trusts")


@pytest.fixture(scope="module")
def trust(authority: Authority) -> ssl.SSLContext:
    return client_context(cafile=str(authority.cafile))


class Sends:
    """Counts what reached the point of sending."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def ask(
    server: RawServer,
    context: ssl.SSLContext,
    name: str | None = "h.test",
    sends: Sends | None = None,
    timeout_s: float = 5,
    request: bytes = REQUEST,
    plan: BodyPlan = WHOLE,
) -> Answer:
    return await exchange(
        server.host,
        server.port,
        request,
        tls=context,
        server_name=name,
        limits=Limits(timeout_s=timeout_s),
        plan=lambda status, headers: plan,
        before_send=sends or Sends(),
    )


def fault(server: RawServer, context: ssl.SSLContext, name: str = "h.test", timeout_s: float = 5) -> ExchangeError:
    """The error of an exchange that must not get as far as sending."""
    sends = Sends()
    with server:
        with pytest.raises(ExchangeError) as caught:
            run(ask(server, context, name, sends, timeout_s))
        assert server.ended.wait(WAIT_S)
    assert (sends.count, caught.value.sent, caught.value.status) == (0, False, None)
    assert REQUEST not in server.requests
    return caught.value


def names_asked(context: ssl.SSLContext) -> list[str | None]:
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    return asked


@pytest.mark.parametrize(
    ("certified", "name", "sni"),
    [
        pytest.param(["h.test"], "h.test", "h.test", id="name"),
        pytest.param(["*.h.test"], "a.h.test", "a.h.test", id="wildcard"),
        pytest.param(["h.test"], "h.test.", "h.test", id="trailing-dot"),
        pytest.param(["xn--fa-hia.test"], "xn--fa-hia.test", "xn--fa-hia.test", id="idn"),
        pytest.param(["127.0.0.1"], "127.0.0.1", None, id="ipv4"),
        pytest.param(["::1"], "::1", None, id="ipv6"),
    ],
)
def test_the_name_is_verified_while_the_connection_goes_to_the_literal(
    authority: Authority, trust: ssl.SSLContext, certified: list[str], name: str, sni: str | None
) -> None:
    served = authority.server(*certified)
    asked, sends = names_asked(served), Sends()
    with RawServer(PAGE, tls=served) as server:
        answer = run(ask(server, trust, name, sends))
    assert (answer.status, answer.body, answer.flags, sends.count) == (200, b"ab", (), 1)
    assert answer.wire_bytes == len(OK + b"Content-Length: 2\r\n\r\nab")
    assert server.requests == [REQUEST]
    assert asked == [sni]


BAD = [
    ("expired", "expired", "h.test", "certificate: certificate has expired"),
    ("self-signed", "self-signed", "h.test", "certificate: self-signed certificate"),
    ("stranger", "stranger", "h.test", "certificate: unable to get local issuer certificate"),
    ("other-name", "good", "g.test", "certificate: Hostname mismatch, certificate is not valid for 'g.test'."),
    ("below-the-name", "good", "a.h.test", "certificate: Hostname mismatch, certificate is not valid for 'a.h.test'."),
    (
        "ip-not-certified",
        "good",
        "127.0.0.1",
        "certificate: IP address mismatch, certificate is not valid for '127.0.0.1'.",
    ),
]


@pytest.mark.parametrize(("kind", "name", "detail"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_server_that_is_not_believed_gets_no_octet(
    authority: Authority, stranger: Authority, trust: ssl.SSLContext, kind: str, name: str, detail: str
) -> None:
    served = {
        "good": lambda: authority.server("h.test"),
        "expired": lambda: authority.server("h.test", expired=True),
        "self-signed": lambda: authority.server("h.test", self_signed=True),
        "stranger": lambda: stranger.server("h.test"),
    }[kind]()
    error = fault(RawServer(PAGE, tls=served), trust, name)
    assert (error.reason, error.detail) == ("tls", detail)
    with RawServer(PAGE, tls=served) as server:  # the twin: without verification the page comes
        assert run(ask(server, client_context(verify=False), name)).body == b"ab"


def test_without_the_extra_file_only_the_platform_is_trusted(authority: Authority) -> None:
    assert fault(RawServer(PAGE, tls=authority.server("h.test")), client_context()).reason == "tls"


def heard_out(then: Script) -> Script:
    def script(peer: socket.socket) -> None:
        peer.recv(65536)
        then(peer)

    return script


@pytest.mark.parametrize(
    ("script", "reason", "detail"),
    [
        pytest.param(heard_out(close_after(b"")), "tls", "handshake: closed", id="closed"),
        pytest.param(heard_out(reset_after(b"")), "tls", "handshake: Connection reset by peer", id="reset"),
        pytest.param(
            heard_out(hang_after(b"HTTP/1.1 400 Bad\r\n\r\n")), "tls", "WRONG_VERSION_NUMBER", id="plain-http"
        ),
        pytest.param(hang_after(b""), "timeout", "no whole answer in 0.3 s", id="never-answered"),
        pytest.param(drip(b"\x16\x03\x03\x40\x00", b"\x02", 0.02), "timeout", "no whole answer in 0.3 s", id="drip"),
    ],
)
def test_no_handshake(trust: ssl.SSLContext, script: Script, reason: str, detail: str) -> None:
    error = fault(RawServer(script, read_request=False), trust, timeout_s=SHORT_S)
    assert (error.reason, error.detail) == (reason, detail)


def test_plain_http_to_a_tls_port_is_no_answer(authority: Authority) -> None:
    with RawServer(PAGE, tls=authority.server("h.test")) as server:
        with pytest.raises(ExchangeError) as caught:
            run(
                exchange(
                    server.host,
                    server.port,
                    REQUEST,
                    tls=None,
                    server_name=None,
                    limits=Limits(timeout_s=5),
                    plan=lambda status, headers: WHOLE,
                    before_send=Sends(),
                )
            )
        assert server.ended.wait(WAIT_S)
    assert caught.value.reason in ("protocol", "cut", "reset")  # an alert may arrive first or be lost with the reset
    assert server.requests == []


@pytest.mark.parametrize("name", ["a..test", ".test", "a" * 64 + ".test"])
def test_a_name_that_no_handshake_can_carry(trust: ssl.SSLContext, name: str) -> None:
    error = fault(RawServer(close_after(b""), read_request=False), trust, name)
    assert (error.reason, error.detail) == ("tls", f"a name that cannot be asked for: {name[:64]!r}")


def test_tls_without_a_name_is_a_mistake_of_the_caller(trust: ssl.SSLContext) -> None:
    with RawServer(PAGE) as server, pytest.raises(ValueError, match="needs the name"):
        run(ask(server, trust, None))


def test_one_context_for_two_names_on_one_server(authority: Authority, trust: ssl.SSLContext) -> None:
    served = authority.server("a.test", "b.test")
    asked = names_asked(served)

    async def act(server: RawServer) -> list[int]:
        statuses = []
        for name in ("a.test", "b.test", "a.test"):
            request = request_bytes(b"GET", b"/", [(b"Host", name.encode())])
            statuses.append((await ask(server, trust, name, request=request)).status)
        return statuses

    with RawServer(PAGE, tls=served) as server:
        assert run(act(server)) == [200, 200, 200]
    assert asked == ["a.test", "b.test", "a.test"]
    assert [request.split(b"\r\n")[1] for request in server.requests] == [
        b"Host: a.test",
        b"Host: b.test",
        b"Host: a.test",
    ]


def farewell_after(raw: bytes) -> Script:
    """Send, then end TLS properly, with close_notify."""

    def script(peer: socket.socket) -> None:
        assert isinstance(peer, ssl.SSLSocket)
        peer.sendall(raw)
        with contextlib.suppress(OSError):
            peer.unwrap()

    return script


def noise_after(raw: bytes) -> Script:
    """Send, then octets below TLS that are no record of this connection."""

    def script(peer: socket.socket) -> None:
        peer.sendall(raw)
        os.write(peer.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
        wait_for_close(peer)

    return script


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"


@pytest.mark.parametrize(
    ("script", "body", "flags"),
    [
        pytest.param(farewell_after(OK + b"\r\nabc"), b"abc", (), id="close-delimited"),
        pytest.param(close_after(OK + b"\r\nabc"), b"abc", ("no-close-notify",), id="close-delimited-ragged"),
        pytest.param(close_after(OK + b"Content-Length: 3\r\n\r\nabc"), b"abc", (), id="length-ragged"),
        pytest.param(close_after(CHUNKED + b"0\r\n\r\n"), b"abc", (), id="chunked-ragged"),
        pytest.param(close_after(CHUNKED + b"0\r\n"), b"abc", (), id="last-chunk-ragged"),
    ],
)
def test_how_a_tls_answer_may_end(
    authority: Authority, trust: ssl.SSLContext, script: Script, body: bytes, flags: tuple[str, ...]
) -> None:
    with RawServer(script, tls=authority.server("h.test")) as server:
        answer = run(ask(server, trust))
    assert (answer.body, answer.flags) == (body, flags)


@pytest.mark.parametrize("then", [close_after, farewell_after])
def test_a_plan_may_insist_on_close_notify(
    authority: Authority, trust: ssl.SSLContext, then: Callable[[bytes], Script]
) -> None:
    served = authority.server("h.test")
    with RawServer(then(OK + b"\r\nabc"), tls=served) as server:
        insisting = ask(server, trust, plan=BodyPlan(clip_bytes=9, close_notify=True))
        if then is farewell_after:
            assert run(insisting).body == b"abc"
        else:
            with pytest.raises(ExchangeError, match="cut: body: closed without close_notify"):
                run(insisting)
        assert run(ask(server, trust, plan=SKIP)).flags == ()


@pytest.mark.parametrize(
    ("script", "reason", "detail", "status"),
    [
        pytest.param(close_after(b""), "cut", "head: closed without close_notify", None, id="ragged-at-once"),
        pytest.param(farewell_after(b""), "cut", "head: closed", None, id="closed-at-once"),
        pytest.param(reset_after(OK), "reset", "head: Connection reset by peer", None, id="reset-in-head"),
        pytest.param(
            close_after(OK + b"Content-Length: 9\r\n\r\nabc"),
            "cut",
            "body: closed without close_notify after 3 octets",
            200,
            id="short-ragged",
        ),
        pytest.param(farewell_after(CHUNKED), "cut", "body: closed after 3 octets", 200, id="no-last-chunk"),
        pytest.param(reset_after(CHUNKED), "cut", "body: Connection reset by peer after 3 octets", 200, id="reset"),
        pytest.param(
            noise_after(OK + b"\r\nabc"), "tls", "DECRYPTION_FAILED_OR_BAD_RECORD_MAC", 200, id="forged-record"
        ),
        pytest.param(noise_after(b""), "tls", "DECRYPTION_FAILED_OR_BAD_RECORD_MAC", None, id="forged-head"),
    ],
)
def test_how_it_may_not_end(
    authority: Authority, trust: ssl.SSLContext, script: Script, reason: str, detail: str, status: int | None
) -> None:
    with RawServer(script, tls=authority.server("h.test")) as server:
        with pytest.raises(ExchangeError) as caught:
            run(ask(server, trust))
        assert server.ended.wait(WAIT_S)
    assert (caught.value.reason, caught.value.detail, caught.value.status) == (reason, detail, status)
    assert caught.value.sent
    assert server.requests == [REQUEST]


def test_a_long_body_and_a_long_request_cross_whole(authority: Authority, trust: ssl.SSLContext) -> None:
    body = bytes(range(256)) * 12_000
    request = request_bytes(b"GET", b"/" + b"a" * 100_000, [(b"Host", b"h.test")])
    script = hang_after(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    with RawServer(script, tls=authority.server("h.test")) as server:
        assert run(ask(server, trust, request=request)).body == body
    assert server.requests == [request]


def test_cancelling_a_handshake_closes_at_once(trust: ssl.SSLContext) -> None:
    async def act(server: RawServer) -> None:
        task = asyncio.create_task(ask(server, trust))
        assert await asyncio.to_thread(server.asked.wait, WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.ended.wait, WAIT_S)

    def listen(peer: socket.socket) -> None:
        assert peer.recv(1) == b"\x16"
        server.asked.set()
        wait_for_close(peer)

    with RawServer(listen, read_request=False) as server:
        run(act(server))


def test_no_descriptor_is_left(authority: Authority, trust: ssl.SSLContext) -> None:
    def open_now() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def act() -> list[int]:
        counts = [open_now()]
        for script in (close_after(b""), reset_after(OK), PAGE, noise_after(OK)):
            for name in ("h.test", "g.test"):
                with RawServer(script, tls=authority.server("h.test")) as server:
                    with contextlib.suppress(ExchangeError):
                        await ask(server, trust, name)
                    assert server.ended.wait(WAIT_S)
                counts.append(open_now())
        return counts

    counts = run(act())
    assert counts == counts[:1] * 9


def test_the_context(authority: Authority, trust: ssl.SSLContext) -> None:
    assert trust.minimum_version is ssl.TLSVersion.TLSv1_2
    assert (trust.check_hostname, trust.verify_mode) == (True, ssl.CERT_REQUIRED)
    with pytest.raises(FileNotFoundError):
        client_context(cafile=str(authority.cafile) + ".missing")
    chosen: list[str | None] = []

    def note(peer: socket.socket) -> None:
        assert isinstance(peer, ssl.SSLSocket)
        chosen.append(peer.selected_alpn_protocol())
        PAGE(peer)

    served = authority.server("h.test")
    served.set_alpn_protocols(["h2", "http/1.1"])
    with RawServer(note, tls=served) as server:
        run(ask(server, trust))
    assert chosen == ["http/1.1"]
