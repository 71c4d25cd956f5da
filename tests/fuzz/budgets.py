"""How many examples a property is given: few in every run, many in the long runs.

The examples are drawn from a seed that Hypothesis takes from the property's own source text (`derandomize`), so each
run of a version of this tree tries the same ones, on every machine, and the long run begins with those of the short
one. None are kept between runs, and no time is measured.
"""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings


def examples(short: int, long: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test, which takes `budget` and puts it on its property, with so many examples, and as a long run."""
    budgets = [pytest.param(of(short), id="short"), pytest.param(of(long), id="long", marks=pytest.mark.soak)]
    return pytest.mark.parametrize("budget", budgets)


def of(number: int) -> settings:
    """So many examples, from the property's own seed."""
    # A slow machine is no failure, and a rare guess that fits nothing is none.
    unhealthy = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(
        max_examples=number, derandomize=True, database=None, deadline=None, suppress_health_check=unhealthy
    )
