"""Follow mode: which links are followed, which are not and why, and how that goes on in the next run."""

from itertools import groupby

import pytest

from seaspider.loopback import Answer, LoopbackWeb
from tests.accounts import check_accounts, of_run
from tests.crawling import crawl

HTML = (("Content-Type", "text/html"),)
TEXT = (("Content-Type", "text/plain"),)
ALLOWED = Answer(200, TEXT, "User-agent: *\nDisallow:\n")
NAMES = {
    name: f"127.0.0.{number}"
    for number, name in enumerate(
        ["site.test", "other.test", "deep.test", "wide.test", "away.test", "meta.test", "head.test"], 2
    )
}


def html(*links: str, head: str = "", headers=()) -> Answer:
    """A page with these links: an href, or the whole inside of an `a` tag."""
    tags = "".join(f"<a {link if '=' in link else 'href=' + link}>x</a>\n" for link in links)
    return Answer(200, (*HTML, *headers), f"<html><head>{head}</head><body>{tags}</body></html>")


SITES = {
    "site.test": {
        "/": html(
            "/one",
            'href="/two" rel="nofollow"',
            "http://other.test:{port}/",
            "mailto:x@site.test",
            "/",
            "#top",
            "/one",
            "/in-queue",
            "/forbidden",
            "/plain",
            "/to-other",
        ),
        "/one": html("/one-deep"),
        "/in-queue": html(),
        "/plain": Answer(200, TEXT, '<a href="/never">'),
        "/to-other": Answer(302, (("Location", "http://other.test:{port}/landing"),)),
        "/robots.txt": Answer(200, TEXT, "User-agent: *\nDisallow: /forbidden\n"),
    },
    "other.test": {"/landing": html("/more", "http://site.test:{port}/more")},
    "deep.test": {"/": html("/1"), "/1": html("/2"), "/2": html("/3", "/")},
    "wide.test": {"/": html("/1", "/2", "/3", "/4")},
    "away.test": {"/": Answer(301, (("Location", "http://other.test:{port}/landing"),))},
    "meta.test": {"/": html("/x", head='<meta name="robots" content="nofollow">')},
    "head.test": {"/": html("/x", headers=(("X-Robots-Tag", "seaspider: nofollow"),))},
}
QUEUE = ["site.test/", "site.test/in-queue", "deep.test/", "away.test/", "meta.test/", "head.test/"]


def web_of(sites) -> LoopbackWeb:
    routes = {f"{host}{target}": route for host, pages in sites.items() for target, route in pages.items()}
    return LoopbackWeb({"/robots.txt": ALLOWED, "/*": html(), **routes}, names=NAMES)


def lines(web, *places):
    return [web.url(place.partition("/")[0], "/" + place.partition("/")[2]) for place in places]


def short(url, web):
    return url.replace(f":{web.port}", "").removeprefix("http://")


def links(ended, web, run=None):
    """Page -> its links in order: (short URL, `followed` or the reason)."""
    rows = [row for row in ended.records("links") if run in (None, row["run"])]
    return {
        short(page, web): [(short(row["url"], web), "followed" if row["followed"] else row["reason"]) for row in group]
        for page, group in groupby(rows, key=lambda row: row["page"])
    }


def pages(ended, web, run=1):
    """`host/path` -> (outcome, line, depth, via) of a run's page records, in their order."""
    return {
        short(page["url"], web): (page["outcome"], page["line"], page["depth"], page["via"] and short(page["via"], web))
        for page in of_run(ended, "pages", run)
    }


class Followed:
    def __init__(self, folder):
        with web_of(SITES) as web:
            self.web = web
            queue = lines(web, *QUEUE)
            self.on = crawl(queue, folder, names=NAMES, store="on", arguments={"follow": "host", "max_depth": 2})
            self.arrivals = [f"{arrival.name}{arrival.target}" for arrival in web.arrivals]
            web.clear()
            self.off = crawl(queue, folder, names=NAMES, store="off")
            self.off_arrivals = [f"{arrival.name}{arrival.target}" for arrival in web.arrivals]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    return Followed(tmp_path_factory.mktemp("follow"))


