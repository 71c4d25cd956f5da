"""The one place where a test may stop the process: a hook that does nothing, called around each step that must survive.

The crash tests put a function in its place that kills the process at a chosen call. Never used in production.
"""

from __future__ import annotations


def reached(point: str) -> None:
    """`point`: what is about to be done, or was done, e.g. `before write pages.jsonl`, `after settle`."""
