"""Reads settings one at a time, by kind.

Decides what a value may look like (`-s` gives text, a settings file gives Python values). Raises SettingError, which
names the setting and the value, for one that cannot be meant. Never changes a setting.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from scrapy.settings import BaseSettings

from seaspider.core.addresses import Network, parse_networks
from seaspider.core.urls import UrlError, normalise
from seaspider.errors import SettingError

MAX_SECONDS: Final = 100 * 365 * 86_400
"""No setting needs a longer time, and every date that it leads to can still be written down."""

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_FLAGS = {"1": True, "true": True, "0": False, "false": False}
_NOT_IN_A_NAME = frozenset(":/?#@\\%[] \t\r\n")


class SettingReader:
    """`defaults`: what counts where a setting is not set."""

    def __init__(self, settings: BaseSettings, defaults: Mapping[str, Any]) -> None:
        self._settings = settings
        self._defaults = defaults

    def raw(self, name: str) -> Any:
        return self._settings.get(name, self._defaults.get(name))

    def text(self, name: str) -> str | None:
        """Printable ASCII; None if empty or not set."""
        value = self.raw(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not value.isprintable() or not value.isascii() or not value.strip():
            raise SettingError(name, value, "must be printable ASCII text")
        return value

    def seconds(self, name: str, *, above: float | None = None, most: float = MAX_SECONDS) -> float:
        value = self.raw(name)
        try:
            seconds = float(value)
        except (OverflowError, TypeError, ValueError):
            raise SettingError(name, value, "must be a number of seconds") from None
        if isinstance(value, bool) or not math.isfinite(seconds):
            raise SettingError(name, value, "must be a number of seconds")
        if seconds < 0:
            raise SettingError(name, value, "must not be negative")
        if above is not None and seconds <= above:
            raise SettingError(name, value, f"must be above {above:g} s")
        if seconds > most:
            raise SettingError(name, value, f"must be at most {most:.0f} s")
        return seconds

    def count(self, name: str, *, least: int = 0, most: int | None = None) -> int:
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int | str) or not _WHOLE.fullmatch(str(value).strip()):
            raise SettingError(name, value, "must be a whole number")
        number = int(value)
        if number < least:
            raise SettingError(name, value, f"must be at least {least}")
        if most is not None and number > most:
            raise SettingError(name, value, f"must be at most {most}")
        return number

    def flag(self, name: str) -> bool:
        value = self.raw(name)
        flag = _FLAGS.get(str(value).lower())
        if flag is None:
            raise SettingError(name, value, "must be True or False")
        return flag

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of `choices`."""
        value = self.raw(name)
        if value not in choices:
            raise SettingError(name, value, "must be one of: " + ", ".join(choices))
        return str(value)

    def networks(self, name: str) -> tuple[Network, ...]:
        """CIDRs; as text they are separated by commas."""
        value = self.raw(name)
        values = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        try:
            return parse_networks(values)
        except (AttributeError, TypeError, ValueError) as error:
            raise SettingError(name, value, str(error)) from None

    def addresses(self, name: str) -> dict[str, tuple[str, ...]]:
        """Host names, normalised, with their addresses; as text it is a JSON object."""
        value = self.raw(name)
        try:
            table = json.loads(value) if isinstance(value, str) else dict(value)
            return {_host(host): _addresses(found) for host, found in table.items()}
        except UrlError as error:
            raise SettingError(name, value, f"not a host name: {error.text}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise SettingError(name, value, f"must map names to an address or a list of them ({error})") from None


def _host(name: str) -> str:
    if not _NOT_IN_A_NAME.isdisjoint(name):
        raise ValueError(f"not a host name: {name!r}")
    return normalise(f"http://{name}/").host


def _addresses(found: str | Sequence[str]) -> tuple[str, ...]:
    addresses = (found,) if isinstance(found, str) else tuple(found)
    for address in addresses:
        if not isinstance(address, str):
            raise TypeError(f"not an address: {address!r}")
        ip_address(address)
    return addresses
