"""Settings: what each may be, what it becomes, and what is refused with its name and value."""

import json
import re
from ipaddress import ip_network

import pytest

from seaspider import __version__
from seaspider.config import DEFAULTS, Config
from seaspider.core.verdict import GatePolicy
from seaspider.errors import ExitCode, SettingError
from seaspider.ledgerplace import default_path
from tests.projectsettings import project


def config(**switches):
    return Config.from_settings(project(**switches))


def test_defaults():
    assert config().to_record() == {
        "contact": None,
        "user_agent": f"seaspider/{__version__}",
        "token": "seaspider",
        "interval_s": 2.0,
        "ip_interval_s": 2.0,
        "crawl_delay_cap_s": 60.0,
        "robots_ttl_s": 86400.0,
        "robots_retry_s": 3600.0,
        "robots_max_redirects": 5,
        "give_up": 3,
        "backoff_base_s": 5.0,
        "backoff_cap_s": 300.0,
        "max_attempts": 3,
        "stop_on_403": True,
        "block_s": 1_000_000.0,
        "follow": "off",
        "max_depth": 1,
        "max_pages": 1000,
        "order": "round-robin",
        "host_budget": 0,
        "gate": {"min_hosts": 0, "max_per_host": 0, "min_breadth": 0},
        "ledger": str(default_path()),
        "allowed_networks": [],
        "resolve": {},
        "timeout_s": 30.0,
        "max_body_bytes": 32 * 1024 * 1024,
        "max_redirects": 10,
        "dns_timeout_s": 10.0,
        "retry_failed": False,
        "expected_answer_s": 0.3,
        "lease_s": 60.0,
    }


def test_the_record_of_the_settings_gives_them_back():
    rich = config(
        SEASPIDER_ALLOWED_NETWORKS="127.0.0.0/8,fd00::/8",
        SEASPIDER_RESOLVE={"a.test": ["127.0.0.1", "127.0.0.2"], "none.test": []},
        SEASPIDER_GATE_MIN_HOSTS=3,
        SEASPIDER_CONTACT="https://a.test/",
    )
    assert Config.from_record(json.loads(json.dumps(rich.to_record()))) == rich


@pytest.mark.parametrize("lost", ["token", "gate", "resolve"])
def test_settings_that_are_not_whole_are_no_settings(lost):
    record = config().to_record()
    del record[lost]
    with pytest.raises(ValueError, match=f"settings are not whole: .*{lost}"):
        Config.from_record(record)


def test_the_ledger_is_in_the_users_state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert config().ledger == str(tmp_path / "seaspider" / "ledger.sqlite3")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config().ledger == str(tmp_path / ".local" / "state" / "seaspider" / "ledger.sqlite3")


@pytest.mark.parametrize("profile", ["default", "research", "loopback"])
def test_each_profile_can_be_read(profile):
    assert Config.from_settings(project(profile)).token == "seaspider"


def test_the_research_profile_spreads_thin():
    research = Config.from_settings(project("research"))
    assert (research.order, research.host_budget, research.gate) == ("longest-idle", 3, GatePolicy(30, 3, 300))


LOOPBACK = ip_network("127.0.0.0/8")

