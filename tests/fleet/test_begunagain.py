"""A shard's crawl that is killed and begun again asks again for what was under way, and for nothing else."""

from pathlib import Path

import pytest

from tests.fleet.begunagain import asked, asked_wrongly, under_way
from tests.fleet.smallfleets import crawl_killed, crawl_shard, planned, small_web

PAGES = ["/a", "/b", "/c", "/gone"]
FORGETS = "import seaspider.history as h; h.read = lambda store, book, **options: h.History(runs=1)"


@pytest.mark.parametrize(
    ("killed", "nth", "left", "again"),
    [
        ("before write pages.jsonl", 3, "/c", 2),
        ("before commit claim", 3, "/b", 1),
        ("before write robots.jsonl", 1, "/robots.txt", 2),
        ("after sync pages.jsonl", 2, None, 0),
    ],
    ids=["answered", "not sent", "robots.txt", "between two"],
)
def test_only_what_was_under_way_is_asked_again(
    tmp_path: Path, killed: str, nth: int, left: str | None, again: int
) -> None:
    with small_web() as web:
        urls = [web.url("h0.test", path) for path in ["/robots.txt", *PAGES]]
        store = planned(tmp_path, urls[1:], shards=1)
        crawl_killed(store, 0, killed, nth)
        assert dict(under_way(store)) == ({} if left is None else {web.url("h0.test", left): 1})
        ended = crawl_shard(store, 0)
        assert ended.exit == 0, ended.log
        assert asked(web.arrivals) == {url: again if left and url.endswith(left) else 1 for url in urls}
        assert asked_wrongly(store, web.arrivals) == {}


def test_the_twin_asks_again_for_what_was_done(tmp_path: Path) -> None:
    """Without what is recorded, all begins again."""
    with small_web() as web:
        robots, *urls = [web.url("h0.test", path) for path in ["/robots.txt", *PAGES]]
        store = planned(tmp_path, urls, shards=1)
        crawl_killed(store, 0, "before write pages.jsonl", 3)
        ended = crawl_shard(store, 0, sabotage=FORGETS)
        assert ended.exit == 0, ended.log
        assert asked_wrongly(store, web.arrivals) == {robots: 2, urls[0]: 2, urls[1]: 2}
