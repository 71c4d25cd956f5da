import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.charset import (
    _LABELS,
    PRESCAN_BYTES,
    decode_page,
    encoding_of_label,
    header_encoding,
    is_binary,
    is_page_type,
    query_codec,
)

CYRILLIC = "п".encode("windows-1251")


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "text"),
    [
        pytest.param(b"", "text/html", "utf-8", "", id="empty"),
        pytest.param("é".encode(), "text/html", "utf-8", "é", id="undeclared-utf-8"),
        pytest.param("é è".encode("latin-1"), "text/html", "windows-1252", "é è", id="undeclared-latin-1"),
        pytest.param("é".encode() + b"\xff", "text/html", "windows-1252", "Ã©ÿ", id="one-bad-byte-decides"),
        pytest.param(b"\x93q\x94", "text/html; charset=ISO-8859-1", "windows-1252", "“q”", id="latin-1-is-1252"),
        pytest.param(CYRILLIC, "text/html; charset=windows-1251", "windows-1251", "п", id="header"),
        pytest.param(CYRILLIC, 'TEXT/HTML;\tCharset="Windows-1251"', "windows-1251", "п", id="header-quoted"),
        pytest.param(CYRILLIC, "text/html;charset=cp1251, text/html", "windows-1251", "п", id="header-joined"),
        pytest.param(
            b"<meta charset=koi8-r>" + CYRILLIC,
            "text/html; charset=cp1251",
            "windows-1251",
            "<meta charset=koi8-r>п",
            id="header-beats-meta",
        ),
        pytest.param(
            b"<meta charset=cp1251>" + CYRILLIC,
            "text/html; charset=klingon",
            "windows-1251",
            "<meta charset=cp1251>п",
            id="unknown-header-label-is-none",
        ),
        pytest.param(codecs.BOM_UTF8 + "п".encode(), "text/html; charset=cp1251", "utf-8", "п", id="bom-beats-header"),
        pytest.param(codecs.BOM_UTF16_LE + "п".encode("utf-16-le"), "", "utf-16le", "п", id="bom-utf-16le"),
        pytest.param(codecs.BOM_UTF16_BE + "п".encode("utf-16-be"), "", "utf-16be", "п", id="bom-utf-16be"),
        pytest.param(codecs.BOM_UTF32_LE + b"a\0\0\0", "", "utf-16le", "\0a\0", id="no-utf-32-on-the-web"),
        pytest.param("п".encode("utf-16-le"), "text/html; charset=utf-16", "utf-16le", "п", id="header-utf-16"),
        pytest.param(b"\xff", "text/html; charset=utf-8", "utf-8", "\ufffd", id="declared-utf-8-replaces"),
        pytest.param(b"a\xd8\x00", "text/html; charset=utf-16be", "utf-16be", "\u61d8\ufffd", id="odd-utf-16"),
        pytest.param(b"~{<a>", "text/html; charset=hz-gb-2312", "replacement", "\ufffd", id="replacement"),
        pytest.param(b"+ADw-", "text/html; charset=utf-7", "utf-8", "+ADw-", id="utf-7-is-no-label"),
        pytest.param(b"\x81", "text/html; charset=cp037", "windows-1252", "\ufffd", id="ebcdic-is-no-label"),
        pytest.param(b"\x80", "text/html; charset=gb2312", "gbk", "€", id="gbk-euro"),
    ],
)
def test_decode_page(body: bytes, content_type: str, charset: str, text: str) -> None:
    assert decode_page(body, content_type) == (charset, text)


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        pytest.param(b"<meta charset=windows-1251>", "windows-1251", id="meta-charset"),
        pytest.param(b"<META/CHARSET = ' Windows-1251 '>", "windows-1251", id="spelling"),
        pytest.param(
            b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
            "windows-1251",
            id="http-equiv",
        ),
        pytest.param(
            b"<meta content='text/html;charset=\"cp1251\"' http-equiv=content-type>", "windows-1251", id="content-first"
        ),
        pytest.param(b'<meta content="text/html; charset=windows-1251">', "utf-8", id="content-without-http-equiv"),
        pytest.param(b"<meta charset=utf-16le>", "utf-8", id="meta-utf-16-is-utf-8"),
        pytest.param(b"<meta charset=x-user-defined>", "windows-1252", id="meta-x-user-defined"),
        pytest.param(b"<meta charset=klingon><meta charset=cp1251>", "windows-1251", id="unknown-then-known"),
        pytest.param(b"<meta charset=koi8-r><meta charset=cp1251>", "koi8-r", id="first-wins"),
        pytest.param(b"<meta charset=koi8-r charset=cp1251>", "koi8-r", id="first-attribute-wins"),
        pytest.param(b"<!-- <meta charset=cp1251> -->", "utf-8", id="in-comment"),
        pytest.param(b"<!--><meta charset=cp1251>", "windows-1251", id="shortest-comment"),
        pytest.param(b"<!-- <meta charset=cp1251>", "utf-8", id="open-comment"),
        pytest.param(b"<p title='<meta charset=cp1251>'>", "utf-8", id="in-attribute"),
        pytest.param(b"<?x <meta charset=cp1251>", "utf-8", id="in-processing-instruction"),
        pytest.param(b"<metadata charset=cp1251>", "utf-8", id="other-element"),
        pytest.param(b"<body><p>x<meta charset=cp1251>", "windows-1251", id="in-body"),
        pytest.param(b"<meta charset='cp1251>", "utf-8", id="open-quote"),
        pytest.param(b'<?xml version="1.0" encoding="windows-1251"?>', "windows-1251", id="xml-declaration"),
        pytest.param(b'<?xml version="1.0" encoding="cp1251"?><meta charset=koi8-r>', "koi8-r", id="meta-beats-xml"),
        pytest.param(b" " * (PRESCAN_BYTES - 21) + b"<meta charset=cp1251>", "windows-1251", id="within-1024"),
        pytest.param(b" " * (PRESCAN_BYTES - 19) + b"<meta charset=cp1251>", "utf-8", id="label-cut-at-1024"),
        pytest.param(b" " * PRESCAN_BYTES + b"<meta charset=cp1251>", "utf-8", id="after-1024"),
    ],
)
def test_declared_in_the_page(head: bytes, charset: str) -> None:
    assert decode_page(head, "text/html")[0] == charset


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("unicode11utf8", "utf-8"),
        ("X-CP1251", "windows-1251"),
        ("iso88591", "windows-1252"),
        ("\n latin1\t", "windows-1252"),
        ("iso-8859-8-i", "iso-8859-8-i"),
        ("ks_c_5601-1989", "euc-kr"),
        ("x-sjis", "shift_jis"),
        ("iso-2022-kr", "replacement"),
        ("utf-16", "utf-16le"),
        ("utf-32", None),
        ("rot13", None),
        ("", None),
    ],
)
def test_labels(label: str, name: str | None) -> None:
    assert encoding_of_label(label) == name


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("", None),
        ("text/html", None),
        ("text/html; x=1; charset=koi8-r", "koi8-r"),
        ('text/html; x="; charset=cp1251"; charset=koi8-r', "koi8-r"),
        ("text/html; charset=koi8-r; charset=cp1251", "koi8-r"),
        ("text/html; xcharset=koi8-r", None),
        ('text/html; charset="koi8-r', "koi8-r"),
    ],
)
def test_header_encoding(content_type: str, name: str | None) -> None:
    assert header_encoding(content_type) == name


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("utf-8", None), ("utf-16le", None), ("replacement", None), ("gbk", "gbk"), ("windows-1251", "cp1251")],
)
def test_query_codec(charset: str, codec: str | None) -> None:
    assert query_codec(charset) == codec


