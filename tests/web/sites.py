"""One crawl for many cases: each is a host of its own, with what it answers, what the queue asks and what must follow.

A *place* names a URL or a target of a case: `/path` at the case's own host, `b/path` at the host b below it, with
`http:` or `https:` in front where the scheme matters. In texts `{host}` stands for the case's host with its http port
and `{tls}` for the one with its https port (so `b.{host}` is the host b), `{port}` for the http port alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seaspider.errors import ExitCode
from seaspider.loopback import Answer, Arrival, LoopbackWeb
from seaspider.loopback.certificates import Authority
from tests.crawling import Ended, crawl

NETWORK = "127.70.0.0/16"
"""Where the cases' hosts are, and the only addresses that their crawl may connect to: 127.0.0.1 is not among them."""

_PLACE = re.compile(r"(?!https?://)(?:(?P<scheme>https?):)?(?P<label>[a-z0-9.-]*)(?P<target>/.*)", re.DOTALL)
AS_IS = "="
"""A line of a queue that begins so is what follows, although it looks like a place."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `routes`: place -> route (robots.txt is a 404 if not said); `queue`: places or URLs, those of `ends` if
    not said; `names`: label of a host -> address or addresses, if they are not to be ordinary ones.

    What must follow: `asked`, the places asked for, in order of arrival; `ends`, place -> outcome (and reason) of each
    page record; `skipped`, fate (and reason) of the other lines in order; `pages`, place -> what else is in its record;
    `robots`, what is in the lines of robots.jsonl of its hosts. `outcome` says it in words, for docs/web-cases.md.
    """

    asked: Sequence[str]
    ends: Mapping[str, str]
    outcome: str = ""
    routes: Mapping[str, Any] = field(default_factory=dict)
    queue: Sequence[str] = ()
    skipped: Sequence[str] = ()
    pages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    robots: Sequence[Mapping[str, Any]] | None = None
    names: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


def host_of(id: str) -> str:
    """The host of a case: its id, what may not be in a name by its number."""
    label = re.sub(r"[^a-z0-9-]", lambda odd: f"x{ord(odd[0]):x}", id.lower().replace("/", "-"))
    return f"{label}.test"


def text(*lines: str | bytes) -> Answer:
    """A robots.txt."""
    encoded = (line.encode() if isinstance(line, str) else line for line in lines)
    return Answer(headers=(("Content-Type", "text/plain"),), body=b"".join(line + b"\n" for line in encoded))


def to(location: str, status: int = 302, **more: Any) -> Answer:
    """A redirect. The Location is written as Latin-1, so any octet can be in it."""
    return Answer(status, (("Location", location),), **more)


def picked(actual: Any, like: Any) -> Any:
    """Of `actual` what `like` has as well, at any depth, so that the two can be compared."""
    if isinstance(like, Mapping) and isinstance(actual, Mapping):
        return {key: picked(actual.get(key, "(no such key)"), value) for key, value in like.items()}
    if isinstance(like, Sequence) and not isinstance(like, str) and len(actual) == len(like):
        return [picked(one, other) for one, other in zip(actual, like, strict=True)]
    return actual


