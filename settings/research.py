"""The research profile (SCRAPY_PROJECT=research): many hosts, few requests each, and a gate."""

from settings.base import *

SEASPIDER_ORDER = "longest-idle"
SEASPIDER_STOP_ON_403 = True
SEASPIDER_HOST_BUDGET = 3  # in a run: robots.txt and two pages; the rest is left to the next run
SEASPIDER_GATE_MIN_HOSTS = 30
SEASPIDER_GATE_MAX_PER_HOST = 3
SEASPIDER_GATE_MIN_BREADTH = 300  # per mil; robots.txt counts, so 333 is three requests a host