def test_each_link_is_followed_or_has_its_reason(followed):
    site = links(followed.on, followed.web)["site.test/"]
    assert site == [
        ("site.test/one", "followed"),
        ("site.test/two", "nofollow"),
        ("other.test/", "other-host"),
        ("mailto:x@site.test", "scheme"),
        ("site.test/", "duplicate"),
        ("site.test/", "duplicate"),
        ("site.test/one", "duplicate"),
        ("site.test/in-queue", "duplicate"),
        ("site.test/forbidden", "followed"),
        ("site.test/plain", "followed"),
        ("site.test/to-other", "followed"),
    ]


def test_nofollow_by_meta_and_header(followed):
    found = links(followed.on, followed.web)
    assert found["meta.test/"] == [("meta.test/x", "nofollow")]
    assert found["head.test/"] == [("head.test/x", "nofollow")]
    nofollow = {short(p["url"], followed.web): p["nofollow"] for p in followed.on.records("pages")}
    assert (nofollow["meta.test/"], nofollow["head.test/"], nofollow["deep.test/"]) == (True, True, False)


def test_not_deeper_than_max_depth(followed):
    found = links(followed.on, followed.web)
    assert found["deep.test/"] == [("deep.test/1", "followed")]
    assert found["deep.test/1"] == [("deep.test/2", "followed")]
    assert found["deep.test/2"] == [("deep.test/3", "depth"), ("deep.test/", "depth")]


def test_from_a_page_on_another_host_nothing_is_followed(followed):
    landed = [row for row in followed.on.records("links") if short(row["page"], followed.web) == "other.test/landing"]
    assert [(short(row["url"], followed.web), row["reason"]) for row in landed] == [
        ("other.test/more", "other-host"),
        ("site.test/more", "other-host"),
    ] * 2


def test_a_followed_page_has_no_line_but_depth_and_the_page_it_came_from(followed):
    found = pages(followed.on, followed.web)
    assert found == {
        "site.test/": ("stored", 1, 0, None),
        "site.test/in-queue": ("stored", 2, 0, None),
        "site.test/one": ("stored", None, 1, "site.test/"),
        "site.test/one-deep": ("stored", None, 2, "site.test/one"),
        "site.test/forbidden": ("disallowed", None, 1, "site.test/"),
        "site.test/plain": ("stored", None, 1, "site.test/"),
        "site.test/to-other": ("stored", None, 1, "site.test/"),
        "deep.test/": ("stored", 3, 0, None),
        "deep.test/1": ("stored", None, 1, "deep.test/"),
        "deep.test/2": ("stored", None, 2, "deep.test/1"),
        "away.test/": ("stored", 4, 0, None),
        "meta.test/": ("stored", 5, 0, None),
        "head.test/": ("stored", 6, 0, None),
    }
    assert followed.on.exit == 0
    assert check_accounts(followed.on, 1)["followed"] == {"recorded": 7, "unfinished": 0}


def test_what_is_not_followed_is_not_asked_for(followed):
    asked = {place for place in followed.arrivals if not place.endswith("/robots.txt")}
    assert asked == {*pages(followed.on, followed.web), "other.test/landing"} - {"site.test/forbidden"}


def test_only_html_pages_have_links(followed):
    counted = {short(p["url"], followed.web): p["links"] for p in followed.on.records("pages")}
    assert counted["site.test/"] == 11
    assert counted["site.test/in-queue"] == 0
    assert counted["site.test/plain"] is None
    assert counted["site.test/forbidden"] is None


def test_each_link_row_belongs_to_a_page_and_numbers_count_from_one(followed):
    ended = followed.on
    visits = {(page["run"], page["visit"]): page for page in ended.records("pages")}
    rows = ended.records("links")
    for key, group in groupby(rows, key=lambda row: (row["run"], row["visit"])):
        members = list(group)
        assert [row["n"] for row in members] == list(range(1, len(members) + 1))
        assert {row["page"] for row in members} == {visits[key]["final_url"]}
        assert visits[key]["links"] == len(members)
    assert " ".join(rows[0]) == "v run visit page n url text rel nofollow followed reason"


