"""The settings of a plain crawl: `scrapy crawl seaspider -a queue=urls.txt`."""

from settings.base import *
