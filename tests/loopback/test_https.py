"""Https on the loopback web: good certificates and all kinds of bad ones."""

import socket
import ssl

import pytest

from seaspider.loopback import Answer, LoopbackError, LoopbackWeb
from seaspider.loopback.certificates import Authority, self_signed
from tests.conftest import WebFactory
from tests.loopback.raw import TIMEOUT_S, ask, get, read_to_end


def handshake(web: LoopbackWeb, name: str, trusted: str | None = None) -> bytes:
    context = ssl.create_default_context(cadata=trusted)
    with (
        socket.create_connection(("127.0.0.1", web.tls_port), TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        sock.sendall(get("/", name, "Connection: close"))
        return read_to_end(sock)


def test_https_has_its_own_port_and_routes(web_factory: WebFactory) -> None:
    authority = Authority()
    big = Answer(body="x" * 1_000_000)
    web = web_factory({"http:///": Answer(404), "https:///": big}, tls=authority.server(["a.test", "127.0.0.1"]))
    for name in ("a.test", "127.0.0.1"):
        assert handshake(web, name, authority.pem).endswith(b"\r\n\r\n" + b"x" * 1_000_000)
    assert ask(web, "/").startswith(b"HTTP/1.1 404")
    assert [arrival.scheme for arrival in web.arrivals] == ["https", "https", "http"]
    assert web.url("a.test", scheme="https") == f"https://a.test:{web.tls_port}/"
    assert web.tls_port != web.port


@pytest.mark.parametrize("kind", ["self-signed", "expired", "other-name", "unknown-authority"])
def test_a_bad_certificate_is_seen_and_no_request_arrives(web_factory: WebFactory, kind: str) -> None:
    authority = Authority()
    context = {
        "self-signed": lambda: self_signed(["a.test"]),
        "expired": lambda: authority.server(["a.test"], expired=True),
        "other-name": lambda: authority.server(["b.test"]),
        "unknown-authority": lambda: Authority().server(["a.test"]),
    }[kind]()
    web = web_factory({"/": Answer()}, tls=context)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(web, "a.test", authority.pem)
    assert (web.connections, web.arrivals) == (1, [])


def test_without_tls_there_is_no_https_url(web_factory: WebFactory) -> None:
    with pytest.raises(LoopbackError, match="pass `tls`"):
        web_factory({}).url("a.test", scheme="https")
