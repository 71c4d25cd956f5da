"""Surfaces that are closed: ports, proxies, schemes, credentials, terminals, and what lies beside the store.

Real crawls and commands. Where another test shows it already, SECURITY.md names that one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import File
from seaspider.errors import StoreError
from seaspider.loopback import Answer, Fault, LoopbackWeb
from seaspider.store import FolderStore
from seaspider.storereader import StoreReader
from tests.crash.warm import MOST_S, Warm, shared
from tests.crawling import ROOT, command
from tests.rawserver import RawServer, close_after
from tests.web.sites import AS_IS, Case, Crawled, check, text, to
from tests.web.terminal import Terminal, obeyed

R = "/robots.txt"
HTML = ("Content-Type", "text/html; charset=utf-8")
NETWORK = {"SEASPIDER_ALLOWED_NETWORKS": "127.73.0.0/16"}


@pytest.fixture(scope="module")
def warm() -> Warm:
    return shared()


# --- ports ---

LISTENING, ACCEPTS = "0A", 0x10000
NAME = {"a.test": "127.73.1.1"}


def ports(pid: int) -> list[str]:
    """The listening sockets of a process: TCP over IPv4 and IPv6, UDP that takes from anybody, and UNIX ones."""
    links = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    own = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    found = []
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
            _, local, remote, state, *rest = line.split()
            listens = state == LISTENING if kind.startswith("tcp") else remote.endswith(":0000")
            if rest[5] in own and listens:
                found.append(f"{kind} {local}")
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[6] in own and int(fields[3], 16) & ACCEPTS:
            found.append(f"unix {fields[7:]}")
    return found


def while_it_crawls(warm: Warm, folder: Path, look: Callable[[int], Any], *switches: str, sabotage: str = "") -> Any:
    """What `look` sees of the process while its first page is under way."""
    with LoopbackWeb({R: Answer(404), "/1": Answer(fault=Fault.HANG)}, names=NAME) as web:
        queue = folder / "queue.txt"
        queue.write_text(web.url("a.test", "/1"))
        args = ["crawl", "seaspider", "-a", f"queue={queue}", "-a", f"store={folder / 'store'}", *switches]
        settings = {"SEASPIDER_LEDGER": folder / "ledger.sqlite3", "DOWNLOAD_TIMEOUT": 60, **NETWORK}
        crawl = warm.start(command(args, names=NAME, settings=settings, sabotage=sabotage), folder / "log.txt")
        try:
            web.wait_until(lambda seen: any(one.target == "/1" for one in seen), 30)
            return look(crawl.pid)
        finally:
            crawl.kill()
            crawl.wait(MOST_S)


def test_no_port_listens(warm: Warm, tmp_path: Path) -> None:
    assert while_it_crawls(warm, tmp_path, ports) == []


def test_twin_with_a_telnet_console_a_port_listens(warm: Warm, tmp_path: Path) -> None:
    """Which the guard refuses: tests/test_guard.py."""
    extensions = '{"seaspider.extension.Seaspider": 0, "scrapy.extensions.telnet.TelnetConsole": 1}'
    switches = ("-s", f"EXTENSIONS={extensions}", "-s", "TELNETCONSOLE_ENABLED=True")
    switches += ("-s", "TELNETCONSOLE_HOST=127.0.0.1")
    unguarded = "from seaspider import guard; guard.check = lambda settings: None"
    [port] = while_it_crawls(warm, tmp_path, ports, *switches, sabotage=unguarded)
    assert port.startswith("tcp 0100007F:")


# --- proxies, schemes, credentials: one crawl ---

SECRET, USER = "pa55-w0rd", "some-b0dy"
WITH = f"{USER}:{SECRET}@"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy")

FOREIGN = (
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file:/etc/passwd",
    "file://{host}/x",
    "data:text/html,x",
    "ftp://{host}/x",
    "ftps://{host}/x",
    "s3://bucket/key",
    "gopher://{host}/x",
    "ws://{host}/x",
    "javascript:1",
    "about:blank",
    "jar:http://{host}/!/x",
)


def page(markup: str) -> Answer:
    return Answer(200, (HTML,), markup)


CASES: dict[str, Case] = {
    "proxy/plain": Case((R, "/a"), {"/a": "stored"}, routes={"/a": page("x")}),
    "proxy/tls": Case(
        ("https:/robots.txt", "https:/a"),
        {"https:/a": "stored"},
        routes={"https:/robots.txt": Answer(404), "https:/a": page("x")},
    ),
    "proxy/redirect": Case((R, "/a", "/b"), {"/a": "stored"}, routes={"/a": to("/b"), "/b": page("x")}),
    "scheme/queue": Case(
        (R, "/a"),
        {"/a": "stored"},
        routes={"/a": page("x")},
        queue=["/a", *(AS_IS + url for url in FOREIGN)],
        skipped=["rejected/scheme"] * len(FOREIGN),
    ),
    "scheme/redirect": Case(
        (R, *(f"/{n}" for n in range(len(FOREIGN)))),
        {f"/{n}": "refused/scheme" for n in range(len(FOREIGN))},
        routes={f"/{n}": to(url) for n, url in enumerate(FOREIGN)},
    ),
    "scheme/robots": Case(
        (R,),
        {"/a": "deferred/robots-unreachable"},
        routes={R: to("file:///etc/passwd")},
        robots=[{"reason": "refused-target"}],
    ),
    "scheme/link": Case(
        (R, "/a"),
        {"/a": "stored"},
        routes={"/a": page("".join(f"<a href='{url}'>" for url in FOREIGN))},
        pages={"/a": {"links": len(FOREIGN)}},
    ),
    "scheme/base": Case((R, "/a"), {"/a": "stored"}, routes={"/a": page("<base href='file:///etc/'><a href=passwd>")}),
    "scheme/refresh": Case(
        (R, "/a"), {"/a": "stored"}, routes={"/a": page("<meta http-equiv=refresh content='0;url=file:///etc/passwd'>")}
    ),
    "credentials/queue": Case(
        (),
        {},
        queue=[
            AS_IS + url
            for url in (
                f"http://{WITH}{{host}}/",
                f"https://{WITH}{{host}}/",
                f"http://{USER}@{{host}}/",
                f"ftp://{WITH}{{host}}/",
                f"http:{WITH}{{host}}/",
                f"\\\\{WITH}{{host}}/",
                f"{WITH}{{host}}/",
                f'"http://{WITH}{{host}}/"',
                f"<http://{WITH}{{host}}/>",
                f"http://{WITH}{{host}}:99999/",
                f"http://{USER}:a/{SECRET}@{{host}}/",
                f"//{WITH}{{host}}/",
                f"x,http://{WITH}{{host}}/",
                f"http://{USER}:a@{SECRET}@{{host}}/",
                f"http://{WITH}{{host}}/\xa0",
                f"ht\ttp://{WITH}{{host}}/",
            )
        ],
        skipped=[
            *["rejected/userinfo"] * 3,
            "rejected/scheme",
            "rejected/syntax",
            "rejected/missing-scheme",
            "rejected/scheme",
            *["rejected/missing-scheme"] * 2,
            "rejected/userinfo",
            "rejected/port",
            *["rejected/missing-scheme"] * 2,
            *["rejected/userinfo"] * 3,
        ],
    ),
    "credentials/location": Case(
        (R, *(f"/{n}" for n in range(8))),
        {
            **{f"/{n}": "refused/userinfo" for n in range(5)},
            "/5": "refused/scheme",
            "/6": "stored",
            "/7": "refused/bad-location",
        },
        routes={
            "/0": to(f"http://{WITH}{{host}}/"),
            "/1": to(f"//{WITH}{{host}}/"),
            "/2": to(f"\\\\{USER}@{{host}}/"),
            "/3": to(f"ht\ttp://{WITH}{{host}}/"),
            "/4": to(f"HTTP:\\/{WITH}{{host}}/"),
            "/5": to(f"ftp://{WITH}{{host}}/"),
            # Not followed, but in the record of the request.
            "/6": Answer(200, (("Location", f"http://{WITH}{{host}}/"),), "x"),
            # Two that differ in what is hidden only are two all the same.
            "/7": Answer(302, (("Location", f"http://{WITH}{{host}}/"), ("Location", f"http://{USER}@{{host}}/"))),
        },
    ),
    "credentials/robots": Case(
        ("b/robots.txt", R, "b/a"),
        {"/a": "deferred/robots-unreachable", "b/a": "stored"},
        routes={R: to(f"http://{WITH}{{host}}/"), "b/robots.txt": text(f"Sitemap: http://{WITH}h/"), "b/a": page("x")},
        robots=[{"sitemaps": ["http://***@h/"]}, {"state": "unreachable"}],
    ),
    "credentials/links": Case(
        (R, "/a", "/b"),
        {"/a": "stored", "/b": "stored"},
        routes={
            "/a": page(
                f"<a href='http://{WITH}{{host}}/x'><a href='//{WITH}{{host}}/x'><a href='\\\\{USER}@h/x'><a href='ht\ntp://{WITH}h'>"
                f"<area href='ftp://{WITH}h/x'><meta http-equiv=refresh content='0;url=http://{WITH}h/'>"
            ),
            "/b": page(f"<base href='http://{WITH}{{host}}/'><a href=x>"),
        },
        pages={"/a": {"links": 6}, "/b": {"links": 1}},
    ),
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[RawServer]:
    with RawServer(close_after(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nproxy"), read_request=False) as server:
        yield server


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, proxy: RawServer) -> Crawled:
    url = f"http://{WITH}{proxy.host}:{proxy.port}"
    told = {name: "" if name == "no_proxy" else url for name in VARIABLES}
    told |= {name.upper(): value for name, value in told.items()}
    return Crawled(
        CASES,
        tmp_path_factory.mktemp("surfaces"),
        arguments={"follow": "host"},
        settings={"LOG_LEVEL": "DEBUG"},
        sabotage=f"import os; os.environ.update({told!r})",
    )


@pytest.mark.parametrize("id", CASES)
def test_surfaces(crawled: Crawled, id: str) -> None:
    check(crawled, id)


def test_no_proxy_of_the_environment_is_asked(
    crawled: Crawled, proxy: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert crawled.arrivals
    assert proxy.connections == 0
    # Twin: who heeds the environment does ask it, by each of its names.
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        with monkeypatch.context() as patch:
            patch.setenv(name, f"http://{proxy.host}:{proxy.port}")
            assert set(urllib.request.getproxies().values()) == {f"http://{proxy.host}:{proxy.port}"}


def test_links_of_other_schemes_are_recorded_and_not_followed(crawled: Crawled) -> None:
    rows = [row for row in crawled.ended.records("links") if "scheme-" in row["page"]]
    assert [row["reason"] for row in rows] == ["scheme"] * (len(FOREIGN) + 2)


def test_no_credentials_are_in_records_or_log(crawled: Crawled) -> None:
    written = {file: (crawled.ended.store / file).read_text() for file in File} | {"log": crawled.ended.log}
    for name, content in written.items():
        assert SECRET not in content, name
        assert USER not in content, name
    assert "http://***@" in written[File.SKIPPED]
    assert "http://***@" in written[File.REQUESTS]
    assert "http://***@" in written[File.PAGES]
    assert "http://***@" in written[File.LINKS]


@pytest.mark.parametrize(
    "switches", [("verify",), ("verify", "--queue"), ("replay",), ("replay", "--queue")], ids=" ".join
)
def test_what_is_hidden_keeps_nobody_from_proving_and_replaying_the_store(
    crawled: Crawled, warm: Warm, tmp_path: Path, switches: tuple[str, ...]
) -> None:
    store, (name, *more) = crawled.ended.store, switches
    args = [name, str(store), *(part for switch in more for part in (switch, str(store.parent / "queue.txt")))]
    args += ["-a", f"store={tmp_path / 'new'}"] if name == "replay" else []
    code = warm.start(command(args), tmp_path / "log.txt").wait(MOST_S)
    assert code == 0, (tmp_path / "log.txt").read_text()


def test_a_setting_with_credentials_is_refused_without_them(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "queue.txt").write_text("http://a.test/\n")
    given = json.dumps({"Authorization": f"Basic {SECRET}"})
    args = ["crawl", "seaspider", "-a", f"queue={tmp_path / 'queue.txt'}", "-s", f"DEFAULT_REQUEST_HEADERS={given}"]
    assert warm.start(command(args), tmp_path / "log.txt").wait(MOST_S) == 2
    line = (tmp_path / "log.txt").read_text()
    assert line.startswith("scrapy crawl: setting DEFAULT_REQUEST_HEADERS = {'Authorization': '***'}: ")


# --- terminals ---

C0 = "".join(chr(code) for code in (*range(1, 0x20), 0x7F) if chr(code) not in "\r\n")
EVIL = f"\x1b[2J\x1b]0;title\x07\x9b31m\x9d0;title\x9c{C0}"
"""As octets of a header, where C1 are single octets."""
ODD = (("X-Odd", EVIL), ("Server", EVIL), ("ETag", EVIL), ("Retry-After", f"0{EVIL}"), (HTML[0], HTML[1] + EVIL))
RULES = text(
    "User-agent: *", f"Disallow: /no{EVIL}", "Disallow: /n\x1b", "Disallow: /n", f"Sitemap: http://x/{EVIL}", EVIL
)
MARKUP = f"<title>{EVIL}</title><a href='/2{EVIL}' rel='{EVIL}'>{EVIL}</a><a href='x:{EVIL}'>"
HOSTS = {f"{name}.test": f"127.73.2.{number}" for number, name in enumerate("abcdefgh", 1)}
ROUTES = {
    "/*": Answer(200, ODD, f"x{EVIL}", reason=EVIL),
    "a.test/robots.txt": Answer(200, (("Content-Type", f"text/plain{EVIL}"),), RULES.body, reason=EVIL),
    R: Answer(404, ODD, reason=EVIL),
    "a.test/1": Answer(200, ODD, MARKUP, reason=EVIL),
    "b.test/1": Answer(302, (*ODD, ("Location", f"http://[{EVIL}")), reason=EVIL),
    "c.test/1": Answer(302, (*ODD, ("Location", f"/{EVIL}")), reason=EVIL),
    "d.test/1": Answer(raw=f"{EVIL} HTTP/1.1 200 OK\r\n\r\n", fault=Fault.RAW_CLOSE),
    "e.test/robots.txt": Answer(302, (("Location", f"ftp://{EVIL}"),), reason=EVIL),
    "f.test/1": Answer(200, (("Content-Encoding", EVIL), *ODD), "x"),
    "g.test/1": Answer(429, (("Retry-After", "99999"), *ODD), "x", reason=EVIL),
    "h.test/1": Answer(200, (("Transfer-Encoding", EVIL), *ODD), "x"),
}
LINES = (f"x:{EVIL}", f"http://{EVIL}/", f"http://u:{EVIL}@h/", EVIL)


class Shown:
    """A store of a crawl of all that, and its commands on a terminal."""

    def __init__(self, folder: Path, warm: Warm, web: LoopbackWeb) -> None:
        self.folder, self.web, self.warm = folder, web, warm
        self.queue, self.store = folder / "queue.txt", folder / "store"
        lines = [*(web.url(host, "/1") for host in HOSTS), web.url("a.test", "/no"), *LINES]
        self.queue.write_text("".join(f"{line}\n" for line in lines))
        self.crawled = self.on_terminal(*self.crawl(self.store), "-s", "LOG_LEVEL=DEBUG")

    def crawl(self, store: Path) -> list[str]:
        return ["crawl", "seaspider", "-a", f"queue={self.queue}", "-a", f"store={store}", "-a", "follow=host"]

    def on_terminal(self, *args: str, timeout_s: float = MOST_S) -> tuple[int, bytes]:
        return Terminal(self.warm).run(self.line(*args, sabotage="import os; os.environ['TERM'] = 'xterm'"), timeout_s)

    def in_file(self, *args: str) -> tuple[int, bytes]:
        out = self.folder / "out"
        return self.warm.start(self.line(*args), out).wait(MOST_S), out.read_bytes()

    def line(self, *args: str, sabotage: str = "") -> list[str]:
        ledger = self.folder / "ledger.sqlite3"
        settings = {"SEASPIDER_LEDGER": ledger, "SEASPIDER_BACKOFF_BASE": 0.01, "SEASPIDER_BACKOFF_CAP": 1, **NETWORK}
        return command(list(args), names=HOSTS, settings=settings, sabotage=sabotage)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[Shown]:
    with LoopbackWeb(ROUTES, names=HOSTS) as web:
        yield Shown(tmp_path_factory.mktemp("terminal"), warm, web)


def test_a_crawl_on_a_terminal(shown: Shown) -> None:
    code, written = shown.crawled
    assert code == 3
    assert obeyed(written) == []
    assert b"\x1b[K" in written  # the live line, so it was a terminal
    outcomes = {row["outcome"] for row in StoreRecords(shown.store).pages}
    assert outcomes == {"stored", "refused", "failed", "deferred", "disallowed"}


class StoreRecords:
    def __init__(self, store: Path) -> None:
        self.pages = [json.loads(line) for line in (store / File.PAGES).read_text().splitlines()]


# name -> (exit code, arguments); {URL of a host} and paths are filled in.
SAYS: dict[str, tuple[int, tuple[str, ...]]] = {
    "fetch": (0, ("fetch", "{a}/1")),
    "fetch-headers": (0, ("fetch", "--headers", "{a}/1")),
    "fetch-forbidden": (3, ("fetch", "{a}/no")),
    "fetch-no-http": (3, ("fetch", "{d}/1")),
    "robots": (0, ("robots", "{a}/no")),
    "robots-unreachable": (3, ("robots", "{e}/1")),
    "plan": (0, ("plan", "{queue}", "--store", "{new}")),
    "explain": (0, ("explain", "{a}/no", "--store", "{store}")),
    "explain-redirect": (0, ("explain", "{b}/1", "--store", "{store}")),
    "explain-rejected": (0, ("explain", LINES[0], "--store", "{store}")),
    "receipt": (0, ("receipt", "a.test", "--store", "{store}")),
    "receipt-slowed": (0, ("receipt", "g.test", "--store", "{store}")),
    "receipt-of-nobody": (2, ("receipt", EVIL, "--store", "{store}")),
    "verify": (0, ("verify", "{store}")),
    "feed-csv": (3, ("CRAWL", "-o", "-:csv")),
    "feed-jsonl": (3, ("CRAWL", "-o", "-:jsonl")),
}


def filled(shown: Shown, args: Sequence[str]) -> list[str]:
    known = {host.partition(".")[0]: shown.web.url(host, "") for host in HOSTS}
    known |= {"queue": str(shown.queue), "store": str(shown.store), "new": str(shown.folder / "new")}
    named = re.compile("{(" + "|".join(known) + ")}")
    given = [named.sub(lambda name: known[name[1]], arg) for arg in args]
    return [*shown.crawl(shown.folder / f"store-{given[-1][2:]}"), *given[1:]] if given[0] == "CRAWL" else given


@pytest.mark.parametrize("name", SAYS)
def test_what_commands_show_on_a_terminal(shown: Shown, name: str) -> None:
    code, args = SAYS[name]
    assert obeyed(EVIL.encode()) != []
    ended, written = shown.on_terminal(*filled(shown, args))
    assert ended == code, written.decode(errors="replace")
    assert obeyed(written) == []
    assert len(written) > 40


def test_a_log_in_a_file_has_nothing_to_obey(shown: Shown) -> None:
    """Somebody looks at it with cat."""
    code, written = shown.in_file(*shown.crawl(shown.folder / "store-file"), "-s", "LOG_LEVEL=DEBUG")
    assert (code, obeyed(written)) == (3, [])


def test_twin_in_a_file_fetch_leaves_the_octets_as_they_came(shown: Shown) -> None:
    code, written = shown.in_file("fetch", shown.web.url("a.test", "/1"))
    assert code == 0
    assert MARKUP.encode() in written


def test_each_line_of_the_store_is_one_printable_line(shown: Shown) -> None:
    """More values: tests/web/test_resume.py."""
    for file in File:
        lines = (shown.store / file).read_bytes().decode("ascii").split("\n")
        assert lines.pop() == ""
        assert all(line.isprintable() and isinstance(json.loads(line), dict) for line in lines)


# --- a store that somebody tampered with ---


def poisoned(value: Any) -> Any:
    """Every text longer than what is compared with something gets an escape sequence."""
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return f"{value}\x1b[2J\u009b31m" if isinstance(value, str) else value


def tampered(shown: Shown, folder: Path, file: File, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    shutil.copytree(shown.store, folder)
    lines = [json.loads(line) for line in (folder / file).read_text().splitlines()]
    (folder / file).write_text("".join(json.dumps(change(line)) + "\n" for line in lines))
    return folder


READERS = {
    "explain": ("explain", "{a}/no", "--store", "STORE"),
    "receipt": ("receipt", "a.test", "--store", "STORE"),
    "plan": ("plan", "{queue}", "--store", "STORE"),
    "verify": ("verify", "STORE"),
    "replay": ("replay", "STORE", "-a", "store=NEW"),
}


def read(shown: Shown, reader: str, store: Path, timeout_s: float = MOST_S) -> tuple[int, bytes]:
    places = {"STORE": str(store), "store=NEW": f"store={store}-new-{reader}"}
    return shown.on_terminal(*(places.get(arg, arg) for arg in filled(shown, READERS[reader])), timeout_s=timeout_s)


@pytest.mark.parametrize("file", File)
def test_a_tampered_text_is_not_obeyed(shown: Shown, tmp_path: Path, file: File) -> None:
    store = tampered(shown, tmp_path / "store", file, poisoned)
    for reader in READERS:
        code, written = read(shown, reader, store)
        assert code in (0, 1, 2, 3, 74), (reader, written.decode(errors="replace"))
        assert b"Traceback" not in written, (reader, written.decode(errors="replace"))
        assert obeyed(written) == [], reader


HOSTILE_NAMES = ("../../outside", "/dev/zero", "PIPE", "..", "", "a/b", "0" * 63, "\x00", "é" * 64)


def no_reader_leaves_the_store(shown: Shown, store: Path) -> None:
    """Each ends in time, without a traceback and without what lies beside the store."""
    for reader in READERS:
        code, written = read(shown, reader, store, timeout_s=20)
        assert code in (0, 1, 2, 3, 74), reader
        assert b"Traceback" not in written, (reader, written.decode(errors="replace"))
        assert MINE.encode() not in written, reader


MINE = "/b3side-the-st0re"
"""In a file that lies there."""


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_a_hostile_digest_leads_nowhere(shown: Shown, tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text(f"User-agent: *\nDisallow: {MINE}\n")
    os.mkfifo(tmp_path / "pipe")
    digest = name.replace("PIPE", str(tmp_path / "pipe"))
    store = tmp_path / "store"
    shutil.copytree(shown.store, store)
    for file in (File.ROBOTS, File.PAGES):
        lines = [json.loads(line) for line in (store / file).read_text().splitlines()]
        changed = [{**line, "sha256": digest} if line["sha256"] else line for line in lines]
        (store / file).write_text("".join(json.dumps(line) + "\n" for line in changed))
    no_reader_leaves_the_store(shown, store)
    assert StoreReader(store).body(digest) is None


LINKS_OUT: dict[str, Callable[[Path], None]] = {
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "file": lambda path: path.symlink_to(path.parents[3] / "outside"),
    "nothing": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("kind", LINKS_OUT)
def test_a_body_that_is_no_file_is_not_waited_for(shown: Shown, tmp_path: Path, kind: str) -> None:
    (tmp_path / "outside").write_text(f"User-agent: *\nDisallow: {MINE}\n")
    store = tmp_path / "store"
    shutil.copytree(shown.store, store)
    for body in (store / "bodies").glob("??/*"):
        body.unlink()
        LINKS_OUT[kind](body)
    no_reader_leaves_the_store(shown, store)


@pytest.mark.parametrize("file", [File.PAGES, File.ROBOTS, File.MANIFEST])
def test_a_journal_that_is_a_pipe_is_not_waited_for(shown: Shown, tmp_path: Path, file: File) -> None:
    store = tmp_path / "store"
    shutil.copytree(shown.store, store)
    (store / file).unlink()
    os.mkfifo(store / file)
    for reader in READERS:
        code, written = read(shown, reader, store, timeout_s=20)
        assert code in (2, 74), (reader, written)


# --- what is written stays in the store ---

BODY = b"a body"
PLACES = (*File, "lock", "bodies")


@pytest.mark.parametrize("there", [True, False], ids=["a-file-of-mine", "nothing-yet"])
@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_the_store_is_not_written_through(tmp_path: Path, place: str, there: bool) -> None:
    """Whoever may write to the folder, or packed it, would choose a file of the user's."""
    mine, store = tmp_path / "mine", tmp_path / "store"
    FolderStore(store).close()
    if place == "bodies":
        (store / place).rmdir()
        if there:
            mine.mkdir()
    else:
        (store / place).unlink()
        if there:
            mine.write_text("mine\n")
    (store / place).symlink_to(mine)
    with pytest.raises(StoreError, match=re.escape(str(store / place)) + "|" + re.escape(f"store {str(store)!r}")):
        FolderStore(store)
    assert mine.exists() is there
    assert not there or (list(mine.iterdir()) == [] if mine.is_dir() else mine.read_text() == "mine\n")


