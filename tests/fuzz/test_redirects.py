"""Location: whatever bytes a server sends, the answer is a normalised http(s) URL, a refusal or nothing.

Compared with `seaspider.core.redirects.next_hop`: the independent URL parser of `otherurls`, which resolves the same
value against the same URL. Seeds: those of `budgets`.
"""

from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.redirects import REDIRECT_STATUSES, HopReason, RefusedHop, location_text, next_hop
from seaspider.core.urls import Url, normalise
from tests.fuzz.budgets import examples
from tests.fuzz.otherurls import difference, theirs

CURRENTS = [*map(normalise, ("http://h.test/a/b?q", "https://[::1]:8443/x", "http://a.b.test//"))]
PIECES = st.sampled_from(
    [b"http:", b"https:", b"HTTP://", b"//", b"/", b"\\", b"?", b"#", b"@", b":", b":80", b":0", b"u:p@", b"..",
     b"%2e", b"%", b"h.test", b"o.test", b"127.1", b"[::1]", b"javascript:", b"data:", b"file:///", b"ftp://", b"a",
     b"/a/b?q", b" ", b"\t", b"\r", b"\n", b"\x0b", b"\x00", b"\x1b[31m", b"\x7f", b"\x85", b"\xa0", b"\xc3\xa9",
     b"\xe9", b"\xe1\xba\x9e", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xff", b"xn--", b"xn--fa-hia", b"a" * 64]
)  # fmt: skip
VALUES = st.lists(st.one_of(PIECES, PIECES, PIECES, st.binary(max_size=4)), max_size=9).map(b"".join)
STATUSES = st.sampled_from([*sorted(REDIRECT_STATUSES), 200, 300, 304, 305, 999])
# Which way of differing from the other reader is which refusal.
REFUSALS = {
    "other-scheme": HopReason.SCHEME,
    "userinfo": HopReason.USERINFO,
    "empty-userinfo": HopReason.USERINFO,
    "host-form": HopReason.BAD_LOCATION,
    "newer-letters": HopReason.BAD_LOCATION,
    "port-0": HopReason.BAD_LOCATION,
    "too-long": HopReason.BAD_LOCATION,
}


@examples(500, 3_000)
def test_any_bytes(budget) -> None:
    @budget
    @given(
        st.sampled_from(CURRENTS),
        STATUSES,
        st.lists(VALUES, max_size=3) | VALUES.map(lambda value: [value] * 2),
        st.integers(0, 2),
        st.booleans(),
    )
    def decided(current: Url, status: int, locations: list[bytes], budget_left: int, been_there: bool) -> None:
        hop = next_hop(current, status, locations, ["http://o.test/"] if been_there else [], budget_left)
        if status not in REDIRECT_STATUSES or not locations:
            assert hop is None
        elif len({value.strip() for value in locations}) > 1:
            assert isinstance(hop, RefusedHop)
            assert hop.reason is HopReason.BAD_LOCATION
        else:
            assert hop is not None
            check(current, location_text(locations[0].strip()), hop, budget_left, been_there)
        if isinstance(hop, RefusedHop):
            assert hop.location.isascii()

    decided()


def check(current: Url, location: str, hop: Url | RefusedHop, budget_left: int, been_there: bool) -> None:
    """One value: as the other reader resolves it, unless it is a loop, past the budget, or differs as listed."""
    name, other = difference(location, current), theirs(location, current)
    if isinstance(hop, Url):
        assert normalise(hop.text) == hop
        assert hop.scheme in ("http", "https")
        assert "@" not in hop.authority
        assert hop.text.isascii()
        assert hop.text.isprintable()
        assert hop.text != current.text
        assert budget_left > 0
        assert not (been_there and hop.text == "http://o.test/")
    elif hop.reason in (HopReason.REDIRECT_LOOP, HopReason.REDIRECT_LIMIT):
        target = normalise(location, current).text
        assert (hop.reason is HopReason.REDIRECT_LOOP) == (
            target == current.text or (been_there and target == "http://o.test/")
        )
        assert hop.reason is HopReason.REDIRECT_LOOP or budget_left == 0
    else:
        assert hop.location == location
        assert other is None or (name is not None and hop.reason is REFUSALS[name])
