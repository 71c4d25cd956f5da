"""The project's settings as a command has them, without a process: a profile, and what `-s` says on top."""

from importlib import import_module
from typing import Any

from scrapy.settings import Settings


def project(profile: str = "default", **switches: Any) -> Settings:
    """The settings of `SCRAPY_PROJECT=<profile> scrapy ... -s NAME=VALUE`."""
    settings = Settings()
    settings.setmodule(import_module(f"settings.{profile}"), priority="project")
    settings.setdict(switches, priority="cmdline")
    return settings
