"""The settings of a crawl, read once, checked, and passed on as one frozen object.

Raises SettingError, which names the setting and its value, for anything that cannot be meant. Scrapy's own names are
used where they exist. Never changes a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from scrapy.settings import BaseSettings

from seaspider import __version__
from seaspider.core import redisurl
from seaspider.core.addresses import Network, parse_networks
from seaspider.core.leases import TOO_BRIEF_S
from seaspider.core.links import FollowMode
from seaspider.core.orders import OrderName
from seaspider.core.robotsagents import is_product_token
from seaspider.core.verdict import GatePolicy
from seaspider.errors import SettingError
from seaspider.ledgerplace import default_path
from seaspider.settingreader import SettingReader

FOLLOW_MODES: Final = tuple(map(str, FollowMode))
ORDERS: Final = tuple(map(str, OrderName))

# Every SEASPIDER_* setting with its default; README's table is kept equal to it by a test.
DEFAULTS: Final[dict[str, Any]] = {
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
    "SEASPIDER_MAX_ATTEMPTS": 3,
    "SEASPIDER_STOP_ON_403": True,
    "SEASPIDER_BLOCK": 1_000_000.0,
    "SEASPIDER_FOLLOW": "off",
    "SEASPIDER_MAX_DEPTH": 1,
    "SEASPIDER_MAX_PAGES": 1000,
    "SEASPIDER_ORDER": "round-robin",
    "SEASPIDER_EXPECTED_ANSWER": 0.3,
    "SEASPIDER_HOST_BUDGET": 0,
    "SEASPIDER_GATE_MIN_HOSTS": 0,
    "SEASPIDER_GATE_MAX_PER_HOST": 0,
    "SEASPIDER_GATE_MIN_BREADTH": 0,
    "SEASPIDER_LEDGER": None,
    "SEASPIDER_LEASE": 60.0,
    "SEASPIDER_ALLOWED_NETWORKS": [],
    "SEASPIDER_RESOLVE": {},
}
_PREFIX = "SEASPIDER_"


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
    max_attempts: int
    stop_on_403: bool
    block_s: float
    follow: str
    max_depth: int
    max_pages: int
    order: str
    host_budget: int
    gate: GatePolicy
    ledger: str = field(repr=False)
    """Path of the ledger's file, IN_MEMORY, or the URL of a Redis server, password and all."""
    allowed_networks: tuple[Network, ...]
    resolve: Mapping[str, tuple[str, ...]]
    timeout_s: float
    max_body_bytes: int
    max_redirects: int
    dns_timeout_s: float
    retry_failed: bool = False
    """`-a retry=failed`: URLs that failed are taken up again."""
    expected_answer_s: float = DEFAULTS["SEASPIDER_EXPECTED_ANSWER"]
    """How long an answer is taken to last, where the order needs it."""
    lease_s: float = DEFAULTS["SEASPIDER_LEASE"]
    """How long a dead runner's shard is nobody else's."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Raises SettingError for a value that cannot be meant, and for a SEASPIDER_* name that there is not."""
        _check_names(settings)
        read = SettingReader(settings, DEFAULTS)
        contact = _contact(read)
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
            max_attempts=read.count("SEASPIDER_MAX_ATTEMPTS", least=1),
            stop_on_403=read.flag("SEASPIDER_STOP_ON_403"),
            block_s=read.seconds("SEASPIDER_BLOCK"),
            follow=read.choice("SEASPIDER_FOLLOW", FOLLOW_MODES),
            max_depth=read.count("SEASPIDER_MAX_DEPTH"),
            max_pages=read.count("SEASPIDER_MAX_PAGES"),
            order=read.choice("SEASPIDER_ORDER", ORDERS),
            host_budget=read.count("SEASPIDER_HOST_BUDGET"),
            gate=_gate(read),
            ledger=_ledger(read),
            allowed_networks=read.networks("SEASPIDER_ALLOWED_NETWORKS"),
            resolve=read.addresses("SEASPIDER_RESOLVE"),
            timeout_s=read.seconds("DOWNLOAD_TIMEOUT", above=0),
            max_body_bytes=read.count("DOWNLOAD_MAXSIZE", least=1),
            max_redirects=read.count("REDIRECT_MAX_TIMES"),
            dns_timeout_s=read.seconds("DNS_TIMEOUT", above=0),
            expected_answer_s=read.seconds("SEASPIDER_EXPECTED_ANSWER"),
            lease_s=read.seconds("SEASPIDER_LEASE", above=TOO_BRIEF_S),
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Config:
        """The settings that to_record() wrote down. Raises ValueError if they are not whole."""
        try:
            read: dict[str, Any] = {name: record[name] for name in cls.__slots__ if name in record}
            read["gate"] = GatePolicy(**record["gate"])
            read["allowed_networks"] = parse_networks(record["allowed_networks"])
            read["resolve"] = {host: tuple(found) for host, found in record["resolve"].items()}
            return cls(**read)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"settings are not whole: {error}") from error

    def to_record(self) -> dict[str, Any]:
        """The effective settings as the manifest holds them, without a password."""
        record = {
            name: [str(item) for item in value] if name == "allowed_networks" else _plain(value)
            for name in self.__slots__
            for value in (getattr(self, name),)
        }
        return record | {"ledger": redisurl.shown(self.ledger)}


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that `name` looks like, as the end of a message; empty if there is none."""
    # Without the prefix they have in common, which would make any name look like any other.
    by_ending = {each.removeprefix(_PREFIX): each for each in known}
    near = get_close_matches(name.removeprefix(_PREFIX), by_ending, n=1)
    return f"; did you mean {by_ending[near[0]]}?" if near else ""


def _check_names(settings: BaseSettings) -> None:
    for name in sorted(settings):
        if name.startswith(_PREFIX) and name not in DEFAULTS:
            raise SettingError(name, settings[name], f"is unknown{suggestion(name, DEFAULTS)}")


def _gate(read: SettingReader) -> GatePolicy:
    return GatePolicy(
        read.count("SEASPIDER_GATE_MIN_HOSTS"),
        read.count("SEASPIDER_GATE_MAX_PER_HOST"),
        read.count("SEASPIDER_GATE_MIN_BREADTH", most=1000),
    )


def _ledger(read: SettingReader) -> str:
    """The user's own ledger unless another is named; what looks like a URL is no file."""
    raw = read.raw("SEASPIDER_LEDGER")
    if isinstance(raw, str) and redisurl.is_url(raw):
        try:
            redisurl.redis_place(raw)
        except ValueError as error:
            raise SettingError("SEASPIDER_LEDGER", redisurl.shown(raw), str(error)) from None
        return raw
    if isinstance(raw, str) and redisurl.is_mistyped(raw):
        why = "is neither a URL (redis://HOST, rediss://HOST) nor a file; a file that is called so needs ./ before it"
        raise SettingError("SEASPIDER_LEDGER", redisurl.shown(raw), why)
    named = read.text("SEASPIDER_LEDGER")
    try:
        return named or str(default_path())
    except RuntimeError as error:
        raise SettingError("SEASPIDER_LEDGER", named, f"must name a file: {error}") from error


def _contact(read: SettingReader) -> str | None:
    contact = read.text("SEASPIDER_CONTACT")
    if contact is not None and not set(contact).isdisjoint("()\\"):
        raise SettingError(
            "SEASPIDER_CONTACT", contact, "must have no bracket or backslash: it is a User-Agent's comment"
        )
    return contact


def _plain(value: Any) -> Any:
    if isinstance(value, GatePolicy):
        return asdict(value)
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
