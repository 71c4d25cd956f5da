"""The main job, end to end: a queue in, evidence out."""

from seaspider.loopback import demosite
from tests.crawling import Ended, crawl


def demo(tmp_path, web_factory) -> tuple[Ended, list]:
    names = demosite.resolve()
    web = web_factory(demosite.sites(), names=names)
    queue = tmp_path / "queue.txt"
    queue.write_text(demosite.queue_text(web.port))
    networks = ",".join(demosite.ALLOWED_NETWORKS)
    ended = crawl(queue, tmp_path, names=names, settings={"SEASPIDER_ALLOWED_NETWORKS": networks})
    return ended, web.arrivals


def test_each_line_of_the_demo_queue_ends_as_the_demo_says(tmp_path, web_factory):
    ended, arrivals = demo(tmp_path, web_factory)
    assert ended.exit == 3, ended.log
    fates = {row["line"]: (row["fate"], row["reason"]) for row in ended.records("skipped")}
    pages = {row["line"]: (row["outcome"], row["reason"]) for row in ended.records("pages")}
    assert {**fates, **pages} == {line.line: (line.outcome, line.reason) for line in demosite.EXPECTED}
    asked = {(arrival.name, arrival.target) for arrival in arrivals}
    assert not asked & set(demosite.NEVER_ASKED)
