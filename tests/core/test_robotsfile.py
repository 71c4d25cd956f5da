"""The robots.txt parser: names, groups, rules and lines behind decisions; limits, bounds, any input."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seaspider.core.robotsagents import is_product_token, product_token
from seaspider.core.robotsfile import LIMIT_BYTES, LONGEST_DELAY_S, RobotsFile, RuleDecision, parse
from seaspider.core.robotswitness import LARGEST_TEXT, LONGEST_URL, witness

SITE = "http://site.example"
NO_GROUP = RuleDecision(True, None, None, None)


def allowed(body: bytes | str, path: str, token: str = "seaspider") -> bool:
    return parse(body.encode() if isinstance(body, str) else body).decide(token, SITE + path).allowed


# --- names

PRODUCT_TOKENS = {
    "bare": ("seaspider", "seaspider"),
    "bare-case": ("Sea-Spider_X", "Sea-Spider_X"),
    "version": ("seaspider/2.0", "seaspider"),
    "contact": ("seaspider/0.1.0 (+https://crawler.example/bot)", "seaspider"),
    "blanks": ("  seaspider ", "seaspider"),
    "mozilla": ("Mozilla/5.0 (compatible; seaspider/1.0; +https://crawler.example/bot)", "seaspider"),
    "mozilla-late": ("Mozilla/5.0 AppleWebKit/537.36 (KHTML; compatible; seaspider/1.0) Chrome/1", "seaspider"),
    "browser": ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Mozilla"),
    "no-browser": ("other/1.0 (compatible; seaspider/1.0)", "other"),
    "digits": ("bot2/1.0", "bot2"),
    "star": ("*", ""),
    "empty": ("", ""),
    "only-separators": (" / ; ", ""),
}


@pytest.mark.parametrize(("text", "token"), PRODUCT_TOKENS.values(), ids=PRODUCT_TOKENS.keys())
def test_product_token(text: str, token: str) -> None:
    assert product_token(text) == token


@pytest.mark.parametrize("text", ["seaspider", "Sea-Spider_X", "-", "_"])
def test_is_product_token(text: str) -> None:
    assert is_product_token(text)


@pytest.mark.parametrize("text", ["", "*", "bot2", "sea spider", "seaspider/1.0", "seaspider\n", "sea\u212aelp", "söa"])
def test_is_no_product_token(text: str) -> None:
    assert not is_product_token(text)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("seaspider/1.0", True),
        ("seaspider*", True),
        ("seaspider; other", True),
        ("sea*spider", False),
        ("seaspider2", False),
        ("seaspider.", False),
        ("/seaspider", False),
        ("* all", True),
        ("*<br>", False),
        ("**", False),
    ],
)
def test_whom_a_user_agent_line_names(line: str, named: bool) -> None:
    assert allowed(f"User-agent: {line}\nDisallow: /\n", "/x") is not named


def test_a_name_that_is_no_product_token_still_finds_its_own_group() -> None:
    body = "User-agent: bot2\nDisallow: /\nUser-agent: bot\nDisallow:\n"
    assert not allowed(body, "/x", product_token("bot2/1.0"))
    assert allowed(body, "/x", product_token("bot/1.0"))


# --- decisions and their grounds

GROUNDS_BODY = (
    b"\xef\xbb\xbf# line 1\r\n"
    b"User-Agent: SeaSpider # line 2\r"
    b"Disallow: /a   # why\n"
    b"License: https://site.example/license.xml\n"
    b"\tALLOW :/a/b\t\n"
    b"\n"
    b"user-agent: *\n"
    b"Disallow: /star\n"
    b"User-agent: seaspider\n"
    b"Disallow: /caf\xc3\xa9\n"
    b"dissallow /l\xe9\x1b[0m\n"
)
GROUNDS = {
    "rule": ("seaspider", "/a/x", (False, "seaspider", "Disallow: /a", 3)),
    "rule-as-written": ("SEASPIDER", "/a/b", (True, "seaspider", "ALLOW :/a/b", 5)),
    "no-rule": ("seaspider", "/star", (True, "seaspider", None, None)),
    "merged": ("seaspider", "/caf%C3%A9", (False, "seaspider", "Disallow: /café", 10)),
    "shown-printable": ("seaspider", "/l%E9%1B[0mx", (False, "seaspider", "dissallow /l%E9%1B[0m", 11)),
    "everyone": ("other", "/star/x", (False, "*", "Disallow: /star", 8)),
    "nameless": ("", "/star/x", (False, "*", "Disallow: /star", 8)),
    "robots": ("seaspider", "/robots.txt", (True, None, None, None)),
}


@pytest.mark.parametrize(("token", "path", "expected"), GROUNDS.values(), ids=GROUNDS.keys())
def test_grounds(token: str, path: str, expected: tuple[bool, str | None, str | None, int | None]) -> None:
    assert parse(GROUNDS_BODY).decide(token, SITE + path) == RuleDecision(*expected)


def test_no_group() -> None:
    assert parse(b"User-agent: other\nDisallow: /\n").decide("seaspider", SITE + "/x") == NO_GROUP


def test_of_equal_rules_the_first_line_is_named() -> None:
    file = parse(b"User-agent: *\nDisallow: /a\nDisallow: /*\nDisallow: /a\n")
    assert file.decide("seaspider", SITE + "/a").rule_line == 2


def test_a_rule_is_quoted_up_to_1000_characters() -> None:
    rule = parse(b"User-agent: *\nDisallow: /*" + b"*" * 5000).decide("seaspider", SITE + "/a").rule
    assert rule == "Disallow: /" + "*" * 988 + "…"


@pytest.mark.parametrize(
    "other",
    [
        *(
            "Sitemap: /s",
            "Crawl-delay: 1",
            "Crawl-delay: x",
            "License: /l",
            "Content-Signal: ai-train=no",
            "Content-Usage: n",
        ),
        *("Noindex: /x", "Host: h", "Allowed: /", "Allow /", "Allow", "Anything", "colon:only", ":"),
        *("\0", "\u2028", "# Disallow: /"),
    ],
)
def test_other_records_neither_end_nor_start_a_group(other: str) -> None:
    head = f"User-agent: seaspider\n{other}\nUser-agent: else\n{other}\nDisallow: /x\n"
    assert not allowed(head, "/x")
    assert not allowed(f"{head}{other}\nDisallow: /y\n", "/y")
    assert allowed(f"{head}{other}\nUser-agent: third\n{other}\nDisallow: /y\n", "/y")


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Disallow: /\nAllowed: /x", "/x", False),
        ("Disallow: /\nAllow-x: /x", "/x", False),
        ("Disallow /\nAllow /x", "/x", False),
        ("Disallow-x: /x", "/x", False),
        ("Disallow: /\nAllow: /x\0y", "/x", False),
        ("Disallow: /x\0y", "/x", False),
        ("Disallow /a:b", "/a:b", False),
        ("Disallow /x or so", "/x%20or%20so", True),
    ],
)
def test_what_is_not_understood_opens_nothing(rules: str, path: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}\n", path) is expected


@pytest.mark.parametrize(
    ("disallow", "allow", "path", "expected"),
    [
        ("/T%3Ax", "/T:x", "/T:x", True),  # equivalent, although longer as written
        ("/%C3%A9", "/é", "/é", True),
        ("/a$", "/a%24", "/a", False),  # the anchor is not the dollar
        ("/a%2Fb", "/a/b", "/a%2Fb", False),
        ("/é", "/*abcd", "/é?abcd", False),  # 7 octets escaped against 6
        ("/::", "/*:", "/::", True),  # 3 against 3, as written
        ("/%7E%7E", "/*~", "/~~", True),  # 3 against 3, decoded
    ],
)
def test_priority(disallow: str, allow: str, path: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {disallow}\nAllow: {allow}\n", path) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/q?u=/a", "/q?u=%2Fa", True),
        ("/q?u=%2fa", "/q?u=/a", True),
        ("/*%2F", "/q?u=%2Fa", True),  # the very octets
        ("/*/a", "/q?u=%2Fa", False),  # no query in the pattern: an escaped slash is no slash
        ("/a%2Fb?x", "/a/b?x", False),
        ("/a+b", "/a%2Bb", True),
        ("/a\\b", "/a%5Cb", True),
        ("/", "", True),
        ("/?", "?x", True),
        ("/x$y$", "/x%24y", True),
        ("/x$y$", "/x$yz", False),
        ("$", "/", False),
        ("/ab*ba$", "/aba", False),  # head and tail share no octet
        ("/*ab*ab*c", "/abc", False),
        ("/x\f", "/xy", False),  # no blank by the grammar, so an octet of the path
    ],
)
def test_spelling(pattern: str, path: str, matches: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", path) is not matches


# --- delays, sitemaps, canonical text

DELAYS = {
    "head-two-stretches": ("User-agent: a\nCrawl-delay: 1\nUser-agent: seaspider\nCrawl-delay: 2\nDisallow: /\n", 2),
    "stretch-before": ("User-agent: seaspider\nCrawl-delay: 1\nUser-agent: a\nCrawl-delay: 2\nDisallow: /\n", 1),
    "after-rules-for-all": ("User-agent: seaspider\nCrawl-delay: 1\nUser-agent: a\nDisallow: /\nCrawl-delay: 2\n", 2),
    "malformed-ends-no-stretch": ("User-agent: seaspider\nCrawl-delay: x\nUser-agent: a\nCrawl-delay: 2\n", 2),
    "larger-first": ("User-agent: seaspider\nCrawl-delay: 3\nCrawl-delay: 2\n", 3),
    "zero": ("User-agent: *\nCrawl-delay: 0\n", 0),
    "unit-upper": ("User-agent: *\nCrawl-delay: 1.5S\n", 1.5),
    "endless": ("User-agent: *\nCrawl-delay: " + "9" * 5000 + "\n", LONGEST_DELAY_S),
    "comma": ("User-agent: *\nCrawl-delay: 1,5\n", None),
    "two-dots": ("User-agent: *\nCrawl-delay: 1.5.0\n", None),
    "dot": ("User-agent: *\nCrawl-delay: .\n", None),
}


@pytest.mark.parametrize(("body", "delay_s"), DELAYS.values(), ids=DELAYS.keys())
def test_crawl_delay(body: str, delay_s: float | None) -> None:
    assert parse(body.encode()).crawl_delay_s("seaspider") == delay_s


def test_sitemaps() -> None:
    body = b"Sitemap: http://a/1\nUser-agent: *\nSITEMAPS: http://a/\xe9\nDisallow: /\nSitemap\nsitemap http://a/3\nSitemap:\n"
    assert parse(body).sitemaps == ("http://a/1", "http://a/%E9", "http://a/3")


def test_canonical_is_the_one_group_in_ascii() -> None:
    body = "User-agent: seaspider\nCrawl-delay: 1\nDisallow: /é %41:%3a\0x\nAllow: /*/index.html # c\nDisallow:\n"
    body += "Disallow: no\nAllow: /same\nDisallow: /s%61me\nUser-agent: *\nDisallow: /other$\n"
    file = parse(body.encode())
    assert file.canonical("seaspider") == (
        "User-agent: *\nDisallow: /%C3%A9%20A:%3A\nAllow: /*/index.html*\nAllow: /same\n"
    )
    assert file.canonical("else") == "User-agent: *\nDisallow: /other$\n"
    assert parse(b"").canonical("seaspider") == "User-agent: *\n"


# --- the limit

CUT_BODY = (
    b"User-agent: *\r\nDisallow: /\rSitemap: http://a/\nAllow: /public/only\r\n\r\nUser-agent: seaspider\nDisallow:/x"
)


def said(file: RobotsFile) -> tuple[object, ...]:
    return file.truncated, file.sitemaps, file.canonical("seaspider"), file.canonical("else")


@pytest.mark.parametrize("limit", range(len(CUT_BODY)))
def test_a_cut_line_is_dropped(limit: int) -> None:
    whole_lines = CUT_BODY[: 1 + max(CUT_BODY.rfind(b"\r", 0, limit), CUT_BODY.rfind(b"\n", 0, limit))]
    file = parse(CUT_BODY, limit)
    assert file.truncated
    assert said(file) == said(parse(CUT_BODY[:limit], cut=True))
    assert said(file)[1:] == said(parse(whole_lines))[1:]


def test_a_file_of_just_the_limit_is_whole() -> None:
    file = parse(CUT_BODY, len(CUT_BODY))
    assert not file.truncated
    assert not file.decide("seaspider", SITE + "/x").allowed


def test_without_the_drop_the_cut_line_would_open_the_site() -> None:
    limit = CUT_BODY.index(b"public")
    assert not parse(CUT_BODY, limit).decide("other", SITE + "/x").allowed
    assert parse(CUT_BODY[:limit]).decide("other", SITE + "/x").allowed  # the twin: the start taken for a whole file


def test_the_default_limit() -> None:
    body = b"User-agent: *\n" + b"#" * (LIMIT_BYTES - 14 - 12) + b"\nDisallow: /\n"
    assert (len(body), parse(body).truncated, allowed(body, "/")) == (LIMIT_BYTES + 1, True, True)
    assert (parse(body[1:]).truncated, allowed(body.replace(b"##", b"#", 1), "/")) == (False, False)


# --- the witness


def test_witness_is_asked_up_to_its_bounds() -> None:
    rules = b"User-agent: *\nDisallow: /x\nDisallow: /"
    fits = parse(rules + b"a" * (LARGEST_TEXT - len(rules) - 1))
    assert len(fits.canonical("seaspider")) == LARGEST_TEXT
    assert witness(fits, "seaspider", SITE + "/x") is False
    assert witness(parse(rules + b"a" * (LARGEST_TEXT - len(rules))), "seaspider", SITE + "/x") is None
    longest = (SITE + "/x").ljust(LONGEST_URL, "y")
    assert [witness(fits, "seaspider", longest), witness(fits, "seaspider", longest + "y")] == [False, None]


def test_witness_answers_for_the_group_of_the_token() -> None:
    file = parse(b"User-agent: seaspider\nDisallow: /a\nUser-agent: *\nDisallow: /b\n")
    asked = [(token, path) for token in ("seaspider", "else") for path in ("/a", "/b")]
    assert [witness(file, token, SITE + path) for token, path in asked] == [False, True, True, False]


def test_witness_is_deaf_to_records_that_mislead_it() -> None:
    body = b"User-agent: seaspider\nCrawl-delay: 1\nUser-agent: else\nDisallow: /x\n"
    assert witness(parse(body), "seaspider", SITE + "/x") is False
    from protego import Protego

    assert Protego.parse(body.decode()).can_fetch(SITE + "/x", "seaspider")  # the twin: given the raw file


# --- any input

OCTETS = st.lists(
    st.sampled_from(
        [b"User-agent:", b"Disallow:", b"Allow:", b"Crawl-delay:", b"*", b"seaspider", b"/", b"\n", b"\r", b" "]
    )
    | st.binary(max_size=4)
).map(b"".join)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too


@settings(deadline=None)
@given(OCTETS, ANY_TEXT, ANY_TEXT)
@example(b"\xff\xfe\x00", "", "http://[::1/robots.txt")
@example(b"User-agent: *\nDisallow: /\xed\xa0\x80", "\udc80", "http://h/\ud800")
def test_nothing_raises(body: bytes, agent: str, url: str) -> None:
    file, token = parse(body), product_token(agent)
    for path in (url, f"{SITE}/{url}"):
        assert isinstance(file.decide(token, path), RuleDecision)
        assert witness(file, token, path) in (True, False)
    assert file.crawl_delay_s(token) is None or file.crawl_delay_s(token) >= 0
    assert file.canonical(token).isascii()


PLAIN_RULES = st.lists(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), st.text("ab/*", max_size=6), st.sampled_from(["", "$"])),
    max_size=6,
)


def by_regular_expressions(rules: list[tuple[str, str, str]], path: str) -> bool:
    """Section 2.2.2 said in another way: of all matching patterns the longest, of equal ones an Allow."""
    matching = [
        (len(pattern + end), key == "Allow")
        for key, pattern, end in rules
        if pattern + end and re.match(".*".join(map(re.escape, pattern.split("*"))) + (r"\Z" if end else ""), path)
    ]
    return max(matching, default=(0, True))[1]


@settings(max_examples=200, deadline=None)
@given(PLAIN_RULES, st.text("ab/", max_size=8).map("/".__add__))
def test_plain_files(rules: list[tuple[str, str, str]], path: str) -> None:
    body = "User-agent: *\n" + "".join(f"{key}: {pattern}{end}\n" for key, pattern, end in rules)
    expected = by_regular_expressions(rules, path)
    file = parse(body.encode())
    assert file.decide("seaspider", SITE + path).allowed is expected
    assert witness(file, "seaspider", SITE + path) is expected
    assert parse(file.canonical("seaspider").encode()).decide("else", SITE + path).allowed is expected


SPELLED = st.lists(
    st.sampled_from(["/", "a", "é", "%E9", "%2F", "%2f", "%41", "?", "%3F", ":", "%3A", ";", "=", " ", "<", "%"])
)


@settings(deadline=None)
@given(SPELLED.map("".join))
def test_a_url_matches_its_own_octets(path: str) -> None:
    assert not allowed(f"User-agent: *\nDisallow: /x{path}x\n", f"/x{path}x")
