"""Bodies as real servers send them, through a real crawl: content codings, what is a page, and in which charset.

What is stored is the whole body without exactly the codings that are listed, or nothing. RFC 9110 8.4, RFC 1950, 1951,
1952, 7932, 8878; HTML, Encoding and MIME Sniffing Standards.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from random import Random

import brotli
import pytest

from seaspider.core.robotsfile import LIMIT_BYTES
from seaspider.decoding import zstd
from tests.rawserver import close_after
from tests.web.rawcases import AFTER, ROBOTS, Case, Crawled, End, crawled, failed, host_of, one, robots, stored
from tests.web.rawweb import OK, chunked, page

WHERE = {
    "CON-01": "tests/web/test_content.py::test_case[CON-01]: failed/decode with its status, nothing stored",
    "CON-02": "tests/web/test_content.py::test_case[CON-02]: failed/decode with its status, nothing stored",
    "CON-04": "tests/web/test_content.py::test_case[CON-04]: stored: exactly the listed codings undone",
    "CON-06": "tests/web/test_content.py::test_case[CON-06]: junk failed/decode; unknown stored, flag unknown-coding",
    "CON-07": "tests/web/test_content.py::test_a_bomb_is_cut_at_the_cap_and_costs_no_memory: failed/too-large",
    "CON-09": "tests/web/test_content.py::test_one_page_has_one_digest_however_it_is_framed_and_coded: stored",
    "CON-12": "tests/web/test_content.py::test_links[CON-12]: query in the page's charset, path in UTF-8",
    "CON-13": "tests/web/test_content.py::test_links[CON-13]: stored, flag binary-body, no links, none followed",
    "CON-15": "tests/web/test_content.py::test_links[CON-15]: XHTML has links; text/xml is no page: links null",
    "CON-16": "tests/web/test_content.py::test_links[CON-16]: stored, no error",
}

TEXT = b"<p>a page of some words, which are many words</p>\n" * 9
NOISE = Random(1066).randbytes(300_000)
RULES = b"User-agent: *\nDisallow: /no\n"


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


gz = partial(gzip.compress, mtime=0)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gz,
    "x-gzip": gz,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def coded(body: bytes, *values: str, status: bytes = b"200 OK") -> bytes:
    """An answer whose body is said to be coded so."""
    return page(body, *(b"Content-Encoding: " + value.encode("latin-1") for value in values), status=status)


def each(make: Callable[[Callable[[bytes], bytes]], bytes], end: End) -> Case:
    """A case with a page for each coding, at `/gzip` and so on."""
    answers = {f"/{coding}": coded(make(pack), coding) for coding, pack in PACKERS.items()}
    return Case(answers, dict.fromkeys(answers, end))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at:][1:]


UNREADABLE = failed("decode", 200)
MIXED = stored(TEXT + NOISE, "binary-body")
UNKNOWN = stored(TEXT, "unknown-coding")

CASES: dict[str, Case] = {
    # --- labelled, but not coded ---
    "CON-01": one(coded(b"plain", "gzip"), UNREADABLE),
    "CON-01/each": each(lambda pack: b"plain text that is no such thing", UNREADABLE),
    "CON-01/html": one(coded(TEXT, "gzip"), UNREADABLE),
    "CON-01/404": one(coded(b"plain", "gzip", status=b"404 N"), failed("decode", 404)),
    "CON-01/redirect": Case(
        {"/a": coded(b"plain", "gzip", status=b"302 F\r\nLocation: /b"), "/b": page(b"ab")},
        {"/a": stored(b"ab", asked=2)},
        asked=("/a", "/b"),
    ),
    "CON-01/nothing": each(lambda pack: b"", stored(b"")),
    "CON-01/empty-but-coded": each(lambda pack: pack(b""), stored(b"")),
    "CON-01/204": one(coded(b"", "gzip", status=b"204 N"), stored(b"", status=204)),
    "CON-01/robots": robots(coded(RULES, "gzip"), "decode"),
    "CON-01/robots-nothing": robots(coded(b"", "gzip"), "decode"),
    "CON-01/robots-404": Case({ROBOTS: coded(RULES, "gzip", status=b"404 N")}, {"/a": stored(b"", status=404)}),
    # --- cut, with the right length ---
    "CON-02": each(lambda pack: pack(NOISE)[:-1], UNREADABLE),
    "CON-02/half": each(lambda pack: pack(NOISE)[:150_000], UNREADABLE),
    "CON-02/one-octet": each(lambda pack: pack(TEXT)[:1], UNREADABLE),
    "CON-02/small": each(lambda pack: pack(TEXT)[:-1], UNREADABLE),
    "CON-02/raw-deflate": one(coded(raw_deflate(NOISE)[:-1], "deflate"), UNREADABLE),
    "CON-02/second-member": one(coded(gz(TEXT) + gz(TEXT)[:-1], "gzip"), UNREADABLE),
    "CON-02/inner": one(coded(gz(gz(TEXT)[:-1]), "gzip, gzip"), UNREADABLE),
    "CON-02/chunks": one(chunked(gz(TEXT)[:-1], headers=[b"Content-Encoding: gzip"]), UNREADABLE),
    "CON-02/no-length": one(
        close_after(OK + b"Content-Encoding: gzip\r\n\r\n" + gz(TEXT)[:-1]), replace(UNREADABLE, flags=("no-length",))
    ),
    "CON-02/robots": robots(coded(gz(RULES)[:-1], "gzip"), "decode"),
    "CON-02/robots-br": robots(coded(brotli.compress(RULES)[:-1], "br"), "decode"),
    # --- corrupt: a sum that does not match, octets behind the end ---
    "CON-02/gzip-sum": one(coded(flipped(gz(TEXT), -6), "gzip"), UNREADABLE),
    "CON-02/gzip-length": one(coded(flipped(gz(TEXT), -2), "gzip"), UNREADABLE),
    "CON-02/zlib-sum": one(coded(flipped(zlib.compress(TEXT), -1), "deflate"), UNREADABLE),
    "CON-02/behind-gzip": one(coded(gz(TEXT) + b"<!-- x -->", "gzip"), UNREADABLE),
    "CON-02/behind-zlib": one(coded(zlib.compress(TEXT) + b"\n", "deflate"), UNREADABLE),
    "CON-02/behind-br": one(coded(brotli.compress(TEXT) + b"\n", "br"), UNREADABLE),
    "CON-02/behind-zstd": one(coded(zstd.compress(TEXT) + b"junk", "zstd"), UNREADABLE),
    # --- exactly what is listed ---
    "CON-04": Case(
        {"/a.gz": coded(gz(gz(TEXT)), "gzip"), "/b": coded(gz(gz(TEXT)), "gzip, gzip")},
        {"/a.gz": stored(gz(TEXT)), "/b": stored(TEXT)},
    ),
    "CON-04/each": each(lambda pack: pack(TEXT), stored(TEXT)),
    "CON-04/each-large": each(lambda pack: pack(NOISE), stored(NOISE)),
    "CON-04/file-without-label": one(page(gz(TEXT), b"Content-Type: application/gzip"), stored(gz(TEXT))),
    "CON-04/two-lines": one(coded(gz(gz(TEXT)), "gzip", "gzip"), stored(TEXT)),
    "CON-04/order": one(coded(brotli.compress(gz(TEXT)), "gzip, br"), stored(TEXT)),
    "CON-04/order-turned": one(coded(brotli.compress(gz(TEXT)), "br, gzip"), UNREADABLE),
    "CON-04/case-and-gaps": one(coded(gz(TEXT), ", GZip ,identity"), stored(TEXT)),
    "CON-04/raw-deflate": one(coded(raw_deflate(TEXT), "deflate"), stored(TEXT)),
    "CON-04/raw-deflate-inside": one(coded(gz(raw_deflate(NOISE)), "deflate, gzip"), stored(NOISE)),
    "CON-04/members": one(coded(gz(TEXT) + gz(b"") + gz(NOISE), "gzip"), MIXED),
    "CON-04/frames": one(coded(zstd.compress(TEXT) + zstd.compress(NOISE), "zstd"), MIXED),
    "CON-04/five": one(coded(reduce(lambda data, _: gz(data), range(5), TEXT), *["gzip"] * 5), stored(TEXT)),
    "CON-04/six": one(coded(reduce(lambda data, _: gz(data), range(6), TEXT), *["gzip"] * 6), UNREADABLE),
    "CON-04/robots": Case(
        {ROBOTS: coded(gz(b"User-agent: *\nDisallow: /a$\n"), "gzip")},
        {"/a": End("disallowed/robots-rule", None, asked=0)},
        "parsed",
    ),
    # --- junk, and codings nobody knows ---
    "CON-06": Case(
        {"/a": coded(NOISE[:500], "br"), "/b": coded(TEXT, "none")},
        {"/a": UNREADABLE, "/b": UNKNOWN},
    ),
    "CON-06/junk": each(lambda pack: NOISE, UNREADABLE),
    "CON-06/utf-8": one(coded(TEXT, "utf-8"), UNKNOWN),
    "CON-06/octets": one(coded(TEXT, "\xfc"), UNKNOWN),
    "CON-06/compress": one(coded(b"\x1f\x9d\x90", "compress"), stored(b"\x1f\x9d\x90", "unknown-coding")),
    "CON-06/known-over-unknown": one(coded(gz(TEXT), "none, gzip"), UNKNOWN),
    "CON-06/unknown-over-known": one(coded(gz(TEXT), "gzip, none"), stored(gz(TEXT), "unknown-coding")),
    "CON-06/cut-over-unknown": one(coded(gz(TEXT)[:-1], "none, gzip"), UNREADABLE),
    "CON-06/nothing": one(coded(b"", "none"), stored(b"")),
    "CON-06/robots": robots(coded(RULES, "none"), "decode"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawled(CASES, tmp_path_factory.mktemp("content"), "127.0.43")


@pytest.mark.parametrize("case", CASES)
def test_case(seen: Crawled, case: str) -> None:
    assert seen.shown(case) == seen.promised(case)


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ("CON-01", "decode: corrupt: gzip: Error -3 while decompressing data: incorrect header check"),
        ("CON-02/raw-deflate", "decode: cut: deflate ends too early"),
        ("CON-04/six", "decode: too-many: 6 content codings"),
    ],
)
def test_the_log_says_what_is_wrong(seen: Crawled, case: str, shown: str) -> None:
    assert f"{seen.web.url(host_of(case), '/a')}: no answer: {shown}\n" in seen.ended.log


def test_the_unknown_name_is_in_the_record_of_the_request(seen: Crawled) -> None:
    [request, _] = seen.requests("CON-06/utf-8")
    assert ["Content-Encoding", "utf-8"] in request["headers"]


def test_what_is_offered_is_what_can_be_undone(seen: Crawled) -> None:
    assert seen.web.arrivals
    for arrival in seen.web.arrivals:
        assert b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" in arrival.head


def test_twin_a_decoder_that_takes_what_there_is_stores_a_part_as_the_page(tmp_path: Path) -> None:
    lenient = """