# setting, value as `-s` or a settings file gives it, attribute, what it becomes
READ = [
    ("SEASPIDER_CONTACT", "https://a.test/bot", "contact", "https://a.test/bot"),
    ("SEASPIDER_CONTACT", "", "contact", None),
    ("SEASPIDER_INTERVAL", "0.25", "interval_s", 0.25),
    ("SEASPIDER_INTERVAL", 0, "interval_s", 0.0),
    ("SEASPIDER_INTERVAL", "7", "ip_interval_s", 7.0),
    ("SEASPIDER_IP_INTERVAL", "0", "ip_interval_s", 0.0),
    ("SEASPIDER_CRAWL_DELAY_CAP", "0", "crawl_delay_cap_s", 0.0),
    ("SEASPIDER_ROBOTS_TTL", "600", "robots_ttl_s", 600.0),
    ("SEASPIDER_ROBOTS_RETRY", "1e3", "robots_retry_s", 1000.0),
    ("SEASPIDER_ROBOTS_MAX_REDIRECTS", "0", "robots_max_redirects", 0),
    ("SEASPIDER_GIVE_UP", "1", "give_up", 1),
    ("SEASPIDER_BACKOFF_BASE", "0.1", "backoff_base_s", 0.1),
    ("SEASPIDER_BACKOFF_CAP", "0.2", "backoff_cap_s", 0.2),
    ("SEASPIDER_MAX_ATTEMPTS", "1", "max_attempts", 1),
    ("SEASPIDER_ORDER", "longest-idle", "order", "longest-idle"),
    ("SEASPIDER_GATE_MIN_HOSTS", "100", "gate", GatePolicy(min_hosts=100)),
    ("SEASPIDER_GATE_MAX_PER_HOST", "5", "gate", GatePolicy(max_per_host=5)),
    ("SEASPIDER_GATE_MIN_BREADTH", "1000", "gate", GatePolicy(min_breadth=1000)),
    ("SEASPIDER_STOP_ON_403", "False", "stop_on_403", False),
    ("SEASPIDER_STOP_ON_403", "1", "stop_on_403", True),
    ("SEASPIDER_BLOCK", "60", "block_s", 60.0),
    ("SEASPIDER_FOLLOW", "host", "follow", "host"),
    ("SEASPIDER_MAX_DEPTH", "0", "max_depth", 0),
    ("SEASPIDER_MAX_PAGES", " 12 ", "max_pages", 12),
    ("SEASPIDER_ORDER", "round-robin", "order", "round-robin"),
    ("SEASPIDER_ORDER", "most-remaining", "order", "most-remaining"),
    ("SEASPIDER_EXPECTED_ANSWER", "0.05", "expected_answer_s", 0.05),
    ("SEASPIDER_HOST_BUDGET", 3, "host_budget", 3),
    ("SEASPIDER_LEDGER", "pauses.sqlite3", "ledger", "pauses.sqlite3"),
    ("SEASPIDER_LEDGER", ":memory:", "ledger", ":memory:"),
    ("SEASPIDER_LEASE", "3.5", "lease_s", 3.5),
    ("SEASPIDER_ALLOWED_NETWORKS", "127.0.0.0/8, ::1", "allowed_networks", (LOOPBACK, ip_network("::1"))),
    ("SEASPIDER_ALLOWED_NETWORKS", ["127.0.0.0/8"], "allowed_networks", (LOOPBACK,)),
    ("SEASPIDER_ALLOWED_NETWORKS", "", "allowed_networks", ()),
    ("SEASPIDER_RESOLVE", '{"A.test": "127.0.0.2"}', "resolve", {"a.test": ("127.0.0.2",)}),
    ("SEASPIDER_RESOLVE", {"a.test": ["127.0.0.2", "::1"]}, "resolve", {"a.test": ("127.0.0.2", "::1")}),
    ("SEASPIDER_RESOLVE", '{"a.test": []}', "resolve", {"a.test": ()}),
    ("SEASPIDER_RESOLVE", '{"bücher.test": "127.0.0.2"}', "resolve", {"xn--bcher-kva.test": ("127.0.0.2",)}),
    ("USER_AGENT", "Other/1.0", "user_agent", "Other/1.0"),
    ("ROBOTSTXT_USER_AGENT", "Other_Bot-x", "token", "Other_Bot-x"),
    ("DOWNLOAD_TIMEOUT", "0.5", "timeout_s", 0.5),
    ("DOWNLOAD_MAXSIZE", "1", "max_body_bytes", 1),
    ("REDIRECT_MAX_TIMES", "0", "max_redirects", 0),
    ("DNS_TIMEOUT", "3", "dns_timeout_s", 3.0),
]


@pytest.mark.parametrize(("name", "value", "attribute", "wanted"), READ, ids=[f"{n}={v}" for n, v, *_ in READ])
def test_a_value_becomes(name, value, attribute, wanted):
    assert getattr(config(**{name: value}), attribute) == wanted


def test_the_contact_is_in_the_user_agent_unless_that_is_set():
    assert config(SEASPIDER_CONTACT="me@a.test").user_agent == f"seaspider/{__version__} (+me@a.test)"
    assert config(SEASPIDER_CONTACT="me@a.test", USER_AGENT="Other/1").user_agent == "Other/1"


NOT_SECONDS = ["", "soon", "-1", "nan", "inf", "1e300", True, [2], 10**400]
NOT_COUNTS = ["", "many", "-1", "1.5", "1_0", "٣", True, 2.0, "9" * 19]
SECONDS = ["INTERVAL", "IP_INTERVAL", "CRAWL_DELAY_CAP", "ROBOTS_TTL", "ROBOTS_RETRY"]
SECONDS += ["BACKOFF_BASE", "BACKOFF_CAP", "BLOCK", "LEASE"]
COUNTS = ["ROBOTS_MAX_REDIRECTS", "GIVE_UP", "MAX_DEPTH", "MAX_PAGES", "HOST_BUDGET"]
COUNTS += ["MAX_ATTEMPTS", "GATE_MIN_HOSTS", "GATE_MAX_PER_HOST", "GATE_MIN_BREADTH"]

