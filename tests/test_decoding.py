"""The content decoder: what it undoes, what it refuses, and that a bomb stays small in memory."""

import functools
import gzip
import io
import random
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest

from seaspider.decoding import ACCEPT_ENCODING, MAX_CODINGS, MAX_MEMBERS, DecodeError, DecodeReason, decode, zstd

TEXT = b"User-agent: *\nDisallow: /page\n"
NOISE = random.Random(20261).randbytes(300_000)
LIMIT = 1_000_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def zstd_frame(data: bytes, window_log: int = 17) -> bytes:
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.window_log: window_log}
    packer = zstd.ZstdCompressor(options=options)
    return packer.compress(data) + packer.flush()


gz = functools.partial(gzip.compress, mtime=0)
PACKERS = {
    b"gzip": gz,
    b"x-gzip": gz,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"zstd": zstd_frame,
}
SKIPPABLE = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"


def error_of(body: bytes, *values: bytes, limit: int = LIMIT, **options: bool) -> DecodeReason:
    with pytest.raises(DecodeError) as caught:
        decode(body, values, limit, **options)
    assert str(caught.value) == f"{caught.value.reason}: {caught.value.detail}"
    return caught.value.reason


@pytest.mark.parametrize(
    "plain", [b"", b"a", TEXT, NOISE, bytes(LIMIT)], ids=["empty", "one", "text", "noise", "zeros"]
)
@pytest.mark.parametrize("coding", PACKERS, ids=bytes.decode)
def test_each_coding_is_undone(coding: bytes, plain: bytes) -> None:
    result = decode(PACKERS[coding](plain), [coding], LIMIT)
    assert (result.body, result.clipped) == (plain, False)


@pytest.mark.parametrize(
    ("body", "values", "plain"),
    [
        pytest.param(TEXT, [], TEXT, id="no-header"),
        pytest.param(TEXT, [b""], TEXT, id="empty-header"),
        pytest.param(TEXT, [b"identity"], TEXT, id="identity"),
        pytest.param(gz(TEXT), [b"Identity , GZip,"], TEXT, id="case-blanks-empty-members"),
        pytest.param(gz(TEXT), [], gz(TEXT), id="a-gz-file-unlabelled-stays"),
        pytest.param(gz(gz(TEXT)), [b"gzip"], gz(TEXT), id="one-label-one-layer"),
        pytest.param(gz(gz(TEXT)), [b"gzip, gzip"], TEXT, id="two-labels-two-layers"),
        pytest.param(brotli.compress(gz(TEXT)), [b"gzip, br"], TEXT, id="last-label-first"),
        pytest.param(brotli.compress(gz(TEXT)), [b"gzip", b"br"], TEXT, id="two-header-lines"),
        pytest.param(raw_deflate(TEXT), [b"deflate"], TEXT, id="raw-deflate"),
        pytest.param(raw_deflate(NOISE), [b"deflate"], NOISE, id="raw-deflate-stored"),
        pytest.param(gz(raw_deflate(TEXT)), [b"deflate, gzip"], TEXT, id="raw-deflate-inside"),
        pytest.param(gz(TEXT) + gz(NOISE) + gz(b""), [b"gzip"], TEXT + NOISE, id="gzip-members"),
        pytest.param(zstd_frame(TEXT) + SKIPPABLE + zstd_frame(NOISE), [b"zstd"], TEXT + NOISE, id="zstd-frames"),
        pytest.param(zstd_frame(NOISE, window_log=23), [b"zstd"], NOISE, id="zstd-window-8-mib"),
        pytest.param(functools.reduce(lambda d, _: gz(d), range(5), TEXT), [b"gzip"] * 5, TEXT, id="five-layers"),
    ],
)
def test_exactly_what_is_listed_is_undone(body: bytes, values: list[bytes], plain: bytes) -> None:
    assert decode(body, values, LIMIT).body == plain


def test_members_may_end_anywhere_between_the_pieces_the_decoder_reads() -> None:
    first = gz(NOISE)
    for pad in range(65_530 - 18, 65_542 - 18):  # an empty-ish member whose end falls around the first 64 KiB border
        member = gz(b"")[:10] + b"\x01" + pad.to_bytes(2, "little") + (pad ^ 0xFFFF).to_bytes(2, "little")
        member += bytes(pad) + zlib.crc32(bytes(pad)).to_bytes(4, "little") + pad.to_bytes(4, "little")
        assert decode(member + first, [b"gzip"], LIMIT).body == bytes(pad) + NOISE


def flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 0x55
    return bytes(changed)


@pytest.mark.parametrize(
    ("body", "value", "reason"),
    [
        *(pytest.param(TEXT, coding, "corrupt", id=f"plain-as-{coding.decode()}") for coding in PACKERS),
        *(
            pytest.param(pack(NOISE)[:-1], coding, "cut", id=f"cut-{coding.decode()}")
            for coding, pack in PACKERS.items()
        ),
        *(
            pytest.param(pack(TEXT)[:1], coding, "cut", id=f"1-octet-{coding.decode()}")
            for coding, pack in PACKERS.items()
        ),
        *(pytest.param(b"", coding, "cut", id=f"empty-{coding.decode()}") for coding in PACKERS),
        pytest.param(raw_deflate(NOISE)[:-1], b"deflate", "cut", id="cut-raw-deflate"),
        pytest.param(gz(TEXT) + gz(TEXT)[:-1], b"gzip", "cut", id="cut-second-member"),
        pytest.param(gz(gz(TEXT)[:-1]), b"gzip, gzip", "cut", id="cut-inner-layer"),
        pytest.param(flipped(gz(TEXT), -6), b"gzip", "corrupt", id="gzip-crc"),
        pytest.param(flipped(gz(TEXT), -2), b"gzip", "corrupt", id="gzip-length"),
        pytest.param(flipped(zlib.compress(TEXT), -1), b"deflate", "corrupt", id="zlib-adler"),
        pytest.param(flipped(zstd_frame(TEXT), -1), b"zstd", "corrupt", id="zstd-checksum"),
        pytest.param(zstd_frame(NOISE * 40, window_log=24), b"zstd", "corrupt", id="zstd-window-16-mib"),
        pytest.param(b"\x78\xbb" + bytes(20), b"deflate", "corrupt", id="zlib-wants-a-dictionary"),
        pytest.param(gz(TEXT) + b"\0", b"gzip", "trailing", id="gzip-padded"),
        pytest.param(gz(TEXT) + b"<!-- x -->", b"gzip", "trailing", id="gzip-trailing"),
        pytest.param(gz(TEXT) + b"\x1f<", b"gzip", "corrupt", id="gzip-trailing-like-a-member"),
        pytest.param(zlib.compress(TEXT) + b"\n", b"deflate", "trailing", id="zlib-trailing"),
        pytest.param(zlib.compress(TEXT) * 2, b"deflate", "trailing", id="zlib-twice"),
        pytest.param(zstd_frame(TEXT) + b"JUNK", b"zstd", "trailing", id="zstd-trailing"),
        pytest.param(brotli.compress(TEXT) + b"\n", b"br", "corrupt", id="br-trailing"),
        pytest.param(TEXT, b"utf-8", "unknown-coding", id="utf-8"),
        pytest.param(TEXT, b"none", "unknown-coding", id="none"),
        pytest.param(gz(TEXT), b"zzz, gzip", "unknown-coding", id="unknown-below"),
        pytest.param(TEXT, b"gzip\xff", "unknown-coding", id="not-ascii"),
        pytest.param(TEXT, b"compress", "unknown-coding", id="compress"),
        pytest.param(TEXT, b",".join([b"gzip"] * (MAX_CODINGS + 1)), "too-many", id="six-layers"),
        pytest.param(gz(b"") * (MAX_MEMBERS + 1), b"gzip", "too-many", id="members-without-end"),
    ],
)
def test_what_is_not_whole_is_refused(body: bytes, value: bytes, reason: str) -> None:
    assert error_of(body, value) == reason


def test_an_empty_body_is_whole_only_if_the_caller_says_so() -> None:
    result = decode(b"", [b"gzip"], LIMIT, empty_ok=True)
    assert (result.body, result.clipped) == (b"", False)
    assert decode(b"", [b"zzz"], LIMIT, empty_ok=True).body == b""
    assert error_of(b"", b"zzz") == "unknown-coding"
    assert decode(gz(TEXT), [b"gzip"], LIMIT, empty_ok=True).body == TEXT


