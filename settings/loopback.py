"""The loopback profile (SCRAPY_PROJECT=loopback): the demo and the tests. Asks 127.0.0.0/8 only, with short pauses."""

from settings.base import *

SEASPIDER_CONTACT = "https://seaspider.invalid/loopback"
SEASPIDER_INTERVAL = 0.2
SEASPIDER_EXPECTED_ANSWER = 0.01
SEASPIDER_BACKOFF_BASE = 0.1
SEASPIDER_ALLOWED_NETWORKS = ["127.0.0.0/8"]
SEASPIDER_LEDGER = ":memory:"  # never the user's own
