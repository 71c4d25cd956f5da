"""The random crawls are worth checking: together they show every kind of record there is, and none is refuted."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from seaspider.core.links import LinkReason
from seaspider.core.politeness import PauseBasis
from seaspider.core.queue import Fate
from seaspider.core.records import Ending, Outcome, Reason
from seaspider.core.robotsstate import RobotsCause, RobotsReason, RobotsState
from seaspider.core.urls import UrlReason
from seaspider.verify.digest import digest
from seaspider.verify.evidence import Evidence
from tests.crawling import Ended, scrapy
from tests.verify import randomcrawls
from tests.verify.stores import last_queue
from tests.verify.tamper import refuted

pytestmark = pytest.mark.soak

SEEDS = range(1, 11)

# What no queue, host or setting of these crawls can bring about.
NOT_FEASIBLE = {
    "deferred/backoff": "a name in SEASPIDER_RESOLVE is always known at once",
    "unreachable/aborted": "no other part of the crawl takes a request back",
    "unreachable/too-large": "of a robots.txt a beginning is read, however large it is",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Ended]:
    return randomcrawls.run_all(SEEDS, tmp_path_factory.mktemp("random"))


def found(ended: dict[int, Ended], file: str, *keys: str) -> set[str]:
    rows = [row for each in ended.values() for row in each.records(file)]
    return {"/".join(str(row[key]) for key in keys if row.get(key) is not None) for row in rows}


def words(*vocabularies: Iterable[Any]) -> set[str]:
    return {str(word) for words in vocabularies for word in words} - set(NOT_FEASIBLE)


def endings() -> set[str]:
    def is_one(outcome: Outcome, reason: Reason | None) -> bool:
        try:
            return bool(Ending(outcome, reason))
        except ValueError:
            return False

    every = [(outcome, reason) for outcome in Outcome for reason in (None, *Reason)]
    return {str(Ending(*pair)) for pair in every if is_one(*pair)} - set(NOT_FEASIBLE)


def test_the_same_seed_gives_the_same_web() -> None:
    assert [randomcrawls.make(seed) for seed in SEEDS] == [randomcrawls.make(seed) for seed in SEEDS]
    assert len({str(randomcrawls.make(seed)) for seed in SEEDS}) == len(SEEDS)


def test_each_ending_of_a_visit_comes(ended: dict[int, Ended]) -> None:
    assert found(ended, "pages", "outcome", "reason") == endings()


def test_each_state_of_a_robots_txt_comes(ended: dict[int, Ended]) -> None:
    states = [RobotsState.PARSED, RobotsState.ABSENT, *(f"unreachable/{reason}" for reason in RobotsReason)]
    assert found(ended, "robots", "state", "reason") == words(states)
    assert found(ended, "robots", "cause") == words(RobotsCause)
    assert "304" in found(ended, "robots", "status")


def test_each_fate_of_a_line_and_of_a_link_comes(ended: dict[int, Ended]) -> None:
    rejected = (f"rejected/{reason}" for reason in UrlReason)
    assert found(ended, "skipped", "fate", "reason") == words({Fate.DONE, Fate.DUPLICATE}, rejected)
    assert found(ended, "links", "reason") == {"", *words(LinkReason)}


def test_each_basis_of_a_pause_comes(ended: dict[int, Ended]) -> None:
    assert found(ended, "requests", "pause_basis") - {""} == words(PauseBasis)


def test_there_are_runs_that_go_on_where_others_ended_or_were_killed(ended: dict[int, Ended]) -> None:
    runs = [[row["event"] for row in each.records("manifest")] for each in ended.values()]
    assert {tuple(events) for events in runs} == {
        ("start", "end"),
        ("start", "end", "start", "end"),
        ("start", "start", "end"),
    }
    assert {each.exit for each in ended.values()} <= {0, 3, 4}, [each.log for each in ended.values()]


def test_each_is_replayed_to_the_same_digest(ended: dict[int, Ended], tmp_path: Path) -> None:
    for seed, each in ended.items():
        new = tmp_path / str(seed)
        replayed = scrapy(["replay", str(each.store), "-a", f"store={new}", "--json"], tmp_path)
        assert replayed.exit == 0, (seed, replayed.out, replayed.log)
        assert digest(Evidence(new)) == digest(Evidence(each.store))


def test_none_is_refuted(ended: dict[int, Ended]) -> None:
    assert {seed: refuted(each.store, last_queue(each)) for seed, each in ended.items()} == {seed: {} for seed in SEEDS}
