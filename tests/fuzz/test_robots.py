"""robots.txt: any bytes are read in linear work and never raise, plain files as the reference reads them.

Compared with `seaspider.core.robotsfile`: gpyrobotstxt, a port of Google's own parser, from which RFC 9309 was written.
It shares no code and no author with ours or with Protego (the witness of the product, which is tested elsewhere).
Of each file the decision for one URL is compared. DIFFERENCES lists what is read differently on purpose, or by a fault
of the port; what a plain file has none of is compared in full. Work is counted in lines of Python run, not in seconds.
Seeds: those of `budgets`.
"""

from dataclasses import dataclass

import pytest
from gpyrobotstxt.robots_cc import RobotsMatcher
from hypothesis import given
from hypothesis import strategies as st

from seaspider.core.robotsagents import product_token
from seaspider.core.robotsfile import LONGEST_DELAY_S, SHOWN_CHARACTERS, RuleDecision, parse
from seaspider.core.robotswitness import witness
from seaspider.core.urls import UrlError, normalise
from tests.core.test_robotscost import python_steps
from tests.fuzz.budgets import examples

SITE = "http://h.test"
TOKEN = "bot"


def ours(body: bytes, url: str) -> bool:
    return parse(body).decide(TOKEN, url).allowed


def theirs(body: bytes, url: str) -> bool:
    return RobotsMatcher().one_agent_allowed_by_robots(body, TOKEN, url)


@dataclass(frozen=True, slots=True)
class Difference:
    body: bytes
    path: str
    ours: bool
    why: str


