"""Which bytes are an HTML page, and in which encoding that page is written.

Decides like a browser and without guessing, so that two runs, two machines and two library versions read the same
links out of the same bytes: byte order mark, then the charset of Content-Type, then what the first 1024 bytes declare
(HTML Standard 13.2.3.2), then UTF-8 if the whole body is valid UTF-8, else windows-1252. Labels are the Encoding
Standard's closed list; w3lib's and Python's aliases miss some of them and know others that are not for the web.

Never looks at byte frequencies or languages, never raises for any bytes.
"""

import re

from w3lib.encoding import to_unicode

PRESCAN_BYTES = 1024
UTF_8 = "utf-8"
_FALLBACK = "windows-1252"
_REPLACEMENT = "replacement"

# Encoding Standard 4.2: name | Python codec | labels. A label that equals the name is not repeated.
_ENCODINGS = """
utf-8|utf-8|unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866|cp866|866 cp866 csibm866
iso-8859-2|iso8859-2|csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3|iso8859-3|csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4|iso8859-4|csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5|iso8859-5|csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6|iso8859-6|arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i \
iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7|iso8859-7|csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 \
iso_8859-7:1987 sun_eu_greek
iso-8859-8|iso8859-8|csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 \
iso_8859-8:1988 visual
iso-8859-8-i|iso8859-8|csiso88598i logical
iso-8859-10|iso8859-10|csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13|iso8859-13|iso8859-13 iso885913
iso-8859-14|iso8859-14|iso8859-14 iso885914
iso-8859-15|iso8859-15|csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16|iso8859-16|
koi8-r|koi8-r|cskoi8r koi koi8 koi8_r
koi8-u|koi8-u|koi8-ru
macintosh|mac-roman|csmacintosh mac x-mac-roman
windows-874|cp874|dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250|cp1250|cp1250 x-cp1250
windows-1251|cp1251|cp1251 x-cp1251
windows-1252|cp1252|ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 \
iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
windows-1253|cp1253|cp1253 x-cp1253
windows-1254|cp1254|cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 \
x-cp1254
windows-1255|cp1255|cp1255 x-cp1255
windows-1256|cp1256|cp1256 x-cp1256
windows-1257|cp1257|cp1257 x-cp1257
windows-1258|cp1258|cp1258 x-cp1258
x-mac-cyrillic|mac-cyrillic|x-mac-ukrainian
gbk|gb18030|chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030|gb18030|
big5|big5hkscs|big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp|euc_jp|cseucpkdfmtjapanese x-euc-jp
iso-2022-jp|iso2022_jp|csiso2022jp
shift_jis|cp932|csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr|cp949|cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
replacement||csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr
utf-16be|utf-16-be|unicodefffe
utf-16le|utf-16-le|csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
x-user-defined|cp1252|
"""
_ROWS = [row.split("|") for row in _ENCODINGS.split("\n") if row]
_CODECS = {name: codec for name, codec, _ in _ROWS}
_LABELS = {label: name for name, _, labels in _ROWS for label in (name, *labels.split())}

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))

# MIME Sniffing Standard 4.4: parameters; a quoted value is opaque. A comma ends the first of joined headers.
_PARAMETER = re.compile(r';[\t\n\r ]*([^\t\n\r ;=,"]+)=(?:"((?:[^"\\]|\\.)*+)"?|([^;,\t\n\r ]*+))', re.DOTALL)

