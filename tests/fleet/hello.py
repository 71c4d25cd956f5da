"""A small web that says hello, a queue over it, and what a fleet that crawled it has to leave."""

from pathlib import Path
from queue import Empty, SimpleQueue

from seaspider.loopback import Answer, LoopbackWeb, Request, judge
from tests.crawling import scrapy
from tests.fleet.fleets import MOST_S, final_pages

HOSTS = 12
PAGES = 4
PAUSE_S = 0.2
NAMES = {f"h{number}.test": f"127.0.7.{number + 1}" for number in range(HOSTS)}
SETTINGS = {"SEASPIDER_INTERVAL": PAUSE_S}
ROUTES = {"/robots.txt": Answer(404), "/*": Answer(body="hello")}


class Late:
    """The route of pages that say hello: at once, but for those that are waited for."""

    def __init__(self) -> None:
        self._delays_s: SimpleQueue[float] = SimpleQueue()
        self._asked: SimpleQueue[str] = SimpleQueue()

    def __call__(self, request: Request) -> Answer:
        try:
            delay_s = self._delays_s.get_nowait()
        except Empty:
            return Answer(body="hello")
        self._asked.put(f"{request.scheme}://{request.host}{request.target}")
        return Answer(body="hello", delay_s=delay_s)

    def next(self, delay_s: float) -> str:
        """Waits until a page is asked for, and gives its URL; the answer comes that much later."""
        self._delays_s.put(delay_s)
        return self._asked.get(timeout=MOST_S)


def queue(folder: Path, web: LoopbackWeb) -> list[str]:
    urls = [f"http://h{host}.test:{web.port}/{page}" for page in range(PAGES) for host in range(HOSTS)]
    folder.mkdir(exist_ok=True)
    (folder / "q").write_text("\n".join([*urls, "no URL", urls[0], ""]))
    return urls


def too_near(web: LoopbackWeb) -> list[judge.Pair]:
    return [pair for key in judge.Key for pair in judge.pairs_nearer(web.arrivals, key, int(PAUSE_S * 1e9))]


def check_whole(store: Path, urls: list[str]) -> None:
    """Every URL once, and each shard's store proves the promises."""
    assert [page[:3] for page in final_pages(store)] == [(url, "stored", 200) for url in sorted(urls)]
    for path in sorted(store.glob("shards/*")):
        given = ["verify", str(path), "--queue", str(store / "plan" / f"{path.name}.txt")]
        proven = scrapy(given, store)
        assert proven.exit == 0, proven.out