REFUSED = [
    *((f"SEASPIDER_{name}", value) for name in SECONDS for value in NOT_SECONDS),
    *((name, value) for name in ("DOWNLOAD_TIMEOUT", "DNS_TIMEOUT") for value in (*NOT_SECONDS, "0")),
    *((f"SEASPIDER_{name}", value) for name in COUNTS for value in NOT_COUNTS),
    *(("REDIRECT_MAX_TIMES", value) for value in NOT_COUNTS),
    *(("DOWNLOAD_MAXSIZE", value) for value in (*NOT_COUNTS, "0")),
    ("SEASPIDER_ROBOTS_TTL", "0"),
    ("SEASPIDER_ROBOTS_TTL", "86401"),
    ("SEASPIDER_ROBOTS_RETRY", "0"),
    ("SEASPIDER_LEASE", "3"),
    ("SEASPIDER_GIVE_UP", "0"),
    ("SEASPIDER_MAX_ATTEMPTS", "0"),
    ("SEASPIDER_GATE_MIN_BREADTH", "1001"),
    ("SEASPIDER_STOP_ON_403", "yes"),
    ("SEASPIDER_FOLLOW", "all"),
    ("SEASPIDER_ORDER", "random"),
    ("SEASPIDER_CONTACT", "café"),
    ("SEASPIDER_CONTACT", "a\r\nCookie: b"),
    ("SEASPIDER_CONTACT", "a) evil/1 ("),
    ("SEASPIDER_LEDGER", "a\nb"),
    ("SEASPIDER_LEDGER", "postgres://127.0.0.1"),
    ("SEASPIDER_ALLOWED_NETWORKS", "127.0.0.1/8"),
    ("SEASPIDER_ALLOWED_NETWORKS", "localhost"),
    ("SEASPIDER_ALLOWED_NETWORKS", 127),
    ("SEASPIDER_RESOLVE", "a.test:127.0.0.1"),
    ("SEASPIDER_RESOLVE", "[]"),
    ("SEASPIDER_RESOLVE", '{"a.test": "localhost"}'),
    ("SEASPIDER_RESOLVE", '{"a.test": 1}'),
    ("SEASPIDER_RESOLVE", '{"a.test": [1]}'),
    ("SEASPIDER_RESOLVE", '{"a.test:80": "127.0.0.1"}'),
    ("SEASPIDER_RESOLVE", '{"": "127.0.0.1"}'),
    ("USER_AGENT", ""),
    ("USER_AGENT", "a\nb"),
    ("ROBOTSTXT_USER_AGENT", "seaspider/1.0"),
    ("ROBOTSTXT_USER_AGENT", "*"),
    ("ROBOTSTXT_USER_AGENT", ""),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=[f"{n}={str(v)[:20]!a}" for n, v in REFUSED])
def test_a_value_that_cannot_be_meant_is_refused_by_name_and_value(name, value):
    with pytest.raises(SettingError, match=f"^setting {name} = {re.escape(repr(value))}: ") as caught:
        config(**{name: value})
    assert caught.value.exit_code is ExitCode.USAGE


def test_messages_say_what_is_wanted():
    for name, value, why in [
        ("SEASPIDER_INTERVAL", "-1", "must not be negative"),
        ("SEASPIDER_ROBOTS_TTL", "86401", "must be at most 86400 s"),
        ("SEASPIDER_ROBOTS_RETRY", "0", "must be above 0 s"),
        ("SEASPIDER_GIVE_UP", "0", "must be at least 1"),
        ("SEASPIDER_FOLLOW", "all", "must be one of: off, host"),
    ]:
        with pytest.raises(SettingError) as caught:
            config(**{name: value})
        assert str(caught.value) == f"setting {name} = {value!r}: {why}"


UNKNOWN = [
    ("SEASPIDER_INTERVALL", "is unknown; did you mean SEASPIDER_INTERVAL?"),
    ("SEASPIDER_STOP_AT_403", "is unknown; did you mean SEASPIDER_STOP_ON_403?"),
    ("SEASPIDER_XQZWJK", "is unknown"),
]


@pytest.mark.parametrize(("name", "why"), UNKNOWN, ids=[name for name, _ in UNKNOWN])
def test_an_unknown_setting_of_ours_is_refused_with_the_nearest_name(name, why):
    with pytest.raises(SettingError) as caught:
        config(**{name: "3"})
    assert str(caught.value).removeprefix(f"setting {name} = '3': ") == why


def test_unknown_settings_of_others_are_theirs():
    config(MY_PIPELINE_FOLDER="out", SEASPIDERS="3")


def test_every_setting_of_ours_has_its_default_read_by_the_config():
    """Setting each to its default changes nothing, so the table of defaults is what counts."""
    assert config(**{name: value for name, value in DEFAULTS.items() if value is not None}) == config()
