"""What a hostile robots.txt costs: work grows no faster than the file, whatever its shape."""

import sys
from collections.abc import Callable
from time import process_time
from types import FrameType
from typing import Any

import pytest

from seaspider.core.robotsfile import LIMIT_BYTES, parse
from seaspider.core.robotswitness import witness

SITE = "http://site.example"
N = LIMIT_BYTES - 100  # with its head every shape is still read whole
HEAD = b"User-agent: *\n"
SHAPES: dict[str, Callable[[int], bytes]] = {
    "line-ends": lambda n: b"\n" * n,
    "carriage-returns": lambda n: b"\r" * n,
    "blanks": lambda n: HEAD + b"Disallow" + b" " * n,
    "one-word": lambda n: b"User-agent: " + b"a*" * (n // 2),
    "names": lambda n: HEAD * (n // len(HEAD)),
    "names-and-delays": lambda n: b"User-agent:*\nCrawl-delay:1\n" * (n // 27),
    "groups": lambda n: b"User-agent: *\nAllow: /\n" * (n // 23),
    "names-by-rules": lambda n: b"User-agent: a\n" * (n // 28) + HEAD + b"Disallow: /a\n" * (n // 28),
    "one-name-by-rules": lambda n: HEAD * (n // 28) + b"Disallow: /a\n" * (n // 28),
    "rules": lambda n: HEAD + b"Allow: /a\n" * (n // 10),
    "wild-rules": lambda n: HEAD + b"Disallow: /*a*a$\n" * (n // 17),
    "stars": lambda n: HEAD + b"Disallow: /" + b"*" * n,
    "star-parts": lambda n: HEAD + b"Disallow: /" + b"*a" * (n // 2),
    "star-parts-anchored": lambda n: HEAD + b"Disallow: /" + b"*a" * (n // 2 - 20) + b"b$",
    "escapes": lambda n: HEAD + b"Disallow: /" + b"%41" * (n // 3),
    "reserved": lambda n: HEAD + b"Disallow: /" + b"?" * (n // 2) + b":" * (n // 2),
    "high-octets": lambda n: b"\xff" * n,
    "utf16": lambda n: b"\xff\xfe" + b"\x00\xd8" * (n // 2),
    "sitemaps": lambda n: b"Sitemap:\xff\n" * (n // 10),
    "long-parts": lambda n: HEAD + (b"Disallow: /*" + b"a" * 60 + b"ba\n") * (n // 75),
}
LONG_URL = SITE + "/" + "a" * 2000 + "c"


def use(body: bytes) -> None:
    file = parse(body)
    file.decide("seaspider", LONG_URL)
    file.crawl_delay_s("seaspider")
    witness(file, "seaspider", LONG_URL)


def python_steps(call: Callable[[], Any]) -> int:
    """How many lines of Python `call` runs, ours or Protego's."""
    steps = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_steps_grow_no_faster_than_the_file(shape: Callable[[int], bytes]) -> None:
    small, large = shape(8_000), shape(16_000)
    assert python_steps(lambda: use(large)) <= 2.1 * python_steps(lambda: use(small)) + 200


def test_a_run_of_stars_is_one_star() -> None:
    file = parse(SHAPES["stars"](N))
    assert not file.decide("seaspider", LONG_URL).allowed
    assert python_steps(lambda: file.decide("seaspider", LONG_URL)) < 100


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_hostile_file_costs_little(shape: Callable[[int], bytes]) -> None:
    """CPU seconds, so that a busy machine does not count; the slowest shape needs a fifth of the bound."""
    body = shape(N)
    assert 0.9 * N < len(body) <= LIMIT_BYTES
    before_s = process_time()
    use(body)
    assert process_time() - before_s < 5


def test_a_witness_is_made_once() -> None:
    file = parse(HEAD + b"Disallow: /x\n" * 500)
    first, second = (python_steps(lambda: witness(file, "a", SITE + "/x")) for _ in range(2))
    assert second < 100 < 1000 < first
