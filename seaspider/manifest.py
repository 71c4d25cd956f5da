"""manifest.jsonl: one line when a run starts, with all it depends on, and one when it ends, with what came of it."""

from __future__ import annotations

import logging
import platform
from importlib.metadata import version
from typing import Any

from scrapy.statscollectors import StatsCollector

from seaspider import __version__
from seaspider.core.orders import OrderName
from seaspider.core.records import File
from seaspider.core.times import rfc3339_ms
from seaspider.core.verdict import table
from seaspider.errors import ExitCode, StoreError
from seaspider.run import Run

logger = logging.getLogger(__name__)

_PACKAGES = ("scrapy", "twisted", "protego", "w3lib", "itemadapter", "can_ada", "lxml")


def start(run: Run) -> None:
    """Writes the start line. Raises StoreError."""
    if run.config.contact is None:
        logger.warning("SEASPIDER_CONTACT is not set: site owners cannot tell who is asking (a URL or a mail address)")
    for file, torn in run.store.torn.items():
        logger.warning("%s: %d bytes that a crash left unfinished were cut", file, torn)
    if run.begun_again:
        logger.info("%d visits that an earlier run had begun, and did not end, begin again", run.begun_again)
    assert run.queue is not None
    run.store.write(
        File.MANIFEST,
        {
            "run": run.number,
            "event": "start",
            "started_at": rfc3339_ms(run.clock.wall_ms()),
            "started_ns": run.clock.boot_ns(),
            "boot_id": run.clock.boot_id,
            "versions": {
                "seaspider": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in _PACKAGES},
                **run.made_from,
            },
            "queue": run.queue.path,
            "queue_sha256": run.queue.sha256,
            "settings": run.config.to_record(),
            # Of a run that is cut short, nothing else tells how much more there was.
            **({"waiting": dict(run.frontier.waiting())} if OrderName(run.config.order).counts_tasks else {}),
        },
    )


def end(run: Run, reason: str, stats: StatsCollector) -> None:
    """Writes the end line, fills the stats and says in the log what is done and what is left."""
    run.reason = reason if run.failed is None else run.failed.word
    counts = run.counts()
    for name, value in _flat({**counts, "verdict": run.verdict().to_record()}):
        stats.set_value(f"seaspider/{name}", value)
    if run.ledger.times.calls:
        for name, value in _flat(run.ledger.times.to_record()):
            stats.set_value(f"seaspider/ledger/{name}", value)
    try:
        run.store.write(
            File.MANIFEST,
            {
                "run": run.number,
                "event": "end",
                "ended_at": rfc3339_ms(run.clock.wall_ms()),
                "ended_ns": run.clock.boot_ns(),
                "reason": run.reason,
                "exit": run.exit_code,
                "counts": counts,
                "verdict": run.verdict().to_record(),
            },
        )
    except StoreError as error:
        logger.error("%s", error)  # noqa: TRY400 - one line for the user, no traceback
    for line in table(run.verdict(), run.config.gate):
        logger.info("%s", line)
    logger.info("%s", closing_line(run, counts))


def closing_line(run: Run, counts: dict[str, Any]) -> str:
    """Every line of the queue once, by its fate, and what to do next."""
    lines, followed = dict(counts["queue"]), counts["followed"]
    text = f"Queue: {lines.pop('lines', 0)} lines ({_listed(lines)})."
    if any(followed.values()):
        text += f" Followed links: {_listed(followed)}."
    text += f" Page records of this run: {_listed(counts['pages'])}."
    text += f" {counts['requests']} requests to {counts['hosts']} hosts."
    text += f" In the store: {run.past.final} URLs final, {len(run.past.unfinished)} not yet."
    if run.failed is not None:
        text += " What is recorded stays valid; run it again, when this is mended, to go on."
    elif run.exit_code in (ExitCode.UNFINISHED, ExitCode.INTERRUPTED) or counts["unfinished"]:
        text += " Run it again to go on."
    return text


def _listed(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in numbers.items() if number) or "none"


def _flat(counts: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in counts.items():
        flat += _flat(value, f"{prefix}{name}/") if isinstance(value, dict) else [(prefix + name, value)]
    return flat
