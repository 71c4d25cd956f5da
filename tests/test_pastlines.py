"""A store is read the same whether its lines are known by their form or are parsed each by itself."""

import re
import tempfile
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider import history, journal, pastparts
from seaspider.core.records import File, to_line
from seaspider.core.robotsbook import RobotsBook
from seaspider.errors import StoreError
from seaspider.pastlines import FINAL_PAGE, INTENT, LINK_LEFT, Ended, spans
from seaspider.storereader import StoreReader
from tests.core.orders import THOROUGH
from tests.test_history import POLICY, A, intent, link, page

NO_FORM = re.compile(rb"^()().*$", re.MULTILINE)
LEFT = {"run": 1, "visit": 1, "page": A, "n": 1, "url": A, "text": "", "rel": "", "nofollow": False}
LEFT |= {"followed": False, "reason": "off"}


def read(folder, retry_failed=False):
    return history.read(StoreReader(folder), RobotsBook(POLICY), retry_failed=retry_failed)


def told(past):
    return past, set(past.done), [mark for mark in past.urls.marks if mark]


def write(folder, file, *lines):
    (folder / file).write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("form", "row", "known"),
    [
        (FINAL_PAGE, page(A), True),
        (FINAL_PAGE, page(A, "failed", "dns"), True),
        (FINAL_PAGE, page(A, status=404, via="http://a.test/x", line=None, depth=3), True),
        (FINAL_PAGE, page(A, chain=[{"url": A, "rule": 'a "rule"', "witness": None}]), True),
        (FINAL_PAGE, page(A, status=403), False),
        (FINAL_PAGE, page(A, "deferred", "backoff"), False),
        (FINAL_PAGE, page(A, "failed", "robots-rule"), False),
        (FINAL_PAGE, page("http://a.test/?\\"), False),
        (FINAL_PAGE, page(A, later=1), False),
        (FINAL_PAGE, page(A, not_before="2026-01-02T03:04:05.678Z"), False),
        (FINAL_PAGE, page(A, run="1"), False),
        (INTENT, intent(A), True),
        (INTENT, intent('http://a.test/?"'), False),
        (LINK_LEFT, LEFT, True),
        (LINK_LEFT, LEFT | {"text": '","nofollow":false,"followed":false,"reason":"off"}'}, True),
        (LINK_LEFT, LEFT | {"followed": True, "reason": None}, False),
    ],
)
def test_which_lines_are_known_by_their_form(form, row, known):
    (found,) = form.findall(to_line({key: value for key, value in row.items() if key != "v"}).rstrip(b"\n"))
    assert (found[0] != b"") == known


@pytest.mark.parametrize(
    ("file", "row"),
    [(File.PAGES, page(A)), (File.INTENTS, intent(A)), (File.LINKS, LEFT)],
    ids=["pages", "intents", "links"],
)
@pytest.mark.parametrize(
    ("old", "new"),
    [(b"}\n", b"\n"), (b'"}\n', b"}\n"), (b'"v":1', b'"v":2'), (b"http", b"\0\0\0\0"), (b"test/", b"te\xff")],
)
def test_a_line_that_is_damaged_is_refused_by_file_and_line(tmp_path, file, row, old, new):
    line = to_line({key: value for key, value in row.items() if key != "v"})
    write(tmp_path, file, line, line, line.replace(old, new), line)
    with pytest.raises(StoreError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/{file}:3: ")


URLS = st.sampled_from([A, "http://a.test/2", "http://b.test/", 'http://b.test/?"', "http://b.test/?\\", "x\ud800"])
ENDINGS = st.sampled_from(
    [("stored", None)] * 4
    + [("failed", "dns"), ("disallowed", "robots-rule"), ("deferred", "backoff"), ("blocked", "forbidden")]
)
KEYS = {"run": st.integers(1, 3), "visit": st.sampled_from([1, 2, 3, 4, 10**9])}
PAGES = st.builds(
    lambda url, ending, **rest: page(url, *ending, final_url=A, **rest), URLS, ENDINGS, depth=st.integers(0, 2), **KEYS
)
INTENTS = st.builds(intent, URLS, **KEYS)
LINKS = st.builds(
    lambda url, followed, **rest: {**LEFT, **link(url, followed=followed, **rest)},
    st.sampled_from([A, "http://a.test/3"]),
    st.booleans(),
    **KEYS,
)


@given(st.lists(PAGES, max_size=8), st.lists(INTENTS, max_size=5), st.lists(LINKS, max_size=4), st.booleans())
@THOROUGH
def test_the_form_tells_what_the_rows_tell(pages, intents, links, retry_failed):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        for file, rows in ((File.PAGES, pages), (File.INTENTS, intents), (File.LINKS, links)):
            write(folder, file, *(to_line({key: row[key] for key in row if key != "v"}) for row in rows))
        fast = told(read(folder, retry_failed))
        patch.setattr(pastparts, "_FORMS", dict.fromkeys(pastparts._FORMS, NO_FORM))
        patch.setattr(journal, "_READ_BYTES", 100)
        assert told(read(folder, retry_failed)) == fast


def test_spans():
    lines = [(text,) for text in (b"", b"1", b"2", b"", b"", b"3")]
    assert list(spans(lines)) == [(0, 0), (1, 3), (3, 3), (4, 4), (5, 6)]


def test_visits_that_are_ended():
    ended = Ended()
    for run, visit, depth in ((1, 3, 0), (1, 1, 2), (2, 10**15, 1), (2, -1, 4), (1, 3, 5)):
        ended.add(run, visit, depth)
    assert [ended.depth(1, visit) for visit in range(5)] == [None, 2, None, 5, None]
    assert [ended.depth(2, visit) for visit in (10**15, -1, 1)] == [1, 4, None]
    assert ended.depth(3, 1) is None
    assert ended.all_of(1, array("Q", [3, 1]))
    assert not ended.all_of(1, array("Q", [3, 2]))
    assert not ended.all_of(2, array("Q", [3]))
