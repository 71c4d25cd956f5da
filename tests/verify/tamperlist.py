"""What may be changed in a store without anything else in it being contradicted, and why no promise depends on it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tests.verify.tamperchance import Altered

A_WORD = ("*: a letter", "*: longer", "*: shorter", "*: empty")
A_TIME = ("*: -3 minutes", "*: 3 minutes", "*: 1440 minutes")
A_NUMBER = ("*: plus 1", "*: minus 1", "*: much more", "*: much less", "*: more", "*: less", "*: none")


def any_of(names: str, *whats: tuple[str, ...]) -> tuple[str, ...]:
    """Each of these things done to each of these fields; the first * of a thing stands for the field."""
    return tuple(what.replace("*", name, 1) for name in names.split() for each in whats for what in each)


# Kind of line -> `field: what is done`.
UNCONTRADICTED: dict[str, tuple[str, ...]] = {
    "manifest start": (
        # Said of the crawler and its machine; no record follows from it. Another boot id only asks for longer pauses.
        *("versions*: *", "settings.contact: *", "settings.user_agent: *", "settings.dns_timeout_s: *"),
        *("settings.resolve*: *", "settings.max_body_bytes: *"),
        *any_of("queue boot_id settings.ledger", A_WORD),
        # `--queue` shows whose it was.
        *any_of("queue_sha256", A_WORD),
        # A wall clock may be set at any time; the boot clock, as long as nothing was asked.
        *any_of("started_at", A_TIME),
        *any_of("started_ns", A_NUMBER),
        # A limit that nothing in the run came up against.
        *any_of(
            "settings.ip_interval_s settings.crawl_delay_cap_s settings.robots_ttl_s settings.robots_retry_s "
            "settings.robots_max_redirects settings.give_up settings.backoff_base_s settings.backoff_cap_s "
            "settings.max_attempts settings.block_s settings.max_depth settings.max_pages settings.host_budget "
            "settings.gate.* settings.timeout_s settings.max_redirects",
            A_NUMBER,
        ),
        *any_of("settings.stop_on_403 settings.retry_failed", ("*: not",)),
        # A name of no group, and the same network twice.
        *any_of("settings.token", A_WORD),
        "settings.allowed_networks: the first twice",
    ),
    "manifest end": (
        *any_of("ended_at", A_TIME),
        *any_of("ended_ns", ("*: plus 1", "*: minus 1", "*: much more")),  # closing may take long
        *any_of("reason", A_WORD),  # in Scrapy's words, and any part of a crawl may end it with its own
        "line: gone",  # killed right before it
    ),
    "intents": any_of("intended_at", A_TIME),
    "requests claim": (
        *any_of("claimed_at judged_at", A_TIME),
        *any_of("claimed_ns", ("*: plus 1", "*: minus 1")),
        "addresses: the first twice",
    ),
    "requests settle": (
        *any_of("ended_at", A_TIME),
        *any_of("ended_ns sent_ns", ("*: plus 1", "*: minus 1")),
        # Of an attempt that was not the last; and headers that decide nothing.
        *any_of("bytes status", A_NUMBER),
        "headers*: *",
        "sent_ns: null",  # of a time-out, which may come before the first byte
    ),
    "robots": (),
    "pages": (
        *any_of("started_at ended_at chain.*.judged_at", A_TIME),
        # What stands in the page itself, which is not read again.
        *any_of("charset", A_WORD),
        *any_of("charset", ("*: null", "*: a text", "*: a time")),
        "nofollow: not",
    ),
    "links": (
        *any_of("text rel url", A_WORD),
        "nofollow: not",
    ),
    "skipped": (
        "line: *",  # a blank line, or a comment, may be anywhere
        *any_of("text", A_WORD),  # of a rejected line: another with the same fault
        "url: shorter",  # of a line that is done: another that is done, too
    ),
}


def is_listed(kind: str, edit: Altered) -> bool:
    patterns = UNCONTRADICTED[kind]
    return any(fnmatchcase(f"{edit.where}: {edit.what}", pattern) for pattern in patterns)
