"""Where a line of the queue belongs: by its registrable domain, and the same wherever it is asked."""

import pytest

from seaspider.core.shards import Placement, jump, key_of
from seaspider.fleet.suffixes import bundled

SUFFIX_OF = bundled().suffix_of
KEYS = {
    "a.test": "a.test",
    "www.a.test": "a.test",
    "deep.www.a.test": "a.test",
    "localhost": "localhost",
    "test": "test",
    "co.uk": "co.uk",
    "shop.co.uk": "shop.co.uk",
    "www.shop.co.uk": "shop.co.uk",
    "someone.github.io": "github.io",
    "www.ck": "www.ck",
    "a.b.ck": "a.b.ck",
    "www.a.b.ck": "a.b.ck",
    "www.xn--bcher-kva.example.xn--p1ai": "example.xn--p1ai",
    "127.0.0.1": "127.0.0.1",
    "[2001:db8::1]": "[2001:db8::1]",
    "under_score.a.test": "a.test",
}
# As other implementations of the published algorithm have them.
JUMPS = {(0, 60): 0, (1, 60): 55, (2, 60): 46, (256, 1024): 520}


@pytest.mark.parametrize(("host", "key"), KEYS.items(), ids=KEYS)
def test_hosts_of_a_registrable_domain_have_one_key(host: str, key: str) -> None:
    assert key_of(host, SUFFIX_OF) == key


@pytest.mark.parametrize(("key", "buckets"), JUMPS, ids=str)
def test_jump_is_the_published_one(key: int, buckets: int) -> None:
    assert jump(key, buckets) == JUMPS[key, buckets]


def test_one_shard_more_moves_keys_to_it_only_and_about_its_share() -> None:
    keys = [number * 0x9E3779B97F4A7C15 & (1 << 64) - 1 for number in range(4000)]
    before, after = ([jump(key, buckets) for key in keys] for buckets in (63, 64))
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {63}
    assert len(moved) == 59
    assert set(before) == set(range(63))


def test_a_host_is_placed_by_its_key_and_a_line_by_its_bytes() -> None:
    place = Placement(64, SUFFIX_OF)
    assert place.of_host("www.a.test") == place.of_host("a.test") == place.of_bytes(b"a.test") == 26
    assert place.of_host("b.test") == 15
    assert place.of_bytes(b"no URL") == 25
