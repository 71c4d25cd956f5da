"""The settings of a crawl, read once, checked, and passed on as one frozen object.

Raises SettingError, which names the setting and its value, for anything that cannot be meant. Scrapy's own names are
used where they exist. Never changes a setting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy.settings import BaseSettings

from seaspider import __version__
from seaspider.core.addresses import Network, parse_networks
from seaspider.core.robotsagents import is_product_token
from seaspider.errors import SettingError

FOLLOW_MODES = ("off", "host")
ORDERS = ("round-robin",)

# Every SEASPIDER_* setting with its default; README's table is kept equal to it by a test.
DEFAULTS: dict[str, Any] = {
    "SEASPIDER_CONTACT": None,
    "SEASPIDER_INTERVAL": 2.0,
    "SEASPIDER_IP_INTERVAL": None,
    "SEASPIDER_CRAWL_DELAY_CAP": 60.0,
    "SEASPIDER_ROBOTS_TTL": 86400.0,
    "SEASPIDER_ROBOTS_RETRY": 3600.0,
    "SEASPIDER_ROBOTS_MAX_REDIRECTS": 5,
    "SEASPIDER_GIVE_UP": 3,
    "SEASPIDER_BACKOFF_BASE": 5.0,
    "SEASPIDER_BACKOFF_CAP": 300.0,
    "SEASPIDER_STOP_ON_403": True,
    "SEASPIDER_BLOCK": 1_000_000.0,
    "SEASPIDER_FOLLOW": "off",
    "SEASPIDER_MAX_DEPTH": 1,
    "SEASPIDER_MAX_PAGES": 1000,
    "SEASPIDER_ORDER": "round-robin",
    "SEASPIDER_HOST_BUDGET": 0,
    "SEASPIDER_ALLOWED_NETWORKS": [],
    "SEASPIDER_RESOLVE": {},
}


@dataclass(frozen=True, slots=True)
class Config:
    """Durations in seconds, sizes in bytes."""

    contact: str | None
    user_agent: str
    token: str
    interval_s: float
    ip_interval_s: float
    crawl_delay_cap_s: float
    robots_ttl_s: float
    robots_retry_s: float
    robots_max_redirects: int
    give_up: int
    backoff_base_s: float
    backoff_cap_s: float
    stop_on_403: bool
    block_s: float
    follow: str
    max_depth: int
    max_pages: int
    order: str
    host_budget: int
    allowed_networks: tuple[Network, ...]
    resolve: Mapping[str, tuple[str, ...]]
    timeout_s: float
    max_body_bytes: int
    max_redirects: int
    dns_timeout_s: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        read = _Reader(settings)
        contact = read.text("SEASPIDER_CONTACT")
        interval_s = read.seconds("SEASPIDER_INTERVAL")
        ip_interval_s = read.raw("SEASPIDER_IP_INTERVAL")
        return cls(
            contact=contact,
            user_agent=_user_agent(settings, contact),
            token=_token(settings),
            interval_s=interval_s,
            ip_interval_s=interval_s if ip_interval_s is None else read.seconds("SEASPIDER_IP_INTERVAL"),
            crawl_delay_cap_s=read.seconds("SEASPIDER_CRAWL_DELAY_CAP"),
            robots_ttl_s=read.seconds("SEASPIDER_ROBOTS_TTL", above=0, most=86400),
            robots_retry_s=read.seconds("SEASPIDER_ROBOTS_RETRY", above=0),
            robots_max_redirects=read.count("SEASPIDER_ROBOTS_MAX_REDIRECTS"),
            give_up=read.count("SEASPIDER_GIVE_UP", least=1),
            backoff_base_s=read.seconds("SEASPIDER_BACKOFF_BASE"),
            backoff_cap_s=read.seconds("SEASPIDER_BACKOFF_CAP"),
            stop_on_403=read.flag("SEASPIDER_STOP_ON_403"),
            block_s=read.seconds("SEASPIDER_BLOCK"),
            follow=read.choice("SEASPIDER_FOLLOW", FOLLOW_MODES),
            max_depth=read.count("SEASPIDER_MAX_DEPTH"),
            max_pages=read.count("SEASPIDER_MAX_PAGES"),
            order=read.choice("SEASPIDER_ORDER", ORDERS),
            host_budget=read.count("SEASPIDER_HOST_BUDGET"),
            allowed_networks=read.networks("SEASPIDER_ALLOWED_NETWORKS"),
            resolve=read.addresses("SEASPIDER_RESOLVE"),
            timeout_s=read.seconds("DOWNLOAD_TIMEOUT", above=0),
            max_body_bytes=read.count("DOWNLOAD_MAXSIZE", least=1),
            max_redirects=read.count("REDIRECT_MAX_TIMES"),
            dns_timeout_s=read.seconds("DNS_TIMEOUT", above=0),
        )

    def to_record(self) -> dict[str, Any]:
        """The effective settings as the manifest holds them."""
        return {
            name: [str(item) for item in value] if name == "allowed_networks" else _plain(value)
            for name in self.__slots__
            for value in (getattr(self, name),)
        }


def _plain(value: Any) -> Any:
    return {key: list(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _user_agent(settings: BaseSettings, contact: str | None) -> str:
    """USER_AGENT if the user set it, else our own with the contact."""
    if settings.getpriority("USER_AGENT"):
        agent = str(settings["USER_AGENT"])
        if not agent.strip() or not agent.isprintable() or not agent.isascii():
            raise SettingError("USER_AGENT", settings["USER_AGENT"], "must be printable ASCII text")
        return agent
    return f"seaspider/{__version__} (+{contact})" if contact else f"seaspider/{__version__}"


def _token(settings: BaseSettings) -> str:
    token = settings["ROBOTSTXT_USER_AGENT"]
    if not isinstance(token, str) or not is_product_token(token):
        raise SettingError(
            "ROBOTSTXT_USER_AGENT", token, "must be a bare product token: letters, '-' and '_' (RFC 9309 2.2.1)"
        )
    return token


class _Reader:
    """Reads one setting after the other; each method raises SettingError for a value that it cannot mean."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def raw(self, name: str) -> Any:
        return self._settings.get(name, DEFAULTS.get(name))

    def text(self, name: str) -> str | None:
        value = self.raw(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not value.isprintable() or not value.isascii():
            raise SettingError(name, value, "must be printable ASCII text")
        return value

    def seconds(self, name: str, *, above: float | None = None, most: float = math.inf) -> float:
        value = self.raw(name)
        try:
            seconds = float(value)
        except (TypeError, ValueError):
            raise SettingError(name, value, "must be a number of seconds") from None
        if isinstance(value, bool) or not math.isfinite(seconds) or seconds < 0:
            raise SettingError(name, value, "must be a number of seconds, not negative")
        if above is not None and seconds <= above:
            raise SettingError(name, value, f"must be above {above:g} s")
        if seconds > most:
            raise SettingError(name, value, f"must be at most {most:g} s")
        return seconds

    def count(self, name: str, *, least: int = 0) -> int:
        value = self.raw(name)
        try:
            number = int(str(value))
        except ValueError:
            raise SettingError(name, value, "must be a whole number") from None
        if number < least:
            raise SettingError(name, value, f"must be at least {least}")
        return number

    def flag(self, name: str) -> bool:
        value = self.raw(name)
        words = {"1": True, "true": True, "0": False, "false": False}
        flag = words.get(str(value).lower())
        if flag is None:
            raise SettingError(name, value, "must be True or False")
        return flag

    def choice(self, name: str, choices: Sequence[str]) -> str:
        value = self.raw(name)
        if value not in choices:
            raise SettingError(name, value, "must be one of: " + ", ".join(choices))
        return str(value)

    def networks(self, name: str) -> tuple[Network, ...]:
        value = self.raw(name)
        values = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        try:
            return parse_networks(values)
        except (TypeError, ValueError) as error:
            raise SettingError(name, value, str(error)) from None

    def addresses(self, name: str) -> dict[str, tuple[str, ...]]:
        value = self.raw(name)
        try:
            table = json.loads(value) if isinstance(value, str) else dict(value)
            return {
                str(host).lower(): (found,) if isinstance(found, str) else tuple(map(str, found))
                for host, found in table.items()
            }
        except (AttributeError, TypeError, ValueError):
            raise SettingError(name, value, "must map each name to an address or a list of them") from None
