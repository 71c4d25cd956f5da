"""The research profile (SCRAPY_PROJECT=research): spread thin over many hosts."""

from settings.base import *

SEASPIDER_STOP_ON_403 = True