@pytest.mark.parametrize("charset", sorted(set(_LABELS.values())))
def test_every_encoding_has_codecs_for_text_and_query(charset: str) -> None:
    expected = "\ufffd" if charset == "replacement" else "\U0001f30a" if charset.startswith("utf-16") else "abcd"
    body = expected.encode(charset) if charset.startswith("utf-16") else b"abcd"
    assert decode_page(body, f"text/html; charset={charset}") == (charset, expected)
    codec = query_codec(charset)
    assert codec is None or "abcd".encode(codec) == b"abcd"


def test_all_labels_of_the_standard_are_there() -> None:
    assert len(_LABELS) == 228
    assert len(set(_LABELS.values())) == 40


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        pytest.param("text/html", b"", True, id="html"),
        pytest.param(" Text/HTML ;charset=x", b"", True, id="html-spelling"),
        pytest.param("application/xhtml+xml", b"", True, id="xhtml"),
        pytest.param("text/html, text/plain", b"", True, id="first-of-joined"),
        pytest.param("text/xml", b"<html>", False, id="text-xml"),
        pytest.param("application/xml", b"<html>", False, id="application-xml"),
        pytest.param("text/plain", b"<html>", False, id="plain"),
        pytest.param("", b" \n<!doctype HTML>", True, id="none-doctype"),
        pytest.param("", b"\xef\xbb\xbf<HTML >", True, id="none-bom-html"),
        pytest.param("", b"<!-- x -->", True, id="none-comment"),
        pytest.param("", b"<a href=x>", True, id="none-a"),
        pytest.param("", b"<abbr>", False, id="none-other-element"),
        pytest.param("", b"text <a href=x>", False, id="none-text"),
        pytest.param("", b"<?xml version='1.0'?><html>", False, id="none-xml"),
        pytest.param("html", b"<p>", True, id="not-a-type"),
        pytest.param("*/*", b"<p>", True, id="any-type"),
    ],
)
def test_is_page_type(content_type: str, body: bytes, expected: bool) -> None:
    assert is_page_type(body, content_type) is expected


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        pytest.param(b"%PDF-1.4", "text/html", True, id="pdf"),
        pytest.param(b"\r\n%PDF-1.4", "text/html", True, id="pdf-after-blank"),
        pytest.param(b"<p>%PDF-1.4", "text/html", False, id="a-page-about-pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "text/html", True, id="png"),
        pytest.param(b"GIF89a", "text/html", True, id="gif"),
        pytest.param(b"\xff\xd8\xff\xe0", "text/html", True, id="jpeg"),
        pytest.param(b"PK\x03\x04", "text/html", True, id="zip"),
        pytest.param(b"\x1f\x8b\x08", "text/html", True, id="gzip"),
        pytest.param(b"a" * 1023 + b"\0", "text/html", True, id="nul-in-the-first-kb"),
        pytest.param(b"a" * 1024 + b"\0", "text/html", False, id="nul-later"),
        pytest.param("\ufeff<a>".encode("utf-16-le"), "text/html", False, id="utf-16-with-bom"),
        pytest.param("<a>".encode("utf-16-le"), "text/html; charset=utf-16le", False, id="utf-16-by-header"),
        pytest.param("<a>".encode("utf-16-le"), "text/html", True, id="utf-16-undeclared"),
    ],
)
def test_is_binary(body: bytes, content_type: str, expected: bool) -> None:
    assert is_binary(body, content_type) is expected


@given(st.binary(), st.sampled_from([*sorted(_LABELS), "zip", ""]))
def test_any_bytes_decode_to_text_that_is_text(body: bytes, label: str) -> None:
    charset, text = decode_page(body, f"text/html; charset={label}")
    assert encoding_of_label(charset) == charset
    assert text.encode() is not None  # no lone surrogate
    assert decode_page(body, f"text/html; charset={label}") == (charset, text)


@given(st.binary(), st.text())
def test_never_raises(body: bytes, content_type: str) -> None:
    decode_page(body, content_type)
    is_page_type(body, content_type)
    is_binary(body, content_type)