@pytest.mark.parametrize("what", ["folder", "body", "part"])
def test_a_link_among_the_bodies_is_not_written_through(tmp_path: Path, what: str) -> None:
    mine = tmp_path / "mine"
    store = FolderStore(tmp_path / "store")
    digest = hashlib.sha256(BODY).hexdigest()
    folder = store.folder / "bodies" / digest[:2]
    if what == "folder":
        mine.mkdir()
        folder.symlink_to(mine)
        with pytest.raises(StoreError, match="is a symbolic link"):
            store.put_body(BODY)
        assert list(mine.iterdir()) == []
    else:
        mine.write_text("mine")
        folder.mkdir()
        (folder / (digest if what == "body" else f"{digest}.part")).symlink_to(mine)
        assert store.put_body(BODY) == digest
        assert mine.read_text() == "mine"
        assert sorted(path.name for path in folder.iterdir()) == [digest]
        assert not (folder / digest).is_symlink()
    store.close()


def test_a_body_that_is_a_device_is_not_read_for_ever(tmp_path: Path) -> None:
    """An empty body is as long as a device says it is."""
    store = FolderStore(tmp_path / "store")
    digest = hashlib.sha256(b"").hexdigest()
    path = store.folder / "bodies" / digest[:2] / digest
    path.parent.mkdir()
    path.symlink_to("/dev/zero")
    assert store.put_body(b"") == digest
    assert path.read_bytes() == b""
    store.close()


