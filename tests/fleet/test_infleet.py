"""The commands that look at a store, over a fleet: `explain`, `receipt`, `replay`; and `crawl`, which refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seaspider.fleet import plan as plans
from seaspider.fleet.suffixes import bundled
from tests.crawling import Ended, crawl, scrapy
from tests.fleet.conftest import Crawled
from tests.fleet.smallfleets import HOSTS, NAMES, SHARDS, records


def explain(crawled: Crawled, text: str, *options: str, store: Path | None = None) -> Ended:
    return scrapy(["explain", text, "--store", str(store or crawled.fleet), *options], crawled.queue.parent)


def explained(crawled: Crawled, text: str, **more: Any) -> dict[str, Any]:
    ended = explain(crawled, text, "--json", **more)
    assert ended.exit == 0, ended.log
    found: dict[str, Any] = json.loads(ended.out)
    return found


def shard_of(store: Path, url: str) -> int:
    (shard,) = {page["shard"] for page in records(store / "pages.jsonl") if page["url"] == url}
    return int(shard)


def test_a_url_is_explained_by_its_shard_with_the_whole_queues_line(crawled: Crawled) -> None:
    lines = crawled.queue.read_text().splitlines()
    for host in range(HOSTS):
        url = crawled.url(host, "/away")
        found = explained(crawled, url)
        assert (found["known"], found["shard"]) == ("visited", shard_of(crawled.fleet, url))
        assert [visit["line"] for visit in found["visits"]] == [lines.index(url) + 1]
    ended = explain(crawled, crawled.url(3, "/no"))
    shard = shard_of(crawled.fleet, crawled.url(3, "/no"))
    assert f"queue        line {lines.index(crawled.url(3, '/no')) + 1}, in run 1" in ended.out
    assert ended.out.splitlines()[-1] == f"shard        000{shard}, whose store is {crawled.fleet}/shards/000{shard}"


def test_what_is_no_url_and_what_is_followed_is_found(crawled: Crawled) -> None:
    found = explained(crawled, "nor this")
    assert (found["known"], [line["line"] for line in found["queue"]]) == ("rejected", [37])
    found = explained(crawled, crawled.url(5, "/c"))
    assert (found["known"], found["links"]["count"]) == ("visited", 1)
    found = explained(crawled, crawled.url(0, "/"))
    assert [(line["line"], line["of"]) for line in found["queue"]] == [(38, 2)]


def test_a_url_that_only_other_shards_met_is_found_there(crawled: Crawled, tmp_path: Path) -> None:
    """Where a redirect led, if the shard of that host never was begun."""
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    here = next(
        host
        for host in range(HOSTS)
        if shard_of(store, crawled.url(host, "/")) != shard_of(store, crawled.url((host + 1) % HOSTS, "/"))
    )
    target, source = crawled.url((here + 1) % HOSTS, "/b"), crawled.url(here, "/away")
    shutil.rmtree(store / f"shards/000{shard_of(store, target)}")
    found = explained(crawled, target, store=store)
    assert (found["known"], found["shard"]) == ("redirect", shard_of(store, source))
    assert [visit["url"] for visit in found["led_here"]["latest"]] == [source]


def test_with_another_suffix_list_all_shards_are_looked_at(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    plan = (store / "plan/plan.json").read_text()
    (store / "plan/plan.json").write_text(plan.replace(bundled().sha256, "0" * 64))
    assert plans.read(store / "plan").suffix_list["sha256"] == "0" * 64
    for host in range(HOSTS):
        found = explained(crawled, crawled.url(host, "/gone"), store=store)
        assert (found["known"], found["fetched"]) == ("visited", True)


# Whose turn has not come


WAITING = "Not fetched yet: line {line} of the queue waits in shard 000{shard}. "


def a_url_and_its_shard(crawled: Crawled) -> tuple[str, int]:
    """`/` of a host whose shard is not that of the host before, which redirects to it."""
    for host in range(1, HOSTS):
        shard = shard_of(crawled.fleet, crawled.url(host, "/"))
        if shard != shard_of(crawled.fleet, crawled.url(host - 1, "/")):
            return crawled.url(host, "/"), shard
    raise AssertionError


@pytest.mark.parametrize("begun", [True, False], ids=["other shards have begun", "none has"])
def test_a_url_of_a_shard_that_has_not_begun_waits_there(crawled: Crawled, tmp_path: Path, begun: bool) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    url, shard = a_url_and_its_shard(crawled)
    shutil.rmtree(store / f"shards/000{shard}" if begun else store / "shards")
    line = crawled.queue.read_text().splitlines().index(url) + 1
    ended = explain(crawled, url, store=store)
    assert (ended.exit, ended.log) == (3, "")
    assert ended.out.splitlines() == [
        url,
        WAITING.format(line=line, shard=shard) + "Not decided: no run had begun.",
        "",
        f"queue        line {line}, waits in shard 000{shard}",
        "to change    run again",
        f"shard        000{shard}, which has not begun",
    ]
    found = json.loads(explain(crawled, url.replace("http", "HTTP"), "--json", store=store).out)
    assert (found["known"], found["shard"], found["waits"]) == ("waiting", shard, {"line": line, "shard": shard})
    assert found["changes"] == ["run again"]
    assert list(found)[-2:] == ["shard", "waits"]


def without_rows(store: Path, shard: int, url: str) -> None:
    """As if the crawl of the shard had not come to the URL."""
    for name in ("pages", "intents", "requests", "links", "skipped"):
        path = store / f"shards/000{shard}/{name}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in records(path) if url not in json.dumps(row)))


def test_a_url_that_the_shard_has_not_come_to_waits_though_its_robots_is_known(
    crawled: Crawled, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    url = crawled.url(2, "/gone")
    shard = shard_of(store, url)
    without_rows(store, shard, url)
    line = crawled.queue.read_text().splitlines().index(url) + 1
    ended = explain(crawled, url, store=store)
    lines = ended.out.splitlines()
    assert ended.exit == 3
    assert lines[1].startswith(WAITING.format(line=line, shard=shard) + "By the robots.txt of http://h2.test:")
    assert lines[3] == f"queue        line {line}, waits in shard 000{shard}"
    assert lines[-2:] == [
        "to change    run again",
        f"shard        000{shard}, whose store is {store}/shards/000{shard}",
    ]


def test_where_a_redirect_led_waits_for_its_own_turn(crawled: Crawled, tmp_path: Path) -> None:
    store, target = tmp_path / "store", crawled.url(0, "/")
    shutil.copytree(crawled.fleet, store)
    shard = shard_of(store, target)
    # As if another host's page had led to it.
    other = next(n for n in range(SHARDS) if n != shard and (store / f"shards/000{n}/pages.jsonl").stat().st_size)
    path = store / f"shards/000{other}/pages.jsonl"
    source = next(page["url"] for page in records(path) if page["url"].endswith("/away"))
    led = crawled.url((int(source[8]) + 1) % HOSTS, "/b")
    path.write_text(path.read_text().replace(led, target))
    shutil.rmtree(store / f"shards/000{shard}")
    found = explained(crawled, target, store=store)
    line = crawled.queue.read_text().splitlines().index(target) + 1
    assert (found["known"], found["shard"], found["fetched"]) == ("redirect", other, True)
    assert (found["waits"], found["changes"]) == ({"line": line, "shard": shard}, ["run again"])
    assert f"queue        line {line}, waits in shard 000{shard}" in explain(crawled, target, store=store).out


def test_with_another_suffix_list_each_shards_queue_is_looked_at(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    shutil.rmtree(store / "shards")
    path = store / "plan/plan.json"
    path.write_text(path.read_text().replace(bundled().sha256, "0" * 64))
    for host in range(HOSTS):
        url = crawled.url(host, "/away")
        ended = explain(crawled, url, "--json", store=store)
        waits = {"line": crawled.queue.read_text().splitlines().index(url) + 1, "shard": shard_of(crawled.fleet, url)}
        assert (ended.exit, json.loads(ended.out)["waits"]) == (3, waits)


def test_a_plan_that_was_changed_is_one_line(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    shutil.rmtree(store / "shards")
    url, shard = a_url_and_its_shard(crawled)
    path = store / f"plan/000{shard}.txt"
    path.write_bytes(path.read_bytes() + b"http://more.test/\n")
    ended = explain(crawled, url, store=store)
    assert (ended.exit, ended.out) == (2, "")
    assert ended.log.startswith(f"scrapy explain: {path}: was changed: its sha256 is ")
    path.unlink()
    ended = explain(crawled, url, store=store)
    assert (ended.exit, ended.log) == (2, f"scrapy explain: queue '{path}': No such file or directory\n")


def test_what_no_shard_and_no_plan_has_is_told_as_ever(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    shutil.rmtree(store / "shards")
    ended = explain(crawled, "http://h0.test/none", store=store)
    assert (ended.exit, ended.log) == (2, f"scrapy explain: {store}: no shard has begun\n")


def test_what_nobody_knows_is_never_seen(crawled: Crawled) -> None:
    ended = explain(crawled, "http://nowhere.test/")
    assert ended.exit == 3
    ended = explain(crawled, "neither a URL")
    assert (ended.exit, ended.out) == (2, "")


# Receipts


def receipt(crawled: Crawled, host: str) -> dict[str, Any]:
    ended = scrapy(["receipt", host, "--store", str(crawled.fleet), "--json"], crawled.queue.parent)
    assert ended.exit == 0, ended.log
    found: dict[str, Any] = json.loads(ended.out)
    return found


@pytest.mark.parametrize("host", sorted(NAMES))
def test_a_receipt_has_the_requests_of_all_shards(crawled: Crawled, host: str) -> None:
    """Those of redirects from other shards' hosts among them, and the gaps between all."""
    claims = [
        (claim["claimed_ns"], shard, claim)
        for shard in range(SHARDS)
        for claim in records(crawled.fleet / f"shards/000{shard}/requests.jsonl")
        if claim["event"] == "claim"
    ]
    claims.sort(key=lambda each: each[0])
    ours = [(shard, claim) for _, shard, claim in claims if claim["host"] == host]
    found = receipt(crawled, host)
    assert [each["url"] for each in found["asked"]] == [claim["url"] for _, claim in ours]
    shards = {each["run"]: (each["shard"], each["run_of_shard"]) for each in found["fleet"]}
    assert [shards[each["run"]] for each in found["asked"]] == [(shard, 1) for shard, _ in ours]
    assert found["requests"]["redirected_here"] >= 1
    gaps = found["gaps"]["host"]
    assert (gaps["measured"], gaps["below_pause"], gaps["other_boot"]) == (len(ours) - 1, 0, 0)
    (of_address,) = found["gaps"]["addresses"].values()
    at_address = sum(claim["ip"] == NAMES[host] for _, _, claim in claims)
    assert (of_address["measured"], of_address["below_pause"]) == (at_address - 1, 0)
    assert all(record["body"] == "kept" for origin in found["robots"] for record in origin["records"])
    assert found["pages"] == {"disallowed/robots-rule": 1, "stored": 6}
    assert found["ends_without_beginning"] == 0


