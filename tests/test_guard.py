"""What may not be undone: by `-s`, by a settings file, by adding or taking away a component. Nothing is asked then."""

from pathlib import Path

import pytest
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.extensions.logstats import LogStats

from seaspider import guard
from seaspider.errors import ExitCode, SettingError
from seaspider.loopback import Answer, LoopbackWeb
from seaspider.loopback.judge import max_in_flight
from settings import base
from tests.crawling import crawl, scrapy
from tests.projectsettings import project

STOCK = "scrapy.downloadermiddlewares."


class RetryByAnotherName(RetryMiddleware):
    pass


class OwnComponent:
    """A user's own middleware, pipeline or extension."""


OWN = f"{__name__}.OwnComponent"
# The same class by another path than its own.
ALIAS = f"{__name__}.RetryMiddleware"


@pytest.mark.parametrize("profile", ["default", "research", "loopback"])
def test_the_profiles_keep_the_promises(profile):
    guard.check(project(profile))


UNDONE = [
    ("CONCURRENT_REQUESTS", "16"),
    ("CONCURRENT_REQUESTS", "2"),
    ("CONCURRENT_REQUESTS", "0"),
    ("CONCURRENT_REQUESTS", "many"),
    ("CONCURRENT_REQUESTS_PER_DOMAIN", "8"),
    ("CONCURRENT_ITEMS", "100"),
    ("DOWNLOAD_DELAY", "0.5"),
    ("DOWNLOAD_DELAY_JITTER", "0.5"),
    ("DOWNLOAD_SLOTS", '{"a.test": {"delay": 0}}'),
    ("DOWNLOAD_BIND_ADDRESS", "127.0.0.9"),
    ("AUTOTHROTTLE_ENABLED", "True"),
    ("ROBOTSTXT_OBEY", "True"),
    ("ROBOTSTXT_PARSER", "scrapy.robotstxt.ProtegoRobotParser"),
    ("RETRY_ENABLED", "True"),
    ("RETRY_ENABLED", "1"),
    ("RETRY_ENABLED", "yes"),
    ("REDIRECT_ENABLED", "True"),
    ("METAREFRESH_ENABLED", "True"),
    ("COOKIES_ENABLED", "True"),
    ("COMPRESSION_ENABLED", "True"),
    ("HTTPPROXY_ENABLED", "True"),
    ("HTTPCACHE_ENABLED", "True"),
    ("REFERER_ENABLED", "True"),
    ("HTTPERROR_ALLOW_ALL", "False"),
    ("TELNETCONSOLE_ENABLED", "True"),
    ("REMOTE_CONTROL_ENABLED", "True"),
    ("DOWNLOAD_VERIFY_CERTIFICATES", "False"),
    ("DOWNLOAD_FAIL_ON_DATALOSS", "False"),
    ("JOBDIR", "job"),
    ("SCHEDULER", "scrapy.core.scheduler.Scheduler"),
    ("DOWNLOADER", "other.Downloader"),
    ("ITEM_PROCESSOR", "other.ItemPipelineManager"),
    ("TWISTED_REACTOR", "twisted.internet.selectreactor.SelectReactor"),
    ("TWISTED_REACTOR_ENABLED", "False"),
    ("FORCE_CRAWLER_PROCESS", "True"),
    ("DOWNLOAD_HANDLERS", "{}"),
    ("EXTENSIONS", "{}"),
    ("DOWNLOADER_MIDDLEWARES", "{}"),
    ("SPIDER_MIDDLEWARES", "{}"),
    ("ITEM_PIPELINES", "{}"),
    ("EXTENSIONS_BASE", '{"no.such.Extension": 0}'),
]


@pytest.mark.parametrize(("name", "value"), UNDONE, ids=[f"{n}={v}" for n, v in UNDONE])
def test_a_switch_that_undoes_a_promise_is_refused(name, value):
    with pytest.raises(SettingError, match=f"^setting {name.removesuffix('_BASE')} = ") as caught:
        guard.check(project(**{name: value}))
    assert caught.value.exit_code is ExitCode.USAGE


def test_the_message_has_setting_value_and_what_to_do():
    with pytest.raises(SettingError) as caught:
        guard.check(project(DOWNLOAD_DELAY="0.5"))
    assert str(caught.value) == (
        "setting DOWNLOAD_DELAY = '0.5': undoes a promise, it must be 0: "
        "the door paces every request: use SEASPIDER_INTERVAL"
    )


def changed(name, changes):
    """A settings file's `NAME = {**NAME, ...}`."""
    return project(**{name: {**getattr(base, name), **changes}})


DOOR = "seaspider.handler.DownloadHandler"
HTTP11 = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
FILES = "scrapy.core.downloader.handlers.file.FileDownloadHandler"
STORE = "seaspider.pipelines.StorePipeline"