@pytest.mark.parametrize(
    ("body", "values", "left"),
    [
        pytest.param(TEXT, [b"none"], TEXT, id="alone"),
        pytest.param(gz(TEXT), [b"utf-8, gzip"], TEXT, id="under-a-known-one"),
        pytest.param(gz(TEXT), [b"gzip", b"utf-8"], gz(TEXT), id="over-a-known-one"),
        pytest.param(brotli.compress(gz(TEXT)), [b"gzip, x, br"], gz(TEXT), id="between"),
    ],
)
def test_an_unknown_coding_is_left_only_if_the_caller_says_so(body: bytes, values: list[bytes], left: bytes) -> None:
    result = decode(body, values, LIMIT, unknown_ok=True)
    assert (result.body, result.clipped, result.unknown) == (left, False, True)
    assert error_of(body, *values) == "unknown-coding"
    assert not decode(gz(TEXT), [b"gzip"], LIMIT, unknown_ok=True).unknown


@pytest.mark.parametrize("coding", [b"identity", *PACKERS], ids=bytes.decode)
def test_the_limit_is_exact(coding: bytes) -> None:
    body = PACKERS.get(coding, bytes)(NOISE)
    at_limit = decode(body, [coding], len(NOISE), clip=True)
    assert (at_limit.body, at_limit.clipped) == (NOISE, False)
    assert error_of(body, coding, limit=len(NOISE) - 1) == "too-large"
    over = decode(body, [coding], len(NOISE) - 1, clip=True)
    assert (over.body, over.clipped) == (NOISE[:-1], True)


@pytest.mark.parametrize("coding", PACKERS, ids=bytes.decode)
def test_a_clipped_input_gives_the_beginning(coding: bytes) -> None:
    whole = PACKERS[coding](NOISE)
    result = decode(whole[: len(whole) // 2], [coding], LIMIT, input_clipped=True)
    assert result.clipped
    assert NOISE.startswith(result.body)
    assert error_of(whole[: len(whole) // 2], coding) == "cut"
    assert error_of(b"\xff" * 100_000, coding, input_clipped=True) == "corrupt"


def test_a_clipped_input_within_two_layers() -> None:
    whole = gz(gz(NOISE))
    result = decode(whole[:200_000], [b"gzip, gzip"], LIMIT, input_clipped=True)
    assert result.clipped
    assert NOISE.startswith(result.body)
    assert len(result.body) > 100_000


def zeros_packed(pack: str) -> bytes:
    zeros = bytes(64 * 1024 * 1024)
    return {
        "gzip": lambda: gz(zeros),
        "deflate": lambda: zlib.compress(zeros),
        "br": lambda: brotli.compress(zeros, quality=5),
        "zstd": lambda: zstd_frame(zeros),
        "gzip, gzip": lambda: gz(gz(zeros)),
        "gzip, br": lambda: brotli.compress(gz(zeros)),
    }[pack]()


def traced(act: Callable[[], Any]) -> tuple[Any, int]:
    """What `act` gives, and the most memory it held at once."""
    tracemalloc.start()
    try:
        return act(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "gzip, br"])
def test_a_bomb_of_64_mib_stays_small(coding: str) -> None:
    bomb, limit = zeros_packed(coding), 512_000
    reason, peak = traced(lambda: error_of(bomb, coding.encode(), limit=limit))
    assert reason == "too-large"
    assert peak < limit + 500_000  # the buffer's growth and a few steps of 64 KiB
    clipped, peak = traced(lambda: decode(bomb, [coding.encode()], limit, clip=True))
    assert (clipped.body, clipped.clipped) == (bytes(limit), True)
    assert peak < limit + 500_000


def test_without_a_limit_the_bomb_would_be_large() -> None:
    _, peak = traced(lambda: decode(zeros_packed("gzip"), [b"gzip"], 2**26))
    assert peak > 2**26


def test_layers_that_unfold_into_nothing_end_too() -> None:
    hollow = gz(gz(b"") * MAX_MEMBERS * 9)  # 8 kB unfold into 1.8 MB of members that yield no octet
    assert error_of(hollow, b"gzip, gzip", limit=50_000) == "too-large"
    assert error_of(hollow, b"gzip, gzip", limit=LIMIT) == "too-many"


def test_what_is_offered_can_be_undone() -> None:
    for coding in ACCEPT_ENCODING.split(b", "):
        assert decode(PACKERS[coding](TEXT), [coding], LIMIT).body == TEXT


def test_gzip_agrees_with_the_standard_library() -> None:
    named = io.BytesIO()
    with gzip.GzipFile("a name.txt", "wb", fileobj=named, mtime=1) as packer:
        packer.write(TEXT)
    assert decode(named.getvalue(), [b"gzip"], LIMIT).body == gzip.decompress(named.getvalue()) == TEXT
