"""Lines by the block come out exactly as each by itself."""

import re
import string
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seaspider.core.plainurls import Origins, plain
from seaspider.core.queue import QueueReader
from seaspider.core.urls import normalise, spellings
from tests.core.orders import THOROUGH
from tests.core.test_urls import FAULTS, SPELLINGS

PLAIN = {
    "path": (b"http://h.test/a", b"http://h.test/a"),
    "query": (b"https://h.test:8443/a/?b=c&d", b"https://h.test:8443/a/?b=c&d"),
    "address": (b"http://127.0.0.1/a", b"http://127.0.0.1/a"),
    "fragment": (b"http://h.test/a#b", b"http://h.test/a"),
    "escapes": (b"http://h.test/%7eb/%c3%9f?%2f", b"http://h.test/~b/%C3%9F?%2F"),
    "capitals": (b"HTTP://H.test/A", b"http://h.test/A"),
    "dot-segments": (b"http://h.test/x/../a/./b/..?c/../d", b"http://h.test/a/?c/../d"),
    "dot-segments-of-none": (b"http://h.test/../..//../.a/.", b"http://h.test/.a/"),
    "punycode": (b"http://xn--fa-hia.test/", b"http://xn--fa-hia.test/"),
}
OTHER = {
    "no-path": b"http://h.test",
    "default-port": b"http://h.test:80/",
    "number": b"http://127.1/",
    "hex-number": b"http://0x7f.1/",
    "octal-number": b"http://0177.0.0.1/",
    "root-dot": b"http://h.test./",
    "no-punycode": b"http://xn--a/",
    "port-0": b"http://h.test:0/",
    "leading-zero": b"http://h.test:080/",
    "user": b"http://a@h.test/",
    "escaped-dot-segment": b"http://h.test/a/%2e%2E/b",
    "escaped-letter": b"http://h.test/%61",
    "stray-percent": b"http://h.test/%%7e",
    "cut-escape": b"http://h.test/%7",
    "cut-escape-far-from-the-slash": b"http://h.test/" + b"a" * 400 + b"%zz",
    "no-slash-after-a-known-origin": b"http://h.testx",
    "escaped-scheme": b"%68ttp://h.test/",
    "escaped-host": b"http://%68.test/",
    "escaped-tilde-in-host": b"http://%7e.test/",
    "backslash": b"http://h.test\\a",
    "blank": b" http://h.test/",
    "tab": b"http://h.te\tst/",
    "no-ascii": "http://h.test/ß".encode(),
    "apostrophe": b"http://h.test/?'",
    "long-label": b"http://" + b"a" * 64 + b".test/",
    "long": b"http://h.test/" + b"a" * 8_000,
    "empty": b"",
    "comment": b"# http://h.test/",
}


def urls(block: bytes) -> list[bytes | None]:
    """Of each line its URL if it is plain."""
    numbers, found = plain(block, Origins())
    return [None if number is None else url for number, url in zip(numbers, found, strict=True)]


@pytest.mark.parametrize(("line", "url"), PLAIN.values(), ids=PLAIN.keys())
def test_plain(line, url):
    assert urls(line) == [url] == [normalise(line.decode()).text.encode()]


@pytest.mark.parametrize("line", OTHER.values(), ids=OTHER.keys())
def test_not_plain(line):
    """Between plain lines, which stay so, whatever is done to the block."""
    assert urls(b"http://h.test/%7e\n" + line + b"\nhttp://h.test/%ab") == [
        b"http://h.test/~",
        None,
        b"http://h.test/%AB",
    ]


def test_origins_are_numbered_as_they_come():
    origins = Origins()
    numbers, _ = plain(b"http://b.test/\nhttp://a.test/\nHTTP://b.test/1\nhttps://b.test/\nhttp://b.test:80/", origins)
    assert numbers == [0, 1, 0, 2, None]
    assert (origins.texts, origins.hosts) == (
        ["http://b.test", "http://a.test", "https://b.test"],
        ["b.test", "a.test", "b.test"],
    )
    assert origins.of(normalise("http://b.test:80/x")) == 0


def test_an_escape_that_is_not_looked_into_is_as_normalise_has_it():
    for escape, spelled in spellings().items():
        (url,) = urls(b"http://h.test/" + escape)
        assert url in (None, b"http://h.test/" + spelled), escape


def test_every_escape_and_what_looks_like_one_is_as_normalise_has_it():
    """Each alone, so that nothing else decides; and behind others, in one block."""
    characters = (string.ascii_letters + string.digits + "%~-").encode()
    escapes = [b"%%%c%c" % pair for pair in product(characters, repeat=2)]
    for escape in escapes:
        check([b"http://h.test/" + escape])
    check([b"http://h.test/" + b"".join(some) for some in product(escapes[::97], repeat=2)])


def check(lines: list[bytes]) -> None:
    """Whatever is taken for plain is what normalise() makes of it. Raises UrlError for what is no URL at all."""
    origins = Origins()
    numbers, found = plain(b"\n".join(lines), origins)
    for line, number, text in zip(lines, numbers, found, strict=True):
        if number is not None:
            url = normalise(line.decode())
            assert (url.text, url.origin, url.host) == (text.decode(), origins.texts[number], origins.hosts[number])


TOKENS = (
    "http https HTTP :// // / /. /.. . .. : :80 :8080 :443 @ ? # % %7e %7E %2e %2F %41 %c3 %25 %% 41 a b.test H.TEST"
)
HOSTS = "127.0.0.1 127.1 0x7f 1 08 xn-- xn--fa-hia - _ ~ ' \" [ ] [::1] \\ ; & = + ! $ * , ( ) | ^ ` { } < > ß 。"
URLS = "http://h.test/ https://h.test:8443/ http://127.0.0.1/"
PIECES = st.sampled_from([*TOKENS.split(), *HOSTS.split(), *URLS.split(), " ", "\t", "\x0b", "\x7f", "\r"])
LINE = st.lists(PIECES, max_size=8).map("".join)
URL = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https", "HTTP"]), LINE, LINE)


@given(st.lists(st.one_of(LINE, URL, LINE.map("http://h.test/{}".format)), min_size=1, max_size=6))
@example(["http://h.test/%%7e", "http://h.test/%7e"])
@example(["http://h.test/a/.%2e/b", "http://h.test/a/../b", "http://h.test/a/%2E%7e/../b", "http://h.test/./%2e#/../"])
@example(["http://h.test/%2%7e", "http://h.test/%7e"])
@settings(THOROUGH, max_examples=600)
def test_a_block_is_as_its_lines(lines):
    check([line.encode() for line in lines])


@pytest.mark.parametrize("text", [text for text, _ in [*SPELLINGS.values(), *FAULTS.values()]])
def test_every_known_case(text):
    line = re.sub(rb"[\r\n]", b"", text.encode(errors="replace"))
    check([line])
    check([b"http://h.test/%7e", line, b"http://h.test/%41%%"])


def test_where_a_queue_is_split_does_not_matter():
    content = b"http://h.test/%7e\r\nhttp://h.test/a/../b\rhttp://h.test/%7e\n\nno\nhttps://h.test/#x"
    whole = list(QueueReader().read([content]))
    for at in range(len(content)):
        assert list(QueueReader().read([content[:at], content[at:]])) == whole
