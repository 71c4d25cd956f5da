"""Refuses to start if a setting undoes a promise.

Decides which settings must be as settings/base.py has them: on the command line anything can be changed. Raises
SettingError with the setting and its value. Never repairs one: who wants a promise undone wants another crawler.
What a user adds (middlewares, pipelines, extensions) is welcome, as long as ours stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any, Final

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from seaspider.core.credentials import HIDDEN
from seaspider.errors import SettingError
from settings import base

# Each must have the value it has in settings/base.py; the text says why, or what to use instead.
_AS_IN_BASE: Final[dict[str, str]] = {
    "CONCURRENT_REQUESTS": "one request is in flight at a time",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "one request is in flight at a time",
    "CONCURRENT_ITEMS": "more would mix up the order of records",
    "SCHEDULER": "a turn is one request, robots.txt included",
    "TWISTED_REACTOR_ENABLED": "the door stands on asyncio",
    "TWISTED_REACTOR": "the door stands on asyncio",
    "FORCE_CRAWLER_PROCESS": "the door stands on asyncio",
    "DOWNLOAD_DELAY": "the door paces every request: use SEASPIDER_INTERVAL",
    "DOWNLOAD_DELAY_JITTER": "the door paces every request, without chance",
    "AUTOTHROTTLE_ENABLED": "the door paces every request: use SEASPIDER_INTERVAL",
    "HTTPPROXY_ENABLED": "a proxy would be a second way out",
    "HTTPCACHE_ENABLED": "a cache answers without a robots decision",
    "DOWNLOAD_VERIFY_CERTIFICATES": "certificates are verified",
    "DOWNLOAD_FAIL_ON_DATALOSS": "a cut body is no answer",
    "ROBOTSTXT_OBEY": "robots.txt is always obeyed, by seaspider.middlewares.robots",
    "ROBOTSTXT_PARSER": "the decisions that are recorded are this parser's",
    "RETRY_ENABLED": "it would ask again at once",
    "REDIRECT_ENABLED": "redirects are followed by seaspider.middlewares.hops, each judged: use REDIRECT_MAX_TIMES",
    "METAREFRESH_ENABLED": "a meta refresh is a link",
    "COOKIES_ENABLED": "cookies would make answers depend on the order of requests",
    "COMPRESSION_ENABLED": "the door decodes bodies, strictly",
    "REFERER_ENABLED": "pages are not told of one another",
    "HTTPERROR_ALLOW_ALL": "an error status is an answer, too",
    "TELNETCONSOLE_ENABLED": "it opens a port through which code can be run",
    "REMOTE_CONTROL_ENABLED": "it opens a port through which code can be run",
}
_AS_IN_SCRAPY: Final = {
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
}
_NOT_SET: Final = {
    "JOBDIR": "the store is the journal: use -a store=FOLDER",
    "DOWNLOAD_SLOTS": "the door paces every request: use SEASPIDER_INTERVAL",
    "DOWNLOAD_BIND_ADDRESS": "there is one way out",
}
_NOT_FOR_STRANGERS: Final = "no secrets to strangers"
# What a request may not carry, whatever it is set to.
_NOT_A_DEFAULT_HEADER: Final = {
    "user-agent": "use USER_AGENT or SEASPIDER_CONTACT",
    "cookie": _NOT_FOR_STRANGERS,
    "authorization": _NOT_FOR_STRANGERS,
    "proxy-authorization": _NOT_FOR_STRANGERS,
    "referer": "pages are not told of one another",
    "range": "a page is asked for whole",
    "if-none-match": "a page is asked for whole",
    "if-modified-since": "a page is asked for whole",
}
_COMPONENTS: Final = ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES")
# Not even among Scrapy's own any more (settings/base.py).
_LEFT_OUT: Final = {"scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None}
_STORE_PIPELINE: Final = "seaspider.pipelines.StorePipeline"
# What only shows something promises nothing, and what these middlewares do no crawl of ours needs.
_FREE: Final = frozenset(
    {
        *("seaspider.progress.Progress", "scrapy.extensions.logstats.LogStats"),
        *("seaspider.middlewares.wirestats.WireStats", "scrapy.downloadermiddlewares.stats.DownloaderStats"),
        "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware",
        "scrapy.spidermiddlewares.start.StartSpiderMiddleware",
        "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware",
    }
)


def check(settings: BaseSettings) -> None:
    """Raises SettingError for the first setting that undoes a promise, or that cannot be read."""
    for name, why in _AS_IN_BASE.items():
        wanted = getattr(base, name)
        if _value(settings, name, wanted) != wanted:
            raise SettingError(name, settings.get(name), f"undoes a promise, it must be {wanted!r}: {why}")
    for name, stock in _AS_IN_SCRAPY.items():
        if settings.get(name) != stock:
            raise SettingError(name, settings.get(name), f"undoes a promise, it must be {stock!r}")
    for name, why in _NOT_SET.items():
        if settings.get(name):
            raise SettingError(name, _plain(settings[name]), f"undoes a promise, it must not be set: {why}")
    _check_headers(settings)
    _check_handlers(settings)
    for name in _COMPONENTS:
        _check_components(settings, name)


def _value(settings: BaseSettings, name: str, wanted: Any) -> Any:
    """The setting as Scrapy reads one of that kind."""
    with _readable(settings, name):
        if isinstance(wanted, bool):
            return settings.getbool(name)
        return settings.getfloat(name) if isinstance(wanted, int) else settings.get(name)


def _check_headers(settings: BaseSettings) -> None:
    name = "DEFAULT_REQUEST_HEADERS"
    with _readable(settings, name):
        headers = settings.getdict(name)
    for header, value in headers.items():
        why = _NOT_A_DEFAULT_HEADER.get(str(header).lower())
        if why is not None and value is not None:
            shown = HIDDEN if why == _NOT_FOR_STRANGERS else value
            raise SettingError(name, {header: shown}, f"undoes a promise, there must be no such header: {why}")


def _check_handlers(settings: BaseSettings) -> None:
    name = "DOWNLOAD_HANDLERS"
    with _readable(settings, name):
        found = settings.getwithbase(name)
    for scheme in sorted({*found, *base.DOWNLOAD_HANDLERS}):
        handler, wanted = found.get(scheme), base.DOWNLOAD_HANDLERS.get(scheme)
        if handler != wanted:
            raise SettingError(
                name, {scheme: handler}, f"undoes a promise, it must be {wanted!r}: the door is the one way out"
            )


def _check_components(settings: BaseSettings, name: str) -> None:
    """Ours must be there, in their places; what a promise has off must be off; others may be added."""
    with _readable(settings, name):
        found = _places(settings.get_component_priority_dict_with_base(name))
    for path, wanted in {**_LEFT_OUT, **getattr(base, name)}.items():
        if path not in _FREE and found.get(path) != wanted:
            raise SettingError(
                name,
                {path: found.get(path)},
                f"undoes a promise, it must be {wanted!r} (add to what settings/base.py has, do not replace it)",
            )
    if name == "ITEM_PIPELINES":
        first = min(found.values())
        if [path for path, place in found.items() if place == first] != [_STORE_PIPELINE]:
            raise SettingError(name, found, f"undoes a promise: {_STORE_PIPELINE} must come first, alone in its place")


def _places(components: BaseSettings) -> dict[str, float]:
    """Import path -> place, whatever name or object a component was given by."""
    places: dict[str, float] = {}
    for key, place in components.items():
        if not isinstance(place, Real):
            raise TypeError(f"{key} needs a number, not {place!r}")
        component = load_object(key)
        places[f"{component.__module__}.{component.__qualname__}"] = float(place)
    return places


@contextmanager
def _readable(settings: BaseSettings, name: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, ImportError, NameError, TypeError, ValueError) as error:
        raise SettingError(name, _plain(settings.get(name)), f"cannot be read: {error}") from None


def _plain(value: Any) -> Any:
    """A setting's value as its author wrote it."""
    return dict(value) if isinstance(value, Mapping) else value
