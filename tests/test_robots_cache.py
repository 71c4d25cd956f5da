"""Robots.txt over time and over runs: kept while in force, asked again once it is over, with validators if there are.

The wall clock is passed in (NOW): it stands at a moment for a whole run, so each expiry is exact to the millisecond.
Holds the recorded cases t-retry, t-stale-ok and s304-conditional; t-30-days is in test_robots_store.py.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.records import without_times
from seaspider.core.times import rfc3339_ms
from seaspider.loopback import Answer, Arrival, LoopbackWeb
from tests.crawling import Ended, crawl

NOW = "import os; from seaspider.clock import SystemClock; SystemClock.wall_ms = lambda self: int(os.environ['NOW_MS'])"
T0 = 1_796_015_856_123
FLOOR, RETRY, TTL = 600_000, 3_600_000, 86_400_000
TIMES = (0, FLOOR, RETRY - 1, RETRY, 2 * RETRY, TTL - 1, TTL, TTL + RETRY)
"""When the runs take place, ms after the first."""

MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT"
TAGGED = {"if-none-match": '"v1"'}
DATED = {**TAGGED, "if-modified-since": MODIFIED}
NONE: dict[str, str] = {}
Seen = list[tuple[str, dict[str, str]]]
"""Targets asked for robots.txt, each with the conditional headers of its request."""


def rules(path: str, *headers: tuple[str, str], status: int = 200) -> Answer:
    return Answer(status, headers, f"User-agent: *\nDisallow: {path}\n")


UNMODIFIED, DOWN = Answer(304), Answer(503)


@dataclass(frozen=True, slots=True)
class Story:
    """`answers` in order, the last repeats; `asked`: time -> validators; `says`: for each run, what holds then."""

    answers: tuple[Answer, ...]
    asked: dict[int, dict[str, str]]
    says: tuple[str, ...]
    at: str = "/robots.txt"
    via: dict[str, Answer] = field(default_factory=dict)


RULES = ("rules",) * 8
STORIES = {
    # case s304-conditional
    "keep": Story(
        (rules("/page", ("ETag", '"v1"'), ("Last-Modified", MODIFIED)), UNMODIFIED), {0: NONE, TTL: DATED}, RULES
    ),
    "changed": Story(
        (rules("/page", ("ETag", '"v1"')), rules("/open", ("ETag", '"v2"'))),
        {0: NONE, TTL: TAGGED},
        ("rules",) * 6 + ("flipped",) * 2,
    ),
    # case t-stale-ok: expired rules are not used while the refetch fails; their validators live on
    "stale": Story(
        (rules("/page", ("ETag", '"v1"')), DOWN, UNMODIFIED),
        {0: NONE, TTL: TAGGED, TTL + RETRY: TAGGED},
        ("rules",) * 6 + ("wait", "rules"),
    ),
    # case t-retry
    "retry": Story((DOWN, rules("/page")), {0: NONE, RETRY: NONE, TTL + RETRY: NONE}, ("wait",) * 3 + ("rules",) * 5),
    "gone": Story(
        (DOWN,), dict.fromkeys((0, RETRY, 2 * RETRY, TTL - 1, TTL + RETRY), NONE), ("wait",) * 4 + ("given up",) * 4
    ),
    "later": Story(
        (Answer(503, (("Retry-After", "5400"),)), rules("/page")),
        {0: NONE, 2 * RETRY: NONE},
        ("wait",) * 4 + ("rules",) * 4,
    ),
    "capped": Story((Answer(429, (("Retry-After", "99999999"),)),), {0: NONE}, ("wait",) * 8),
    "absent": Story((Answer(404, (("ETag", '"v1"'),)),), {0: NONE, TTL: NONE}, ("all",) * 8),
    "hour": Story(
        (rules("/page", ("Cache-Control", "max-age=3600")),),
        dict.fromkeys((0, RETRY, 2 * RETRY, TTL - 1, TTL + RETRY), NONE),
        RULES,
    ),
    "second": Story(
        (rules("/page", ("Cache-Control", "max-age=1")),),
        dict.fromkeys((0, FLOOR, RETRY - 1, 2 * RETRY, TTL - 1, TTL + RETRY), NONE),
        RULES,
    ),
    # the URL that redirects never saw the validator
    "moved": Story(
        (rules("/page", ("ETag", '"v1"')), UNMODIFIED),
        {0: NONE, TTL: TAGGED},
        RULES,
        at="/r",
        via={"/robots.txt": Answer(302, (("Location", "/r"), ("ETag", '"v1"')))},
    ),
}
NAMES = {f"{name}.test": f"127.1.202.{number}" for number, name in enumerate(sorted(STORIES), 1)}
ENDINGS = {
    "rules": ("disallowed/robots-rule", "stored"),
    "flipped": ("stored", "disallowed/robots-rule"),
    "all": ("stored", "stored"),
    "wait": ("deferred/robots-unreachable", "deferred/robots-unreachable"),
    "given up": ("failed/robots-unreachable", "failed/robots-unreachable"),
}
"""How /page… and /open… end."""


@dataclass(frozen=True, slots=True)
class Timeline:
    ended: Ended
    port: int
    seen: list[dict[str, Seen]]
    """Per run and host, what was asked for robots.txt."""
    endings: list[dict[str, str]]
    """Per run, the endings by URL."""

    def rows(self, host: str) -> list[dict[str, Any]]:
        return [row for row in self.ended.records("robots") if row["origin"] == f"http://{host}:{self.port}"]


def conditional(arrival: Arrival) -> dict[str, str]:
    return {name.lower(): value for name, value in arrival.headers if name.lower().startswith("if-")}


def robots_of(arrivals: list[Arrival], host: str) -> Seen:
    return [(a.target, conditional(a)) for a in arrivals if a.name == host and a.target in ("/robots.txt", "/r")]


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """Eight runs on one store. Each queue has two new URLs a host, and the first one of all."""
    folder = tmp_path_factory.mktemp("timeline")
    routes: dict[str, Any] = {"/*": Answer(body="a page")}
    for name, story in STORIES.items():
        routes |= {f"{name}.test{path}": answer for path, answer in story.via.items()}
        routes[f"{name}.test{story.at}"] = story.answers
    seen, endings = [], []
    with LoopbackWeb(routes, names=NAMES) as web:
        for run, after_ms in enumerate(TIMES):
            paths = ["/page0", f"/page{run}", f"/open{run}"]
            queue = [web.url(host, path) for path in dict.fromkeys(paths) for host in NAMES]
            environment = {"NOW_MS": str(T0 + after_ms)}
            ended = crawl(queue, folder, names=NAMES, sabotage=NOW, environment=environment)
            assert ended.exit == 3, ended.log
            seen.append({host: robots_of(web.arrivals, host) for host in NAMES})
            endings.append(ended.endings())
            web.clear()
        return Timeline(ended, web.port, seen, endings)


@pytest.mark.parametrize("name", STORIES)
def test_robots_txt_is_asked_for_when_it_is_over_and_never_before(timeline: Timeline, name: str) -> None:
    story = STORIES[name]
    expected = [
        [*((path, NONE) for path in story.via), (story.at, story.asked[time])] if time in story.asked else []
        for time in TIMES
    ]
    assert [seen[f"{name}.test"] for seen in timeline.seen] == expected


@pytest.mark.parametrize("name", STORIES)
def test_what_is_in_force_decides(timeline: Timeline, name: str) -> None:
    origin = f"http://{name}.test:{timeline.port}"
    found = [
        (endings[f"{origin}/page{run}"], endings[f"{origin}/open{run}"]) for run, endings in enumerate(timeline.endings)
    ]
    assert found == [ENDINGS[what] for what in STORIES[name].says]


@pytest.mark.parametrize(("name", "life_ms"), [("gone", RETRY), ("later", 5_400_000), ("capped", 7 * TTL)])
def test_unreachable_lasts_for_the_period_or_a_longer_retry_after(timeline: Timeline, name: str, life_ms: int) -> None:
    first, *_ = timeline.rows(f"{name}.test")
    assert (first["fetched_at"], first["expires_at"]) == (rfc3339_ms(T0), rfc3339_ms(T0 + life_ms))
    url = f"http://{name}.test:{timeline.port}/page0"
    page, *_ = [page for page in timeline.ended.records("pages") if page["url"] == url]
    assert page["not_before"] == rfc3339_ms(T0 + life_ms)


def test_a_waiting_url_is_given_up_with_its_origin(timeline: Timeline) -> None:
    url = f"http://gone.test:{timeline.port}/page0"
    assert [endings[url] for endings in timeline.endings] == [ENDINGS[what][0] for what in STORIES["gone"].says]
    pages = [page for page in timeline.ended.records("pages") if page["url"] == url]
    # From the third failure on it is final, so it is not taken up again.
    assert [(page["run"], page["not_before"]) for page in pages] == [
        *((run, rfc3339_ms(T0 + RETRY)) for run in (1, 2, 3)),
        (4, rfc3339_ms(T0 + 2 * RETRY)),
        (5, None),
    ]


# --- the records ---

BODY = "User-agent: *\nDisallow: /page\n"
SHA256 = hashlib.sha256(BODY.encode()).hexdigest()


def test_a_line_of_robots_jsonl(timeline: Timeline) -> None:
    origin = f"http://keep.test:{timeline.port}"
    first, second = timeline.rows("keep.test")
    assert list(first.items()) == [
        ("v", 1),
        ("run", 1),
        ("id", 6),
        ("origin", origin),
        ("cause", "first"),
        (
            "chain",
            [{"url": f"{origin}/robots.txt", "ip": NAMES["keep.test"], "status": 200, "location": None, "error": None}],
        ),
        ("state", "parsed"),
        ("reason", None),
        ("status", 200),
        ("sha256", SHA256),
        ("bytes", len(BODY)),
        ("truncated", False),
        ("etag", '"v1"'),
        ("last_modified", MODIFIED),
        ("retry_after_s", None),
        ("fetched_at", rfc3339_ms(T0)),
        ("expires_at", rfc3339_ms(T0 + TTL)),
        ("sitemaps", []),
    ]
    renewed = {
        "run": 7,
        "id": second["id"],
        "cause": "expired",
        "chain": [{**first["chain"][0], "status": 304}],
        "status": 304,
        "fetched_at": rfc3339_ms(T0 + TTL),
        "expires_at": rfc3339_ms(T0 + 2 * TTL),
    }
    assert second == {**first, **renewed}
    assert (timeline.ended.store / "bodies" / SHA256[:2] / SHA256).read_text() == BODY


def test_lines_are_numbered_over_runs_and_say_why_they_came(timeline: Timeline) -> None:
    rows = timeline.ended.records("robots")
    assert [row["id"] for row in rows] == list(range(1, len(rows) + 1))
    causes = {name: [row["cause"] for row in timeline.rows(f"{name}.test")] for name in ("stale", "retry", "absent")}
    assert causes == {
        "stale": ["first", "expired", "retry"],
        "retry": ["first", "retry", "expired"],
        "absent": ["first", "expired"],
    }
    later, _ = timeline.rows("later.test")
    keys = ("state", "reason", "status", "sha256", "bytes", "retry_after_s")
    assert [later[key] for key in keys] == ["unreachable", "http-5xx", 503, None, None, 5400]
    moved, _ = timeline.rows("moved.test")
    assert [(hop["status"], hop["location"]) for hop in moved["chain"]] == [(302, "/r"), (200, None)]


@pytest.mark.parametrize(
    ("url", "decision", "rule", "line", "status"),
    [("/page0", "disallow", "Disallow: /page", 2, None), ("/open0", "allow", None, None, 200)],
)
def test_a_page_record_says_what_decided(
    timeline: Timeline, url: str, decision: str, rule: str | None, line: int | None, status: int | None
) -> None:
    origin = f"http://keep.test:{timeline.port}"
    assert without_times(timeline.ended.page(origin + url)["chain"]) == [
        {
            "url": origin + url,
            "ip": NAMES["keep.test"] if status else None,
            "decision": decision,
            "robots_id": 6,
            "group": "*",
            "rule": rule,
            "rule_line": line,
            "witness": decision,
            "crawl_delay_s": None,
            "status": status,
            "location": None,
            "error": None,
        }
    ]


# --- a twin: expired rules are used while the refetch fails ---

STALE_RULES = """
from seaspider.core.robotsbook import RobotsBook
real = RobotsBook.in_force
def in_force(self, origin, now_ms):
    return real(self, origin, now_ms) or self._body.get(origin)
RobotsBook.in_force = in_force
"""


def test_without_expiry_old_rules_go_on(tmp_path: Path) -> None:
    names = {"stale.test": NAMES["stale.test"]}
    routes = {"/*": Answer(body="a page"), "/robots.txt": STORIES["stale"].answers}
    with LoopbackWeb(routes, names=names) as web:
        for run, after_ms in enumerate((0, TTL)):
            queue = [web.url("stale.test", f"/open{run}")]
            environment = {"NOW_MS": str(T0 + after_ms)}
            ended = crawl(queue, tmp_path, names=names, sabotage=NOW + STALE_RULES, environment=environment)
        assert [a.target for a in web.arrivals] == ["/robots.txt", "/open0", "/open1"], ended.log