# setting, what is changed in it, the component and place that the message must name
COMPONENTS = [
    ("DOWNLOAD_HANDLERS", {"http": HTTP11}, ("http", HTTP11)),
    ("DOWNLOAD_HANDLERS", {"https": None}, ("https", None)),
    ("DOWNLOAD_HANDLERS", {"file": FILES}, ("file", FILES)),
    ("DOWNLOAD_HANDLERS", {"gopher": DOOR}, ("gopher", DOOR)),
    ("EXTENSIONS", {"seaspider.extension.Seaspider": None}, ("seaspider.extension.Seaspider", None)),
    *(
        ("DOWNLOADER_MIDDLEWARES", {path: place}, (path, None if place is None else float(place)))
        for path, place in [
            ("seaspider.middlewares.robots.RobotsMiddleware", None),
            ("seaspider.middlewares.robots.RobotsMiddleware", 950),
            ("seaspider.middlewares.hops.HopMiddleware", None),
            (STOCK + "useragent.UserAgentMiddleware", None),
            (STOCK + "offsite.OffsiteMiddleware", 50),
            (STOCK + "robotstxt.RobotsTxtMiddleware", 100),
            (STOCK + "httpauth.HttpAuthMiddleware", 300),
            (STOCK + "retry.RetryMiddleware", 550),
            (STOCK + "redirect.MetaRefreshMiddleware", 580),
            (STOCK + "httpcompression.HttpCompressionMiddleware", 590),
            (STOCK + "redirect.RedirectMiddleware", 600),
            (STOCK + "cookies.CookiesMiddleware", 700),
            (STOCK + "httpproxy.HttpProxyMiddleware", 750),
            (STOCK + "httpcache.HttpCacheMiddleware", 900),
        ]
    ),
    ("DOWNLOADER_MIDDLEWARES", {RetryMiddleware: 550}, (STOCK + "retry.RetryMiddleware", 550.0)),
    ("DOWNLOADER_MIDDLEWARES", {ALIAS: 550}, (STOCK + "retry.RetryMiddleware", 550.0)),
    *(
        ("SPIDER_MIDDLEWARES", {f"scrapy.spidermiddlewares.{path}": place}, (f"scrapy.spidermiddlewares.{path}", place))
        for path, place in [
            ("referer.RefererMiddleware", 700.0),
            ("urllength.UrlLengthMiddleware", 800.0),
            ("depth.DepthMiddleware", 900.0),
        ]
    ),
    ("ITEM_PIPELINES", {STORE: None}, (STORE, None)),
    ("ITEM_PIPELINES", {STORE: 300}, (STORE, 300.0)),
    ("ITEM_PIPELINES", {OWN: 0}, (OWN, 0.0)),
    ("ITEM_PIPELINES", {OWN: 1}, (OWN, 1.0)),
    ("ITEM_PIPELINES", {OWN: "first"}, (OWN, "first")),
    ("EXTENSIONS", {"no.such.Extension": 5}, ("no.such.Extension", 5)),
]
IDS = [f"{name}:{str(named[0]).rpartition('.')[2]}={named[1]}" for name, _, named in COMPONENTS]


@pytest.mark.parametrize(("name", "changes", "named"), COMPONENTS, ids=IDS)
def test_a_component_that_undoes_a_promise_is_refused(name, changes, named):
    with pytest.raises(SettingError, match=f"^setting {name} = ") as caught:
        guard.check(changed(name, changes))
    assert f"{named[0]!r}: {named[1]!r}" in str(caught.value)


@pytest.mark.parametrize(
    "header", ["User-Agent", "user-agent", "Cookie", "Authorization", "Proxy-Authorization", "Range", "If-None-Match"]
)
def test_a_header_that_undoes_a_promise_is_refused(header):
    headers = {"Accept": "text/html", header: "x"}
    with pytest.raises(SettingError, match=r"^setting DEFAULT_REQUEST_HEADERS = ") as caught:
        guard.check(project(DEFAULT_REQUEST_HEADERS=headers))
    shown = "***" if header in {"Cookie", "Authorization", "Proxy-Authorization"} else "x"
    assert f"{{{header!r}: {shown!r}}}" in str(caught.value)


ALLOWED = [
    ("DOWNLOADER_MIDDLEWARES", {OWN: 543, OwnComponent: 12}),
    ("DOWNLOADER_MIDDLEWARES", {STOCK + "stats.DownloaderStats": None}),
    ("DOWNLOADER_MIDDLEWARES", {f"{__name__}.RetryByAnotherName": 550}),  # off: RETRY_ENABLED
    ("SPIDER_MIDDLEWARES", {OWN: 543}),
    ("ITEM_PIPELINES", {OWN: 300, LogStats: 2.5}),
    ("EXTENSIONS", {OWN: 500, LogStats: None, "scrapy.extensions.telnet.TelnetConsole": None}),
]


