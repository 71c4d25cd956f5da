"""Refuses to start if a setting undoes a promise.

Decides which settings must be as settings/base.py has them. Raises SettingError with the setting and its value. Never
repairs a setting: a user who wants a promise undone wants another crawler.
"""

from __future__ import annotations

from typing import Any

from scrapy.settings import BaseSettings

from seaspider.errors import SettingError
from settings import base

# Compared with settings/base.py after Scrapy's own reading of the type.
_FLAGS = (
    "TWISTED_REACTOR_ENABLED",
    "FORCE_CRAWLER_PROCESS",
    "AUTOTHROTTLE_ENABLED",
    "HTTPPROXY_ENABLED",
    "HTTPCACHE_ENABLED",
    "DOWNLOAD_VERIFY_CERTIFICATES",
    "ROBOTSTXT_OBEY",
    "RETRY_ENABLED",
    "REDIRECT_ENABLED",
    "METAREFRESH_ENABLED",
    "COOKIES_ENABLED",
    "COMPRESSION_ENABLED",
    "REFERER_ENABLED",
    "HTTPERROR_ALLOW_ALL",
    "TELNETCONSOLE_ENABLED",
    "REMOTE_CONTROL_ENABLED",
)
_NUMBERS = (
    "CONCURRENT_REQUESTS",
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "CONCURRENT_ITEMS",
    "DOWNLOAD_DELAY",
    "DOWNLOAD_DELAY_JITTER",
)
_WORDS = ("SCHEDULER", "TWISTED_REACTOR", "ROBOTSTXT_PARSER")
_COMPONENTS = ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES")
_STOCK = {
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
}


def check(settings: BaseSettings) -> None:
    """Raises SettingError for the first setting that undoes a promise."""
    for name in _FLAGS:
        _same(settings, name, _flag(settings, name))
    for name in _NUMBERS:
        _same(settings, name, _number(settings, name))
    for name in _WORDS:
        _same(settings, name, settings.get(name))
    for name, stock in _STOCK.items():
        if settings.get(name) != stock:
            raise SettingError(name, settings.get(name), f"undoes a promise: must be {stock!r}")
    if settings.get("JOBDIR"):
        raise SettingError("JOBDIR", settings["JOBDIR"], "the store is the journal: use -a store=FOLDER")
    if settings.get("DOWNLOAD_SLOTS"):
        raise SettingError("DOWNLOAD_SLOTS", settings["DOWNLOAD_SLOTS"], "the door paces every request itself")
    _check_handlers(settings)
    for name in _COMPONENTS:
        _check_components(settings, name)


def _same(settings: BaseSettings, name: str, value: Any) -> None:
    wanted = getattr(base, name)
    if value != wanted:
        raise SettingError(name, settings.get(name), f"undoes a promise: must be {wanted!r}")


def _flag(settings: BaseSettings, name: str) -> bool:
    try:
        return settings.getbool(name)
    except ValueError:
        raise SettingError(name, settings.get(name), "must be True or False") from None


def _number(settings: BaseSettings, name: str) -> float:
    try:
        return settings.getfloat(name)
    except (TypeError, ValueError):
        raise SettingError(name, settings.get(name), "must be a number") from None


def _check_handlers(settings: BaseSettings) -> None:
    for scheme, handler in settings.getwithbase("DOWNLOAD_HANDLERS").items():
        if handler != base.DOWNLOAD_HANDLERS.get(scheme):
            raise SettingError(
                "DOWNLOAD_HANDLERS", {scheme: handler}, "a second way out: only http and https, by the door"
            )


def _check_components(settings: BaseSettings, name: str) -> None:
    """Ours must be there, in their places; what a promise has off must be off; others may be added."""
    found = {_path(key): value for key, value in settings.get_component_priority_dict_with_base(name).items()}
    for path, place in getattr(base, name).items():
        if found.get(path) != place:
            raise SettingError(name, {path: found.get(path)}, f"undoes a promise: must be {place!r}")
    if name == "ITEM_PIPELINES":
        first = min(place for place in found.values() if place is not None)
        if [path for path, place in found.items() if place == first] != ["seaspider.pipelines.StorePipeline"]:
            raise SettingError(name, found, "the store's pipeline must come first")


def _path(component: Any) -> str:
    return component if isinstance(component, str) else f"{component.__module__}.{component.__qualname__}"
