"""What the hosts of a random crawl answer: kinds of pages and of robots.txt files, each drawn from a seeded Random.

An answer depends on how often its URL was asked before, never on time or chance.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from seaspider.loopback import Answer, Fault, Route
from seaspider.loopback.answers import Headers

HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)
TEXT: Headers = (("Content-Type", "text/plain"),)
GZIP: Headers = (("Content-Encoding", "gzip"),)
MAX_BODY_BYTES = 20_000
OVER_CAP_S = 3600
"""A Retry-After and a crawl-delay longer than any cap of these crawls."""

LATENCIES_S = (0.0, 0.0, 0.0, 0.004, 0.02)
PATHS = ("/", "/a", "/b", "/c", "/d?x=1", "/private/a", "/private/open", "/files/e.pdf", "/deep/er/f")
REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Dice:
    """Chance, and what there is to point at."""

    random: Random
    hosts: Sequence[str]
    """All, also those that do not answer."""

    def path(self) -> str:
        return self.random.choice(PATHS)

    def elsewhere(self) -> str:
        """A URL of any host."""
        return f"http://{self.random.choice(self.hosts)}:{{port}}{self.path()}"

    def late(self, answer_status: int = 200, headers: Headers = HTML, body: str | bytes = "") -> Answer:
        return Answer(answer_status, headers, body, delay_s=self.random.choice(LATENCIES_S))


# --- pages ---


def html(dice: Dice) -> Answer:
    links = [_link(dice) for _ in range(dice.random.randint(1, 7))]
    head = dice.random.choice(
        ["", "", "", "", "", "", '<base href="/deep/">', '<meta name="robots" content="nofollow">']
    )
    tags: Headers = dice.random.choice([(), (), (), (), (), (), (("X-Robots-Tag", "nofollow"),)])
    return dice.late(200, (*HTML, *tags), f"<html><head>{head}</head><body>{''.join(links)}</body></html>")


def _link(dice: Dice) -> str:
    href = dice.random.choice(
        [
            dice.path(),
            dice.path(),
            dice.path(),
            f"/n{dice.random.randint(1, 6)}",
            "er/g",
            "#top",
            "mailto:x@a.test",
            dice.elsewhere(),
        ]
    )
    return f'<a href="{href}"{dice.random.choice(["", "", "", "", "", " rel=nofollow"])}>to {href}</a>\n'


def plain(dice: Dice) -> Answer:
    return dice.late(200, TEXT, f"text {dice.random.randint(1, 3)}\n")


def coded(dice: Dice) -> Answer:
    return dice.late(200, (*HTML, *GZIP), gzip.compress(f'<a href="{dice.path()}">x</a>'.encode(), mtime=0))


def final(dice: Dice) -> Answer:
    status = dice.random.choice([204, 300, 302, 304, 400, 401, 402, 404, 404, 404, 410, 451])
    return dice.late(status, TEXT, "" if status in (204, 304) else f"{status}\n")


def forbidden(dice: Dice) -> Answer:
    return dice.late(403, TEXT, "not you\n")


def flaky(dice: Dice) -> tuple[Answer, ...]:
    bad = [Answer(503), Answer(500), Answer(429), Answer(429, (("Retry-After", "0"),)), Answer(fault=Fault.RESET)]
    return (*dice.random.choices(bad, k=dice.random.randint(1, 2)), html(dice))


def down(dice: Dice) -> Answer:
    return dice.late(dice.random.choice([500, 502, 503]), TEXT, "later\n")


def hurried(dice: Dice) -> Answer:
    return dice.late(429, TEXT, "slower\n")


def patient(dice: Dice) -> tuple[Answer, ...]:
    """A pause of a second, waited for."""
    limits: Headers = (("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1"))
    return (Answer(429, dice.random.choice([(("Retry-After", "1"),), limits])), html(dice))


def closed_for_long(dice: Dice) -> Answer:
    """A pause over the cap, with an answer of any kind."""
    return dice.late(dice.random.choice([200, 429, 503]), (*TEXT, ("Retry-After", str(OVER_CAP_S))), "gone fishing\n")


def redirect(dice: Dice) -> Answer:
    target = dice.random.choice([dice.path(), dice.path(), dice.elsewhere(), dice.elsewhere()])
    return dice.late(dice.random.choice(REDIRECTS), (("Location", target),))


def long_way(dice: Dice) -> Answer:
    """See `beside`."""
    return dice.late(302, (("Location", dice.random.choice(["/r1", "/loop"])),))


def to(*targets: str) -> Callable[[Dice], Answer]:
    """A redirect that is not followed."""

    def kind(dice: Dice) -> Answer:
        return Answer(302, (("Location", dice.random.choice(targets)),))

    return kind


nowhere = to("http://[no", "http://a.test:99999/", "http://a b/")
other_scheme, userinfo, itself = to("ftp://a.test/", "mailto:a@b.test"), to("http://me@a.test/"), to("", "#here")


def two_locations(dice: Dice) -> Answer:
    return Answer(301, (("Location", "/a"), ("Location", "/b")))


def wrong_coding(dice: Dice) -> Answer:
    whole = gzip.compress(b"<p>" * 99, mtime=0)
    return dice.late(200, (*HTML, *GZIP), dice.random.choice([b"this is no gzip", whole[:-9], whole + b"junk"]))


def closing(dice: Dice) -> Answer:
    return Answer(fault=Fault.CLOSE)


def cut(dice: Dice) -> Answer:
    return Answer(200, HTML, "<p>not all of", content_length=99, fault=Fault.CLOSE_AFTER_BODY)


def reset(dice: Dice) -> Answer:
    return Answer(fault=Fault.RESET)


def too_large(dice: Dice) -> Answer:
    return Answer(200, TEXT, parts=((b"0123456789", MAX_BODY_BYTES // 10 + 1),))


def babble(dice: Dice) -> Answer:
    return Answer(raw="SSH-2.0-OpenSSH_9.9\r\n", fault=Fault.RAW_CLOSE)


def hang(dice: Dice) -> Answer:
    return Answer(fault=Fault.HANG)


PAGES: dict[Callable[[Dice], Route], int] = {
    html: 20, plain: 4, coded: 2, final: 5, forbidden: 1, flaky: 3, redirect: 10, patient: 1, down: 1, hurried: 1,
}  # fmt: skip
"""Kind -> how often it is drawn."""

PAGE_FAULTS: tuple[Callable[[Dice], Route], ...] = (
    down, hurried, closed_for_long, long_way, nowhere, other_scheme, userinfo, itself, two_locations, wrong_coding, cut,
    reset, closing, too_large, babble,
)  # fmt: skip
"""Dealt in turn, seed by seed. `hang` costs a time-out, so it has its own place."""


# --- robots.txt ---


def rules(dice: Dice, *more: str, headers: Headers = ()) -> Answer:
    draw = dice.random.choice
    lines = [
        draw(["User-agent: *", "User-agent: other\nDisallow: /\n\nUser-agent: Seaspider", "User-agent: seaspider/9"]),
        *draw([[], ["Disallow: /private/"], ["Disallow: /private/", "Allow: /private/open"], ["Disallow: /*.pdf$"]]),
        *draw(
            [[], [], ["Disallow: /a$"], ["Disallow: /d", "Allow: /d?x"], ["Allow: /", "Disallow: /b"], ["Disallow:"]]
        ),
        *more,
        *draw([[], ["Sitemap: http://a.test/map.xml"], ["# the end"]]),
    ]
    return dice.late(200, (*TEXT, *headers), draw(["\n", "\r\n"]).join([*lines, ""]))


def shut(dice: Dice) -> Answer:
    return dice.late(200, TEXT, "User-agent: *\nDisallow: /\n")


def slow(dice: Dice) -> Answer:
    return rules(dice, f"Crawl-delay: {dice.random.choice(['0.03', '.07', '0.12'])}")


def too_slow(dice: Dice) -> Answer:
    return rules(dice, f"Crawl-delay: {OVER_CAP_S}")


def no_file(dice: Dice) -> Answer:
    return dice.late(dice.random.choice([404, 404, 401, 403, 410]), TEXT, "no file\n")


def renewed(dice: Dice) -> tuple[Answer, ...]:
    """With validators; a second request is conditional."""
    tag: Headers = (("ETag", '"1"'), ("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT"), ("Cache-Control", "max-age=1"))
    return (rules(dice, headers=tag), Answer(304, tag[:1]))


def recovering(dice: Dice) -> tuple[Answer, ...]:
    return (down(dice), rules(dice))


def failing(dice: Dice) -> tuple[Answer, ...]:
    return (rules(dice), down(dice))


def partial(dice: Dice) -> Answer:
    return dice.late(dice.random.choice([206, 300, 999]), TEXT, "User-agent: *\n")


def unasked(dice: Dice) -> Answer:
    return Answer(304)


def later(dice: Dice) -> Answer:
    return Answer(503, (("Retry-After", "1"),))


def moved(dice: Dice) -> Answer:
    target = dice.random.choice(["/rules.txt", "/loop", "/r1", dice.elsewhere(), dice.elsewhere()])
    return Answer(dice.random.choice(REDIRECTS), (("Location", target),))


ROBOTS: dict[Callable[[Dice], Route], int] = {
    rules: 8, slow: 4, no_file: 4, renewed: 2, moved: 4, shut: 1, too_slow: 1, recovering: 1, failing: 1,
}  # fmt: skip

ROBOTS_FAULTS: tuple[Callable[[Dice], Route], ...] = (
    down, hurried, later, partial, unasked, to("/r1"), to("/loop"), nowhere, other_scheme, userinfo, wrong_coding, cut,
    reset, closing, babble, hang, to("http://special.test:{port}/"), to("http://nameless.test:{port}/"),
    to("http://refusing.test:{port}/"), to("https://refusing.test:{tlsport}/"),
)  # fmt: skip


def beside(dice: Dice) -> dict[str, Route]:
    """What each host has: rules for a robots.txt to be redirected to, a loop, a long way, pages to be linked to."""
    way = {f"/r{n}": Answer(302, (("Location", f"/r{n + 1}"),)) for n in range(1, 7)}
    more = {f"/n{n}": html(dice) for n in range(1, 5)}
    return {
        "/rules.txt": rules(dice),
        "/loop": Answer(302, (("Location", "/loop"),)),
        **way,
        "/r7": rules(dice),
        **more,
    }