def test_the_crawl_says_which_link_is_in_the_way(shown: Shown, tmp_path: Path) -> None:
    store = tmp_path / "store"
    FolderStore(store).close()
    (store / "bodies").rmdir()
    (store / "bodies").symlink_to(tmp_path)
    code, written = shown.in_file(*shown.crawl(store))
    line = f"scrapy crawl: store {str(store)!r} cannot be written: bodies in it is a symbolic link\n"
    assert (code, written.decode()) == (74, line)


STORES = {
    "": (2, "argument -a store=: must name a file or folder"),
    "FOLDER/queue.txt": (74, "store 'FOLDER/queue.txt' cannot be written: Not a directory"),
    "FOLDER/queue.txt/x": (74, "store 'FOLDER/queue.txt/x' cannot be written: Not a directory"),
    "FOLDER/queue.txt/\x1b[2J": (74, "store 'FOLDER/queue.txt/\\x1b[2J' cannot be written: Not a directory"),
    "/proc/store": (74, "store '/proc/store' cannot be written: No such file or directory"),
}


@pytest.mark.parametrize("given", STORES, ids=range(len(STORES)))
def test_odd_stores_are_one_line(shown: Shown, tmp_path: Path, given: str) -> None:
    code, line = STORES[given]
    (tmp_path / "queue.txt").write_text(shown.web.url("a.test", "/1") + "\n")
    args = ["crawl", "seaspider", "-a", f"queue={tmp_path / 'queue.txt'}"]
    ended, written = shown.in_file(*args, "-a", f"store={given.replace('FOLDER', str(tmp_path))}")
    assert (ended, written.decode()) == (code, f"scrapy crawl: {line.replace('FOLDER', str(tmp_path))}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["queue.txt"]


def test_twin_a_link_that_is_not_looked_for_is_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path / "store")
    digest = hashlib.sha256(BODY).hexdigest()
    (tmp_path / "mine").mkdir()
    (store.folder / "bodies" / digest[:2]).symlink_to(tmp_path / "mine")
    monkeypatch.setattr("seaspider.bodyshelf.refuse_link", lambda path: None)
    store.put_body(BODY)
    assert (tmp_path / "mine" / digest).read_bytes() == BODY
    store.close()


@pytest.mark.parametrize("what", ["fetch", "robots", "receipt"])
def test_a_command_does_not_repeat_credentials(shown: Shown, what: str) -> None:
    code, written = shown.in_file(what, f"http://{WITH}a.test/")
    assert code == 2
    assert b"http://***@a.test/" in written
    assert SECRET.encode() not in written


@pytest.mark.parametrize("url", ["file:///etc/passwd", "data:,x", "ftp://a.test/x"])
def test_fetch_asks_for_http_only(shown: Shown, url: str) -> None:
    assert shown.in_file("fetch", url) == (2, f"scrapy fetch: URL {url!r} cannot be asked for: scheme\n".encode())


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 20
    assert [test for file, test in named if f"def {test}(" not in (ROOT / file).read_text()] == []
