"""A warm process for all replays, and a folder for each module."""

import pytest

from tests.crash.warm import Warm, shared
from tests.replay.replaying import Ground


@pytest.fixture(scope="session")
def warm() -> Warm:
    return shared()


@pytest.fixture(scope="module")
def ground(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(warm, tmp_path_factory.mktemp("ground"))