@pytest.mark.parametrize(("name", "changes"), ALLOWED, ids=[f"{name}-{n}" for n, (name, _) in enumerate(ALLOWED)])
def test_what_a_user_adds_is_welcome(name, changes):
    guard.check(changed(name, changes))


def test_what_undoes_nothing_may_be_set():
    guard.check(
        project(
            CONCURRENT_REQUESTS="1",
            RETRY_ENABLED="False",
            COOKIES_ENABLED="0",
            DOWNLOAD_VERIFY_CERTIFICATES="true",
            DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter",
            DEFAULT_REQUEST_HEADERS='{"Accept-Language": "de", "User-Agent": null}',
            RETRY_TIMES="9",
            FEEDS='{"pages.csv": {"format": "csv"}}',
            CLOSESPIDER_PAGECOUNT="3",
            JOBDIR="",
            LOG_LEVEL="DEBUG",
        )
    )


# --- real processes ---

PAGE = Answer(headers=(("Content-Type", "text/html"),), body="<p>hello</p>", delay_s=0.05)
NAMES = {"a.test": "127.0.0.2", "b.test": "127.0.0.3", "c.test": "127.0.0.4"}


@pytest.fixture(scope="module")
def web():
    with LoopbackWeb({"/busy": Answer(503), "/*": PAGE, "/robots.txt": Answer(404)}, names=NAMES) as running:
        yield running


COMMANDS = [
    ({"CONCURRENT_REQUESTS": 16}, "CONCURRENT_REQUESTS = '16'"),
    ({"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}, "TWISTED_REACTOR = 'twisted.internet.select"),
    ({"DOWNLOADER_MIDDLEWARES": "{}"}, "DOWNLOADER_MIDDLEWARES = {'seaspider.middlewares.hops.HopMiddleware': None}"),
    ({"EXTENSIONS": "{}"}, "EXTENSIONS = {'seaspider.extension.Seaspider': None}"),
]


@pytest.mark.parametrize(("settings", "named"), COMMANDS, ids=[next(iter(settings)) for settings, _ in COMMANDS])
def test_the_command_ends_before_anything_is_asked(tmp_path, web, settings, named):
    web.clear()
    ended = crawl([web.url("a.test")], tmp_path, names=NAMES, settings=settings)
    assert ended.exit == 2
    assert ended.log.startswith(f"scrapy crawl: setting {named}")
    assert ended.log.count("\n") == 1
    assert web.connections == 0
    assert not ended.store.exists()


def test_another_command_ends_as_well(tmp_path, web):
    web.clear()
    ended = scrapy(["fetch", web.url("a.test")], tmp_path, names=NAMES, settings={"HTTPCACHE_ENABLED": "True"})
    assert ended.exit == 2
    assert "setting HTTPCACHE_ENABLED = 'True'" in ended.log
    assert web.connections == 0


# Twins: what the guard keeps from happening.
NO_GUARD = "import seaspider.guard; seaspider.guard.check = lambda settings: None; "
NO_BUSY = "import seaspider.scheduler; seaspider.scheduler.busy = lambda crawler: False; "
NO_LOCK = (
    "import asyncio, contextlib, types, seaspider.door as door; "
    "door.asyncio = types.SimpleNamespace(**{**vars(asyncio), 'Lock': contextlib.nullcontext}); "
)


def targets(web):
    return [arrival.target for arrival in web.arrivals]


def test_twin_another_handler_asks_without_a_robots_request_in_the_log(tmp_path, web):
    web.clear()
    handlers = f'{{"http": "{HTTP11}"}}'
    ended = crawl(
        [f"http://127.0.0.2:{web.port}/"], tmp_path, settings={"DOWNLOAD_HANDLERS": handlers}, sabotage=NO_GUARD
    )
    assert targets(web) != []
    assert ended.records("requests") == []


def test_twin_retries_ask_again_at_once(tmp_path, web):
    web.clear()
    middlewares = {path: place for path, place in base.DOWNLOADER_MIDDLEWARES.items() if place is not None}
    settings = {
        "DOWNLOADER_MIDDLEWARES": str({**middlewares, STOCK + "retry.RetryMiddleware": 550}).replace("'", '"'),
        "RETRY_ENABLED": "True",
    }
    crawl([web.url("a.test", "/busy")], tmp_path, names=NAMES, settings=settings, sabotage=NO_GUARD)
    assert targets(web).count("/busy") == 3


def test_twin_two_in_flight(tmp_path: Path, web):
    web.clear()
    queue = [web.url(name, f"/{n}") for n in range(2) for name in NAMES]
    settings = {"CONCURRENT_REQUESTS": 16}
    crawl(queue, tmp_path, names=NAMES, settings=settings, sabotage=NO_GUARD + NO_BUSY + NO_LOCK)
    assert max_in_flight(web.arrivals) > 1
    web.clear()
    crawl(queue, tmp_path, names=NAMES, store="kept")
    assert max_in_flight(web.arrivals) == 1