from seaspider import permits
decode = permits.decode
permits.decode = lambda *given, **more: decode(*given, **{**more, "input_clipped": True})
"""
    half = gz(TEXT)[:-9]
    cases = {"CON-02/twin": one(coded(half, "gzip"), stored(zlib.decompressobj(31).decompress(half)))}
    seen = crawled(cases, tmp_path, "127.0.44", sabotage=lenient)
    assert seen.shown("CON-02/twin") == seen.promised("CON-02/twin")


# --- one page, one digest ---

HALF = len(TEXT) // 2
FRAMED = {
    "CON-09/two-chunks": chunked(TEXT[:HALF], TEXT[HALF:]),
    "CON-09/one-chunk": chunked(TEXT),
    "CON-09/chunk-an-octet": chunked(*(TEXT[at : at + 1] for at in range(len(TEXT)))),
    "CON-09/trailer": chunked(TEXT, end=b"0\r\nX: y\r\n\r\n"),
    "CON-09/length": page(TEXT),
    "CON-09/close": close_after(OK + b"\r\n" + TEXT),
    "CON-09/gzip-in-chunks": chunked(gz(TEXT)[:9], gz(TEXT)[9:], headers=[b"Content-Encoding: gzip"]),
    "CON-09/gzip-members": coded(gz(TEXT[:HALF]) + gz(TEXT[HALF:]), "gzip"),
    **{f"CON-09/{coding}": coded(pack(TEXT), coding) for coding, pack in PACKERS.items()},
}


def test_one_page_has_one_digest_however_it_is_framed_and_coded(tmp_path: Path) -> None:
    flags = {"CON-09/close": ["no-length"]}
    cases = {case: one(answer, stored(TEXT, *flags.get(case, []))) for case, answer in FRAMED.items()}
    seen = crawled(cases, tmp_path, "127.0.44")
    assert {case: seen.shown(case) for case in cases} == {case: seen.promised(case) for case in cases}
    assert len({seen.page(case)["sha256"] for case in cases}) == 1
    assert len([path for path in (seen.ended.store / "bodies").rglob("*") if path.is_file()]) == 2  # and that of AFTER


# --- bombs ---

CAP_BYTES = 1024 * 1024
BOMB_BYTES = 200 * 1024 * 1024
# Writes the most memory the process ever had, in KiB, when it ends.
PEAK = """
import atexit
def peak():
    lines = open("/proc/self/status").read().splitlines()
    open({path!r}, "w").write(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
atexit.register(peak)
"""


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    packer = zlib.compressobj(level=1, wbits=31)
    zeros = bytes(1024 * 1024)
    gzipped = b"".join(packer.compress(zeros) for _ in range(BOMB_BYTES // len(zeros))) + packer.flush()
    small = bytes(BOMB_BYTES // 4)
    answers = {
        "gzip": coded(gzipped, "gzip"),
        "gzip-gzip": coded(gz(gzipped), "gzip, gzip"),
        "deflate": coded(zlib.compress(small, 1), "deflate"),
        "br": coded(brotli.compress(small, quality=3), "br"),
        "zstd": coded(zstd.compress(small), "zstd"),
        "chunks": chunked(gzipped, headers=[b"Content-Encoding: gzip"]),
        "members": coded(gz(bytes(1000)) * 9_999, "gzip"),
        "hollow": coded(gz(gz(b"") * 90_000), "gzip, gzip"),
    }
    return {f"CON-07/{name}": answer for name, answer in answers.items()}


def peak_bytes(cases: dict[str, Case], folder: Path, cap_bytes: int) -> int:
    """The most memory that a crawl of these cases took, which are as promised."""
    folder.mkdir()
    note = folder / "peak.txt"
    settings = {"DOWNLOAD_MAXSIZE": cap_bytes}
    seen = crawled(cases, folder, "127.0.45", settings=settings, sabotage=PEAK.format(path=str(note)))
    assert {case: seen.shown(case) for case in cases} == {case: seen.promised(case) for case in cases}
    return int(note.read_text()) * 1024


def test_a_bomb_is_cut_at_the_cap_and_costs_no_memory(bombs: dict[str, bytes], tmp_path: Path) -> None:
    too_large = failed("too-large", 200)
    reasons = {"CON-07/hollow": failed("decode", 200)}
    cases = {case: one(answer, reasons.get(case, too_large)) for case, answer in bombs.items()}
    # One URL asked for with a robots.txt that is a bomb: its beginning is read, and it forbids.
    rules = gz(b"User-agent: *\nDisallow: /a$\n" + b"#\n" * (BOMB_BYTES // 8))
    cases["CON-07/robots"] = Case(
        {ROBOTS: coded(rules, "gzip")}, {"/a": End("disallowed/robots-rule", None, asked=0)}, "parsed"
    )
    plain = {f"CON-07/plain-{number}": one(page(bytes(CAP_BYTES)), stored(bytes(CAP_BYTES))) for number in range(9)}
    usual = peak_bytes(plain, tmp_path / "plain", CAP_BYTES)
    assert peak_bytes(cases, tmp_path / "bombs", CAP_BYTES) < usual + 12 * CAP_BYTES + LIMIT_BYTES


def test_twin_without_the_cap_the_bomb_is_large(bombs: dict[str, bytes], tmp_path: Path) -> None:
    case = {"CON-07/gzip": one(bombs["CON-07/gzip"], stored(bytes(BOMB_BYTES)))}
    assert peak_bytes(case, tmp_path / "twin", 2 * BOMB_BYTES) > BOMB_BYTES


# --- what is a page, and its links ---

LINK = b"<html><body><a href='/x'>x</a></body></html>"
X = ["/x"]


class Linked:
    """A page, followed on its host. `links`: None if it is no page."""

    def __init__(
        self,
        body: bytes,
        *types: str,
        links: Sequence[str] | None = (),
        charset: str | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        self.answer = page(body, *(b"Content-Type: " + kind.encode("latin-1") for kind in types))
        self.body, self.links, self.charset, self.flags = body, links, charset, list(flags)


HTML = "text/html"
BINARY = {"links": None, "flags": ["binary-body"]}
CYRILLIC = "<a href='/\u043f?q=\u043f'>\u043f</a>"
LINKED = {
    "CON-12": Linked(
        CYRILLIC.encode("cp1251"),
        "text/html; charset=windows-1251",
        links=["/%D0%BF?q=%EF"],
        charset="windows-1251",
    ),
    "CON-12/meta": Linked(
        b"<meta charset=koi8-r>" + CYRILLIC.encode("koi8-r"), HTML, links=["/%D0%BF?q=%D0"], charset="koi8-r"
    ),
    "CON-12/utf-8": Linked(CYRILLIC.encode(), HTML, links=["/%D0%BF?q=%D0%BF"], charset="utf-8"),
    "CON-12/utf-16": Linked(
        b"\xff\xfe" + CYRILLIC.encode("utf-16-le"), HTML, links=["/%D0%BF?q=%D0%BF"], charset="utf-16le"
    ),
    "CON-12/not-in-the-charset": Linked(
        b"<meta charset=windows-1252><a href='/?q=&#1087;'>x</a>",
        HTML,
        links=["/?q=%26%231087%3B"],
        charset="windows-1252",
    ),
    "CON-12/header-wins": Linked(
        b"<meta charset=koi8-r>" + CYRILLIC.encode("cp1251"),
        'text/html; charset="CP1251"; charset=koi8-r',
        links=["/%D0%BF?q=%EF"],
        charset="windows-1251",
    ),
    "CON-12/meta-if-the-header-is-unknown": Linked(
        b"<meta charset=koi8-r>" + CYRILLIC.encode("koi8-r"),
        "text/html; charset='cp1251'; charset=cp1251",
        links=["/%D0%BF?q=%D0"],
        charset="koi8-r",
    ),
    "CON-12/unknown-label": Linked(
        CYRILLIC.encode(), "text/html; charset=klingon", links=["/%D0%BF?q=%D0%BF"], charset="utf-8"
    ),
    "CON-12/utf-7": Linked(b"+ADw-a href='/y'+AD4-</a>" + LINK, "text/html; charset=utf-7", links=X, charset="utf-8"),
    "CON-13": Linked(b"%PDF-1.4\n1 0 obj <a href=/x>", HTML, **BINARY),
    "CON-13/png": Linked(b"\x89PNG\r\n\x1a\n" + LINK, HTML, **BINARY),
    "CON-13/gif": Linked(b"GIF89a" + LINK, HTML, **BINARY),
    "CON-13/jpeg": Linked(b"\xff\xd8\xff\xe0" + LINK, HTML, **BINARY),
    "CON-13/zip": Linked(b"PK\x03\x04" + LINK, HTML, **BINARY),
    "CON-13/gzip-file": Linked(gz(LINK), HTML, **BINARY),
    "CON-13/nul": Linked(b"<p>\0</p>" + LINK, HTML, **BINARY),
    "CON-13/xhtml": Linked(b"%PDF-1.7 " + LINK, "application/xhtml+xml", **BINARY),
    "CON-13/said-to-be-pdf": Linked(b"%PDF-1.4 <a href=/x>", "application/pdf", links=None),
    "CON-13/page-about-pdf": Linked(b"<p>%PDF-1.4</p>" + LINK, HTML, links=X, charset="utf-8"),
    "CON-13/nul-far-away": Linked(LINK + b" " * 1024 + b"\0", HTML, links=X, charset="utf-8"),
    "CON-15": Linked(
        b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><a href='/x'/></body></html>",
        "application/xhtml+xml",
        links=X,
        charset="utf-8",
    ),
    "CON-15/text-xml": Linked(b"<?xml version='1.0'?>" + LINK, "text/xml", links=None),
    "CON-15/application-xml": Linked(LINK, "application/xml", links=None),
    "CON-15/svg": Linked(b"<svg><a href='/x'/></svg>", "image/svg+xml", links=None),
    "CON-15/text-plain": Linked(LINK, "text/plain", links=None),
    "CON-15/json": Linked(LINK, "application/json", links=None),
    "CON-15/no-type": Linked(LINK, links=X, charset="utf-8"),
    "CON-15/no-type-no-page": Linked(b"see <a href='/x'>", links=None),
    "CON-15/empty-type": Linked(LINK, "", links=X, charset="utf-8"),
    "CON-15/no-such-type": Linked(LINK, "html", links=X, charset="utf-8"),
    "CON-15/upper-case": Linked(LINK, "TEXT/HTML;CHARSET=UTF-8", links=X, charset="utf-8"),
    "CON-15/two-types": Linked(LINK, "text/plain", "text/html", links=X, charset="utf-8"),
    "CON-15/two-types-turned": Linked(LINK, "text/html", "text/plain", links=None),
    "CON-16": Linked(b"\1" + Random(5).randbytes(1024 * 1024), HTML, **BINARY),
    "CON-16/no-nul": Linked(
        b"\1" + Random(6).randbytes(1024 * 1024).replace(b"\0", b"").replace(b"<", b""), HTML, charset="windows-1252"
    ),
    "CON-16/said-to-be-utf-8": Linked(
        b"\1" + Random(7).randbytes(99_999).replace(b"\0", b"").replace(b"<", b""),
        "text/html; charset=utf-8",
        charset="utf-8",
    ),
    "CON-16/said-to-be-utf-16": Linked(Random(8).randbytes(99_999), "text/html; charset=utf-16", charset="utf-16le"),
    **{
        f"CON-16/said-to-be-{name}": Linked(
            b"\1" + Random(9).randbytes(99_999).replace(b"\0", b"").replace(b"<", b""),
            f"text/html; charset={name}",
            charset=name,
        )
        for name in ("iso-2022-jp", "gb18030", "shift_jis", "euc-kr", "big5")
    },
    "CON-16/nothing": Linked(b"", HTML, charset="utf-8"),
    "CON-16/a-mark-alone": Linked(b"\xef\xbb\xbf", HTML, charset="utf-8"),
    "CON-16/half-a-letter": Linked(b"\xff\xfe<", HTML, charset="utf-16le"),
    "CON-16/open-tags-only": Linked(b"<" * 100_000, HTML, charset="utf-8"),
}


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    cases = {
        case: Case({"/a": wanted.answer}, {"/a": stored(wanted.body, *wanted.flags)}) for case, wanted in LINKED.items()
    }
    arguments = {"follow": "host", "max_depth": 1}
    return crawled(cases, tmp_path_factory.mktemp("links"), "127.0.46", arguments=arguments)


@pytest.mark.parametrize("case", LINKED)
def test_links(linked: Crawled, case: str) -> None:
    wanted, record = LINKED[case], linked.page(case)
    host = host_of(case)
    assert linked.end(host, "/a") == stored(wanted.body, *wanted.flags)
    assert record["charset"] == wanted.charset
    assert record["links"] == (None if wanted.links is None else len(wanted.links))
    rows = [row for row in linked.ended.records("links") if row["page"] == record["url"]]
    assert [row["url"] for row in rows] == [linked.web.url(host, link) for link in wanted.links or ()]
    assert linked.web.asked(host) == [ROBOTS, "/a", AFTER, *(wanted.links or ())]


def test_twin_a_binary_body_read_as_a_page_has_its_links_followed(tmp_path: Path) -> None:
    case = "CON-13/twin"
    seen = crawled(
        {case: Case({"/a": LINKED["CON-13"].answer}, {"/a": stored(LINKED["CON-13"].body)})},
        tmp_path,
        "127.0.44",
        arguments={"follow": "host"},
        sabotage="from seaspider import html; html.is_binary = lambda *given: False",
    )
    assert seen.web.asked(host_of(case)) == [ROBOTS, "/a", AFTER, "/x"]
