"""Where an answer sends a visit, by status, Location and what was asked before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.redirects import REDIRECT_STATUSES, HopReason, RefusedHop, location_text, next_hop
from seaspider.core.urls import MAX_URL_CHARS, Url, normalise

CURRENT = "http://h.test/a/b?q"
SEEN = ("http://h.test/", "http://h.test/start", CURRENT)


def hop(*locations, status=302, seen=SEEN, budget=5):
    answer = next_hop(normalise(CURRENT), status, locations, seen, budget)
    return answer.text if isinstance(answer, Url) else answer


FOLLOWED = {
    "path": (b"/c", "http://h.test/c"),
    "relative": (b"c", "http://h.test/a/c"),
    "query": (b"?r", "http://h.test/a/b?r"),
    "absolute": (b"https://o.test/", "https://o.test/"),
    "network-path": (b"//o.test/c", "http://o.test/c"),
    "fragment-dropped": (b"/c#d", "http://h.test/c"),
    "dot-segments": (b"/x/../private", "http://h.test/private"),
    "utf-8-bytes": (b"/caf\xc3\xa9", "http://h.test/caf%C3%A9"),
    "latin-1-bytes": (b"/caf\xe9", "http://h.test/caf%E9"),
    "utf-8-host": (b"http://m\xc3\xbcnchen.test/", "http://xn--mnchen-3ya.test/"),
    "eszett-host": (b"http://fa\xc3\x9f.test/", "http://xn--fa-hia.test/"),
    "backslashes-as-browsers": (b"\\\\o.test:81\\b", "http://o.test:81/b"),
    "space-inside": (b"/c d", "http://h.test/c%20d"),
    "space-around": (b" \t/c ", "http://h.test/c"),
    "tab-inside": (b"/c\td", "http://h.test/cd"),
    "odd-loopback-is-spelt-out": (b"http://0x7f000001:81/b", "http://127.0.0.1:81/b"),
    "port-is-another-url": (b"http://h.test:81/a/b?q", "http://h.test:81/a/b?q"),
    "scheme-is-another-url": (b"https://h.test/a/b?q", "https://h.test/a/b?q"),
}


@pytest.mark.parametrize(("location", "target"), FOLLOWED.values(), ids=FOLLOWED.keys())
def test_followed(location, target):
    assert hop(location) == target


REFUSED = {
    "ftp": (b"ftp://h.test/", HopReason.SCHEME),
    "javascript": (b"javascript:alert(1)", HopReason.SCHEME),
    "mailto": (b"mailto:a@h.test", HopReason.SCHEME),
    "user": (b"http://u:p@h.test/", HopReason.USERINFO),
    "user-looks-like-a-host": (b"http://good.test@127.0.0.1/", HopReason.USERINFO),
    "port": (b"http://h.test:99999/", HopReason.BAD_LOCATION),
    "bracket": (b"http://[::1/", HopReason.BAD_LOCATION),
    "host": (b"http://a..test/", HopReason.BAD_LOCATION),
    "latin-1-host": (b"http://m\xfcnchen.test/", HopReason.BAD_LOCATION),
    "too-long": (b"/" + b"a" * MAX_URL_CHARS, HopReason.BAD_LOCATION),
    "empty": (b"", HopReason.REDIRECT_LOOP),
    "blank": (b" ", HopReason.REDIRECT_LOOP),
    "fragment-only": (b"#top", HopReason.REDIRECT_LOOP),
    "itself": (b"/a/b?q", HopReason.REDIRECT_LOOP),
    "itself-spelt-otherwise": (b"HTTP://H.TEST:80/%61/./b?q#x", HopReason.REDIRECT_LOOP),
    "earlier-in-the-chain": (b"/start", HopReason.REDIRECT_LOOP),
}


@pytest.mark.parametrize(("location", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(location, reason):
    assert hop(location) == RefusedHop(reason, location_text(location.strip()))


@pytest.mark.parametrize("status", range(100, 1000))
def test_only_five_statuses_redirect(status):
    expected = "http://h.test/c" if status in {301, 302, 303, 307, 308} else None
    assert hop(b"/c", status=status) == expected
    # A final answer is not judged by a Location that no one follows.
    if expected is None:
        assert hop(b"http://[", b"/d", status=status, budget=0) is None


@pytest.mark.parametrize("status", sorted(REDIRECT_STATUSES))
def test_without_location_the_answer_is_final(status):
    assert hop(status=status) is None
    assert hop(status=status, budget=0) is None


def test_two_locations():
    assert hop(b"/c", b"/d") == RefusedHop(HopReason.BAD_LOCATION, "/c, /d")
    assert hop(b"/c", b"") == RefusedHop(HopReason.BAD_LOCATION, "/c, ")
    assert hop(b"/c", b"/c ", b"/c") == "http://h.test/c"


def test_current_counts_as_seen():
    assert hop(b"/a/b?q", seen=()) == RefusedHop(HopReason.REDIRECT_LOOP, "/a/b?q")
    # Twin: it is being seen that refuses.
    assert hop(b"/start", seen=()) == "http://h.test/start"


def test_budget():
    assert hop(b"/c", budget=1) == "http://h.test/c"
    assert hop(b"/c", budget=0) == RefusedHop(HopReason.REDIRECT_LIMIT, "/c")
    # What is wrong with the Location says more than that the budget is spent.
    assert hop(b"/start", budget=0) == RefusedHop(HopReason.REDIRECT_LOOP, "/start")
    assert hop(b"ftp://h.test/", budget=0) == RefusedHop(HopReason.SCHEME, "ftp://h.test/")


def walk(first, answers, budget):
    """All hops of a chain whose server answers 302 with `answers[url]`, and how it ended."""
    chain = [normalise(first)]
    while True:
        location = answers(chain[-1].text)
        answer = next_hop(chain[-1], 302, [location], [url.text for url in chain], budget - len(chain) + 1)
        if not isinstance(answer, Url):
            return [url.text for url in chain], answer
        chain.append(answer)


def test_a_loop_ends_at_its_second_visit():
    answers = {"http://h.test/a": b"/b", "http://h.test/b": b"/c", "http://h.test/c": b"/b"}
    chain, end = walk("http://h.test/a", answers.__getitem__, budget=10)
    assert chain == ["http://h.test/a", "http://h.test/b", "http://h.test/c"]
    assert end == RefusedHop(HopReason.REDIRECT_LOOP, "/b")


def test_an_endless_chain_ends_with_the_budget():
    chain, end = walk("http://h.test/0", lambda url: url.encode() + b"0", budget=10)
    assert len(chain) == 11
    assert end == RefusedHop(HopReason.REDIRECT_LIMIT, "http://h.test/" + "0" * 12)


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(st.lists(st.binary(max_size=30), min_size=1, max_size=2), st.sampled_from([b"", b"/", b"//", b"http://"]))
def test_any_bytes_have_an_answer(tails, start):
    answer = next_hop(normalise(CURRENT), 301, [start + tail for tail in tails], SEEN, 3)
    if isinstance(answer, Url):
        assert normalise(answer.text) == answer
        assert answer.text not in SEEN
    else:
        assert isinstance(answer, RefusedHop)
        assert answer.location.isascii()