def test_links_are_written_down_when_nothing_is_followed(followed):
    found = links(followed.off, followed.web)
    assert found["deep.test/"] == [("deep.test/1", "off")]
    assert {reason for _, reason in found["site.test/"]} == {"off", "scheme"}
    assert len(found["site.test/"]) == 11
    assert len(pages(followed.off, followed.web)) == len(QUEUE)
    assert "deep.test/1" not in followed.off_arrivals


def test_links_reach_the_disk_before_the_page_that_has_them(tmp_path):
    """The page line cannot be written: its links are there and count for nothing, so the next run follows them anew."""
    full = (
        "import errno, seaspider.store as s; write = s.FolderStore.write\n"
        "def failing(self, file, *records):\n"
        "    if file is s.File.PAGES: raise self._latch(self.folder / file, OSError(errno.ENOSPC, 'No space left'))\n"
        "    write(self, file, *records)\n"
        "s.FolderStore.write = failing"
    )
    with web_of(SITES) as web:
        queue = lines(web, "wide.test/")
        first = crawl(queue, tmp_path, names=NAMES, arguments={"follow": "host"}, sabotage=full)
        assert first.exit == 74
        assert (len(first.records("links")), first.records("pages")) == (4, [])
        second = crawl(queue, tmp_path, names=NAMES, arguments={"follow": "host"})
    assert second.exit == 0
    assert list(pages(second, web, 2)) == ["wide.test/", "wide.test/1", "wide.test/2", "wide.test/3", "wide.test/4"]


class Limited:
    """max_pages counts the followed pages of the store, over all runs."""

    def __init__(self, folder):
        with web_of(SITES) as web:
            self.web = web
            self.runs = []
            arguments = {"follow": "host", "max_pages": 5, "max_depth": 9}
            for places, settings in [
                (["wide.test/"], {"CLOSESPIDER_PAGECOUNT": 3}),  # robots.txt, the page, one followed page
                (["wide.test/"], {}),
                (["wide.test/", "deep.test/"], {}),
                (["other.test/landing", "deep.test/1"], {}),
            ]:
                web.clear()
                ended = crawl(lines(web, *places), folder, names=NAMES, arguments=arguments, settings=settings)
                check_accounts(ended, len(self.runs) + 1)
                asked = [f"{arrival.name}{arrival.target}" for arrival in web.arrivals]
                self.runs.append((ended.exit, asked))
                self.ended = ended


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    return Limited(tmp_path_factory.mktemp("limited"))


def test_a_run_that_ended_early_leaves_followed_pages_to_the_next(limited):
    (first_exit, first), (second_exit, second) = limited.runs[:2]
    assert (first_exit, second_exit) == (3, 0)
    wide = [f"wide.test/{n}" for n in (1, 2, 3, 4)]
    assert [*first, *second] == ["wide.test/robots.txt", "wide.test/", *wide]
    assert set(pages(limited.ended, limited.web, 2)) <= set(wide)
    assert all(record[2:] == (1, "wide.test/") for record in pages(limited.ended, limited.web, 2).values())


def test_max_pages_counts_over_all_runs(limited):
    assert links(limited.ended, limited.web, run=3)["deep.test/"] == [("deep.test/1", "followed")]
    assert links(limited.ended, limited.web, run=3)["deep.test/1"] == [("deep.test/2", "max-pages")]
    assert limited.runs[2] == (0, ["deep.test/robots.txt", "deep.test/", "deep.test/1"])


def test_what_the_store_has_is_a_duplicate_although_the_queue_is_another(limited):
    """deep.test/1 was followed in run 3 and is done; as a queue line it is skipped, as a link it is known."""
    assert pages(limited.ended, limited.web, 4) == {"other.test/landing": ("stored", 1, 0, None)}
    assert [(row["line"], row["fate"]) for row in of_run(limited.ended, "skipped", 4)] == [(2, "done")]
    assert links(limited.ended, limited.web, run=4)["other.test/landing"] == [
        ("other.test/more", "max-pages"),
        ("site.test/more", "other-host"),
    ]