def as_lists(value: Any) -> Any:
    """As JSON has it."""
    return json.loads(json.dumps(value))


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one case, its hosts and ports written as in the case."""

    asked: list[str]
    arrivals: list[Arrival]
    pages: list[dict[str, Any]]
    skipped: list[str]
    robots: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    """Of each request its claim and its settle in one."""

    def ends(self) -> dict[str, str]:
        return {place(page["url"]): ending(page) for page in self.pages}

    def page(self, wanted: str) -> dict[str, Any]:
        [page] = [page for page in self.pages if place(page["url"]) == wanted]
        return page


def ending(page: Mapping[str, Any]) -> str:
    return f"{page['outcome']}/{page['reason']}" if page["reason"] else page["outcome"]


def place(url: str) -> str:
    """The place of a URL of a case; the URL itself if it is elsewhere."""
    found = re.fullmatch(r"(https?)://(?:([^/]*)\.)?\{(host|tls)\}(/.*)", url, re.DOTALL)
    if found is None or (found[1] == "https") != (found[3] == "tls"):
        return url
    return f"{'https:' if found[1] == 'https' else ''}{found[2] or ''}{found[4]}"


class Crawled:
    """A crawl of cases, at interval 0 if `settings` say nothing else."""

    def __init__(self, cases: Mapping[str, Case], folder: Path, **options: Any) -> None:
        self.cases = cases
        self.names = {host: address for id, case in cases.items() for host, address in _hosts(id, case).items()}
        self._number(self.names)
        authority = Authority()
        (folder / "authority.pem").write_text(authority.pem)
        routes = {key: route for id, case in cases.items() for key, route in _routes(id, case).items()}
        settings = {"SEASPIDER_ALLOWED_NETWORKS": NETWORK, "DOWNLOAD_TIMEOUT": 30, **options.pop("settings", {})}
        with LoopbackWeb(routes, names=self.names, tls=authority.server(list(self.names))) as web:
            self.port, self.tls_port = web.port, web.tls_port
            self.lines = [(id, self._line(id, line)) for id, case in cases.items() for line in case.queue or case.ends]
            queue = folder / "queue.txt"
            queue.write_bytes(b"".join(line.encode() + b"\n" for _, line in self.lines))
            self.ended: Ended = crawl(
                queue,
                folder,
                names=self.names,
                settings=settings,
                environment={"SSL_CERT_FILE": str(folder / "authority.pem")},
                **options,
            )
            assert self.ended.exit != ExitCode.USAGE, self.ended.log
            self.inside = web.connections_to("127.0.0.1")
            """Connections to the address that is not allowed."""
            self.arrivals = web.arrivals

    @staticmethod
    def _number(names: dict[str, Any]) -> None:
        for number, host in enumerate(names):
            if names[host] is None:
                names[host] = f"127.70.{number // 250}.{number % 250 + 1}"

    def _line(self, id: str, line: str) -> str:
        found = _PLACE.fullmatch(line)
        if found:
            label = f"{found['label']}." if found["label"] else ""
            line = f"{'https' if found['scheme'] == 'https' else 'http'}://{label}"
            line += ("{tls}" if found["scheme"] == "https" else "{host}") + found["target"]
        return (
            _filled(line.removeprefix(AS_IS), id)
            .replace("{port}", str(self.port))
            .replace("{tlsport}", str(self.tls_port))
        )

    def seen(self, id: str) -> Seen:
        host = host_of(id)
        numbers = {number for number, (of, _) in enumerate(self.lines, 1) if of == id}
        arrivals = [one for one in self.arrivals if _below(one.name, host)]
        return Seen(
            [self._place(one, host) for one in arrivals],
            arrivals,
            [self._plain(row, host) for row in self.ended.records("pages") if row["line"] in numbers],
            [
                f"{row['fate']}/{row['reason']}" if row["reason"] else row["fate"]
                for row in self.ended.records("skipped")
                if row["line"] in numbers
            ],
            [
                self._plain(row, host)
                for row in self.ended.records("robots")
                if _below(re.sub(r".*//|:\d+$", "", row["origin"]), host)
            ],
            [self._plain(row, host) for row in self._requests() if _below(row["host"], host)],
        )

    def _requests(self) -> list[dict[str, Any]]:
        rows: dict[int, dict[str, Any]] = {}
        for row in self.ended.records("requests"):
            rows.setdefault(row["n"], {}).update(row)
        return list(rows.values())

    def _plain(self, row: dict[str, Any], host: str) -> dict[str, Any]:
        known = json.dumps(row).replace(f"{host}:{self.port}", "{host}").replace(f"{host}:{self.tls_port}", "{tls}")
        return json.loads(known.replace(f":{self.port}/", ":{port}/"))

    @staticmethod
    def _place(arrival: Arrival, host: str) -> str:
        label = arrival.name.removesuffix(host).removesuffix(".")
        return f"{'https:' if arrival.scheme == 'https' else ''}{label}{arrival.target}"


def _below(name: str, host: str) -> bool:
    return name == host or name.endswith(f".{host}")


def _hosts(id: str, case: Case) -> dict[str, Any]:
    """The case's hosts; None is an ordinary address, to be chosen."""
    found = [_PLACE.fullmatch(key) for key in [*case.routes, *case.queue, *case.ends]]
    labels = {match["label"] for match in found if match} | {""}
    ordinary = {f"{label}.{host_of(id)}" if label else host_of(id): None for label in sorted(labels - {*case.names})}
    return ordinary | {f"{label}.{host_of(id)}" if label else host_of(id): at for label, at in case.names.items()}


def _routes(id: str, case: Case) -> dict[str, Any]:
    served = {host: at for host, at in _hosts(id, case).items() if at is None}
    routes: dict[str, Any] = {f"{host}/robots.txt": Answer(404) for host in served}
    for key, route in case.routes.items():
        found = _PLACE.fullmatch(key)
        assert found, key
        host = f"{found['label']}.{host_of(id)}" if found["label"] else host_of(id)
        scheme = f"{found['scheme']}://" if found["scheme"] else ""
        routes[f"{scheme}{host}{found['target']}"] = _route(route, id)
    return routes


def _route(route: Any, id: str) -> Any:
    if isinstance(route, tuple):
        return tuple(_route(one, id) for one in route)
    if not isinstance(route, Answer):
        return route
    return replace(
        route,
        body=_filled(route.body, id) if isinstance(route.body, str) else route.body,
        headers=tuple((name, _filled(value, id)) for name, value in route.headers),
        raw=None if route.raw is None else _filled(route.raw, id),
    )


def _filled(text: str, id: str) -> str:
    return text.replace("{host}", host_of(id) + ":{port}").replace("{tls}", host_of(id) + ":{tlsport}")


def check(crawled: Crawled, id: str) -> None:
    """The case went as it must."""
    case, seen = crawled.cases[id], crawled.seen(id)
    assert seen.asked == list(case.asked)
    assert seen.ends() == dict(case.ends)
    assert seen.skipped == list(case.skipped)
    assert len(seen.pages) + len(seen.skipped) == len(case.queue or case.ends)
    for where, expected in case.pages.items():
        assert picked(seen.page(where), expected) == as_lists(expected)
    if case.robots is not None:
        assert picked(seen.robots, case.robots) == as_lists(case.robots)


def where(cases: Mapping[str, Case], test: str) -> dict[str, str]:
    """The WHERE of the cases that `test` shows, each named by its id."""
    return {id: f"{test}[{id}]: {case.outcome}" for id, case in cases.items() if "/" not in id}
