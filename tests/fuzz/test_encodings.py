"""Encodings and robots tags: any bytes have one encoding and a text, any header a yes or no.

Held against `seaspider.core.charset` and `seaspider.core.robotstags`: their promises, the byte order mark and the
header as the only things that may overrule what the page says, and for robots tags that more text never takes a
nofollow back. Seeds: those of `budgets`.
"""

from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.charset import decode_page, encoding_of_label, header_encoding, is_binary, is_page_type, query_codec
from seaspider.core.robotstags import header_nofollow, meta_nofollow
from tests.core.test_robotscost import python_steps
from tests.fuzz.budgets import examples

LABELS = ["utf-8", "UTF8", "latin1", "gb2312", "gbk", "big5", "shift_jis", "iso-2022-jp", "hz-gb-2312", "utf-16",
          "x-user-defined", "koi8-ru", "unicode", "utf-7", "none", "\u212a", "", " utf-8 "]  # fmt: skip
TOKENS = st.sampled_from(
    [b"<meta charset=", b"<meta http-equiv=content-type content='text/html;charset=", b"<?xml encoding='", b"'", b'"',
     b">", b"<!--", b"-->", b"-", b"<", b"/", b"<a", b"=", b";", b" ", b"\t", b"\0", b"\xef\xbb\xbf", b"\xfe\xff",
     b"\xff\xfe", b"\x1b$B", b"\x1b(", b"\x81\x30\x81\x30", b"\x84\x31\xa4\x37", b"\xe3\x32\x9a\x36", b"\x80",
     b"\xff", b"\xc3", b"\xa9", b"\xd8\x00", b"%PDF-", b"<html>", b"charset=", b"\x8f\xa2\xc0", b"~{", b"\x0e",
     *(label.encode() for label in LABELS)]
)  # fmt: skip
BODIES = st.lists(TOKENS | st.binary(max_size=4), max_size=30).map(b"".join)
TYPES = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.lists(
        st.sampled_from(
            [
                "text/html",
                "TEXT/html ",
                "application/xhtml+xml",
                ";",
                "charset",
                "=",
                '"',
                "\\",
                " ",
                ",",
                "x=y",
                *LABELS,
            ]
        ),
        max_size=8,
    ).map("".join),
)


@examples(350, 1_500)
def test_any_bytes_and_any_type(budget) -> None:
    @budget
    @given(BODIES, TYPES)
    def hold(body: bytes, content_type: str) -> None:
        charset, text = decode_page(body, content_type)
        assert encoding_of_label(charset) == charset
        assert not any("\ud800" <= char <= "\udfff" for char in text)
        assert len(text) <= len(body)
        codec = query_codec(charset)
        assert codec is None or "a".encode(codec) == b"a"
        assert isinstance(is_page_type(body, content_type), bool)
        assert isinstance(is_binary(body, content_type), bool)
        declared = header_encoding(content_type)
        if body.startswith(b"\xef\xbb\xbf"):
            assert charset == "utf-8"
        elif declared is not None and not body.startswith((b"\xfe\xff", b"\xff\xfe")):
            assert charset == declared
        assert decode_page(body, content_type) == (charset, text)

    hold()


DIRECTIVES = st.lists(
    st.sampled_from(["nofollow", "NONE", "noindex", "all", ",", ";", ":", " ", "bot", "*", "robots", "other",
                     "max-snippet", "unavailable_after", "15", "İ", "\0", "\x1f", "/1.0", "-"]),
    max_size=10,
).map("".join)  # fmt: skip


@examples(200, 1_000)
def test_more_tags_never_take_a_nofollow_back(budget) -> None:
    @budget
    @given(
        st.lists(DIRECTIVES | st.text(max_size=9), max_size=4), DIRECTIVES, st.sampled_from(["bot", "other", "none"])
    )
    def add(values: list[str], one_more: str, token: str) -> None:
        before = header_nofollow(values, token)
        assert header_nofollow([*values, one_more], token) >= before
        assert header_nofollow([one_more, *values], token) >= before
        assert header_nofollow([f"{value}, x" for value in values], token) >= before
        assert any(header_nofollow([value], token) for value in values) == before
        assert header_nofollow([*values, "nofollow"], token)
        metas = [("robots", value) for value in values]
        assert meta_nofollow([*metas, ("ROBOTS ", "nofollow")], token)
        assert meta_nofollow([*metas, ("other-name", one_more)], token) == meta_nofollow(metas, token)

    add()


@examples(20, 150)
def test_work_is_linear_whatever_is_repeated(budget) -> None:
    @budget
    @given(st.lists(TOKENS, min_size=1, max_size=5).map(b"".join), DIRECTIVES)
    def linear(unit: bytes, directive: str) -> None:
        def use(times: int) -> None:
            decode_page(unit * times, "")
            header_encoding((";" + directive) * times)
            header_nofollow([(directive + ",") * times], "bot")

        assert python_steps(lambda: use(200)) <= 2.1 * python_steps(lambda: use(100)) + 300

    linear()
