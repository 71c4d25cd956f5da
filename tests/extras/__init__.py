"""Foreign parts that tests load into a real crawl: extensions, middlewares, pipelines; and how to switch them on."""

import json
from typing import Any

from settings import base


def added(setting: str, **places: int) -> dict[str, str]:
    """A component setting with classes of tests/extras added to ours: `module__Class=place`, as `-s` takes it."""
    ours: dict[str, Any] = getattr(base, setting)
    theirs = {f"tests.extras.{name.replace('__', '.')}": place for name, place in places.items()}
    return {setting: json.dumps({**ours, **theirs})}
