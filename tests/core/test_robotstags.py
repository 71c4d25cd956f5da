import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.robotstags import header_nofollow, meta_nofollow


@pytest.mark.parametrize(
    ("metas", "expected"),
    [
        pytest.param([("robots", "nofollow")], True, id="nofollow"),
        pytest.param([("ROBOTS", "NONE")], True, id="LNK-06-none-in-capitals"),
        pytest.param([(" Robots\n", " noindex , NoFollow ")], True, id="LNK-06-blanks-and-case"),
        pytest.param([("seaspider", "nofollow")], True, id="LNK-06-our-name"),
        pytest.param([("SeaSpider", "nofollow")], True, id="our-name-any-case"),
        pytest.param([("otherbot", "nofollow")], False, id="LNK-06-other-name"),
        pytest.param([("seaspider-news", "nofollow")], False, id="longer-name"),
        pytest.param([("robots", "")], False, id="LNK-06-value-instead-of-content"),
        pytest.param([("robots", "noindex, follow, noarchive")], False, id="no-nofollow"),
        pytest.param([("robots", "all"), ("robots", "nofollow")], True, id="two-metas-add-up"),
        pytest.param([("robots", "nofollow"), ("seaspider", "follow")], True, id="ours-does-not-lift"),
        pytest.param([("robots", "noindex nofollow")], True, id="comma-forgotten"),
        pytest.param([("robots", "noindex;nofollow")], True, id="semicolon"),
        pytest.param([("robots", "nofollowing, xnofollow, no follow")], False, id="whole-words"),
        pytest.param([("robots", "max-image-preview:none")], False, id="none-as-a-value"),
        pytest.param([("robots", "max-image-preview: none, nofollow")], True, id="value-then-directive"),
        pytest.param([("description", "nofollow")], False, id="another-meta"),
        pytest.param([], False, id="none-at-all"),
    ],
)
def test_meta(metas: list[tuple[str, str]], expected: bool) -> None:
    assert meta_nofollow(metas, "seaspider") is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["nofollow"], True, id="LNK-07-everyone"),
        pytest.param(["seaspider: nofollow"], True, id="LNK-07-ours"),
        pytest.param(["SEASPIDER:NONE"], True, id="ours-any-case"),
        pytest.param(["otherbot: nofollow"], False, id="LNK-07-other"),
        pytest.param(["otherbot: noindex, nofollow"], False, id="agent-holds-to-the-end"),
        pytest.param(["otherbot: nofollow", "nofollow"], True, id="but-not-in-the-next-header"),
        pytest.param(["otherbot: noindex, seaspider: nofollow"], True, id="two-agents-in-one"),
        pytest.param(["seaspider: noindex, otherbot: nofollow"], False, id="two-agents-the-other-way"),
        pytest.param(["nofollow, otherbot: noindex"], True, id="everyone-then-agent"),
        pytest.param(["seaspider/0.1: nofollow"], True, id="with-version"),
        pytest.param(["seaspider-news: nofollow"], False, id="longer-name"),
        pytest.param(["*: nofollow"], True, id="star"),
        pytest.param(["robots: nofollow"], True, id="robots-as-agent"),
        pytest.param(["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], True, id="date-with-colons"),
        pytest.param(["unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, nofollow"], True, id="date-with-comma"),
        pytest.param(["unavailable_after: Fri, 15:00:00 GMT, nofollow"], True, id="hour-is-no-agent"),
        pytest.param(["otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], False, id="date-of-another"),
        pytest.param(["max-image-preview: none"], False, id="none-as-a-value"),
        pytest.param(["max-snippet: 20, nofollow"], True, id="value-then-directive"),
        pytest.param(["noindex, follow"], False, id="no-nofollow"),
        pytest.param(["", ",,:,", ":nofollow"], False, id="junk"),
        pytest.param([], False, id="no-header"),
    ],
)
def test_header(values: list[str], expected: bool) -> None:
    assert header_nofollow(values, "seaspider") is expected


def test_the_token_is_the_callers() -> None:
    assert header_nofollow(["Otherbot: nofollow"], "OtherBot")
    assert meta_nofollow([("otherbot", "none")], "OtherBot")


@given(st.lists(st.text()), st.lists(st.tuples(st.text(), st.text())))
def test_never_raises(values: list[str], metas: list[tuple[str, str]]) -> None:
    header_nofollow(values, "seaspider")
    meta_nofollow(metas, "seaspider")