FOR_ALL = b"User-agent: *\n"
OPENED = FOR_ALL + b"Disallow: /\n"
DIFFERENCES = {
    "longer-name": Difference(
        b"User-agent: bot2\nDisallow: /", "/", True, "Section 2.2.1 compares whole names: bot2 is somebody else."
    ),
    "allow-without-colon": Difference(OPENED + b"Allow /", "/", False, "What is not understood opens nothing."),
    "allow-by-its-beginning": Difference(OPENED + b"Allowed: /", "/", False, "The same."),
    "index-html": Difference(
        OPENED + b"Allow: /index.html", "/", False, "Google's own extension: to it the folder is open then."
    ),
    "words-before-the-colon": Difference(
        FOR_ALL + b"Disallow all: /", "/", True, "No key of the RFC; the reference takes all before the colon for one."
    ),
    "colon-in-a-rule-without-one": Difference(
        FOR_ALL + b"Disallow /a:b", "/a:b", False, "The reference splits at the colon, and the rule matches nothing."
    ),
    "escapes-of-unreserved": Difference(
        FOR_ALL + b"Disallow: /%61", "/a", False, "Section 2.2.2: they are the letters they stand for."
    ),
    "escapes-of-reserved": Difference(
        FOR_ALL + b"Disallow: /a%3Ab", "/a:b", False, "Of two readings the one that fetches less."
    ),
    "slash-in-a-query": Difference(FOR_ALL + b"Disallow: /?u=%2F", "/?u=/", False, "Section 2.2.2, its third example."),
    "unsafe-characters": Difference(
        FOR_ALL + b'Disallow: /a"b', "/a%22b", False, "They are escaped in any URL; the reference never matches them."
    ),
    "robots-txt-itself": Difference(OPENED, "/robots.txt", True, "Section 2.2.2: it is always allowed."),
    "long-line": Difference(
        FOR_ALL + b"Disallow: /" + b"a" * 20_000 + b"b", "/" + "a" * 20_000 + "c", True,
        "The reference reads 16 KB of a line, and so another rule than the one that is there.",
    ),
    "utf-16": Difference(
        "\ufeffUser-agent: *\nDisallow: /".encode("utf-16-le"), "/", False,
        "Section 2.2.2 lets us decode."
    ),
    "blanks-that-are-none": Difference(
        FOR_ALL + b"\x0bDisallow: /", "/", True, "Blanks are space and tab (section 2.2); the port strips others too."
    ),
    "nul-in-a-disallow": Difference(
        FOR_ALL + b"Disallow: /\0x", "/", False, "A NUL ends a value: of two readings the one that fetches less."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_is_as_listed(name: str) -> None:
    listed = DIFFERENCES[name]
    url = SITE + listed.path
    assert ours(listed.body, url) is listed.ours
    assert theirs(listed.body, url) is not listed.ours


def test_a_fault_of_the_port() -> None:
    """One word alone on a line: the reference passes it over, as we do; its port raises."""
    assert not ours(OPENED + b"word\n", SITE)
    with pytest.raises(TypeError):
        theirs(OPENED + b"word\n", SITE)


# --- plain files

# Left out: what DIFFERENCES is about.
SPELLINGS = st.sampled_from(
    ["/", "a", "b", "Ab", "*", "**", "$", "?", "=", "&", ":", ";", "@", "é", "%C3%A9", "%c3%a9"]
)
PATTERNS = st.one_of(
    st.lists(SPELLINGS, max_size=5).map(lambda parts: "/" + "".join(parts)),
    st.lists(SPELLINGS, max_size=4).map("".join),
)
PATHS = st.lists(st.sampled_from(["/", "a", "b", "Ab", "?", "=", "&", ":", ";", "@", "é", "$", "."]), max_size=7)
RULE_KEYS = ["Allow", "ALLOW", "allow ", "Disallow", " disallow", "Disallow\t", "dissallow", "disalow", "Disallowed"]
AGENT_KEYS = ["User-agent", "user-AGENT", "Useragent", "User agent", "User-agents"]
NAMES = ["*", "* all", "bot", "BOT", "bot/1.0", "bot other", "bot, other", "bot*", "bo", "bots", "other", "*bot", ""]
COLONS = st.sampled_from([":", ": ", ":\t", " : "])
ENDS = st.sampled_from(["", " ", "\t", " # why", "#"])
RULES = st.builds("{}{}{}{}".format, st.sampled_from(RULE_KEYS), COLONS, PATTERNS, ENDS)
AGENTS = st.builds("{}{}{}{}".format, st.sampled_from(AGENT_KEYS), COLONS, st.sampled_from(NAMES), ENDS)
OTHERS = st.sampled_from(
    ["", " ", "# x", "#Allow: /", "Crawl-delay: 3", "Sitemap: http://h.test/s", "Host: h.test", "Disallow /a",
     "Disallow *", "User-agent bot", "User-agent *", "a b c", ": /", "Noindex: /"]
)  # fmt: skip
FILES = st.builds(
    lambda mark, lines, end: (mark + end.join(lines)).encode(),
    st.sampled_from(["", "\ufeff"]),
    st.lists(st.one_of(RULES, RULES, AGENTS, OTHERS), max_size=12),
    st.sampled_from(["\n", "\r", "\r\n"]),
)


@examples(600, 3_000)
def test_plain_files_are_read_as_by_the_reference(budget) -> None:
    @budget
    @given(FILES, PATHS.map("".join))
    def agree(body: bytes, path: str) -> None:
        try:
            url = normalise(f"{SITE}/{path}").text
        except UrlError:
            return
        assert ours(body, url) is theirs(body, url)

    agree()


# --- any bytes

PIECES = st.sampled_from(
    [b"User-agent:", b"User-agent", b"Disallow:", b"Allow:", b"Disallow", b"Crawl-delay:", b"Sitemap:", b"*", b"bot",
     b"/", b"\n", b"\r", b"\r\n", b" ", b"\t", b"#", b":", b"$", b"%2f", b"%", b"?", b"\0", b"\xff", b"\xef\xbb\xbf",
     b"\xff\xfe", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"1e9", b"9" * 400, b".5", b"a" * 3000]
)  # fmt: skip
OCTETS = st.lists(PIECES | st.binary(max_size=4), max_size=25).map(b"".join)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)


@examples(250, 1_500)
def test_any_bytes(budget) -> None:
    @budget
    @given(OCTETS, ANY_TEXT, ANY_TEXT, st.integers(0, 200))
    def hold(body: bytes, agent: str, tail: str, limit: int) -> None:
        file, token = parse(body), product_token(agent) or TOKEN
        for url in (tail, f"{SITE}/{tail}"):
            decision = file.decide(token, url)
            check(decision, body)
            assert witness(file, token, url) in (True, False, None)
        delay_s = file.crawl_delay_s(token)
        assert delay_s is None or 0 <= delay_s <= LONGEST_DELAY_S
        assert file.canonical(token).isascii()
        assert all(sitemap.isprintable() for sitemap in file.sitemaps)
        cut, told = parse(body, limit), parse(body[:limit], cut=len(body) > limit)
        assert (cut.sitemaps, cut.truncated) == (told.sitemaps, told.truncated)
        assert cut.canonical(token) == told.canonical(token)

    hold()


def check(decision: RuleDecision, body: bytes) -> None:
    """A rule is named by its text and its line, or not at all; a refusal always has one."""
    assert (decision.rule is None) == (decision.rule_line is None)
    assert decision.allowed or decision.rule is not None
    if decision.rule is not None and decision.rule_line is not None:
        assert len(decision.rule) <= SHOWN_CHARACTERS
        assert decision.rule.isprintable()
        assert 1 <= decision.rule_line <= len(body) + 1
    assert decision.group is None or decision.group.isprintable()


@examples(40, 300)
def test_work_is_linear_whatever_is_repeated(budget) -> None:
    @budget
    @given(st.lists(PIECES, min_size=1, max_size=6).map(b"".join), st.booleans())
    def linear(unit: bytes, headed: bool) -> None:
        def use(times: int) -> None:
            file = parse(FOR_ALL * headed + unit * times)
            file.decide(TOKEN, SITE + "/" + "a" * 500 + "?b")
            file.crawl_delay_s(TOKEN)

        assert python_steps(lambda: use(300)) <= 2.1 * python_steps(lambda: use(150)) + 300

    linear()
