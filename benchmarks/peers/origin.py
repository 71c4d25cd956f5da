"""The web that is crawled: one process, one socket, every address of 127.0.0.0/8 a host of its own.

    python -m benchmarks.peers.origin PROFILES PORT LOG [ENOUGH]

PROFILES is a JSON file: how most hosts answer, and by address how the others do (workloads.Profile). The socket is
bound to the loopback device, so nothing outside this machine can connect. "ready" is printed when it listens. LOG is
written at SIGTERM, and as soon as ENOUGH requests were seen: one line a request, in order of first bytes, with times of
CLOCK_MONOTONIC in ns, which any process of the machine can compare with its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.peers.workloads import Profile

SO_BINDTODEVICE = 25
BACKLOG = 4096
TEXT, HTML = "text/plain", "text/html; charset=utf-8"
WORDS = "<p>Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.</p>\n"


@dataclass(slots=True, eq=False)
class Seen:
    """One request. Times in ns; `others`: requests in flight at its first byte."""

    arrived: int
    address: str
    others: int
    answered: int = 0
    host: str = ""
    target: str = ""

    def line(self) -> str:
        return f"{self.arrived}\t{self.answered}\t{self.others}\t{self.address}\t{self.host}\t{self.target}\n"


@dataclass(slots=True, eq=False)
class Web:
    usual: Profile
    others: dict[str, Profile]
    log: Path
    enough: int
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0

    def begin(self, address: str) -> Seen:
        request = Seen(time.monotonic_ns(), address, self.in_flight)
        self.in_flight += 1
        self.seen.append(request)
        return request

    def end(self, request: Seen) -> None:
        request.answered = time.monotonic_ns()
        self.in_flight -= 1
        if len(self.seen) - self.in_flight == self.enough:
            self.write()

    def write(self) -> None:
        """In one go: who waits for the file finds a whole one."""
        part = self.log.with_suffix(".part")
        part.write_text("".join(request.line() for request in self.seen), "utf-8")
        part.rename(self.log)


@cache
def robots(crawl_delay_s: float | None) -> bytes:
    delay = "Disallow:" if crawl_delay_s is None else f"Crawl-delay: {crawl_delay_s:g}\nDisallow: /private"
    return f"User-agent: *\n{delay}\n".encode()


@cache
def rest(size: int, links: int) -> bytes:
    """What follows the title: links (one of 8 nofollow, one of 8 to another host) and words up to the size."""
    parts = []
    for n in range(links):
        rel = ' rel="nofollow"' if n % 8 == 3 else ""
        href = f"http://elsewhere.test/l/{n}#frag" if n % 8 == 5 else f"/l/{n}?b=2&amp;a=1"
        parts.append(f'<li><a class="c{n % 7}" href="{href}"{rel}>item <b>{n}</b></a></li>\n')
    items = "".join(parts)
    need = max(0, size - len(items) - 120)
    return f"<ul>\n{items}</ul>\n{(WORDS * (need // len(WORDS) + 1))[:need]}\n</body></html>\n".encode()


def answer(profile: Profile, host: str, target: str, close: bool) -> bytes:
    if target == "/robots.txt":
        kind, body = TEXT, robots(profile.crawl_delay_s)
    else:
        title = f"<!doctype html>\n<html><head><title>{host}{target[:40]}</title></head><body>\n".encode()
        kind, body = HTML, title + rest(profile.size, profile.links)
    connection = "Connection: close\r\n" if close else ""
    head = (
        f"HTTP/1.1 200 OK\r\nServer: origin\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{connection}\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """GETs one after another, until the client closes or asks for it."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.got = b""
        self.request: Seen | None = None
        self.transport: Any = None
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.address = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self.request = self.request or self.web.begin(self.address)
        self.got += data
        head, ended, self.got = self.got.partition(b"\r\n\r\n")
        if not ended:
            self.got = head
            return
        first, *fields = head.decode("latin-1").split("\r\n")
        named = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in fields)}
        self.request.target = first.split(" ")[1]
        self.request.host = named.get("host", "")
        profile = self.web.others.get(self.address, self.web.usual)
        close = named.get("connection", "").lower() == "close"
        if profile.latency_s:
            asyncio.get_running_loop().call_later(profile.latency_s, self.finish, profile, close)
        else:
            self.finish(profile, close)

    def finish(self, profile: Profile, close: bool) -> None:
        request, self.request = self.request, None
        if request is None:
            return
        self.transport.write(answer(profile, request.host.partition(":")[0], request.target, close))
        self.web.end(request)
        if close:
            self.transport.close()


def listener(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo\0")
    sock.bind(("0.0.0.0", port))  # noqa: S104 - of the loopback device only
    sock.listen(BACKLOG)
    return sock


async def serve(web: Web, port: int) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(lambda: Connection(web), sock=listener(port), backlog=BACKLOG)
    gc.freeze()
    gc.disable()  # nothing waits for a collection
    print("ready", flush=True)
    await stop.wait()
    server.close()
    web.write()


def main(profiles: str, port: str, log: str, enough: str = "0") -> None:
    usual, *others = json.loads(Path(profiles).read_text("utf-8"))
    by_address = {address: Profile(**profile) for address, profile in others[0].items()}
    web = Web(Profile(**usual), by_address, Path(log), int(enough))
    run = import_module("uvloop").run if find_spec("uvloop") else asyncio.run
    run(serve(web, int(port)))


if __name__ == "__main__":
    main(*sys.argv[1:])
