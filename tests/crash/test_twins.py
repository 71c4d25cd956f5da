"""Each guard against a death, taken out: the verdict of the matrix finds it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seaspider.core.times import ns_from_s
from seaspider.loopback.judge import Key, pairs
from tests.crash.bench import Bench, Trace
from tests.crash.cases import UNDISTURBED
from tests.crash.twins import LEDGER_IN_MEMORY, LONG_PAUSE, LONG_PAUSE_S, TWINS, Twin
from tests.crash.verdict import wrong
from tests.crash.warm import Warm, shared

BENCHES = 4


@pytest.fixture(scope="module")
def warm() -> Warm:
    return shared()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> dict[str, list[str]]:
    """What the verdict says of each twin; they die side by side."""
    folder = tmp_path_factory.mktemp("twins")

    def some(number: int) -> dict[str, list[str]]:
        with Bench(folder / str(number), warm) as bench:
            undisturbed = bench.run(UNDISTURBED)
            assert wrong(undisturbed, undisturbed) == []
            return {twin.case.row: wrong(bench.run(twin.case), undisturbed) for twin in TWINS[number::BENCHES]}

    with ThreadPoolExecutor(BENCHES) as pool:
        return {name: texts for each in pool.map(some, range(BENCHES)) for name, texts in each.items()}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.case.row)
def test_what_lacks_a_guard_is_found(found: dict[str, list[str]], twin: Twin) -> None:
    texts = found[twin.case.row]
    assert any(twin.finds in text for text in texts), texts
    assert not any("was to die" in text for text in texts)


def gap_ns(trace: Trace) -> int:
    """The time between the last request of one run and the first of the next, which ask for the same."""
    assert [len(run.arrivals) for run in trace.runs] == [1, 1]
    [pair] = pairs(trace.arrivals, Key.IP)
    return pair.gap_ns


def test_pauses_outlive_the_process_only_in_a_file(tmp_path: Path, warm: Warm) -> None:
    """A ledger that is gone with its process lets the next one ask at once."""
    with Bench(tmp_path / "bench", warm) as bench:
        at_once, held_back = gap_ns(bench.run(LEDGER_IN_MEMORY)), gap_ns(bench.run(LONG_PAUSE))
    assert at_once < ns_from_s(LONG_PAUSE_S) <= held_back
