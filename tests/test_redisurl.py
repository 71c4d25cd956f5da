"""A ledger's URL: what it may say, and that no text but the URL itself holds its password."""

from pathlib import Path

import pytest

from seaspider.core.redisurl import RedisPlace, redis_place, shown
from seaspider.errors import SettingError
from tests.crawling import ROOT, crawl
from tests.test_config import config

GOOD = {
    "redis://h": (RedisPlace("h", 6379, 0, False), "redis://h:6379/0"),
    "redis://10.0.0.1:7000/3": (RedisPlace("10.0.0.1", 7000, 3, False), "redis://10.0.0.1:7000/3"),
    "redis://[::1]/": (RedisPlace("::1", 6379, 0, False), "redis://[::1]:6379/0"),
    "redis://:s3cret@h": (RedisPlace("h", 6379, 0, False, None, "s3cret"), "redis://:***@h:6379/0"),
    "rediss://u:s3cret%2F%40@h:1/2": (RedisPlace("h", 1, 2, True, "u", "s3cret/@"), "rediss://u:***@h:1/2"),
    "rediss://h?ssl_ca_certs=ca.pem": (
        RedisPlace("h", 6379, 0, True, files=(("ssl_ca_certs", "ca.pem"),)),
        "rediss://h:6379/0?ssl_ca_certs=ca.pem",
    ),
}
BAD = {
    "no host": ("redis://", "redis://", "must name a host"),
    "a port that is none": ("redis://:s3cret@h:port", "redis://***@h:port", "must be redis://[USER:PASSWORD@]HOST"),
    "a password with a slash": ("redis://u:s3/cret@h", "redis://***@h", "must be redis://[USER:PASSWORD@]HOST"),
    "a password with a question mark": ("redis://u:s3?cret@h", "redis://***@h", "must be redis://"),
    "a password with a hash": ("redis://:s3#cret@h", "redis://***@h", "must be redis://"),
    "a database that is none": ("redis://h/pauses", "redis://h/pauses", "must be the number of a database"),
    "a user alone": ("redis://s3cret@h", "redis://***@h", "must have a password"),
    "a fragment": ("redis://h/0#s3cret", "redis://h/0#s3cret", "must have no fragment"),
    "another scheme": ("http://:s3cret@h", "http://***@h", "must be a file, redis:// or rediss://"),
    "an unknown option": ("rediss://h?ssl_cert_reqs=none", "rediss://h", "unknown option 'ssl_cert_reqs'; known are"),
    "an option with a password": ("redis://h?password=s3cret", "redis://h", "unknown option 'password'"),
    "an option without TLS": ("redis://h?ssl_ca_certs=x", "redis://h", "ssl_ca_certs is for rediss:// only"),
    "an option without a value": ("rediss://h?ssl_ca_certs=", "rediss://h", "ssl_ca_certs must name a file"),
    "no ASCII": ("redis://:s3crét@h", "redis://***@h", "must be printable ASCII text; percent-encode the rest"),
    "two lines": ("redis://:s3\ncret@h", "redis://***@h", "must be printable ASCII text"),
}


@pytest.mark.parametrize(("url", "place", "text"), [(url, *found) for url, found in GOOD.items()], ids=GOOD)
def test_a_url_is_read_and_shown_without_its_password(url: str, place: RedisPlace, text: str) -> None:
    assert redis_place(url) == place
    assert (str(place), shown(url)) == (text, text)
    assert "s3cret" not in repr(place)


@pytest.mark.parametrize(("url", "text", "why"), BAD.values(), ids=BAD)
def test_a_url_that_cannot_be_meant_is_refused_without_its_password(url: str, text: str, why: str) -> None:
    with pytest.raises(SettingError) as caught:
        config(SEASPIDER_LEDGER=url)
    assert str(caught.value).startswith(f"setting SEASPIDER_LEDGER = {text!r}: ")
    assert why in str(caught.value)
    assert "s3" not in str(caught.value).replace("#s3cret", "")


def test_the_password_is_in_no_record_of_the_settings() -> None:
    read = config(SEASPIDER_LEDGER="redis://u:s3cret@h/1")
    assert read.ledger == "redis://u:s3cret@h/1"
    assert read.to_record()["ledger"] == "redis://u:***@h:6379/1"
    assert "s3cret" not in repr(read)


PATHS = [
    "state/ledger.sqlite3",
    "/var/lib/redis/:pauses@night",
    "./redis:pauses",
    "../a@b",
    "redis",
    "redis.sqlite3",
    "redis-ledger/pauses",
    "redislike/pauses",
    "2026/11:30",
    ":memory:",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_no_url(path: str) -> None:
    assert shown(path) == path
    read = config(SEASPIDER_LEDGER=path)
    assert (read.ledger, read.to_record()["ledger"]) == (path, path)


NEITHER = "is neither a URL (redis://HOST, rediss://HOST) nor a file; a file that is called so needs ./ before it"
MISTYPED = {
    "redis:/:s3cret@127.0.0.1:16399": "redis***",
    "redis:s3cret@127.0.0.1": "redis***",
    "redis:127.0.0.1": "redis***",
    "redis//:s3cret@127.0.0.1/0": "redis***",
    "redis/:s3cret@127.0.0.1/0": "redis***",
    "redis/127.0.0.1": "redis***",
    "rediss:/u:s3cret@h": "rediss***",
    "rediss:\\\\u:s3cret@h": "rediss***",
    "redis\\\\h": "redis***",
    "REDIS:/:s3cret@h": "REDIS***",
    "Redis//:s3cret@h": "Redis***",
    " redis:/:s3cret@h": "***",
    "redis;//:s3cret@h": "redis***",
    "rdis:/:s3cret@h": "***",
    ":s3cret@h": "***",
    "u:s3cret@h:6379": "***",
    "s3cret@h": "***",
    "redis:/:s3\ncret@h": "redis***",
    "redis:/:s3crét@h": "redis***",
}


@pytest.mark.parametrize(("url", "text"), MISTYPED.items(), ids=[ascii(url) for url in MISTYPED])
def test_what_is_like_a_url_is_no_path(url: str, text: str) -> None:
    """It would be a ledger of this machine alone, and the password the name of a file."""
    with pytest.raises(SettingError) as caught:
        config(SEASPIDER_LEDGER=url)
    assert str(caught.value) == f"setting SEASPIDER_LEDGER = {text!r}: {NEITHER}"


def test_a_crawl_with_such_a_ledger_makes_no_file(tmp_path: Path) -> None:
    ended = crawl(["http://h0.test/"], tmp_path, settings={"SEASPIDER_LEDGER": "redis:/:s3cret@127.0.0.1:16399"})
    assert (ended.exit, ended.out) == (2, "")
    assert ended.log == f"scrapy crawl: setting SEASPIDER_LEDGER = 'redis***': {NEITHER}\n"
    assert not ended.store.exists()
    assert not list(ROOT.glob("redis:*"))