def test_a_receipt_in_words_shows_one_identity(crawled: Crawled) -> None:
    host = next(host for host in NAMES if len({each["run"] for each in receipt(crawled, host)["asked"]}) == 2)
    ended = scrapy(["receipt", host, "--store", str(crawled.fleet)], crawled.queue.parent)
    assert ended.exit == 0, ended.log
    assert "in 2 runs of the program: 2 for robots.txt, 7 pages" in ended.out
    assert ended.out.count("User-Agent: ") == 1
    assert "no two requests were nearer than the pause that was due" in ended.out


def test_an_address_and_a_host_that_is_not_known(crawled: Crawled) -> None:
    assert receipt(crawled, "127.0.71.1")["names_at"] == ["h0.test", "h1.test"]
    ended = scrapy(["receipt", "nowhere.test", "--store", str(crawled.fleet)], crawled.queue.parent)
    assert ended.exit == 3


# What is for a shard only


def test_replay_names_the_command_for_a_shard(crawled: Crawled, tmp_path: Path) -> None:
    ended = scrapy(["replay", str(crawled.fleet), "-a", f"store={tmp_path / 'new'}"], tmp_path)
    assert (ended.exit, ended.out) == (2, "")
    assert ended.log == (
        f"scrapy replay: store '{crawled.fleet}': is a fleet's; replay its shards one by one: scrapy replay "
        "STORE/shards/NNNN -a store=NEW --queue STORE/plan/NNNN.txt\n"
    )
    given = [str(crawled.fleet / "shards/0001"), "--queue", str(crawled.fleet / "plan/0001.txt")]
    ended = scrapy(["replay", *given, "-a", f"store={tmp_path / 'new'}"], tmp_path)
    assert ended.exit == 0, ended.out + ended.log


def test_a_crawl_does_not_write_into_a_fleets_folder(crawled: Crawled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawled.fleet, store)
    before = sorted(path.name for path in store.iterdir())
    ended = crawl(["http://h0.test/"], tmp_path, names=NAMES)
    assert ended.exit == 2
    assert ended.log.startswith(f"scrapy crawl: argument -a store={store}: is a fleet's; crawl its shards ")
    assert sorted(path.name for path in store.iterdir()) == before