# The prescan: a comment, a meta tag, the name of another tag, markup that ends at the next `>`.
_MARKUP = re.compile(rb"<!--|(<meta(?=[\t\n\f\r /]))|(</?[a-z][^\t\n\f\r >]*+)|<[!/?]", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|((?![\"'])[^\t\n\f\r >]*+)(?=[\t\n\f\r >])))?"
)
_CONTENT_CHARSET = re.compile(
    r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*))", re.IGNORECASE
)
_XML_DECLARATION = re.compile(rb"<\?xml[\t\n\r ][^>]*?encoding[\t\n\r ]*=[\t\n\r ]*[\"']([^\"'>\x00-\x20]*)[\"']")

_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# MIME Sniffing Standard 7: types that say nothing.
_UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})
_MIME_TYPE = re.compile(r"[\t\n\r ]*+([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)[\t\n\r ]*(?:[;,]|\Z)")
# MIME Sniffing Standard 7.1: what an HTML page without a type begins with.
_PAGE_START = re.compile(
    rb"[\t\n\f\r ]*+<(?:(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE|TITLE|B|BODY|BR|P)[ >]|!--)",
    re.IGNORECASE,
)
# PDF, PNG, GIF, JPEG, ZIP and gzip: served as text/html by mistake.
_MAGIC = (b"%PDF-", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b")
_BINARY_PROBE_BYTES = 1024


def is_page_type(body: bytes, content_type: str) -> bool:
    """Whether the header, or without a usable one the beginning of the body, says HTML or XHTML.

    text/xml and application/xml are no pages: what they hold is not known without reading their namespaces.
    """
    found = _MIME_TYPE.match(content_type)
    essence = found[1].lower() if found else "unknown/unknown"
    if essence in _UNKNOWN_TYPES:
        return _PAGE_START.match(body.removeprefix(b"\xef\xbb\xbf")) is not None
    return essence in _PAGE_TYPES


def is_binary(body: bytes, content_type: str) -> bool:
    """Whether the body is no text whatever its type says: a known file signature, or NUL in its first KB.

    In UTF-16 (byte order mark, or the header's charset) a NUL is half of a letter. A signature counts at the start
    only, blanks before it skipped: a page may speak of `%PDF-`.
    """
    head = body[:_BINARY_PROBE_BYTES]
    if head.lstrip(b"\t\n\f\r ").startswith(_MAGIC):
        return True
    return b"\x00" in head and not _says_utf_16(body, content_type)


def encoding_of_label(label: str) -> str | None:
    """The encoding's name in lower case for a label (Encoding Standard 4.2), or None if the web knows none such."""
    return _LABELS.get(label.strip("\t\n\f\r ").lower())


def decode_page(body: bytes, content_type: str) -> tuple[str, str]:
    """Encoding name (lower case, as the Encoding Standard spells it) and text of an HTML page.

    `content_type` is the header's value, "" if there was none. What cannot be decoded becomes U+FFFD; a byte order
    mark is not part of the text. Never raises.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name, to_unicode(body[len(mark) :], _CODECS[name])
    declared = header_encoding(content_type) or _declared_encoding(body[:PRESCAN_BYTES])
    if declared == _REPLACEMENT:
        # Encoding Standard 14.1: these encodings can hide markup, so the whole page is one replacement character.
        return declared, "\ufffd" if body else ""
    if declared is not None:
        return declared, to_unicode(body, _CODECS[declared])
    try:
        return UTF_8, body.decode(UTF_8)
    except UnicodeDecodeError:
        return _FALLBACK, to_unicode(body, _CODECS[_FALLBACK])


def query_codec(charset: str) -> str | None:
    """The Python codec for the query of this page's links; None where that is UTF-8 (Encoding Standard 4.3)."""
    if charset in (UTF_8, "utf-16be", "utf-16le", _REPLACEMENT):
        return None
    # The GBK encoder knows no four-byte sequences: what is not GBK becomes a character reference.
    return "gbk" if charset == "gbk" else _CODECS[charset]


def header_encoding(content_type: str) -> str | None:
    """The encoding that the first charset parameter of a Content-Type value names; None if none, or none known."""
    for name, quoted, token in _PARAMETER.findall(content_type):
        if name.lower() == "charset":
            return encoding_of_label(quoted or token)
    return None


def _declared_encoding(head: bytes) -> str | None:
    """What the page says in its first bytes (HTML 13.2.3.2); an XML declaration counts if no meta does."""
    position = 0
    while found := _MARKUP.search(head, position):
        meta, other_tag = found[1], found[2]
        if meta or other_tag:
            attributes, position = _attributes(head, found.end())
            declared = _meta_encoding(attributes) if meta else None
            if declared is not None:
                return declared
            continue
        # The dashes of `<!--` may be those of `-->`.
        end = head.find(b"-->", found.start() + 2) + 2 if found[0] == b"<!--" else head.find(b">", found.end())
        if end < found.end():
            break
        position = end + 1
    xml = _XML_DECLARATION.match(head)
    return _in_ascii_markup(encoding_of_label(xml[1].decode("latin-1"))) if xml else None


def _attributes(head: bytes, position: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag from `position` on, the first of each name, and where they end."""
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE.match(head, position):
        name, value = found[1].lower(), found[2] or found[3] or found[4] or b""
        attributes.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        position = found.end()
    return attributes, position


def _meta_encoding(attributes: dict[str, str]) -> str | None:
    """A charset attribute, else the charset in the content of an http-equiv content-type."""
    label = attributes.get("charset")
    if label is None and attributes.get("http-equiv", "").lower() == "content-type":
        found = _CONTENT_CHARSET.search(attributes.get("content", ""))
        label = (found[1] or found[2] or found[3]) if found else None
    return None if label is None else _in_ascii_markup(encoding_of_label(label))


def _in_ascii_markup(name: str | None) -> str | None:
    """A declaration that could be read as ASCII cannot be UTF-16: the HTML Standard takes it as UTF-8."""
    if name in ("utf-16be", "utf-16le"):
        return UTF_8
    return _FALLBACK if name == "x-user-defined" else name


def _says_utf_16(body: bytes, content_type: str) -> bool:
    """Whether NUL bytes are text here: a UTF-16 byte order mark, or the header says UTF-16."""
    return body.startswith((b"\xfe\xff", b"\xff\xfe")) or header_encoding(content_type) in ("utf-16be", "utf-16le")
