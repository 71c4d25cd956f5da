"""The items, as the store writes them."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.links import FoundLink, LinkReason, LinkRow
from seaspider.core.records import to_line
from seaspider.items import Link, Page, record

_FIELDS = inspect.signature(Page).parameters

PAGE = {name: None for name in _FIELDS if name not in ("content", "rows")}


def _page(*rows: LinkRow, url: str = "http://a.test/") -> Page:
    return Page(**{**PAGE, "v": 1, "run": 2, "visit": 3, "final_url": url, "links": len(rows)}, rows=rows)


def _row(
    url: str = "http://b.test/", text: str = "", rel: str = "", nofollow=False, reason=None, n: int = 4
) -> LinkRow:
    return LinkRow(FoundLink(n, url, None, text, rel, nofollow), reason)


def test_a_link_is_written_in_the_order_of_its_fields() -> None:
    page = _page(_row("http://b.test/?a=1&b=2", "A text"))
    assert page.link_lines() == (
        b'{"v":1,"run":2,"visit":3,"page":"http://a.test/","n":4,"url":"http://b.test/?a=1&b=2","text":"A text",'
        b'"rel":"","nofollow":false,"followed":true,"reason":null}\n'
    )
    assert page.link_items == [
        Link(1, 2, 3, "http://a.test/", 4, "http://b.test/?a=1&b=2", "A text", "", False, True, None)
    ]


@pytest.mark.parametrize("reason", LinkReason)
def test_a_link_that_is_not_followed_says_why(reason: LinkReason) -> None:
    page = _page(_row("http://b.test/1", nofollow=True, reason=reason), _row("http://b.test/2", n=5))
    assert page.link_lines() == b"".join(to_line(record(link)) for link in page.link_items)
    assert page.followed == ["http://b.test/2"]
    assert [(link.followed, link.reason) for link in page.link_items] == [(False, reason), (True, None)]


@given(st.text(st.characters()), st.text(), st.integers(), st.booleans())
def test_whatever_is_in_a_link_its_line_is_the_one_of_its_record(text: str, url: str, n: int, flag: bool) -> None:
    for odd in ("", '"\\/\b\f\n\r\t\x00\x1f\x7f\x80\u2028\ud800\U0001f600'):
        page = _page(_row(url, text + odd, odd, flag, None if flag else LinkReason.OFF, n), url=odd + url)
        assert page.link_lines() == b"".join(to_line(record(link)) for link in page.link_items)


def test_a_page_without_links_has_no_line_of_them() -> None:
    assert (_page().link_lines(), _page().link_items, _page().followed) == (b"", [], [])
