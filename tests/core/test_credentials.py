"""What is hidden of user information, and that what is left is judged as it was."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.credentials import without_userinfo, without_userinfo_anywhere, without_userinfo_each
from seaspider.core.queue import as_recorded
from seaspider.core.urls import UrlError, normalise

BASES = [normalise("http://h.test/dir/p?q"), normalise("https://h.test/")]


@pytest.mark.parametrize(
    ("reference", "hidden"),
    [
        ("http://u:p@h/x", "http://***@h/x"),
        ("http://u:p@q@h/x", "http://***@h/x"),
        ("//u@h", "//***@h"),
        ("\\\\u:p@h", "\\\\***@h"),
        ("https:\\\\u:p@h", "https:\\\\***@h"),
        ("ftp://u:p@h/", "ftp://***@h/"),
        (" ht\ttp://u:p@h/", "http://***@h/"),
        ("http://@h/", "http://***@h/"),
        ("http://***@h/", "http://***@h/"),
        ("mailto:u@h", "mailto:u@h"),
        ("/@u", "/@u"),
        ("http://h/@u", "http://h/@u"),
        ("?next=http://u:p@h/", "?next=http://u:p@h/"),
        ("http:u:p@h/", "http:u:p@h/"),  # a path, on a page of that scheme
        (" x\t", " x\t"),
    ],
)
def test_references(reference: str, hidden: str) -> None:
    assert without_userinfo(reference) == hidden


def test_references_that_differ_still_do() -> None:
    each = ["http://u@h/", "http://v@h/", "http://u@h/", "/x", "http://***@h/", "/x"]
    hidden = ["http://***@h/", "http://****@h/", "http://***@h/", "/x", "http://*****@h/", "/x"]
    assert without_userinfo_each(each) == hidden
    assert {without_userinfo(text) for text in hidden} == {"http://***@h/", "/x"}


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("http://u:p@h/", "http://***@h/"),
        ('"http://u:p@h/"', '"http://***@h/"'),
        ("<http://u@h>,ftp://u:p@h/x", "<http://***@h>,ftp://***@h/x"),
        ("http:/u:p@h", "http:/***@h"),
        ("http:u:p@h", "http:***@h"),
        ("u:p@h/x", "x:***@h/x"),
        ("1u:p@h/x", "***@h/x"),
        ("http://u:p/w@h/", "http://***:***/***@h/"),
        ("http://u:p@h:99999/", "http://***@h:99999/"),
        ("mailto:u@h", "mailto:u@h"),
        ("u@h", "u@h"),
        ("x http://h/@u", "x http://h/@u"),
        ("no-scheme.test/", "no-scheme.test/"),
    ],
)
def test_lines(line: str, hidden: str) -> None:
    assert without_userinfo_anywhere(line) == hidden


def judged(text: str, base: object = None) -> str:
    try:
        return normalise(text, base).text  # type: ignore[arg-type]
    except UrlError as error:
        return error.reason


PIECES = (
    "http:", "https:", "ftp:", "HTTP:", "mailto:", "x:", "/", "//", "\\", "@", ":", "user", "secret", "h.test", "99999",
    "[", "]", "?", "#", " ", "\t", "\n", '"', "<", ",", ".", "é", "%40", "1", "-", "\x01", "***",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(max_examples=2000)
@given(TEXTS, st.sampled_from(BASES))
def test_what_is_left_of_a_reference_is_judged_as_it_was(text: str, base: object) -> None:
    hidden = without_userinfo(text)
    assert judged(hidden, base) == judged(text, base)
    assert without_userinfo(hidden) == hidden
    if judged(text, base) not in ("userinfo", "scheme", "encoding"):
        assert hidden == text or "@" in text


@settings(max_examples=2000)
@given(TEXTS)
def test_what_is_left_of_a_rejected_line_is_rejected_as_it_was(text: str) -> None:
    reason = judged(text)
    if not reason.startswith("http"):
        assert judged(as_recorded(text)) == reason


@pytest.mark.parametrize(
    ("line", "recorded"),
    [
        ("\x01http:u:p@h", "http:***"),
        ("http:\t//u:p@h", "http://***@h"),
        (" u\t:p@h", " x:***@h"),
    ],
)
def test_tabs_inside_and_where_hiding_would_change_the_reason_nothing_is_left(line: str, recorded: str) -> None:
    assert as_recorded(line) == recorded


@pytest.mark.parametrize("text", ["a:,", "//", "a:", "//a", "//a:", "http://a:/", "@//a:", ",a:b@"])
def test_a_long_line_takes_no_longer_than_its_length(text: str) -> None:
    line = text * 20_000 + "@"
    assert without_userinfo_anywhere(line)
    assert without_userinfo(line)
