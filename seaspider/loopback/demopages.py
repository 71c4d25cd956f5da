"""The pages of the demo web: small HTML5 documents, UTF-8, each with its links where a crawler looks for them."""

import gzip
from html import escape

from seaspider.loopback.answers import Answer, Headers

HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)
TEXT: Headers = (("Content-Type", "text/plain; charset=utf-8"),)
STYLE = (
    "body{font:1.1em/1.5 Georgia,serif;max-width:34em;margin:3em auto;color:#123;background:#eef6f9}a{color:#06799f}"
)


def html(title: str, *paragraphs: str, head: str = "") -> str:
    """A whole document. Paragraphs are HTML, the title is text; `head` are more lines of the head."""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        *([head] if head else []),
        "</head>",
        "<body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{paragraph}</p>" for paragraph in paragraphs),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def page(title: str, *paragraphs: str, head: str = "", headers: Headers = (), status: int = 200) -> Answer:
    """An HTML page as an answer."""
    return Answer(status, HTML + headers, html(title, *paragraphs, head=head))


def robots(*lines: str) -> Answer:
    """A robots.txt of these lines."""
    return Answer(headers=TEXT, body="".join(f"{line}\n" for line in lines))


def redirect(status: int, location: str) -> Answer:
    """A redirect without a body."""
    return Answer(status, (("Location", location),))


HARBOUR = page(
    "The harbour",
    "Ships lie at anchor here, and nobody hurries.",
    'See <a href="/charts">the charts</a>, <a href="fleet?sort=name&amp;size=all">the fleet</a> or, elsewhere, '
    '<a href="http://lagoon.test:{port}/">the lagoon</a>.',
)
CHARTS = page(
    "Charts",
    'Every link here counts from <code>/atlas/</code>: <a href="south">the south</a>, <a href="west">the west</a>.',
    '<img src="map.png" alt="A map" usemap="#map" width="200" height="100">'
    '<map name="map"><area href="north" shape="rect" coords="0,0,200,50" alt="The north"></map>',
    head='<base href="/atlas/">',
)
LAGOON = Answer(
    headers=(*HTML, ("Content-Encoding", "gzip")),
    # mtime=0: the same bytes, so the same digest, in every run.
    body=gzip.compress(
        html(
            "The lagoon",
            "Warm, shallow and folded up: this page travels as gzip.",
            'There is <a href="/beach">a beach</a> and <a href="/tides.csv">a table of tides</a>.',
        ).encode(),
        mtime=0,
    ),
)
TIDES = Answer(
    headers=(("Content-Type", "text/csv"),), body="time,height_cm\n02:10,41\n08:25,187\n14:40,38\n20:55,192\n"
)
BUOY_REL = page(
    "A quiet buoy",
    '<a href="/drift/rel" rel="noopener nofollow">Not this way</a>, but <a href="/moored">this way</a>.',
)
BUOY_META = page(
    "A quieter buoy",
    '<a href="/drift/meta">No link of this page</a> is to be followed: its head says so.',
    head='<meta name="robots" content="noarchive, nofollow">',
)
BUOY_HEADER = page(
    "The quietest buoy",
    '<a href="/drift/header">No link of this page</a> is to be followed: its header says so.',
    headers=(("X-Robots-Tag", "nofollow"),),
)
