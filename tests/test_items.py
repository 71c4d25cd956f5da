"""The items, as the store writes them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.links import LinkReason
from seaspider.core.records import to_line
from seaspider.items import Link, record

LINK = Link(1, 2, 3, "http://a.test/", 4, "http://b.test/?a=1&b=2", "A text", "", False, True, None)


def test_a_link_is_written_in_the_order_of_its_fields() -> None:
    assert LINK.line() == (
        b'{"v":1,"run":2,"visit":3,"page":"http://a.test/","n":4,"url":"http://b.test/?a=1&b=2","text":"A text",'
        b'"rel":"","nofollow":false,"followed":true,"reason":null}\n'
    )


@pytest.mark.parametrize("reason", LinkReason)
def test_a_link_that_is_not_followed_says_why(reason: LinkReason) -> None:
    link = replace(LINK, nofollow=True, followed=False, reason=reason)
    assert link.line() == to_line(record(link))


@given(st.text(st.characters()), st.text(), st.integers(), st.booleans())
def test_whatever_is_in_a_link_its_line_is_the_one_of_its_record(text: str, url: str, n: int, flag: bool) -> None:
    for odd in ("", '"\\/\b\f\n\r\t\x00\x1f\x7f\x80\u2028\ud800\U0001f600'):
        link = replace(LINK, text=text + odd, url=url, rel=odd, page=odd + url, n=n, nofollow=flag, followed=not flag)
        assert link.line() == to_line(record(link))
