"""A warm process for all replays, and a folder for each module."""

from collections.abc import Iterator

import pytest

from tests.crash.warm import Warm
from tests.replay.replaying import Ground


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    with Warm() as warm:
        yield warm


@pytest.fixture(scope="module")
def ground(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(warm, tmp_path_factory.mktemp("ground"))
