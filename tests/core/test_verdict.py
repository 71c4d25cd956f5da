"""The verdict on a run: its figures, and each part of the gate alone."""

import pytest

from seaspider.core.verdict import GatePolicy, Verdict, table, verdict

GATE = GatePolicy(min_hosts=3, max_per_host=4, min_breadth=300)
RUN = {"a.test": 4, "b.test": 2, "c.test": 4}

CASES: dict[str, tuple[dict[str, int], int, GatePolicy, Verdict]] = {
    "all-parts-at-their-limit": (RUN, 0, GATE, Verdict(3, 10, 300, 4, 0, True, True, True)),
    "too-few-hosts": (
        {"a.test": 4, "b.test": 2}, 0, GATE, Verdict(2, 6, 333, 4, 0, True, False, False)
    ),
    "a-host-too-often": (
        {"a.test": 5, "b.test": 2, "c.test": 3}, 0, GATE, Verdict(3, 10, 300, 5, 0, False, True, False)
    ),
    "a-gap-too-near": (RUN, 1, GATE, Verdict(3, 10, 300, 4, 1, False, True, False)),
    "breadth-too-low": (
        {"a.test": 4, "b.test": 3, "c.test": 4}, 0, GATE, Verdict(3, 11, 272, 4, 0, True, True, False)
    ),
    "hosts-without-a-request-do-not-count": (
        {**RUN, "d.test": 0}, 0, GatePolicy(4), Verdict(3, 10, 300, 4, 0, True, False, False)
    ),
    "only-hosts-asked-for": ({"a.test": 900}, 0, GatePolicy(min_hosts=1), Verdict(1, 900, 1, 900, 0, True, True, True)),
    "only-a-most-asked-for": (
        {"a.test": 9}, 0, GatePolicy(max_per_host=8), Verdict(1, 9, 111, 9, 0, False, True, False)
    ),
    "only-breadth-asked-for": (
        {"a.test": 9}, 0, GatePolicy(min_breadth=112), Verdict(1, 9, 111, 9, 0, True, True, False)
    ),
    "no-gate": ({"a.test": 9}, 0, GatePolicy(), Verdict(1, 9, 111, 9, 0, True, True, None)),
    "no-gate-is-no-excuse": ({"a.test": 9}, 2, GatePolicy(), Verdict(1, 9, 111, 9, 2, False, True, None)),
    "nothing-asked": ({}, 0, GATE, Verdict(0, 0, 0, 0, 0, True, False, False)),
    "nothing-asked-no-gate": ({}, 0, GatePolicy(), Verdict(0, 0, 0, 0, 0, True, True, None)),
}  # fmt: skip


@pytest.mark.parametrize(("requests", "too_near", "policy", "expected"), CASES.values(), ids=CASES)
def test_the_verdict(requests: dict[str, int], too_near: int, policy: GatePolicy, expected: Verdict) -> None:
    assert verdict(requests, too_near, policy) == expected


def test_a_broad_crawl_with_a_cold_robots_cache_has_half_the_breadth() -> None:
    assert verdict(dict.fromkeys(map(str, range(2_000)), 2), 0, GatePolicy()).breadth_per_mil == 500


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (GatePolicy(), False),
        (GatePolicy(min_hosts=1), True),
        (GatePolicy(max_per_host=1), True),
        (GatePolicy(min_breadth=1), True),
    ],
)
def test_a_gate_is_set_if_it_asks_for_anything(policy: GatePolicy, expected: bool) -> None:
    assert policy.is_set is expected


def test_the_record_names_every_figure_in_order() -> None:
    assert list(verdict(RUN, 0, GATE).to_record().items()) == [
        ("hosts", 3),
        ("requests", 10),
        ("breadth_per_mil", 300),
        ("most_per_host", 4),
        ("too_near", 0),
        ("polite", True),
        ("broad", True),
        ("gate", True),
    ]
    assert verdict(RUN, 0, GatePolicy()).to_record()["gate"] is None


TABLES: dict[str, tuple[dict[str, int], int, GatePolicy, str]] = {
    "passed": (
        RUN,
        0,
        GATE,
        """\
hosts              3  at least 3
requests          10
breadth per mil  300  at least 300
most per host      4  at most 4
too near           0  at most 0
verdict: polite, broad, gate passed""",
    ),
    "failed-in-everything": (
        {"a.test": 2_000, "b.test": 1},
        7,
        GATE,
        """\
hosts               2  at least 3  FAILED
requests         2001
breadth per mil     0  at least 300  FAILED
most per host    2000  at most 4  FAILED
too near            7  at most 0  FAILED
verdict: not polite, not broad, gate failed""",
    ),
    "no-gate": (
        RUN,
        0,
        GatePolicy(),
        """\
hosts              3
requests          10
breadth per mil  300
most per host      4
too near           0  at most 0
verdict: polite, broad, no gate set""",
    ),
}


@pytest.mark.parametrize(("requests", "too_near", "policy", "expected"), TABLES.values(), ids=TABLES)
def test_the_table(requests: dict[str, int], too_near: int, policy: GatePolicy, expected: str) -> None:
    assert "\n".join(table(verdict(requests, too_near, policy), policy)) == expected
