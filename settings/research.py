"""The research profile (SCRAPY_PROJECT=research): spread thin over many hosts."""

from settings.base import *

SEASPIDER_STOP_ON_403 = True
SEASPIDER_HOST_BUDGET = 3  # in a run: robots.txt and two pages; the rest is left to the next run
